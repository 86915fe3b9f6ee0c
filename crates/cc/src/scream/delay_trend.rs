//! The trend of the queue delay: sees congestion coming before the target is reached (RFC 8298 section 4.1.2).

use super::Params;
use paceline_units::{Time, TimeDelta};

/// Samples that the trend is computed over.
pub const HISTORY: usize = 20;
/// How often the delay fraction is sampled.
pub const SAMPLE_INTERVAL: TimeDelta = TimeDelta::from_millis(50);
/// Decay of the trend's memory per sample.
const MEMORY_DECAY: f64 = 0.99;

/// `qdelay_fraction_hist`, `qdelay_fraction_avg`, `qdelay_trend` and `qdelay_trend_mem`.
#[derive(Clone, Debug, Default)]
pub struct DelayTrend {
    fractions: [f64; HISTORY],
    oldest: usize,
    /// `qdelay_fraction_avg`.
    pub average: f64,
    average_due: Time,
    /// `qdelay_trend`, 0 to 1.
    pub trend: f64,
    /// `qdelay_trend_mem`: the trend's peak, slowly forgotten.
    pub memory: f64,
}

impl DelayTrend {
    /// Moves the average of the delay fraction, at most every `qdelay_weight_interval`.
    pub fn average_in(&mut self, params: &Params, now: Time, fraction: f64) {
        if now >= self.average_due {
            let (kept, samples) = (1.0 - params.qdelay_weight, self.samples_since(params, now));
            let kept = if samples > 1.0 { libm::pow(kept, samples) } else { kept };
            self.average_due = now + params.qdelay_weight_interval;
            self.average = kept * self.average + (1.0 - kept) * fraction;
        }
    }

    /// How many samples of the average this one stands for.
    fn samples_since(&self, params: &Params, now: Time) -> f64 {
        let interval = params.qdelay_weight_interval.max(params.cwnd_update_interval).as_nanos();
        if !params.history_by_time || self.average_due == Time::ZERO || interval == 0 {
            return 1.0;
        }
        let since = now.saturating_since(self.average_due) + params.qdelay_weight_interval;
        (since.as_nanos() / interval).max(1) as f64
    }

    /// Takes a sample and computes the trend anew; call it every [`SAMPLE_INTERVAL`].
    pub fn sample(&mut self, params: &Params, since_start: TimeDelta, fraction: f64) {
        self.fractions[self.oldest] = fraction;
        self.oldest = (self.oldest + 1) % HISTORY;
        self.trend = if since_start < params.trend_start {
            0.0
        } else {
            let least = params.trend_least.as_secs_f64() / params.qdelay_target_lo.as_secs_f64();
            (self.autocorrelation(least) * self.average).clamp(0.0, 1.0)
        };
        self.memory = (MEMORY_DECAY * self.memory).max(self.trend);
    }

    /// `a_t`: the biased autocorrelation at lag 1 over that at lag 0, mean removed; 0 for a history whose standard deviation is not above `least`.
    fn autocorrelation(&self, least: f64) -> f64 {
        let mean = self.fractions.iter().sum::<f64>() / HISTORY as f64;
        let value = |n: usize| self.fractions[(self.oldest + n) % HISTORY] - mean;
        let lag0: f64 = (0..HISTORY).map(|n| value(n) * value(n)).sum();
        let lag1: f64 = (0..HISTORY - 1).map(|n| value(n) * value(n + 1)).sum();
        if lag0 > HISTORY as f64 * least * least { lag1 / lag0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend_of(samples: impl Iterator<Item = f64>) -> DelayTrend {
        let (params, mut trend, mut now) = (Params::rfc8298(), DelayTrend::default(), Time::ZERO);
        for fraction in samples {
            trend.average_in(&params, now, fraction);
            trend.sample(&params, now - Time::ZERO, fraction);
            now += SAMPLE_INTERVAL;
        }
        trend
    }

    #[test]
    fn a_rising_delay_shows_and_a_constant_or_alternating_one_does_not() {
        let rising = trend_of((0..20).map(|n| f64::from(n) * 0.05));
        // Biased autocorrelation of a straight line of 20 points at lag 1 is 0.85; the average after 20 steps is 0.531.
        assert!((rising.trend - 0.85 * rising.average).abs() < 1e-9, "{rising:?}");
        assert_eq!(trend_of((0..20).map(|_| 0.5)).trend, 0.0);
        assert_eq!(trend_of((0..20).map(|n| f64::from(n % 2))).trend, 0.0);
    }

    /// A delay that swings slowly by half a millisecond about 30: steps of the receiver's clock, above a base delay that was learned too low.
    #[test]
    fn in_robust_a_constant_delay_that_is_told_in_steps_has_no_trend() {
        let swings = |params: &Params| {
            let (mut trend, mut now) = (DelayTrend::default(), Time::ZERO);
            for n in 0..200 {
                let fraction = 0.5 + 0.008 * f64::from(n / 5 % 2);
                now += SAMPLE_INTERVAL;
                trend.average_in(params, now, fraction);
                trend.sample(params, TimeDelta::from_secs(60), fraction);
            }
            trend.trend
        };
        assert_eq!(swings(&Params::default()), 0.0);
        assert!(swings(&Params { trend_least: TimeDelta::ZERO, ..Params::default() }) > 0.2);
    }

    #[test]
    fn memory_holds_the_peak_and_fades_by_a_hundredth_a_sample() {
        let peak = trend_of((0..20).map(f64::from));
        assert_eq!(peak.trend, 1.0);
        let later = trend_of((0..20).map(f64::from).chain((0..40).map(|_| 0.0)));
        assert!(later.trend == 0.0 && (0.6..0.9).contains(&later.memory), "{later:?}");
    }

    #[test]
    fn the_average_follows_its_weight() {
        let mut trend = DelayTrend::default();
        trend.average_in(&Params::rfc8298(), Time::ZERO, 1.0);
        assert!((trend.average - 0.1).abs() < 1e-12);
        trend.average_in(&Params::rfc8298(), Time::from_nanos(49_999_999), 1.0);
        assert!((trend.average - 0.1).abs() < 1e-12, "not before 50 ms");
        trend.average_in(&Params::rfc8298(), Time::from_nanos(50_000_000), 1.0);
        assert!((trend.average - 0.19).abs() < 1e-12);
    }
}
