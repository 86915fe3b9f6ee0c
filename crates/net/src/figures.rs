//! From recorders to the output of one end.

use crate::choice::ChosenFlow;
use crate::{NetCounters, NetOutput};
use paceline_metrics::{Fairness, FlowRecorder, LinkRecorder, Summary, flow_series, link_series};
use paceline_units::Time;
use std::collections::BTreeMap;

/// What one end saw over the whole run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// How long it ran; at most the scenario's duration.
    pub ran: Time,
    /// Data packets that are known to have reached the receiver.
    pub packets: u64,
    pub counters: NetCounters,
}

/// Puts the output of one end together.
pub(crate) fn output(
    flow: ChosenFlow<'_>,
    recorder: FlowRecorder,
    links: &[LinkRecorder],
    seen: Seen,
) -> NetOutput {
    let figures = recorder.summary();
    let flows = flow_series(&[recorder]);
    let fairness = Fairness::of([&figures]);
    let ran = seen.ran.min(Time::ZERO + flow.scenario.duration).as_secs_f64();
    let link_names = flow.parts.path.iter().map(|place| flow.scenario.links[*place].name.clone());
    let summary = Summary {
        name: flow.scenario.name.clone(),
        seed: flow.scenario.seed,
        duration_s: ran,
        wall_s: seen.ran.as_secs_f64(),
        packets: seen.packets,
        events: seen.counters.received + seen.counters.sent,
        fairness,
        flows: BTreeMap::from([(flow.spec.name.clone(), figures)]),
        links: link_names.zip(links.iter().map(LinkRecorder::summary)).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    NetOutput { summary, flows, links: link_series(links), counters: seen.counters, warnings: Vec::new() }
}
