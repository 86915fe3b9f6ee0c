//! From a scenario to the parts that run it: files read, links and endpoints configured.

mod parts;
mod video;

pub use parts::{CodecStream, FlowParts, Parts};

use crate::error::{Place, ScenarioError};
use crate::files::{FileError, Loader};
use crate::key_path::quoted_key;
use crate::overrides;
use crate::rate::*;
use crate::remarks;
use crate::schema;
use crate::source::*;
use crate::spec::*;
use paceline_cc::{AnyController, CeResponse, Controller, FlowSetup, Limits, StreamId, Verb};
use paceline_link::generate::{mmwave, states};
use paceline_link::trace::{TraceError, TraceWarning};
use paceline_link::{LinkConfig, OverTime, RateProcess, Trace};
use paceline_media::{
    Bulk, BulkParams, Cbr, CbrParams, Codec, CodecModel, CodecModelParams, CodecParams, ConnectionVectors,
    FrameTrace, FrameTraceFormat, Source, TraceEncoder, TraceEncoderParams, frame_sizes,
};
use paceline_units::param::{FileName, ParamError};
use paceline_units::{Bitrate, Bytes, EcnMode, RandomStream, Time, TimeDelta};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::rc::Rc;

/// Where a scenario comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Text of the scenario.
    pub text: &'a str,
    /// Name of the text in messages; its stem names a scenario without a name.
    pub file: &'a str,
    /// Changes by `--set`: path and value, in order.
    pub sets: &'a [(String, String)],
}

/// A scenario that is ready to run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario, its files by absolute names: written out, it can be run from anywhere.
    pub scenario: Scenario,
    /// Its parts.
    pub parts: Parts,
}

impl Loaded {
    /// The same scenario, for longer: a flow without an end of its own, and its streams, go on until then.
    ///
    /// # Errors
    /// If that makes more rows of time series than a run keeps.
    pub fn lasting(&self, duration: TimeDelta) -> Result<Loaded, ScenarioError> {
        let mut longer = self.clone();
        longer.scenario.duration = duration;
        schema::check_rows(&longer.scenario)?;
        for (flow, parts) in longer.scenario.flows.iter().zip(&mut longer.parts.flows) {
            parts.stop = Time::ZERO + flow.stop.unwrap_or(duration);
            parts.ends.last(flow, duration);
        }
        Ok(longer)
    }
}

/// Reads a scenario and everything that it names.
///
/// # Errors
/// The first thing that is wrong, with its place: in the text, in a `--set`, or in a file that the text names.
pub fn load(origin: &Origin<'_>, loader: &Loader) -> Result<Loaded, ScenarioError> {
    let mut scenario = overrides::parse_with(origin.text, origin.file, origin.sets)?;
    let located = |error: ScenarioError| {
        let error = ScenarioError { file: origin.file.into(), ..error };
        overrides::place(error, origin.text, origin.file, origin.sets)
    };
    let parts = build(&scenario, loader).map_err(located)?;
    scenario.name_files_absolutely(loader);
    Ok(Loaded { scenario, parts })
}

/// Configures everything that `scenario` is made of, and reads the files that it names.
///
/// # Errors
/// A file that is missing or malformed, or parts that do not fit. The error has a key and no place: [`load`] finds it.
pub fn build(scenario: &Scenario, loader: &Loader) -> Result<Parts, ScenarioError> {
    let mut builder = Builder {
        scenario,
        loader,
        recordings: BTreeMap::new(),
        traces: BTreeMap::new(),
        frames: BTreeMap::new(),
        vectors: BTreeMap::new(),
        data_units: 0,
        codecs: Vec::new(),
        warnings: Vec::new(),
    };
    let links = scenario.links.iter().map(|link| builder.link(link)).collect::<Result<Vec<_>, _>>()?;
    let flows = scenario.flows.iter().map(|flow| builder.flow(flow)).collect::<Result<_, _>>()?;
    let units = scenario.links.iter().zip(&links).filter_map(|(link, config)| remarks::unit(link, config));
    let ends = scenario.links.iter().zip(&links);
    let ends = ends.flat_map(|(link, config)| remarks::ends(scenario.duration, link, config));
    let least = scenario.flows.iter().filter_map(|flow| remarks::least_bitrate(scenario, flow, &links));
    builder.warnings.extend(units.chain(ends).chain(least));
    Ok(Parts { links, flows, codecs: builder.codecs, warnings: builder.warnings })
}

impl Scenario {
    /// Every file by its absolute name, so that the scenario means the same in another folder.
    fn name_files_absolutely(&mut self, loader: &Loader) {
        let absolute = |file: &mut String| {
            if let Some(path) = loader.find(file).ok().and_then(|path| std::path::absolute(path).ok()) {
                *file = path.to_string_lossy().into_owned();
            }
        };
        for link in &mut self.links {
            link.rate.traces_mut().into_iter().for_each(|trace| absolute(&mut trace.file.0));
            for (_, quantity) in link.over_time() {
                quantity.file_mut().into_iter().for_each(|file| absolute(&mut file.0));
            }
        }
        for stream in self.flows.iter_mut().flat_map(|flow| &mut flow.streams) {
            stream.source.files_mut().into_iter().for_each(&absolute);
        }
    }
}

/// Refuses a controller that uses words which the transport of its flow does not execute.
pub(crate) fn check_verbs(flow: &FlowSpec, used: &[Verb], executed: &[Verb]) -> Result<(), ScenarioError> {
    let Some(verb) = used.iter().find(|verb| !executed.contains(verb)) else { return Ok(()) };
    let (verb, transport) = (verb.name(), flow.transport.name());
    let key = format!("flows.{}.controller", quoted_key(&flow.name));
    let expected =
        format!("a controller that does without {verb}: transport {transport} cannot execute them");
    Err(wrong(key, flow.controller.params.kind(), &expected))
}

/// Refuses packets that say they can be marked, of a controller that does nothing when they are.
fn check_ecn(flow: &FlowSpec, response: CeResponse) -> Result<(), ScenarioError> {
    match response {
        CeResponse::Reduces | CeResponse::Uncontrolled => Ok(()),
        CeResponse::Ignored if flow.ecn == EcnMode::Off => Ok(()),
        CeResponse::Ignored => {
            let key = format!("flows.{}.ecn", quoted_key(&flow.name));
            let kind = flow.controller.params.kind();
            let expected = format!("\"off\": the controller {kind} ignores marks (CE)");
            Err(wrong(key, flow.ecn.name(), &expected))
        }
    }
}

pub(crate) fn wrong(key: String, found: impl Display, expected: &str) -> ScenarioError {
    let (found, expected) = (found.to_string(), expected.into());
    ScenarioError { file: "".into(), place: Place::Whole, key, found, expected, hint: None }
}

/// The error of a parameter in the table at `table`.
pub(crate) fn within(table: &str, error: &ParamError) -> ScenarioError {
    wrong(format!("{table}.{}", error.name), &error.found, &error.expected)
}

/// A stream of a flow, built.
pub(crate) struct StreamParts {
    pub(crate) source: Source,
    /// Weight of the stream beside others.
    pub(crate) priority: f64,
    /// First target of its encoder.
    pub(crate) target_start: Bitrate,
    pub(crate) limits: Limits,
}

/// A scenario that is being built.
pub(crate) struct Builder<'a> {
    pub(crate) scenario: &'a Scenario,
    loader: &'a Loader,
    /// Files that were read, so that a hundred flows read theirs once.
    recordings: BTreeMap<String, (Rc<[u8]>, String)>,
    traces: BTreeMap<String, Trace>,
    frames: BTreeMap<String, FrameTrace>,
    pub(crate) vectors: BTreeMap<String, ConnectionVectors>,
    /// Data units of all flows that have connection vectors.
    pub(crate) data_units: u64,
    codecs: Vec<CodecStream>,
    pub(crate) warnings: Vec<String>,
}

impl Builder<'_> {
    pub(crate) fn read(&self, key: &str, file: &str) -> Result<(Vec<u8>, String), ScenarioError> {
        let (bytes, path) = self
            .loader
            .read(file)
            .map_err(|FileError { found, expected }| wrong(key.into(), found, &expected))?;
        Ok((bytes, path.display().to_string()))
    }

    /// The contents of a recording of a link, of which several quantities may be columns.
    fn recording(&mut self, key: &str, file: &str) -> Result<(Rc<[u8]>, String), ScenarioError> {
        if let Some(read) = self.recordings.get(file) {
            return Ok(read.clone());
        }
        let (bytes, path) = self.read(key, file)?;
        let read = (Rc::from(bytes), path);
        self.recordings.insert(file.into(), read.clone());
        Ok(read)
    }

    /// The seed of a generator: its own, or one of the run's that belongs to `name` alone.
    pub(crate) fn seed(&self, own: Option<u64>, name: &str) -> u64 {
        own.unwrap_or_else(|| RandomStream::new(self.scenario.seed, name).next_u64())
    }

    fn link(&mut self, link: &LinkSpec) -> Result<LinkConfig, ScenarioError> {
        let table = format!("links.{}", quoted_key(&link.name));
        let at = |time: TimeDelta| Time::ZERO + time;
        let mut config = LinkConfig {
            rate: self.rate(&link.name, &link.rate, &table)?,
            delay: link.delay.clone(),
            overtake: link.overtake,
            queue: link.queue.clone(),
            mark: link.mark.clone(),
            loss: link.loss.clone(),
            policer: link.policer.clone(),
            shaper: link.shaper.clone(),
            corrupt: link.corrupt.clone(),
            duplicate: link.duplicate.clone(),
            noise: link.noise.clone(),
            down: link.down.iter().map(|&(from, to)| (at(from), at(to))).collect(),
            overhead: link.overhead,
        };
        for (key, quantity) in config.over_time() {
            self.recorded(&format!("{table}.{key}.trace"), quantity)?;
        }
        config.validate().map_err(|error| within(&table, &error))?;
        Ok(config)
    }

    /// Reads the recording of a quantity, if it has one.
    fn recorded(&mut self, key: &str, quantity: &mut dyn OverTime) -> Result<(), ScenarioError> {
        let Some(file) = quantity.unread() else { return Ok(()) };
        let (bytes, path) = self.recording(key, file)?;
        let oddities = quantity.read(&bytes).map_err(|error| malformed(key, &path, &error))?;
        self.warn(key, &path, &oddities);
        Ok(())
    }

    /// Says what was odd in a recording.
    fn warn(&mut self, key: &str, path: &str, oddities: &[TraceWarning]) {
        self.warnings.extend(oddities.iter().map(|warning| format!("{key}: {path}: {warning}")));
    }

    fn rate(&mut self, link: &str, rate: &RateSpec, table: &str) -> Result<RateProcess, ScenarioError> {
        match rate {
            RateSpec::Constant(rate) => Ok(RateProcess::Constant(*rate)),
            RateSpec::Steps(steps) => {
                let mut part = |(at, rate): &(TimeDelta, RateSpec)| {
                    Ok((Time::ZERO + *at, self.rate(link, rate, table)?))
                };
                Ok(RateProcess::Sequence(steps.iter().map(&mut part).collect::<Result<_, _>>()?))
            }
            RateSpec::Ramp(points) => {
                Ok(RateProcess::Ramp(points.iter().map(|&(at, rate)| (Time::ZERO + at, rate)).collect()))
            }
            RateSpec::Trace(spec) => {
                let mut trace = self.trace(spec, format!("{table}.rate.trace"))?;
                if let Some(rate) = spec.zero {
                    let filled = trace.with_zeros_at(rate);
                    trace = filled
                        .map_err(|error| wrong(format!("{table}.rate.zero"), error.found, &error.expected))?;
                }
                let Played { scale, repeat } = spec.played;
                Ok(RateProcess::Trace { trace, offset: spec.offset, scale, repeat })
            }
            RateSpec::Mmwave(spec) => {
                let seed = self.seed(spec.seed, &format!("link.{link}.rate"));
                let length = spec.length.unwrap_or(self.scenario.duration);
                let drawn = match spec.states() {
                    None => mmwave(seed, length, &spec.two_states),
                    Some(params) => states(seed, length, &params),
                };
                let trace =
                    drawn.map_err(|error| wrong(format!("{table}.rate"), error.found, &error.expected))?;
                let Played { scale, repeat } = spec.played;
                Ok(RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale, repeat })
            }
        }
    }

    fn trace(&mut self, spec: &TraceSpec, key: String) -> Result<Trace, ScenarioError> {
        let scaled = spec.played.scale != 1.0;
        let known = format!("{} {:?} {scaled}", spec.file.0, spec.options);
        if let Some(trace) = self.traces.get(&known) {
            return Ok(trace.clone());
        }
        let (bytes, path) = self.recording(&key, &spec.file.0)?;
        let parse = if scaled { Trace::parse_numbers } else { Trace::parse };
        let trace = parse(&bytes, &spec.options).map_err(|error| malformed(&key, &path, &error))?;
        self.warn(&key, &path, trace.warnings());
        self.traces.insert(known, trace.clone());
        Ok(trace)
    }

    fn flow(&mut self, flow: &FlowSpec) -> Result<FlowParts, ScenarioError> {
        let index =
            |names: &[String]| names.iter().filter_map(|name| self.scenario.link_index(name)).collect();
        let (path, return_path) = (index(&flow.path), index(&flow.return_path));
        let controller = controller(flow)?;
        let ends = flow.transport.build(flow, &controller, self)?;
        let executed = flow.transport.choice().executes(flow.controller.params.steers());
        check_verbs(flow, controller.verbs(), executed)?;
        check_ecn(flow, controller.ce_response())?;
        Ok(FlowParts {
            ends,
            controller,
            ecn: flow.ecn.codepoint(),
            path,
            return_path,
            return_delay: flow.return_delay,
            start: Time::ZERO + flow.start,
            stop: Time::ZERO + flow.stop.unwrap_or(self.scenario.duration),
            pauses: flow.pause.iter().map(|&(from, to)| (Time::ZERO + from, Time::ZERO + to)).collect(),
            overhead: flow.overhead,
        })
    }

    /// The streams of a flow whose packets have at most this payload.
    pub(crate) fn streams(
        &mut self,
        flow: &FlowSpec,
        controller: &AnyController,
        max_payload: Bytes,
    ) -> Result<Vec<StreamParts>, ScenarioError> {
        let streams = flow.streams.iter().enumerate().map(|(id, stream)| {
            let target =
                stream.limits.map(|limits| limits.start).or(controller.target_bitrate(StreamId(id as u8)));
            let target_start = target.unwrap_or(StreamLimits::NONE.start);
            let source = self.source(flow, stream, max_payload, target_start)?;
            let limits = limits(StreamId(id as u8), stream, &flow.controller);
            Ok(StreamParts { source, priority: stream.priority, target_start, limits })
        });
        streams.collect()
    }

    fn source(
        &mut self,
        flow: &FlowSpec,
        stream: &StreamSpec,
        max_payload: Bytes,
        target_start: Bitrate,
    ) -> Result<Source, ScenarioError> {
        let table = source_table(flow, stream);
        match &stream.source {
            SourceSpec::TraceEncoder(spec) => {
                let name = format!("flow.{}.{}.frames", flow.name, stream.label());
                let params = TraceEncoderParams { target_start, ..spec.encoder };
                let encoder = TraceEncoder::new(self.frame_trace(&spec.frames, &table, &name)?, params);
                encoder.map(Source::TraceEncoder).map_err(|error| within(&table, &error))
            }
            SourceSpec::Rfc8593(spec) => {
                let name = format!("flow.{}.{}", flow.name, stream.label());
                self.video_model(spec, &table, &name, target_start).map(Source::Rfc8593)
            }
            SourceSpec::Cbr(params) => {
                let packets = || {
                    CbrParams::packets(params.rate, max_payload).ok_or_else(|| {
                        let found = paceline_units::text::format_rate(params.rate);
                        wrong(format!("{table}.rate"), found, "at most 1000Gbps")
                    })
                };
                Ok(Source::Cbr(Cbr::new(params.fps.map_or_else(packets, |_| Ok(*params))?)))
            }
            SourceSpec::Codec(spec) => {
                self.codec_stream(flow, stream, max_payload)?;
                Ok(Source::Codec(Codec::new(CodecParams { target_start, ..spec.grid })))
            }
            SourceSpec::CodecModel(spec) => {
                let name = format!("flow.{}.{}.frames", flow.name, stream.label());
                let params = CodecModelParams { target_start, ..spec.params };
                Ok(Source::CodecModel(CodecModel::new(params, self.seed(spec.params.seed, &name))))
            }
            SourceSpec::Bulk(params) => Ok(Source::Bulk(Bulk::new(BulkParams {
                length: params.length,
                ..BulkParams::for_payload(max_payload)
            }))),
            SourceSpec::ShortTransfers(_) | SourceSpec::Tmix(_) => {
                Err(wrong(format!("{table}.kind"), stream.source.kind(), "a flow with transport tcp"))
            }
        }
    }

    fn frame_trace(
        &mut self,
        frames: &FramesSpec,
        table: &str,
        name: &str,
    ) -> Result<FrameTrace, ScenarioError> {
        if let Some(FrameGenerator::Frames(drawn)) = &frames.generator {
            let count = usize::try_from(drawn.count).unwrap_or(usize::MAX);
            return frame_sizes(self.seed(drawn.seed, name), count, &drawn.sizes)
                .map_err(|error| within(&format!("{table}.generator"), &error));
        }
        let file = frames.file.clone().unwrap_or_default();
        self.recorded_frames(&file, frames.format, table)
    }

    fn recorded_frames(
        &mut self,
        file: &FileName,
        format: Option<FrameTraceFormat>,
        table: &str,
    ) -> Result<FrameTrace, ScenarioError> {
        let known = format!("{} {format:?}", file.0);
        if let Some(trace) = self.frames.get(&known) {
            return Ok(trace.clone());
        }
        let key = format!("{table}.file");
        let (bytes, path) = self.read(&key, &file.0)?;
        let trace = FrameTrace::parse(&bytes, format)
            .map_err(|error| wrong(key, in_file(&error.found, error.line, &path), error.expected))?;
        self.frames.insert(known, trace.clone());
        Ok(trace)
    }
}

/// The path of a stream's source.
pub(crate) fn source_table(flow: &FlowSpec, stream: &StreamSpec) -> String {
    let flow = quoted_key(&flow.name);
    match &stream.name {
        None => format!("flows.{flow}.source"),
        Some(name) => format!("flows.{flow}.streams.{}.source", quoted_key(name)),
    }
}

/// The error of a recording that is none of its format.
fn malformed(key: &str, path: &str, error: &TraceError) -> ScenarioError {
    wrong(key.into(), in_file(&format!("{:?}", error.found), error.line, path), &error.expected)
}

/// The text found, and its place in which file.
pub(crate) fn in_file(found: &str, line: Option<usize>, path: &str) -> String {
    match line {
        Some(line) => format!("{found} in line {line} of {path}"),
        None => format!("{found} in {path}"),
    }
}

/// The limits that the sender holds: of one of several streams, and of a flow's only one under a controller that has none.
fn limits(id: StreamId, stream: &StreamSpec, controller: &ControllerSpec) -> Limits {
    match stream.limits.filter(|_| stream.name.is_some() || !controller.has_limits()) {
        Some(StreamLimits { min, max, .. }) => Limits { stream: id, min, max },
        None => Limits::none(id),
    }
}

/// The controller of a flow.
fn controller(flow: &FlowSpec) -> Result<AnyController, ScenarioError> {
    let mut setup = FlowSetup {
        l4s: flow.ecn == EcnMode::L4s,
        largest_packet: flow.packet_size,
        priorities: flow.streams.iter().map(|stream| stream.priority).collect(),
        ..FlowSetup::default()
    };
    flow.transport.set_up(&mut setup);
    AnyController::new(&flow.controller.params, &setup)
        .map_err(|error| within(&format!("flows.{}.controller", quoted_key(&flow.name)), &error))
}
