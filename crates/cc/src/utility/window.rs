//! A sliding window over time: what was seen in it, in a bounded number of buckets.

use core::ops::{AddAssign, SubAssign};
use paceline_units::{Time, TimeDelta};

const BUCKETS: usize = 64;

/// The sums over the window.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Sums {
    /// Packets that arrived.
    pub(crate) packets: f64,
    /// Their rates, as the controller set them, in bit/s.
    pub(crate) rates: f64,
    /// Their delay measures in seconds.
    pub(crate) delays: f64,
    /// Their sizes in bits.
    pub(crate) bits: f64,
    /// Packets that were lost.
    pub(crate) lost: f64,
    /// Packets that arrived marked.
    pub(crate) marked: f64,
}

impl AddAssign for Sums {
    #[inline]
    fn add_assign(&mut self, other: Sums) {
        self.packets += other.packets;
        self.rates += other.rates;
        self.delays += other.delays;
        self.bits += other.bits;
        self.lost += other.lost;
        self.marked += other.marked;
    }
}

impl SubAssign for Sums {
    fn sub_assign(&mut self, other: Sums) {
        self.packets -= other.packets;
        self.rates -= other.rates;
        self.delays -= other.delays;
        self.bits -= other.bits;
        self.lost -= other.lost;
        self.marked -= other.marked;
    }
}

/// Sums over the last so many seconds, exact to a 64th of them.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    buckets: [Sums; BUCKETS],
    /// Sums of all buckets but the newest.
    past: Sums,
    /// The newest bucket, counted from the beginning of time.
    newest: u64,
    length: u64,
    began: Option<Time>,
}

impl SlidingWindow {
    pub(crate) fn new(length: TimeDelta) -> SlidingWindow {
        let length = length.as_nanos().max(0) as u64;
        let nothing = Sums::default();
        SlidingWindow {
            buckets: [nothing; BUCKETS],
            past: nothing,
            newest: 0,
            length: (length / BUCKETS as u64).max(1),
            began: None,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, now: Time, sums: Sums) {
        let bucket = now.as_nanos() / self.length;
        if bucket != self.newest {
            self.turn(bucket);
        }
        self.began.get_or_insert(now);
        self.buckets[bucket as usize % BUCKETS] += sums;
    }

    /// All delays were told `by` seconds too small.
    pub(crate) fn raise_delays(&mut self, by: f64) {
        for sums in self.buckets.iter_mut().chain([&mut self.past]) {
            sums.delays += by * sums.packets;
        }
    }

    fn turn(&mut self, bucket: u64) {
        if bucket < self.newest || bucket - self.newest >= BUCKETS as u64 {
            self.buckets = [Sums::default(); BUCKETS];
        } else {
            (self.newest + 1..=bucket).for_each(|n| self.buckets[n as usize % BUCKETS] = Sums::default());
        }
        self.newest = bucket;
        // Summed anew, so that no rounding adds up.
        self.past = Sums::default();
        self.buckets.iter().for_each(|sums| self.past += *sums);
        self.past -= self.buckets[bucket as usize % BUCKETS];
    }

    /// The sums over the window as of the last time that something was added.
    #[inline]
    pub(crate) fn sums(&self) -> Sums {
        let mut sums = self.past;
        sums += self.buckets[self.newest as usize % BUCKETS];
        sums
    }

    /// Seconds that the sums cover at `now`.
    #[inline]
    pub(crate) fn covered(&self, now: Time) -> f64 {
        let whole = (self.length * BUCKETS as u64) as f64 * 1e-9;
        self.began.map_or(0.0, |began| now.saturating_since(began).as_secs_f64().min(whole))
    }

    /// Whether it covers its whole length at `now`.
    #[inline]
    pub(crate) fn is_full(&self, now: Time) -> bool {
        let whole = self.length.saturating_mul(BUCKETS as u64);
        self.began.is_some_and(|began| now.saturating_since(began).as_nanos() as u64 >= whole)
    }
}
