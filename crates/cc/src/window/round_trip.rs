//! The smoothed round-trip time and the retransmission timeout that follows from it (RFC 6298 section 2).

use paceline_units::TimeDelta;

/// RFC 6298 (2.4) and (2.1): no timeout is shorter, and this is the first.
const LEAST_TIMEOUT: f64 = 1.0;

/// Smoothed round-trip time (SRTT) and its variation (RTTVAR), in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RoundTrip {
    smoothed: f64,
    variation: f64,
}

impl RoundTrip {
    /// Smoothed round-trip time; absent before the first sample.
    pub fn smoothed(&self) -> Option<TimeDelta> {
        (self.smoothed > 0.0).then(|| TimeDelta::from_secs_f64(self.smoothed))
    }

    /// Smoothed round-trip time in seconds; 0 before the first sample.
    #[inline]
    pub fn seconds(&self) -> f64 {
        self.smoothed
    }

    /// Takes a sample (RFC 6298 (2.2) and (2.3)).
    #[inline]
    pub fn sample(&mut self, sample: TimeDelta) {
        let sample = sample.as_secs_f64().max(1e-9);
        if self.smoothed == 0.0 {
            (self.smoothed, self.variation) = (sample, sample / 2.0);
            return;
        }
        let error = sample - self.smoothed;
        let distance = if error < 0.0 { -error } else { error };
        self.variation += 0.25 * (distance - self.variation);
        self.smoothed += 0.125 * error;
    }

    /// RTO (2.3) with a clock of that granularity, without minimum and back-off; absent before the first sample.
    pub(crate) fn timeout_above(&self, granularity: TimeDelta) -> Option<TimeDelta> {
        let above = (4.0 * self.variation).max(granularity.as_secs_f64());
        (self.smoothed > 0.0).then(|| TimeDelta::from_secs_f64(self.smoothed + above))
    }

    /// Retransmission timeout (RTO, RFC 6298 (2.3)), without back-off.
    pub fn timeout(&self) -> TimeDelta {
        TimeDelta::from_secs_f64((self.smoothed + 4.0 * self.variation).max(LEAST_TIMEOUT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_rfc_6298_section_2_counts() {
        let mut rtt = RoundTrip::default();
        assert_eq!((rtt.smoothed(), rtt.timeout()), (None, TimeDelta::from_secs(1)));
        rtt.sample(TimeDelta::from_millis(800));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(800)));
        assert_eq!(rtt.timeout(), TimeDelta::from_millis(2400), "R + 4 R/2");
        rtt.sample(TimeDelta::from_millis(400));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(750)));
        // RTTVAR = 3/4 x 400 + 1/4 x 400 ms, with the distance to the old SRTT.
        assert_eq!(rtt.timeout(), TimeDelta::from_millis(2350));
    }
}
