//! The trace-driven encoder of the SCReAM studies.
//!
//! Equations 1 to 3 of "SCReAM in emulated 5G" (2022), applied in their order to each trace frame:
//!
//! ```text
//! scale   = target / nominal                                      (1)
//! bytes   = trace frame x scale                                   (2)
//! nominal = 0.95 nominal + 0.05 x trace frame x fps x 8           (3)
//! ```
//!
//! `nominal` is the trace's own short-term rate, so a frame is scaled by the frames **before** it: a large frame stays
//! large, and the long-run payload rate is the target. The paper does not say where `nominal` starts; here it starts at
//! the trace's mean rate unless `nominal_start` says otherwise.

use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN};
use crate::source::MediaSource;
use crate::{Frame, FrameRate, FrameTrace};
use paceline_units::param::{ParamError, ParamSet as _};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta, params};

params! {
    /// Configuration of a [`TraceEncoder`], beside its trace.
    #[derive(Copy)]
    pub struct TraceEncoderParams {
        {
            /// Payload rate until the first target arrives; default 1 Mbit/s (Table I: start bitrate).
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(50), in FPS_MIN, FPS_MAX, "scream-5g-2022 IV", "Frames per second";
        offset: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "Where in the trace the run starts, rounded down to a frame and taken around the trace";
        // The traces know no sizes of key frames on demand, so that by default nothing changes but the mark, as in the
        // reference simulator. The first frame is marked key too, but never scaled.
        key_frame_scale: f64 = 1.0, in 0.0, 100.0, "ours", "How much larger a key frame on demand is than the trace frame in its place";
        nominal_gain: f64 = 0.05, in 0.0, 1.0, "scream-5g-2022 eq. 3", "Weight of the newest trace frame in the trace's short-term rate";
        nominal_start: Option<Bitrate> = None, else "at its mean", in 1.0, 1e12, "ours", "Where the trace's short-term rate starts";
    }
}

/// An encoder whose frame sizes follow a looped trace, scaled to the target.
#[derive(Clone, Debug)]
pub struct TraceEncoder {
    trace: FrameTrace,
    grid: CaptureGrid,
    params: TraceEncoderParams,
    target: f64,
    nominal: f64,
    /// Bits per second that a frame of one byte stands for.
    rate_per_byte: f64,
    position: usize,
    key_requested: bool,
}

impl TraceEncoder {
    /// An encoder at rest.
    ///
    /// # Errors
    /// Says which parameter is out of range.
    pub fn new(trace: FrameTrace, params: TraceEncoderParams) -> Result<TraceEncoder, ParamError> {
        params.check()?;
        let start = (params.offset.as_secs_f64() * params.fps.as_fps_f64()) as u64;
        let nominal = params.nominal_start.unwrap_or_else(|| trace.mean_rate(params.fps));
        Ok(TraceEncoder {
            grid: CaptureGrid::new(params.fps),
            target: params.target_start.as_bps_f64(),
            nominal: nominal.as_bps_f64(),
            rate_per_byte: 8.0 * params.fps.as_fps_f64(),
            position: (start % trace.frames().len() as u64) as usize,
            key_requested: false,
            trace,
            params,
        })
    }

    /// The frames that it follows.
    pub fn trace(&self) -> &FrameTrace {
        &self.trace
    }

    /// The encoder's present target (payload).
    pub fn target(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.target)
    }

    /// The trace's own short-term rate, `nominal` of equation 3.
    pub fn nominal(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.nominal)
    }

    /// Equations 1 and 2. A frame has at least one byte, but with a target of zero the encoder skips it.
    fn scaled(&self, traced: f64) -> Bytes {
        if self.target == 0.0 {
            return Bytes::ZERO;
        }
        // A long run of empty frames must not make `nominal` so small that the next frame knows no bounds.
        let scale = self.target / self.nominal.max(1.0);
        let key_scale = if self.key_requested { self.params.key_frame_scale } else { 1.0 };
        let bytes = (traced * scale * key_scale + 0.5).clamp(1.0, f64::from(u32::MAX));
        Bytes::new(bytes as u64)
    }
}

impl MediaSource for TraceEncoder {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.grid.take(now)?;
        let traced = self.trace.frames()[self.position];
        self.position = if self.position + 1 == self.trace.frames().len() { 0 } else { self.position + 1 };

        let payload = self.scaled(f64::from(traced.bytes));
        self.nominal = (1.0 - self.params.nominal_gain) * self.nominal
            + self.params.nominal_gain * f64::from(traced.bytes) * self.rate_per_byte;

        let key = core::mem::take(&mut self.key_requested) || traced.key || id == 0;
        Some(Frame { id, captured, payload, key })
    }

    fn follows_target(&self) -> bool {
        true
    }

    fn set_target(&mut self, _now: Time, target: Bitrate) {
        self.target = target.as_bps_f64();
    }

    fn request_key_frame(&mut self, _now: Time) {
        self.key_requested = true;
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
    use crate::{FrameSizeParams, TraceFrame, frame_sizes};

    fn trace(sizes: &[u32]) -> FrameTrace {
        let frames: Vec<_> = sizes.iter().map(|&bytes| TraceFrame { bytes, key: false }).collect();
        FrameTrace::new(&frames).expect("not empty")
    }

    fn encoder(trace: FrameTrace, params: TraceEncoderParams) -> TraceEncoder {
        let mut encoder = TraceEncoder::new(trace, params).expect("valid");
        encoder.start(Time::ZERO);
        encoder
    }

    fn payloads(encoder: &mut TraceEncoder, count: usize) -> Vec<u64> {
        (0..count).map(|_| encoder.capture(Time::MAX).expect("running").payload.as_u64()).collect()
    }

    /// Equations 1 to 3 by hand: 50 fps, so that 25 kB stand for 10 Mbit/s.
    #[test]
    fn the_nominal_rate_is_updated_after_the_frame_it_scales() {
        let params = TraceEncoderParams {
            target_start: Bitrate::from_mbps(5),
            nominal_start: Some(Bitrate::from_mbps(10)),
            ..TraceEncoderParams::default()
        };
        let mut encoder = encoder(trace(&[25_000, 50_000, 25_000]), params);
        // 10 Mbit/s; 0.95 x 10 + 0.05 x 10 = 10; 0.95 x 10 + 0.05 x 20 = 10.5.
        assert_eq!(payloads(&mut encoder, 3), [12_500, 25_000, 11_905]);
        assert_eq!(encoder.nominal(), Bitrate::from_bps(10_475_000));
        // The fourth frame is the first again.
        assert_eq!(payloads(&mut encoder, 1), [11_933]);
    }

    #[test]
    fn nominal_starts_at_the_mean_of_the_trace() {
        let encoder = encoder(trace(&[10_000, 30_000]), TraceEncoderParams::default());
        assert_eq!(encoder.nominal(), Bitrate::from_mbps(8));
        assert_eq!(encoder.target(), Bitrate::from_mbps(1));
    }

    #[test]
    fn five_fold_target_makes_five_fold_frames() {
        let sizes = frame_sizes(1, 2000, &FrameSizeParams::default()).expect("valid");
        let at = |mbps| {
            let mut encoder = encoder(sizes.clone(), TraceEncoderParams::default());
            encoder.set_target(Time::ZERO, Bitrate::from_mbps(mbps));
            payloads(&mut encoder, 2000)
        };
        for (small, large) in at(20).into_iter().zip(at(100)) {
            assert!(large.abs_diff(5 * small) <= 3, "{small} {large}");
        }
    }

    #[test]
    fn the_long_run_rate_is_the_target() {
        let sizes = frame_sizes(2, 2387, &FrameSizeParams::default()).expect("valid");
        for mbps in [1, 10, 100] {
            let mut encoder = encoder(sizes.clone(), TraceEncoderParams::default());
            encoder.set_target(Time::ZERO, Bitrate::from_mbps(mbps));
            let total: u64 = payloads(&mut encoder, 23_870).iter().sum();
            let ratio = total as f64 * 8.0 * 50.0 / 23_870.0 / (mbps as f64 * 1e6);
            assert!((0.99..1.01).contains(&ratio), "{mbps} Mbps: {ratio}");
        }
    }

    #[test]
    fn the_place_to_start_is_taken_around_the_trace() {
        let offset = TimeDelta::from_millis(5 * 20);
        let params = TraceEncoderParams { offset, nominal_gain: 0.0, ..TraceEncoderParams::default() };
        let mut encoder = encoder(trace(&[1_000, 2_000, 3_000]), params);
        encoder.set_target(Time::ZERO, Bitrate::from_bps(2_000 * 8 * 50));
        assert_eq!(payloads(&mut encoder, 4), [3_000, 1_000, 2_000, 3_000]);
    }

    #[test]
    fn a_key_frame_is_made_once_per_wish_and_scaled_only_if_told() {
        for (key_frame_scale, expected) in [(1.0, 2_000), (3.0, 6_000)] {
            let params = TraceEncoderParams { key_frame_scale, ..TraceEncoderParams::default() };
            let mut encoder = encoder(trace(&[2_000]), params);
            encoder.set_target(Time::ZERO, Bitrate::from_bps(2_000 * 8 * 50));
            let first = encoder.capture(Time::MAX).expect("running");
            assert_eq!((first.key, first.payload), (true, Bytes::new(2_000)));
            assert!(!encoder.capture(Time::MAX).expect("running").key);
            encoder.request_key_frame(Time::ZERO);
            encoder.request_key_frame(Time::ZERO);
            let key = encoder.capture(Time::MAX).expect("running");
            assert_eq!((key.key, key.payload), (true, Bytes::new(expected)));
            let next = encoder.capture(Time::MAX).expect("running");
            assert_eq!((next.key, next.payload), (false, Bytes::new(2_000)));
        }
    }

    #[test]
    fn extreme_targets_and_traces_stay_within_bounds() {
        let mut encoder = encoder(trace(&[0, 0, 0, u32::MAX]), TraceEncoderParams::default());
        for target in [Bitrate::MAX, Bitrate::ZERO, Bitrate::from_bps(1)] {
            encoder.set_target(Time::ZERO, target);
            for bytes in payloads(&mut encoder, 10_000) {
                let bounds = if target == Bitrate::ZERO { 0..=0 } else { 1..=u64::from(u32::MAX) };
                assert!(bounds.contains(&bytes), "{bytes} at {target:?}");
            }
        }
    }

    #[test]
    fn values_out_of_range_are_named() {
        let default = TraceEncoderParams::default;
        let cases = [
            (TraceEncoderParams { nominal_gain: 1.5, ..default() }, "nominal_gain"),
            (TraceEncoderParams { nominal_gain: f64::NAN, ..default() }, "nominal_gain"),
            (TraceEncoderParams { key_frame_scale: -1.0, ..default() }, "key_frame_scale"),
            (TraceEncoderParams { nominal_start: Some(Bitrate::ZERO), ..default() }, "nominal_start"),
        ];
        for (params, name) in cases {
            let error = TraceEncoder::new(trace(&[1]), params).expect_err(name);
            assert_eq!(error.name, name);
            assert!(error.to_string().starts_with(&format!("{name}: found ")), "{error}");
        }
    }
}
