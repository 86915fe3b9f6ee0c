//! `source = { ... }` of a flow or a stream.

use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::source::{
    DrawnFrames, DrawnPages, FrameGenerator, Rfc8593Spec, SourceSpec, VectorGenerator, VideoModelName,
};
use paceline_media::{ClipPreset, FRAME_PRESETS};

/// The expected value of a source.
pub(crate) const SOURCE: &str =
    "a source such as { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }";
pub(crate) fn parse(node: &Node<'_>) -> Result<SourceSpec, ScenarioError> {
    let table = node.table(SOURCE)?;
    let mut source: SourceSpec = params::kind(&table, None)?;
    if let SourceSpec::Rfc8593(spec) = &mut source {
        *spec = video_model(&table)?;
    }
    if let (SourceSpec::CodecModel(model), Some(node)) = (&mut source, table.find("preset")) {
        model.params = node.named(ClipPreset::NAMES, ClipPreset::named)?.params();
    }
    params::set(&table, &mut source, &["kind"])?;
    match &mut source {
        SourceSpec::TraceEncoder(encoder) => {
            encoder.frames.generator = generator(&table, DrawnFrames::default())?;
        }
        SourceSpec::Rfc8593(spec) => {
            spec.ladder.generator = generator(&table, DrawnFrames::of_ladder(None))?;
        }
        SourceSpec::Tmix(spec) => spec.generator = pages(&table)?,
        // The preset that the parameters start from is kept in them alone.
        SourceSpec::CodecModel(model) => model.preset = None,
        _ => {}
    }
    params::check(&table, &source)?;
    Ok(source)
}

/// The usual parameters of the model of RFC 8593 that `table` names. Without a name every key of any model is known.
fn video_model(table: &Table<'_>) -> Result<Rfc8593Spec, ScenarioError> {
    let Some(node) = table.find("model") else {
        let known = Rfc8593Spec::SPECS.iter().map(|spec| spec.name);
        table.only(&std::iter::once("kind").chain(known).collect::<Vec<_>>())?;
        return Ok(Rfc8593Spec::default());
    };
    Ok(Rfc8593Spec::of(node.named(VideoModelName::NAMES, VideoModelName::named)?))
}

/// The generator of frame sizes in `table`, if there is one: `usual`, as the scenario changes it.
fn generator(table: &Table<'_>, usual: DrawnFrames) -> Result<Option<FrameGenerator>, ScenarioError> {
    const GENERATOR: &str = "\"frames\", or { kind = \"frames\", ... } with its parameters";
    let Some(node) = table.find("generator") else { return Ok(None) };
    let mut drawn = usual;
    if node.as_text().is_some() {
        node.name(FrameGenerator::KINDS)?;
        return Ok(Some(FrameGenerator::Frames(drawn)));
    }
    let table = node.table(GENERATOR)?;
    let FrameGenerator::Frames(_) = params::kind(&table, None)?;
    if let Some(name) = table.find("preset").and_then(|node| node.as_text())
        && let Some(preset) = FRAME_PRESETS.iter().find(|preset| preset.name == name)
    {
        drawn.sizes = preset.params();
    }
    params::set(&table, &mut drawn, &["kind"])?;
    if drawn.of_ladder {
        // How often a key frame comes depends on the number of frames.
        drawn = DrawnFrames::of_ladder(Some(drawn.count));
        params::set(&table, &mut drawn, &["kind"])?;
    }
    params::check(&table, &drawn)?;
    // The preset that the parameters start from is kept in them alone, and scenes are a part of the lognormal distribution.
    drawn.preset = None;
    if !drawn.sizes.sizes.is_empty() {
        drawn.sizes.scene_change = 0.0;
    }
    Ok(Some(FrameGenerator::Frames(drawn)))
}

/// The generator of connection vectors in `table`, if there is one.
fn pages(table: &Table<'_>) -> Result<Option<VectorGenerator>, ScenarioError> {
    const GENERATOR: &str = "\"web\", or { kind = \"web\", ... } with its parameters";
    let Some(node) = table.find("generator") else { return Ok(None) };
    let mut drawn = DrawnPages::default();
    if node.as_text().is_some() {
        node.name(VectorGenerator::KINDS)?;
        return Ok(Some(VectorGenerator::Web(drawn)));
    }
    let table = node.table(GENERATOR)?;
    let VectorGenerator::Web(_) = params::kind(&table, None)?;
    params::read(&table, &mut drawn, &["kind"])?;
    Ok(Some(VectorGenerator::Web(drawn)))
}

/// A source that a transport other than TCP can carry.
pub(crate) fn parse_without_connections(node: &Node<'_>) -> Result<SourceSpec, ScenarioError> {
    let source = parse(node)?;
    if source.has_connections() {
        let kind = node.table(SOURCE)?.require("kind", SOURCE)?;
        let others = SourceSpec::KINDS.iter().copied();
        let others = others.filter(|kind| SourceSpec::of(kind).is_some_and(|other| !other.has_connections()));
        let others = paceline_units::text::one_of(&others.collect::<Vec<_>>());
        return Err(kind.fail(&format!("{others}: {} goes with transport tcp", source.kind())));
    }
    Ok(source)
}
