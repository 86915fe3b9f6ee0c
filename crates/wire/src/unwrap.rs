//! Numbers that wrap on the wire, made numbers that do not, for receivers.

/// A sequence number less than this ahead is taken for what it says (RFC 3550 appendix A.1).
pub const MAX_DROPOUT: u16 = 3000;
/// A sequence number less than this behind is taken for a late packet (RFC 3550 appendix A.1).
pub const MAX_MISORDER: u16 = 100;

/// The number nearest to `reference` whose low 16 bits are `sequence`; of two equally near, the lower. `None` if it
/// lies below 0 (or beyond 64 bits).
pub fn unwrap_sequence(reference: u64, sequence: u16) -> Option<u64> {
    let ahead = sequence.wrapping_sub(reference as u16) as i16;
    reference.checked_add_signed(ahead.into())
}

/// The number nearest to `reference` whose low 32 bits are `value`; of two equally near, the lower.
pub fn unwrap_u32(reference: u64, value: u32) -> Option<u64> {
    let ahead = value.wrapping_sub(reference as u32) as i32;
    reference.checked_add_signed(ahead.into())
}

/// Extends a stream's 16-bit sequence numbers (RFC 3550 appendix A.1).
///
/// The first number is taken as it is, unless [`SequenceUnwrapper::after_turns`] adds to it. A number [`MAX_DROPOUT`] or more ahead, or [`MAX_MISORDER`] or more behind,
/// is refused unless the next packet continues it: one stray packet changes nothing. A jump that two packets
/// agree on goes the shorter way round, so that the extended numbers stay the sender's after an outage and after a
/// late burst alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceUnwrapper {
    highest: Option<u64>,
    /// The number that would follow the one refused last.
    continues: Option<u16>,
    /// Jumps so far.
    jumps: u64,
    /// Added to the first number.
    before: u64,
}

impl SequenceUnwrapper {
    /// An unwrapper that adds so many turns of 2^16 to the first number: they leave numbers for packets from before it, and
    /// for jumps back.
    pub fn after_turns(turns: u32) -> SequenceUnwrapper {
        SequenceUnwrapper { before: u64::from(turns) << 16, ..SequenceUnwrapper::default() }
    }

    /// The extended number, or `None` if it is refused.
    pub fn unwrap(&mut self, sequence: u16) -> Option<u64> {
        let Some(highest) = self.highest else {
            self.highest = Some(self.before + u64::from(sequence));
            return self.highest;
        };
        let ahead = sequence.wrapping_sub(highest as u16);
        if ahead < MAX_DROPOUT {
            self.continues = None;
            self.highest = highest.checked_add(ahead.into());
            return self.highest;
        }
        if ahead.wrapping_neg() < MAX_MISORDER && self.continues != Some(sequence) {
            return highest.checked_sub(ahead.wrapping_neg().into());
        }
        if self.continues != Some(sequence) {
            self.continues = Some(sequence.wrapping_add(1));
            return None;
        }
        self.continues = None;
        self.jumps += 1;
        let jumped = unwrap_sequence(highest, sequence).or(highest.checked_add(ahead.into()))?;
        self.highest = Some(jumped);
        Some(jumped)
    }

    /// How many jumps two packets in a row agreed on. After one, numbers begin anew with the one answered: what a receiver
    /// knew of those above belonged to another sequence, and the number before it was there and was refused (RFC 3550
    /// appendix A.1, `init_seq`).
    pub fn jumps(&self) -> u64 {
        self.jumps
    }

    /// The highest number since the last jump.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }
}

/// Extends a stream's 32-bit RTP timestamps: each is the nearest to the one before (RFC 3550 section 5.1; at 90 kHz
/// they wrap every 13.3 hours).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimestampUnwrapper {
    last: Option<u64>,
}

impl TimestampUnwrapper {
    /// The extended timestamp, or `None` if it lies before the zero of the one it started with.
    pub fn unwrap(&mut self, timestamp: u32) -> Option<u64> {
        let extended = match self.last {
            None => timestamp.into(),
            Some(last) => unwrap_u32(last, timestamp)?,
        };
        self.last = Some(extended);
        Some(extended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_by_hand() {
        assert_eq!(unwrap_sequence(65_535, 0), Some(65_536));
        assert_eq!(unwrap_sequence(65_536, 65_535), Some(65_535));
        assert_eq!(unwrap_sequence(100_000, 0), Some(131_072));
        assert_eq!(unwrap_sequence(32_768, 0), Some(0));
        assert_eq!(unwrap_sequence(5, 65_535), None);
        assert_eq!(unwrap_sequence(u64::MAX, 3), None);
    }

    #[test]
    fn a_stray_packet_changes_nothing_and_two_that_agree_do() {
        let mut unwrapper = SequenceUnwrapper::default();
        assert_eq!(unwrapper.unwrap(65_530), Some(65_530));
        assert_eq!(unwrapper.unwrap(2), Some(65_538));
        assert_eq!(unwrapper.unwrap(65_535), Some(65_535));
        assert_eq!(unwrapper.highest(), Some(65_538));
        assert_eq!(unwrapper.unwrap(30_000), None);
        assert_eq!(unwrapper.unwrap(3), Some(65_539));
        assert_eq!(unwrapper.unwrap(30_001), None, "a good packet between: not consecutive");
        assert_eq!(unwrapper.jumps(), 0);
        assert_eq!(unwrapper.unwrap(30_002), Some(95_538));
        assert_eq!(unwrapper.jumps(), 1);
        assert_eq!(unwrapper.unwrap(30_001), Some(95_537));
    }

    #[test]
    fn numbers_before_the_first_are_there_after_turns() {
        let mut unwrapper = SequenceUnwrapper::after_turns(1);
        assert_eq!((unwrapper.unwrap(3), unwrapper.unwrap(65_534)), (Some(65_539), Some(65_534)));
        assert_eq!((unwrapper.unwrap(40_000), unwrapper.unwrap(40_001)), (None, Some(40_001)));
        assert_eq!((unwrapper.unwrap(4), unwrapper.unwrap(5)), (None, Some(65_541)));
    }

    #[test]
    fn the_limits_of_a_jump_are_the_rfcs() {
        let at = |first, next| {
            let mut unwrapper = SequenceUnwrapper::default();
            unwrapper.unwrap(first);
            unwrapper.unwrap(next)
        };
        assert_eq!(at(1000, 3999), Some(3999));
        assert_eq!(at(1000, 4000), None);
        assert_eq!(at(1000, 901), Some(901));
        assert_eq!(at(1000, 900), None);
        assert_eq!(at(50, 65_500), None, "late, but before the first there was");
    }

    #[test]
    fn timestamps_wrap() {
        let mut unwrapper = TimestampUnwrapper::default();
        assert_eq!(unwrapper.unwrap(u32::MAX), Some(u32::MAX.into()));
        assert_eq!(unwrapper.unwrap(2999), Some((1 << 32) + 2999));
        assert_eq!(unwrapper.unwrap(u32::MAX), Some(u32::MAX.into()));
        assert_eq!(TimestampUnwrapper { last: Some(5) }.unwrap(u32::MAX), None);
    }

    proptest! {
        #[test]
        fn nearest_is_nearest(reference in 40_000u64..1 << 40, sequence: u16) {
            let found = unwrap_sequence(reference, sequence).unwrap();
            prop_assert_eq!(found as u16, sequence);
            prop_assert!(found.abs_diff(reference) <= 32_768);
        }

        /// Whatever a sender's packets do short of half the number space, an answer is the sender's number.
        #[test]
        fn an_answer_is_the_senders_number(
            first in 40_000u64..1 << 20,
            steps in prop::collection::vec(
                prop_oneof![8 => 1i64..4, 3 => -99i64..0, 1 => 3000i64..32_000, 1 => -30_000i64..-99], 1..200),
        ) {
            let mut unwrapper = SequenceUnwrapper::default();
            let offset = unwrapper.unwrap(first as u16).unwrap();
            let mut sequence = first;
            for step in steps {
                // Jumps are made from the highest number known, as a stream's do.
                let base = unwrapper.highest().unwrap() - offset + first;
                let next = if step.abs() > 99 { base } else { sequence }.saturating_add_signed(step);
                if next.abs_diff(base) >= 32_768 || next < first {
                    continue;
                }
                sequence = next;
                if let Some(extended) = unwrapper.unwrap(sequence as u16) {
                    prop_assert_eq!(extended - offset, sequence - first);
                }
            }
        }

        #[test]
        fn no_sequence_panics(sequences in prop::collection::vec(any::<u16>(), 0..300), start: u32) {
            let mut unwrapper = SequenceUnwrapper::default();
            let mut timestamps = TimestampUnwrapper { last: Some(start.into()) };
            for sequence in sequences {
                if let Some(extended) = unwrapper.unwrap(sequence) {
                    prop_assert_eq!(extended as u16, sequence);
                }
                timestamps.unwrap(u32::from(sequence) << 16);
            }
        }
    }
}
