//! Wall-clock time as RTCP writes it.

use paceline_units::{Time, TimeDelta};

const SECOND: u128 = 1_000_000_000;

/// The wall clock's time, told once by the application: a driver's clock counts from anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NtpClock {
    zero: u64,
}

impl NtpClock {
    /// A clock that showed `zero` at [`Time::ZERO`]: seconds since 1900 in the upper 32 bits, their fraction in the lower (RFC
    /// 3550 section 4). A program that knows no wall clock may count from 0.
    pub const fn starting_at(zero: u64) -> NtpClock {
        NtpClock { zero }
    }

    /// Its reading. It turns in 2036 and every 136 years after.
    pub fn at(self, now: Time) -> u64 {
        let fractions = (u128::from(now.as_nanos()) << 32) / SECOND;
        self.zero.wrapping_add(fractions as u64)
    }
}

/// The middle 32 bits, in 1/65536 s.
pub(super) fn middle(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}

/// A time in 1/65536 s, at most what 32 bits hold.
pub(super) fn units_of(time: TimeDelta) -> u32 {
    let nanos = u128::try_from(time.as_nanos()).unwrap_or(0);
    u32::try_from((nanos << 16) / SECOND).unwrap_or(u32::MAX)
}

/// A count of 1/65536 s as time.
pub(super) fn time_of(units: u32) -> TimeDelta {
    TimeDelta::from_nanos(((u128::from(units) * SECOND) >> 16) as i64)
}

/// Ticks of a media clock of so many hertz, rounded down, modulo 2^32.
pub(super) fn ticks_of(now: Time, clock_rate: u32) -> u32 {
    (u128::from(now.as_nanos()) * u128::from(clock_rate) / SECOND) as u32
}
