//! All connections of one end.

use super::conversation::Conversation;
use super::delay_line::DelayLine;
use super::{ConversationsConfig, Schedule};
use crate::timer_tree::TimerTree;
use crate::{Flags, Segment, TcpConfig, TcpCounters, TcpSender};
use paceline_cc::{Controller, Limits, StreamId};
use paceline_ends::{PathFacts, Reason, SendingEnd, Transfer, Transmit};
use paceline_media::vectors::Side;
use paceline_units::{Bytes, Ecn, RandomStream, Time};
use std::collections::VecDeque;

/// Sequence numbers of a place begin this much further in every round: more than any window.
const ROUND: u32 = 1 << 28;

/// A place for a connection.
#[derive(Clone, Debug)]
struct Place<C> {
    /// The connection that has it, or had it last.
    vector: Option<usize>,
    live: Option<Box<Conversation<C>>>,
}

/// The connections of one end of a flow.
#[derive(Clone, Debug)]
pub(super) struct Many<C> {
    config: ConversationsConfig,
    /// The side that this end plays.
    side: Side,
    /// The first state of every connection's controller.
    pub(super) fresh: C,
    /// The application's limits of every connection, where it has said so.
    limits: Option<Limits>,
    tcp: TcpConfig,
    /// The next connection to begin.
    next: usize,
    places: Vec<Place<C>>,
    pub(super) live_count: usize,
    timers: TimerTree,
    /// The place that was told of something last and has not been asked yet for what it sends.
    touched: Option<usize>,
    /// The place that was told of something last.
    latest: usize,
    line: DelayLine,
    /// Draws which packets are lost before they enter the flow's path; none if none are.
    losses: Option<RandomStream>,
    stopped: bool,
    /// Data units handed over.
    pub(super) begun: u64,
    /// Data units that the other end has whole, and nobody has asked for.
    pub(super) completed: VecDeque<Transfer>,
    /// Counts of connections that are over.
    counted: TcpCounters,
    ignored: u64,
}

impl<C: Controller + Clone> Many<C> {
    /// An end that plays `side`, before anything happened.
    pub(super) fn new(controller: C, tcp: &TcpConfig, config: ConversationsConfig, side: Side) -> Many<C> {
        let count = config.vectors.len().clamp(1, ConversationsConfig::MOST);
        let mut many = Many {
            side,
            fresh: controller,
            limits: None,
            tcp: *tcp,
            next: 0,
            places: (0..count).map(|_| Place { vector: None, live: None }).collect(),
            live_count: 0,
            timers: TimerTree::new(count),
            touched: None,
            latest: 0,
            line: DelayLine::default(),
            losses: config.loss.as_ref().map(|streams| streams[side.index()].clone()),
            stopped: false,
            begun: 0,
            completed: VecDeque::new(),
            counted: TcpCounters::default(),
            ignored: 0,
            config,
        };
        many.leave_out();
        many
    }

    fn plan(&self) -> &Schedule {
        &self.config.schedule
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Conversation<C>> {
        self.places.iter().filter_map(|place| place.live.as_deref())
    }

    pub(super) fn senders(&self) -> impl Iterator<Item = &TcpSender<C>> {
        self.live().map(|conversation| &conversation.sender)
    }

    /// The sender of the connection that was told of something last, unless that is over.
    pub(super) fn latest(&self) -> Option<&TcpSender<C>> {
        self.places[self.latest].live.as_deref().map(|conversation| &conversation.sender)
    }

    /// Counts of its senders, over all connections.
    pub(super) fn counters(&self) -> TcpCounters {
        self.senders().fold(self.counted, |mut sum, sender| {
            sum += sender.counters();
            sum
        })
    }

    /// Segments that changed nothing: of connections that are over or unknown, out of the window, without being connected.
    pub(super) fn ignored(&self) -> u64 {
        self.live().map(Conversation::ignored).sum::<u64>() + self.ignored
    }

    /// When the connection of a vector begins.
    fn start_of(&self, vector: usize) -> Time {
        self.config.schedule.start + self.config.vectors[vector].start
    }

    /// Passes over connections that do not begin.
    fn leave_out(&mut self) {
        while self.next < self.config.vectors.len() && self.plan().leaves_out(self.start_of(self.next)) {
            self.next += 1;
        }
    }

    /// When the next connection begins; none while its place is taken, or there is none.
    #[inline]
    fn next_begin(&self) -> Option<Time> {
        if self.stopped || self.next >= self.config.vectors.len() {
            return None;
        }
        let is_free = self.places[self.next % self.places.len()].live.is_none();
        is_free.then(|| self.start_of(self.next))
    }

    /// Where sequence numbers of a connection begin.
    fn sequence_of(&self, vector: usize) -> u32 {
        ((vector / self.places.len()) as u32).wrapping_mul(ROUND)
    }

    fn begin_next(&mut self, now: Time) {
        let vector = self.next;
        let place = vector % self.places.len();
        self.next += 1;
        self.leave_out();
        let numbers = (place, self.sequence_of(vector));
        let controller = self.fresh.clone();
        let mut conversation =
            Conversation::new(controller, &self.tcp, &self.config, (vector, self.side), numbers);
        let of = &self.config.vectors[vector];
        conversation.begin(now, self.limits.as_ref(), of, &self.config.schedule);
        self.places[place] = Place { vector: Some(vector), live: Some(Box::new(conversation)) };
        self.live_count += 1;
        self.touch(now, place);
    }

    #[inline]
    fn touch(&mut self, now: Time, place: usize) {
        (self.touched, self.latest) = (Some(place), place);
        self.remind(now, place);
    }

    /// Notes when the connection at `place` wants something.
    #[inline]
    fn remind(&mut self, now: Time, place: usize) {
        let timeout = self.places[place].live.as_ref().and_then(|conversation| conversation.next_timeout());
        self.timers.remind(now, place, timeout);
    }

    /// Tells every sender something that may change when it wants to be woken.
    pub(super) fn tell_all(&mut self, now: Time, mut tell: impl FnMut(&mut TcpSender<C>)) {
        for place in 0..self.places.len() {
            if let Some(conversation) = &mut self.places[place].live {
                tell(&mut conversation.sender);
                self.remind(now, place);
            }
        }
    }

    pub(super) fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.limits = Some(*limits);
        self.tell_all(now, |sender| sender.set_limits(now, limits));
    }

    /// No connection begins, nobody says anything new, and what was sent is repaired.
    pub(super) fn stop(&mut self, now: Time) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        for place in 0..self.places.len() {
            if let Some(conversation) = &mut self.places[place].live {
                conversation.stop(now, &self.config.vectors[conversation.vector]);
                self.remind(now, place);
                self.settle(place);
            }
        }
    }

    /// Forgets the connection at `place` if it is over.
    #[inline]
    fn settle(&mut self, place: usize) {
        let Some(conversation) = &self.places[place].live else { return };
        if !conversation.is_over(&self.config.vectors[conversation.vector]) {
            return;
        }
        self.counted += conversation.sender.counters();
        self.ignored += conversation.ignored();
        self.places[place].live = None;
        self.timers.set(place, Time::MAX);
        self.live_count -= 1;
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<(Time, Reason)> {
        let begin = self.next_begin().map(|at| (at, Reason::Capture));
        let stop = self.plan().stop;
        let stops = !self.stopped && stop != Time::MAX && self.live_count > 0;
        let stop = stops.then_some((stop, Reason::Plan));
        let due = self.timers.next();
        let timer = self.timers.due(due).map(|place| {
            let next = self.places[place].live.as_ref().and_then(|conversation| conversation.next_timeout());
            (due, next.map_or(Reason::Pacing, |(_, reason)| reason))
        });
        let crossed = Some((self.line.next(), Reason::Pacing)).filter(|(at, _)| *at != Time::MAX);
        [begin, stop, timer, crossed].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Begins a connection if one is due, or runs the timers of the one that waits longest.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if !self.stopped && self.plan().stop <= now {
            return self.stop(now);
        }
        if self.next_begin().is_some_and(|at| at <= now) {
            return self.begin_next(now);
        }
        let Some(place) = self.timers.due(now) else { return };
        let Some(conversation) = &mut self.places[place].live else { return };
        let of = &self.config.vectors[conversation.vector];
        self.begun += conversation.handle_timeout(now, of, &self.config.schedule);
        self.touch(now, place);
    }

    /// A segment arrived: answers the payload that was not there before.
    pub(super) fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn, facts: PathFacts) -> Bytes {
        // A connection that begins at the same time has begun.
        while self.next_begin().is_some_and(|at| at <= now) {
            self.begin_next(now);
        }
        let place = usize::from(segment.connection / 2);
        let heard = usize::from(segment.connection % 2) == self.side.other().index();
        let Some(Place { vector: Some(vector), live }) = self.places.get_mut(place) else {
            self.ignored += 1;
            return Bytes::ZERO;
        };
        let of = &self.config.vectors[*vector];
        let payload = match live {
            Some(conversation) if heard => {
                conversation.hear(now, (segment, ecn, facts), of, &self.config.schedule)
            }
            Some(conversation) => {
                conversation.acknowledged(now, segment, ecn, &mut self.completed);
                Bytes::ZERO
            }
            None => {
                let vector = *vector;
                self.ignored += 1;
                if heard {
                    self.acknowledge_again(now, vector, segment);
                }
                return Bytes::ZERO;
            }
        };
        self.touch(now, place);
        payload
    }

    /// The connection is over at this end: all that it waited for has arrived, or the flow is stopped. The other end has not
    /// heard so.
    fn acknowledge_again(&mut self, now: Time, vector: usize, segment: Segment) {
        if segment.payload == 0 {
            return;
        }
        let fin = u32::from(segment.flags.has(Flags::FIN));
        let packet = Segment {
            connection: segment.connection,
            flags: Flags::ACK,
            sequence: self.tcp.initial_sequence.wrapping_add(self.sequence_of(vector)).wrapping_add(1),
            acknowledgment: segment.sequence.wrapping_add(segment.payload).wrapping_add(fin),
            window: ROUND,
            ..Segment::default()
        };
        let out =
            Transmit { packet, size: packet.size(), ecn: Ecn::NotEct, stream: StreamId(0), queued: now };
        self.line.push(now, self.config.access_delay(self.config.vectors[vector].rtt), out);
    }

    /// The next packet that enters the flow's path at `now`.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        while self.send_one(now) {}
        self.line.pop(now)
    }

    /// Lets a connection send a segment into its access network; false if none wants to. Connections that could all send
    /// take turns; the one that was told of something is asked first, whatever its timers say.
    #[inline]
    fn send_one(&mut self, now: Time) -> bool {
        if let Some(place) = self.touched {
            if self.send_from(now, place) {
                return true;
            }
            self.touched = None;
            self.settle(place);
        }
        self.timers.due(now).is_some_and(|place| self.send_from(now, place))
    }

    /// Whether a packet of a connection does not reach the flow's path.
    #[inline]
    fn is_lost(&mut self, vector: usize) -> bool {
        let Some(losses) = &mut self.losses else { return false };
        let ratio = self.config.vectors[vector].loss[self.side.index()];
        ratio > 0.0 && losses.uniform() < ratio
    }

    #[inline]
    fn send_from(&mut self, now: Time, place: usize) -> bool {
        let Some(conversation) = &mut self.places[place].live else { return false };
        let Some(out) = conversation.poll_transmit(now) else { return false };
        let (delay, vector) = (conversation.delay, conversation.vector);
        if !self.is_lost(vector) {
            self.line.push(now, delay, out);
        }
        self.remind(now, place);
        true
    }
}
