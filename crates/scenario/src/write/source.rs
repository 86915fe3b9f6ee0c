//! A source as text.

use super::{Inline, list, number, rate, size, text, time};
use crate::schema::rfc8593::MODELS;
use crate::schema::{BEGIN, FORMATS, IDLE};
use crate::spec::*;
use paceline_media::FrameSizeParams;
use paceline_transport::tcp::transfers::{Idle, TransfersConfig};
use paceline_units::Bitrate;

pub(super) fn source(source: &SourceSpec) -> String {
    match source {
        SourceSpec::TraceEncoder(encoder) => frames(Inline::kind("trace-encoder"), &encoder.frames)
            .with("fps", number(encoder.fps))
            .with("offset", time(encoder.offset))
            .with("key_frame_scale", number(encoder.key_frame_scale))
            .with("nominal_gain", number(encoder.nominal_gain))
            .perhaps("nominal_start", encoder.nominal_start.map(rate)),
        SourceSpec::Rfc8593(model) => rfc8593(model),
        SourceSpec::Cbr { rate: cbr, fps, adaptive } => Inline::kind("cbr")
            .with("rate", rate(*cbr))
            .perhaps("fps", fps.map(number))
            .with("adaptive", adaptive.to_string()),
        SourceSpec::Bulk { length } => Inline::kind("bulk").perhaps("length", length.map(size)),
        SourceSpec::ShortTransfers(transfers) => short_transfers(transfers),
    }
    .end()
}

fn frames(table: Inline, frames: &FramesSpec) -> Inline {
    match frames {
        FramesSpec::File { file, format } => {
            let format = format.and_then(|wanted| FORMATS.iter().find(|(_, format)| *format == wanted));
            table.with("file", text(file)).perhaps("format", format.map(|(name, _)| text(name)))
        }
        FramesSpec::Generator { params, count, seed } => {
            table.with("generator", frame_generator(params, *count, *seed, true))
        }
    }
}

/// The generator of frame sizes; that of a ladder has no sizes of its own.
fn frame_generator(params: &FrameSizeParams, count: u64, seed: Option<u64>, has_sizes: bool) -> String {
    let own = |bytes| has_sizes.then(|| size(bytes));
    let is_lognormal = params.sizes.is_empty();
    let some_numbers =
        |numbers: &[f64]| (!numbers.is_empty()).then(|| list(numbers.iter().map(|&value| number(value))));
    Inline::kind("frames")
        .with("count", count.to_string())
        .perhaps("seed", seed.map(|seed| seed.to_string()))
        .perhaps("mean", own(params.mean))
        .perhaps("sigma", is_lognormal.then(|| number(params.sigma)))
        .perhaps("sizes", some_numbers(&params.sizes))
        .with("correlation", number(params.correlation))
        .perhaps("correlation2", params.correlation2.map(number))
        .with("key_interval", params.key_interval.to_string())
        .with("key_scale", number(params.key_scale))
        .perhaps("key_sigma", params.key_sigma.map(number))
        .perhaps("after_key", some_numbers(&params.after_key))
        .perhaps("scene_change", is_lognormal.then(|| number(params.scene_change)))
        .perhaps("scene_scale", is_lognormal.then(|| number(params.scene_scale)))
        .perhaps("min", own(params.min))
        .perhaps("max", own(params.max))
        .end()
}

fn rfc8593(spec: &Rfc8593Spec) -> Inline {
    let params = &spec.params;
    let name = MODELS.iter().find(|(_, model)| *model == spec.model).map_or("", |(name, _)| name);
    // Zero says that nothing limits the target only where that is the default.
    let is_limited = spec.ladder.is_none() || params.r_min != Bitrate::ZERO;
    let mut table = Inline::kind("rfc8593")
        .with("model", text(name))
        .with("fps", number(params.fps.as_fps_f64()))
        .perhaps("r_min", is_limited.then(|| rate(params.r_min)))
        .perhaps("r_max", (params.r_max != Bitrate::MAX).then(|| rate(params.r_max)));
    if let Some(rungs) = &spec.ladder {
        table = ladder(table, rungs)
            .with("skip_frames", params.skip_frames.to_string())
            .with("fs_min", size(params.fs_min))
            .with("fs_max", size(params.fs_max));
    }
    if spec.model == VideoModelName::Trace {
        return table;
    }
    let is_statistical = spec.model == VideoModelName::Statistical;
    table
        .perhaps("scale_b", is_statistical.then(|| number(params.scale_b)))
        .with("tau_v", time(params.tau_v))
        .with("k_d", params.k_d.to_string())
        .with("k_b", size(params.k_b))
        .with("scale_t", number(params.scale_t))
        .with("transient_change", number(params.transient_change))
        .perhaps("seed", spec.seed.map(|seed| seed.to_string()))
}

fn ladder(table: Inline, ladder: &LadderSpec) -> Inline {
    match ladder {
        LadderSpec::Files(rungs) => {
            let rung = |rung: &RungSpec| {
                let format =
                    rung.format.and_then(|wanted| FORMATS.iter().find(|(_, format)| *format == wanted));
                Inline::default()
                    .with("rate", rate(rung.rate))
                    .with("file", text(&rung.file))
                    .perhaps("format", format.map(|(name, _)| text(name)))
                    .end()
            };
            table.with("ladder", list(rungs.iter().map(rung)))
        }
        LadderSpec::Generator { rates, params, count, seed } => table
            .with("generator", frame_generator(params, *count, *seed, false))
            .with("rates", list(rates.iter().map(|&step| rate(step)))),
    }
}

fn short_transfers(transfers: &TransfersConfig) -> Inline {
    let (Idle::Fixed(idle) | Idle::Exponential(idle)) = transfers.idle;
    let kind = IDLE.iter().find(|(_, kind)| kind(idle) == transfers.idle).map_or("", |(name, _)| name);
    let begin = BEGIN.iter().find(|(_, on)| *on == transfers.begins_on).map_or("", |(name, _)| name);
    Inline::kind("short-transfers")
        .with("parallel", transfers.parallel.to_string())
        .with("size_min", size(transfers.size_min))
        .with("size_max", size(transfers.size_max))
        .with("idle", time(idle))
        .with("idle_kind", text(kind))
        .with("begin", text(begin))
}
