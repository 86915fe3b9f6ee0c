//! Competing-flow compensation: the delay target rises where loss-based flows fill the queue (RFC 8298 section 4.1.2.3).

use paceline_units::TimeDelta;

/// Samples of the normalised delay that the variance is taken over.
const LONG: usize = 200;
/// Samples that the average is taken over.
const SHORT: usize = 50;
/// A loss event rate above this means that losses were detected.
const LOSS_EVENT_RATE: f64 = 0.002;
/// A variance below this makes it reasonably safe to set the target.
const SAFE_VARIANCE: f64 = 0.2;

/// `qdelay_norm_hist` and the rule that adjusts `qdelay_target`.
#[derive(Clone, Debug)]
pub struct CompetingFlows {
    norms: [f64; LONG],
    next: usize,
}

impl CompetingFlows {
    /// An average that has seen no delay yet.
    pub fn new() -> CompetingFlows {
        CompetingFlows { norms: [0.0; LONG], next: 0 }
    }

    /// `adjust_qdelay_target`: the new target in seconds between two limits, from the present one and the queue delay.
    pub fn adjust(&mut self, limits: [TimeDelta; 2], target: f64, delay: f64, loss_event_rate: f64) -> f64 {
        let [low, high] = limits.map(TimeDelta::as_secs_f64);
        self.norms[self.next] = delay / low;
        self.next = (self.next + 1) % LONG;
        let mean = self.norms.iter().sum::<f64>() / LONG as f64;
        let variance = self.norms.iter().map(|norm| (norm - mean) * (norm - mean)).sum::<f64>() / LONG as f64;
        let recent =
            (1..=SHORT).map(|n| self.norms[(self.next + LONG - n) % LONG]).sum::<f64>() / SHORT as f64;
        let new = (recent + libm::sqrt(variance)) * low;
        let adjusted = if loss_event_rate > LOSS_EVENT_RATE {
            1.5 * new
        } else if variance < SAFE_VARIANCE {
            new
        } else if new < low {
            // Measured delay is lower than the target: down quickly.
            (target * 0.5).max(new)
        } else {
            target * 0.9
        };
        adjusted.min(high).max(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [TimeDelta; 2] = [TimeDelta::from_millis(100), TimeDelta::from_millis(400)];

    fn settle(delay: impl Fn(usize) -> f64, loss_event_rate: f64) -> f64 {
        let (mut rule, mut target) = (CompetingFlows::new(), 0.1);
        for n in 0..400 {
            target = rule.adjust(LIMITS, target, delay(n), loss_event_rate);
        }
        target
    }

    #[test]
    fn a_steady_high_delay_raises_the_target_to_it() {
        assert!((settle(|_| 0.25, 0.0) - 0.25).abs() < 1e-6);
        assert!((settle(|_| 0.25, 0.01) - 0.375).abs() < 1e-6, "half as much again where losses occur");
        assert_eq!(settle(|_| 0.9, 0.0), 0.4, "never above QDELAY_TARGET_HI");
    }

    #[test]
    fn a_low_or_unsteady_delay_leaves_the_target_low() {
        assert_eq!(settle(|_| 0.02, 0.0), 0.1);
        assert_eq!(settle(|n| if n % 2 == 0 { 0.0 } else { 0.3 }, 0.0), 0.1, "variance 2.25: not safe");
    }

    #[test]
    fn the_target_comes_down_by_halves_when_the_delay_is_gone_and_by_tenths_otherwise() {
        let mut rule = CompetingFlows::new();
        for n in 0..LONG {
            rule.adjust(LIMITS, 0.4, if n < LONG - SHORT { 0.4 } else { 0.0 }, 0.0);
        }
        let variance_root = libm::sqrt(0.75 * 0.25) * 4.0;
        assert!(variance_root > 1.0, "the delay's spread keeps new above the lowest target");
        assert!((rule.adjust(LIMITS, 0.4, 0.0, 0.0) - 0.36).abs() < 1e-9);
    }
}
