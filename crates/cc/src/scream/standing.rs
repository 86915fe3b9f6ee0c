//! The queue that stands: the smallest queue delay of a short time, since noise that passes within it is no queue. Rules of ours.

use super::Params;
use crate::delay_noise::noise_after;
use crate::{PacketsReport, Status};
use paceline_units::{Time, TimeDelta};

/// Parts of the span, of each of which the smallest delay is kept.
const PARTS: usize = 8;
/// Seconds between two looks at the delay.
const LOOK_SECONDS: f64 = 0.1;
/// The largest noise: a queue that grows fast is seen before the span is over, and a path that becomes faster is no noise.
const LARGEST: TimeDelta = TimeDelta::from_millis(100);
/// Part of the time by which a queue of ours falls, at most.
const DRAIN: f64 = 0.3;

/// The smallest queue delays of the last span, and their noise.
#[derive(Clone, Debug)]
pub struct Standing {
    least: [TimeDelta; PARTS],
    /// The present part, when it ends, and the smallest delay of all others.
    part: usize,
    part_end: Time,
    others: TimeDelta,
    /// Length of the span; zero: the newest packet's delay counts.
    pub span: TimeDelta,
    /// The delay noise in seconds: by how much the delay changes between two looks for other reasons than our rate.
    pub noise: f64,
    /// The delay of the last look in seconds, and when that was.
    looked: (f64, Time),
}

impl Standing {
    /// No delay was seen.
    pub fn new(span: TimeDelta) -> Standing {
        let least = [TimeDelta::MAX; PARTS];
        let (part, part_end, others) = (0, Time::ZERO, TimeDelta::MAX);
        Standing { least, part, part_end, others, span, noise: 0.0, looked: (0.0, Time::ZERO) }
    }

    /// By how much the delay of the newest packet, sent and arrived at `newest`, exceeds the smallest one of a report's packets that were
    /// sent within the span; no more than the largest noise. Where reports come more often than parts of the span their newest packets do.
    #[inline]
    pub fn above_least(&self, report: &PacketsReport<'_>, newest: (Time, Time)) -> TimeDelta {
        let (sent, arrived) = newest;
        if sent < self.part_end {
            return TimeDelta::ZERO;
        }
        let first = sent - self.span;
        let delays = report.packets.iter().filter_map(|packet| match packet.status {
            Status::Received { arrived: Some(arrived), .. }
                if packet.sent >= first && packet.sent <= sent =>
            {
                Some(arrived - packet.sent)
            }
            _ => None,
        });
        let own = arrived - sent;
        (own - delays.fold(own, TimeDelta::min)).min(LARGEST)
    }

    /// The newest packet of a report, sent at `sent`, had this queue delay, which exceeds the smallest one by `above`. Answers the smallest
    /// one of the span, or the newest less the largest noise.
    #[inline]
    pub fn take(&mut self, sent: Time, newest: TimeDelta, above: TimeDelta) -> TimeDelta {
        if sent >= self.part_end {
            self.next_part(sent);
        }
        let least = &mut self.least[self.part];
        *least = (newest - above).max(TimeDelta::ZERO).min(*least);
        self.others.min(*least).max(newest - LARGEST)
    }

    fn next_part(&mut self, sent: Time) {
        let length = (self.span / PARTS as i64).max(TimeDelta::from_micros(100));
        let passed = sent.saturating_since(self.part_end).as_nanos() / length.as_nanos() + 1;
        for _ in 0..passed.min(PARTS as i64) {
            self.part = (self.part + 1) % PARTS;
            self.least[self.part] = TimeDelta::MAX;
        }
        self.part_end = sent + length;
        // The present part holds nothing yet.
        self.others = self.least.iter().copied().fold(TimeDelta::MAX, TimeDelta::min);
    }

    /// Looks at the delay in seconds. A queue of ours falls slowly, since no reduction of the rate is larger: a faster fall is noise.
    pub fn look(&mut self, now: Time, delay: f64) {
        let (before, at) = self.looked;
        let elapsed = now.saturating_since(at).as_secs_f64();
        if elapsed < LOOK_SECONDS {
            return;
        }
        self.looked = (delay, now);
        let fall = (before - delay - DRAIN * elapsed).clamp(0.0, LARGEST.as_secs_f64());
        self.noise = noise_after(self.noise, elapsed, fall);
    }

    /// The delay target in seconds, where the largest packet has so many bits and the target bitrate is so many bit/s.
    pub fn target(&self, params: &Params, packet: f64, bitrate: f64) -> f64 {
        let noise = params.delay_noise_gain * self.noise;
        let packets = params.delay_target_packets * packet / bitrate.max(1.0);
        let [low, high] = [params.qdelay_target_lo, params.qdelay_target_hi].map(TimeDelta::as_secs_f64);
        (low + noise).max(packets).min(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PacketResult, StreamId};
    use paceline_units::{Bytes, Ecn};

    const SPAN: TimeDelta = TimeDelta::from_millis(50);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    #[test]
    fn the_delay_is_the_smallest_one_of_the_span() {
        let mut standing = Standing::new(SPAN);
        let delays = [(0, 5), (10, 40), (20, 30), (40, 60), (60, 50), (80, 45)];
        let least = delays.map(|(sent, delay)| standing.take(at(sent), ms(delay), ms(0)));
        assert_eq!(least, [5, 5, 5, 5, 30, 45].map(ms));
    }

    #[test]
    fn a_queue_that_grows_fast_is_seen_at_once() {
        let mut standing = Standing::new(SPAN);
        let least =
            [(0, 5), (10, 90), (20, 300)].map(|(sent, delay)| standing.take(at(sent), ms(delay), ms(0)));
        assert_eq!(least, [5, 5, 200].map(ms));
    }

    /// Packets sent at 0, 30 and 40 ms with delays of 20, 25 and 60 ms; a span back from the newest there are all, or the last two.
    #[test]
    fn a_reports_packets_count_as_far_as_the_span_reaches() {
        let packets = [(0, 20), (30, 25), (40, 60)].map(|(sent, delay)| PacketResult {
            stream: StreamId(0),
            sequence: sent,
            size: Bytes::new(1000),
            sent: at(sent),
            status: Status::Received { arrived: Some(at(sent + delay)), ecn: Ecn::NotEct },
        });
        let report = PacketsReport { packets: &packets, clock_step: ms(1), ambiguous: false };
        let above = |span| Standing::new(span).above_least(&report, (at(40), at(100)));
        assert_eq!([above(SPAN), above(ms(20))], [ms(40), ms(35)]);
    }

    /// Over a delay that falls by 80 ms each other look, and over a queue that drains by a quarter of the time.
    #[test]
    fn a_fast_fall_is_noise_and_a_draining_queue_is_none() {
        let (mut noisy, mut draining) = (Standing::new(SPAN), Standing::new(SPAN));
        for look in 0..100u32 {
            let now = at(u64::from(look) * 100);
            noisy.look(now, if look % 2 == 0 { 0.08 } else { 0.0 });
            draining.look(now, 2.5 - 0.025 * f64::from(look));
        }
        assert!((0.04..0.06).contains(&noisy.noise), "{}", noisy.noise);
        assert!(draining.noise < 1e-9, "{}", draining.noise);
        let params = Params::default();
        let target = noisy.target(&params, 9600.0, 5e6);
        assert!((0.14..0.18).contains(&target), "{target}");
        assert!((draining.target(&params, 9600.0, 96e3) - 0.2).abs() < 1e-9, "two packets at 96 kbit/s");
    }
}
