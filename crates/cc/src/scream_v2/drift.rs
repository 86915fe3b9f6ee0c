//! A queue delay that never falls is no queue, or one that stands: the target falls for a while, and the base delay is measured anew
//! (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.5.1; libwebrtc's rule of its own).

use super::Params;
use crate::silence::times;
use paceline_units::{Time, TimeDelta};

/// The part of the target that is left while a queue is to drain.
pub const DRAINING: f64 = 0.5;

/// The answer to a standing queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// The base delay stays.
    None,
    /// The base delay is forgotten.
    Forget,
}

/// The least queue delay of each round trip, averaged, and for how long it was never small.
#[derive(Clone, Debug)]
pub struct Drift {
    round_end: Time,
    qdelay_min: f64,
    qdelay_min_avg: f64,
    /// Since when the queue delay was never below libwebrtc's threshold.
    above_since: Option<Time>,
    drains_until: Time,
    /// Whether the base delay is to be forgotten if the queue has not drained by then.
    then_forgets: bool,
}

impl Drift {
    /// Nothing was measured.
    pub fn new() -> Drift {
        Drift {
            round_end: Time::ZERO,
            qdelay_min: f64::INFINITY,
            qdelay_min_avg: 0.0,
            above_since: None,
            drains_until: Time::ZERO,
            then_forgets: false,
        }
    }

    /// A report brought this queue delay, whose target is `target`; both in seconds.
    #[inline]
    pub fn on_sample(
        &mut self,
        params: &Params,
        now: Time,
        srtt: TimeDelta,
        qdelay: f64,
        target: f64,
    ) -> Remedy {
        let least = self.watch_least(params, now, srtt, qdelay, target);
        let above = self.watch_above(params, now, srtt, qdelay);
        if least || above { Remedy::Forget } else { Remedy::None }
    }

    fn watch_least(&mut self, params: &Params, now: Time, srtt: TimeDelta, qdelay: f64, target: f64) -> bool {
        self.qdelay_min = self.qdelay_min.min(qdelay);
        if now < self.round_end {
            return false;
        }
        self.round_end = now + srtt;
        self.qdelay_min_avg += params.qdelay_min_avg_alpha * (self.qdelay_min - self.qdelay_min_avg);
        self.qdelay_min = f64::INFINITY;
        if self.qdelay_min_avg <= params.base_reset_fraction * target {
            return false;
        }
        self.qdelay_min_avg = 0.0;
        self.drain(params, now, srtt);
        true
    }

    fn watch_above(&mut self, params: &Params, now: Time, srtt: TimeDelta, qdelay: f64) -> bool {
        if qdelay <= params.qdelay_drain_threshold.as_secs_f64() {
            (self.above_since, self.then_forgets) = (None, false);
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        if self.then_forgets {
            let forgets = now >= self.drains_until;
            if forgets {
                (self.above_since, self.then_forgets) = (None, false);
            }
            return forgets;
        }
        if now.saturating_since(since) >= params.qdelay_drain_period {
            self.drain(params, now, srtt);
            self.then_forgets = true;
        }
        false
    }

    fn drain(&mut self, params: &Params, now: Time, srtt: TimeDelta) {
        self.drains_until = now + params.drain_time.max(times(srtt, params.drain_rtts));
    }

    /// The part of the target that holds now.
    #[inline]
    pub fn part(&self, now: Time) -> f64 {
        if now < self.drains_until { DRAINING } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: TimeDelta = TimeDelta::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// For a queue delay each 100 ms: when the base delay is forgotten first, and until when the target is halved.
    fn remedy(params: &Params, qdelay: impl Fn(u64) -> f64) -> Option<(u64, u64)> {
        let mut drift = Drift::new();
        for n in 0..1000 {
            if drift.on_sample(params, at(n * 100), SRTT, qdelay(n), 0.06) == Remedy::Forget {
                let halved = (0..20_000).find(|ms| drift.part(at(n * 100 + ms)) == 1.0).expect("an end");
                return Some((n * 100, n * 100 + halved));
            }
        }
        None
    }

    /// Section 4.5.1: with 30 ms the average passes 15 ms after ln 2 x 256 round trips.
    #[test]
    fn a_delay_that_is_never_small_resets_the_base_delay_and_halves_the_target() {
        let params = Params::draft();
        assert_eq!(remedy(&params, |_| 0.03), Some((17_700, 18_200)), "for 5 round trips");
        assert_eq!(remedy(&params, |_| 0.014), None);
        assert_eq!(remedy(&Params { qdelay_min_avg_alpha: 0.0, ..params }, |_| 0.03), None);
    }

    #[test]
    fn libwebrtc_drains_first_and_resets_if_that_did_not_help() {
        let params = Params::libwebrtc();
        assert_eq!(remedy(&params, |_| 0.006), Some((20_500, 20_500)));
        assert_eq!(
            remedy(&params, |n| if (201..205).contains(&n) { 0.0 } else { 0.006 }),
            Some((41_000, 41_000))
        );
        assert_eq!(
            remedy(&params, |n| if n % 100 == 0 { 0.0 } else { 0.05 }),
            None,
            "once in 10 s it is empty"
        );
    }
}
