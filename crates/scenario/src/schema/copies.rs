//! `count` and `start_within`: many flows from one table.

use super::path::Surroundings;
use crate::error::ScenarioError;
use crate::reader::Node;
use crate::spec::FlowSpec;
use paceline_units::{RandomStream, TimeDelta};

/// The most flows that one table may stand for.
const MAX_COPIES: u64 = 10_000;

/// The flows that the table `node`, read as `flow`, stands for: itself, or `count` flows called NAME-1 to NAME-count.
/// Each starts at a time of its own, drawn evenly from `start` to `start` + `start_within`.
pub(super) fn of(
    flow: FlowSpec,
    node: &Node<'_>,
    around: &Surroundings<'_>,
) -> Result<Vec<FlowSpec>, ScenarioError> {
    let table = node.table("a table [flows.NAME]")?;
    let count = table.find("count").map_or(Ok(1), |node| node.count(1..=MAX_COPIES))?;
    let within = table.find("start_within").map_or(Ok(TimeDelta::ZERO), |node| {
        let within = node.time()?;
        let end = flow.pause.first().map_or(flow.stop.unwrap_or(around.duration), |(from, _)| *from);
        if flow.start + within <= end {
            return Ok(within);
        }
        Err(node.fail("a time that ends before the flow stops or pauses"))
    })?;
    let mut starts = RandomStream::new(around.seed, &format!("flow.{}.start", flow.name));
    let digits = count.to_string().len();
    let copy = |number: u64| {
        let name = if count == 1 { flow.name.clone() } else { format!("{}-{number:0digits$}", flow.name) };
        let later = within.as_nanos() as f64 * starts.uniform();
        FlowSpec { name, start: flow.start + TimeDelta::from_nanos(later as i64), ..flow.clone() }
    };
    Ok((1..=count).map(copy).collect())
}
