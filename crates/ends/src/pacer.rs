//! The pacer: the only place that computes a send time.

use paceline_cc::Pacing;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Spaces packets as the controller asks.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    next: Time,
    /// When all that left has taken its time: `next`, or later within a burst.
    clear: Time,
    /// How late a driver may wake without the rate going down, in nanoseconds. Zero in the simulator, which is never late.
    forgiven: u64,
    /// Where the gap after the last packet begins, and that packet's size.
    last: (Time, Bytes),
    /// The gap that a packet of that size takes at the present rate, in nanoseconds.
    gap: u64,
    /// Whether there is always something to send.
    greedy: bool,
}

impl Pacer {
    /// No pacing yet. A driver that wakes late by up to `forgiven` makes up for it.
    pub fn new(forgiven: TimeDelta) -> Pacer {
        let (last, forgiven) = ((Time::ZERO, Bytes::ZERO), nanos(forgiven));
        Pacer {
            pacing: Pacing::Off,
            next: Time::ZERO,
            clear: Time::ZERO,
            forgiven,
            last,
            gap: 0,
            greedy: false,
        }
    }

    /// Says whether there is always something to send: no pace is above what the controller allows over time then.
    pub fn set_greedy(&mut self, greedy: bool) {
        self.greedy = greedy;
    }

    /// From now on packets are spaced like this. A rate holds for what already left; a gap is given to each packet as
    /// it leaves.
    #[inline]
    pub fn set(&mut self, pacing: Pacing) {
        if pacing != self.pacing {
            self.pacing = pacing;
            self.gap = nanos(self.gap_after(self.last.1));
            if !matches!(pacing, Pacing::Gap(_)) {
                let in_burst = self.next < self.clear;
                self.clear = self.last.0 + self.last_gap();
                self.next = if in_burst { self.next.min(self.clear) } else { self.clear };
            }
        }
    }

    /// The rate at which packets leave over time; absent where they are not spaced, or by a gap.
    pub fn rate(&self) -> Option<Bitrate> {
        match self.pacing {
            Pacing::Rate(rate) | Pacing::Burst { mean: rate, .. } => Some(rate),
            Pacing::Off | Pacing::Gap(_) => None,
        }
    }

    /// The earliest time for the next packet.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// A packet left at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        if self.last.1 != size {
            self.gap = nanos(self.gap_after(size));
        }
        let begin = self.clear.as_nanos().max(now.as_nanos().saturating_sub(self.forgiven));
        self.last = (Time::from_nanos(begin), size);
        self.clear = Time::from_nanos(begin.saturating_add(self.gap));
        self.next = self.clear;
        if let Some(at_once) = self.burst()
            && self.clear < now + at_once
        {
            self.next = now;
        }
    }

    /// The size of a burst, as the time that it takes; absent where packets leave one by one.
    #[inline]
    pub fn burst(&self) -> Option<TimeDelta> {
        match self.pacing {
            Pacing::Burst { at_once, .. } if at_once > TimeDelta::ZERO && !self.greedy => Some(at_once),
            _ => None,
        }
    }

    /// Packets of `size` left one after the other, each when it could, the last at `last`.
    #[inline]
    pub fn on_run(&mut self, last: Time, size: Bytes) {
        self.clear = last;
        self.on_sent(last, size);
    }

    /// The gap after the packet that left last.
    #[inline]
    pub fn last_gap(&self) -> TimeDelta {
        TimeDelta::from_nanos(self.gap as i64)
    }

    /// The gap after packets of `size`.
    #[inline]
    pub fn gap(&self, size: Bytes) -> TimeDelta {
        if self.last.1 == size { self.last_gap() } else { self.gap_after(size) }
    }

    fn gap_after(&self, size: Bytes) -> TimeDelta {
        match self.pacing {
            Pacing::Off => TimeDelta::ZERO,
            _ if size == Bytes::ZERO => TimeDelta::ZERO,
            Pacing::Gap(gap) => gap,
            Pacing::Rate(rate) => rate.time_for(size),
            Pacing::Burst { rate, mean, .. } => {
                let rate = if self.greedy { rate.min(mean) } else { rate };
                rate.time_for(size)
            }
        }
    }
}

/// A span that is never negative.
#[inline]
fn nanos(span: TimeDelta) -> u64 {
    span.as_nanos().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_rate_spaces_by_size_and_a_gap_does_not() {
        let mut pacer = Pacer::new(TimeDelta::ZERO);
        pacer.set(Pacing::Rate(Bitrate::from_mbps(8)));
        pacer.on_sent(ms(1), Bytes::new(1000));
        assert_eq!(pacer.next(), ms(2));
        pacer.on_sent(ms(2), Bytes::new(3000));
        assert_eq!(pacer.next(), ms(5));
        pacer.set(Pacing::Rate(Bitrate::from_mbps(24)));
        assert_eq!(pacer.next(), ms(3), "a new rate counts from the last packet");
        pacer.set(Pacing::Gap(TimeDelta::from_millis(2)));
        assert_eq!(pacer.next(), ms(3), "a gap does not");
        pacer.on_sent(ms(5), Bytes::new(3000));
        assert_eq!(pacer.next(), ms(7));
        pacer.set(Pacing::Off);
        assert!(pacer.next() <= ms(5));
    }

    /// The rate that a frame needs to be out in time is no rate for a file.
    #[test]
    fn who_always_has_data_keeps_to_the_mean() {
        let burst = Pacing::Burst {
            rate: Bitrate::from_mbps(20),
            mean: Bitrate::from_mbps(8),
            at_once: TimeDelta::ZERO,
        };
        for (greedy, gap) in [(false, 400), (true, 1000)] {
            let mut pacer = Pacer::new(TimeDelta::ZERO);
            pacer.set_greedy(greedy);
            pacer.set(burst);
            pacer.on_sent(ms(1), Bytes::new(1000));
            assert_eq!(pacer.next(), ms(1) + TimeDelta::from_micros(gap));
        }
    }

    /// Packets of 1 ms each: those of 3 ms leave at once, and then none until all have taken their time.
    #[test]
    fn a_burst_leaves_at_once_and_is_made_up_for() {
        let rate = Bitrate::from_mbps(8);
        let bursts = |rate| Pacing::Burst { rate, mean: rate, at_once: TimeDelta::from_millis(3) };
        let mut pacer = Pacer::new(TimeDelta::ZERO);
        pacer.set(bursts(rate));
        let mut left = Vec::new();
        for _ in 0..7 {
            left.push(pacer.next().max(ms(10)));
            pacer.on_sent(left[left.len() - 1], Bytes::new(1000));
        }
        assert_eq!(left, [10, 10, 10, 13, 13, 13, 16].map(ms));
        pacer.set(bursts(Bitrate::from_mbps(16)));
        assert_eq!(pacer.next(), ms(16), "a new rate ends no burst");
        pacer.on_sent(ms(16), Bytes::new(6000));
        assert_eq!(pacer.next(), Time::from_nanos(19_500_000), "a large packet is owed for");
        pacer.set_greedy(true);
        pacer.on_sent(ms(30), Bytes::new(1000));
        assert_eq!(pacer.next(), Time::from_nanos(30_500_000), "who always has data keeps to the mean");
    }

    #[test]
    fn idle_time_is_not_saved_up_but_a_late_driver_is_forgiven() {
        for (forgiven, expected) in [(0, 101), (3, 98)] {
            let mut pacer = Pacer::new(TimeDelta::from_millis(forgiven));
            pacer.set(Pacing::Gap(TimeDelta::from_millis(1)));
            pacer.on_sent(ms(10), Bytes::new(1));
            pacer.on_sent(ms(100), Bytes::new(1));
            assert_eq!(pacer.next(), ms(expected));
        }
    }
}
