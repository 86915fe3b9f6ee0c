//! `BBR.min_rtt` over ten seconds, and `BBR.probe_rtt_min_delay` over five, whose age asks for ProbeRTT.

use super::Params;
use paceline_units::{Time, TimeDelta};

/// Both minima, and the smallest round trip of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    filter_len: TimeDelta,
    probe_interval: TimeDelta,
    /// Absent before the first sample.
    pub min_rtt: Option<TimeDelta>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<TimeDelta>,
    pub probe_rtt_min_stamp: Time,
    /// `BBR.probe_rtt_expired`: ProbeRTT is due.
    pub expired: bool,
    /// `C.min_rtt`, over the whole connection.
    pub ever: Option<TimeDelta>,
}

impl MinRtt {
    pub fn new(params: &Params) -> MinRtt {
        MinRtt {
            filter_len: params.min_rtt_filter_len,
            probe_interval: params.probe_rtt_interval,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            expired: false,
            ever: None,
        }
    }

    /// The connection begins.
    pub fn begin(&mut self, now: Time) {
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (now, now);
    }

    /// `UpdateMinRTT` (section "ProbeRTT Logic").
    #[inline]
    pub fn update(&mut self, now: Time, rtt: Option<TimeDelta>) {
        let rtt = rtt.map(|rtt| rtt.max(TimeDelta::from_nanos(1)));
        self.expired = now.saturating_since(self.probe_rtt_min_stamp) > self.probe_interval;
        if let Some(rtt) = rtt {
            self.ever = Some(self.ever.map_or(rtt, |ever| ever.min(rtt)));
            if self.expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least) {
                (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (Some(rtt), now);
            }
        }
        let Some(recent) = self.probe_rtt_min_delay else { return };
        let old = now.saturating_since(self.min_rtt_stamp) > self.filter_len;
        if old || self.min_rtt.is_none_or(|least| recent < least) {
            (self.min_rtt, self.min_rtt_stamp) = (Some(recent), self.probe_rtt_min_stamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> Time {
        Time::from_secs_f64(secs)
    }

    fn ms(millis: i64) -> Option<TimeDelta> {
        Some(TimeDelta::from_millis(millis))
    }

    #[test]
    fn a_minimum_counts_for_ten_seconds_and_asks_for_a_probe_after_five() {
        let mut least = MinRtt::new(&Params::default());
        least.begin(at(20.0));
        least.update(at(20.1), ms(40));
        assert_eq!((least.min_rtt, least.expired), (ms(40), false));
        least.update(at(25.0), ms(60));
        assert_eq!((least.min_rtt, least.expired), (ms(40), false));
        least.update(at(25.2), ms(60));
        assert_eq!((least.min_rtt, least.expired), (ms(40), true), "5 s old: a probe, not a larger minimum");
        least.update(at(28.0), ms(55));
        least.update(at(30.0), ms(70));
        assert_eq!((least.min_rtt, least.expired), (ms(40), false));
        least.update(at(30.2), ms(70));
        assert_eq!(least.min_rtt, ms(55), "the smallest since the probe");
        assert_eq!(least.ever, ms(40));
    }

    #[test]
    fn without_samples_only_the_age_is_told() {
        let mut least = MinRtt::new(&Params::default());
        least.update(at(5.1), None);
        assert!(least.expired && least.min_rtt.is_none());
        least.update(at(5.2), ms(0));
        assert_eq!(least.min_rtt, Some(TimeDelta::from_nanos(1)));
    }
}
