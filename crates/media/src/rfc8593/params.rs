//! What the models are made of: the names and values of RFC 8593, figure 2 and section 6.2.

use crate::parameter::in_range;
use crate::{FrameRate, InvalidParameter};
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// What a [`VideoModel`](super::VideoModel) is made of, beside its ladder. A model uses those that its part of the RFC
/// names; all are checked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VideoModelParams {
    /// FPS, frames per second; default 30 (figure 2). Its inverse is the reference interval t0.
    pub fps: FrameRate,
    /// tau_v, how long the encoder stays with a target that it took up (section 5.1), from 0 to 60 s; default 0.2 s.
    pub tau_v: TimeDelta,
    /// K_d, frames of a burst (section 5.2), from 1 to 10,000; default 8.
    pub k_d: u32,
    /// K_B, size of the burst's first frame (section 5.2), from 1 B to 4.29 GB; default 13,500 B.
    pub k_b: Bytes,
    /// SCALE_t, scale of the Laplace distribution of (t - t0) / t0 (section 5.3), from 0 to 1; default 0.15.
    pub scale_t: f64,
    /// SCALE_B, scale of the Laplace distribution of (B - B0) / B0 (section 5.3), from 0 to 1; default 0.15.
    pub scale_b: f64,
    /// R_min, the target is never taken to be below (section 5.4); default 150 kbit/s.
    pub r_min: Bitrate,
    /// R_max, the target is never taken to be above (section 5.4), 1 bit/s or more; default 1.5 Mbit/s.
    pub r_max: Bitrate,
    /// How much of the target before it a change must exceed to be a substantial one, which makes a burst, from 0 to
    /// 100; default 0.1 (section 7's example).
    pub transient_change: f64,
    /// SkipFrames, frames at the ladder's beginning that are not played again (section 6.2.1), below its length;
    /// default 20.
    pub skip_frames: u64,
    /// fs_min, smallest frame taken from the ladder (section 6.2.1), from 1 B; default 10 B.
    pub fs_min: Bytes,
    /// fs_max, largest frame taken from the ladder (section 6.2.1), to 4.29 GB; default 1 MB.
    pub fs_max: Bytes,
    /// Payload rate until the first target arrives; default 1 Mbit/s (figure 2).
    pub target_start: Bitrate,
    /// Seed of the deviations; default 1. The same seed gives the same deviations.
    pub seed: u64,
}

impl Default for VideoModelParams {
    fn default() -> Self {
        VideoModelParams {
            fps: FrameRate::per_second(30),
            tau_v: TimeDelta::from_millis(200),
            k_d: 8,
            k_b: Bytes::new(13_500),
            scale_t: 0.15,
            scale_b: 0.15,
            r_min: Bitrate::from_kbps(150),
            r_max: Bitrate::from_kbps(1_500),
            transient_change: 0.1,
            skip_frames: 20,
            fs_min: Bytes::new(10),
            fs_max: Bytes::new(1_000_000),
            target_start: Bitrate::from_mbps(1),
            seed: 1,
        }
    }
}

impl VideoModelParams {
    /// Says which value is out of range.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        const SIZE: &str = "a size from 1 B to 4.29 GB";
        let largest = f64::from(u32::MAX);
        in_range("tau_v", self.tau_v.as_secs_f64(), (0.0, 60.0), "a time from 0 s to 60 s")?;
        in_range("k_d", f64::from(self.k_d), (1.0, 10_000.0), "a whole number from 1 to 10000")?;
        in_range("k_b", self.k_b.as_f64(), (1.0, largest), SIZE)?;
        in_range("scale_t", self.scale_t, (0.0, 1.0), "a number from 0 to 1")?;
        in_range("scale_b", self.scale_b, (0.0, 1.0), "a number from 0 to 1")?;
        in_range("r_max", self.r_max.as_bps_f64(), (1.0, f64::INFINITY), "a rate from 1 bps")?;
        in_range("r_min", self.r_min.as_bps_f64(), (0.0, self.r_max.as_bps_f64()), "a rate up to r_max")?;
        in_range("transient_change", self.transient_change, (0.0, 100.0), "a ratio from 0 to 100")?;
        in_range("fs_min", self.fs_min.as_f64(), (1.0, largest), SIZE)?;
        in_range(
            "fs_max",
            self.fs_max.as_f64(),
            (self.fs_min.as_f64(), largest),
            "a size from fs_min to 4.29 GB",
        )
    }
}
