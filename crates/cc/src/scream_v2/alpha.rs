//! The fraction of marked data units under L4S (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.2.1.3).

use super::Params;
use paceline_units::{Time, TimeDelta};

/// `l4s_alpha`: rises fast and falls slowly.
#[derive(Clone, Debug)]
pub struct Alpha {
    /// Averaged fraction of marked data units.
    pub alpha: f64,
    delivered: u64,
    marked: u64,
    due: Time,
}

impl Alpha {
    /// The fraction of a flow that starts.
    pub fn new(params: &Params) -> Alpha {
        Alpha { alpha: params.l4s_alpha_start, delivered: 0, marked: 0, due: Time::ZERO }
    }

    /// Counts the data units of a report, and moves the average if that is due.
    #[inline]
    pub fn on_report(&mut self, params: &Params, now: Time, srtt: TimeDelta, delivered: u32, marked: u32) {
        self.delivered += u64::from(delivered);
        self.marked += u64::from(marked);
        if now < self.due || self.delivered == 0 {
            return;
        }
        let fraction = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.alpha = if fraction >= self.alpha {
            params.l4s_avg_g_up * fraction + (1.0 - params.l4s_avg_g_up) * self.alpha
        } else {
            (1.0 - params.l4s_avg_g_down) * self.alpha
        };
        (self.delivered, self.marked) = (0, 0);
        self.due = now + params.l4s_alpha_interval.min(srtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Section 4.2.1.3.
    #[test]
    fn alpha_rises_by_an_eighth_and_falls_by_a_128th_each_10_ms() {
        let (params, srtt) = (Params::draft(), TimeDelta::from_millis(40));
        let mut alpha = Alpha::new(&params);
        alpha.on_report(&params, at(0), srtt, 4, 2);
        assert_eq!(alpha.alpha, 0.5 / 8.0);
        alpha.on_report(&params, at(9), srtt, 3, 3);
        assert_eq!(alpha.alpha, 0.5 / 8.0, "not within 10 ms");
        alpha.on_report(&params, at(10), srtt, 1, 0);
        assert!((alpha.alpha - (0.75 / 8.0 + 0.0625 * 0.875)).abs() < 1e-12, "3 of 4: {}", alpha.alpha);
        let before = alpha.alpha;
        alpha.on_report(&params, at(20), srtt, 10, 0);
        assert!((alpha.alpha - before * (1.0 - 1.0 / 128.0)).abs() < 1e-12);
    }

    #[test]
    fn over_a_shorter_round_trip_it_moves_once_a_round_trip() {
        let (params, srtt) = (Params::draft(), TimeDelta::from_millis(2));
        let mut alpha = Alpha::new(&params);
        alpha.on_report(&params, at(0), srtt, 1, 1);
        alpha.on_report(&params, at(2), srtt, 1, 1);
        assert!((alpha.alpha - (1.0 / 8.0 + 0.125 * 0.875)).abs() < 1e-12);
    }
}
