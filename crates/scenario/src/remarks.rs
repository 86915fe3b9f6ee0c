//! Oddities of a scenario that are no errors.

use crate::key_path::quoted_key;
use crate::rate::RateSpec;
use crate::spec::{FlowSpec, LinkSpec, Scenario};
use paceline_link::{LinkConfig, OverTime as _};
use paceline_units::param::{ParamSet, Value};
use paceline_units::text::{format_rate, format_time};
use paceline_units::{Bitrate, Time, TimeDelta};

/// No link is faster: who says so has written down another unit.
const FASTEST: Bitrate = Bitrate::from_bps(100_000_000_000);

/// Warning of a recorded rate in another unit than Mbit/s, where no link can be so fast.
pub(crate) fn unit(link: &LinkSpec, config: &LinkConfig) -> Option<String> {
    let recorded = match &link.rate {
        RateSpec::Trace(_) => true,
        RateSpec::Steps(steps) => steps.iter().any(|(_, rate)| matches!(rate, RateSpec::Trace(_))),
        RateSpec::Constant(_) | RateSpec::Ramp(_) | RateSpec::Mmwave(_) => false,
    };
    let highest = config.rate.highest(Time::MAX);
    (recorded && highest > FASTEST).then(|| {
        let (name, highest) = (quoted_key(&link.name), format_rate(highest));
        format!("links.{name}.rate: found rates up to {highest}, expected Mbit/s: `scale` converts them, such as 0.000001 for bit/s")
    })
}

/// Warnings of recordings that end before the run, so that their last value holds.
pub(crate) fn ends(duration: TimeDelta, link: &LinkSpec, config: &LinkConfig) -> Vec<String> {
    let recordings = [("rate", config.rate.ends()), ("delay", config.delay.ends())];
    let short =
        recordings.into_iter().filter_map(|(key, ends)| Some((key, ends.filter(|ends| *ends < duration)?)));
    let said = |(key, ends)| {
        let (name, ends, duration) = (quoted_key(&link.name), format_time(ends), format_time(duration));
        format!(
            "links.{name}.{key}: the recording ends after {ends} of the run's {duration}; its last value holds from then on, unless repeat = true"
        )
    };
    short.map(said).collect()
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
