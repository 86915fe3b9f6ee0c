//! When what was learned is learned anew: profile `adaptive`.

use super::Params;
use paceline_units::{Time, TimeDelta};

/// The rate is below this part of R_MAX, and delays are above the noise by the factor beside it: R_MAX or delta_MIN is stale.
const BELOW: (f64, f64) = (0.8, 1.5);
/// The rate is above this part of R_MAX, and delays below the noise times the factor beside it: there may be more.
const AT: (f64, f64) = (0.9, 1.25);
/// A doubt that was unfounded comes up again later, by this factor.
const PATIENCE: f64 = 2.0;
/// It waits no longer than this times `reprobe_after`.
const MOST_PATIENCE: f64 = 8.0;
/// A change of what was learned by less than this part makes a doubt unfounded.
pub(super) const CHANGED: f64 = 0.15;

/// What is in doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// The path has changed: R_MAX may fall and delta_MIN may rise.
    Path,
    /// There may be more capacity, or less noise.
    More,
}

/// A doubt that waits to be acted on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Doubts {
    stands: Option<(Doubt, Time)>,
    /// What is being learned anew, and what R_MAX and delta_MIN were before.
    pub(super) acting: Option<(Doubt, f64, f64)>,
    patience: f64,
}

impl Doubts {
    pub(super) fn new() -> Doubts {
        Doubts { stands: None, acting: None, patience: 1.0 }
    }

    /// Looks at the rate over R_MAX and delays over the noise; answers a doubt that has stood for long enough.
    pub(super) fn look(&mut self, params: &Params, now: Time, rate: f64, delay: f64) -> Option<Doubt> {
        let doubt = if rate < BELOW.0 && delay > BELOW.1 {
            Some(Doubt::Path)
        } else if rate > AT.0 && delay < AT.1 {
            Some(Doubt::More)
        } else {
            None
        };
        let since = self.stands.filter(|(stood, _)| Some(*stood) == doubt).map_or(now, |(_, since)| since);
        self.stands = doubt.map(|doubt| (doubt, since));
        let wait = TimeDelta::from_secs_f64(params.reprobe_after.as_secs_f64() * self.patience);
        let doubt = doubt.filter(|_| now.saturating_since(since) >= wait)?;
        self.stands = None;
        Some(doubt)
    }

    /// What was learned anew is this; the next doubt waits longer if nothing has changed.
    pub(super) fn settle(&mut self, r_max: f64, delta_min: f64) {
        if let Some((_, rate, delta)) = self.acting.take() {
            let changed =
                (r_max / rate - 1.0).abs() > CHANGED || (delta_min / delta - 1.0).abs() > 2.0 * CHANGED;
            self.patience = if changed { 1.0 } else { (self.patience * PATIENCE).min(MOST_PATIENCE) };
        }
    }
}
