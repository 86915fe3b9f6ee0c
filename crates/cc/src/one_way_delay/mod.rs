//! One-way delays by two clocks that need not agree: the receiver's may run faster or slower than the sender's, and may
//! be set while packets flow.
//!
//! A packet tells two delays: its own, from sending to arrival, and that of the report which tells of it, from arrival to
//! the report. A clock that runs faster, or is put forward, makes the one longer and the other shorter, and leaves the round
//! trip as it was. A queue makes one longer. Another route makes both longer or both shorter, or one alone. `steps.rs` says how
//! a step is told from these, `skew.rs` how a skew is.
//!
//! Two routes that change at once, one by as much longer as the other is shorter, look like a step in all that a sender sees.
//! Feedback without times of arrival tells nothing of clocks: then delays are round trips ([`DelayMeasure`]). A receiver that
//! sees no reports of its own, as for the statistics of RFC 8382, sees one direction and cannot tell a step from a queue.
//!
//! With clocks that agree nothing is corrected, and delays are exact to the nanosecond.

mod envelope;
#[cfg(test)]
mod judge;
mod least;
mod skew;
mod spans;
mod steps;
#[cfg(test)]
mod tests;

pub use least::LeastDelays;

use alloc::boxed::Box;
use envelope::{Envelope, Point};
use paceline_units::{Time, TimeDelta};
use skew::Points;
use steps::{Change, Steps};

/// No clock of a computer is further off: 500 parts per million.
const LARGEST_SKEW: f64 = 500e-6;
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

    /// The delay of another packet of the same time, which was less by so much.
    #[inline]
    pub(crate) fn less(self, by: TimeDelta) -> KeptDelay {
        KeptDelay { nanos: self.nanos.saturating_sub(by.as_nanos()), ..self }
    }

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
    steps: Steps,
    /// Steps that are sure.
    sure_steps: u64,
    tilt: Option<Tilt>,
}

/// The first packet, from whose sending and delays all others are counted.
#[derive(Clone, Copy, Debug)]
struct Origin {
    sent: Time,
    forward: TimeDelta,
    backward: TimeDelta,
}

/// Delays both ways, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Both {
    forward: i64,
    backward: i64,
}

impl Both {
    /// Nothing was measured.
    const NONE: Both = Both { forward: i64::MAX, backward: i64::MAX };

    #[inline]
    fn min(self, other: Both) -> Both {
        Both { forward: self.forward.min(other.forward), backward: self.backward.min(other.backward) }
    }

    fn max(self, other: Both) -> Both {
        Both { forward: self.forward.max(other.forward), backward: self.backward.max(other.backward) }
    }

    fn less(self, other: Both) -> Both {
        let forward = self.forward.saturating_sub(other.forward);
        Both { forward, backward: self.backward.saturating_sub(other.backward) }
    }

    fn abs(self) -> Both {
        Both { forward: self.forward.saturating_abs(), backward: self.backward.saturating_abs() }
    }

    /// The step of the clock that a direction shows which moved by this.
    fn size_by(self, forward: bool) -> i64 {
        if forward { self.forward } else { self.backward.saturating_neg() }
    }

    /// Without a step of the clock by so much; if something was measured.
    fn stepped(self, by: i64) -> Both {
        if self == Both::NONE {
            return self;
        }
        Both { forward: self.forward.saturating_sub(by), backward: self.backward.saturating_add(by) }
    }

    /// Whether one of the two is.
    fn is_below(self, floor: Both) -> bool {
        self.forward < floor.forward || self.backward < floor.backward
    }
}

/// A packet that arrived, with its delays over those of the first by what is known of the clocks.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// When it was sent, in nanoseconds after the first.
    at: i64,
    delays: Both,
}

/// Packets within these bounds say nothing new.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    forward: i64,
    backward: i64,
    until: i64,
}

/// News of the skew or of a step: how delays that were answered before have to be corrected.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tilt {
    origin: Time,
    from: i64,
    slope: f64,
    /// Nanoseconds by which the clock was put forward besides.
    step: i64,
}

impl Tilt {
    /// By how much a delay of what was sent at `at` was told too large, in nanoseconds.
    fn gained(&self, at: i64) -> i64 {
        let since = at.saturating_sub(self.from);
        if since < 0 { 0 } else { self.step.saturating_add((self.slope * since as f64) as i64) }
    }

    fn corrected(&self, at: i64, delay: i64) -> i64 {
        delay.saturating_sub(self.gained(at))
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
            steps: Steps::new(),
            sure_steps: 0,
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
        if forward < least || backward < back || at >= until {
            return TimeDelta::from_nanos(self.learn(Packet { at, delays: Both { forward, backward } }));
        }
        if self.compensates {
            self.steps.note(Both { forward, backward });
        }
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

    /// A delay that is smaller than those before it, or the first of a bucket or a span. Answers the delay by what is known
    /// then.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, mut packet: Packet) -> i64 {
        if !self.compensates {
            self.forward.add(Point { at: packet.at, delay: packet.delays.forward });
            let (forward, until) = (self.forward.open_least(), self.forward.bucket_end());
            self.quiet = Quiet { forward, backward: i64::MIN, until };
            return packet.delays.forward;
        }
        let least = self.forward.settled().zip(self.backward.settled());
        let least = least.map(|(forward, backward)| Both { forward, backward });
        if let Some(by) = self.steps.belongs_before(&packet) {
            let real = packet.delays.stepped(by.saturating_neg()).forward;
            return real.max(self.forward.least().unwrap_or(real));
        }
        let change = self.steps.on_packet(&packet, self.round_trip(&packet), least);
        if let Some(change) = change {
            self.step(change, &mut packet);
        }
        let at = packet.at;
        let Both { mut forward, backward } =
            self.steps.floor().map_or(packet.delays, |least| packet.delays.max(least));
        let closed = self.forward.add(Point { at, delay: forward });
        self.backward.add(Point { at, delay: backward });
        if closed
            && change.is_none()
            && let Some(tilt) = self.look_for_skew()
        {
            forward = tilt.corrected(at, forward);
        }
        let (until, below) = self.steps.quiet_until();
        self.quiet = Quiet {
            forward: self.forward.open_least().max(below.forward),
            backward: self.backward.open_least().max(below.backward),
            until: self.forward.bucket_end().min(until),
        };
        forward
    }

    /// A packet's round trip, with its wait for the report, in nanoseconds.
    fn round_trip(&self, packet: &Packet) -> i64 {
        let first = self
            .origin
            .map_or(0, |origin| origin.forward.as_nanos().saturating_add(origin.backward.as_nanos()));
        first.saturating_add(packet.delays.forward).saturating_add(packet.delays.backward)
    }

    /// Takes the news of a step in.
    fn step(&mut self, change: Change, packet: &mut Packet) {
        let (Some(origin), Change { by, from, is_sure }) = (self.origin, change) else { return };
        self.sure_steps += u64::from(is_sure);
        self.stepped = self.stepped.saturating_add(by);
        self.ahead = self.ahead.saturating_add(by);
        packet.delays = packet.delays.stepped(by);
        self.forward.shift(from, by);
        self.backward.shift(from, by.saturating_neg());
        self.tilt = Some(Tilt { origin: origin.sent, from, slope: 0.0, step: by });
    }

    /// The skew, once both directions have shown it; `None` if nothing is new.
    fn look_for_skew(&mut self) -> Option<Tilt> {
        // A forgotten delay stays as it is.
        let anchor = self.forward.forgotten_before().unwrap_or(0).max(self.anchor);
        (self.ahead, self.anchor) = (self.ahead(anchor), anchor);
        let (forward, backward) = (Points::new(self.forward.points()), Points::new(self.backward.points()));
        let skew = skew::skew(self.skew, forward, backward)?;
        let skew = skew.clamp(-LARGEST_SKEW, LARGEST_SKEW);
        let tilt = Tilt { origin: self.origin?.sent, from: self.anchor, slope: skew - self.skew, step: 0 };
        self.skew = skew;
        self.forward.tilt(&tilt);
        self.backward.tilt(&Tilt { slope: -tilt.slope, ..tilt });
        self.steps.tilt(&tilt);
        self.tilt = Some(tilt);
        self.tilt
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

    /// By how much the receiver's clock was put forward since the first packet, as far as is known. A step that is in doubt counts
    /// until it is sure, or none.
    pub fn stepped(&self) -> TimeDelta {
        TimeDelta::from_nanos(self.stepped)
    }

    /// The same for a packet sent at `sent`: without the newest step, if that came after it.
    pub fn stepped_at(&self, sent: Time) -> TimeDelta {
        let at = self.origin.map_or(0, |origin| sent.wrapping_since(origin.sent).as_nanos());
        TimeDelta::from_nanos(self.stepped.saturating_sub(self.steps.newest_after(at)))
    }

    /// Steps of the receiver's clock that are sure.
    pub fn steps(&self) -> u64 {
        self.sure_steps
    }
}
