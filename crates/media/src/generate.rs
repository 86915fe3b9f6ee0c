//! Frame sizes drawn at random, for who has no trace.
//!
//! A frame is the median size times exp(x), where x is a Gaussian AR(1) process: sizes are lognormal and each depends on
//! the one before. Two kinds of frames are larger: periodic key frames, and scene changes that come at random. The
//! median is chosen so that the expected mean is `mean`, before the clamp to [`min`, `max`].
//!
//! The defaults resemble `video_scream/trace_key.txt` (2387 frames at 50 fps: mean 25,888 B, which is 10.36 Mbit/s,
//! coefficient of variation 0.26, 1.2 to 69 kB, a key frame of about 66 kB every 120 frames, correlation of neighbours
//! -0.26 as a rate-controlled encoder makes it). They were fitted to that trace, not taken from a text.

use crate::parameter::in_range;
use crate::{FrameTrace, InvalidParameter, TraceFrame};
use paceline_units::{Bytes, RandomStream};

/// What the sizes are drawn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrameSizeParams {
    /// Expected mean payload of a frame; default 25,888 B (10.36 Mbit/s at 50 fps).
    pub mean: Bytes,
    /// Standard deviation of the logarithm of an ordinary frame's size; default 0.19.
    pub sigma: f64,
    /// Correlation of the logarithms of neighbouring frames, from -0.99 to 0.99; default -0.3.
    pub correlation: f64,
    /// Every this many frames comes a key frame, the first frame being one; default 120, 0: never.
    pub key_interval: u64,
    /// How much larger a key frame is; default 2.5.
    pub key_scale: f64,
    /// Probability that a frame is the first of a new scene; default 0.02.
    pub scene_change: f64,
    /// How much larger the first frame of a scene is; default 1.75.
    pub scene_scale: f64,
    /// Smallest frame; default 1,200 B.
    pub min: Bytes,
    /// Largest frame; default 69,000 B.
    pub max: Bytes,
}

impl Default for FrameSizeParams {
    fn default() -> Self {
        FrameSizeParams {
            mean: Bytes::new(25_888),
            sigma: 0.19,
            correlation: -0.3,
            key_interval: 120,
            key_scale: 2.5,
            scene_change: 0.02,
            scene_scale: 1.75,
            min: Bytes::new(1_200),
            max: Bytes::new(69_000),
        }
    }
}

impl FrameSizeParams {
    /// Says which value is out of range.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        let largest = f64::from(u32::MAX);
        in_range("mean", self.mean.as_f64(), (1.0, largest), "a size from 1 B to 4.29 GB")?;
        in_range("sigma", self.sigma, (0.0, 3.0), "a number from 0 to 3")?;
        in_range("correlation", self.correlation, (-0.99, 0.99), "a number from -0.99 to 0.99")?;
        in_range("key_scale", self.key_scale, (0.0, 100.0), "a factor from 0 to 100")?;
        in_range("scene_change", self.scene_change, (0.0, 1.0), "a probability from 0 to 1")?;
        in_range("scene_scale", self.scene_scale, (0.0, 100.0), "a factor from 0 to 100")?;
        in_range("min", self.min.as_f64(), (1.0, largest), "a size from 1 B to 4.29 GB")?;
        in_range("max", self.max.as_f64(), (self.min.as_f64(), largest), "a size from min to 4.29 GB")
    }

    /// The size x = 0 stands for.
    fn median(&self) -> f64 {
        let key = if self.key_interval == 0 { 0.0 } else { 1.0 / self.key_interval as f64 };
        let scene = self.scene_change * (1.0 - key);
        let scale = key * self.key_scale + scene * self.scene_scale + (1.0 - key - scene);
        self.mean.as_f64() / scale.max(1e-9) / libm::exp(0.5 * self.sigma * self.sigma)
    }
}

/// `count` frame sizes, at least one. The same seed gives the same sizes, and a longer trace starts with the shorter.
pub fn frame_sizes(
    seed: u64,
    count: usize,
    params: &FrameSizeParams,
) -> Result<FrameTrace, InvalidParameter> {
    params.validate()?;
    let mut random = RandomStream::new(seed, "media.frame_sizes");
    let (low, high) = (params.min.as_f64(), params.max.as_f64());
    let innovation = libm::sqrt(1.0 - params.correlation * params.correlation);
    let median = params.median();
    let mut x = random.normal();
    let mut frames = Vec::with_capacity(count.max(1));
    for index in 0..count.max(1) as u64 {
        let key = params.key_interval != 0 && index % params.key_interval == 0;
        let scene = random.chance(params.scene_change);
        let scale = match (key, scene) {
            (true, _) => params.key_scale,
            (false, true) => params.scene_scale,
            (false, false) => 1.0,
        };
        let bytes = (median * scale * libm::exp(params.sigma * x) + 0.5).clamp(low, high);
        frames.push(TraceFrame { bytes: bytes as u32, key });
        x = params.correlation * x + innovation * random.normal();
    }
    FrameTrace::new(&frames).ok_or(InvalidParameter {
        name: "min",
        found: params.min.as_u64().to_string(),
        expected: "a size from 1 B",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, coefficient of variation, correlation of neighbours.
    fn moments(trace: &FrameTrace) -> (f64, f64, f64) {
        let sizes: Vec<f64> = trace.frames().iter().map(|frame| f64::from(frame.bytes)).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let moment = |lag: usize| {
            let pairs = sizes.iter().zip(&sizes[lag..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (sizes.len() - lag) as f64
        };
        (mean, libm::sqrt(moment(0)) / mean, moment(1) / moment(0))
    }

    #[test]
    fn the_defaults_resemble_the_trace_of_the_scream_studies() {
        let trace = frame_sizes(1, 100_000, &FrameSizeParams::default()).expect("valid");
        let (mean, variation, correlation) = moments(&trace);
        assert!((25_600.0..26_200.0).contains(&mean), "{mean}");
        assert!((0.24..0.28).contains(&variation), "{variation}");
        assert!((-0.25..-0.08).contains(&correlation), "{correlation}");
        let keys: Vec<_> = trace.frames().iter().filter(|frame| frame.key).collect();
        assert_eq!(keys.len(), 834);
        let key_mean = keys.iter().map(|frame| f64::from(frame.bytes)).sum::<f64>() / keys.len() as f64;
        assert!((58_000.0..67_000.0).contains(&key_mean), "{key_mean}");
        assert!(trace.frames().iter().all(|frame| (1_200..=69_000).contains(&frame.bytes)));
    }

    #[test]
    fn correlation_and_mean_follow_their_parameters() {
        for correlation in [-0.6, 0.0, 0.9] {
            let params = FrameSizeParams {
                mean: Bytes::new(8_000),
                correlation,
                key_interval: 0,
                scene_change: 0.0,
                ..FrameSizeParams::default()
            };
            let (mean, variation, found) = moments(&frame_sizes(3, 100_000, &params).expect("valid"));
            assert!((7_900.0..8_100.0).contains(&mean), "{mean}");
            assert!((0.18..0.205).contains(&variation), "{variation}");
            assert!((found - correlation).abs() < 0.03, "{found}");
        }
    }

    #[test]
    fn the_seed_alone_decides_and_a_longer_trace_starts_with_the_shorter() {
        let sizes = |seed, count| frame_sizes(seed, count, &FrameSizeParams::default()).expect("valid");
        assert_eq!(sizes(1, 50).frames(), &sizes(1, 500).frames()[..50]);
        assert_ne!(sizes(1, 50), sizes(2, 50));
        assert_eq!(sizes(1, 0).frames().len(), 1);
    }

    #[test]
    fn values_out_of_range_are_named() {
        let default = FrameSizeParams::default;
        let cases = [
            (FrameSizeParams { mean: Bytes::ZERO, ..default() }, "mean"),
            (FrameSizeParams { sigma: f64::NAN, ..default() }, "sigma"),
            (FrameSizeParams { correlation: 1.0, ..default() }, "correlation"),
            (FrameSizeParams { scene_change: 1.1, ..default() }, "scene_change"),
            (FrameSizeParams { min: Bytes::ZERO, ..default() }, "min"),
            (FrameSizeParams { max: Bytes::new(5), ..default() }, "max"),
        ];
        for (params, name) in cases {
            assert_eq!(frame_sizes(1, 10, &params).expect_err(name).name, name);
        }
    }
}
