//! The grids of time that go on the wire: NTP's middle 32 bits (1/65536 s), RFC 8888's offsets (1/1024 s), and the
//! 90 kHz media clock. All count from the driver's zero.
//!
//! A tick of 1/1024 s is 64 units of NTP's, so an offset is exact against the timestamp. A tick k is the nanosecond
//! k * 1e9 / 1024, rounded down: the grid that a simulated receiver stamps arrivals on.

use paceline_units::Time;

/// Units of 1/65536 s in a tick of 1/1024 s.
pub const RTS_PER_TICK: u64 = 64;

/// The tick of 1/1024 s nearest to `time` (RFC 8888 section 3.1, the unit of ATO).
pub fn ticks_of(time: Time) -> u64 {
    // 1e9 / 1024 = 1953125 / 2.
    let twice = u128::from(time.as_nanos()) * 2;
    saturate((twice + 1_953_125 / 2) / 1_953_125)
}

/// When the tick of 1/1024 s is, rounded down to a nanosecond.
pub fn time_of_ticks(ticks: u64) -> Time {
    Time::from_nanos(saturate(u128::from(ticks) * 1_953_125 / 2))
}

/// When the unwrapped report timestamp in 1/65536 s is, rounded down to a nanosecond (RFC 3550 section 4).
pub fn time_of_rts(rts: u64) -> Time {
    // 1e9 / 65536 = 1953125 / 128.
    Time::from_nanos(saturate(u128::from(rts) * 1_953_125 / 128))
}

/// The unwrapped report timestamp in 1/65536 s of `time`: that of its nearest tick of 1/1024 s.
pub fn rts_of(time: Time) -> u64 {
    ticks_of(time) * RTS_PER_TICK
}

/// Ticks of the 90 kHz media clock, rounded down; its low 32 bits are the RTP timestamp (RFC 3550 section 5.1).
pub fn media_ticks_of(time: Time) -> u64 {
    saturate(u128::from(time.as_nanos()) * 9 / 100_000)
}

/// When the tick of the 90 kHz media clock is, rounded up: [`media_ticks_of`] gives the tick back.
pub fn time_of_media_ticks(ticks: u64) -> Time {
    Time::from_nanos(saturate((u128::from(ticks) * 100_000).div_ceil(9)))
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grids_by_hand() {
        assert_eq!(time_of_ticks(1), Time::from_nanos(976_562));
        assert_eq!(time_of_ticks(2), Time::from_nanos(1_953_125));
        assert_eq!(time_of_ticks(1024), Time::from_nanos(1_000_000_000));
        assert_eq!(ticks_of(Time::from_nanos(488_281)), 0);
        assert_eq!(ticks_of(Time::from_nanos(488_282)), 1);
        assert_eq!(rts_of(Time::from_nanos(1_500_000_000)), 0x1_8000);
        assert_eq!(time_of_rts(0x1_8000), Time::from_nanos(1_500_000_000));
        assert_eq!(media_ticks_of(Time::from_nanos(1_000_000_000)), 90_000);
        assert_eq!(media_ticks_of(Time::from_nanos(11_111)), 0);
        assert_eq!(media_ticks_of(Time::from_nanos(11_112)), 1);
        assert_eq!(time_of_ticks(u64::MAX), Time::MAX);
        // u64::MAX ns is rounded to a tick without overflow.
        assert!(time_of_ticks(ticks_of(Time::MAX)) <= Time::MAX);
    }

    proptest! {
        #[test]
        fn a_tick_survives_its_nanosecond(tick in 0..1u64 << 44) {
            prop_assert_eq!(ticks_of(time_of_ticks(tick)), tick);
            prop_assert_eq!(time_of_rts(tick * RTS_PER_TICK), time_of_ticks(tick));
        }

        #[test]
        fn a_media_tick_survives_its_nanosecond(tick in 0..1u64 << 48) {
            prop_assert_eq!(media_ticks_of(time_of_media_ticks(tick)), tick);
        }

        #[test]
        fn the_nearest_tick_is_within_half_a_step(nanos in 0..1u64 << 60) {
            let back = time_of_ticks(ticks_of(Time::from_nanos(nanos))).as_nanos();
            prop_assert!(back.abs_diff(nanos) <= 488_282);
        }
    }
}
