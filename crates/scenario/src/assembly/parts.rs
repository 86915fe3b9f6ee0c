//! The parts of a run: configurations of links and of both ends of each flow.

use crate::ccids::FlowCcids;
use crate::source::CodecSpec;
use crate::spec::Transport;
use paceline_cc::{AnyController, AnyReceiverHalf, Controller, StreamId, Verb, shared_bottleneck};
use paceline_link::{LinkConfig, RateProcess, Trace};
use paceline_media::{Codec, ConnectionVectors, FrameTrace, PlayoutConfig, Source};
use paceline_transport::dccp::{CCID_2, Carried, DccpConfig, DccpSender};
use paceline_transport::rtp::{
    CircuitBreakers, EcnChecks, FeedbackConfig, RtpIdentity, RtpSender, SenderConfig, StreamConfig,
};
use paceline_transport::tcp::conversations::{ConversationsConfig, ConversationsSender};
use paceline_transport::tcp::transfers::{TransfersConfig, TransfersSender};
use paceline_transport::tcp::{TcpConfig, TcpSender};
use paceline_transport::udp::UdpSender;
use paceline_transport::{Plan, SendingEnd, StreamSpan};
use paceline_units::param::ParamError;
use paceline_units::{Bytes, Ecn, RandomStream, Time, TimeDelta};
use paceline_wire::dccp::ServiceCode;
use std::path::PathBuf;

/// The parts of a run.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The links, in the scenario's order.
    pub links: Vec<LinkConfig>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowParts>,
    /// The streams of pictures, whose encoders are to be attached before a run.
    pub codecs: Vec<CodecStream>,
    /// Oddities of the files.
    pub warnings: Vec<String>,
}

/// A stream of pictures: what its encoder, and who decodes them after the run, have to know.
#[derive(Clone, PartialEq, Debug)]
pub struct CodecStream {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the stream in the flow.
    pub stream: usize,
    /// The scenario's codec, every size of the de-jitter buffer in.
    pub spec: CodecSpec,
    /// Where the clip was found; absent if it is drawn.
    pub path: Option<PathBuf>,
    /// Seed of a drawn clip.
    pub seed: u64,
    /// Largest payload of a packet.
    pub max_payload: Bytes,
}

impl Parts {
    /// The recording or the draws that a link follows, before offset and scale; none for a constant rate and for steps.
    pub fn link_trace(&self, link: usize) -> Option<&Trace> {
        match &self.links.get(link)?.rate {
            RateProcess::Trace { trace, .. } => Some(trace),
            _ => None,
        }
    }

    /// The frames that the encoder of a flow's first stream follows; none for other sources, and where nothing is
    /// played out.
    pub fn frame_trace(&self, flow: usize) -> Option<&FrameTrace> {
        let source = match &self.flows.get(flow)?.ends {
            EndsParts::Rtp(parts) => &parts.streams.first()?.source,
            EndsParts::Dccp(parts) => &parts.carried.source,
            EndsParts::Tcp { .. }
            | EndsParts::Transfers { .. }
            | EndsParts::Conversations { .. }
            | EndsParts::Udp { .. } => return None,
        };
        match source {
            Source::TraceEncoder(encoder) => Some(encoder.trace()),
            _ => None,
        }
    }

    /// The source of a stream of pictures, to attach its encoder to.
    pub fn codec_mut(&mut self, flow: usize, stream: usize) -> Option<&mut Codec> {
        match self.flows.get_mut(flow)?.ends.source_mut(stream)? {
            Source::Codec(codec) => Some(codec),
            _ => None,
        }
    }

    /// Fails if a stream of pictures has no encoder.
    ///
    /// # Errors
    /// Says which source, and how to come by an encoder.
    pub fn check_encoders(&self) -> Result<(), ParamError> {
        let lacks = |flow: &FlowParts| {
            flow.ends.sources().any(|source| matches!(source, Source::Codec(codec) if !codec.has_encoder()))
        };
        match self.flows.iter().position(lacks) {
            None => Ok(()),
            Some(flow) => Err(ParamError::new(
                &format!("source of flow {flow}"),
                "kind codec without an encoder",
                "one attached (Parts::codec_mut); the Python package brings x264 with the extra paceline[video]",
            )),
        }
    }

    /// The connections that a flow plays, offset and scaled; none for other sources.
    pub fn connection_vectors(&self, flow: usize) -> Option<&ConnectionVectors> {
        match &self.flows.get(flow)?.ends {
            EndsParts::Conversations { conversations, .. } => Some(&conversations.vectors),
            _ => None,
        }
    }
}

/// The parts of a flow.
#[derive(Clone, Debug)]
pub struct FlowParts {
    /// Controller of the flow, before its first event.
    pub controller: AnyController,
    /// Configuration of the flow's two ends.
    pub ends: EndsParts,
    /// The codepoint that its packets start with.
    pub ecn: Ecn,
    /// Indices of the links from sender to receiver.
    pub path: Vec<usize>,
    /// Indices of the links back.
    pub return_path: Vec<usize>,
    /// Delay of an empty way back.
    pub return_delay: TimeDelta,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
    /// When its application is silent, in order.
    pub pauses: Vec<(Time, Time)>,
    /// Added to each packet's size on every link.
    pub overhead: Bytes,
}

impl FlowParts {
    /// Whether any of its streams is one of pictures.
    pub fn has_codec(&self) -> bool {
        self.ends.sources().any(|source| matches!(source, Source::Codec(_)))
    }

    /// When the flow starts, pauses and stops, and its streams join and leave.
    pub fn plan(&self) -> Plan {
        let plan = Plan::new(self.start, &self.pauses, self.stop);
        match &self.ends {
            EndsParts::Rtp(parts) => plan.with_streams(&parts.spans),
            EndsParts::Udp { .. }
            | EndsParts::Tcp { .. }
            | EndsParts::Transfers { .. }
            | EndsParts::Conversations { .. }
            | EndsParts::Dccp(_) => plan,
        }
    }
}

/// The parts of a flow's two ends, by transport.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow")]
pub enum EndsParts {
    /// The ends of RTP with reports of the receiver.
    Rtp(RtpParts),
    /// The ends of one TCP connection.
    Tcp {
        /// Configuration of the connection.
        config: TcpConfig,
        /// Source of its data.
        source: Source,
    },
    /// TCP connections that come and go.
    Transfers {
        /// Configuration of each connection.
        config: TcpConfig,
        /// Sizes and times of their transfers.
        transfers: TransfersConfig,
        /// Where sizes and idle times are drawn from.
        random: RandomStream,
    },
    /// TCP connections whose sides ask and answer.
    Conversations {
        /// Configuration of each connection.
        config: TcpConfig,
        /// Data units of its sides.
        conversations: ConversationsConfig,
    },
    /// The ends of one DCCP connection.
    Dccp(DccpParts),
    /// Datagrams that nobody controls.
    Udp {
        /// Where they come from.
        source: Source,
        /// Largest payload of a datagram.
        max_payload: Bytes,
    },
}

impl EndsParts {
    /// The sources of its streams, in order; none where connections come and go.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let (one, streams): (_, &[StreamConfig]) = match self {
            EndsParts::Rtp(parts) => (None, &parts.streams),
            EndsParts::Tcp { source, .. } | EndsParts::Udp { source, .. } => (Some(source), &[]),
            EndsParts::Dccp(parts) => (Some(&parts.carried.source), &[]),
            EndsParts::Transfers { .. } | EndsParts::Conversations { .. } => (None, &[]),
        };
        one.into_iter().chain(streams.iter().map(|stream| &stream.source))
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        match self {
            EndsParts::Rtp(parts) => parts.streams.get_mut(stream).map(|stream| &mut stream.source),
            EndsParts::Tcp { source, .. } | EndsParts::Udp { source, .. } => Some(source),
            EndsParts::Dccp(parts) => Some(&mut parts.carried.source),
            EndsParts::Transfers { .. } | EndsParts::Conversations { .. } => None,
        }
    }

    /// The words of the contract that the sending end executes.
    pub(crate) fn executes(&self, transport: Transport) -> &'static [Verb] {
        match self {
            // Plain datagrams have no padding, and nothing that would say what is padding.
            EndsParts::Rtp(_) if transport == Transport::Udp => {
                &[Verb::Discard, Verb::PacketsPerReport, Verb::ReportInterval, Verb::RttAnnotation]
            }
            EndsParts::Rtp(_) => RtpSender::<AnyController>::EXECUTES,
            EndsParts::Tcp { .. } => TcpSender::<AnyController>::EXECUTES,
            EndsParts::Transfers { .. } => TransfersSender::<AnyController>::EXECUTES,
            EndsParts::Conversations { .. } => ConversationsSender::<AnyController>::EXECUTES,
            EndsParts::Dccp(_) => DccpSender::<FlowCcids>::EXECUTES,
            EndsParts::Udp { .. } => UdpSender::<AnyController>::EXECUTES,
        }
    }
}

/// The parts of a DCCP flow's ends.
#[derive(Clone, Debug)]
pub struct DccpParts {
    /// Configuration of both ends.
    pub config: DccpConfig,
    /// Their congestion control.
    pub ccids: FlowCcids,
    /// Whether a handshake opens the connection.
    pub handshake: bool,
    /// Service of the connection.
    pub service: ServiceCode,
    /// Its payload: media or bulk data.
    pub carried: Carried,
    /// When its receiver displays frames.
    pub playout: PlayoutConfig,
}

impl DccpParts {
    /// Whether acknowledgements tell the sender of single packets.
    pub fn has_ack_vectors(&self) -> bool {
        self.config.ack_vector || self.ccids.ccid() == CCID_2
    }
}

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

impl RtpParts {
    /// Whether packets carry numbers that all streams share, of which reports tell.
    pub fn is_transport_wide(&self) -> bool {
        self.feedback.format.is_transport_wide() && self.receiver_half.is_none()
    }

    /// Has a sender guard the call as the scenario says, else as `usual`: by circuit breakers, and by checks of ECN where reports
    /// tell of single packets.
    pub fn guard<C: Controller>(&self, sender: &mut RtpSender<C>, usual: (CircuitBreakers, EcnChecks)) {
        sender.guard(self.identity.circuit_breaker.unwrap_or(usual.0));
        if self.receiver_half.is_none() {
            sender.check_ecn(self.identity.ecn_check.unwrap_or(usual.1));
        }
    }

    /// Tells a sender which of its streams join later, and where the numbers of packets begin: those of each stream, and with
    /// the first of these all together where reports tell of them.
    pub fn prepare<C: Controller>(&self, sender: &mut RtpSender<C>, first_sequences: &[u16]) {
        for (id, first) in first_sequences.iter().enumerate() {
            sender.number_stream_from(StreamId(id as u8), *first);
        }
        if let (Some(first), true) = (first_sequences.first(), self.is_transport_wide()) {
            sender.number_transport_wide(*first);
        }
        self.expected.iter().for_each(|stream| sender.expect(*stream));
    }
}
