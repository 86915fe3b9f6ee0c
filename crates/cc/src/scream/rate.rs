//! Measured rates of a stream: what was transmitted, acknowledged and produced (RFC 8298 section 4.1.3).

use super::Params;
use paceline_units::{Bytes, Time, TimeDelta};

/// Most intervals that can be averaged.
const MOST: usize = 32;
/// Below this rate intervals are twice as long, so that an interval holds a packet.
const SLOW_BPS: f64 = 50_000.0;
/// Over how long the median of the media rate looks back: "more than 10 s".
const MEDIAN_SPAN: TimeDelta = TimeDelta::from_secs(10);
const MEDIAN_SAMPLES: usize = 51;

/// `rate_transmit`, `rate_ack`, `rate_media` and `rate_media_median` of one stream, in bit/s.
#[derive(Clone, Debug)]
pub struct Rates {
    transmitted: Meter,
    acked: Meter,
    media: Meter,
    started: Time,
    /// Number of intervals closed so far.
    pub updates: u64,
    median: Median,
    /// Transmitted, acknowledged and media rate before reports stayed away.
    kept: [f64; 3],
}

impl Rates {
    /// Nothing measured yet; the first interval begins at `now`.
    pub fn new(now: Time) -> Rates {
        Rates {
            transmitted: Meter::default(),
            acked: Meter::default(),
            media: Meter::default(),
            started: now,
            updates: 0,
            median: Median::default(),
            kept: [0.0; 3],
        }
    }

    /// Reports stay away: what was measured is kept.
    pub fn keep(&mut self) {
        self.kept = [&self.transmitted, &self.acked, &self.media].map(|meter| meter.rate);
    }

    /// Reports come again: this part of what was kept holds until it is measured anew.
    pub fn restore(&mut self, now: Time, part: f64) {
        self.started = now;
        let meters = [&mut self.transmitted, &mut self.acked, &mut self.media];
        meters.into_iter().zip(self.kept).for_each(|(meter, kept)| meter.restore(part * kept));
    }

    /// A packet was sent.
    #[inline]
    pub fn on_sent(&mut self, size: Bytes) {
        self.transmitted.bytes = self.transmitted.bytes.saturating_add(size.as_u64());
    }

    /// Bytes arrived at the other side.
    #[inline]
    pub fn on_delivered(&mut self, size: Bytes) {
        self.acked.bytes = self.acked.bytes.saturating_add(size.as_u64());
    }

    /// The encoder produced media.
    #[inline]
    pub fn on_offered(&mut self, size: Bytes) {
        self.media.bytes = self.media.bytes.saturating_add(size.as_u64());
    }

    /// When the open interval can be closed at the earliest.
    pub fn due(&self, params: &Params) -> Time {
        self.started + params.rate_interval
    }

    /// Closes the interval if it is over; true if it was.
    #[inline]
    pub fn update(&mut self, params: &Params, now: Time) -> bool {
        let elapsed = now.saturating_since(self.started);
        if elapsed < params.rate_interval {
            return false;
        }
        self.close_interval(params, now, elapsed)
    }

    fn close_interval(&mut self, params: &Params, now: Time, elapsed: TimeDelta) -> bool {
        let slow = self.updates > 0 && self.transmitted.rate < SLOW_BPS && params.rate_intervals > 1;
        if slow && elapsed < params.rate_interval * 2 {
            return false;
        }
        let intervals = (params.rate_intervals as usize).clamp(1, MOST);
        for meter in [&mut self.transmitted, &mut self.acked, &mut self.media] {
            meter.close(elapsed.as_secs_f64(), intervals, self.updates);
        }
        self.updates += 1;
        self.started = now;
        self.median.sample(now, self.media.rate);
        true
    }

    /// `rate_media`.
    pub fn media(&self) -> f64 {
        self.media.rate
    }

    /// The present throughput: the larger of transmitted and acknowledged.
    pub fn current(&self) -> f64 {
        self.transmitted.rate.max(self.acked.rate)
    }

    /// `rate_ack`.
    pub fn acked(&self) -> f64 {
        self.acked.rate
    }

    /// `rate_media_median`.
    pub fn media_median(&self) -> f64 {
        self.median.value
    }
}

/// Bytes of the open interval, and the mean rate of the last closed ones.
#[derive(Clone, Debug, Default)]
struct Meter {
    bytes: u64,
    history: [f64; MOST],
    rate: f64,
}

impl Meter {
    /// The rate is this, if it is not higher.
    fn restore(&mut self, rate: f64) {
        if rate > self.rate {
            (self.bytes, self.history, self.rate) = (0, [rate; MOST], rate);
        }
    }

    fn close(&mut self, seconds: f64, intervals: usize, updates: u64) {
        self.history[updates as usize % intervals] = self.bytes as f64 * 8.0 / seconds;
        self.bytes = 0;
        self.rate = self.history[..intervals].iter().sum::<f64>() / intervals as f64;
    }
}

/// The median of samples spread over more than 10 s.
#[derive(Clone, Debug)]
struct Median {
    samples: [f64; MEDIAN_SAMPLES],
    filled: usize,
    next: usize,
    due: Time,
    value: f64,
}

impl Default for Median {
    fn default() -> Median {
        Median { samples: [0.0; MEDIAN_SAMPLES], filled: 0, next: 0, due: Time::ZERO, value: 0.0 }
    }
}

impl Median {
    fn sample(&mut self, now: Time, rate: f64) {
        if now < self.due {
            return;
        }
        self.due = now + MEDIAN_SPAN / (MEDIAN_SAMPLES as i64 - 1);
        self.samples[self.next] = rate;
        self.next = (self.next + 1) % MEDIAN_SAMPLES;
        self.filled = (self.filled + 1).min(MEDIAN_SAMPLES);
        let mut sorted = self.samples;
        let sorted = &mut sorted[..self.filled];
        sorted.sort_unstable_by(f64::total_cmp);
        self.value = sorted[self.filled / 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::param::Profiles;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_rate_is_the_mean_of_its_intervals() {
        let params = Params::profile("reference-2022").unwrap();
        let mut rates = Rates::new(Time::ZERO);
        for interval in 1..=8 {
            rates.on_sent(Bytes::new(62_500));
            assert!(!rates.update(&params, at(interval * 50) - TimeDelta::from_nanos(1)));
            assert!(rates.update(&params, at(interval * 50)));
            // 62,500 B in 50 ms are 10 Mbit/s; the slots that are still empty count as zero.
            assert!((rates.current() - 10e6 * interval as f64 / 8.0).abs() < 1.0);
        }
    }

    #[test]
    fn rfc8298_measures_over_200_ms() {
        let params = Params::rfc8298();
        let mut rates = Rates::new(Time::ZERO);
        rates.on_delivered(Bytes::new(25_000));
        assert!(!rates.update(&params, at(199)) && rates.update(&params, at(200)));
        assert!((rates.current() - 1e6).abs() < 1e-6);
    }

    #[test]
    fn the_median_ignores_a_burst() {
        let params = Params::rfc8298();
        let mut rates = Rates::new(Time::ZERO);
        for interval in 1..=40u64 {
            rates.on_offered(Bytes::new(if interval % 10 == 0 { 250_000 } else { 25_000 }));
            rates.update(&params, at(interval * 200));
        }
        assert!((rates.media_median() - 1e6).abs() < 1.0 && rates.media() > 9e6);
    }
}
