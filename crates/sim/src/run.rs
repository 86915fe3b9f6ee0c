//! From a loaded scenario to a world that runs, and from there to the figures.

use crate::edge::Edge;
use crate::engine::{Engine, Pace};
use crate::flow::{Flow, FlowParts};
use crate::hop::{Hop, Routes};
use paceline_link::{Link, LinkError};
use paceline_scenario::recorder::{FlowRecorder, LinkRecorder, Ticker, flow_series, link_series};
use paceline_scenario::series::TimeSeries;
use paceline_scenario::summary::{Fairness, Summary};
use paceline_scenario::{Loaded, Scenario, build};
use paceline_transport::rtp::{RtpReceiver, RtpSender};
use paceline_units::{Time, TimeDelta};
use std::collections::BTreeMap;

/// A simulation from its beginning to its figures.
pub struct Simulation {
    scenario: Scenario,
    engine: Engine,
    end: Time,
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures. `wall_s` is left to the driver, which has a clock.
    pub summary: Summary,
    /// The rows of `flows.parquet`.
    pub flows: TimeSeries,
    /// The rows of `links.parquet`.
    pub links: TimeSeries,
}

impl Simulation {
    /// The world of a scenario, before anything happened.
    ///
    /// # Errors
    /// If a link cannot be built; `load` has refused that before.
    pub fn new(loaded: &Loaded, pace: Pace) -> Result<Simulation, LinkError> {
        let scenario = loaded.scenario.clone();
        let mut assembly = Assembly::new(&scenario, loaded)?;
        let flows =
            loaded.parts.flows.iter().enumerate().map(|(index, parts)| assembly.flow(index, parts)).collect();
        let Assembly { hops, edges, routes, .. } = assembly;
        let engine = Engine::assemble(flows, hops, edges, routes, pace);
        // A sample at the end covers what happens at the end.
        let end = Time::ZERO + scenario.duration + TimeDelta::from_nanos(1);
        Ok(Simulation { scenario, engine, end })
    }

    /// Runs on by `span` of simulated time. True when the end is reached.
    pub fn advance(&mut self, span: TimeDelta) -> bool {
        self.engine.advance((self.engine.done() + span).min(self.end));
        self.is_over()
    }

    /// Whether the end is reached.
    pub fn is_over(&self) -> bool {
        self.engine.done() >= self.end
    }

    /// How much of the time is simulated, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.engine.done().as_secs_f64() / self.end.as_secs_f64()
    }

    /// Data packets that reached a receiver so far.
    pub fn packets(&self) -> u64 {
        self.engine.packets()
    }

    /// The figures, when the end is reached.
    pub fn finish(self) -> Outcome {
        let (packets, events) = (self.engine.packets(), self.engine.events());
        let flows: Vec<FlowRecorder> = self.engine.flows.into_iter().map(Flow::into_recorder).collect();
        let links: Vec<LinkRecorder> = self.engine.hops.into_iter().map(Hop::into_recorder).collect();
        let flow_names = self.scenario.flows.iter().map(|flow| flow.name.clone());
        let link_names = self.scenario.links.iter().map(|link| link.name.clone());
        let flow_summaries: BTreeMap<_, _> =
            flow_names.zip(flows.iter().map(FlowRecorder::summary)).collect();
        let summary = Summary {
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            wall_s: 0.0,
            packets,
            events,
            fairness: Fairness::of(flow_summaries.values()),
            flows: flow_summaries,
            links: link_names.zip(links.iter().map(LinkRecorder::summary)).collect(),
            version: env!("CARGO_PKG_VERSION"),
        };
        Outcome { summary, flows: flow_series(&flows), links: link_series(&links) }
    }
}

/// A world that is being put together.
struct Assembly<'a> {
    scenario: &'a Scenario,
    hops: Vec<Hop>,
    edges: Vec<Edge>,
    routes: Routes,
    /// The edge between two links.
    between: BTreeMap<(usize, usize), usize>,
}

impl<'a> Assembly<'a> {
    fn new(scenario: &'a Scenario, loaded: &Loaded) -> Result<Assembly<'a>, LinkError> {
        let hops = scenario.links.iter().zip(&loaded.parts.links).map(|(spec, config)| {
            let link = Link::new(config.clone(), scenario.seed, &spec.name)?;
            let recorder = LinkRecorder::new(scenario, &spec.name);
            let ticker = Ticker::of(scenario, &recorder.window());
            Ok(Hop::new(link, recorder, ticker))
        });
        let hops = hops.collect::<Result<_, LinkError>>()?;
        Ok(Assembly {
            scenario,
            hops,
            edges: Vec::new(),
            routes: Routes::default(),
            between: BTreeMap::new(),
        })
    }

    fn edge(&mut self) -> usize {
        self.edges.push(Edge::new());
        self.edges.len() - 1
    }

    /// The edges along `path`: into the first link, between links, out of the last one.
    fn route(&mut self, path: &[usize]) -> Vec<usize> {
        let first = self.edge();
        let mut route = vec![first];
        for (place, &link) in path.iter().enumerate() {
            if place == 0 {
                self.hops[link].inputs.push(first);
            }
            let out = match path.get(place + 1) {
                Some(&next) => self.edge_between(link, next),
                None => {
                    let last = self.edge();
                    self.hops[link].outputs.push(last);
                    last
                }
            };
            route.push(out);
        }
        route
    }

    fn edge_between(&mut self, link: usize, next: usize) -> usize {
        if let Some(&edge) = self.between.get(&(link, next)) {
            return edge;
        }
        let edge = self.edge();
        self.hops[link].outputs.push(edge);
        self.hops[next].inputs.push(edge);
        self.between.insert((link, next), edge);
        edge
    }

    fn flow(&mut self, index: usize, parts: &build::FlowParts) -> Flow {
        let spec = &self.scenario.flows[index];
        let (forward, back) = (self.route(&parts.path), self.route(&parts.return_path));
        let recorder = FlowRecorder::new(self.scenario, spec);
        let back_delay = if parts.return_path.is_empty() { parts.return_delay } else { TimeDelta::ZERO };
        let (first, last) = (forward[0], forward[forward.len() - 1]);
        let (back_first, back_last) = (back[0], back[back.len() - 1]);
        self.routes.forward.push(forward);
        self.routes.back.push(back);
        let streams = parts.streams.len() as u8;
        Flow::new(FlowParts {
            index: index as u32,
            sender: RtpSender::new(parts.controller.clone(), &parts.sender, parts.streams.clone()),
            receiver: RtpReceiver::with_half(
                parts.feedback,
                streams,
                parts.playout,
                parts.receiver_half.clone(),
            ),
            ecn: parts.ecn,
            overhead: parts.overhead.as_u64() as u32,
            data_out: (first, TimeDelta::ZERO),
            data_in: last,
            reports_out: (back_first, back_delay),
            reports_in: back_last,
            start: parts.start,
            stop: parts.stop,
            ticker: Ticker::of(self.scenario, &recorder.window()),
            recorder,
        })
    }
}
