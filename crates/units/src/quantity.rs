//! Rates and sizes.

use crate::TimeDelta;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A rate in bits per second. Counts what the counted bytes count: headers in, unless named payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bitrate(u64);

/// A size in bytes. Includes the transport header, unless named payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(u64);

impl Bitrate {
    /// The rate of 0 bit/s.
    pub const ZERO: Bitrate = Bitrate(0);
    /// Faster than any link.
    pub const MAX: Bitrate = Bitrate(u64::MAX);

    /// `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Bitrate {
        Bitrate(bps)
    }

    /// `bps` bits per second, truncated to a whole number; negative and NaN give zero.
    #[inline]
    pub const fn from_bps_f64(bps: f64) -> Bitrate {
        Bitrate(bps as u64)
    }

    /// `kbps` thousand bits per second.
    #[inline]
    pub const fn from_kbps(kbps: u64) -> Bitrate {
        Bitrate(kbps.saturating_mul(1_000))
    }

    /// `mbps` million bits per second.
    #[inline]
    pub const fn from_mbps(mbps: u64) -> Bitrate {
        Bitrate(mbps.saturating_mul(1_000_000))
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Million bits per second.
    #[inline]
    pub const fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// How long `bytes` take at this rate, rounded up to a nanosecond; `TimeDelta::MAX` at rate zero.
    #[inline]
    pub const fn time_for(self, bytes: Bytes) -> TimeDelta {
        if self.0 == 0 {
            return TimeDelta::MAX;
        }
        let bit_nanos = bytes.0 as u128 * 8_000_000_000;
        let nanos = bit_nanos.div_ceil(self.0 as u128);
        TimeDelta::from_nanos(if nanos > i64::MAX as u128 { i64::MAX } else { nanos as i64 })
    }

    /// How many whole bytes pass in `span`; none in a negative one.
    #[inline]
    pub const fn bytes_in(self, span: TimeDelta) -> Bytes {
        let nanos = if span.is_negative() { 0 } else { span.as_nanos() as u128 };
        let bytes = nanos * self.0 as u128 / 8_000_000_000;
        Bytes(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

impl Bytes {
    /// The size of 0 bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any memory.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `bytes` bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The number of bytes.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The count in bits.
    #[inline]
    pub const fn as_bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }

    /// The difference, or none.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    /// The difference, or none: a size is never negative.
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        self.saturating_sub(other)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(items: I) -> Bytes {
        items.fold(Bytes::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_of_1250_bytes_takes_a_millisecond_at_10_mbps() {
        assert_eq!(Bitrate::from_mbps(10).time_for(Bytes::new(1250)), TimeDelta::from_millis(1));
        assert_eq!(Bitrate::ZERO.time_for(Bytes::new(1)), TimeDelta::MAX);
    }

    proptest! {
        #[test]
        fn time_for_bytes_suffices_and_is_tight(rate in 1u64..10_000_000_000, size in 1u64..100_000) {
            let (rate, size) = (Bitrate::from_bps(rate), Bytes::new(size));
            let span = rate.time_for(size);
            prop_assert!(rate.bytes_in(span) >= size);
            prop_assert!(rate.bytes_in(span - TimeDelta::from_nanos(1)) <= size);
        }

        #[test]
        fn nothing_panics(rate in any::<u64>(), size in any::<u64>(), span in any::<i64>()) {
            let (rate, size) = (Bitrate::from_bps(rate), Bytes::new(size));
            let _ = (rate.time_for(size), rate.bytes_in(TimeDelta::from_nanos(span)), size + size, size - Bytes::MAX);
        }
    }
}
