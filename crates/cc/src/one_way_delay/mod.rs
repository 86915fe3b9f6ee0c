//! One-way delays by two clocks that need not agree: the receiver's may run faster or slower than the sender's, and may
//! be set while packets flow.
//!
//! A packet tells two delays: its own, from sending to arrival, and that of the report which tells of it, from arrival to
//! the report. A clock that runs faster makes the one longer and the other shorter; a queue makes one longer and leaves
//! the other alone. So there is a skew where both lower envelopes show one, with opposite signs. How large it is, the one
//! says that lies closer to its line; if neither does, the smaller slope counts. The line is that of Moon, Skelly and
//! Towsley (1999): the edge of the lower convex hull under the mean time.
//!
//! With clocks that agree nothing is corrected, and delays are exact to the nanosecond.

mod envelope;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use envelope::{Envelope, Point};
use paceline_units::{Time, TimeDelta};

/// No clock of a computer is further off: 500 parts per million.
const LARGEST_SKEW: f64 = 500e-6;
/// Nanoseconds by which both envelopes must have moved before there is a skew: more than the step of RFC 8888's clock
/// (1/1024 s), which is all that clocks without a skew can show.
const SIGNIFICANT: i64 = 1_200_000;
/// A smaller step of a clock, in nanoseconds, is not told from noise. Clocks that are kept by NTP are stepped by 128 ms
/// and more.
const SMALLEST_STEP: i64 = 20_000_000;
/// How far a delay may lie below its envelope and still agree with it, in nanoseconds.
const TOLERANCE: i64 = 2_000_000;
/// A direction whose delays lie closer to their line on average, in nanoseconds, tells the skew alone: the other's queue
/// comes and goes.
const CLEAN: f64 = 2e6;
/// Nanoseconds after a step in which its size is still corrected.
const SETTLING: i64 = 1_000_000_000;

/// A receiver that has told no arrival for so long tells none any more.
const UNTOLD: TimeDelta = TimeDelta::from_secs(2);

/// The way in which a flow's delays are measured: one way where reports tell arrivals, and by round trips where they tell none.
#[derive(Clone, Copy, Debug)]
pub struct DelayMeasure {
    /// When an arrival was told last.
    told: Option<Time>,
    by_round_trips: bool,
}

impl DelayMeasure {
    /// Nothing was told yet.
    pub const NEW: DelayMeasure = DelayMeasure { told: None, by_round_trips: false };

    /// A report came at `now` that tells of a packet's arrival, or (`None`) that it arrived at a time unknown. Answers when its delay
    /// ends, and whether it is measured by the other way than those before; `None` if it cannot be told this once.
    #[inline]
    pub fn end(&mut self, now: Time, arrived: Option<Time>) -> Option<(Time, bool)> {
        if arrived.is_some() {
            self.told = Some(now);
        } else if self.told.is_some_and(|told| now.saturating_since(told) < UNTOLD) {
            return None;
        }
        let before = core::mem::replace(&mut self.by_round_trips, arrived.is_none());
        Some((arrived.unwrap_or(now), before != self.by_round_trips))
    }
}

/// The clocks of both ends, for controllers that keep delays of their own: compared, or taken as they are.
#[derive(Clone, Debug)]
pub struct Clocks(Option<Box<OneWayDelay>>);

impl Clocks {
    /// Nothing is known yet.
    pub fn new(compensates: bool) -> Clocks {
        Clocks(compensates.then(|| Box::new(OneWayDelay::new(true))))
    }

    /// As [`OneWayDelay::on_arrival`], and by what the delays kept of earlier packets have to be corrected.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, sent: Time, arrived: Time) -> (KeptDelay, Option<Tilt>) {
        let (delay, tilt) = match &mut self.0 {
            None => (arrived - sent, None),
            Some(clocks) => (clocks.on_arrival(now, sent, arrived), clocks.take_tilt()),
        };
        (KeptDelay { nanos: delay.as_nanos(), sent }, tilt)
    }

    /// Other clocks: nothing that is known holds.
    pub fn forget(&mut self) {
        if let Some(clocks) = &mut self.0 {
            **clocks = OneWayDelay::new(true);
        }
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if the clocks are not compared.
    pub fn skew_ppm(&self) -> Option<f64> {
        self.0.as_ref().map(|clocks| clocks.skew_ppm())
    }
}

/// A delay in nanoseconds that is kept, and when its packet was sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KeptDelay {
    /// The delay; `i64::MAX` if nothing was measured.
    pub nanos: i64,
    sent: Time,
}

impl KeptDelay {
    /// Nothing was measured.
    pub const NONE: KeptDelay = KeptDelay { nanos: i64::MAX, sent: Time::ZERO };

    /// The delay by what is now known of the clocks.
    pub fn correct(&mut self, tilt: &Tilt) {
        if self.nanos != KeptDelay::NONE.nanos {
            self.nanos = tilt.correct(self.sent, TimeDelta::from_nanos(self.nanos)).as_nanos();
        }
    }
}

/// An estimate of the receiver's clock beside the sender's, and of the delays without it.
///
/// Its memory is bounded (128 s of delays), and no packet allocates.
#[derive(Clone, Debug)]
pub struct OneWayDelay {
    compensates: bool,
    origin: Option<Origin>,
    forward: Envelope,
    backward: Envelope,
    /// Below these, and from this time on, a packet changes what is known.
    quiet: Quiet,
    /// Nanoseconds by which the receiver's clock has been put forward, and the same with what it has gained until `anchor`.
    stepped: i64,
    ahead: i64,
    /// From when on it gains by `skew`, in nanoseconds: what was before is no longer looked at.
    anchor: i64,
    /// By how much the receiver's clock gains on the sender's, as a part.
    skew: f64,
    /// The packet before.
    last: Packet,
    /// Until when a step is still corrected.
    settles: i64,
    steps: u64,
    tilt: Option<Tilt>,
}

/// The first packet, from whose sending and delays all others are counted.
#[derive(Clone, Copy, Debug)]
struct Origin {
    sent: Time,
    forward: TimeDelta,
    backward: TimeDelta,
}

/// A packet that arrived, with its delays over those of the first by what is known of the clocks, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// When it was reported.
    now: Time,
    /// When it was sent, after the first.
    at: i64,
    forward: i64,
    backward: i64,
}

/// Packets within these bounds say nothing new.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    forward: i64,
    backward: i64,
    until: i64,
}

/// News of the skew: how delays that were answered before have to be corrected.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tilt {
    origin: Time,
    from: i64,
    slope: f64,
}

impl Tilt {
    fn corrected(&self, at: i64, delay: i64) -> i64 {
        let since = at.saturating_sub(self.from).max(0);
        delay.saturating_sub((self.slope * since as f64) as i64)
    }

    /// A delay that was answered for a packet sent at `sent`, by what is known now.
    pub fn correct(&self, sent: Time, delay: TimeDelta) -> TimeDelta {
        TimeDelta::from_nanos(self.corrected((sent - self.origin).as_nanos(), delay.as_nanos()))
    }
}

impl OneWayDelay {
    /// Nothing is known yet. Without `compensates`, clocks are taken to agree.
    pub fn new(compensates: bool) -> OneWayDelay {
        OneWayDelay {
            compensates,
            origin: None,
            forward: Envelope::new(),
            backward: Envelope::new(),
            quiet: Quiet { forward: i64::MAX, backward: i64::MAX, until: i64::MIN },
            stepped: 0,
            ahead: 0,
            anchor: 0,
            skew: 0.0,
            last: Packet { now: Time::ZERO, at: 0, forward: 0, backward: 0 },
            settles: i64::MIN,
            steps: 0,
            tilt: None,
        }
    }

    /// A report that came at `now` says that what was sent at `sent` (both by our clock) arrived at `arrived` (by the
    /// receiver's). Answers the delay by one clock; its zero is that of the first packet.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, sent: Time, arrived: Time) -> TimeDelta {
        // Times that cannot be give delays that cannot be, and are no reason to be slow.
        let (forward, backward) = (arrived.wrapping_since(sent), now.wrapping_since(arrived));
        let origin = *self.origin.get_or_insert(Origin { sent, forward, backward });
        let at = sent.wrapping_since(origin.sent).as_nanos();
        let ahead = self.ahead(at);
        let forward = forward.as_nanos().wrapping_sub(origin.forward.as_nanos()).wrapping_sub(ahead);
        let backward = backward.as_nanos().wrapping_sub(origin.backward.as_nanos()).wrapping_add(ahead);
        let Quiet { forward: least, backward: back, until } = self.quiet;
        let fell = self.last.forward.saturating_sub(SMALLEST_STEP) > forward;
        if forward < least || backward < back || at >= until || fell {
            return TimeDelta::from_nanos(self.learn(Packet { now, at, forward, backward }));
        }
        self.last = Packet { now, at, forward, backward };
        TimeDelta::from_nanos(forward)
    }

    /// By how much the receiver's clock is ahead, as far as is known.
    #[inline]
    fn ahead(&self, at: i64) -> i64 {
        if self.skew == 0.0 {
            return self.ahead;
        }
        self.ahead.saturating_add((self.skew * at.saturating_sub(self.anchor) as f64) as i64)
    }

    /// A delay that is smaller than those before it, or the first of a bucket. Answers the delay by what is known then.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, packet: Packet) -> i64 {
        let Packet { at, forward, backward, .. } = packet;
        let step = if self.compensates { self.step(packet) } else { 0 };
        self.stepped = self.stepped.saturating_add(step);
        self.ahead = self.ahead.saturating_add(step);
        let mut forward = forward.saturating_sub(step);
        let backward = backward.saturating_add(step);
        let closed = self.forward.add(Point { at, delay: forward });
        let mut back = i64::MIN;
        if self.compensates {
            self.backward.add(Point { at, delay: backward });
            if closed && let Some(tilt) = self.look_for_skew() {
                forward = tilt.corrected(at, forward);
            }
            back = self.backward.open_least();
        }
        let until = if at < self.settles { i64::MIN } else { self.forward.bucket_end() };
        self.quiet = Quiet { forward: self.forward.open_least(), backward: back, until };
        self.last = Packet { forward, backward, ..packet };
        forward
    }

    /// By how much the clock was put forward since the packet before, in nanoseconds.
    ///
    /// A step shows in both directions at once: one delay falls below its envelope, and the other rises by as much. The
    /// step lies between what the two say, and is what the one says in which less waited before.
    fn step(&mut self, packet: Packet) -> i64 {
        let Packet { at, forward, backward, .. } = packet;
        let (Some(ahead), Some(back)) = (self.forward.settled(), self.backward.settled()) else { return 0 };
        let above = (forward.saturating_sub(ahead), backward.saturating_sub(back));
        let before = (self.last.forward.saturating_sub(ahead), self.last.backward.saturating_sub(back));
        let (least, most) = (above.1.saturating_neg(), above.0);
        let settling = at < self.settles;
        let smallest = if settling { 0 } else { SMALLEST_STEP };
        let is_below = least > smallest || most < -smallest || self.seems_to_overtake(packet);
        if !is_below || most < least.saturating_sub(TOLERANCE) {
            return 0;
        }
        if settling {
            return if least > 0 { least } else { most.min(0) };
        }
        self.steps += 1;
        self.settles = at.saturating_add(SETTLING);
        let said =
            if before.0 <= before.1 { most.saturating_sub(before.0) } else { least.saturating_add(before.1) };
        said.max(least).min(most.max(least))
    }

    /// Whether the packet seems to have arrived before one that an earlier report told of: a clock that was put back by less
    /// than what waits.
    fn seems_to_overtake(&self, packet: Packet) -> bool {
        let sent_after = packet.at.saturating_sub(self.last.at).max(0);
        let fell = self.last.forward.saturating_sub(packet.forward).saturating_sub(sent_after);
        let rose = packet.backward.saturating_sub(self.last.backward);
        packet.now > self.last.now && fell > SMALLEST_STEP && rose > SMALLEST_STEP
    }

    /// The skew, once both directions have shown it; `None` if nothing is new.
    fn look_for_skew(&mut self) -> Option<Tilt> {
        // A forgotten delay stays as it is.
        let anchor = self.forward.forgotten_before().unwrap_or(0).max(self.anchor);
        (self.ahead, self.anchor) = (self.ahead(anchor), anchor);
        let (forward, backward) = (self.forward.line()?, self.backward.line()?);
        if self.skew == 0.0 && !self.is_significant() {
            return None;
        }
        let (ahead, back) = (self.skew + forward.slope, self.skew - backward.slope);
        let skew = if forward.height.min(backward.height) < CLEAN {
            if forward.height < backward.height { ahead } else { back }
        } else if ahead * back > 0.0 {
            if ahead.abs() < back.abs() { ahead } else { back }
        } else {
            return None;
        };
        let skew = skew.clamp(-LARGEST_SKEW, LARGEST_SKEW);
        let tilt = Tilt { origin: self.origin?.sent, from: self.anchor, slope: skew - self.skew };
        self.skew = skew;
        self.forward.tilt(&tilt);
        self.backward.tilt(&Tilt { slope: -tilt.slope, ..tilt });
        self.tilt = Some(tilt);
        self.tilt
    }

    /// Whether both envelopes moved, one up and one down, by more than a clock without a skew shows.
    fn is_significant(&self) -> bool {
        let (Some(forward), Some(backward)) = (self.forward.rise(), self.backward.rise()) else {
            return false;
        };
        forward.min(backward.saturating_neg()) > SIGNIFICANT
            || backward.min(forward.saturating_neg()) > SIGNIFICANT
    }

    /// The news of the skew since the packet before: kept delays are to be corrected by it.
    #[inline]
    pub fn take_tilt(&mut self) -> Option<Tilt> {
        self.tilt.take()
    }

    /// The smallest delay so far, by the same zero.
    pub fn minimum(&self) -> Option<TimeDelta> {
        self.forward.least().map(TimeDelta::from_nanos)
    }

    /// The smallest delay of what was sent from `from` on, to 2 s.
    pub fn minimum_since(&self, from: Time) -> Option<TimeDelta> {
        let from = (from - self.origin?.sent).as_nanos();
        self.forward.least_since(from).map(TimeDelta::from_nanos)
    }

    /// A packet sent before `from` no longer counts towards [`OneWayDelay::minimum`]: the path has changed.
    pub fn forget_before(&mut self, from: Time) {
        if let Some(origin) = self.origin {
            self.forward.forget_before((from - origin.sent).as_nanos());
        }
    }

    /// By how many parts per million the receiver's clock runs faster than the sender's, as far as is known.
    pub fn skew_ppm(&self) -> f64 {
        self.skew * 1e6
    }

    /// By how much the receiver's clock was put forward since the first packet, as far as was recognised.
    pub fn stepped(&self) -> TimeDelta {
        TimeDelta::from_nanos(self.stepped)
    }

    /// Steps of the receiver's clock that were recognised.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}
