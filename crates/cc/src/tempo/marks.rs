//! The average part of packets that arrive marked, as DCTCP and Prague keep it.

use super::Params;
use super::path::Counts;
use super::signals::Signals;
use paceline_units::{Time, TimeDelta};

/// Marks are counted over a round trip, or over this many seconds (Prague's reference round trip).
const SHORTEST: f64 = 0.025;

/// The average, and the counts of the present round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The average part, 0 to 1.
    pub(super) alpha: f64,
    any: bool,
    counts: Counts,
    due: Time,
}

impl Marks {
    pub(super) const NONE: Marks = Marks { alpha: 0.0, any: false, counts: Counts::NONE, due: Time::ZERO };

    /// Counts on; answers once a round trip whether there were marks in it.
    pub(super) fn count(&mut self, params: &Params, signals: &Signals, counts: &Counts) -> bool {
        self.counts.add(counts);
        if signals.now < self.due || self.counts.delivered <= 0.0 {
            return false;
        }
        let Counts { delivered, marked, .. } = core::mem::replace(&mut self.counts, Counts::NONE);
        self.due = signals.now + TimeDelta::from_secs_f64(signals.rtt.max(SHORTEST));
        let part = (marked / delivered).min(1.0);
        if part > 0.0 && !self.any {
            (self.any, self.alpha) = (true, 1.0);
        }
        self.alpha += params.l4s_gain * (part - self.alpha);
        part > 0.0
    }
}
