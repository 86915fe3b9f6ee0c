//! `source = { kind = "rfc8593", ... }`: the video sources of RFC 8593.

use super::source::{self, FORMATS, MAX_FRAMES};
use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use crate::spec::{LadderSpec, Rfc8593Spec, RungSpec, VideoModelName};
use paceline_media::{FrameLadder, FrameRate, VideoModelParams};
use paceline_units::text::one_of;
use paceline_units::{Bitrate, Bytes};

/// The rates of the chat at 720p that comes with the RFC's reference implementation, in kbit/s.
const USUAL_RATES: [u64; 7] = [200, 400, 600, 800, 1_000, 1_200, 1_500];
/// Frames of a generated rung unless told otherwise: four minutes at 30 fps, the most that section 6.1 recommends.
const GENERATED_FRAMES: u64 = 7_200;

/// Keys of all models.
const ALWAYS: [&str; 5] = ["kind", "model", "fps", "r_min", "r_max"];
/// Keys of the models with deviations and bursts.
const DEVIATIONS: [&str; 6] = ["seed", "tau_v", "k_d", "k_b", "scale_t", "transient_change"];
/// Keys of the models with a ladder.
const LADDER: [&str; 6] = ["ladder", "generator", "rates", "skip_frames", "fs_min", "fs_max"];

/// The keys that a model knows.
fn keys(model: VideoModelName) -> Vec<&'static str> {
    let own: &[&[&str]] = match model {
        VideoModelName::Statistical => &[&DEVIATIONS, &["scale_b"]],
        VideoModelName::Trace => &[&LADDER],
        VideoModelName::Hybrid => &[&DEVIATIONS, &LADDER],
    };
    [&ALWAYS[..], &own.concat()].concat()
}

pub(super) fn parse(table: &Table<'_>) -> Result<Rfc8593Spec, ScenarioError> {
    if table.find("model").is_none() {
        table.only(&[&ALWAYS[..], &DEVIATIONS, &["scale_b"], &LADDER].concat())?;
    }
    let model = table
        .require("model", &one_of(VideoModelName::NAMES))?
        .named(VideoModelName::NAMES, VideoModelName::named)?;
    table.only(&keys(model))?;
    let ladder = if model == VideoModelName::Statistical { None } else { Some(ladder(table)?) };
    let params = params(table, model)?;
    params.validate().map_err(|error| match table.find(error.name) {
        Some(node) => node.fail(error.expected),
        None => table.fail(&format!("{} {}", error.name, error.found), error.expected),
    })?;
    let seed = table.find("seed").map(|node| source::seed(&node)).transpose()?;
    Ok(Rfc8593Spec { model, ladder, params, seed })
}

fn params(table: &Table<'_>, model: VideoModelName) -> Result<VideoModelParams, ScenarioError> {
    let default = defaults(model);
    let number = |key: &str, default: f64, max: f64| {
        table.find(key).map_or(Ok(default), |node| node.number(0.0..=max))
    };
    let size = |key: &str, default: Bytes| {
        table.find(key).map_or(Ok(default), |node| node.size_within(1..=u32::MAX.into()))
    };
    let fps = source::fps(table, default.fps.as_fps_f64())?;
    Ok(VideoModelParams {
        fps: FrameRate::from_fps_f64(fps).unwrap_or(default.fps),
        tau_v: table.find("tau_v").map_or(Ok(default.tau_v), |node| node.time())?,
        k_d: table.find("k_d").map_or(Ok(default.k_d), |node| Ok(node.count(1..=10_000)? as u32))?,
        k_b: size("k_b", default.k_b)?,
        scale_t: number("scale_t", default.scale_t, 1.0)?,
        scale_b: number("scale_b", default.scale_b, 1.0)?,
        r_min: table.find("r_min").map_or(Ok(default.r_min), |node| node.rate())?,
        r_max: table.find("r_max").map_or(Ok(default.r_max), |node| node.rate_above_zero())?,
        transient_change: number("transient_change", default.transient_change, 100.0)?,
        skip_frames: table
            .find("skip_frames")
            .map_or(Ok(default.skip_frames), |n| n.count(0..=MAX_FRAMES))?,
        fs_min: size("fs_min", default.fs_min)?,
        fs_max: size("fs_max", default.fs_max)?,
        ..default
    })
}

/// The RFC's; with a ladder nothing limits the target, whose scaling covers every rate.
fn defaults(model: VideoModelName) -> VideoModelParams {
    let default = VideoModelParams::default();
    match model {
        VideoModelName::Statistical => default,
        _ => VideoModelParams { r_min: Bitrate::ZERO, r_max: Bitrate::MAX, ..default },
    }
}

fn ladder(table: &Table<'_>) -> Result<LadderSpec, ScenarioError> {
    const EITHER: &str = "either ladder = [{ rate = RATE, file = FILE }, ...] or generator = \"frames\"";
    match (table.find("ladder"), table.find("generator")) {
        (Some(ladder), None) => {
            if let Some(rates) = table.find("rates") {
                return Err(rates.fail("nothing: `rates` goes with a generator"));
            }
            Ok(LadderSpec::Files(rungs(&ladder)?))
        }
        (None, Some(generator)) => generated(table, &generator),
        (Some(_), Some(generator)) => Err(generator.fail(EITHER)),
        (None, None) => Err(table.fail("neither", EITHER)),
    }
}

fn rungs(node: &Node<'_>) -> Result<Vec<RungSpec>, ScenarioError> {
    const RUNGS: &str =
        "from 2 to 64 rungs such as { rate = \"200kbps\", file = \"200.txt\" }, the lowest first";
    let mut below = Bitrate::ZERO;
    let rung = |node: &Node<'_>| {
        let table = node.table(RUNGS)?;
        table.only(&["rate", "file", "format"])?;
        Ok(RungSpec {
            rate: rising(&table.require("rate", "a rate such as \"200kbps\"")?, &mut below)?,
            file: table.require("file", "a file's name")?.text("a file's name")?.into(),
            format: table.find("format").map(|node| node.choice(&FORMATS, &[])).transpose()?,
        })
    };
    several(node, RUNGS)?.iter().map(rung).collect()
}

/// The items of a list of as many as a ladder has rungs.
fn several<'a>(node: &Node<'a>, expected: &str) -> Result<Vec<Node<'a>>, ScenarioError> {
    let items = node.list(expected)?;
    if FrameLadder::RUNGS.contains(&items.len()) { Ok(items) } else { Err(node.fail(expected)) }
}

/// A rate above `below`, which it becomes.
fn rising(node: &Node<'_>, below: &mut Bitrate) -> Result<Bitrate, ScenarioError> {
    let rate = node.rate_above_zero()?;
    if rate <= *below {
        return Err(node.fail("a rate above the one before"));
    }
    *below = rate;
    Ok(rate)
}

/// Keys of the generator: a rung's mean is its rate's, and `fs_min` and `fs_max` limit the sizes.
const GENERATOR_KEYS: [&str; 9] = [
    "kind",
    "count",
    "seed",
    "sigma",
    "correlation",
    "key_interval",
    "key_scale",
    "scene_change",
    "scene_scale",
];

fn generated(table: &Table<'_>, generator: &Node<'_>) -> Result<LadderSpec, ScenarioError> {
    const RATES: &str = "from 2 to 64 rates, the lowest first, such as [\"200kbps\", \"400kbps\"]";
    let rates: Vec<Bitrate> = match table.find("rates") {
        None => USUAL_RATES.map(Bitrate::from_kbps).into(),
        Some(node) => {
            let mut below = Bitrate::ZERO;
            several(&node, RATES)?.iter().map(|node| rising(node, &mut below)).collect::<Result<_, _>>()?
        }
    };
    let (params, count, seed) =
        source::frame_generator(generator, &GENERATOR_KEYS, GENERATED_FRAMES, FrameLadder::usual_sizes)?;
    if count.saturating_mul(rates.len() as u64) > MAX_FRAMES {
        let most = MAX_FRAMES / rates.len() as u64;
        let found = format!("count {count} for {} rates", rates.len());
        return Err(table.fail(&found, &format!("a generator with count = {most} or less")));
    }
    Ok(LadderSpec::Generator { rates, params, count, seed })
}
