//! The machine's monotonic clock, and the driver's time that is counted on it.
//!
//! Processes on one machine share `CLOCK_MONOTONIC`, but each driver has its own zero. Between them goes a [`Moment`] therefore; the state
//! machines see a [`Time`].

use paceline_units::{Time, TimeDelta};
use rustix::time::{ClockId, clock_gettime};

/// A point on `CLOCK_MONOTONIC`: nanoseconds since the machine started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The present time of the monotonic clock.
    pub fn now() -> Moment {
        Moment(read(ClockId::Monotonic))
    }

    /// The point `nanos` nanoseconds after the machine's start.
    pub fn from_nanos(nanos: u64) -> Moment {
        Moment(nanos)
    }

    /// Nanoseconds since the machine's start.
    pub fn as_nanos(self) -> u64 {
        self.0
    }

    /// Signed span since `earlier`.
    pub fn since(self, earlier: Moment) -> TimeDelta {
        Time::from_nanos(self.0) - Time::from_nanos(earlier.0)
    }

    /// This much later; never before the machine's start.
    pub fn plus(self, span: TimeDelta) -> Moment {
        Moment(self.0.saturating_add_signed(span.as_nanos()))
    }
}

/// Nanoseconds that a clock of the machine shows.
#[expect(clippy::disallowed_methods, reason = "the only place where the network world reads a clock")]
fn read(clock: ClockId) -> u64 {
    let shown = clock_gettime(clock);
    shown.tv_sec as u64 * 1_000_000_000 + shown.tv_nsec as u64
}

/// How long this thread has been on a processor.
pub(crate) fn time_on_processor() -> TimeDelta {
    TimeDelta::from_nanos(read(ClockId::ThreadCPUTime) as i64)
}

/// Nanoseconds since the beginning of 1970, by the wall's clock.
pub(crate) fn nanos_since_1970() -> u64 {
    read(ClockId::Realtime)
}

/// The wall's clock as NTP writes it: seconds since 1900, and their fraction in the lower 32 bits (RFC 3550 section 4).
pub(crate) fn ntp_now() -> u64 {
    const SECONDS_TO_1970: u64 = 2_208_988_800;
    let (seconds, nanos) = (nanos_since_1970() / 1_000_000_000, nanos_since_1970() % 1_000_000_000);
    (seconds.wrapping_add(SECONDS_TO_1970) << 32) | ((nanos << 32) / 1_000_000_000)
}

/// A driver's clock: counts from the driver's zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverClock {
    zero: Moment,
}

impl DriverClock {
    /// A clock whose zero is `zero`.
    pub fn from_zero(zero: Moment) -> DriverClock {
        DriverClock { zero }
    }

    /// A clock that shows `start` at `moment`.
    pub fn with_start(moment: Moment, start: Time) -> DriverClock {
        DriverClock { zero: moment.plus(Time::ZERO - start) }
    }

    /// When it shows zero.
    pub fn zero(self) -> Moment {
        self.zero
    }

    /// Now; zero before its zero.
    pub fn now(self) -> Time {
        self.time_of(Moment::now())
    }

    /// This clock's time at `moment`; zero before its zero.
    pub fn time_of(self, moment: Moment) -> Time {
        Time::from_nanos(moment.0.saturating_sub(self.zero.0))
    }

    /// When this clock shows `time`.
    pub fn moment_of(self, time: Time) -> Moment {
        Moment(self.zero.0.saturating_add(time.as_nanos()))
    }
}

/// Reads the kernel's receive timestamps, which are on the wall's clock, as moments.
///
/// Both clocks are read once per batch: a step of the wall's clock spoils one batch at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampReader {
    now: Moment,
    wall: u64,
}

impl StampReader {
    /// Ready for what was received up to now.
    pub fn now() -> StampReader {
        let wall = nanos_since_1970();
        StampReader { now: Moment::now(), wall }
    }

    /// When a datagram arrived that the kernel stamped `stamp` nanoseconds after 1970; now if it did not stamp it, or if
    /// the stamp is in the future or older than a second (the wall's clock was set meanwhile).
    pub fn moment_of(self, stamp: Option<u64>) -> Moment {
        const OLDEST: u64 = 1_000_000_000;
        let age = stamp.and_then(|stamp| self.wall.checked_sub(stamp)).filter(|age| *age <= OLDEST);
        Moment(self.now.0.saturating_sub(age.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_times_are_inverse_and_never_before_zero() {
        let clock = DriverClock::from_zero(Moment::from_nanos(1_000));
        assert_eq!(clock.time_of(Moment::from_nanos(1_007)), Time::from_nanos(7));
        assert_eq!(clock.moment_of(Time::from_nanos(7)), Moment::from_nanos(1_007));
        assert_eq!(clock.time_of(Moment::from_nanos(3)), Time::ZERO);
        let later = DriverClock::with_start(Moment::from_nanos(9_000), Time::from_nanos(8_000));
        assert_eq!(later.time_of(Moment::from_nanos(1_007)), Time::from_nanos(7));
        assert_eq!(Moment::from_nanos(3).since(Moment::from_nanos(5)), TimeDelta::from_nanos(-2));
        assert!(Moment::now() <= Moment::now());
    }

    #[test]
    fn a_stamp_is_as_old_as_the_walls_clock_says_unless_that_jumped() {
        let reader = StampReader { now: Moment::from_nanos(5_000_000_000), wall: 90_000_000_000 };
        let at = |stamp| reader.moment_of(stamp).as_nanos();
        assert_eq!(at(Some(89_999_999_000)), 4_999_999_000);
        assert_eq!(at(None), 5_000_000_000);
        assert_eq!(at(Some(90_000_000_001)), 5_000_000_000);
        assert_eq!(at(Some(0)), 5_000_000_000);
    }
}
