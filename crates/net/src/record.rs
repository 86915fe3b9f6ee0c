//! One end's record of its flows: figures and time series, of what it can know.

use crate::choice::ScenarioFlow;
use crate::control::{Progress, Told};
use crate::{NetCounters, NetError, NetOutput};
use paceline_media::PlayoutCounters;
use paceline_metrics::{
    Facts, Fairness, FlowRecorder, LinkRecorder, ReceivedPacket, Summary, Tick, Ticker, flow_series,
    link_series,
};
use paceline_units::Time;
use std::collections::BTreeMap;

/// The record of a flow at a sender, a receiver or a relay.
pub(crate) struct FlowRecord<'a> {
    flow: ScenarioFlow<'a>,
    pub recorder: FlowRecorder,
    ticker: Ticker,
    /// Data packets that are known to have reached the receiver.
    packets: u64,
}

impl<'a> FlowRecord<'a> {
    /// A record of an end that can know `facts`.
    pub fn new(flow: ScenarioFlow<'a>, facts: Facts) -> FlowRecord<'a> {
        let recorder = flow.scenario.flow_recorder(flow.spec, facts);
        FlowRecord { flow, ticker: recorder.ticker(), recorder, packets: 0 }
    }

    /// Name of the flow.
    pub fn name(&self) -> &'a str {
        &self.flow.spec.name
    }

    /// A data packet reached the receiver.
    pub fn received(&mut self, packet: &ReceivedPacket) {
        self.packets += 1;
        self.recorder.received(std::slice::from_ref(packet));
    }

    /// The next time at which the recorder is to be sampled.
    pub fn pending(&self) -> Option<Tick> {
        self.ticker.pending()
    }

    /// Does the receiving end's part of the next tick that is due at `now`, if any is.
    pub fn tick(&mut self, now: Time, playout: PlayoutCounters, progress: &Told<'_>) -> Option<Tick> {
        let tick = self.ticker.due(now)?;
        self.recorder.tick_receiver(tick, playout);
        if let Tick::Sample(at) = tick {
            progress(Progress::Reached(at));
        }
        Some(tick)
    }

    /// Ends the statistics at `now` if they have not ended: the run is over. Answers the tick that this is.
    pub fn stop(&mut self, now: Time, playout: PlayoutCounters) -> Option<Tick> {
        self.ticker.cut().then(|| {
            self.recorder.tick_receiver(Tick::End(now), playout);
            Tick::End(now)
        })
    }
}

/// The rest of a flow's driver that has ended.
pub(crate) struct Ended<'a> {
    pub record: FlowRecord<'a>,
    /// When it ended, since the run's zero.
    pub ran: Time,
    pub counters: NetCounters,
    pub warnings: Vec<String>,
    /// Why nothing ever came back to it, if so.
    pub unanswered: Option<NetError>,
}

/// Joins the outcome of flows of one path; messages name their flow where there are several. `beside`: messages on all of them.
///
/// # Errors
/// If nothing ever came back to any of them.
pub(crate) fn joined(mut ended: Vec<Ended<'_>>, beside: Vec<String>) -> Result<NetOutput, NetError> {
    if ended.iter().all(|flow| flow.unanswered.is_some())
        && let Some(error) = ended.iter_mut().find_map(|flow| flow.unanswered.take())
    {
        return Err(error);
    }
    let (mut records, mut counters, mut warnings) = (Vec::new(), NetCounters::default(), beside);
    let (mut ran, several) = (Time::ZERO, ended.len() > 1);
    for Ended { record, ran: until, counters: counted, warnings: mut said, unanswered } in ended {
        ran = ran.max(until);
        counters.add(counted);
        counters.unanswered_flows += u64::from(unanswered.is_some());
        said.extend(unanswered.map(|error| error.to_string()));
        let name = &record.flow.spec.name;
        warnings.extend(said.into_iter().map(|said| named(several, name, said)));
        records.push(record);
    }
    Ok(finish(records, ran, &[], counters, warnings))
}

/// A message on a flow, with its name where there are several.
pub(crate) fn named(several: bool, name: &str, said: String) -> String {
    if several { format!("flow {name}: {said}") } else { said }
}

/// The outcome of a run of several flows, all of one path, that ended `ran` after its zero.
pub(crate) fn finish(
    records: Vec<FlowRecord<'_>>,
    ran: Time,
    links: &[LinkRecorder],
    counters: NetCounters,
    warnings: Vec<String>,
) -> NetOutput {
    let flow = records[0].flow;
    let knows_arrivals = records.iter().all(|record| record.recorder.knows(Facts::ARRIVALS));
    let packets = records.iter().map(|record| record.packets).sum();
    let places = flow.parts.path.iter().chain(&flow.parts.return_path);
    let link_names = places.map(|place| flow.scenario.links[*place].name.clone());
    let named = |record: &FlowRecord<'_>| (record.flow.spec.name.clone(), record.recorder.summary());
    let figures: BTreeMap<_, _> = records.iter().map(named).collect();
    let summary = Summary {
        name: flow.scenario.name.clone(),
        seed: flow.scenario.seed,
        duration_s: ran.min(Time::ZERO + flow.scenario.duration).as_secs_f64(),
        wall_s: ran.as_secs_f64(),
        packets: knows_arrivals.then_some(packets),
        events: counters.received + counters.sent,
        fairness: Fairness::of(figures.values()),
        pairs: None,
        sockets: Some(counters),
        flows: figures,
        links: link_names.zip(links.iter().map(LinkRecorder::summary)).collect(),
        version: flow.scenario.version(),
    };
    let recorders: Vec<_> = records.into_iter().map(|record| record.recorder).collect();
    NetOutput { summary, flows: flow_series(&recorders), links: link_series(links), counters, warnings }
}
