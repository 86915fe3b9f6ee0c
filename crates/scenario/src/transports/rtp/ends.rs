//! RTP's two ends, assembled in one place for the simulator and for sockets.

use super::super::FlowEnds;
use super::spans;
use crate::spec::FlowSpec;
use paceline_cc::{AnyReceiverHalf, Controller, FlowSetup, ReceiverHalf, StreamId, shared_bottleneck};
use paceline_ends::{Plan, StreamSpan};
use paceline_media::{PlayoutConfig, Source};
use paceline_rtp::{
    CircuitBreakers, EcnChecks, FeedbackConfig, RtpIdentity, RtpReceiver, RtpSender, SenderConfig,
    StreamConfig,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::rtx;

/// Streams that one receiving end can have: they are told apart by a byte.
const MOST_STREAMS: usize = 255;

/// The parts of an RTP flow's ends.
#[derive(Clone, Debug)]
pub struct RtpParts {
    /// Configuration of the sender. The lateness that is forgiven is zero; a driver with a real clock sets its own.
    pub sender: SenderConfig,
    /// Streams of the flow, in order.
    pub streams: Vec<StreamConfig>,
    /// Where the numbers of its packets begin, as far as the scenario says.
    pub identity: RtpIdentity,
    /// Sequence number of each stream's first packet in a simulation.
    pub first_sequences: Vec<u16>,
    /// When streams are there that are not there all the time.
    pub spans: Vec<StreamSpan>,
    /// Streams that are not there at the flow's start.
    pub expected: Vec<StreamId>,
    /// When the receiver reports.
    pub feedback: FeedbackConfig,
    /// When its receiver displays frames.
    pub playout: PlayoutConfig,
    /// The controller's half at the receiver; its reports replace RFC 8888's.
    pub receiver_half: Option<AnyReceiverHalf>,
    /// How the delays of its packets are summarised, where its host looks for shared bottlenecks.
    pub detection: Option<shared_bottleneck::Params>,
}

impl FlowEnds for RtpParts {
    fn source(&self, stream: usize) -> Option<&Source> {
        self.streams.get(stream).map(|stream| &stream.source)
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        self.streams.get_mut(stream).map(|stream| &mut stream.source)
    }

    fn plays_out(&self) -> bool {
        true
    }

    fn plan(&self, plan: Plan) -> Plan {
        plan.with_streams(&self.spans)
    }

    fn last(&mut self, flow: &FlowSpec, duration: TimeDelta) {
        self.spans = spans(flow, duration);
    }
}

impl RtpParts {
    /// Whether packets carry numbers that all streams share, of which reports tell.
    pub fn is_transport_wide(&self) -> bool {
        self.feedback.format.is_transport_wide() && self.receiver_half.is_none()
    }

    /// The sending end under `controller`, which has not started.
    pub fn sending_end<C: Controller>(&self, controller: C, world: &SendingWorld<'_>) -> RtpSender<C> {
        let mut sender = RtpSender::new(controller, &world.packets(&self.sender), self.streams.clone());
        self.number(&mut sender, world.first_sequences);
        self.expected.iter().for_each(|stream| sender.expect(*stream));
        self.guard(&mut sender, world.guards);
        if let Some(first) = world.repairs {
            let priority = *FlowSetup::PRIORITIES.start();
            let stream = StreamConfig { priority, ..StreamConfig::new(Source::External, Bitrate::ZERO) };
            if let Some(id) = sender.add_repair_stream(Time::ZERO, stream) {
                sender.number_stream_from(id, first);
            }
        }
        if let Some(detection) = &self.detection {
            sender.summarise_delays(detection);
        }
        sender
    }

    /// The parts of the receiving end with a controller's `half`; `repaired`: whether a stream of retransmissions is behind the others.
    pub fn receiving<H>(&self, half: Option<H>, repaired: bool) -> ReceivingParts<'_, H> {
        ReceivingParts {
            streams: (self.streams.len() + usize::from(repaired)).clamp(1, MOST_STREAMS),
            feedback: self.feedback.clone(),
            ecn: self.sender.ecn,
            playout: self.playout,
            half,
            detection: self.detection.as_ref(),
        }
    }

    /// Has a sender guard the call as the scenario says, else as `usual`: by circuit breakers, and by checks of ECN where reports
    /// tell of single packets.
    fn guard<C: Controller>(&self, sender: &mut RtpSender<C>, usual: (CircuitBreakers, EcnChecks)) {
        sender.guard(self.identity.circuit_breaker.unwrap_or(usual.0));
        if self.receiver_half.is_none() {
            sender.check_ecn(self.identity.ecn_check.unwrap_or(usual.1));
        }
    }

    /// Tells a sender where the numbers of packets begin: those of each stream, and with the first of these all together where reports
    /// tell of them.
    fn number<C: Controller>(&self, sender: &mut RtpSender<C>, first_sequences: &[u16]) {
        for (id, first) in first_sequences.iter().enumerate() {
            sender.number_stream_from(StreamId(id as u8), *first);
        }
        if let (Some(first), true) = (first_sequences.first(), self.is_transport_wide()) {
            sender.number_transport_wide(*first);
        }
    }
}

/// The world of a sending end: its part in the assembly beside that of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct SendingWorld<'a> {
    /// Sequence number of each stream's first packet.
    pub first_sequences: &'a [u16],
    /// How the call is guarded where the scenario does not say.
    pub guards: (CircuitBreakers, EcnChecks),
    /// Bytes of a header extension that the scenario does not count; packets are as long as without.
    pub extension: Bytes,
    /// First number of a stream of retransmissions behind the others, if there is one: packets leave room for the number that
    /// they restore (RFC 4588 section 4).
    pub repairs: Option<u16>,
}

impl<'a> SendingWorld<'a> {
    /// Nothing beside the scenario but the numbers of the streams; nobody guards.
    pub fn plain(first_sequences: &'a [u16]) -> SendingWorld<'a> {
        let guards = (CircuitBreakers::Off, EcnChecks::Off);
        SendingWorld { first_sequences, guards, extension: Bytes::ZERO, repairs: None }
    }

    /// The packets of a sender that the scenario configures.
    fn packets(&self, config: &SenderConfig) -> SenderConfig {
        let restored = Bytes::new(if self.repairs.is_some() { rtx::OSN as u64 } else { 0 });
        let taken = self.extension + restored;
        if taken == Bytes::ZERO {
            return *config;
        }
        let max_payload = config.max_payload.saturating_sub(taken).max(Bytes::new(1));
        SenderConfig { header: config.header + self.extension, max_payload, ..*config }
    }
}

/// The parts of an end that receives media and plays it out: RTP's, and that of media in the datagrams of a connection.
#[derive(Clone, Debug)]
pub struct ReceivingParts<'a, H> {
    /// Streams, with that of retransmissions if there is one.
    pub streams: usize,
    /// When the receiver reports.
    pub feedback: FeedbackConfig,
    /// ECN field with which the sender's packets leave.
    pub ecn: Ecn,
    /// When frames are displayed.
    pub playout: PlayoutConfig,
    /// The controller's half at this end.
    pub half: Option<H>,
    /// How the delays of packets are summarised, if the sender looks for shared bottlenecks.
    pub detection: Option<&'a shared_bottleneck::Params>,
}

impl<H: ReceiverHalf> ReceivingParts<'_, H> {
    /// A receiving end to which nothing has come.
    pub fn end(self) -> RtpReceiver<H> {
        let mut receiver = RtpReceiver::with_half(self.feedback, self.streams as u8, self.playout, self.half);
        receiver.expect_ecn(self.ecn);
        if let Some(detection) = self.detection {
            receiver.summarise_delays(detection);
        }
        receiver
    }
}
