//! From recorders to the output of one end: who does not know a figure does not name it.

use crate::choice::ChosenFlow;
use crate::{NetCounters, NetOutput};
use paceline_metrics::{ColumnData, FloatColumn, TimeSeries};
use paceline_metrics::{Fairness, FlowSummary, Summary};
use paceline_metrics::{FlowRecorder, LinkRecorder, flow_series, link_series};
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

/// Puts the output of one end together. `blank` removes figures that this end does not know from the summary; columns of
/// `unknown` become absent throughout.
pub(crate) fn output(
    flow: ChosenFlow<'_>,
    recorder: FlowRecorder,
    links: &[LinkRecorder],
    seen: Seen,
    unknown: &[&str],
    blank: impl FnOnce(&mut FlowSummary),
) -> NetOutput {
    let mut figures = recorder.summary();
    blank(&mut figures);
    for name in unknown {
        if let Some(mean) = figures.sampled.get_mut(*name) {
            *mean = None;
        }
    }
    let mut flows = flow_series(&[recorder]);
    unknown.iter().for_each(|name| forget(&mut flows, name));
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

/// Every value of a column is absent from now on.
fn forget(table: &mut TimeSeries, name: &str) {
    let rows = table.rows();
    for column in table.columns.iter_mut().filter(|column| column.name == name) {
        let mut absent = FloatColumn::default();
        (0..rows).for_each(|_| absent.push(None));
        column.data = ColumnData::Float(absent);
    }
}
