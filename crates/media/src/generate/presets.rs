//! Frame sizes that were fitted to recordings: where they come from, and the numbers.

use super::FrameSizeParams;
use paceline_units::Bytes;
use paceline_units::param::{Kind, Parameter, Value};

/// Parameters under a name.
#[derive(Clone, Copy, Debug)]
pub struct FramePreset {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The recordings that it was fitted to, and how.
    pub origin: &'static str,
    mean: u64,
    correlation: f64,
    correlation2: f64,
    sizes: &'static [f64],
    key_interval: u64,
    key_scale: f64,
    key_sigma: f64,
    after_key: &'static [f64],
    min: u64,
    max: u64,
}

impl FramePreset {
    /// The frame sizes that were fitted to this preset's trace, as parameters of the generator.
    pub fn params(&self) -> FrameSizeParams {
        FrameSizeParams {
            mean: Bytes::new(self.mean),
            correlation: self.correlation,
            correlation2: Some(self.correlation2),
            sizes: self.sizes.to_vec(),
            key_interval: self.key_interval,
            key_scale: self.key_scale,
            key_sigma: Some(self.key_sigma),
            after_key: self.after_key.to_vec(),
            scene_change: 0.0,
            min: Bytes::new(self.min),
            max: Bytes::new(self.max),
            ..FrameSizeParams::default()
        }
    }
}

/// The name of a preset among parameters. It only says what the others start from: they are what is kept and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FramePresetName;

impl Parameter for FramePresetName {
    const KIND: Kind = Kind::Name(&[FRAME_PRESETS[0].name]);

    fn to_value(&self) -> Option<Value> {
        None
    }

    fn from_value(_: Value) -> Option<FramePresetName> {
        Some(FramePresetName)
    }
}

/// Every preset. `paceline fit --frames` made the numbers; the command and the distances to the recording are in
/// `docs/generators.md`.
pub const FRAME_PRESETS: [FramePreset; 1] = [FramePreset {
    name: "trace-key",
    origin: "trace_key.txt of EricssonResearch/scream (BSD-2-Clause): 2387 frames at 50 fps, all of them",
    mean: 25888,
    correlation: -0.497,
    correlation2: 0.169,
    sizes: &[
        0.0903, 0.6752, 0.7418, 0.7695, 0.7937, 0.8151, 0.831, 0.8435, 0.8538, 0.862, 0.8709, 0.8801, 0.8894,
        0.8993, 0.9103, 0.9217, 0.9302, 0.94, 0.9493, 0.9588, 0.9693, 0.9779, 0.9865, 0.9984, 1.0069, 1.0167,
        1.0291, 1.0459, 1.0643, 1.0893, 1.1072, 1.1211, 1.1372, 1.1496, 1.1697, 1.1971, 1.224, 1.2616, 1.34,
        1.5416, 2.574,
    ],
    key_interval: 120,
    key_scale: 2.536,
    key_sigma: 0.0362,
    after_key: &[0.555, 0.446, 0.596],
    min: 1218,
    max: 68942,
}];
