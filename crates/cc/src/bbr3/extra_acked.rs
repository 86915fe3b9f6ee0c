//! `BBR.extra_acked`: how much more is acknowledged at once than the bandwidth explains (section "BBR.extra_acked").

use super::Params;
use crate::bbr::max_filter::MaxFilter;
use paceline_units::Time;

/// The degree of aggregation on the path.
#[derive(Clone, Debug)]
pub(super) struct ExtraAcked {
    filter: MaxFilter,
    filter_len: u64,
    interval_start: Time,
    /// Bytes acknowledged since then.
    delivered: f64,
}

impl ExtraAcked {
    pub fn new(params: &Params) -> ExtraAcked {
        let filter_len = params.extra_acked_filter_len;
        ExtraAcked {
            filter: MaxFilter::new(filter_len),
            filter_len,
            interval_start: Time::ZERO,
            delivered: 0.0,
        }
    }

    /// Bytes.
    #[inline]
    pub fn get(&self) -> f64 {
        self.filter.best().unwrap_or(0.0)
    }

    /// The interval begins anew, as after a pause.
    pub fn restart(&mut self, now: Time) {
        self.interval_start = now;
    }

    /// `UpdateACKAggregation`: `acked` bytes, at a bandwidth of `bw` and a window of `cwnd`. In Startup one round counts.
    #[inline]
    pub fn update(&mut self, now: Time, acked: f64, bw: f64, cwnd: f64, filled: bool, round: u64) {
        let mut expected = bw * now.saturating_since(self.interval_start).as_secs_f64();
        if self.delivered <= expected {
            (self.delivered, self.interval_start, expected) = (0.0, now, 0.0);
        }
        self.delivered += acked;
        let extra = (self.delivered - expected).min(cwnd);
        self.filter.keep_for(if filled { self.filter_len } else { 1 });
        self.filter.update(round, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// 1 MB/s, acknowledged 20 kB at a time each 20 ms.
    #[test]
    fn extra_is_what_came_beyond_the_bandwidth() {
        let mut extra = ExtraAcked::new(&Params::default());
        extra.restart(ms(0));
        for burst in 1..=10u64 {
            for packet in 0..20 {
                extra.update(ms(20 * burst), 1000.0, 1e6, 1e6, true, burst);
                // The interval began with the burst before, whose 20 kB the 20 ms explain.
                assert_eq!(extra.get(), if burst == 1 { 1000.0 * f64::from(packet + 1) } else { 20_000.0 });
            }
        }
    }

    #[test]
    fn it_is_bounded_by_the_window_and_forgotten_after_ten_rounds_or_one() {
        for (filled, rounds) in [(true, 10), (false, 1)] {
            let mut extra = ExtraAcked::new(&Params::default());
            extra.update(ms(10), 50_000.0, 1e6, 30_000.0, filled, 5);
            assert_eq!(extra.get(), 30_000.0);
            extra.update(ms(1000), 1000.0, 1e6, 30_000.0, filled, 5 + rounds - 1);
            assert_eq!(extra.get(), 30_000.0);
            extra.update(ms(2000), 1000.0, 1e6, 30_000.0, filled, 5 + rounds);
            assert_eq!(extra.get(), 1000.0);
        }
    }
}
