//! `bitrate = { min, start, max }`: the limits of flows and streams.

use crate::error::ScenarioError;
use crate::params;
use crate::reader::Table;
use crate::spec::StreamLimits;
use paceline_cc::ControllerParams;
use paceline_units::param::{ParamError, ParamSet, Value};
use paceline_units::{Bitrate, params};

params! {
    /// The limits of the bitrate of media, headers in: `bitrate` of a flow or a stream.
    pub(crate) struct BitrateKeys {
        min: Option<Bitrate> = None, else "the controller's, or none", in 1e3, 1e12, "", "Lowest target bitrate";
        start: Option<Bitrate> = None, else "the controller's, within the limits", in 1e3, 1e12, "", "First target bitrate";
        max: Option<Bitrate> = None, else "the controller's, or none", in 1e3, 1e12, "", "Highest target bitrate";
    }
}

params! {
    /// The names of a stream's limits before `bitrate`.
    pub(crate) struct OlderKeys {
        target_bitrate_min: Option<Bitrate> = None, else "the flow's", in 1.0, 1e15, "", "Older name of `bitrate.min`";
        target_bitrate_start: Option<Bitrate> = None, else "the flow's", in 1.0, 1e15, "", "Older name of `bitrate.start`";
        target_bitrate_max: Option<Bitrate> = None, else "the flow's", in 1.0, 1e15, "", "Older name of `bitrate.max`";
    }
}

const BITRATE: &str = "limits such as { min = \"50kbps\", start = \"300kbps\", max = \"5Mbps\" }";

impl BitrateKeys {
    /// The limits of a flow or a stream: absent where it says none.
    fn parse(table: &Table<'_>) -> Result<Option<BitrateKeys>, ScenarioError> {
        let Some(node) = table.find("bitrate") else { return Ok(None) };
        let mut keys = BitrateKeys::default();
        params::set(&node.table(BITRATE)?, &mut keys, &[])?;
        Ok(Some(keys))
    }

    /// The limits that these values make of others, which give way where they cross.
    fn over(&self, default: StreamLimits, table: &Table<'_>) -> Result<StreamLimits, ScenarioError> {
        let min = self.min.unwrap_or(default.min.min(self.max.unwrap_or(Bitrate::MAX)));
        let max = self.max.unwrap_or(default.max.max(min));
        let start = self.start.unwrap_or(default.start.max(min).min(max));
        if min <= start && start <= max {
            return Ok(StreamLimits { min, start, max });
        }
        let rate = paceline_units::text::format_rate;
        let found = format!("a bitrate of min {}, start {} and max {}", rate(min), rate(start), rate(max));
        Err(table.fail(&found, "min <= start <= max"))
    }
}

/// `bitrate` of a flow sets the parameters that say the same, under the names that they have there. Answers the limits that hold then;
/// none where the flow says nothing.
pub(super) fn set(
    flow: &Table<'_>,
    table: Option<&Table<'_>>,
    params: &mut ControllerParams,
) -> Result<Option<StreamLimits>, ScenarioError> {
    let Some(keys) = BitrateKeys::parse(flow)? else { return Ok(None) };
    let limits = keys.over(StreamLimits::of(params), flow)?;
    let values = ["min", "start", "max"].into_iter().zip([limits.min, limits.start, limits.max]);
    for ((key, value), name) in values.zip(params.bitrate_names()) {
        let Some(name) = name else { continue };
        let node = flow.require("bitrate", BITRATE)?.table(BITRATE)?.find(key);
        if table.is_some_and(|table| table.find(name).is_some()) {
            match node {
                Some(node) => return Err(node.fail(&format!("nothing: the controller's {name} says it"))),
                None => continue,
            }
        }
        let expected = |error: ParamError| match &node {
            Some(node) => node.fail(&error.expected),
            None => flow.fail("a bitrate that the controller cannot have", &error.expected),
        };
        params.set(name, Value::Rate(value)).map_err(expected)?;
    }
    Ok(Some(limits))
}

/// The limits of one of several streams: its own, and for the rest those of its flow.
pub(super) fn of_stream(
    stream: &Table<'_>,
    params: &ControllerParams,
    of_flow: Option<StreamLimits>,
) -> Result<Option<StreamLimits>, ScenarioError> {
    let said = BitrateKeys::parse(stream)?;
    let (mut is_said, mut keys) = (said.is_some(), said.unwrap_or_default());
    let mut older = OlderKeys::default();
    params::set_some(stream, &mut older)?;
    let limits = [&mut keys.min, &mut keys.start, &mut keys.max].into_iter();
    for (value, spec) in limits.zip(OlderKeys::SPECS) {
        let (Some(node), Some(Value::Rate(rate))) = (stream.find(spec.name), older.value(spec.name)) else {
            continue;
        };
        if value.replace(rate).is_some() {
            return Err(node.fail("nothing: bitrate says it"));
        }
        is_said = true;
    }
    if !is_said {
        return Ok(of_flow);
    }
    keys.over(of_flow.unwrap_or(StreamLimits::of(params)), stream).map(Some)
}
