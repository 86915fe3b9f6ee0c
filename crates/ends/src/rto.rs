//! The retransmission timeout (RFC 6298).

use paceline_units::TimeDelta;

/// Bounds of the retransmission timeout, and the clock that measures round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoLimits {
    /// Timeout before there is a sample.
    pub initial: TimeDelta,
    /// The timeout is never shorter.
    pub min: TimeDelta,
    /// The timeout is never longer, doubled or not.
    pub max: TimeDelta,
    /// Granularity of round trips and timeouts; zero: exact.
    pub clock: TimeDelta,
}

/// Estimates the round trip, and answers how long to wait for an acknowledgement. Spans are nanoseconds.
#[derive(Clone, Debug)]
pub struct Rto {
    srtt: Option<u64>,
    rttvar: u64,
    /// The retransmission timeout, with back-off.
    pub timeout: TimeDelta,
    min: u64,
    max: u64,
    clock: u64,
}

/// Rule 5.7: after a SYN had to be sent again, data starts with this.
const AFTER_LOST_SYN: TimeDelta = TimeDelta::from_secs(3);

impl Rto {
    /// No sample yet.
    pub fn new(limits: RtoLimits) -> Rto {
        Rto {
            srtt: None,
            rttvar: 0,
            timeout: limits.initial,
            min: nanos(limits.min),
            max: nanos(limits.max),
            clock: nanos(limits.clock),
        }
    }

    /// A round trip was measured, of a segment that was sent once (section 3, Karn's algorithm).
    #[inline(always)]
    pub fn sample(&mut self, rtt: TimeDelta) {
        let rtt = self.in_ticks(nanos(rtt));
        let (srtt, rttvar) = match self.srtt {
            // Rule 2.2.
            None => (rtt, rtt / 2),
            // Rule 2.3: beta 1/4, alpha 1/8.
            Some(srtt) => ((srtt * 7 + rtt) / 8, (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4),
        };
        (self.srtt, self.rttvar) = (Some(srtt), rttvar);
        self.set(srtt.saturating_add(rttvar.saturating_mul(4).max(self.clock)));
    }

    #[inline(always)]
    fn in_ticks(&self, rtt: u64) -> u64 {
        let tick = self.clock;
        (rtt + tick / 2).checked_div(tick).map_or(rtt, |ticks| ticks.max(1) * tick)
    }

    /// The timeout is this, within its limits.
    #[inline(always)]
    fn set(&mut self, timeout: u64) {
        self.timeout = TimeDelta::from_nanos(timeout.max(self.min).min(self.max) as i64);
    }

    /// Smoothed round trip; none before the first sample.
    pub fn srtt(&self) -> Option<TimeDelta> {
        self.srtt.map(|srtt| TimeDelta::from_nanos(srtt as i64))
    }

    /// The timer expired: rule 5.5.
    pub fn back_off(&mut self) {
        self.timeout = TimeDelta::from_nanos(nanos(self.timeout).saturating_mul(2).min(self.max) as i64);
    }

    /// The connection is there, after a SYN was sent again: rule 5.7.
    pub fn syn_was_lost(&mut self) {
        self.set(nanos(AFTER_LOST_SYN));
    }
}

/// No span here is negative.
#[inline]
fn nanos(span: TimeDelta) -> u64 {
    span.as_nanos().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    fn limits(min: i64, clock: i64) -> RtoLimits {
        RtoLimits { initial: ms(1000), min: ms(min), max: ms(60_000), clock: ms(clock) }
    }

    #[test]
    fn the_rules_of_section_2() {
        let mut rto = Rto::new(limits(1, 0));
        assert_eq!(rto.timeout, ms(1000));
        rto.sample(ms(100));
        assert_eq!(rto.timeout, ms(300), "srtt + 4 srtt / 2");
        rto.sample(ms(180));
        // rttvar = 3/4 50 + 1/4 80 = 57.5, srtt = 7/8 100 + 1/8 180 = 110.
        assert_eq!(rto.timeout, ms(340));
        rto.back_off();
        assert_eq!(rto.timeout, ms(680));
        (0..20).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout, ms(60_000));
        // A sample ends the backoff: rttvar = 3/4 57.5 + 1/4 0, srtt = 110.
        rto.sample(ms(110));
        assert_eq!(rto.timeout, TimeDelta::from_micros(282_500));
    }

    #[test]
    fn a_coarse_clock_rounds_samples_and_keeps_the_timeout_above_the_round_trip() {
        let mut rto = Rto::new(limits(1, 10));
        for _ in 0..200 {
            rto.sample(TimeDelta::from_micros(4_900));
        }
        assert_eq!(rto.timeout, ms(20), "one tick, and not less than a tick above it");
        let mut rto = Rto::new(limits(200, 10));
        rto.sample(ms(14));
        assert_eq!(rto.timeout, ms(200));
        let mut late = Rto::new(limits(1, 10));
        late.syn_was_lost();
        assert_eq!(late.timeout, ms(3000));
    }
}
