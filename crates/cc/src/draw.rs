//! Draws without a generator: they follow from what tells flows apart, and the same run repeats itself.

/// A number that `from` determines, anywhere in its range (multiplicative hashing by the golden ratio).
pub(crate) fn drawn(from: u64) -> u32 {
    (from.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
