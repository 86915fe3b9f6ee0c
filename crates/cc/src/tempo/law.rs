//! The law of the rate: it grows until a queue stands, packets are lost that were not before, or marks come, and goes on from what the
//! path carried once the queue has drained.

use super::Params;
use super::losses::{Losses, Verdict};
use super::marks::Marks;
use super::others::Others;
use super::path::{Counts, Path};
use super::policer::Policer;
use super::recent::Peak;
use super::signals::Signals;
use crate::marks::bounded_growth;
use paceline_units::{Time, TimeDelta};

/// The rate may grow beyond what arrived in this time or the one before it, times the head room.
const PEAK_SPAN: TimeDelta = TimeDelta::from_secs(5);
/// In the start the rate is no more than this times what arrives, and grows by this in a response time.
const START_GROWTH: f64 = 2.0;
/// A queue of ours falls by this part of the time, at least.
const PROGRESS: f64 = 0.25;
/// A queue below this part of its limit has drained.
const DRAINED: f64 = 0.25;
/// A queue that grows by this part of the time although the rate is lower: the path carries less than was thought.
const OVERFLOW: f64 = 0.2;
/// Shortest and longest time over which what arrives is measured, in seconds.
const ARRIVALS: (f64, f64) = (0.2, 1.9);
/// The same of a flow that has just begun.
const FIRST_ARRIVALS: f64 = 0.05;
/// The rate of the path is measured over so many of the largest packets, at least.
const CARRIED: f64 = 4.0;
/// Growth is faster after so many response times without congestion, at least.
const PATIENCE: f64 = 10.0;
/// The rate, in bit/s, at which growth is `growth`.
const UNIT: f64 = 1e6;
/// The standing queue's limit is at least so many largest packets long.
const PACKETS: f64 = 0.5;

/// The phases of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The rate doubles.
    Start,
    /// The rate grows slowly.
    Growth,
    /// A queue drains.
    Drain,
}

/// The path as the report shows it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The standing queue, and the one beyond the floor that is congestion, in seconds.
    standing: f64,
    limit: f64,
    /// Rate of arrival, in bit/s.
    arrives: f64,
    /// Bit/s at which trains passed as they came, while no queue stood.
    room: Option<f64>,
    /// Whether the last reduction of the rate shows.
    settled: bool,
}

impl Seen {
    /// Whether hardly any queue stands, ours or not.
    fn is_drained(&self) -> bool {
        self.standing <= DRAINED * self.limit
    }
}

/// A drain that goes on.
#[derive(Clone, Copy, Debug)]
struct Drain {
    since: Time,
    /// Whether it began from growth, and not because the queue grew in a drain.
    is_first: bool,
    /// Rate of arrival when it began, in bit/s.
    arrived: f64,
    /// The longest queue, and the one that was on its way when it began, in seconds.
    longest: f64,
    coming: f64,
}

impl Drain {
    const NONE: Drain = Drain { since: Time::ZERO, is_first: false, arrived: 0.0, longest: 0.0, coming: 0.0 };
}

/// The flow before its rate was lowered.
#[derive(Clone, Copy, Debug)]
struct Before {
    rate: f64,
    phase: Phase,
    /// When it had been lowered last.
    lowered: Option<Time>,
}

/// The rate of a flow.
#[derive(Clone, Debug)]
pub(super) struct Law {
    /// The present rate in bit/s.
    pub(super) rate: f64,
    pub(super) phase: Phase,
    before: Before,
    /// When the rate was lowered last.
    lowered: Option<Time>,
    /// When packets arrived marked last, under L4S.
    marked: Option<Time>,
    /// When the last report came.
    last: Option<Time>,
    drain: Drain,
    /// Whether the rate was assigned since it was lowered: flows that share a bottleneck know each other, and the queue is theirs.
    assigned: bool,
    /// The most that arrived of late, in bit/s.
    arrived: Peak,
    policer: Policer,
    pub(super) others: Others,
    pub(super) losses: Losses,
    pub(super) marks: Marks,
}

impl Law {
    pub(super) fn new(rate: f64) -> Law {
        Law {
            rate,
            phase: Phase::Start,
            before: Before { rate, phase: Phase::Start, lowered: None },
            lowered: None,
            marked: None,
            last: None,
            drain: Drain::NONE,
            assigned: false,
            arrived: Peak::new(PEAK_SPAN),
            policer: Policer::NONE,
            others: Others::NONE,
            losses: Losses::NONE,
            marks: Marks::NONE,
        }
    }

    /// The rate to share with others: while a queue drains that with which growth goes on, in bit/s.
    pub(super) fn shared(&self, params: &Params) -> f64 {
        if self.phase == Phase::Drain {
            params.back_off * self.drain.arrived.min(self.before.rate)
        } else {
            self.rate
        }
    }

    /// Replaces the rate that is shared. A queue that drains goes on draining, at as much more or less.
    pub(super) fn assign(&mut self, params: &Params, rate: f64) {
        self.assigned = true;
        if self.phase != Phase::Drain {
            self.rate = rate;
            return;
        }
        let shared = self.shared(params);
        if shared > 0.0 {
            self.rate *= rate / shared;
        }
        (self.drain.arrived, self.before.rate) = (rate / params.back_off, rate / params.back_off);
    }

    /// Seconds since the rate was lowered last, if it ever was.
    fn since_lowered(&self, now: Time) -> Option<f64> {
        Some(now.saturating_since(self.lowered?).as_secs_f64())
    }

    /// A report came.
    pub(super) fn update(&mut self, params: &Params, signals: &Signals, path: &mut Path) {
        let now = signals.now;
        let elapsed = self.last.replace(now).map_or(0.0, |last| now.saturating_since(last).as_secs_f64());
        let counts = path.take_counts();
        let span = signals.response.clamp(ARRIVALS.0, ARRIVALS.1);
        let Some(arrives) = path.arrives(span).or_else(|| path.arrives(FIRST_ARRIVALS)) else { return };
        self.arrived.note(now, arrives);
        if signals.held_back {
            return;
        }
        let standing = path.standing().unwrap_or(0.0);
        let settled = self.since_lowered(now).is_none_or(|seconds| seconds >= signals.response);
        let grows = settled && self.phase != Phase::Drain;
        self.others.look(params, now, path.span(), standing, grows);
        if !grows {
            path.trains.forget();
        }
        path.trains.judge(self.rate, signals.packet, params.train_stretch);
        let limit = params.queue_limit.as_secs_f64() * path.stretched(params);
        let limit = limit.max(PACKETS * signals.packet / self.rate);
        let limit = limit + self.others.margin(params);
        // Marks in proportion tell of the room before a queue does.
        let is_told = signals.l4s && self.marks.alpha > 0.0;
        let is_empty = standing <= self.others.floor + DRAINED * limit;
        self.policer.look(params, self.rate);
        let room = path.trains.room.filter(|_| is_empty && !is_told);
        let room = room.map(|room| self.policer.believed(room));
        let seen = Seen { standing, limit, arrives, room, settled };
        let lost = self.count_losses(params, signals, &counts, &seen);
        if self.marks.count(params, signals, &counts) {
            self.on_marks(params, signals, &seen);
        }
        if self.phase == Phase::Drain {
            if settled {
                self.go_on_draining(params, signals, path, &seen);
            } else if self.drain.is_first && !self.assigned && is_empty {
                // It went before less could arrive: noise.
                let Before { rate, phase, lowered } = self.before;
                (self.rate, self.phase, self.lowered) = (rate, phase, lowered);
            } else {
                self.drain.longest = self.drain.longest.max(standing);
            }
        } else if standing > self.others.floor + limit {
            self.lower(now);
            self.drain = Drain { is_first: true, ..Drain::NONE };
            // A queue stood for all of the span: the path carried no more.
            let carried = path.carries(CARRIED * signals.packet).unwrap_or(arrives);
            self.drain(params, signals, &Seen { arrives: carried, ..seen });
        } else if let Some(part) = lost {
            if self.losses.trials() == 1 {
                // If they stay, the rate from before the first trial comes back.
                self.lower(now);
            }
            self.lowered = Some(now);
            self.on_losses(params, part, &seen);
        } else if (settled || self.phase == Phase::Start) && self.losses.trials() == 0 {
            self.grow(params, signals, &seen, elapsed.min(signals.response));
        }
    }

    /// The rate is lowered now, in the start or in growth.
    pub(super) fn lower(&mut self, now: Time) {
        self.before = Before { rate: self.rate, phase: self.phase, lowered: self.lowered };
        self.lowered = Some(now);
    }

    /// Less is sent than arrives, so that a queue drains.
    fn drain(&mut self, params: &Params, signals: &Signals, seen: &Seen) {
        let &Seen { standing, arrives, .. } = seen;
        let now = signals.now;
        (self.phase, self.lowered) = (Phase::Drain, Some(now));
        self.losses.end_trials();
        let arrived = arrives.min(self.rate);
        // Bits in flight take longer than a response time to arrive where more was sent than the path carries.
        let ahead = params.drain_ahead * (signals.in_flight / arrived - signals.response).max(0.0);
        let coming = standing + ahead;
        let part =
            1.0 - (coming - self.others.floor - self.others.margin(params)) / params.drain_time.as_secs_f64();
        // After a fall of the path's rate the queue is as long as the fall was deep.
        let least = params.drain_least * (arrived / self.before.rate).min(1.0);
        self.rate = arrived * part.min(params.back_off).max(least);
        let longest = self.drain.longest.max(standing);
        self.drain = Drain { since: now, arrived, longest, coming, ..self.drain };
    }

    /// A queue drains, and it shows.
    fn go_on_draining(&mut self, params: &Params, signals: &Signals, path: &mut Path, seen: &Seen) {
        let &Seen { standing, limit, .. } = seen;
        let Drain { since, arrived, coming, .. } = self.drain;
        let longest = self.drain.longest.max(standing);
        let elapsed = signals.now.saturating_since(since).as_secs_f64();
        if standing - coming > OVERFLOW * elapsed {
            self.drain(params, signals, seen);
            self.drain.is_first = false;
            return;
        }
        self.drain.longest = longest;
        let drained = seen.is_drained();
        if !drained && elapsed < 2.0 * signals.response + longest / PROGRESS {
            return;
        }
        // Where noise held packets up, more came behind.
        let whole = path.arrives(elapsed.clamp(ARRIVALS.0, ARRIVALS.1)).unwrap_or(0.0);
        let arrived = arrived.max(whole);
        let Before { rate: before, phase, .. } = self.before;
        let assigned = core::mem::take(&mut self.assigned);
        self.others.on_drained(if assigned { 0.0 } else { standing });
        self.lowered = Some(signals.now);
        if drained || assigned || longest - standing > limit / 2.0 {
            (self.rate, self.phase) = (params.back_off * arrived.min(before), Phase::Growth);
        } else {
            // It was none of ours. That more than arrived would arrive was not seen, though.
            (self.rate, self.phase) = (before.min(params.head_room * arrived), phase);
        }
    }

    /// The part of packets that is lost for too high a rate.
    fn count_losses(
        &mut self,
        params: &Params,
        signals: &Signals,
        counts: &Counts,
        seen: &Seen,
    ) -> Option<f64> {
        let (settled, stood) = (seen.settled, !seen.is_drained());
        if !settled && self.phase == Phase::Drain && self.drain.is_first {
            // The queue may have been noise, and its losses are not.
            self.losses.note(counts, stood);
            return None;
        }
        if !settled || self.phase == Phase::Drain {
            self.losses.restart(signals.now);
            return None;
        }
        match self.losses.count(params, signals, counts, stood) {
            Verdict::Usual => None,
            Verdict::Congestion(part) => Some(part),
            Verdict::NotForRate => {
                let Before { rate: before, phase, .. } = self.before;
                self.rate = self.rate.max(before);
                self.policer = Policer::NONE;
                if phase == Phase::Start {
                    self.phase = Phase::Start;
                }
                None
            }
        }
    }

    /// This part of packets was lost for too high a rate.
    fn on_losses(&mut self, params: &Params, part: f64, seen: &Seen) {
        let arrives = seen.arrives;
        let mut passes = self.rate * (1.0 - part);
        if seen.is_drained() {
            self.policer.on_lost(arrives);
            // Losses are counted from before the bucket was empty. Of the rate, media takes a part, and of that usual losses do not arrive.
            passes = passes.min(arrives / params.media_part / (1.0 - self.losses.usual));
        } else {
            self.policer = Policer::NONE;
        }
        (self.rate, self.phase) = (params.loss_back_off * passes, Phase::Growth);
    }

    /// Packets of the last round trip arrived marked.
    fn on_marks(&mut self, params: &Params, signals: &Signals, seen: &Seen) {
        if self.phase == Phase::Drain {
            return;
        }
        if self.phase == Phase::Start {
            (self.rate, self.phase) = (self.rate.min(seen.arrives), Phase::Growth);
        }
        if signals.l4s {
            self.rate *= 1.0 - self.marks.alpha / 2.0;
            self.lowered.get_or_insert(signals.now);
            self.marked = Some(signals.now);
        } else if seen.settled {
            self.lower(signals.now);
            self.rate *= params.mark_back_off;
        }
    }

    fn grow(&mut self, params: &Params, signals: &Signals, seen: &Seen, elapsed: f64) {
        let (per_second, most) = if self.phase == Phase::Start {
            (libm::log(START_GROWTH) / signals.response, START_GROWTH * seen.arrives)
        } else {
            (self.growth(params, signals), params.head_room * self.arrived.most())
        };
        let grown = self.rate * (1.0 + per_second * elapsed);
        let into_room = seen.room.map_or(0.0, |room| {
            let per_second = self.like_others(params.train_growth).min(params.growth_most / signals.response);
            (self.rate * (1.0 + per_second * elapsed)).min(params.train_part * room)
        });
        self.rate = grown.max(into_room).min(most.max(self.rate));
    }

    /// The growth per second of which this is the one at 1 Mbit/s: flows of different rates grow by nearly as much.
    fn like_others(&self, growth: f64) -> f64 {
        growth * libm::sqrt(UNIT / self.rate)
    }

    /// The growth per second, as a part of the rate.
    fn growth(&self, params: &Params, signals: &Signals) -> f64 {
        let response = signals.response;
        // A queue that grows so is seen a response time later, and shrinks after another.
        let unseen = params.growth_queue.as_secs_f64() / (response * response);
        let slow = self.like_others(params.growth).min(unseen);
        let patience = params.growth_patience.as_secs_f64().max(PATIENCE * response);
        let congested = self.lowered.max(self.marked).unwrap_or(signals.now);
        let clear = signals.now.saturating_since(congested).as_secs_f64();
        let fast = params.growth_gain * (clear - patience).max(0.0);
        let grows = slow.max(fast).min(params.growth_most / response);
        if !signals.l4s || self.marks.alpha == 0.0 {
            return grows;
        }
        // Like a Prague flow's, a packet more per interval in each round trip.
        let interval = params.l4s_growth_interval.as_secs_f64();
        let like_prague = signals.packet / (interval * signals.rtt.max(interval)) / self.rate;
        grows.max(bounded_growth(like_prague, params.growth_most, response))
    }
}
