//! The trace-driven model: frame sizes of one sequence, encoded at several rates (RFC 8593, section 6).

use crate::{FrameRate, FrameSizeParams, FrameTrace, frame_sizes};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, Bytes};

/// The sizes of the frames of a sequence, encoded at one rate: an entry of the RFC's map `Traces`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rung {
    /// The target rate that the sequence was encoded at; above 0. The rate that results from the sizes is the encoder's affair.
    pub rate: Bitrate,
    /// Frame sizes of the sequence at that rate.
    pub frames: FrameTrace,
}

/// The RFC's map `Traces`: from 2 to 64 rungs of rising rates and of one length. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameLadder {
    rungs: Arc<[Rung]>,
}

/// Why rungs are no ladder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LadderError {
    /// The rung, counted from 0; none where the ladder as a whole is wrong.
    pub rung: Option<usize>,
    /// The text found in the ladder.
    pub found: String,
    /// The text expected.
    pub expected: String,
}

impl fmt::Display for LadderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rung) = self.rung {
            write!(f, "rung {rung}: ")?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for LadderError {}

impl FrameLadder {
    /// The smallest and the largest number of rungs: section 6.1 wants a step, and somebody has to hold them.
    pub const RUNGS: core::ops::RangeInclusive<usize> = 2..=64;

    /// A ladder of these rungs, the lowest first.
    ///
    /// # Errors
    /// If there are too few or too many, a rate is not above the one before, or a length differs from the first.
    pub fn new(rungs: Vec<Rung>) -> Result<FrameLadder, LadderError> {
        let fail = |rung, found, expected| Err(LadderError { rung, found, expected });
        if !Self::RUNGS.contains(&rungs.len()) {
            return fail(None, format!("{} rungs", rungs.len()), "from 2 to 64 rungs".into());
        }
        let length = rungs[0].frames.frames().len();
        let mut below = Bitrate::ZERO;
        for (index, rung) in rungs.iter().enumerate() {
            if rung.rate <= below {
                let expected = format!("a rate above {} bit/s, the one before", below.as_bps());
                return fail(Some(index), format!("{} bit/s", rung.rate.as_bps()), expected);
            }
            below = rung.rate;
            let found = rung.frames.frames().len();
            if found != length {
                return fail(
                    Some(index),
                    format!("{found} frames"),
                    format!("{length} frames, as in the first rung"),
                );
            }
        }
        Ok(FrameLadder { rungs: rungs.into() })
    }

    /// A ladder drawn at random, for who has no traces: each rung has the sizes of [`frame_sizes`] with the same seed and a
    /// mean that makes its rate at `fps`, so that frame by frame the rungs differ by the rates' ratio.
    ///
    /// Of `params` the mean is not used.
    ///
    /// # Errors
    /// `rates` where they are none of a ladder, else the parameter of the sizes that is out of range.
    pub fn generated(
        seed: u64,
        count: usize,
        rates: &[Bitrate],
        fps: FrameRate,
        params: &FrameSizeParams,
    ) -> Result<FrameLadder, ParamError> {
        let wrong = |found: String| {
            let expected = "from 2 to 64 rates, each above the one before, of frames of 1 B to 4.29 GB";
            ParamError::new("rates", found, expected)
        };
        let rung = |&rate: &Bitrate| {
            let bytes = rate.as_bps_f64() / 8.0 / fps.as_fps_f64();
            let params = FrameSizeParams { mean: Bytes::new((bytes + 0.5) as u64), ..params.clone() };
            let frames = frame_sizes(seed, count, &params).map_err(|error| match error.name.as_str() {
                "mean" => wrong(format!("frames of {bytes} B")),
                _ => error,
            })?;
            Ok(Rung { rate, frames })
        };
        let rungs = rates.iter().map(rung).collect::<Result<Vec<_>, _>>()?;
        FrameLadder::new(rungs).map_err(|error| wrong(error.found))
    }

    /// Distribution of the sizes of a generated ladder, in `count` frames, unless told otherwise. Fitted to the traces
    /// of a 720p chat that come with the RFC's reference implementation (at 200 kbit/s to 2 Mbit/s: standard deviation of
    /// the logarithm 0.11 to 0.32, correlation of neighbours 0.02 to 0.26, a first frame of 2.4 to 15 times the mean, and no
    /// other key frame).
    pub fn usual_sizes(count: u64) -> FrameSizeParams {
        FrameSizeParams {
            sigma: 0.17,
            correlation: 0.05,
            key_interval: count,
            key_scale: 3.5,
            scene_change: 0.0,
            min: Bytes::new(1),
            max: Bytes::new(u32::MAX.into()),
            ..FrameSizeParams::default()
        }
    }

    /// The rungs, the lowest first; at least two.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Frames of a rung: the RFC's size_traces; at least one.
    pub fn frame_count(&self) -> usize {
        self.rungs[0].frames.frames().len()
    }

    /// The size of frame `index` for a target of `rate` bit/s, in bytes before the clip, and whether the rung at
    /// or below it calls the frame a key frame. Section 6.2.1, cases a to c.
    fn size(&self, index: usize, rate: f64) -> (f64, bool) {
        let at = |rung: &Rung| {
            let frame = rung.frames.frames()[index];
            (f64::from(frame.bytes), frame.key)
        };
        let above = self.rungs.partition_point(|rung| rung.rate.as_bps_f64() <= rate);
        if above == 0 || above == self.rungs.len() {
            let end = &self.rungs[above.saturating_sub(1)];
            let (bytes, key) = at(end);
            return (bytes * (rate / end.rate.as_bps_f64()), key);
        }
        let (low, high) = (&self.rungs[above - 1], &self.rungs[above]);
        let ((size_lo, key), (size_hi, _)) = (at(low), at(high));
        let step = high.rate.as_bps_f64() - low.rate.as_bps_f64();
        let distance_lo = (rate - low.rate.as_bps_f64()) / step;
        (size_hi * distance_lo + size_lo * (1.0 - distance_lo), key)
    }
}

/// Plays a ladder.
#[derive(Clone, Debug)]
pub(super) struct Player {
    ladder: FrameLadder,
    /// SkipFrames, below the ladder's length.
    skip: usize,
    /// fs_min and fs_max.
    limits: (f64, f64),
    /// Index of the frame that is due, the RFC's t_current.
    index: usize,
}

impl Player {
    /// # Errors
    /// If more frames are skipped than there are.
    pub(super) fn new(
        ladder: FrameLadder,
        skip_frames: u64,
        (fs_min, fs_max): (Bytes, Bytes),
    ) -> Result<Player, ParamError> {
        let skip = usize::try_from(skip_frames).ok().filter(|skip| *skip < ladder.frame_count());
        let skip = skip.ok_or_else(|| {
            let found = format!("{skip_frames} of {} frames", ladder.frame_count());
            ParamError::new("skip_frames", found, "less than there are frames")
        })?;
        Ok(Player { ladder, skip, limits: (fs_min.as_f64(), fs_max.as_f64()), index: 0 })
    }

    /// The frame that is due at a target of `rate` bit/s, and whether it is a key frame; moves on.
    pub(super) fn next(&mut self, rate: f64) -> (Bytes, bool) {
        let (bytes, marked) = self.ladder.size(self.index, rate);
        // The first frame of a sequence is an I frame (section 6.1), whatever the file calls it.
        let key = marked || self.index == 0;
        self.index = self.after(self.index);
        let (fs_min, fs_max) = self.limits;
        (Bytes::new((bytes + 0.5).clamp(fs_min, fs_max) as u64), key)
    }

    /// The index after `t`, in the words of section 6.2.1.
    fn after(&self, t: usize) -> usize {
        if t < self.skip {
            t + 1
        } else {
            (t + 1 - self.skip) % (self.ladder.frame_count() - self.skip) + self.skip
        }
    }

    /// The next frame is the sequence's first (section 6.2.2, I-frames on demand).
    pub(super) fn rewind(&mut self) {
        self.index = 0;
    }
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
