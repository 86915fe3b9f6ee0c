//! Constant bit rate: frames of one size at one rate.
//!
//! The background traffic of RFC 8867, an audio stream, or with `adaptive` the ideal encoder: every frame exactly its
//! share of the target.

use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN, SHORTEST_RUN, steps};
use crate::source::MediaSource;
use crate::{Frame, FrameRate, FrameRun};
use paceline_units::{Bitrate, Bytes, Time, params};

/// Frames per second unless told otherwise.
const USUAL_FPS: FrameRate = FrameRate::per_second(50);

params! {
    /// Configuration of a [`Cbr`] source.
    #[derive(Copy, Eq)]
    pub struct CbrParams {
        rate: Bitrate = Bitrate::from_mbps(1), in 1.0, f64::INFINITY, "RFC 8867", "Payload rate";
        fps: Option<FrameRate> = Some(USUAL_FPS), else "50; over udp as many as there are full packets", in FPS_MIN, FPS_MAX, "scream-5g-2022 IV", "Frames per second";
        adaptive: bool = false, "ours", "Whether the rate follows the target";
    }
}

impl CbrParams {
    /// Packets of `payload` at `rate`: as many frames per second as that makes. None if there are none, or too many
    /// (see [`FrameRate::new`]).
    pub fn packets(rate: Bitrate, payload: Bytes) -> Option<CbrParams> {
        let fps = FrameRate::new(rate.as_bps(), payload.as_u64().checked_mul(8)?)?;
        Some(CbrParams { rate, fps: Some(fps), adaptive: false })
    }
}

/// A source of constant bit rate. The bits that a whole number of bytes leaves over are carried to the next frame, so
/// that the long-run rate is exact.
#[derive(Clone, Debug)]
pub struct Cbr {
    adaptive: bool,
    grid: CaptureGrid,
    bytes: u64,
    remainder: u128,
    carry: u128,
    unit: u128,
}

impl Cbr {
    /// A source at rest.
    pub fn new(params: CbrParams) -> Cbr {
        let fps = params.fps.unwrap_or(USUAL_FPS);
        let (bytes, remainder) = fps.bytes_per_frame(params.rate);
        Cbr {
            adaptive: params.adaptive,
            grid: CaptureGrid::new(fps),
            bytes,
            remainder,
            carry: 0,
            unit: fps.carry_unit(),
        }
    }
}

impl MediaSource for Cbr {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.grid.take(now)?;
        self.carry += self.remainder;
        let extra = self.carry >= self.unit;
        if extra {
            self.carry -= self.unit;
        }
        let payload = Bytes::new(self.bytes) + Bytes::new(u64::from(extra));
        Some(Frame { id, captured, payload, key: id == 0 })
    }

    fn capture_run(&mut self, until: Time, largest: Bytes) -> Option<FrameRun> {
        let (before, payload) = (self.carry, Bytes::new(self.bytes));
        // In a run no frame is a byte larger than the others.
        let most = steps(before, self.remainder, self.unit);
        if payload == Bytes::ZERO || payload > largest || most < SHORTEST_RUN {
            return None;
        }
        let (first, gap, count) = self.grid.take_run(until, most)?;
        self.carry = before + u128::from(count) * self.remainder;
        Some(FrameRun { first, gap, count, payload })
    }

    fn follows_target(&self) -> bool {
        self.adaptive
    }

    fn set_target(&mut self, _now: Time, target: Bitrate) {
        if self.adaptive {
            (self.bytes, self.remainder) = self.grid.rate().bytes_per_frame(target);
        }
    }

    fn start(&mut self, at: Time) {
        self.grid.start(at);
    }

    fn stop(&mut self) {
        self.grid.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(cbr: &mut Cbr, frames: u64) -> u64 {
        (0..frames).filter_map(|_| cbr.capture(Time::MAX)).map(|frame| frame.payload.as_u64()).sum()
    }

    #[test]
    fn packets_of_a_size_leave_at_that_size() {
        let params = CbrParams::packets(Bitrate::from_mbps(5), Bytes::new(1200)).expect("valid");
        let mut cbr = Cbr::new(params);
        cbr.start(Time::ZERO);
        for n in 0..1000u64 {
            let frame = cbr.capture(Time::MAX).expect("running");
            assert_eq!(frame.payload, Bytes::new(1200));
            assert_eq!(frame.captured, Time::from_nanos(n * 1_920_000));
        }
        assert_eq!(CbrParams::packets(Bitrate::ZERO, Bytes::new(1200)), None);
        assert_eq!(CbrParams::packets(Bitrate::MAX, Bytes::ZERO), None);
    }

    #[test]
    fn only_an_adaptive_source_follows_the_target() {
        for (adaptive, expected) in [(false, 2500), (true, 10_000)] {
            let mut cbr = Cbr::new(CbrParams { adaptive, ..CbrParams::default() });
            cbr.start(Time::ZERO);
            cbr.set_target(Time::ZERO, Bitrate::from_mbps(4));
            assert_eq!(total(&mut cbr, 1), expected);
        }
    }

    proptest! {
        #[test]
        fn frames_captured_in_runs_are_those_captured_one_by_one(
            rate in prop_oneof![0u64..1_000_000_000, (1u64..1000).prop_map(|mbps| mbps * 1_000_000)],
            frames in prop_oneof![1u64..2_000, Just(100), Just(6250)],
            seconds in 1u64..5,
            windows in proptest::collection::vec((0u64..100_000_000, 0u64..100_000), 1..20),
        ) {
            let fps = FrameRate::new(frames, seconds).expect("small enough");
            let mut singly = Cbr::new(CbrParams { rate: Bitrate::from_bps(rate), fps: Some(fps), adaptive: false });
            singly.start(Time::from_nanos(7));
            let (mut in_runs, mut now) = (singly.clone(), Time::ZERO);
            for (nanos, largest) in windows {
                now = Time::from_nanos(now.as_nanos() + nanos);
                while let Some(run) = in_runs.capture_run(now, Bytes::new(largest)) {
                    prop_assert!(run.last() < now && run.payload <= Bytes::new(largest));
                    for place in 0..run.count {
                        let (at, payload) = (run.first + run.gap * place as i64, run.payload);
                        let frame = singly.capture(at).expect("running");
                        prop_assert_eq!((frame.captured, frame.payload), (at, payload));
                    }
                }
                while let Some(due) = in_runs.next_capture().filter(|due| *due < now) {
                    prop_assert_eq!(in_runs.capture(due), singly.capture(due));
                }
                prop_assert_eq!(format!("{in_runs:?}"), format!("{singly:?}"));
            }
        }

        #[test]
        fn the_rate_is_exact(rate in 0u64..1_000_000_000, frames in 1u64..500, seconds in 1u64..20, n in 1u64..500) {
            let fps = FrameRate::new(frames, seconds).expect("small enough");
            let mut cbr = Cbr::new(CbrParams { rate: Bitrate::from_bps(rate), fps: Some(fps), adaptive: false });
            cbr.start(Time::ZERO);
            let expected = u128::from(n) * u128::from(rate) * u128::from(seconds) / (8 * u128::from(frames));
            prop_assert_eq!(u128::from(total(&mut cbr, n)), expected);
        }
    }
}
