//! `count` and `start_within`: many flows from one table.

use super::path::Surroundings;
use crate::error::ScenarioError;
use crate::params;
use crate::reader::Node;
use crate::spec::FlowSpec;
use paceline_units::{RandomStream, TimeDelta, params};

params! {
    /// Many flows from one table.
    pub(crate) struct CopyKeys {
        count: u64 = 1, in 1.0, 10_000.0, "", "Number of flows like this one, called `NAME-1` and so on";
        start_within: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "Each starts at a time of its own, drawn evenly from `start` to so much later";
    }
}

/// The flows that the table `node`, read as `flow`, stands for: itself, or `count` flows called NAME-1 to NAME-count.
/// Each starts at a time of its own, drawn evenly from `start` to `start` + `start_within`.
pub(super) fn of(
    flow: FlowSpec,
    node: &Node<'_>,
    around: &Surroundings<'_>,
) -> Result<Vec<FlowSpec>, ScenarioError> {
    let table = node.table("a table [flows.NAME]")?;
    let mut keys = CopyKeys::default();
    params::set_some(&table, &mut keys)?;
    let CopyKeys { count, start_within: within } = keys;
    let end = flow.pause.first().map_or(flow.stop.unwrap_or(around.duration), |(from, _)| *from);
    if let Some(node) = table.find("start_within").filter(|_| end < flow.start + within) {
        return Err(node.fail("a time that ends before the flow stops or pauses"));
    }
    let mut starts = RandomStream::new(around.seed, &format!("flow.{}.start", flow.name));
    let digits = count.to_string().len();
    let copy = |number: u64| {
        let name = if count == 1 { flow.name.clone() } else { format!("{}-{number:0digits$}", flow.name) };
        let later = within.as_nanos() as f64 * starts.uniform();
        FlowSpec { name, start: flow.start + TimeDelta::from_nanos(later as i64), ..flow.clone() }
    };
    Ok((1..=count).map(copy).collect())
}
