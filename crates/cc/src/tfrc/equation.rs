//! TCP's throughput equation (RFC 5348 section 3.1) and its inverse. Sizes in bytes, times in seconds.

use super::Params;
use libm::sqrt;

/// The equation with its constants. CCID 3 uses the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Equation {
    b: f64,
    t_rto_rtts: f64,
    t_rto_min: f64,
}

/// No loss event rate below this is looked for: 10^8 packets between losses.
const SMALLEST_RATE: f64 = 1e-8;

impl Equation {
    pub(crate) fn new(params: &Params) -> Equation {
        Equation {
            b: params.b as f64,
            t_rto_rtts: params.t_rto_rtts,
            t_rto_min: params.t_rto_min.as_secs_f64(),
        }
    }

    /// `X_Bps`, in bytes per second, for segments of `s`, the round-trip time `r` and the loss event rate `p` above 0.
    pub(crate) fn throughput(&self, s: f64, r: f64, p: f64) -> f64 {
        let t_rto = (self.t_rto_rtts * r).max(self.t_rto_min);
        let retransmissions = r * sqrt(2.0 * self.b * p / 3.0);
        let timeouts = t_rto * (3.0 * sqrt(3.0 * self.b * p / 8.0) * p * (1.0 + 32.0 * p * p));
        s / (retransmissions + timeouts)
    }

    /// The loss event rate at which the equation gives `rate`, to far less than the 5 % that section 6.3.1 asks for.
    pub(crate) fn loss_event_rate(&self, s: f64, r: f64, rate: f64) -> f64 {
        self.loss_event_rate_within(s, r, rate, 0.0)
    }

    /// A loss event rate whose rate lies within `tolerance` of `rate`, as a ratio.
    pub(crate) fn loss_event_rate_within(&self, s: f64, r: f64, rate: f64, tolerance: f64) -> f64 {
        let (mut low, mut high) = (SMALLEST_RATE, 1.0_f64);
        if rate <= self.throughput(s, r, high) {
            return high;
        }
        // Halves the ratio of the two in each step: from 10^8 to 1.00000002 in 30.
        for _ in 0..30 {
            let middle = sqrt(low * high);
            let found = self.throughput(s, r, middle);
            if tolerance > 0.0 && (found - rate).abs() <= tolerance * rate {
                return middle;
            }
            if found > rate { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::TimeDelta;

    #[test]
    fn the_known_rates() {
        let equation = Equation::new(&Params::default());
        for (s, r, p, expected) in [
            (1000.0, 0.1, 0.001, 383_843.6),
            (1000.0, 0.1, 0.01, 112_332.2),
            (1000.0, 0.1, 0.1, 17_701.0),
            (1460.0, 0.05, 0.02, 213_887.0),
            (1000.0, 0.04, 0.05, 92_147.1),
        ] {
            let found = equation.throughput(s, r, p);
            assert!((found - expected).abs() < 0.1, "s {s}, R {r}, p {p}: {found}, expected {expected}");
        }
    }

    #[test]
    fn the_inverse_gives_the_rate_back() {
        for t_rto_min in [0, 300, 1000] {
            let params = Params { t_rto_min: TimeDelta::from_millis(t_rto_min), ..Params::default() };
            let equation = Equation::new(&params);
            for p in [1e-7, 0.000_1, 0.01, 0.3, 0.99] {
                let rate = equation.throughput(1000.0, 0.02, p);
                let found = equation.loss_event_rate(1000.0, 0.02, rate);
                assert!((found / p - 1.0).abs() < 1e-5, "{p}: {found}");
            }
            assert_eq!(equation.loss_event_rate(1000.0, 0.1, 0.0), 1.0);
            assert!((equation.loss_event_rate(1000.0, 0.1, 1e300) / SMALLEST_RATE - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_floor_under_t_rto_counts_where_four_round_trips_are_shorter() {
        let floored = Params { t_rto_min: TimeDelta::from_millis(300), ..Params::default() };
        let (plain, floored) = (Equation::new(&Params::default()), Equation::new(&floored));
        assert_eq!(plain.throughput(1000.0, 0.1, 0.01), floored.throughput(1000.0, 0.1, 0.01));
        let ratio = floored.throughput(1000.0, 0.01, 0.05) / plain.throughput(1000.0, 0.01, 0.05);
        assert!((0.3..0.6).contains(&ratio), "{ratio}");
    }
}
