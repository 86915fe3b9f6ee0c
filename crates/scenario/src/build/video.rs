//! The video sources of RFC 8593: ladders read or drawn, and what is odd about them.

use super::{Builder, in_file, wrong};
use crate::error::ScenarioError;
use crate::spec::*;
use paceline_media::{FrameLadder, LadderError, Rung, VideoModel, VideoModelKind, VideoModelParams};
use paceline_units::Bitrate;
use paceline_units::text::{format_rate, format_size};

/// How far the sizes of a rung may miss its rate before a warning says so.
const MISSED: f64 = 0.2;

impl Builder<'_> {
    /// The model of the source at `table`, whose draws belong to `name`.
    pub(super) fn video_model(
        &mut self,
        spec: &Rfc8593Spec,
        table: &str,
        name: &str,
        target_start: Bitrate,
    ) -> Result<VideoModel, ScenarioError> {
        let seed = self.seed(spec.seed, &format!("{name}.video"));
        let params = VideoModelParams { target_start, seed, ..spec.params };
        let ladder = match &spec.ladder {
            None => None,
            Some(ladder) => Some(self.ladder(ladder, &params, table, &format!("{name}.frames"))?),
        };
        let top =
            ladder.as_ref().and_then(|ladder| ladder.rungs().last()).map_or(params.r_max, |rung| rung.rate);
        let kind = match (spec.model, ladder) {
            (VideoModelName::Trace, Some(ladder)) => VideoModelKind::Trace(ladder),
            (VideoModelName::Hybrid, Some(ladder)) => VideoModelKind::Hybrid(ladder),
            (VideoModelName::Statistical, _) | (_, None) => VideoModelKind::Statistical,
        };
        if !matches!(kind, VideoModelKind::Trace(_)) {
            self.warn_of_bursts(&params, top.min(params.r_max), table);
        }
        VideoModel::new(kind, params)
            .map_err(|error| wrong(format!("{table}.{}", error.name), error.found, error.expected))
    }

    fn ladder(
        &mut self,
        ladder: &LadderSpec,
        params: &VideoModelParams,
        table: &str,
        name: &str,
    ) -> Result<FrameLadder, ScenarioError> {
        match ladder {
            LadderSpec::Generator { rates, params: sizes, count, seed } => {
                let count = usize::try_from(*count).unwrap_or(usize::MAX);
                FrameLadder::generated(self.seed(*seed, name), count, rates, params.fps, sizes).map_err(
                    |error| {
                        let key = if error.name == "rates" {
                            "rates".into()
                        } else {
                            format!("generator.{}", error.name)
                        };
                        wrong(format!("{table}.{key}"), error.found, error.expected)
                    },
                )
            }
            LadderSpec::Files(rungs) => {
                let key = |index: usize| format!("{table}.ladder[{index}]");
                let mut read = |(index, rung): (usize, &RungSpec)| {
                    let frames = FramesSpec::File { file: rung.file.clone(), format: rung.format };
                    Ok(Rung { rate: rung.rate, frames: self.frame_trace(&frames, &key(index), name)? })
                };
                let read =
                    rungs.iter().enumerate().map(&mut read).collect::<Result<Vec<_>, ScenarioError>>()?;
                let ladder = FrameLadder::new(read).map_err(|LadderError { rung, found, expected }| {
                    let key = rung.map_or(format!("{table}.ladder"), key);
                    let file = rung.and_then(|rung| rungs.get(rung)).map_or("", |rung| rung.file.as_str());
                    wrong(key, in_file(&found, None, file), &expected)
                })?;
                self.warn_of_rates(&ladder, params, table);
                Ok(ladder)
            }
        }
    }

    /// Files that are played at another rate than they were encoded for, or that are not what somebody thought.
    fn warn_of_rates(&mut self, ladder: &FrameLadder, params: &VideoModelParams, table: &str) {
        for (index, rung) in ladder.rungs().iter().enumerate() {
            let made = rung.frames.mean_rate(params.fps);
            if (made.as_bps_f64() / rung.rate.as_bps_f64() - 1.0).abs() > MISSED {
                let fps = params.fps.as_fps_f64();
                let (made, rate) = (format_rate(made), format_rate(rung.rate));
                self.warnings.push(format!(
                    "{table}.ladder[{index}]: the sizes make {made} at {fps} frames per second, not {rate}"
                ));
            }
        }
    }

    /// Bursts that are none at the highest rates.
    fn warn_of_bursts(&mut self, params: &VideoModelParams, top: Bitrate, table: &str) {
        let vanishing = Bitrate::from_bps_f64(params.k_b.as_bits_f64() * params.fps.as_fps_f64());
        if vanishing < top {
            let (k_b, vanishing) = (format_size(params.k_b), format_rate(vanishing));
            self.warnings.push(format!(
                "{table}.k_b: {k_b} is no larger than a mean frame from {vanishing} on, where there are no bursts"
            ));
        }
    }
}
