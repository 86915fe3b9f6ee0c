//! Messages on flows of a finished run none of whose packets arrived.

use crate::assembly::Loaded;
use crate::spec::FlowSpec;
use paceline_metrics::Summary;
use paceline_units::{Time, TimeDelta};

/// A flow that had less time need not have been heard of.
const SHORTEST: TimeDelta = TimeDelta::from_secs(1);

impl Loaded {
    /// All messages on a finished run: those of its scenario, on flows of which nothing arrived, and `more` of the run itself.
    pub fn warnings(&self, summary: &Summary, more: Vec<String>) -> Vec<String> {
        [self.parts.warnings.clone(), self.nothing_arrived(summary), more].concat()
    }

    /// Messages on flows that had a second or more, and none of whose packets arrived.
    pub fn nothing_arrived(&self, summary: &Summary) -> Vec<String> {
        self.scenario.flows.iter().filter_map(|flow| self.of_empty_flow(flow, summary)).collect()
    }

    fn of_empty_flow(&self, flow: &FlowSpec, summary: &Summary) -> Option<String> {
        let figures = summary.flows.get(&flow.name).filter(|figures| figures.packets_received == Some(0))?;
        let until = flow.stop.map_or(summary.duration_s, |stop| stop.as_secs_f64().min(summary.duration_s));
        let from = flow.start.max(self.scenario.warmup).as_secs_f64();
        let seconds = until - from;
        if seconds < SHORTEST.as_secs_f64() {
            return None;
        }
        let what = match figures.packets_sent? {
            0 => "nothing was sent".into(),
            sent => format!("none of {sent} packets arrived"),
        };
        let name = &flow.name;
        let why = flow.path.iter().find_map(|link| {
            let config = &self.parts.links[self.scenario.link_index(link)?];
            let bits = config.capacity_bits(Time::from_secs_f64(from), Time::from_secs_f64(until));
            let packet = flow.packet_size.as_bits_f64();
            (bits < packet).then(|| {
                format!("; link {link} takes {bits:.0} bits in that time, and a packet has {packet:.0}")
            })
        });
        Some(format!("flow {name}: {what} in {seconds:.1} s{}", why.unwrap_or_default()))
    }
}
