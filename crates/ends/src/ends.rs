//! How every transport's two ends are driven, in every world, and what they show to a recorder.
//!
//! A driver calls `start`, then hands in packets and timeouts; after each call it polls `poll_transmit` until there is
//! nothing, and asks `next_timeout` when to come back. Nothing here reads a clock.

use crate::{EcnCounters, EcnState};
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Assigned, Controller, Limits, Snapshot, StreamId, TimeoutReason, Verb};
use paceline_media::{DisplayedFrame, IncompleteFrame, PlayoutCounters};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// Why an end wants to be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A step of the flow's plan is due ([`crate::Planned`]).
    Plan,
    /// The source hands over media: a frame is captured, a file begins.
    Capture,
    /// A packet waits for nothing but its time to leave.
    Pacing,
    /// The controller asked for it.
    Controller(TimeoutReason),
    /// A packet that was sent, of data or of a handshake, may have to go again.
    Retransmission,
    /// An acknowledgement was delayed long enough.
    DelayedAck,
    /// A report is due: the transport's own, or that of the controller's receiver half.
    Report,
    /// A frame is due on the display, or is given up.
    Playout,
    /// A feature negotiation repeats its question.
    Negotiation,
    /// The path's largest packet is tested.
    PathMtu,
    /// Nothing has arrived for long.
    Idle,
    /// The state of the connection has lasted as long as it may.
    Expiry,
}

/// The next event at a sending end, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A packet leaves by its pace, before the time that was asked for and before anything else is due: a driver that has nothing
    /// else to do either may poll [`SendingEnd::poll_transmit`] at that time at once.
    Paced(Time),
    /// No packet does. Something else is due, which is handled as a timeout; `Time::MAX` if nothing is.
    Due(Time),
}

impl Next {
    /// When it is.
    #[inline]
    pub fn at(self) -> Time {
        match self {
            Next::Paced(at) | Next::Due(at) => at,
        }
    }
}

/// A packet that leaves an end, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit<P> {
    /// The packet to send.
    pub packet: P,
    /// Size of the packet on the link: transport header and payload.
    pub size: Bytes,
    /// The ECN codepoint that it leaves with.
    pub ecn: Ecn,
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// When what it carries began to wait for being sent; of what never waits, now.
    pub queued: Time,
}

/// Packets that leave one after the other while nothing else happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run<P> {
    /// The first of them. The others have the sequence numbers after its own, and are like it else.
    pub packet: Transmit<P>,
    /// When the first leaves.
    pub first: Time,
    /// The time from one to the next.
    pub gap: TimeDelta,
    /// The time from when what one carries began to wait to when that of the next did.
    pub queued_gap: TimeDelta,
    /// How many there are, one at least.
    pub count: u64,
}

/// A driver's facts of a packet's way, where it knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathFacts {
    /// When the packet was sent.
    pub sent: Option<Time>,
    /// How long the packet waited in link queues.
    pub wait: Option<TimeDelta>,
}

/// A receiving end's result for a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Received {
    /// The stream that the packet belongs to.
    pub stream: StreamId,
    /// Payload that had not been there before; zero for duplicates and for what is ignored.
    pub payload: Bytes,
    /// Its consequence.
    pub follows: Follows,
}

/// The consequence of a packet that arrived, as far as the end that received it knows at once. A driver need not ask for what is ruled out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Follows {
    /// Not known: the driver asks for everything.
    #[default]
    Unknown,
    /// No packet goes back, no frame is shown, and the next timeout is as it was.
    Nothing,
    /// No packet goes back and no frame is shown, and the next timeout is now at this time, `Time::MAX` for never.
    Timeout(Time),
    /// One packet goes back, which [`ReceivingEnd::answer`] has now, no frame is shown, and the next timeout is then at this time.
    Answer(Time),
}

/// The end that sends, under a controller.
pub trait SendingEnd {
    /// The controller that steers it.
    type Controller: Controller;
    /// The packets that it sends.
    type Data;
    /// The packets that come back from the [`ReceivingEnd`].
    type Returning;

    /// The words of [`Verb`] that this end executes; a controller that uses others must not steer it.
    const EXECUTES: &'static [Verb];

    /// The flow begins: handshake and sources.
    fn start(&mut self, now: Time);

    /// The flow ends: sources stop and what was not sent is dropped. Packets in flight are still reported on and repaired.
    fn stop(&mut self, now: Time);

    /// The application has nothing to say for a while; what waits is still sent.
    fn pause(&mut self, now: Time);

    /// The application goes on.
    fn resume(&mut self, now: Time);

    /// By plan a stream is there from now on, or no longer. Where a flow is one stream nobody plans that.
    fn set_presence(&mut self, now: Time, stream: StreamId, there: bool);

    /// The application changed what it allows a stream: the controller hears of it, and the encoder is told no target
    /// outside.
    fn set_limits(&mut self, now: Time, limits: &Limits);

    /// Assignments come from an exchange of rates: the controller hears of it ([`Controller::on_rates_exchanged`]) where the transport
    /// repairs all losses of a window at once.
    fn exchange_rates(&mut self) {}

    /// Coupling replaces what the controller steers by ([`Controller::assign`]).
    fn assign(&mut self, now: Time, assigned: Assigned);

    /// When and why the flow ended although nobody here ended it, as when its circuit breaker opened; absent while it goes on.
    fn failure(&self) -> Option<(Time, &'static str)> {
        None
    }

    /// Whether the flow is over although nobody here ended it.
    fn is_over(&self) -> bool {
        self.failure().is_some()
    }

    /// Rate that the application could use, as far as it is known; absent if it can use any.
    fn desired(&self) -> Option<Bitrate> {
        None
    }

    /// When to call [`SendingEnd::handle_timeout`] and [`SendingEnd::poll_transmit`], and why.
    fn next_timeout(&self) -> Option<(Time, Reason)>;

    /// The next event at the end. Where it does not pay to look, a packet that leaves by its pace is something that is due.
    #[inline]
    fn next(&self, _until: Time) -> Next {
        Next::Due(self.next_timeout().map_or(Time::MAX, |(due, _)| due))
    }

    /// Does what is due at `now`, packets apart.
    fn handle_timeout(&mut self, now: Time);

    /// The next packet that leaves at `now`. Call until there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Self::Data>>;

    /// A run of like packets that leave one after another before `until`, each at a time of its own. It ends before any other event
    /// of this end, such as a timeout.
    ///
    /// For a driver without other work for this end until then: it must not call the end at the packets' times. `None` says only
    /// that there is no run; a packet may be due all the same, and [`SendingEnd::poll_transmit`] gives it.
    #[inline]
    fn poll_run(&mut self, _until: Time) -> Option<Run<Self::Data>> {
        None
    }

    /// A packet came back, with the ECN codepoint that it arrived with. Answers the packet if its memory can be used
    /// again: [`ReceivingEnd::recycle`] takes it.
    fn receive(&mut self, now: Time, packet: Self::Returning, ecn: Ecn) -> Option<Self::Returning>;

    /// A transfer that what came back last has completed. Call until there is none.
    #[inline]
    fn poll_completed(&mut self) -> Option<Transfer> {
        None
    }

    /// The controller, to look at.
    fn controller(&self) -> &Self::Controller;

    /// The newest summary of the delays of its packets; absent where nobody asked for one, or none is there yet.
    fn delay_summary(&self) -> Option<&DelaySummary> {
        None
    }

    /// The figures of the whole end; those of its controller unless it has several.
    fn snapshot(&self) -> Snapshot {
        self.controller().snapshot()
    }

    /// Smoothed round-trip time, and the target of all encoders together; absent where no encoder is told one.
    #[inline]
    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        self.controller().srtt_and_target()
    }

    /// Frames captured so far, and frames discarded before they left.
    fn frames(&self) -> FrameCounters;

    /// The bitrate that the encoder of `stream` is told now; absent where there is no encoder to tell.
    fn target(&self, stream: StreamId) -> Option<Bitrate>;

    /// Bytes of `stream` that wait to be sent, headers in; of an endless source only what it has handed over.
    fn send_queue_bytes(&self, stream: StreamId) -> Bytes;

    /// How long the oldest packet of `stream` has waited to be sent.
    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta;

    /// Size of the newest frame of `stream`, headers in; absent where there are no frames.
    fn newest_frame(&self, stream: StreamId) -> Option<Bytes>;

    /// The state of ECN on the path, and its counts; absent where that is not checked.
    fn ecn(&self) -> Option<(EcnState, EcnCounters)> {
        None
    }

    /// Files begun so far; absent where nothing that is sent ends.
    fn transfers(&self) -> Option<TransferCounters> {
        None
    }
}

/// The end that receives.
pub trait ReceivingEnd {
    /// The packets that it receives.
    type Data;
    /// The packets that go back to the [`SendingEnd`].
    type Returning;

    /// When to call [`ReceivingEnd::handle_timeout`] and [`ReceivingEnd::poll_transmit`], and why.
    fn next_timeout(&self) -> Option<(Time, Reason)>;

    /// Does what is due at `now`, packets apart.
    fn handle_timeout(&mut self, now: Time);

    /// A packet of the sending end arrived, with the ECN codepoint that it arrived with and what the driver knows of its
    /// way.
    fn receive(&mut self, now: Time, packet: Self::Data, ecn: Ecn, facts: PathFacts) -> Received;

    /// The next packet that goes back at `now`. Call until there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Self::Returning>>;

    /// The packet that goes back where an arrival is followed by an answer: [`ReceivingEnd::poll_transmit`], which looks for
    /// nothing else.
    #[inline]
    fn answer(&mut self, now: Time) -> Option<Transmit<Self::Returning>> {
        self.poll_transmit(now)
    }

    /// Takes a packet back whose way is over, to use its memory again: with it nothing is allocated once warm.
    #[inline]
    fn recycle(&mut self, packet: Self::Returning) {
        drop(packet);
    }

    /// The next frame that was displayed, and its stream. Call until there is none.
    #[inline]
    fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        None
    }

    /// The next frame that was given up although some of its packets arrived, and its stream: of each stream in the order of capture, with
    /// the displayed ones. Call until there is none, and before each [`ReceivingEnd::poll_displayed`].
    #[inline]
    fn poll_given_up(&mut self) -> Option<(StreamId, IncompleteFrame)> {
        None
    }

    /// Tells of the frames that still wait for packets.
    fn waiting(&self, _tell: &mut dyn FnMut(StreamId, &IncompleteFrame)) {}

    /// Counts of playout, over all streams.
    fn playout(&self) -> PlayoutCounters {
        PlayoutCounters::default()
    }
}

/// Files at a sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransferCounters {
    /// Files whose connection has begun.
    pub begun: u64,
}

/// A file that has been sent whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// When its connection began: its SYN left or, without a handshake, its first segment.
    pub begun: Time,
    /// When the sender heard that its last byte had arrived.
    pub completed: Time,
    /// Payload of the file.
    pub size: Bytes,
}

/// Frames at a sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameCounters {
    /// Frames that entered the send queues.
    pub captured: u64,
    /// Frames discarded from the send queues before any of their packets left; messages, also in part.
    pub discarded: u64,
}
