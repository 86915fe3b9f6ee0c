//! Configuration of the models: the names and values of RFC 8593, figure 2 and section 6.2.

use crate::FrameRate;
use crate::frame_rate::{FPS_MAX, FPS_MIN};
use paceline_units::{Bitrate, Bytes, TimeDelta, params};

/// The largest frame, in bytes.
const LARGEST: f64 = u32::MAX as f64;

params! {
    /// Configuration of a [`VideoModel`](super::VideoModel), beside its ladder. A model uses those that its part of the RFC
    /// names; all are checked.
    #[derive(Copy)]
    pub struct VideoModelParams {
        {
            /// Payload rate until the first target arrives; default 1 Mbit/s (figure 2).
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(30), in FPS_MIN, FPS_MAX, "RFC 8593 figure 2", "FPS, frames per second";
        r_min: Option<Bitrate> = Some(Bitrate::from_kbps(150)), else "150kbps for statistical, else no limit", in 0.0, f64::INFINITY, "RFC 8593 5.4", "The target is never taken to be below";
        r_max: Option<Bitrate> = Some(Bitrate::from_kbps(1_500)), else "1.5Mbps for statistical, else no limit", in 1.0, f64::INFINITY, "RFC 8593 5.4", "The target is never taken to be above";
        tau_v: TimeDelta = TimeDelta::from_millis(200), in 0.0, 60.0, "RFC 8593 5.1", "Not trace: how long the encoder stays with a target";
        k_d: u32 = 8, in 1.0, 10_000.0, "RFC 8593 5.2", "Not trace: frames of a burst";
        k_b: Bytes = Bytes::new(13_500), in 1.0, LARGEST, "RFC 8593 5.2", "Not trace: size of the burst's first frame";
        scale_t: f64 = 0.15, in 0.0, 1.0, "RFC 8593 5.3", "Not trace: scale of the frame intervals' Laplace deviations";
        scale_b: f64 = 0.15, in 0.0, 1.0, "RFC 8593 5.3", "Statistical: scale of the frame sizes' Laplace deviations";
        transient_change: f64 = 0.1, in 0.0, 100.0, "RFC 8593 7", "Not trace: a larger change of the target makes a burst";
        seed: Option<u64> = None, else "the run's, by the stream's name", in 0.0, f64::INFINITY, "", "Not trace: seed of the deviations";
        skip_frames: u64 = 20, in 0.0, 1e7, "RFC 8593 6.2.1", "Not statistical: first frames that are played once; 0: all are played again";
        fs_min: Bytes = Bytes::new(10), in 1.0, LARGEST, "RFC 8593 6.2.1", "Not statistical: smallest frame of the ladder";
        fs_max: Bytes = Bytes::new(1_000_000), in 1.0, LARGEST, "RFC 8593 6.2.1", "Not statistical: largest frame of the ladder";
    }
    ordered r_min <= r_max, fs_min <= fs_max;
}

impl VideoModelParams {
    /// R_min and R_max, where nothing is said the widest there are.
    pub(super) fn limits(&self) -> (Bitrate, Bitrate) {
        (self.r_min.unwrap_or(Bitrate::ZERO), self.r_max.unwrap_or(Bitrate::MAX))
    }
}
