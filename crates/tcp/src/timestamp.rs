//! Timestamps (RFC 7323, no text at hand): segments say when they left, and acknowledgements which of them they answer. So a
//! sender tells the answer to a retransmission from the answer to the first copy, and takes back a needless reduction (the Eifel
//! algorithm, RFC 3522, no text at hand).

use paceline_units::Time;

/// Nanoseconds of a step of the clock.
const STEP: u64 = 1_000_000;

/// When a segment left, as it says: milliseconds, counted round, and never 0, which says nothing.
#[inline]
pub fn stamp(at: Time) -> u32 {
    ((at.as_nanos() / STEP) as u32).max(1)
}

/// Whether one timestamp is older than another.
#[inline]
pub fn is_before(stamp: u32, other: u32) -> bool {
    (stamp.wrapping_sub(other) as i32) < 0
}

/// Timestamps that a receiver has heard (RFC 7323 section 4.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    /// Timestamp that acknowledgements answer (TS.Recent); 0 before the first.
    pub recent: u32,
    /// Offset up to which was acknowledged last (Last.ACK.sent).
    pub acknowledged: u64,
}

/// A receiver's verdict on a segment by its timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is no older than what was heard.
    Accepted,
    /// It comes from long before: it is dropped, and acknowledged (section 5.3, R1).
    Old,
    /// It has no timestamp, though the connection has: it is dropped (section 3.2).
    Missing,
}

impl Heard {
    /// A segment arrived whose first byte lies at `offset`.
    #[inline]
    pub fn on_segment(&mut self, stamp: u32, offset: u64) -> Verdict {
        if stamp == 0 {
            return Verdict::Missing;
        }
        if self.recent != 0 && is_before(stamp, self.recent) {
            return Verdict::Old;
        }
        if offset <= self.acknowledged {
            self.recent = stamp;
        }
        Verdict::Accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * STEP)
    }

    #[test]
    fn stamps_count_milliseconds_round_and_are_never_nothing() {
        assert_eq!([ms(0), ms(1), ms(7)].map(stamp), [1, 1, 7]);
        assert_eq!(stamp(ms((1 << 32) + 9)), 9);
        assert!(is_before(u32::MAX, 5) && is_before(3, 4) && !is_before(4, 4) && !is_before(5, u32::MAX));
    }

    #[test]
    fn what_is_answered_is_the_first_that_is_not_acknowledged() {
        let mut heard = Heard::default();
        for (stamp, offset, verdict, recent) in [
            (10, 0, Verdict::Accepted, 10),
            // The second of a delayed acknowledgement, and one behind a hole.
            (11, 1000, Verdict::Accepted, 10),
            (12, 5000, Verdict::Accepted, 10),
            (9, 2000, Verdict::Old, 10),
            (0, 2000, Verdict::Missing, 10),
            (10, 0, Verdict::Accepted, 10),
        ] {
            assert_eq!((heard.on_segment(stamp, offset), heard.recent), (verdict, recent), "{stamp}");
        }
        heard.acknowledged = 2000;
        assert_eq!((heard.on_segment(20, 2000), heard.recent), (Verdict::Accepted, 20));
        heard.recent = u32::MAX;
        assert_eq!((heard.on_segment(3, 2000), heard.recent), (Verdict::Accepted, 3), "the clock goes round");
    }
}
