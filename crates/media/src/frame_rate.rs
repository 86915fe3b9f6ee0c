//! Frame rates and the grid of capture times.
//!
//! Frame `n` is captured at start + floor(n / fps) in whole nanoseconds. The grid is advanced by a whole interval and a
//! carried remainder, which is the same number without a division per frame and never drifts.

use paceline_units::param::{Kind, Parameter, Value};
use paceline_units::{Bitrate, Time, TimeDelta};

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// The lowest and the highest number of frames per second that can be written.
pub(crate) const FPS_MIN: f64 = 0.001;
pub(crate) const FPS_MAX: f64 = 1e6;

/// An exact frame rate: `frames` per `seconds`, so that 29.97 and 30000/1001 both are what they say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRate {
    frames: u64,
    seconds: u64,
}

impl FrameRate {
    /// NTSC video: 30000 frames in 1001 seconds.
    pub const NTSC: FrameRate = FrameRate { frames: 30_000, seconds: 1_001 };
    /// Largest number of frames accepted by [`FrameRate::new`].
    pub const MAX_FRAMES: u64 = 1 << 40;
    /// Largest number of seconds accepted by [`FrameRate::new`].
    pub const MAX_SECONDS: u64 = 1 << 24;

    /// `fps` frames per second; 0 is taken as 1.
    pub const fn per_second(fps: u32) -> FrameRate {
        FrameRate { frames: if fps == 0 { 1 } else { fps as u64 }, seconds: 1 }
    }

    /// `frames` frames in `seconds` seconds. None if either is zero, or, in lowest terms, above
    /// [`FrameRate::MAX_FRAMES`] or [`FrameRate::MAX_SECONDS`].
    pub fn new(frames: u64, seconds: u64) -> Option<FrameRate> {
        if frames == 0 || seconds == 0 {
            return None;
        }
        let divisor = greatest_common_divisor(frames, seconds);
        let (frames, seconds) = (frames / divisor, seconds / divisor);
        (frames <= Self::MAX_FRAMES && seconds <= Self::MAX_SECONDS).then_some(FrameRate { frames, seconds })
    }

    /// The rate as written, to a thousandth of a frame: 29.97 is 2997/100. None outside 0.001 to a million, and for NaN.
    pub fn from_fps_f64(fps: f64) -> Option<FrameRate> {
        if !(FPS_MIN..=FPS_MAX).contains(&fps) {
            return None;
        }
        FrameRate::new((fps * 1_000.0 + 0.5) as u64, 1_000)
    }

    /// Frames per second.
    pub fn as_fps_f64(self) -> f64 {
        self.frames as f64 / self.seconds as f64
    }

    /// The rate of `bytes` in `count` frames, in whole bits per second.
    pub(crate) fn rate_of(self, bytes: u64, count: u64) -> Bitrate {
        let bits = u128::from(bytes) * 8;
        let rate = (bits * u128::from(self.frames)) / (u128::from(count.max(1)) * u128::from(self.seconds));
        Bitrate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Bits per frame at `rate`, as a whole number of bytes and the remainder in units of 1 / [`Self::carry_unit`] byte.
    pub(crate) fn bytes_per_frame(self, rate: Bitrate) -> (u64, u128) {
        let bits = u128::from(rate.as_bps()) * u128::from(self.seconds);
        let whole = bits / self.carry_unit();
        (u64::try_from(whole).unwrap_or(u64::MAX), bits % self.carry_unit())
    }

    /// Sum that a carry of [`Self::bytes_per_frame`] must reach to make a byte.
    pub(crate) fn carry_unit(self) -> u128 {
        8 * u128::from(self.frames)
    }
}

/// Written to a thousandth.
impl Parameter for FrameRate {
    const KIND: Kind = Kind::Ratio;

    fn to_value(&self) -> Option<Value> {
        Some(Value::Ratio(self.as_fps_f64()))
    }

    fn from_value(value: Value) -> Option<FrameRate> {
        if let Value::Ratio(fps) = value { FrameRate::from_fps_f64(fps) } else { None }
    }
}

/// Frames are captured together where there are so many at least: fewer cost as much one by one.
pub(crate) const SHORTEST_RUN: u64 = 4;

/// How many times `step` can be added to `carry` until it reaches `limit`, exclusive. As if there were none where there are
/// fewer than [`SHORTEST_RUN`].
#[inline]
pub(crate) fn steps(carry: u128, step: u128, limit: u128) -> u64 {
    if step == 0 {
        u64::MAX
    } else if carry + step * u128::from(SHORTEST_RUN) >= limit {
        0
    } else {
        ((limit - 1 - carry) / step) as u64
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The grid of capture times of one source.
#[derive(Clone, Debug)]
pub(crate) struct CaptureGrid {
    rate: FrameRate,
    /// Nanoseconds in an interval, and what is left over in units of 1 / `rate.frames` nanosecond.
    interval: u64,
    remainder: u64,
    carry: u64,
    due: Option<Time>,
    /// Frames that were taken.
    taken: u64,
}

impl CaptureGrid {
    pub(crate) fn new(rate: FrameRate) -> CaptureGrid {
        let nanos = u128::from(rate.seconds) * NANOS_PER_SEC;
        let frames = u128::from(rate.frames);
        CaptureGrid {
            rate,
            interval: (nanos / frames) as u64,
            remainder: (nanos % frames) as u64,
            carry: 0,
            due: None,
            taken: 0,
        }
    }

    pub(crate) fn rate(&self) -> FrameRate {
        self.rate
    }

    pub(crate) fn start(&mut self, at: Time) {
        self.carry = 0;
        self.due = Some(at);
    }

    pub(crate) fn stop(&mut self) {
        self.due = None;
    }

    #[inline]
    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Takes the frame that is due and moves on: its number and its time; none if stopped. A frame taken before it is due
    /// is captured `now`. The grid ends where time ends; a source that starts again counts on.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<(u64, Time)> {
        let due = self.due?;
        self.carry += self.remainder;
        let extra = u64::from(self.carry >= self.rate.frames);
        self.carry -= extra * self.rate.frames;
        self.due = due.as_nanos().checked_add(self.interval + extra).map(Time::from_nanos);
        let id = self.taken;
        self.taken += 1;
        Some((id, due.min(now)))
    }

    /// Takes frames that are due before `until`, each at its time, as far as they and the next one are at equal distances: when
    /// the first is due, the distance, and how many there are. Absent where they would be few, `most` at most.
    pub(crate) fn take_run(&mut self, until: Time, most: u64) -> Option<(Time, TimeDelta, u64)> {
        let first = self.due?;
        let even = most.min(steps(self.carry.into(), self.remainder.into(), self.rate.frames.into()));
        let ahead = until.saturating_since(first).as_nanos() as u64;
        if even < SHORTEST_RUN
            || self.interval == 0
            || ahead <= self.interval.saturating_mul(SHORTEST_RUN - 1)
        {
            return None;
        }
        let count = even.min(ahead.div_ceil(self.interval));
        let span = self.interval.checked_mul(count);
        self.carry += self.remainder * count;
        self.due = span.and_then(|span| first.as_nanos().checked_add(span)).map(Time::from_nanos);
        self.taken += count;
        Some((first, TimeDelta::from_nanos(self.interval as i64), count))
    }

    /// Moves the frame that is due, and all after it, by up to an interval. At least a nanosecond of the interval before it
    /// remains.
    #[inline]
    pub(crate) fn shift(&mut self, by: TimeDelta) {
        let earliest = 1 - i64::try_from(self.interval).unwrap_or(i64::MAX);
        self.due = self.due.map(|due| due + TimeDelta::from_nanos(by.as_nanos().max(earliest)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time_of_frame(rate: FrameRate, n: u64) -> Time {
        let mut grid = CaptureGrid::new(rate);
        grid.start(Time::from_nanos(7));
        for _ in 0..n {
            grid.take(Time::MAX);
        }
        grid.due().expect("running")
    }

    #[test]
    fn frame_times_never_drift() {
        let cases = [
            (FrameRate::per_second(50), 20_000_000_000_000),
            (FrameRate::per_second(30), 33_333_333_333_333),
            (FrameRate::from_fps_f64(29.97).expect("valid"), 33_366_700_033_366),
            (FrameRate::NTSC, 33_366_666_666_666),
        ];
        for (rate, expected) in cases {
            assert_eq!(time_of_frame(rate, 1_000_000), Time::from_nanos(7 + expected), "{rate:?}");
        }
    }

    #[test]
    fn rates_out_of_range_are_none() {
        for fps in [0.0, -1.0, 1e7, f64::NAN, f64::INFINITY, 0.0004] {
            assert_eq!(FrameRate::from_fps_f64(fps), None, "{fps}");
        }
        assert_eq!(FrameRate::new(0, 1), None);
        assert_eq!(FrameRate::new(1, 0), None);
        assert_eq!(FrameRate::new(u64::MAX, 1), None);
        assert_eq!(FrameRate::new(100, 4), Some(FrameRate::per_second(25)));
    }

    #[test]
    fn a_frame_fetched_late_keeps_its_time_and_none_is_captured_in_the_future() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut grid = CaptureGrid::new(FrameRate::per_second(50));
        grid.start(at(100));
        assert_eq!(grid.take(at(107)), Some((0, at(100))));
        assert_eq!(grid.take(at(113)), Some((1, at(113))));
        assert_eq!(grid.due(), Some(at(140)));
    }

    #[test]
    fn a_shift_moves_all_that_follows_and_never_back_to_the_frame_before() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut grid = CaptureGrid::new(FrameRate::per_second(50));
        grid.start(at(100));
        assert_eq!(grid.take(at(100)), Some((0, at(100))));
        grid.shift(TimeDelta::from_millis(-5));
        assert_eq!(grid.take(at(115)), Some((1, at(115))));
        assert_eq!(grid.due(), Some(at(135)));
        grid.shift(TimeDelta::from_millis(-20));
        assert_eq!(grid.due(), Some(at(115) + TimeDelta::from_nanos(1)));
        grid.stop();
        grid.shift(TimeDelta::from_millis(3));
        assert_eq!(grid.due(), None);
    }

    #[test]
    fn the_grid_ends_where_time_ends() {
        let mut grid = CaptureGrid::new(FrameRate::per_second(50));
        grid.start(Time::from_nanos(u64::MAX - 5));
        assert!(grid.take(Time::MAX).is_some());
        assert_eq!((grid.due(), grid.take(Time::MAX)), (None, None));
    }

    proptest! {
        #[test]
        fn frame_n_is_where_the_formula_puts_it(frames in 1u64..200_000, seconds in 1u64..2_000, n in 0u64..3_000) {
            let rate = FrameRate::new(frames, seconds).expect("small enough");
            let formula = u128::from(n) * u128::from(seconds) * NANOS_PER_SEC / u128::from(frames);
            prop_assert_eq!(time_of_frame(rate, n), Time::from_nanos(7 + formula as u64));
        }
    }
}
