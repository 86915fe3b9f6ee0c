//! Sequence numbers: 48 bits, in a circle (RFC 4340 sections 3.1 and 7).

use core::fmt;

/// A sequence or acknowledgement number of 48 bits. There is no order among all of them, so it has no `Ord`: of two
/// numbers, [`SequenceNumber::since`] says which is ahead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SequenceNumber(u64);

/// Numbers of 24 bits, as packets with X = 0 carry.
const SHORT: u64 = 1 << 24;

impl SequenceNumber {
    /// Zero, which a reset carries where nothing was ever received.
    pub const ZERO: SequenceNumber = SequenceNumber(0);
    /// How many numbers there are.
    pub const MODULUS: u64 = 1 << 48;

    /// The number `value` modulo 2^48.
    #[inline]
    pub const fn new(value: u64) -> SequenceNumber {
        SequenceNumber(value % Self::MODULUS)
    }

    /// As an integer below 2^48.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The number `steps` ahead, or behind if negative.
    #[inline]
    pub const fn plus(self, steps: i64) -> SequenceNumber {
        SequenceNumber(self.0.wrapping_add_signed(steps) % Self::MODULUS)
    }

    /// How far this is ahead of `other`: -2^47 to 2^47 - 1.
    #[inline]
    pub const fn since(self, other: SequenceNumber) -> i64 {
        ((self.0.wrapping_sub(other.0) << 16) as i64) >> 16
    }

    /// The low 24 bits.
    #[inline]
    pub const fn low(self) -> u32 {
        (self.0 % SHORT) as u32
    }

    /// The number that the 24 bits `short` stand for, next to `reference` (RFC 4340 section 7.6,
    /// Extend_Sequence_Number).
    pub const fn extend(short: u32, reference: SequenceNumber) -> SequenceNumber {
        let short = short as u64 % SHORT;
        let (high, low) = (reference.0 / SHORT, reference.0 % SHORT);
        // "a (<) b": b - a, modulo 2^24, is at most 2^23.
        let ahead = (short.wrapping_sub(low)) % SHORT <= SHORT / 2;
        let behind = (low.wrapping_sub(short)) % SHORT <= SHORT / 2;
        let high = if ahead && short < low {
            high + 1
        } else if behind && low < short {
            high.wrapping_sub(1)
        } else {
            high
        };
        SequenceNumber((high % SHORT) * SHORT + short)
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn section_3_1_comparison_is_circular() {
        let last = SequenceNumber::new(SequenceNumber::MODULUS - 1);
        assert_eq!(last.plus(1), SequenceNumber::ZERO);
        assert_eq!(SequenceNumber::ZERO.since(last), 1);
        assert_eq!(last.since(SequenceNumber::ZERO), -1);
        assert_eq!(SequenceNumber::ZERO.plus(-1), last);
    }

    #[test]
    fn section_7_6_short_numbers_extend_to_the_nearest() {
        let reference = |high: u64, low: u64| SequenceNumber::new(high * SHORT + low);
        assert_eq!(SequenceNumber::extend(5, reference(7, SHORT - 2)), reference(8, 5));
        assert_eq!(SequenceNumber::extend(0xff_fffe, reference(7, 3)), reference(6, 0xff_fffe));
        assert_eq!(SequenceNumber::extend(9, reference(7, 3)), reference(7, 9));
        assert_eq!(SequenceNumber::extend(5, reference(SHORT - 1, SHORT - 2)), reference(0, 5));
        assert_eq!(SequenceNumber::extend(0xff_fffe, reference(0, 3)), reference(SHORT - 1, 0xff_fffe));
    }

    proptest! {
        #[test]
        fn what_is_near_survives_24_bits(reference in 0..SequenceNumber::MODULUS, steps in -8_388_607i64..8_388_607) {
            let reference = SequenceNumber::new(reference);
            let number = reference.plus(steps);
            prop_assert_eq!(SequenceNumber::extend(number.low(), reference), number);
            prop_assert_eq!(number.since(reference), steps);
        }
    }
}
