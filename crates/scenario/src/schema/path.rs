//! `path` and `return_path` of a flow: links that join.

use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use crate::spec::LinkSpec;
use paceline_units::TimeDelta;
use paceline_units::text::one_of;

const PATH: &str = "a list of links, such as [\"bottleneck\"]";
/// The most links on a path: a packet counts those it has crossed in a byte.
const MAX_PATH: usize = 64;

/// The objects that a flow's keys refer to.
pub(super) struct Surroundings<'a> {
    pub(super) duration: TimeDelta,
    pub(super) seed: u64,
    pub(super) links: &'a [LinkSpec],
}

/// The links from the sender to the receiver, at least one, and those back.
pub(super) fn both(
    flow: &Table<'_>,
    around: &Surroundings<'_>,
) -> Result<(Vec<String>, Vec<String>), ScenarioError> {
    let node = flow.require("path", PATH)?;
    let path = links(&node, around)?;
    let (Some(first), Some(last)) = (path.first(), path.last()) else {
        return Err(node.fail("at least one link"));
    };
    let Some(node) = flow.find("return_path") else {
        return Ok((names(&path), Vec::new()));
    };
    let back = links(&node, around)?;
    if let (Some(begin), Some(end)) = (back.first(), back.last()) {
        joined(&node, last, begin)?;
        joined(&node, end, first)?;
    }
    Ok((names(&path), names(&back)))
}

fn names(path: &[&LinkSpec]) -> Vec<String> {
    path.iter().map(|link| link.name.clone()).collect()
}

fn links<'a>(node: &Node<'_>, around: &Surroundings<'a>) -> Result<Vec<&'a LinkSpec>, ScenarioError> {
    let known: Vec<_> = around.links.iter().map(|link| link.name.as_str()).collect();
    let expected =
        if known.is_empty() { "a link that is declared; there is none".into() } else { one_of(&known) };
    let list = node.list(PATH)?;
    if list.len() > MAX_PATH {
        return Err(node.fail(&format!("at most {MAX_PATH} links")));
    }
    let mut path: Vec<&LinkSpec> = Vec::new();
    for item in list {
        let name = item.text(&expected)?;
        let Some(link) = around.links.iter().find(|link| link.name == name) else {
            return Err(item.fail_near(&expected, name, &known));
        };
        if path.iter().any(|passed| passed.name == name) {
            return Err(item.fail("each link once"));
        }
        if let Some(before) = path.last() {
            joined(&item, before, link)?;
        }
        if let Some(to) = &link.to
            && path.iter().any(|passed| passed.from.as_ref() == Some(to))
        {
            return Err(item.fail(&format!("a link to a new node: the path has been at \"{to}\" before")));
        }
        path.push(link);
    }
    Ok(path)
}

/// A link begins where the one before it ends, as far as they say.
fn joined(node: &Node<'_>, before: &LinkSpec, link: &LinkSpec) -> Result<(), ScenarioError> {
    match (&before.to, &link.from) {
        (Some(to), Some(from)) if to != from => Err(node.fail(&format!(
            "links that join: \"{}\" ends at \"{to}\", and \"{}\" begins at \"{from}\"",
            before.name, link.name
        ))),
        _ => Ok(()),
    }
}
