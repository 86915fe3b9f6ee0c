//! A source as text.

use super::{Inline, count, list, rate, size, time};
use crate::schema::FORMATS;
use crate::spec::*;
use paceline_media::FrameSizeParams;
use paceline_units::Bitrate;
use toml_edit::Value;

pub(super) fn source(source: &SourceSpec) -> Value {
    let table = match source {
        SourceSpec::TraceEncoder(encoder) => frames(kind("trace-encoder"), &encoder.frames)
            .with("fps", encoder.fps)
            .with("offset", time(encoder.offset))
            .with("key_frame_scale", encoder.key_frame_scale)
            .with("nominal_gain", encoder.nominal_gain)
            .perhaps("nominal_start", encoder.nominal_start.map(rate)),
        SourceSpec::Rfc8593(model) => rfc8593(model),
        SourceSpec::Cbr { rate: cbr, fps, adaptive } => {
            kind("cbr").with("rate", rate(*cbr)).perhaps("fps", *fps).with("adaptive", *adaptive)
        }
        SourceSpec::Bulk { length } => kind("bulk").perhaps("length", length.map(size)),
        SourceSpec::ShortTransfers(transfers) => kind("short-transfers").with_all(transfers),
    };
    table.into()
}

fn frames(table: Inline, frames: &FramesSpec) -> Inline {
    match frames {
        FramesSpec::File { file, format } => {
            let format = format.and_then(|wanted| FORMATS.iter().find(|(_, format)| *format == wanted));
            table.with("file", file.as_str()).perhaps("format", format.map(|(name, _)| *name))
        }
        FramesSpec::Generator { params, count, seed } => {
            table.with("generator", frame_generator(params, *count, *seed, true))
        }
    }
}

/// The generator of frame sizes; that of a ladder has no sizes of its own.
fn frame_generator(params: &FrameSizeParams, count: u64, seed: Option<u64>, has_sizes: bool) -> Inline {
    let own = |bytes| has_sizes.then(|| size(bytes));
    let is_lognormal = params.sizes.is_empty();
    let some_numbers = |numbers: &[f64]| (!numbers.is_empty()).then(|| list(numbers.iter().copied()));
    kind("frames")
        .with("count", self::count(count))
        .perhaps("seed", seed.map(self::count))
        .perhaps("mean", own(params.mean))
        .perhaps("sigma", is_lognormal.then_some(params.sigma))
        .perhaps("sizes", some_numbers(&params.sizes))
        .with("correlation", params.correlation)
        .perhaps("correlation2", params.correlation2)
        .with("key_interval", self::count(params.key_interval))
        .with("key_scale", params.key_scale)
        .perhaps("key_sigma", params.key_sigma)
        .perhaps("after_key", some_numbers(&params.after_key))
        .perhaps("scene_change", is_lognormal.then_some(params.scene_change))
        .perhaps("scene_scale", is_lognormal.then_some(params.scene_scale))
        .perhaps("min", own(params.min))
        .perhaps("max", own(params.max))
}

fn rfc8593(spec: &Rfc8593Spec) -> Inline {
    let params = &spec.params;
    // Zero says that nothing limits the target only where that is the default.
    let is_limited = spec.ladder.is_none() || params.r_min != Bitrate::ZERO;
    let mut table = kind("rfc8593")
        .with("model", spec.model.name())
        .with("fps", params.fps.as_fps_f64())
        .perhaps("r_min", is_limited.then(|| rate(params.r_min)))
        .perhaps("r_max", (params.r_max != Bitrate::MAX).then(|| rate(params.r_max)));
    if let Some(rungs) = &spec.ladder {
        table = ladder(table, rungs)
            .with("skip_frames", self::count(params.skip_frames))
            .with("fs_min", size(params.fs_min))
            .with("fs_max", size(params.fs_max));
    }
    if spec.model == VideoModelName::Trace {
        return table;
    }
    let is_statistical = spec.model == VideoModelName::Statistical;
    table
        .perhaps("scale_b", is_statistical.then_some(params.scale_b))
        .with("tau_v", time(params.tau_v))
        .with("k_d", i64::from(params.k_d))
        .with("k_b", size(params.k_b))
        .with("scale_t", params.scale_t)
        .with("transient_change", params.transient_change)
        .perhaps("seed", spec.seed.map(self::count))
}

fn ladder(table: Inline, ladder: &LadderSpec) -> Inline {
    match ladder {
        LadderSpec::Files(rungs) => {
            let rung = |rung: &RungSpec| {
                let format =
                    rung.format.and_then(|wanted| FORMATS.iter().find(|(_, format)| *format == wanted));
                Inline::default()
                    .with("rate", rate(rung.rate))
                    .with("file", rung.file.as_str())
                    .perhaps("format", format.map(|(name, _)| *name))
            };
            table.with("ladder", list(rungs.iter().map(rung)))
        }
        LadderSpec::Generator { rates, params, count, seed } => table
            .with("generator", frame_generator(params, *count, *seed, false))
            .with("rates", list(rates.iter().map(|&step| rate(step)))),
    }
}

fn kind(kind: &str) -> Inline {
    Inline::default().with("kind", kind)
}
