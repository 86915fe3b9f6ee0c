//! Oddities of a scenario, or of its outcome, that are no errors.

use crate::assembly::Loaded;
use crate::overrides::quoted_key;
use crate::rate::RateSpec;
use crate::spec::{FlowSpec, LinkSpec, Scenario};
use paceline_link::LinkConfig;
use paceline_metrics::Summary;
use paceline_units::param::{ParamSet, Value};
use paceline_units::text::format_rate;
use paceline_units::{Bitrate, Time, TimeDelta};

/// No link is faster: who says so has written down another unit.
const FASTEST: Bitrate = Bitrate::from_bps(100_000_000_000);
/// A flow that had less time need not have been heard of.
const SHORTEST: TimeDelta = TimeDelta::from_secs(1);

/// Warning of a recorded rate in another unit than Mbit/s, where no link can be so fast.
pub(crate) fn unit(link: &LinkSpec, config: &LinkConfig) -> Option<String> {
    let recorded = match &link.rate {
        RateSpec::Trace(_) => true,
        RateSpec::Steps(steps) => steps.iter().any(|(_, rate)| matches!(rate, RateSpec::Trace(_))),
        RateSpec::Constant(_) | RateSpec::Mmwave(_) => false,
    };
    let highest = config.rate.highest(Time::MAX);
    (recorded && highest > FASTEST).then(|| {
        let (name, highest) = (quoted_key(&link.name), format_rate(highest));
        format!("links.{name}.rate: found rates up to {highest}, expected Mbit/s: `scale` converts them, such as 0.000001 for bit/s")
    })
}

/// Warning of a least bitrate above the rate that a link of the flow's path ever has.
pub(crate) fn least_bitrate(scenario: &Scenario, flow: &FlowSpec, links: &[LinkConfig]) -> Option<String> {
    let own = flow.streams.iter().filter_map(|stream| Some(stream.limits?.min));
    let of_streams = Bitrate::from_bps(own.map(Bitrate::as_bps).fold(0, u64::saturating_add));
    let least = match flow.controller.params.value("target_bitrate_min") {
        _ if of_streams > Bitrate::ZERO => of_streams,
        Some(Value::Rate(rate)) => rate,
        _ => return None,
    };
    let end = Time::ZERO + flow.stop.unwrap_or(scenario.duration);
    let places = flow.path.iter().filter_map(|link| Some((scenario.link_index(link)?, link)));
    let (highest, link) = places.map(|(place, link)| (links[place].rate.highest(end), link)).min()?;
    (least > highest).then(|| {
        let (name, least, highest) = (quoted_key(&flow.name), format_rate(least), format_rate(highest));
        format!("flows.{name}: found a least bitrate of {least}, expected at most the {highest} of link {link}: its queue stays full")
    })
}

impl Loaded {
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
