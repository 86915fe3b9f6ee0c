//! A controller's answer: the changes, and nothing else.

use crate::StreamId;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// The answer to any event. An absent field stays as it was; at first that is: no limit to what may be sent, no
/// pacing, target = what pacing or window allow, streams by priority and credit, no discard, no probe, the
/// transport's own report interval.
#[must_use]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Update {
    /// Bytes or packets that may be sent from now on, until the next update.
    pub allowance: Option<Allowance>,
    /// How packets are spaced.
    pub pacing: Option<Pacing>,
    /// The streams whose target bitrate changed.
    pub target: TargetChange,
    /// Stream whose packet goes next.
    pub next_stream: Option<StreamId>,
    /// Packets to drop from a send queue.
    pub discard: Option<Discard>,
    /// A probe to send.
    pub probe: Option<Probe>,
    /// Request to the receiver.
    pub receiver: Option<ReceiverRequest>,
}

impl Update {
    /// An update that changes nothing.
    #[inline]
    pub const fn none() -> Update {
        Update {
            allowance: None,
            pacing: None,
            target: TargetChange::None,
            next_stream: None,
            discard: None,
            probe: None,
            receiver: None,
        }
    }

    /// `bytes` may be sent from now on.
    #[inline]
    pub const fn allow(bytes: Bytes) -> Update {
        Update { allowance: Some(Allowance::Bytes(bytes)), ..Update::none() }
    }

    /// The media is wanted at `rate`, over all streams.
    #[inline]
    pub const fn with_target(mut self, rate: Bitrate) -> Update {
        self.target = TargetChange::Total(rate);
        self
    }

    /// Packets are spaced at `rate`.
    #[inline]
    pub const fn with_pacing_rate(mut self, rate: Bitrate) -> Update {
        self.pacing = Some(Pacing::Rate(rate));
        self
    }

    /// Both answers; where both speak, `later` holds.
    #[inline]
    pub fn then(self, later: Update) -> Update {
        Update {
            allowance: later.allowance.or(self.allowance),
            pacing: later.pacing.or(self.pacing),
            target: self.target.then(later.target),
            next_stream: later.next_stream.or(self.next_stream),
            discard: later.discard.or(self.discard),
            probe: later.probe.or(self.probe),
            receiver: later.receiver.or(self.receiver),
        }
    }
}

/// How much may be sent before the next update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowance {
    /// No window: pacing alone limits.
    Unlimited,
    /// Bytes on the link; a packet leaves if it fits whole.
    Bytes(Bytes),
    /// Number of packets, of any size.
    Packets(u64),
}

impl Allowance {
    /// Whether a packet of `size` on the link may leave.
    #[inline]
    pub const fn admits(self, size: Bytes) -> bool {
        match self {
            Allowance::Unlimited => true,
            Allowance::Bytes(bytes) => size.as_u64() <= bytes.as_u64(),
            Allowance::Packets(packets) => packets > 0,
        }
    }

    /// How many packets of `size` on the link, above 0, may leave.
    #[inline]
    pub const fn packets(self, size: Bytes) -> u64 {
        match self {
            Allowance::Unlimited => u64::MAX,
            Allowance::Bytes(bytes) => bytes.as_u64() / size.as_u64(),
            Allowance::Packets(packets) => packets,
        }
    }
}

/// How packets are spaced. The pacer is the transport's and the only place that computes a send time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// Packets are not spaced.
    Off,
    /// The gap after a packet is its size over this rate.
    Rate(Bitrate),
    /// The same with a rate above the target, so that a frame is out before the next one comes.
    Burst {
        /// Rate at which what waits leaves.
        rate: Bitrate,
        /// Rate at which a source that always has data leaves: the controller allows no more over time.
        mean: Bitrate,
        /// Packets that take less than this at `rate` together leave at once, before a pause that makes up for it; zero: packet by packet.
        at_once: TimeDelta,
    },
    /// The gap after a packet is this long, whatever the packet's size.
    Gap(TimeDelta),
}

/// The target bitrates that changed. A controller names either the total or single streams, and keeps to one of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TargetChange {
    /// No target changed.
    #[default]
    None,
    /// The sum over all streams, which the endpoint splits by priority; controllers of one stream use this.
    Total(Bitrate),
    /// The targets of these streams: ask `Controller::target_bitrate` for each.
    Streams(StreamSet),
}

impl TargetChange {
    fn then(self, later: TargetChange) -> TargetChange {
        match (self, later) {
            (earlier, TargetChange::None) => earlier,
            (TargetChange::Streams(a), TargetChange::Streams(b)) => {
                TargetChange::Streams(StreamSet(a.0 | b.0))
            }
            (_, later) => later,
        }
    }
}

/// A set of streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamSet(u64);

impl StreamSet {
    /// Most streams that a flow can have.
    pub const CAPACITY: u8 = 64;

    /// The set with `stream` added. Streams beyond the capacity are ignored.
    #[inline]
    pub const fn with(self, stream: StreamId) -> StreamSet {
        if stream.0 < Self::CAPACITY { StreamSet(self.0 | 1 << stream.0) } else { self }
    }

    /// Whether `stream` is in the set.
    #[inline]
    pub const fn contains(self, stream: StreamId) -> bool {
        stream.0 < Self::CAPACITY && self.0 >> stream.0 & 1 == 1
    }
}

/// Packets to drop from the send queue of a stream. The endpoint executes it and tells controller and source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discard {
    /// Stream whose send queue is discarded.
    pub stream: StreamId,
    /// Only frames that waited longer are dropped; absent: everything.
    pub older_than: Option<TimeDelta>,
    /// Whether the source is asked for a key frame.
    pub key_frame: bool,
}

/// A burst that explores whether the path carries more. It leaves at its own rate, whatever allowance and pacing say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Number of the probe, counted by the controller.
    pub id: u64,
    /// Rate at which the probe is sent.
    pub rate: Bitrate,
    /// Bytes that are sent: media first, padding for the rest.
    pub bytes: Bytes,
}

/// A word of the contract that not every transport can execute. A controller says which it uses
/// ([`crate::Controller::verbs`]), a transport which it executes; who joins them refuses a pair that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// [`Update::discard`].
    Discard,
    /// [`Update::probe`].
    Probe,
    /// [`ReceiverRequest::PacketsPerReport`].
    PacketsPerReport,
    /// [`ReceiverRequest::ReportInterval`].
    ReportInterval,
    /// [`crate::Annotation::Rtt`].
    RttAnnotation,
    /// [`crate::Annotation::Counter`].
    CounterAnnotation,
    /// [`crate::Controller::congestion_header`].
    CongestionHeader,
}

impl Verb {
    /// Name of the request in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Discard => "discards from the send queue",
            Verb::Probe => "probes",
            Verb::PacketsPerReport => "a number of packets per report",
            Verb::ReportInterval => "a time between reports",
            Verb::RttAnnotation => "the round-trip time on each packet",
            Verb::CounterAnnotation => "a counter on each packet",
            Verb::CongestionHeader => "a congestion header on each packet",
        }
    }

    /// Whether `update` says this word. Annotations and headers are in no update.
    pub fn is_in(self, update: &Update) -> bool {
        match self {
            Verb::Discard => update.discard.is_some(),
            Verb::Probe => update.probe.is_some(),
            Verb::PacketsPerReport => matches!(update.receiver, Some(ReceiverRequest::PacketsPerReport(_))),
            Verb::ReportInterval => matches!(update.receiver, Some(ReceiverRequest::ReportInterval(_))),
            Verb::RttAnnotation | Verb::CounterAnnotation | Verb::CongestionHeader => false,
        }
    }
}

/// A request of a sender to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverRequest {
    /// A report after this number of packets.
    PacketsPerReport(u16),
    /// A report after this time.
    ReportInterval(TimeDelta),
}

/// Why a controller wants to be woken: makes wake-ups debuggable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutReason {
    /// The media rate is due for an update.
    MediaRate,
    /// Nothing was sent or heard for too long: what is outstanding is given up.
    Stalled,
    /// TFRC's nofeedback timer (RFC 5348 section 4.4) and its like: reports stay away, and the rate falls.
    NoFeedback,
    /// A probe, or its evaluation, is due.
    Probe,
    /// A periodic estimate is due.
    Estimate,
    /// The earliest time to tell; used by [`crate::Controller::next_timeout`] implementations that wait for nothing.
    Pacing,
}
