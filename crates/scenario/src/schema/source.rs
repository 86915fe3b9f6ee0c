//! `source = { ... }` of a flow or a stream.

use super::rfc8593;
use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::spec::{FramesSpec, SourceSpec, TraceEncoderSpec};
use paceline_media::{FRAME_PRESETS, FrameSizeParams, FrameTraceFormat};
use paceline_transport::tcp::transfers::TransfersConfig;
use paceline_units::text::one_of;
use paceline_units::{Bitrate, TimeDelta};

/// What is expected where a source is.
pub(super) const SOURCE: &str =
    "a source such as { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }";
/// A source of a later version.
const NOT_YET: [&str; 1] = ["codec"];
/// Frame-size formats by name.
pub(crate) const FORMATS: [(&str, FrameTraceFormat); 2] =
    [("sizes", FrameTraceFormat::Sizes), ("syncodecs", FrameTraceFormat::Syncodecs)];
/// Frames that a generator may draw.
pub(super) const MAX_FRAMES: u64 = 10_000_000;
/// Frames that a generator draws unless told otherwise: two minutes at 50 fps.
const GENERATED_FRAMES: u64 = 6000;

#[derive(Clone, Copy)]
enum Kind {
    TraceEncoder,
    Rfc8593,
    Cbr,
    Bulk,
    ShortTransfers,
}

pub(super) fn parse(node: &Node<'_>) -> Result<SourceSpec, ScenarioError> {
    let table = node.table(SOURCE)?;
    let kinds = [
        ("trace-encoder", Kind::TraceEncoder),
        ("rfc8593", Kind::Rfc8593),
        ("cbr", Kind::Cbr),
        ("bulk", Kind::Bulk),
        ("short-transfers", Kind::ShortTransfers),
    ];
    match table.require("kind", &one_of(&kinds.map(|(name, _)| name)))?.choice(&kinds, &NOT_YET)? {
        Kind::TraceEncoder => Ok(SourceSpec::TraceEncoder(trace_encoder(&table)?)),
        Kind::Rfc8593 => Ok(SourceSpec::Rfc8593(rfc8593::parse(&table)?)),
        Kind::Cbr => {
            table.only(&["kind", "rate", "fps", "adaptive"])?;
            Ok(SourceSpec::Cbr {
                rate: table.find("rate").map_or(Ok(Bitrate::from_mbps(1)), |node| node.rate_above_zero())?,
                fps: Some(fps(&table, 50.0)?),
                adaptive: table.find("adaptive").map_or(Ok(false), |node| node.flag())?,
            })
        }
        Kind::Bulk => {
            table.only(&["kind", "length"])?;
            let length = table
                .find("length")
                .map(|node| node.size_within(1..=paceline_units::text::MAX_SIZE.as_u64()));
            Ok(SourceSpec::Bulk { length: length.transpose()? })
        }
        Kind::ShortTransfers => {
            let mut transfers = TransfersConfig::default();
            params::read(&table, &mut transfers, &["kind"])?;
            Ok(SourceSpec::ShortTransfers(transfers))
        }
    }
}

/// A source that a transport other than TCP can carry.
pub(super) fn parse_without_connections(node: &Node<'_>) -> Result<SourceSpec, ScenarioError> {
    let source = parse(node)?;
    if let SourceSpec::ShortTransfers(_) = source {
        let kind = node.table(SOURCE)?.require("kind", SOURCE)?;
        return Err(kind.fail(
            "one of \"trace-encoder\", \"rfc8593\", \"cbr\", \"bulk\": short transfers go with transport tcp",
        ));
    }
    Ok(source)
}

pub(super) fn fps(table: &Table<'_>, default: f64) -> Result<f64, ScenarioError> {
    let fps = table.find("fps").map_or(Ok(default), |node| node.number(0.001..=1e6))?;
    // To a thousandth, as it is used.
    Ok((fps * 1000.0).round() / 1000.0)
}

const ENCODER_KEYS: [&str; 9] = [
    "kind",
    "file",
    "format",
    "generator",
    "fps",
    "offset",
    "key_frame_scale",
    "nominal_gain",
    "nominal_start",
];

fn trace_encoder(table: &Table<'_>) -> Result<TraceEncoderSpec, ScenarioError> {
    table.only(&ENCODER_KEYS)?;
    let number = |key: &str, default: f64, max: f64| {
        table.find(key).map_or(Ok(default), |node| node.number(0.0..=max))
    };
    Ok(TraceEncoderSpec {
        frames: frames(table)?,
        fps: fps(table, 50.0)?,
        offset: table.find("offset").map_or(Ok(TimeDelta::ZERO), |node| node.time())?,
        key_frame_scale: number("key_frame_scale", 1.0, 100.0)?,
        nominal_gain: number("nominal_gain", 0.05, 1.0)?,
        nominal_start: table.find("nominal_start").map(|node| node.rate_above_zero()).transpose()?,
    })
}

fn frames(table: &Table<'_>) -> Result<FramesSpec, ScenarioError> {
    const EITHER: &str = "either file = FILE or generator = \"frames\"";
    match (table.find("file"), table.find("generator")) {
        (Some(file), None) => Ok(FramesSpec::File {
            file: file.text("a file's name")?.into(),
            format: table.find("format").map(|node| node.choice(&FORMATS, &[])).transpose()?,
        }),
        (None, Some(generator)) => {
            if let Some(format) = table.find("format") {
                return Err(format.fail("nothing: `format` goes with a file"));
            }
            let (params, count, seed) =
                frame_generator(&generator, &GENERATOR_KEYS, GENERATED_FRAMES, |_| {
                    FrameSizeParams::default()
                })?;
            Ok(FramesSpec::Generator { params, count, seed })
        }
        (Some(_), Some(generator)) => Err(generator.fail(EITHER)),
        (None, None) => Err(table.fail("neither", EITHER)),
    }
}

const GENERATOR_KEYS: [&str; 17] = [
    "kind",
    "preset",
    "count",
    "seed",
    "mean",
    "sigma",
    "correlation",
    "correlation2",
    "sizes",
    "key_interval",
    "key_scale",
    "key_sigma",
    "after_key",
    "scene_change",
    "scene_scale",
    "min",
    "max",
];

/// Parameters, number of frames and seed of a generator that knows `keys`; `usual` says what they are for how many frames.
pub(super) fn frame_generator(
    node: &Node<'_>,
    keys: &[&str],
    usual_count: u64,
    usual: impl Fn(u64) -> FrameSizeParams,
) -> Result<(FrameSizeParams, u64, Option<u64>), ScenarioError> {
    const GENERATOR: &str = "\"frames\", or { kind = \"frames\", ... } with its parameters";
    if node.as_text().is_some() {
        node.choice(&[("frames", ())], &[])?;
        return Ok((usual(usual_count), usual_count, None));
    }
    let table = node.table(GENERATOR)?;
    table.require("kind", "\"frames\"")?.choice(&[("frames", ())], &[])?;
    table.only(keys)?;
    let count = table.find("count").map_or(Ok(usual_count), |node| node.count(1..=MAX_FRAMES))?;
    let preset = table.find("preset").map(|node| {
        let known = FRAME_PRESETS.each_ref().map(|preset| (preset.name, preset));
        Ok(node.choice(&known, &[])?.params())
    });
    let default = preset.transpose()?.unwrap_or_else(|| usual(count));
    let sizes = table.find("sizes").map_or(Ok(default.sizes), |node| numbers(&node, SIZES))?;
    let lognormal = ["sigma", "scene_change", "scene_scale"];
    if let Some(node) = lognormal.iter().find_map(|key| table.find(key)).filter(|_| !sizes.is_empty()) {
        return Err(
            node.fail("nothing: `sizes`, of the scenario or its preset, says how ordinary frames vary")
        );
    }
    let scene_change = if sizes.is_empty() { default.scene_change } else { 0.0 };
    let number =
        |key: &str, default: f64| table.find(key).map_or(Ok(default), |node| node.number(-1e9..=1e9));
    let params = FrameSizeParams {
        mean: table.find("mean").map_or(Ok(default.mean), |node| node.size())?,
        sigma: number("sigma", default.sigma)?,
        correlation: number("correlation", default.correlation)?,
        correlation2: some_number(&table, "correlation2", default.correlation2)?,
        sizes,
        key_interval: table
            .find("key_interval")
            .map_or(Ok(default.key_interval), |n| n.count(0..=u64::MAX))?,
        key_scale: number("key_scale", default.key_scale)?,
        key_sigma: some_number(&table, "key_sigma", default.key_sigma)?,
        after_key: table.find("after_key").map_or(Ok(default.after_key), |node| numbers(&node, AFTER_KEY))?,
        scene_change: number("scene_change", scene_change)?,
        scene_scale: number("scene_scale", default.scene_scale)?,
        min: table.find("min").map_or(Ok(default.min), |node| node.size())?,
        max: table.find("max").map_or(Ok(default.max), |node| node.size())?,
    };
    params.validate().map_err(|error| match table.find(error.name) {
        Some(node) => node.fail(error.expected),
        None => table.fail(&format!("{} {}", error.name, error.found), error.expected),
    })?;
    Ok((params, count, table.find("seed").map(|node| seed(&node)).transpose()?))
}

const SIZES: &str =
    "sizes relative to each other at even steps from the smallest to the largest, such as [0.5, 1.0, 2.0]";
const AFTER_KEY: &str = "factors on the frames after a key frame, such as [0.6, 0.8]";

fn some_number(table: &Table<'_>, key: &str, default: Option<f64>) -> Result<Option<f64>, ScenarioError> {
    Ok(table.find(key).map(|node| node.number(-1e9..=1e9)).transpose()?.or(default))
}

fn numbers(node: &Node<'_>, expected: &str) -> Result<Vec<f64>, ScenarioError> {
    node.list(expected)?.iter().map(|node| node.number(0.0..=1e9)).collect()
}

/// A seed, as TOML holds it.
pub(super) fn seed(node: &Node<'_>) -> Result<u64, ScenarioError> {
    node.count(0..=i64::MAX as u64)
}
