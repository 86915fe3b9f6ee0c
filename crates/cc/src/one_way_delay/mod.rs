//! One-way delays by two clocks that need not agree: the receiver's may run faster or slower than the sender's, and may
//! be set while packets flow.
//!
//! A packet tells two delays: its own, from sending to arrival, and that of the report which tells of it, from arrival to
//! the report. A clock that runs faster makes the one longer and the other shorter; a queue makes one longer and leaves
//! the other alone. So what both lower envelopes show with opposite signs is the clock, and nothing else is. The slope of
//! an envelope is that of Moon, Skelly and Towsley (1999): the edge of the lower convex hull under the mean time.

mod envelope;
#[cfg(test)]
mod tests;

use envelope::{Envelope, Point};
use paceline_units::{Time, TimeDelta};

/// No clock of a computer is further off: 500 parts per million.
const LARGEST_SKEW: f64 = 500e-6;
/// A smaller step of a clock is not told from noise. Clocks that are kept by NTP are stepped by 128 ms and more.
const SMALLEST_STEP: f64 = 0.02;
/// How far a delay may lie below its envelope and still agree with it.
const TOLERANCE: f64 = 0.002;
/// Seconds after a step in which its size is still corrected.
const SETTLING: f64 = 1.0;

/// What is known of the receiver's clock beside the sender's, and of the delays without it.
///
/// Its memory is bounded (128 s of delays), and no packet allocates.
#[derive(Clone, Debug)]
pub struct OneWayDelay {
    compensates: bool,
    /// Send time of the first packet, and what its two delays were: all others count from there.
    first: Option<(Time, TimeDelta, TimeDelta)>,
    forward: Envelope,
    backward: Envelope,
    /// By how much the receiver's clock gains on the sender's, as a part.
    skew: f64,
    /// Seconds by which the receiver's clock was put forward since the first packet.
    stepped: f64,
    /// Until when a step is still corrected, in seconds.
    settles: f64,
    steps: u64,
}

impl OneWayDelay {
    /// Nothing is known yet. Without `compensates`, clocks are taken to agree.
    pub fn new(compensates: bool) -> OneWayDelay {
        OneWayDelay {
            compensates,
            first: None,
            forward: Envelope::new(),
            backward: Envelope::new(),
            skew: 0.0,
            stepped: 0.0,
            settles: f64::NEG_INFINITY,
            steps: 0,
        }
    }

    /// A report that came at `now` says that what was sent at `sent` (both by our clock) arrived at `arrived` (by the
    /// receiver's). Answers the delay by one clock; its zero is that of the first packet.
    pub fn on_arrival(&mut self, now: Time, sent: Time, arrived: Time) -> TimeDelta {
        let (forward, backward) = (arrived - sent, now - arrived);
        let (origin, ahead, back) = *self.first.get_or_insert((sent, forward, backward));
        let at = (sent - origin).as_secs_f64();
        let forward = seconds_between(ahead, forward);
        let backward = seconds_between(back, backward);
        if self.compensates {
            self.look_for_step(at, forward, backward);
        }
        let point = Point { at, delay: forward - self.stepped };
        let closed = self.forward.add(point, self.skew);
        if self.compensates {
            self.backward.add(Point { at, delay: backward + self.stepped }, -self.skew);
            if closed {
                self.look_for_skew();
            }
        }
        TimeDelta::from_secs_f64(point.without(self.skew))
    }

    /// A step shows in both directions at once: one delay falls below its envelope, and the other rises by as much.
    fn look_for_step(&mut self, at: f64, forward: f64, backward: f64) {
        let (Some(ahead), Some(back)) = (self.forward.settled(self.skew), self.backward.settled(-self.skew))
        else {
            return;
        };
        // By how much each delay lies above its envelope.
        let ahead = forward - self.stepped - self.skew * at - ahead;
        let back = backward + self.stepped + self.skew * at - back;
        let settling = at < self.settles;
        let smallest = if settling { 0.0 } else { SMALLEST_STEP };
        let step = if -back > smallest && ahead + back >= -TOLERANCE {
            -back
        } else if -ahead > smallest && back + ahead >= -TOLERANCE {
            ahead
        } else {
            return;
        };
        self.stepped += step;
        if !settling {
            self.steps += 1;
            self.settles = at + SETTLING;
        }
    }

    /// What both directions show with opposite signs: the smaller of the two, or nothing.
    #[cold]
    fn look_for_skew(&mut self) {
        let (Some(forward), Some(backward)) = (self.forward.slope(), self.backward.slope()) else { return };
        let faster = forward.min(-backward).max(0.0);
        let slower = forward.max(-backward).min(0.0);
        self.skew = (faster + slower).clamp(-LARGEST_SKEW, LARGEST_SKEW);
        self.forward.tilt(self.skew);
        self.backward.tilt(-self.skew);
    }

    /// The smallest delay so far, by the same zero.
    pub fn minimum(&self) -> Option<TimeDelta> {
        self.forward.least(self.skew).map(TimeDelta::from_secs_f64)
    }

    /// The smallest delay of what was sent from `from` on, to 2 s.
    pub fn minimum_since(&self, from: Time) -> Option<TimeDelta> {
        let (origin, ..) = self.first?;
        let from = (from - origin).as_secs_f64();
        self.forward.least_since(from, self.skew).map(TimeDelta::from_secs_f64)
    }

    /// What was sent before `from` no longer counts towards [`OneWayDelay::minimum`]: the path has changed.
    pub fn forget_before(&mut self, from: Time) {
        if let Some((origin, ..)) = self.first {
            self.forward.forget_before((from - origin).as_secs_f64(), self.skew);
        }
    }

    /// By how many parts per million the receiver's clock runs faster than the sender's, as far as is known.
    pub fn skew_ppm(&self) -> f64 {
        self.skew * 1e6
    }

    /// Steps of the receiver's clock that were recognised.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

fn seconds_between(first: TimeDelta, delay: TimeDelta) -> f64 {
    delay.as_secs_f64() - first.as_secs_f64()
}
