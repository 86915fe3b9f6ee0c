//! Whether the application limited the sender all the time that a feedback packet covers (RFC 5348 sections 4.3, 8.2.1).
//!
//! Section 8.2.1 saves two times at which the sender was not limited and names it a heuristic: with a round trip that has
//! grown to several feedback intervals neither lies in the interval covered, and a sender that fills a queue would pass
//! for a data-limited one. Here the spans are kept in which it was not limited.

use paceline_units::{Time, TimeDelta};

/// Spans that are remembered: a sender that is limited now and then has a few in a round trip.
const SPANS: usize = 32;

/// The latest spans of time in which the sender was not limited by the application, the newest last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataLimited {
    /// First and last time of each span, in a ring.
    spans: [(Time, Time); SPANS],
    count: usize,
}

impl DataLimited {
    /// No span: nothing was sent.
    pub(crate) fn new() -> DataLimited {
        DataLimited { spans: [(Time::ZERO, Time::ZERO); SPANS], count: 0 }
    }

    /// A segment was sent, and the sender has sent all that it is allowed to: more waits. Times less than a quarter of
    /// the round trip `r` apart are one span: no interval of a round trip fits between them.
    #[inline]
    pub(crate) fn on_not_limited(&mut self, now: Time, r: TimeDelta) {
        if self.count > 0 {
            let (_, end) = &mut self.spans[(self.count - 1) % SPANS];
            if now.saturating_since(*end) * 4 <= r {
                *end = now.max(*end);
                return;
            }
        }
        self.spans[self.count % SPANS] = (now, now);
        // Wraps at a multiple of the ring's length, and never to an empty ring.
        self.count = if self.count == 2 * SPANS - 1 { SPANS } else { self.count + 1 };
    }

    /// A feedback packet names the send time `t_new`: was the interval of `r` up to it data-limited?
    pub(crate) fn covers(&self, t_new: Time, r: TimeDelta) -> bool {
        let t_old = t_new - r;
        let known = &self.spans[..self.count.min(SPANS)];
        !known.iter().any(|(begin, end)| *begin <= t_new && t_old < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const R: TimeDelta = TimeDelta::from_millis(100);

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A packet every 10 ms, feedback every 100 ms of what was sent 100 ms before; what each feedback packet covers.
    fn run(backlogged: impl Fn(u64) -> bool) -> Vec<bool> {
        let mut state = DataLimited::new();
        let mut limited = Vec::new();
        for n in 1..=100 {
            if n % 10 == 0 && n > 10 {
                limited.push(state.covers(ms(n * 10 - 100), R));
            }
            if backlogged(n) {
                state.on_not_limited(ms(n * 10), R);
            }
        }
        limited
    }

    #[test]
    fn always_or_never_limited() {
        assert!(run(|_| true).iter().all(|limited| !limited));
        assert!(run(|_| false).iter().all(|limited| *limited));
    }

    #[test]
    fn one_moment_without_limit_is_enough() {
        let found = run(|n| n % 10 == 5);
        assert!(found.iter().all(|limited| !limited), "{found:?}");
    }

    #[test]
    fn a_period_is_found_where_it_was() {
        let found = run(|n| !(40..70).contains(&n));
        // The intervals end at 100, 200, ... 900 ms; those up to 500, 600 and 700 lie wholly within 400 to 690.
        assert_eq!(found, [false, false, false, false, true, true, false, false, false]);
    }

    #[test]
    fn a_round_trip_that_has_grown_does_not_make_a_full_sender_a_limited_one() {
        let mut state = DataLimited::new();
        (1..1000).for_each(|n| state.on_not_limited(ms(n * 10), R));
        assert!((2..90).all(|n| !state.covers(ms(n * 100), R)));
        assert!(state.covers(ms(20_000), R));
    }

    #[test]
    fn the_latest_spans_are_kept() {
        let mut state = DataLimited::new();
        (1..=1000).for_each(|n| state.on_not_limited(ms(n * 1000), R));
        for n in 1..=1000 {
            assert_eq!(state.covers(ms(n * 1000 + 50), R), n <= 1000 - SPANS as u64, "{n}");
            assert!(state.covers(ms(n * 1000 + 500), R));
        }
    }
}
