//! Sources of video: those of RFC 8593, whose ladders are read or drawn, and what a stream of real pictures needs.

use super::{Builder, CodecStream, in_file, source_table, within, wrong};
use crate::error::ScenarioError;
use crate::files::FileError;
use crate::source::*;
use crate::spec::{FlowSpec, StreamSpec};
use paceline_media::{
    FrameLadder, LadderError, PlayoutConfig, Rung, VideoModel, VideoModelKind, VideoModelParams,
};
use paceline_units::text::{format_rate, format_size};
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// How far the sizes of a rung may miss its rate before a warning says so.
const MISSED: f64 = 0.2;
/// Size of the de-jitter buffer that pictures are judged for, unless the scenario says one: the delay from end to end that
/// ITU-T G.114 lets a video call have (urcp-2013 section III).
const USUAL_DEJITTER: TimeDelta = TimeDelta::from_millis(200);

impl Builder<'_> {
    /// Notes what the encoder of a stream of pictures has to know.
    pub(super) fn codec_stream(
        &mut self,
        flow: &FlowSpec,
        stream: &StreamSpec,
        max_payload: Bytes,
    ) -> Result<(), ScenarioError> {
        let SourceSpec::Codec(spec) = &stream.source else { return Ok(()) };
        let key = format!("{}.file", source_table(flow, stream));
        let missing = |FileError { found, expected }| wrong(key.clone(), found, &expected);
        let path = spec.file.as_ref().map(|file| self.loader.find(&file.0).map_err(missing)).transpose()?;
        let mut spec = spec.clone();
        if spec.dejitter.is_empty() {
            spec.dejitter.push(match flow.playout {
                PlayoutConfig::Fixed(fixed) => fixed.delay,
                PlayoutConfig::Immediate(_) | PlayoutConfig::Adaptive(_) => USUAL_DEJITTER,
            });
        }
        let place = |name: &str| self.scenario.flows.iter().position(|other| other.name == name);
        let label = stream.label();
        self.codecs.push(CodecStream {
            flow: place(&flow.name).unwrap_or_default(),
            stream: flow.streams.iter().position(|other| other.label() == label).unwrap_or_default(),
            seed: self.seed(spec.seed, &format!("flow.{}.{label}.clip", flow.name)),
            spec,
            path,
            max_payload,
        });
        Ok(())
    }

    /// The model of the source at `table`, whose draws belong to `name`.
    pub(super) fn video_model(
        &mut self,
        spec: &Rfc8593Spec,
        table: &str,
        name: &str,
        target_start: Bitrate,
    ) -> Result<VideoModel, ScenarioError> {
        let seed = Some(self.seed(spec.params.seed, &format!("{name}.video")));
        let params = VideoModelParams { target_start, seed, ..spec.params };
        let kind = match spec.model {
            VideoModelName::Statistical => VideoModelKind::Statistical,
            VideoModelName::Trace => {
                VideoModelKind::Trace(self.ladder(&spec.ladder, &params, table, &format!("{name}.frames"))?)
            }
            VideoModelName::Hybrid => VideoModelKind::Hybrid(self.ladder(
                &spec.ladder,
                &params,
                table,
                &format!("{name}.frames"),
            )?),
        };
        let r_max = params.r_max.unwrap_or(Bitrate::MAX);
        match &kind {
            VideoModelKind::Statistical => self.warn_of_bursts(&params, r_max, table),
            VideoModelKind::Trace(_) => {}
            VideoModelKind::Hybrid(ladder) => {
                let top = ladder.rungs().last().map_or(r_max, |rung| rung.rate);
                self.warn_of_bursts(&params, top.min(r_max), table);
            }
        }
        VideoModel::new(kind, params).map_err(|error| within(table, &error))
    }

    fn ladder(
        &mut self,
        ladder: &LadderSpec,
        params: &VideoModelParams,
        table: &str,
        name: &str,
    ) -> Result<FrameLadder, ScenarioError> {
        if let Some(FrameGenerator::Frames(drawn)) = &ladder.generator {
            let count = usize::try_from(drawn.count).unwrap_or(usize::MAX);
            let seed = self.seed(drawn.seed, name);
            let drawn = FrameLadder::generated(seed, count, &ladder.rates, params.fps, &drawn.sizes);
            return drawn.map_err(|error| match error.name.as_str() {
                "rates" => within(table, &error),
                _ => within(&format!("{table}.generator"), &error),
            });
        }
        let rungs = &ladder.ladder;
        let key = |index: usize| format!("{table}.ladder[{index}]");
        let mut read = |(index, rung): (usize, &RungSpec)| {
            Ok(Rung { rate: rung.rate, frames: self.recorded_frames(&rung.file, rung.format, &key(index))? })
        };
        let read = rungs.iter().enumerate().map(&mut read).collect::<Result<Vec<_>, ScenarioError>>()?;
        let ladder = FrameLadder::new(read).map_err(|LadderError { rung, found, expected }| {
            let key = rung.map_or(format!("{table}.ladder"), key);
            let file = rung.and_then(|rung| rungs.get(rung)).map_or("", |rung| rung.file.0.as_str());
            wrong(key, in_file(&found, None, file), &expected)
        })?;
        self.warn_of_rates(&ladder, params, table);
        Ok(ladder)
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
