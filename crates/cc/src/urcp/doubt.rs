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
/// Present rates and delays are means over the last span of this length.
const SPAN: TimeDelta = TimeDelta::from_secs(2);
/// Where the path has carried more before, a span without a queue is waited for at first, and one more after each time that it did not
/// again, up to the first of these; after the second number of times, twice as many each time, up to the third.
const SPANS: (u32, u32, u32) = (4, 16, 64);
/// A rate above this part of R_MAX, and no queue, tell of more by themselves.
const ABOVE: f64 = 1.1;

/// The value in doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// The path has changed: R_MAX may fall and delta_MIN may rise.
    Path,
    /// There may be more capacity, or less noise.
    More,
}

/// R_MAX in bit/s and delta_MIN in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Learned {
    pub(super) r_max: f64,
    pub(super) delta_min: f64,
}

impl Learned {
    /// Whether `r_max` is more, and by so much that it is another capacity.
    pub(super) fn is_below(&self, r_max: f64) -> bool {
        r_max > self.r_max * (1.0 + CHANGED)
    }
}

/// Rates and delays of a span.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Span {
    began: Option<Time>,
    packets: f64,
    rates: f64,
    delays: f64,
}

/// The doubt that a rate over R_MAX and a delay over the noise cast.
fn doubt_of(rate: f64, delay: f64) -> Option<Doubt> {
    if rate < BELOW.0 && delay > BELOW.1 {
        Some(Doubt::Path)
    } else if rate > AT.0 && delay < AT.1 {
        Some(Doubt::More)
    } else {
        None
    }
}

/// A doubt that waits to be acted on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Doubts {
    stands: Option<(Doubt, Time)>,
    /// The doubt that is acted on, and the values learned before.
    pub(super) acting: Option<(Doubt, Learned)>,
    /// Of each doubt, in times of `reprobe_after`.
    patience: [f64; 2],
    /// Capacity and noise of the path before it was found to carry less, as far as it was used.
    before_fall: Option<Learned>,
    /// The highest mean rate in bit/s that arrived over a window.
    carried: f64,
    span: Span,
    /// Rate over R_MAX and delay over the noise of the last span.
    present: Option<(f64, f64)>,
    /// Spans in a row without a queue, and how often what was learned then was not what the path had before.
    clear: u32,
    in_vain: u32,
}

impl Doubts {
    pub(super) fn new() -> Doubts {
        Doubts {
            stands: None,
            acting: None,
            patience: [1.0; 2],
            before_fall: None,
            carried: 0.0,
            span: Span::default(),
            present: None,
            clear: 0,
            in_vain: 0,
        }
    }

    /// Capacity and noise of the path before it fell, where it has the same capacity again.
    pub(super) fn known_before(&self, r_max: f64) -> Option<Learned> {
        self.before_fall.filter(|before| (r_max / before.r_max - 1.0).abs() <= CHANGED)
    }

    /// This mean rate in bit/s arrived over a window.
    #[inline]
    pub(super) fn on_carried(&mut self, rate: f64) {
        self.carried = self.carried.max(rate);
    }

    /// A packet arrived.
    #[inline]
    pub(super) fn note(&mut self, now: Time, rate: f64, delay: f64) {
        self.span.began.get_or_insert(now);
        self.span.packets += 1.0;
        self.span.rates += rate;
        self.span.delays += delay;
    }

    /// Whether a path that has carried more may do so again: it was clear for long enough.
    pub(super) fn may_have_recovered(&mut self, now: Time, learned: &Learned) -> bool {
        let Span { began: Some(began), packets, rates, delays } = self.span else { return false };
        if now.saturating_since(began) < SPAN {
            return false;
        }
        self.span = Span::default();
        let (rate, delay) = (rates / packets / learned.r_max, delays / packets / learned.delta_min);
        self.present = Some((rate, delay));
        self.clear = if doubt_of(rate, delay) == Some(Doubt::More) { self.clear + 1 } else { 0 };
        let is_clear = self.clear >= self.wanted_spans() || (self.clear > 0 && rate > ABOVE);
        is_clear && self.before_fall.is_some_and(|before| learned.is_below(before.r_max))
    }

    fn wanted_spans(&self) -> u32 {
        let (few, often, most) = SPANS;
        match self.in_vain.checked_sub(often) {
            None => (1 + self.in_vain).min(few),
            Some(more) => (few << more.min(8)).min(most),
        }
    }

    /// Looks at the rate over R_MAX and delays over the noise; answers a doubt that has stood for long enough.
    pub(super) fn look(&mut self, params: &Params, now: Time, rate: f64, delay: f64) -> Option<Doubt> {
        let doubt = doubt_of(rate, delay);
        let since = self.stands.filter(|(stood, _)| Some(*stood) == doubt).map_or(now, |(_, since)| since);
        self.stands = doubt.map(|doubt| (doubt, since));
        let patience = self.patience[doubt? as usize];
        let wait = TimeDelta::from_secs_f64(params.reprobe_after.as_secs_f64() * patience);
        let doubt = doubt.filter(|_| now.saturating_since(since) >= wait)?;
        // A queue that has gone is no reason to look for one.
        let gone = |(rate, delay)| doubt_of(rate, delay) != Some(Doubt::Path);
        if doubt == Doubt::Path && self.present.is_none_or(gone) {
            return None;
        }
        self.stands = None;
        Some(doubt)
    }

    /// Takes the value that was learned anew; the next doubt waits longer if nothing has changed.
    pub(super) fn settle(&mut self, learned: Learned) {
        (self.span, self.present, self.clear) = (Span::default(), None, 0);
        let Some((doubt, before)) = self.acting.take() else { return };
        let changed = (learned.r_max / before.r_max - 1.0).abs() > CHANGED
            || (learned.delta_min / before.delta_min - 1.0).abs() > 2.0 * CHANGED;
        if changed {
            self.patience = [1.0; 2];
        } else {
            let patience = &mut self.patience[doubt as usize];
            *patience = (*patience * PATIENCE).min(MOST_PATIENCE);
        }
        if doubt == Doubt::Path && self.before_fall.is_none() {
            let carried = Learned { r_max: before.r_max.min(self.carried), ..before };
            (self.before_fall, self.in_vain, self.carried) = (Some(carried), 0, 0.0);
        } else {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        self.before_fall = self.before_fall.filter(|before| learned.is_below(before.r_max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_in_vain_wants_more_spans_without_a_queue() {
        let wanted = |in_vain| Doubts { in_vain, ..Doubts::new() }.wanted_spans();
        assert_eq!([0, 1, 3, 4, 16].map(wanted), [1, 2, 4, 4, 4]);
        assert_eq!([17, 18, 20, 21, u32::MAX].map(wanted), [8, 16, 64, 64, 64]);
    }
}
