//! `X_recv_set`: what the receiver recently said it received (RFC 5348 sections 4.3 and 8.2.2).

use paceline_units::{Time, TimeDelta};

/// Section 8.2.2: values of two successive feedback packets, and one that a loss brought.
const N: usize = 3;

/// A small set of recent `X_recv` in bytes per second, the newest first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ReceiveLimit {
    entries: [(Time, f64); N],
    len: usize,
}

impl ReceiveLimit {
    /// A set of a single item, Infinity.
    pub(crate) fn new(now: Time) -> ReceiveLimit {
        ReceiveLimit { entries: [(now, f64::INFINITY); N], len: 1 }
    }

    /// The largest member of the set, bytes per second.
    pub(crate) fn max(&self) -> f64 {
        self.entries[..self.len].iter().fold(0.0, |most, (_, rate)| most.max(*rate))
    }

    /// "Maximize `X_recv_set`": the largest of all, as of now; Infinity does not count.
    pub(crate) fn maximize(&mut self, now: Time, rate: f64) {
        let known = self.entries[..self.len].iter().map(|(_, rate)| *rate);
        let most = known.filter(|rate| *rate < f64::INFINITY).fold(rate, f64::max);
        self.replace(now, most);
    }

    /// "Update `X_recv_set`": what is older than `keep`, two round trips, is deleted.
    pub(crate) fn update(&mut self, now: Time, rate: f64, keep: TimeDelta) {
        let mut kept = [(now, rate); N];
        let mut len = 1;
        for &(at, rate) in &self.entries[..self.len] {
            if now.saturating_since(at) <= keep && len < N {
                kept[len] = (at, rate);
                len += 1;
            }
        }
        (self.entries, self.len) = (kept, len);
    }

    /// "Halve entries in `X_recv_set`".
    pub(crate) fn halve(&mut self) {
        self.entries[..self.len].iter_mut().for_each(|(_, rate)| *rate /= 2.0);
    }

    /// Replaces the contents with one item.
    pub(crate) fn replace(&mut self, now: Time, rate: f64) {
        (self.entries[0], self.len) = ((now, rate), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    const TWO_RTTS: TimeDelta = TimeDelta::from_millis(200);

    #[test]
    fn infinity_holds_for_two_round_trips() {
        let mut set = ReceiveLimit::new(ms(0));
        set.update(ms(100), 5.0, TWO_RTTS);
        set.update(ms(200), 6.0, TWO_RTTS);
        assert_eq!(set.max(), f64::INFINITY);
        set.update(ms(201), 4.0, TWO_RTTS);
        assert_eq!(set.max(), 6.0, "three are kept, and Infinity is the oldest");
    }

    #[test]
    fn old_values_go_and_three_stay() {
        let mut set = ReceiveLimit::new(ms(0));
        for (at, rate) in [(300, 9.0), (310, 1.0), (320, 2.0), (330, 3.0)] {
            set.update(ms(at), rate, TWO_RTTS);
        }
        assert_eq!(set.max(), 3.0, "the fourth newest is forgotten");
        set.update(ms(525), 1.5, TWO_RTTS);
        assert_eq!(set.max(), 3.0);
        set.update(ms(531), 1.0, TWO_RTTS);
        assert_eq!(set.max(), 1.5);
    }

    #[test]
    fn for_no_time_the_last_value_alone_counts() {
        let mut set = ReceiveLimit::new(ms(0));
        for (at, rate) in [(100, 9.0), (200, 5.0)] {
            set.update(ms(at), rate, TimeDelta::ZERO);
            assert_eq!(set.max(), rate);
        }
    }

    #[test]
    fn maximizing_keeps_the_largest_as_new_and_drops_infinity() {
        let mut set = ReceiveLimit::new(ms(0));
        set.maximize(ms(10), 4.0);
        assert_eq!(set.max(), 4.0);
        set.update(ms(20), 7.0, TWO_RTTS);
        set.halve();
        assert_eq!(set.max(), 3.5);
        set.maximize(ms(200), 3.0);
        set.update(ms(400), 1.0, TWO_RTTS);
        assert_eq!(set.max(), 3.5, "its time is that of the maximizing");
        set.update(ms(401), 1.0, TWO_RTTS);
        assert_eq!(set.max(), 1.0);
    }
}
