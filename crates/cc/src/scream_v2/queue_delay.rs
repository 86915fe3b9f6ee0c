//! The queue delay, its average, and what its variation does to the window (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.2.1.4).

use super::Params;
use crate::scream::base_delay::BaseDelay;
use crate::{PacketsReport, Status};
use paceline_units::{Time, TimeDelta};

/// The delays of the packets that a report tells of for the first time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When the packet was sent whose delay counts: the newest, or in libwebrtc that of the least delay in the last burst.
    pub sent: Time,
    /// Its arrival by the receiver's clock.
    pub arrived: Time,
    /// By how much the least delay is less than its own.
    pub above: TimeDelta,
    /// By how much the largest is more.
    pub below: TimeDelta,
}

impl Sample {
    /// The sample of a report whose newest packet was sent and arrived at `newest`; packets sent at `told` and before were told of.
    #[inline]
    pub fn of(params: &Params, report: &PacketsReport<'_>, newest: (Time, Time), told: Time) -> Sample {
        let ((sent, arrived), mut later) = (newest, newest.0);
        let delay = arrived - sent;
        let (mut least, mut largest, bursts) = (newest, delay, params.burst_window > TimeDelta::ZERO);
        for packet in report.packets.iter().rev() {
            let Status::Received { arrived, .. } = packet.status else { continue };
            let Some(arrived) = arrived.filter(|_| packet.sent > told && packet.sent <= sent) else {
                continue;
            };
            if bursts {
                let (age, gap) = (sent - packet.sent, later - packet.sent);
                let close = age <= params.burst_window_max && gap <= params.burst_window_gap;
                if age > params.burst_window && !close {
                    continue;
                }
            }
            later = later.min(packet.sent);
            let other = arrived - packet.sent;
            if other < least.1 - least.0 {
                least = (packet.sent, arrived);
            }
            largest = largest.max(other);
        }
        let smallest = least.1 - least.0;
        if bursts {
            return Sample {
                sent: least.0,
                arrived: least.1,
                above: TimeDelta::ZERO,
                below: largest - smallest,
            };
        }
        Sample { sent, arrived, above: delay - smallest, below: largest - delay }
    }
}

/// Queue delay, its average and its variation.
#[derive(Clone, Debug)]
pub struct QueueDelay {
    /// The base delay, and the last queue delay as a span.
    pub base: BaseDelay,
    /// The last queue delay (`qdelay`), in seconds.
    pub qdelay: f64,
    /// The averaged queue delay (`qdelay_avg`), in seconds.
    pub qdelay_avg: f64,
    before: f64,
    /// When the newest packet was sent that was told of.
    pub told: Time,
    avg_due: Time,
    qdelay_max_avg: f64,
    qdelay_min_avg: f64,
    qdelay_dev_avg: f64,
    /// `ref_wnd_delay_scale`, 0 to 1.
    jitter_scale: f64,
    /// Averages of the queue delay and of the difference of delays, seconds, each counted up to twice its threshold.
    standing: f64,
    difference: f64,
}

impl QueueDelay {
    /// Nothing was measured.
    pub fn new(params: &Params) -> QueueDelay {
        let &Params { skew_compensation, base_delay_bucket, base_delay_buckets, .. } = params;
        QueueDelay {
            base: BaseDelay::new(skew_compensation, base_delay_bucket, base_delay_buckets),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            before: 0.0,
            told: Time::ZERO,
            avg_due: Time::ZERO,
            qdelay_max_avg: params.qdelay_target_lo.as_secs_f64(),
            qdelay_min_avg: 0.0,
            qdelay_dev_avg: 0.0,
            jitter_scale: 1.0,
            standing: 0.0,
            difference: 0.0,
        }
    }

    /// A report brought this sample. `target` is that of the queue delay in seconds.
    #[inline]
    pub fn on_sample(&mut self, params: &Params, now: Time, target: f64, sample: &Sample) {
        self.base.sample_above(now, sample.sent, sample.arrived, sample.above);
        self.before = core::mem::replace(&mut self.qdelay, self.base.queue_delay.as_secs_f64());
        let [above, below] = [sample.above, sample.below].map(TimeDelta::as_secs_f64);
        if params.reduce_jitter {
            self.qdelay_max_avg = (self.qdelay + below).max(self.qdelay_max_avg).min(target);
            self.qdelay_min_avg = (self.qdelay - above).max(0.0).min(self.qdelay_min_avg);
        }
        let weight = params.qdelay_dev_avg_g;
        let thresholds = [params.qdelay_min_threshold, params.latency_diff_threshold];
        let [standing, difference] = thresholds.map(TimeDelta::as_secs_f64);
        self.standing += weight * (self.qdelay.min(2.0 * standing) - self.standing);
        self.difference += weight * (below.min(2.0 * difference) - self.difference);
    }

    /// Moves the averages, if that is due.
    #[inline]
    pub fn update(&mut self, params: &Params, now: Time, srtt: TimeDelta) {
        if now < self.avg_due {
            return;
        }
        self.avg_due = now + params.qdelay_avg_interval.min(srtt);
        let sample = if params.qdelay_samples > 1 { self.qdelay.min(self.before) } else { self.qdelay };
        self.qdelay_avg = if sample < self.qdelay_avg {
            sample
        } else {
            params.qdelay_avg_g * sample + (1.0 - params.qdelay_avg_g) * self.qdelay_avg
        };
        if params.reduce_jitter {
            self.calculate_ref_wnd_delay_scale(params);
        }
    }

    fn calculate_ref_wnd_delay_scale(&mut self, params: &Params) {
        let gain = params.qdelay_min_max_avg_g;
        self.qdelay_max_avg *= 1.0 - gain;
        self.qdelay_min_avg = self.qdelay_min_avg * (1.0 - gain) + self.qdelay_max_avg * gain;
        let weight = params.qdelay_dev_avg_g;
        self.qdelay_dev_avg = (1.0 - weight) * self.qdelay_dev_avg
            + weight * (self.qdelay_max_avg - self.qdelay_min_avg).max(0.0);
        let threshold = params.qdelay_dev_threshold.as_secs_f64();
        self.jitter_scale = (1.0 - self.qdelay_dev_avg / threshold).clamp(0.0, 1.0);
    }

    /// Forgets the base delay: the path, or a clock, has changed.
    pub fn forget(&mut self, now: Time) {
        self.base.forget(now);
        (self.qdelay, self.qdelay_avg, self.before, self.standing) = (0.0, 0.0, 0.0, 0.0);
    }

    /// The part of its growth that the window has where the delay varies.
    pub fn growth_scale(&self, params: &Params) -> f64 {
        let standing = standing_scale(self.standing, params.qdelay_min_threshold).max(LEAST_GROWTH);
        let difference = standing_scale(self.difference, params.latency_diff_threshold).max(LEAST_GROWTH);
        self.jitter_scale.max(LEAST_GROWTH) * standing * difference
    }

    /// The part of a reduction for marks that is left there.
    pub fn backoff_scale(&self, params: &Params) -> f64 {
        self.overhead_scale(params).max(params.backoff_scale_min)
    }

    /// Where between its least and its largest the overhead of the window is.
    pub fn overhead_scale(&self, params: &Params) -> f64 {
        self.jitter_scale * standing_scale(self.standing, params.qdelay_min_threshold)
    }
}

/// So that growth does not stall.
const LEAST_GROWTH: f64 = 0.1;

/// libwebrtc's: 0.1 where the average is its threshold, 1 where it is a quarter of that.
fn standing_scale(average: f64, threshold: TimeDelta) -> f64 {
    let threshold = threshold.as_secs_f64();
    (0.1 + 1.2 * (threshold - average) / threshold).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PacketResult, StreamId};
    use paceline_units::{Bytes, Ecn};

    const SRTT: TimeDelta = TimeDelta::from_millis(40);
    const TARGET: f64 = 0.06;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Tells a delay of so many milliseconds, of which 20 are the path's.
    fn tell(delay: &mut QueueDelay, params: &Params, now: u64, queue: u64) {
        let (sent, arrived) = (at(now), at(now + 20 + queue));
        let sample = Sample { sent, arrived, above: TimeDelta::ZERO, below: TimeDelta::ZERO };
        delay.on_sample(params, at(now + 40), TARGET, &sample);
        delay.update(params, at(now + 40), SRTT);
    }

    /// Section 4.2.1.4.
    #[test]
    fn the_average_rises_by_a_quarter_each_25_ms_and_falls_at_once() {
        let params = Params::draft();
        let mut delay = QueueDelay::new(&params);
        let mut averages = [0.0; 5];
        for (n, (now, queue)) in [(0, 0), (25, 40), (40, 40), (50, 40), (75, 4)].into_iter().enumerate() {
            tell(&mut delay, &params, now, queue);
            averages[n] = libm::round(delay.qdelay_avg * 1e4) / 10.0;
        }
        assert_eq!(averages, [0.0, 10.0, 10.0, 17.5, 4.0]);
    }

    #[test]
    fn variation_shrinks_the_scale_and_a_steady_delay_does_not() {
        let params = Params { reduce_jitter: true, ..Params::draft() };
        let scale_of = |queue: fn(u64) -> u64| {
            let mut delay = QueueDelay::new(&params);
            for n in 0..400 {
                tell(&mut delay, &params, n * 25, queue(n));
            }
            (delay.growth_scale(&params), delay.backoff_scale(&params), delay.overhead_scale(&params))
        };
        assert_eq!(scale_of(|n| 30 * (n % 2)), (0.1, 0.25, 0.0));
        let (growth, ..) = scale_of(|n| n.min(1) * 10);
        assert!(growth > 0.6, "{growth}");
        assert_eq!(QueueDelay::new(&Params::draft()).growth_scale(&Params::draft()), 1.0);
    }

    /// Packets sent at 0, 30 and 60 ms, and 4 packets 2 ms apart from 80 ms on, of delays 20, 30, 21 and 27, 25, 24, 23.
    #[test]
    fn the_sample_is_the_least_delay_of_the_last_burst() {
        let sent = [0, 30, 60, 80, 82, 84, 86];
        let delays = [20, 30, 21, 27, 25, 24, 23];
        let packets: alloc::vec::Vec<_> = (0..7)
            .map(|n| PacketResult {
                stream: StreamId(0),
                sequence: n as u64,
                size: Bytes::new(1000),
                sent: at(sent[n]),
                status: Status::Received { arrived: Some(at(sent[n] + delays[n])), ecn: Ecn::Ect1 },
            })
            .collect();
        let report =
            PacketsReport { packets: &packets, clock_step: TimeDelta::from_millis(1), ambiguous: false };
        let newest = (at(86), at(109));
        let ms = |sample: Sample| {
            let [above, below] = [sample.above, sample.below].map(TimeDelta::as_millis_f64);
            ((sample.arrived - sample.sent).as_millis_f64(), above, below)
        };
        assert_eq!(ms(Sample::of(&Params::draft(), &report, newest, at(0))), (23.0, 2.0, 7.0));
        assert_eq!(
            ms(Sample::of(&Params::draft(), &report, newest, at(60))),
            (23.0, 0.0, 4.0),
            "told before"
        );
        assert_eq!(
            ms(Sample::of(&Params::libwebrtc(), &report, newest, at(0))),
            (23.0, 0.0, 4.0),
            "60 ms is 26 before"
        );
        let wide = Params { burst_window: TimeDelta::from_millis(30), ..Params::libwebrtc() };
        assert_eq!(ms(Sample::of(&wide, &report, newest, at(0))), (21.0, 0.0, 6.0));
    }

    #[test]
    fn libwebrtcs_scales_are_a_tenth_at_the_threshold_and_one_at_a_quarter() {
        let threshold = TimeDelta::from_millis(10);
        for (average, scale) in [(0.0, 1.0), (0.0025, 1.0), (0.01, 0.1), (0.02, 0.0)] {
            assert!((standing_scale(average, threshold) - scale).abs() < 1e-9);
        }
        assert_eq!(standing_scale(5.0, TimeDelta::MAX), 1.0, "no such rule");
    }
}
