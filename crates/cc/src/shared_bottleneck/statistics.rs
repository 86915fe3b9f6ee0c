//! The summary of one flow's delays (RFC 8382 sections 3.2 and 4).

use super::params::{Invalid, Params};
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

/// The statistics of one flow's delays: none depends on the clocks' offset.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelaySummary {
    /// Intervals that it is of, from the first on.
    pub intervals: u64,
    /// Skewness, from -1 (a full queue that empties at times) to 1 (an empty one that fills at times): `skew_est`.
    pub skewness: f64,
    /// Mean absolute deviation: `var_est`.
    pub variability: TimeDelta,
    /// Significant crossings of the mean for each interval, 0 to 1: `freq_est`.
    pub frequency: f64,
    /// Part of the packets that was lost: `pkt_loss`.
    pub loss: f64,
    /// Whether the flow is held to pass a bottleneck.
    pub bottleneck: bool,
}

impl DelaySummary {
    /// Whether delays can look like this: every figure is a number within its range. A peer's summary may be anything.
    pub fn is_possible(&self) -> bool {
        (-1.0..=1.0).contains(&self.skewness)
            && (0.0..=1.0).contains(&self.frequency)
            && (0.0..=1.0).contains(&self.loss)
            && !self.variability.is_negative()
    }
}

/// One interval of the last M.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Mean delay in nanoseconds above the origin; absent if nothing arrived.
    mean: Option<f64>,
    /// Delays below the mean less those above it: `skew_base_T`.
    skew_base: i64,
    /// Sum of deviations in nanoseconds; absent if there was no bottleneck: `var_base_T`.
    var_base: Option<f64>,
    /// Delays that were compared.
    compared: u64,
}

/// Summarises the delays of one flow, interval by interval.
#[derive(Clone, Debug)]
pub struct DelayStatistics {
    params: Params,
    /// End of the present interval.
    end: Option<Time>,
    /// The first delay. All others are relative to it, which keeps their sums exact.
    origin: Option<TimeDelta>,
    /// Sum of the present interval's delays, in nanoseconds above the origin, and how many they are.
    sum: f64,
    samples: u64,
    /// The yardstick of the present interval: the mean of the last M, and of the last.
    mean_delay: Option<f64>,
    previous: Option<f64>,
    now: Interval,
    deviations: f64,
    lost: u64,
    /// The last M, the newest first.
    intervals: VecDeque<Interval>,
    /// The last N, the newest first: whether the mean was crossed, packets lost, packets in all.
    long: VecDeque<(bool, u64, u64)>,
    /// Whether the last significant crossing went above the mean.
    above: Option<bool>,
    summary: DelaySummary,
}

impl DelayStatistics {
    /// The statistics of a flow of which nothing has arrived.
    pub fn new(params: &Params) -> DelayStatistics {
        DelayStatistics {
            params: params.clone(),
            end: None,
            origin: None,
            sum: 0.0,
            samples: 0,
            mean_delay: None,
            previous: None,
            now: Interval::default(),
            deviations: 0.0,
            lost: 0,
            intervals: VecDeque::with_capacity(params.m as usize + 1),
            long: VecDeque::with_capacity(params.n as usize + 1),
            above: None,
            summary: DelaySummary {
                intervals: 0,
                skewness: 0.0,
                variability: TimeDelta::ZERO,
                frequency: 0.0,
                loss: 0.0,
                bottleneck: false,
            },
        }
    }

    /// A packet arrived after this one-way delay; sender's and receiver's clocks need not agree.
    pub fn on_delay(&mut self, delay: TimeDelta) {
        let origin = *self.origin.get_or_insert(delay);
        let delay = delay.as_nanos() as f64 - origin.as_nanos() as f64;
        self.sum += delay;
        self.samples += 1;
        if let (Some(mean_delay), Some(previous)) = (self.mean_delay, self.previous) {
            self.now.skew_base += i64::from(delay < mean_delay) - i64::from(delay > mean_delay);
            self.deviations += (delay - previous).abs();
            self.now.compared += 1;
        }
    }

    /// Packets are known to be lost.
    pub fn on_lost(&mut self, packets: u64) {
        self.lost = self.lost.saturating_add(packets);
    }

    /// When the present interval ends; absent before the first call of [`DelayStatistics::pass`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.end
    }

    /// Time goes by. Answers the summary if an interval has ended; after a leap over several, the newest.
    pub fn pass(&mut self, now: Time) -> Option<&DelaySummary> {
        let interval = self.params.interval;
        let end = *self.end.get_or_insert(now + interval);
        if now < end {
            return None;
        }
        let late = now.saturating_since(end).as_nanos() / interval.as_nanos().max(1);
        self.end_interval();
        // Intervals far back are forgotten anyway.
        for _ in 0..late.min(self.params.n as i64) {
            self.end_interval();
        }
        self.end = Some(end + TimeDelta::from_nanos(interval.as_nanos().saturating_mul(late + 1)));
        Some(&self.summary)
    }

    /// The present interval is over: the summary includes it.
    pub fn end_interval(&mut self) {
        let mean = (self.samples > 0).then(|| self.sum / self.samples as f64);
        self.intervals.push_front(Interval { mean, ..self.now });
        self.intervals.truncate(self.params.m as usize);
        self.long.push_front((false, self.lost, self.lost.saturating_add(self.samples)));
        self.long.truncate(self.params.n as usize);
        self.summary.intervals += 1;
        self.summary.skewness = self.skewness();
        self.summary.loss = self.loss();
        self.summary.bottleneck = self.has_bottleneck();
        if self.summary.bottleneck {
            // Section 4.2: without a bottleneck there is no deviation to record.
            self.intervals[0].var_base = Some(self.deviations);
        }
        let variability = self.variability();
        self.summary.variability = TimeDelta::from_nanos(variability as i64);
        if let (true, Some(mean), Some(mean_delay)) = (self.summary.bottleneck, mean, self.mean_delay) {
            self.long[0].0 = self.crosses(mean - mean_delay, self.params.p_v * variability);
        }
        let crossings = self.long.iter().filter(|(crossed, ..)| *crossed).count();
        self.summary.frequency = crossings as f64 / self.params.n as f64;
        self.begin_interval(mean);
    }

    fn begin_interval(&mut self, mean: Option<f64>) {
        let means = self.intervals.iter().filter_map(|interval| interval.mean);
        let (count, sum) = means.fold((0u32, 0.0), |(count, sum), mean| (count + 1, sum + mean));
        self.mean_delay = (count > 0).then(|| sum / f64::from(count));
        self.previous = mean.or(self.previous);
        self.now = Interval::default();
        (self.sum, self.samples, self.deviations, self.lost) = (0.0, 0, 0.0, 0);
    }

    /// The newest F weigh alike, the others less and less (section 4.1).
    fn weighted(&self) -> impl Iterator<Item = (f64, &Interval)> {
        let (m, f) = (self.params.m, self.params.f);
        let weight = move |age: u64| if age < f { m - f + 1 } else { m - age };
        self.intervals.iter().zip(0..).map(move |(interval, age)| (weight(age) as f64, interval))
    }

    fn skewness(&self) -> f64 {
        let sums = self.weighted().fold((0.0, 0.0), |(base, compared), (weight, interval)| {
            (base + weight * interval.skew_base as f64, compared + weight * interval.compared as f64)
        });
        if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 }
    }

    /// Mean difference of one-way delays over the intervals, weighted, in nanoseconds (RFC 8382: `var_est`).
    fn variability(&self) -> f64 {
        let all = self.params.invalid == Invalid::AsZero;
        let counted = self.weighted().filter(|(_, interval)| all || interval.var_base.is_some());
        let sums = counted.fold((0.0, 0.0), |(base, compared), (weight, interval)| {
            (base + weight * interval.var_base.unwrap_or(0.0), compared + weight * interval.compared as f64)
        });
        if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 }
    }

    fn loss(&self) -> f64 {
        let sums = self.long.iter().fold((0u64, 0u64), |(lost, all), (_, more_lost, more)| {
            (lost.saturating_add(*more_lost), all.saturating_add(*more))
        });
        if sums.1 > 0 { sums.0 as f64 / sums.1 as f64 } else { 0.0 }
    }

    /// The first test of section 3.3.1, with its hysteresis. Where nothing was compared there is nothing to judge by.
    fn has_bottleneck(&self) -> bool {
        let DelaySummary { skewness, loss, bottleneck: before, .. } = self.summary;
        let known = self.intervals.iter().any(|interval| interval.compared > 0);
        let skewed = skewness < self.params.c_s || (before && skewness < self.params.c_h);
        (known && skewed) || loss > self.params.p_l
    }

    /// Whether the interval's mean went to the other side of the long mean, by more than `least`, than the last one that
    /// did.
    fn crosses(&mut self, difference: f64, least: f64) -> bool {
        if difference.abs() <= least {
            return false;
        }
        let before = self.above.replace(difference > 0.0);
        before.is_some_and(|above| above != (difference > 0.0))
    }

    /// The summary of all intervals that have ended.
    pub fn summary(&self) -> &DelaySummary {
        &self.summary
    }
}
