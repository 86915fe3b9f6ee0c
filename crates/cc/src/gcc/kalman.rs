//! The arrival-time filter: a scalar Kalman filter of the inter-group delay variation (draft-ietf-rmcat-gcc-02 section 5.3).

use super::Params;
use super::groups::InterGroup;
use alloc::collections::VecDeque;

/// The filter of one flow.
#[derive(Clone, Debug)]
pub(super) struct Kalman {
    e: f64,
    noise_start: f64,
    /// State noise q(i), ms squared.
    q: f64,
    chi: f64,
    groups: usize,
    /// m_hat, ms.
    offset: f64,
    /// e, the covariance of the error of `offset`, ms squared.
    error: f64,
    /// var_v_hat, the variance of the measurement noise, ms squared.
    noise: f64,
    /// Inter-departure times of the last K groups, ms.
    departures: VecDeque<f64>,
}

/// var_v_hat is never less, ms squared.
const LEAST_NOISE: f64 = 1.0;
/// Innovations count in the variance up to so many standard deviations.
const OUTLIER: f64 = 3.0;
/// The draft's alpha is for 30 groups a second.
const GROUPS_PER_MS: f64 = 30.0 / 1000.0;

impl Kalman {
    pub(super) fn new(params: &Params) -> Kalman {
        let groups = params.noise_groups.max(1) as usize;
        Kalman {
            e: params.e,
            noise_start: params.noise_start.max(LEAST_NOISE),
            q: params.q,
            chi: params.chi,
            groups,
            offset: 0.0,
            error: params.e,
            noise: params.noise_start.max(LEAST_NOISE),
            departures: VecDeque::with_capacity(groups),
        }
    }

    /// Forgets all groups: the estimate begins anew with the next.
    pub(super) fn forget(&mut self) {
        (self.offset, self.error, self.noise) = (0.0, self.e, self.noise_start);
        self.departures.clear();
    }

    /// m_hat(i), the estimate of the mean delay variation in milliseconds, after another group.
    pub(super) fn on_group(&mut self, group: &InterGroup) -> f64 {
        if self.departures.len() == self.groups {
            self.departures.pop_front();
        }
        self.departures.push_back(group.departure.as_millis_f64());
        let innovation = group.delay_variation() - self.offset;
        self.measure_noise(innovation);
        let predicted = self.error + self.q;
        let gain = predicted / (self.noise + predicted);
        self.offset += innovation * gain;
        self.error = (1.0 - gain) * predicted;
        self.offset
    }

    fn measure_noise(&mut self, innovation: f64) {
        let shortest = self.departures.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = libm::pow(1.0 - self.chi, GROUPS_PER_MS * shortest.max(0.0));
        let most = OUTLIER * libm::sqrt(self.noise);
        let part = innovation.clamp(-most, most);
        self.noise = (alpha * self.noise + (1.0 - alpha) * part * part).max(LEAST_NOISE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::TimeDelta;

    fn group(departure: f64, variation: f64) -> InterGroup {
        let departure = TimeDelta::from_secs_f64(departure / 1e3);
        InterGroup {
            departure,
            arrival: departure + TimeDelta::from_secs_f64(variation / 1e3),
            size_change: 0.0,
        }
    }

    /// Section 5.3 by hand: var_v_hat stays at its least, so k(1) = 0.101/1.101, e(1) = 0.101 (1 - k(1)).
    #[test]
    fn the_first_two_steps_are_those_of_the_equations() {
        let params = Params { noise_start: 1.0, chi: 0.0, ..Params::draft() };
        let mut filter = Kalman::new(&params);
        let k1 = 0.101 / 1.101;
        assert!((filter.on_group(&group(10.0, 2.0)) - 2.0 * k1).abs() < 1e-12);
        let e1 = 0.101 * (1.0 - k1) + 0.001;
        let k2 = e1 / (1.0 + e1);
        let expected = 2.0 * k1 + (1.0 - 2.0 * k1) * k2;
        assert!((filter.on_group(&group(10.0, 1.0)) - expected).abs() < 1e-12);
    }

    #[test]
    fn it_converges_to_a_constant_variation_and_forgets_noise() {
        let mut filter = Kalman::new(&Params::draft());
        let last =
            (0..2000).map(|n| filter.on_group(&group(5.0, 0.5 + if n % 2 == 0 { 3.0 } else { -3.0 }))).last();
        assert!(last.is_some_and(|offset| (0.3..0.7).contains(&offset)), "{last:?}");
    }

    #[test]
    fn one_outlier_moves_the_noise_by_three_deviations_at_most() {
        let params = Params { noise_start: 4.0, chi: 0.1, ..Params::draft() };
        let mut filter = Kalman::new(&params);
        filter.on_group(&group(33.0, 1e6));
        let alpha = libm::pow(0.9, 0.03 * 33.0);
        assert!((filter.noise - (alpha * 4.0 + (1.0 - alpha) * 36.0)).abs() < 1e-9, "{}", filter.noise);
    }
}
