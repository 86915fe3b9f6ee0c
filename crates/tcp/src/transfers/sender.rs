//! The end that sends files: a connection for each, begun in bursts.

use super::{Begin, TransfersConfig, User};
use crate::connections::sum_of_windows;
use crate::timer_tree::TimerTree;
use crate::{Segment, TcpConfig, TcpCounters, TcpSender};
use paceline_cc::{Assigned, Controller, Limits, Snapshot, StreamId, Verb};
use paceline_ends::{FrameCounters, Reason, SendingEnd, Transfer, TransferCounters, Transmit};
use paceline_media::{Bulk, BulkParams, Source};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};

/// Whether the user is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    Before,
    There,
    Gone,
}

/// Sends bursts of files, each file over a connection of its own.
#[derive(Clone, Debug)]
pub struct TransfersSender<C> {
    /// The first state of every connection's controller.
    fresh: C,
    /// The application's limits of every connection, where it has said so.
    limits: Option<Limits>,
    config: TcpConfig,
    user: User,
    /// The connections of the burst, by place; none where the transfer is over.
    live: Vec<Option<TcpSender<C>>>,
    /// Number of transfers of the burst that are still under way.
    left: usize,
    /// The number of the burst's first connection, and of the next burst's.
    first: u16,
    next: u16,
    timers: TimerTree,
    /// The connection that was told of something last and has not been asked yet for what it sends.
    touched: Option<usize>,
    /// The connection that was told of something last.
    latest: usize,
    next_burst: Option<Time>,
    presence: Presence,
    paused: bool,
    begun: u64,
    /// The transfer that the last segment completed.
    completed: Option<Transfer>,
    /// Counts of connections that are over.
    counted: TcpCounters,
}

impl<C: Controller + Clone> TransfersSender<C> {
    /// A user who has not begun. Every connection gets a copy of `controller`, which must have seen nothing; sizes and
    /// idle times are drawn from `random`.
    pub fn new(
        controller: C,
        config: &TcpConfig,
        transfers: &TransfersConfig,
        random: RandomStream,
    ) -> TransfersSender<C> {
        let user = User { config: *transfers, random };
        let parallel = user.parallel();
        TransfersSender {
            fresh: controller,
            limits: None,
            config: *config,
            user,
            live: (0..parallel).map(|_| None).collect(),
            left: 0,
            first: 0,
            next: 0,
            timers: TimerTree::new(parallel),
            touched: None,
            latest: 0,
            next_burst: None,
            presence: Presence::Before,
            paused: false,
            begun: 0,
            completed: None,
            counted: TcpCounters::default(),
        }
    }

    /// Counts over all connections.
    pub fn counters(&self) -> TcpCounters {
        self.live().fold(self.counted, |mut sum, sender| {
            sum += sender.counters();
            sum
        })
    }

    /// Connections that are not over.
    pub fn live_connections(&self) -> usize {
        self.left
    }

    fn live(&self) -> impl Iterator<Item = &TcpSender<C>> {
        self.live.iter().flatten()
    }

    fn begin_burst(&mut self, now: Time) {
        self.first = self.next;
        let parallel = self.live.len();
        self.next = self.first.wrapping_add(parallel as u16);
        let payload = Bytes::new(self.config.mss());
        for place in 0..parallel {
            let length = Some(self.user.size());
            let file = Source::Bulk(Bulk::new(BulkParams { length, ..BulkParams::for_payload(payload) }));
            let connection = self.first.wrapping_add(place as u16);
            let mut sender = TcpSender::new(self.fresh.clone(), &self.config, file, connection);
            if let Some(limits) = &self.limits {
                sender.set_limits(now, limits);
            }
            sender.start(now);
            self.live[place] = Some(sender);
            self.remind(now, place);
        }
        self.left = parallel;
        self.begun += parallel as u64;
    }

    #[inline]
    fn touch(&mut self, now: Time, place: usize) {
        (self.touched, self.latest) = (Some(place), place);
        self.remind(now, place);
    }

    /// Notes when the connection at `place` wants something.
    #[inline]
    fn remind(&mut self, now: Time, place: usize) {
        let timeout = self.live[place].as_ref().and_then(TcpSender::next_timeout);
        self.timers.remind(now, place, timeout);
    }

    /// Why the connection at `place` wants to be woken; only to send if nothing else is due.
    #[inline]
    fn reason(&self, place: usize) -> Reason {
        let next = self.live[place].as_ref().and_then(TcpSender::next_timeout);
        next.map_or(Reason::Pacing, |(_, reason)| reason)
    }

    /// Forgets the connection at `place` if it is over; with the last one the idle time begins.
    #[inline]
    fn settle(&mut self, now: Time, place: usize) -> Option<Transfer> {
        if !self.live[place].as_ref().is_some_and(TcpSender::is_over) {
            return None;
        }
        self.forget(now, place)
    }

    /// The connection at `place` is over. Apart: what is large on the stack is touched page by page, even where nothing is over.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, now: Time, place: usize) -> Option<Transfer> {
        let sender = self.live[place].take()?;
        self.counted += sender.counters();
        self.touched = self.touched.filter(|touched| *touched != place);
        self.timers.set(place, Time::MAX);
        self.left -= 1;
        if self.left == 0 && self.presence == Presence::There {
            self.next_burst = Some(now + self.user.idle());
        }
        sender.transfer()
    }

    #[inline]
    fn poll(&mut self, now: Time, place: usize) -> Option<Transmit<Segment>> {
        let out = self.live[place].as_mut()?.poll_transmit(now)?;
        self.remind(now, place);
        Some(out)
    }
}

impl<C: Controller + Clone> SendingEnd for TransfersSender<C> {
    type Controller = C;
    type Data = Segment;
    type Returning = Segment;
    const EXECUTES: &'static [Verb] = TcpSender::<C>::EXECUTES;

    /// The user is there: the first burst begins now, or after an idle time.
    fn start(&mut self, now: Time) {
        if self.presence != Presence::Before {
            return;
        }
        self.presence = Presence::There;
        if self.user.config.begin == Begin::On {
            self.begin_burst(now);
        } else {
            self.next_burst = Some(now + self.user.idle());
        }
    }

    /// The user leaves: no burst begins, and what was sent is repaired to the end.
    fn stop(&mut self, now: Time) {
        (self.presence, self.next_burst) = (Presence::Gone, None);
        for place in 0..self.live.len() {
            if let Some(sender) = &mut self.live[place] {
                sender.stop(now);
                self.remind(now, place);
                // A transfer that the stop itself ended was cut short: no transfer.
                let _ = self.settle(now, place);
            }
        }
    }

    /// No burst begins, and connections send nothing new; what was sent is repaired.
    fn pause(&mut self, _now: Time) {
        self.paused = true;
        self.live.iter_mut().flatten().for_each(TcpSender::hold);
        (0..self.live.len()).for_each(|place| self.remind(Time::ZERO, place));
    }

    /// Connections go on. An idle time that ended in the pause ends now.
    fn resume(&mut self, now: Time) {
        self.paused = false;
        self.next_burst = self.next_burst.map(|at| at.max(now));
        self.live.iter_mut().flatten().for_each(|sender| sender.release(now));
        (0..self.live.len()).for_each(|place| self.remind(now, place));
    }

    /// Transfers are no streams: all are there as long as the flow.
    fn set_presence(&mut self, _now: Time, _stream: StreamId, _there: bool) {}

    /// The limits are those of every connection, of later bursts too.
    fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.limits = Some(*limits);
        for place in 0..self.live.len() {
            if let Some(sender) = &mut self.live[place] {
                sender.set_limits(now, limits);
                self.remind(now, place);
            }
        }
    }

    /// Its connections come and go under controllers of their own: none of them is the flow's, and nothing is assigned.
    fn assign(&mut self, _now: Time, _assigned: Assigned) {}

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let due = self.timers.next();
        match self.next_burst.filter(|burst| !self.paused && *burst <= due) {
            Some(burst) => Some((burst, Reason::Capture)),
            None => self.timers.due(due).map(|place| (due, self.reason(place))),
        }
    }

    /// Begins a burst if one is due, or runs the timers of the connection that waits longest.
    fn handle_timeout(&mut self, now: Time) {
        if !self.paused && self.next_burst.is_some_and(|due| due <= now) {
            self.next_burst = None;
            return self.begin_burst(now);
        }
        let Some(place) = self.timers.due(now) else { return };
        let Some(sender) = &mut self.live[place] else { return };
        sender.handle_timeout(now);
        self.touch(now, place);
    }

    /// Connections that could all send take turns.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        // The one that was told of something is asked whatever its timers say.
        if let Some(place) = self.touched {
            let out = self.poll(now, place);
            if out.is_some() {
                return out;
            }
            self.touched = None;
        }
        let place = self.timers.due(now)?;
        self.poll(now, place)
    }

    #[inline]
    fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn) -> Option<Segment> {
        let place = usize::from(segment.connection.wrapping_sub(self.first));
        match self.live.get_mut(place) {
            Some(Some(sender)) => {
                let _ = sender.receive(now, segment, ecn);
                self.touch(now, place);
                self.completed = self.settle(now, place);
            }
            // Of a connection that is over.
            _ => {
                self.counted.ignored += 1;
                self.completed = None;
            }
        }
        None
    }

    #[inline]
    fn poll_completed(&mut self) -> Option<Transfer> {
        self.completed.take()
    }

    /// The controller of the connection that was told of something last; one that has seen nothing if that connection is over.
    fn controller(&self) -> &C {
        self.live[self.latest].as_ref().map_or(&self.fresh, SendingEnd::controller)
    }

    /// Windows and flights are summed over the connections, the rest is that of the one that was told of something last.
    fn snapshot(&self) -> Snapshot {
        sum_of_windows(self.live(), self.controller())
    }

    /// Every file counts as captured when its connection begins.
    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.begun, discarded: 0 }
    }

    fn target(&self, stream: StreamId) -> Option<Bitrate> {
        self.live[self.latest].as_ref().and_then(|sender| sender.target(stream))
    }

    fn send_queue_bytes(&self, stream: StreamId) -> Bytes {
        self.live().map(|sender| sender.send_queue_bytes(stream)).sum()
    }

    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta {
        self.live().map(|sender| sender.send_queue_age(now, stream)).max().unwrap_or(TimeDelta::ZERO)
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        None
    }

    fn transfers(&self) -> Option<TransferCounters> {
        Some(TransferCounters { begun: self.begun })
    }
}
