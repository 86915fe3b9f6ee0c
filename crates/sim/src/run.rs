//! From a loaded scenario to a world that runs, and from there to the figures.

use crate::any_flow::AnyFlow;
use crate::capture::{CapturePlace, Captures};
use crate::edge::Edge;
use crate::engine::{Engine, Pace};
use crate::flow::FlowWiring;
use crate::hop::Hop;
use crate::host::Host;
use crate::log::MediaLog;
use crate::watch::Watch;
use paceline_link::Link;
use paceline_metrics::TimeSeries;
use paceline_metrics::{Facts, FlowRecorder, LinkRecorder, PairsRecorder, flow_series, link_series};
use paceline_metrics::{Fairness, Summary};
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::{Loaded, Scenario};
use paceline_units::param::ParamError;
use paceline_units::{Time, TimeDelta};
use std::collections::BTreeMap;

/// Fewest events between two points at which all threads wait for each other that are worth sharing: about half
/// a millisecond, beside which handing over is little.
const SHARED: u64 = 2048;

/// A simulation from its beginning to its figures.
pub struct Simulation {
    scenario: Scenario,
    engine: Engine,
    end: Time,
    captures: Option<Captures>,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures. `wall_s` is left to the driver, which has a clock.
    pub summary: Summary,
    /// The rows of `flows.parquet`.
    pub flows: TimeSeries,
    /// The rows of `links.parquet`.
    pub links: TimeSeries,
    /// Of each flow in order what became of its packets of pictures; absent where nobody decodes them.
    pub media: Vec<Option<Box<MediaLog>>>,
    /// Messages on flows that ended although nobody ended them.
    pub warnings: Vec<String>,
}

impl Simulation {
    /// The world of a scenario, before anything happened.
    ///
    /// # Errors
    /// If a link cannot be built, which `load` has refused before; or if a source of pictures has no encoder.
    pub fn new(loaded: &Loaded, pace: Pace) -> Result<Simulation, ParamError> {
        loaded.parts.check_encoders()?;
        let scenario = loaded.scenario.clone();
        let mut assembly = Assembly::new(&scenario, loaded)?;
        let hosts = hosts(&scenario);
        let flows =
            loaded.parts.flows.iter().enumerate().map(|(index, parts)| assembly.flow(index, parts)).collect();
        let Assembly { hops, edges, .. } = assembly;
        let engine = Engine::assemble(flows, hosts, hops, edges, pace);
        // A sample at the end covers what happens at the end.
        let end = Time::ZERO + scenario.duration + TimeDelta::from_nanos(1);
        Ok(Simulation { scenario, engine, end, captures: None })
    }

    /// Keeps every packet from now on, for [`Simulation::write_capture`]. `loaded` is what the world was built of.
    pub fn capture(&mut self, loaded: &Loaded, place: CapturePlace) {
        let captures = Captures::new(place, &self.scenario);
        for (index, (flow, parts)) in self.engine.flows.iter_mut().zip(&loaded.parts.flows).enumerate() {
            flow.set_capture(captures.of_flow(index, parts));
        }
        self.captures = Some(captures);
    }

    /// Appends to `out` what is new of the capture: the front of a pcapng file at first, and the packets since. Nothing
    /// where nothing is captured. The capture of the time between two calls is kept in memory.
    pub fn write_capture(&mut self, out: &mut Vec<u8>) {
        if let Some(captures) = &mut self.captures {
            captures.write(self.engine.flows.iter_mut().filter_map(AnyFlow::capture), out);
        }
    }

    /// Lets large worlds run on so many threads, 1 at first. The outcome is the same to the bit.
    pub fn set_threads(&mut self, threads: usize) {
        self.share_rounds(threads, SHARED);
    }

    /// The same for every world: what happens between two points at which all threads wait for each other is shared from so
    /// many events on.
    pub fn share_rounds(&mut self, threads: usize, events: u64) {
        self.engine.share_rounds(threads, events);
    }

    /// How often all threads have waited for each other so far.
    pub fn shared_rounds(&self) -> u64 {
        self.engine.shared_rounds()
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

    /// How often a component of the world (a sender, a link, a receiver) was asked to go on so far: what the engine's cost
    /// follows beside the events.
    pub fn visits(&self) -> u64 {
        self.engine.visits()
    }

    /// Events at senders, links and receivers so far.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// The rows of `flows.parquet` and of `links.parquet` so far.
    pub fn series(&self) -> (TimeSeries, TimeSeries) {
        let flows: Vec<_> = self.engine.flows.iter().map(|flow| &flow.wiring().recorder).collect();
        let links: Vec<_> = self.engine.net.hops.iter().map(Hop::recorder).collect();
        (flow_series(&flows), link_series(&links))
    }

    /// The figures, when the end is reached.
    pub fn finish(mut self) -> Outcome {
        let media = self.engine.flows.iter_mut().map(AnyFlow::take_log).collect();
        let warnings = self.scenario.flows.iter().zip(&self.engine.flows).filter_map(|(spec, flow)| {
            let (at, why) = flow.failure()?;
            Some(format!("flow {} ended at {:.1} s: {why}", spec.name, at.as_secs_f64()))
        });
        let warnings = warnings.collect();
        let (packets, events) = (self.engine.packets(), self.engine.events());
        let pairs: Vec<_> = self.engine.hosts.iter().filter_map(Host::pairs).collect();
        let pairs = (!pairs.is_empty()).then(|| pairs.into_iter().flat_map(PairsRecorder::summary).collect());
        let flows: Vec<FlowRecorder> = self.engine.flows.into_iter().map(AnyFlow::into_recorder).collect();
        let links: Vec<LinkRecorder> = self.engine.net.hops.into_iter().map(Hop::into_recorder).collect();
        let flow_names = self.scenario.flows.iter().map(|flow| flow.name.clone());
        let link_names = self.scenario.links.iter().map(|link| link.name.clone());
        let flow_summaries: BTreeMap<_, _> =
            flow_names.zip(flows.iter().map(FlowRecorder::summary)).collect();
        let summary = Summary {
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            wall_s: 0.0,
            packets: Some(packets),
            events,
            fairness: Fairness::of(flow_summaries.values()),
            pairs,
            sockets: None,
            flows: flow_summaries,
            links: link_names.zip(links.iter().map(LinkRecorder::summary)).collect(),
            version: self.scenario.version(),
        };
        Outcome { summary, flows: flow_series(&flows), links: link_series(&links), media, warnings }
    }
}

/// Flows that share are on a host of their own, every other flow is by itself.
fn hosts(scenario: &Scenario) -> Vec<Host> {
    let mut shares = vec![false; scenario.flows.len()];
    let mut hosts = Vec::new();
    for coupling in &scenario.couplings {
        let (flows, exchange) = coupling.exchange(&scenario.flows);
        flows.iter().for_each(|&flow| shares[flow] = true);
        hosts.push(Host::coupled(flows, exchange, scenario.pairs_recorder(coupling)));
    }
    hosts.extend((0..shares.len()).filter(|&flow| !shares[flow]).map(Host::Alone));
    hosts
}

/// A world that is being put together.
struct Assembly<'a> {
    scenario: &'a Scenario,
    hops: Vec<Hop>,
    edges: Vec<Edge>,
    /// The edge between two links.
    between: BTreeMap<(usize, usize), usize>,
}

impl<'a> Assembly<'a> {
    fn new(scenario: &'a Scenario, loaded: &Loaded) -> Result<Assembly<'a>, ParamError> {
        let hops = scenario.links.iter().zip(&loaded.parts.links).map(|(spec, config)| {
            let link = Link::new(config.clone(), scenario.seed, &spec.name)?;
            let recorder = scenario.link_recorder(&spec.name);
            let ticker = recorder.ticker();
            Ok(Hop::new(link, recorder, ticker))
        });
        let hops = hops.collect::<Result<_, ParamError>>()?;
        Ok(Assembly { scenario, hops, edges: Vec::new(), between: BTreeMap::new() })
    }

    fn edge(&mut self) -> usize {
        self.edges.push(Edge::new());
        self.edges.len() - 1
    }

    /// Lays edges along `path` for a flow and direction (see [`crate::packet::Packet::way`]): into the first link, between
    /// links, out of the last one. Answers the first and the last.
    fn route(&mut self, path: &[usize], way: usize) -> (usize, usize) {
        let first = self.edge();
        let mut end = first;
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
            let next = &mut self.hops[link].next;
            next.resize(next.len().max(way + 1), u32::MAX);
            next[way] = out as u32;
            end = out;
        }
        (first, end)
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

    /// The watch of a flow whose frames are decoded, or whose packets may be copied.
    fn watch(&self, parts: &FlowParts) -> Option<Watch> {
        let copies = parts.path.iter().any(|&link| self.scenario.links[link].duplicate.is_some());
        (parts.has_codec() || copies).then(|| Watch {
            media: parts.has_codec().then(Box::default),
            copies: copies.then(Box::default),
            ..Watch::default()
        })
    }

    fn flow(&mut self, index: usize, parts: &FlowParts) -> AnyFlow {
        let spec = &self.scenario.flows[index];
        let (first, last) = self.route(&parts.path, index * 2);
        let (back_first, back_last) = self.route(&parts.return_path, index * 2 + 1);
        let recorder = self.scenario.flow_recorder(spec, Facts::ALL);
        let back_delay = if parts.return_path.is_empty() { parts.return_delay } else { TimeDelta::ZERO };
        let wiring = FlowWiring {
            index: index as u32,
            overhead: parts.overhead.as_u64() as u32,
            data_out: (first, TimeDelta::ZERO),
            data_in: last,
            reports_out: (back_first, back_delay),
            reports_in: back_last,
            ticker: recorder.ticker(),
            recorder,
            watch: self.watch(parts).map(Box::new),
        };
        AnyFlow::new(parts, wiring)
    }
}
