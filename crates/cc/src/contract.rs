//! The calls that every controller offers, whatever it is inside: window- or rate-based, delay-, loss- or ECN-driven.

use crate::{Assigned, ReceiverReport, Report, Snapshot, StateVariable, TimeoutReason, Update, Verb};
use paceline_units::{Bitrate, Bytes, CongestionHeader, Ecn, Time, TimeDelta};

/// One media stream of a flow, counted from 0. Each has its own sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StreamId(pub u8);

/// Media that entered the send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Stream of the packet or frame.
    pub stream: StreamId,
    /// Size on the link, transport headers in.
    pub bytes: Bytes,
    /// Whether a frame is now complete in the queue.
    pub frame_end: bool,
}

/// A packet that was handed to the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Stream of the packet or frame.
    pub stream: StreamId,
    /// Extended sequence number: never wraps. A transport that retransmits gives the original's number again.
    pub sequence: u64,
    /// Size on the link, transport header in.
    pub size: Bytes,
    /// Number of the probe that the packet is part of.
    pub probe: Option<u64>,
    /// Whether the application, not the controller, limits the sender: nothing more waits to be sent.
    pub app_limited: bool,
}

/// Packets of one stream that leave one after the other while nothing else happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentRun {
    /// The first of them. The others have the numbers after its own, and are like it else.
    pub packet: SentPacket,
    /// When the first leaves.
    pub first: Time,
    /// The time from one to the next.
    pub gap: TimeDelta,
    /// How many there are, one at least.
    pub count: u64,
}

impl SentRun {
    /// When the last leaves.
    #[inline]
    pub fn last(&self) -> Time {
        self.first + self.gap * (self.count as i64 - 1)
    }
}

/// Packets and bytes in the send queue of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendQueueState {
    /// Stream of the send queue.
    pub stream: StreamId,
    /// Size on the link of all that waits, transport headers in.
    pub bytes: Bytes,
    /// Number of packets that wait.
    pub packets: u64,
    /// Wait of the oldest packet; absent if the queue is empty.
    pub oldest: Option<TimeDelta>,
    /// Size on the link of what waits of the newest frame.
    pub newest_frame: Bytes,
    /// Whether the source always has more, as a file does, so that something waits at any rate.
    pub greedy: bool,
}

/// Bitrates that the application allows a stream. Where it sets no limit (0 and [`Bitrate::MAX`]), the controller's parameters hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Stream that the limits hold for.
    pub stream: StreamId,
    /// Lowest target bitrate.
    pub min: Bitrate,
    /// Highest target bitrate.
    pub max: Bitrate,
}

impl Limits {
    /// Limits that allow `stream` every target.
    pub const fn none(stream: StreamId) -> Limits {
        Limits { stream, min: Bitrate::ZERO, max: Bitrate::MAX }
    }

    /// With the lowest and highest target of a controller's parameters where the application sets none. Its highest target comes
    /// before their lowest.
    pub(crate) fn within(self, min: Bitrate, max: Bitrate) -> Limits {
        let max = if self.max == Bitrate::MAX { max } else { self.max };
        let min = if self.min == Bitrate::ZERO { min.min(max) } else { self.min };
        Limits { min, max, ..self }
    }

    /// The allowed target next to `target`.
    pub fn clamp(&self, target: Bitrate) -> Bitrate {
        target.max(self.min).min(self.max)
    }
}

/// Changes of a stream while its flow runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StreamChange {
    /// It joins with this priority, above 0. Numbers that another stream left may be given again.
    Joined(f64),
    /// Its priority is this from now on, above 0.
    Priority(f64),
    /// Nothing more of it is sent; what is in flight is still reported on.
    Left,
    /// Nothing of it is reported on any more: what was in flight is no longer.
    Gone,
}

/// An event in the recovery of a transport that retransmits, after the report of the acknowledgement that told it.
///
/// The scoreboard's verdicts keep a count of bytes in flight (TCP's pipe) exact: what it declares lost leaves the
/// flight, what it sends again enters anew through [`Controller::on_sent`], and the report of a delivery takes it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Loss was detected and recovery began; `lost` is what the scoreboard declared lost.
    Entered {
        /// Bytes declared lost.
        lost: Bytes,
    },
    /// More was declared lost while recovery lasts: no reason for another reduction.
    Lost {
        /// Bytes declared lost.
        lost: Bytes,
    },
    /// Bytes that were declared lost, and not sent again, turned up: they count as in flight until their report, which follows.
    Found {
        /// Bytes taken back.
        found: Bytes,
    },
    /// Everything outstanding at entry is acknowledged.
    Left,
    /// The retransmission timer expired: nothing counts as in flight any more.
    TimedOut,
    /// The last reduction was not caused by a loss: it may be undone.
    Spurious,
    /// Opening the connection took a retransmission, and nothing was sent since: the initial window is one packet (RFC
    /// 5681 section 3.1).
    SynLost,
}

/// The meaning of a mark on a packet of the flow, as its transport has found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marking {
    /// No packet can be marked: the path does not carry ECN.
    None,
    /// A mark is answered as a loss is, or less strongly (RFC 3168, RFC 8511): packets are ECT(0), or a Classic AQM marks ECT(1)
    /// (RFC 9331 section 4.3).
    Classic,
    /// Marks are answered in proportion (RFC 9331).
    L4s,
}

/// A controller's response to packets of its flow that arrive marked CE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CeResponse {
    /// It sends less.
    Reduces,
    /// Nothing, so that its packets must not say that they can be marked: a queue that marks would not be able to tell it.
    Ignored,
    /// Nothing, since it controls nothing: a load for measurements, whose marks are counted.
    Uncontrolled,
}

/// The annotation that a sender half puts on a packet for the receiver half. The transport carries it, `wire` writes it as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Annotation {
    /// The sender's round-trip time (TFRC, RFC 5348 section 3.2.1).
    Rtt(TimeDelta),
    /// A counter of 4 bits, which the algorithm's receiver half reads.
    Counter(u8),
}

/// A packet as the receiver half sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Stream of the packet or frame.
    pub stream: StreamId,
    /// Extended sequence number.
    pub sequence: u64,
    /// Size on the link, transport header in.
    pub size: Bytes,
    /// Time of sending by the sender's clock (any zero, same rate); absent if the packet does not carry it.
    pub sent: Option<Time>,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// Annotation that the sender half put on the packet.
    pub annotation: Option<Annotation>,
}

/// The sender half of a congestion controller.
///
/// Every call carries the time. A controller leaves out the calls that it does not need: their defaults change nothing. An
/// endpoint asks [`Controller::next_timeout`] after each call and calls [`Controller::on_timeout`] when it is due.
/// Media is offered before anything is sent: the answer to the first offer is where a first window or pace is said.
pub trait Controller {
    /// Media entered the send queue; `queue` is its state afterwards.
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        let _ = (now, offered, queue);
        Update::none()
    }

    /// A packet was handed to the network.
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update;

    /// A run of packets was handed to the network: all within the allowance, spaced by the pacing, and before the next timeout.
    ///
    /// A controller that takes a run notes every packet of it, as [`Controller::on_sent`] would one by one, and answers as it would to
    /// the last. It must be one that puts no annotation on packets, does not change its pacing as they leave, and takes exactly their
    /// sizes off its allowance. A controller that wants each packet by itself notes nothing and answers `None`, as the default does:
    /// the endpoint then calls [`Controller::on_sent`] for each.
    #[inline]
    fn on_run(&mut self, run: &SentRun) -> Option<Update> {
        let _ = run;
        None
    }

    /// The other side reported.
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update;

    /// A retransmitting transport entered, left, timed out of or took back recovery, or lost its SYN.
    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        let _ = (now, recovery);
        Update::none()
    }

    /// The state of a send queue; told before a timeout is, and after a discard.
    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let _ = (now, queue);
        Update::none()
    }

    /// The application changed what it allows.
    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        let _ = (now, limits);
        Update::none()
    }

    /// A stream joined, changed or left while the flow runs; those of the flow's start are in its
    /// [`FlowSetup`](crate::FlowSetup). A controller that knows no streams changes nothing.
    fn on_stream(&mut self, now: Time, stream: StreamId, change: StreamChange) -> Update {
        let _ = (now, stream, change);
        Update::none()
    }

    /// Marks mean this from now on; what they mean at the start is in the [`FlowSetup`](crate::FlowSetup). A controller that answers
    /// marks in one way changes nothing.
    fn on_marking(&mut self, now: Time, marking: Marking) -> Update {
        let _ = (now, marking);
        Update::none()
    }

    /// A connection is open whose ends shook hands, in this round trip. A controller that goes by round trips of data alone changes
    /// nothing.
    fn on_opened(&mut self, now: Time, rtt: TimeDelta) -> Update {
        let _ = (now, rtt);
        Update::none()
    }

    /// Assignments come from an exchange of rates (RFC 8699) from now on, over a transport that repairs all losses of a window at once.
    /// A controller whose flight may fall short of an assignment makes up for that; others change nothing.
    fn on_rates_exchanged(&mut self) {}

    /// Coupling replaces this controller's rate or window, upwards too. Each controller documents what it overwrites. The times from
    /// which it counts to its next increase or decrease are never overwritten: with n flows assignments come n times as often as its
    /// own updates.
    fn assign(&mut self, now: Time, assigned: Assigned) -> Update;

    /// When the controller wants to be called, and why.
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)>;

    /// A timeout is due. Called with `now` at or after [`Controller::next_timeout`].
    fn on_timeout(&mut self, now: Time) -> Update;

    /// Which words of the contract, of those that not every transport can execute, this controller uses.
    fn verbs(&self) -> &'static [Verb] {
        &[]
    }

    /// The controller's response to packets that arrive marked CE. The default ignores them.
    fn ce_response(&self) -> CeResponse {
        CeResponse::Ignored
    }

    /// Whether the window says during recovery, too, what may leave: as much as arrives at first, and then what the path holds.
    /// Under any other controller a transport sends in proportion to what arrives (RFC 6937), and tells of the loss of a
    /// retransmission as of a new one where it does not (RFC 8985 section 9.3).
    fn rules_recovery(&self) -> bool {
        false
    }

    /// The sender half's annotation of the packet that is about to leave.
    fn annotation(&self, now: Time, stream: StreamId) -> Option<Annotation> {
        let _ = (now, stream);
        None
    }

    /// The congestion header of the packet that is about to leave, of a controller whose [`Controller::verbs`] say that it has one.
    fn congestion_header(&self) -> Option<CongestionHeader> {
        None
    }

    /// The target bitrate of a stream, headers in; absent where the controller sets none.
    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        let _ = stream;
        None
    }

    /// In which time the media that waits in send queues is to leave, where the target makes room for that. A flow of one stream has the
    /// room in its target; of several, the endpoint that divides the target takes what waits of a stream off that stream's share
    /// ([`crate::share_less_waiting`]).
    fn media_drain(&self) -> Option<TimeDelta> {
        None
    }

    /// Whether flows under this controller can be coupled: one that cannot has no [`Controller::share`], ever.
    fn shares() -> bool
    where
        Self: Sized,
    {
        true
    }

    /// The share that coupling is told after an update that changed it, and may replace: the target where there is one, else
    /// the window. Absent while the flow is to share with nobody, as when it holds back for want of feedback.
    fn share(&self) -> Option<Assigned> {
        let snapshot = self.snapshot();
        snapshot.target.map(Assigned::Rate).or(snapshot.window.map(Assigned::Window))
    }

    /// The figures that every controller shares, for recording.
    fn snapshot(&self) -> Snapshot;

    /// Smoothed round-trip time and target of [`Controller::snapshot`] alone: what a recorder follows from report to report.
    #[inline]
    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        let Snapshot { srtt, target, .. } = self.snapshot();
        (srtt, target)
    }

    /// The inner state that a person would plot, by name and unit.
    fn state_variables(&self) -> &'static [StateVariable] {
        &[]
    }

    /// Writes the values of [`Controller::state_variables`], in their order. Called only when somebody records.
    fn state(&self, values: &mut [Option<f64>]) {
        let _ = values;
    }
}

/// The receiver half, where an algorithm has one (TFRC, REMB).
pub trait ReceiverHalf {
    /// A packet arrived. True asks for a report at once.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool;

    /// When the next report is due if nothing arrives.
    fn next_timeout(&self) -> Option<Time>;

    /// The report, if there is something to say.
    fn report(&mut self, now: Time) -> Option<ReceiverReport>;
}
