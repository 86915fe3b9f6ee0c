//! Frame sizes drawn at random, for who has no trace.
//!
//! A frame is the median size times exp(x), where x is a Gaussian AR(1) process: sizes are lognormal and each depends on
//! the one before. Two kinds of frames are larger: periodic key frames, and scene changes that come at random. The
//! median is chosen so that the expected mean is `mean`, before the clamp to [`min`, `max`].
//!
//! Further properties of recordings have parameters that are off by default: `sizes` in place of the lognormal
//! distribution, `correlation2` for an AR(2) process, `key_sigma` for key frames that vary less, and `after_key` for what
//! a rate control takes back after them. [`FRAME_PRESETS`] has them fitted.
//!
//! The defaults resemble `video_scream/trace_key.txt` (2387 frames at 50 fps: mean 25,888 B, which is 10.36 Mbit/s,
//! coefficient of variation 0.26, 1.2 to 69 kB, a key frame of about 66 kB every 120 frames, correlation of neighbours
//! -0.26 as a rate-controlled encoder makes it). They were fitted to that trace, not taken from a text.

mod presets;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
pub use presets::{FRAME_PRESETS, FramePreset, FramePresetName};

use crate::{FrameTrace, TraceFrame};
use paceline_units::param::{ParamError, ParamSet as _, Reason};
use paceline_units::{Bytes, RandomStream, params};

/// The largest frame, in bytes.
const LARGEST: f64 = u32::MAX as f64;
/// The most quantiles of sizes.
const MOST_SIZES: usize = 1001;
/// The most factors after a key frame.
const MOST_AFTER: usize = 100;

params! {
    /// Distribution of the sizes.
    pub struct FrameSizeParams {
        mean: Bytes = Bytes::new(25_888), in 1.0, LARGEST, "ours", "Expected mean payload of a frame";
        sigma: f64 = 0.19, in 0.0, 3.0, "ours", "Standard deviation of the logarithm of an ordinary frame's size";
        correlation: f64 = -0.3, in -0.99, 0.99, "ours", "Correlation of the logarithms of neighbouring frames";
        correlation2: Option<f64> = None, else "the square of `correlation`", in -1.0, 1.0, "docs/generators.md", "Correlation over two frames; above 2 `correlation`² - 1, below 1";
        sizes: Vec<f64> = Vec::new(), else "lognormal with `sigma`", in 0.0, 1e9, "docs/generators.md", "Quantiles of an ordinary frame's size, relative to each other, at even steps from the smallest to the largest: `[0.5, 1.0, 2.0]`. Excludes `sigma`, `scene_change` and `scene_scale`";
        key_interval: u64 = 120, in 0.0, f64::INFINITY, "ours", "Every this many frames comes a key frame, the first frame being one; 0: never";
        key_scale: f64 = 2.5, in 0.0, 100.0, "ours", "How much larger a key frame is";
        key_sigma: Option<f64> = None, else "as an ordinary frame", in 0.0, 3.0, "docs/generators.md", "Standard deviation of the logarithm of a key frame's size";
        after_key: Vec<f64> = Vec::new(), else "they are ordinary", in 0.0, 100.0, "docs/generators.md", "Factors on the frames behind a key frame: `[0.6, 0.8]`";
        scene_change: f64 = 0.02, in 0.0, 1.0, "ours", "Probability that a frame is the first of a new scene";
        scene_scale: f64 = 1.75, in 0.0, 100.0, "ours", "How much larger the first frame of a scene is";
        min: Bytes = Bytes::new(1_200), in 1.0, LARGEST, "ours", "Smallest frame";
        max: Bytes = Bytes::new(69_000), in 1.0, LARGEST, "ours", "Largest frame";
    }
    ordered min <= max;
    idle beside_sizes;
    check distribution;
}

/// A parameter of the lognormal distribution does nothing where `sizes` says how ordinary frames vary.
fn beside_sizes(params: &FrameSizeParams, name: &str) -> Option<Reason> {
    let is_lognormal = matches!(name, "sigma" | "scene_change" | "scene_scale");
    (is_lognormal && !params.sizes.is_empty()).then(|| {
        Reason::Useless(
            "nothing: `sizes`, of the scenario or its preset, says how ordinary frames vary".into(),
        )
    })
}

fn distribution(params: &FrameSizeParams) -> Result<(), ParamError> {
    let wrong =
        |name: &str, found: String, expected: &'static str| Err(ParamError::new(name, found, expected));
    let lowest = 2.0 * params.correlation * params.correlation - 1.0;
    if let Some(second) = params.correlation2.filter(|second| !(lowest < *second && *second < 1.0)) {
        return wrong("correlation2", second.to_string(), "a number above 2 correlation² - 1 and below 1");
    }
    if params.after_key.len() > MOST_AFTER {
        return wrong("after_key", format!("{} factors", params.after_key.len()), "at most 100 factors");
    }
    if params.sizes.len() > MOST_SIZES {
        return wrong("sizes", format!("{} sizes", params.sizes.len()), "at most 1001 sizes");
    }
    if let Some(pair) = params.sizes.windows(2).find(|pair| pair[0] > pair[1]) {
        return wrong("sizes", format!("{} before {}", pair[0], pair[1]), "sizes that do not fall");
    }
    if params.sizes.last() == Some(&0.0) {
        return wrong("sizes", "only zeros".into(), "a size above 0");
    }
    Ok(())
}

impl FrameSizeParams {
    /// The mean of `sizes`, or of exp(x).
    fn ordinary_mean(&self) -> f64 {
        match self.sizes.as_slice() {
            [] => libm::exp(0.5 * self.sigma * self.sigma),
            [only] => *only,
            sizes => {
                let inner: f64 = sizes.iter().sum();
                let ends = 0.5 * (sizes[0] + sizes[sizes.len() - 1]);
                (inner - ends) / (sizes.len() - 1) as f64
            }
        }
    }

    /// An ordinary frame's size in units of [`unit`](Self::unit), for a standard normal x.
    fn ordinary(&self, x: f64) -> f64 {
        if self.sizes.is_empty() {
            return libm::exp(self.sigma * x);
        }
        let place = 0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2) * (self.sizes.len() - 1) as f64;
        let below = place as usize;
        let low = self.sizes[below];
        let high = *self.sizes.get(below + 1).unwrap_or(&low);
        low + (high - low) * (place - below as f64)
    }

    /// A key frame's size without `key_scale`, likewise: its mean is that of an ordinary one.
    fn key(&self, x: f64) -> f64 {
        match self.key_sigma {
            None => self.ordinary(x),
            Some(sigma) => self.ordinary_mean() * libm::exp(sigma * x - 0.5 * sigma * sigma),
        }
    }

    /// The factor of `after_key` on the frame at `index`.
    fn after(&self, index: u64) -> f64 {
        let since = if self.key_interval == 0 { 0 } else { index % self.key_interval };
        let factor = since.checked_sub(1).and_then(|place| self.after_key.get(usize::try_from(place).ok()?));
        factor.copied().unwrap_or(1.0)
    }

    /// The bytes that a size of 1 stands for: where sizes are lognormal, the median.
    fn unit(&self) -> f64 {
        let key = if self.key_interval == 0 { 0.0 } else { 1.0 / self.key_interval as f64 };
        let scene = self.scene_change * (1.0 - key);
        let scale = key * self.key_scale + scene * self.scene_scale + (1.0 - key - scene);
        let others = if self.key_interval == 0 { 0.0 } else { (self.key_interval - 1) as f64 };
        let follow = self.after_key.iter().take(others as usize);
        let scale = scale + key * follow.map(|factor| factor - 1.0).sum::<f64>();
        self.mean.as_f64() / scale.max(1e-9) / self.ordinary_mean()
    }
}

/// `count` frame sizes, at least one. The same seed gives the same sizes, and a longer trace starts with the shorter.
///
/// # Errors
/// Says which parameter is out of range.
pub fn frame_sizes(seed: u64, count: usize, params: &FrameSizeParams) -> Result<FrameTrace, ParamError> {
    params.check()?;
    let mut random = RandomStream::new(seed, "media.frame_sizes");
    let (low, high) = (params.min.as_f64(), params.max.as_f64());
    let unit = params.unit();
    let mut process = Process::new(params, &mut random);
    let mut frames = Vec::with_capacity(count.max(1));
    for index in 0..count.max(1) as u64 {
        let key = params.key_interval != 0 && index % params.key_interval == 0;
        let scene = random.chance(params.scene_change);
        let scale = match (key, scene) {
            (true, _) => params.key_scale,
            (false, true) => params.scene_scale,
            (false, false) => 1.0,
        };
        let size = if key { params.key(process.x) } else { params.ordinary(process.x) };
        let bytes = (unit * scale * params.after(index) * size + 0.5).clamp(low, high);
        frames.push(TraceFrame { bytes: bytes as u32, key });
        process.step(&mut random);
    }
    FrameTrace::new(&frames).ok_or_else(|| ParamError::new("min", params.min.as_u64(), "a size from 1 B"))
}

/// A standard normal AR(1) or AR(2) process.
struct Process {
    x: f64,
    /// The value before `x`; none: `x` is the first one.
    before: Option<f64>,
    correlation: f64,
    /// Weight of the value before `x`, and of it where there are two.
    weights: [f64; 2],
    innovation: f64,
}

impl Process {
    fn new(params: &FrameSizeParams, random: &mut RandomStream) -> Process {
        let first = params.correlation;
        // Yule-Walker: the weights from the correlations over one and two steps.
        let weights = params.correlation2.map_or([first, 0.0], |second| {
            let rest = 1.0 - first * first;
            [first * (1.0 - second) / rest, (second - first * first) / rest]
        });
        let second = params.correlation2.unwrap_or(0.0);
        let innovation = libm::sqrt((1.0 - weights[0] * first - weights[1] * second).max(0.0));
        Process { x: random.normal(), before: None, correlation: first, weights, innovation }
    }

    fn step(&mut self, random: &mut RandomStream) {
        let noise = random.normal();
        let next = match self.before {
            Some(before) => self.weights[0] * self.x + self.weights[1] * before + self.innovation * noise,
            None => self.correlation * self.x + libm::sqrt(1.0 - self.correlation * self.correlation) * noise,
        };
        self.before = Some(self.x);
        self.x = next;
    }
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
