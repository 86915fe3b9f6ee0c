//! The arrival-time filter of 2012: a Kalman filter of two states, the path's serialisation time per byte and the mean delay
//! variation (draft-alvestrand-rtcweb-congestion-02 section 3; constants and what the draft leaves open: libwebrtc 2012-10,
//! overuse_detector).

use super::Params;
use super::detector::Usage;
use super::groups::InterGroup;
use alloc::collections::VecDeque;

/// The filter of one flow.
#[derive(Clone, Debug)]
pub(super) struct KalmanSize {
    params: Params,
    /// 1/C_hat, ms a byte.
    slope: f64,
    /// m_hat, ms, and the one before.
    offset: f64,
    previous: f64,
    /// E, the covariance of the errors of `slope` and `offset`; it is symmetric: both, and between them.
    slope_error: f64,
    offset_error: f64,
    between: f64,
    /// Mean and variance of the measurement noise, ms and ms squared.
    mean: f64,
    noise: f64,
    groups: u64,
    /// Inter-departure times of the last groups, ms.
    departures: VecDeque<f64>,
}

/// 1/C_hat at first: 512 kbit/s.
const FIRST_SLOPE: f64 = 8.0 / 512.0;
/// The covariance of its error at first.
const FIRST_SLOPE_ERROR: f64 = 100.0;
/// Variance of its state noise.
const SLOPE_NOISE: f64 = 1e-10;
/// The variance of the measurement noise is never less.
const LEAST_NOISE: f64 = 1e-7;
/// Innovations count in the variance up to so many standard deviations.
const OUTLIER: f64 = 3.0;
/// Process noise and weights are for 30 frames a second.
const FRAMES_PER_MS: f64 = 30.0 / 1000.0;
/// While a queue that was noticed goes down, m_hat follows faster: so much more state noise.
const RETURNING: f64 = 10.0;
/// After so many groups the variance is averaged over a longer time.
const SETTLED: u64 = 300;
const SETTLED_WEIGHT: f64 = 0.002;

impl KalmanSize {
    pub(super) fn new(params: &Params) -> KalmanSize {
        KalmanSize {
            slope: FIRST_SLOPE,
            offset: 0.0,
            previous: 0.0,
            slope_error: FIRST_SLOPE_ERROR,
            offset_error: params.e,
            between: 0.0,
            mean: 0.0,
            noise: params.noise_start,
            groups: 0,
            departures: VecDeque::with_capacity(params.noise_groups.max(1) as usize),
            params: params.clone(),
        }
    }

    /// Forgets all groups: the estimate begins anew with the next.
    pub(super) fn forget(&mut self) {
        (self.slope, self.offset, self.previous) = (FIRST_SLOPE, 0.0, 0.0);
        (self.slope_error, self.offset_error, self.between) = (FIRST_SLOPE_ERROR, self.params.e, 0.0);
        (self.mean, self.noise, self.groups) = (0.0, self.params.noise_start, 0);
        self.departures.clear();
    }

    /// Variance of the measurement noise, ms squared.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// m_hat after another group. `usage` is what the detector said of the group before, `stable` whether its estimate was
    /// below the threshold.
    pub(super) fn on_group(&mut self, group: &InterGroup, usage: Usage, stable: bool) -> f64 {
        self.groups += 1;
        let frames = self.shortest_departure(group.departure.as_millis_f64()) * FRAMES_PER_MS;
        self.slope_error += SLOPE_NOISE * frames;
        self.offset_error += self.params.q * frames;
        let returns = match usage {
            Usage::Over => self.offset < self.previous,
            Usage::Under => self.offset > self.previous,
            Usage::Normal => false,
        };
        if returns {
            self.offset_error += RETURNING * self.params.q * frames;
        }
        let size = group.size_change;
        let innovation = group.delay_variation() - self.slope * size - self.offset;
        if stable {
            self.measure_noise(innovation, frames);
        }
        self.correct(innovation, size);
        self.offset
    }

    /// K = E h / (var_v + h' E h) and E = (I - K h') E with h = (size, 1).
    fn correct(&mut self, innovation: f64, size: f64) {
        let towards_slope = self.slope_error * size + self.between;
        let towards_offset = self.between * size + self.offset_error;
        let variance = self.noise + size * towards_slope + towards_offset;
        let (slope_gain, offset_gain) = (towards_slope / variance, towards_offset / variance);
        self.slope_error = (self.slope_error - slope_gain * towards_slope).max(0.0);
        self.between -= slope_gain * towards_offset;
        self.offset_error = (self.offset_error - offset_gain * towards_offset).max(0.0);
        self.slope += slope_gain * innovation;
        self.previous = self.offset;
        self.offset += offset_gain * innovation;
    }

    fn shortest_departure(&mut self, departure: f64) -> f64 {
        if self.departures.len() == self.params.noise_groups.max(1) as usize {
            self.departures.pop_front();
        }
        self.departures.push_back(departure.max(0.0));
        self.departures.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn measure_noise(&mut self, innovation: f64, frames: f64) {
        let weight = if self.groups > SETTLED { SETTLED_WEIGHT } else { self.params.chi };
        let beta = libm::pow(1.0 - weight, frames);
        let most = OUTLIER * libm::sqrt(self.noise);
        let part = innovation.clamp(-most, most);
        self.mean = beta * self.mean + (1.0 - beta) * part;
        let error = self.mean - part;
        self.noise = (beta * self.noise + (1.0 - beta) * error * error).max(LEAST_NOISE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::TimeDelta;
    use paceline_units::param::Profiles;

    fn filter() -> KalmanSize {
        KalmanSize::new(&Params::profile("libwebrtc-2012").expect("a profile"))
    }

    fn group(variation: f64, size_change: f64) -> InterGroup {
        let departure = TimeDelta::from_millis(33);
        InterGroup { departure, arrival: departure + TimeDelta::from_secs_f64(variation / 1e3), size_change }
    }

    /// The first step by hand, with h = (1000, 1): E h = (100 x 1000, 0.1 + 0.0099).
    #[test]
    fn the_first_step_is_that_of_the_equations() {
        let mut filter = filter();
        let offset = filter.on_group(&group(20.0, 1000.0), Usage::Normal, false);
        let towards_offset = 0.1 + 0.01 * 0.99;
        let variance = 50.0 + 1e8 + towards_offset;
        let innovation = 20.0 - 15.625;
        assert!((offset / (innovation * towards_offset / variance) - 1.0).abs() < 1e-6, "{offset}");
        assert!(
            (filter.slope - (FIRST_SLOPE + innovation * 1e5 / variance)).abs() < 1e-6,
            "{}",
            filter.slope
        );
    }

    /// At 1 Mbit/s a byte more takes 8 us: what sizes explain is no delay variation.
    #[test]
    fn it_finds_the_rate_of_the_path_and_the_growth_of_its_queue() {
        let mut filter = filter();
        let mut last = 0.0;
        for n in 0..3000 {
            let size = [-2000.0, 500.0, 1500.0][n % 3];
            last = filter.on_group(&group(0.5 + 0.008 * size, size), Usage::Normal, true);
        }
        assert!((filter.slope - 0.008).abs() < 1e-4, "{}", filter.slope);
        assert!((last - 0.5).abs() < 0.05, "{last}");
    }

    #[test]
    fn noise_is_measured_while_the_detector_is_calm() {
        let mut filter = filter();
        let noise = filter.noise();
        for n in 0..3300 {
            let calm = n >= 300;
            let usage = if calm { Usage::Normal } else { Usage::Over };
            filter.on_group(&group([-3.0, 3.0][n % 2], 0.0), usage, calm);
            assert!(calm || filter.noise() == noise);
        }
        assert!((filter.noise() - 9.0).abs() < 1.0, "{}", filter.noise());
    }
}
