//! The two ends as a driver sees them.

use super::ConversationsConfig;
use super::many::Many;
use crate::connections::sum_of_windows;
use crate::{Segment, TcpConfig, TcpCounters, TcpSender};
use paceline_cc::{Assigned, Controller, Limits, Snapshot, StreamId, Verb};
use paceline_ends::{
    FrameCounters, PathFacts, Reason, Received, ReceivingEnd, SendingEnd, Transfer, TransferCounters,
    Transmit,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// The end whose side's data takes the flow's path.
#[derive(Clone, Debug)]
pub struct ConversationsSender<C> {
    many: Many<C>,
}

impl<C: Controller + Clone> ConversationsSender<C> {
    /// An end that has not started. Every connection gets a copy of `controller`, which must have seen nothing.
    pub fn new(controller: C, tcp: &TcpConfig, config: ConversationsConfig) -> ConversationsSender<C> {
        let side = config.sending;
        ConversationsSender { many: Many::new(controller, tcp, config, side) }
    }

    /// Counts of its senders, over all connections.
    pub fn counters(&self) -> TcpCounters {
        self.many.counters()
    }

    /// Connections that are not over.
    pub fn live_connections(&self) -> usize {
        self.many.live_count
    }
}

impl<C: Controller + Clone> SendingEnd for ConversationsSender<C> {
    type Controller = C;
    type Data = Segment;
    type Returning = Segment;
    const EXECUTES: &'static [Verb] = TcpSender::<C>::EXECUTES;

    /// The connections' times count from the schedule's start, which is the plan's.
    fn start(&mut self, _now: Time) {}

    /// No connection begins, its side says nothing new, and what was sent is repaired to the end.
    fn stop(&mut self, now: Time) {
        self.many.stop(now);
    }

    /// Connections send nothing new; what was sent is repaired. Connections that begin in a pause are the schedule's affair.
    fn pause(&mut self, now: Time) {
        self.many.tell_all(now, TcpSender::hold);
    }

    /// Connections go on.
    fn resume(&mut self, now: Time) {
        self.many.tell_all(now, |sender| sender.release(now));
    }

    /// Connections are no streams: all are there as long as the flow.
    fn set_presence(&mut self, _now: Time, _stream: StreamId, _there: bool) {}

    /// The limits are those of every connection, of later ones too.
    fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.many.set_limits(now, limits);
    }

    /// Its connections come and go under controllers of their own: none of them is the flow's, and nothing is assigned.
    fn assign(&mut self, _now: Time, _assigned: Assigned) {}

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        self.many.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.many.handle_timeout(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        self.many.poll_transmit(now)
    }

    #[inline]
    fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn) -> Option<Segment> {
        let _ = self.many.receive(now, segment, ecn, PathFacts::default());
        None
    }

    #[inline]
    fn poll_completed(&mut self) -> Option<Transfer> {
        self.many.completed.pop_front()
    }

    /// The controller of the connection that was told of something last; one that has seen nothing if that connection is over.
    fn controller(&self) -> &C {
        self.many.latest().map_or(&self.many.fresh, SendingEnd::controller)
    }

    fn snapshot(&self) -> Snapshot {
        sum_of_windows(self.many.senders(), self.controller())
    }

    /// Every data unit counts as captured when it is handed over.
    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.many.begun, discarded: 0 }
    }

    fn target(&self, stream: StreamId) -> Option<Bitrate> {
        self.many.latest().and_then(|sender| sender.target(stream))
    }

    fn send_queue_bytes(&self, stream: StreamId) -> Bytes {
        self.many.senders().map(|sender| sender.send_queue_bytes(stream)).sum()
    }

    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta {
        let ages = self.many.senders().map(|sender| sender.send_queue_age(now, stream));
        ages.max().unwrap_or(TimeDelta::ZERO)
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        None
    }

    fn transfers(&self) -> Option<TransferCounters> {
        Some(TransferCounters { begun: self.many.begun })
    }
}

/// The end whose side's data takes the way back.
#[derive(Clone, Debug)]
pub struct ConversationsReceiver<C> {
    many: Many<C>,
}

impl<C: Controller + Clone> ConversationsReceiver<C> {
    /// An end at which nothing has happened. Every connection gets a copy of `controller`, which must have seen nothing.
    pub fn new(controller: C, tcp: &TcpConfig, config: ConversationsConfig) -> ConversationsReceiver<C> {
        let side = config.sending.other();
        ConversationsReceiver { many: Many::new(controller, tcp, config, side) }
    }

    /// Counts of its senders, over all connections.
    pub fn counters(&self) -> TcpCounters {
        self.many.counters()
    }

    /// Connections that are not over.
    pub fn live_connections(&self) -> usize {
        self.many.live_count
    }

    /// Segments that changed nothing: of connections that are over or unknown, out of the window, without being connected.
    pub fn ignored(&self) -> u64 {
        self.many.ignored()
    }
}

impl<C: Controller + Clone> ReceivingEnd for ConversationsReceiver<C> {
    type Data = Segment;
    type Returning = Segment;

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        self.many.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.many.handle_timeout(now);
    }

    #[inline]
    fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn, facts: PathFacts) -> Received {
        let payload = self.many.receive(now, segment, ecn, facts);
        // The figures are those of the sending end's data.
        self.many.completed.clear();
        Received { payload, ..Received::default() }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        self.many.poll_transmit(now)
    }
}
