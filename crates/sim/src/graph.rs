//! The components and what joins them: how long it takes at least until one can tell another anything.

use crate::edge::Edge;
use paceline_units::TimeDelta;

/// A component's kind, with its number among its like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The receiving end of a flow.
    Receiver(usize),
    /// The sending ends of a host.
    Host(usize),
    /// A link.
    Link(usize),
}

/// A component as the engine sees it. They are numbered receivers first, then hosts, then links: what happens at one time is
/// told in this order, because every packet takes a nanosecond at least to pass a link.
#[derive(Debug)]
pub struct Component {
    /// Its kind.
    pub part: Part,
    /// Edges that packets arrive on.
    pub inputs: Vec<usize>,
    /// The shortest delay by which anything comes to it.
    pub nearest_in: TimeDelta,
    /// The shortest delay by which anything that it sends may come back to it, as far as the next component.
    pub nearest_out: TimeDelta,
}

/// The components of these parts, which `edges` join that know both ends.
pub fn components(parts: Vec<Part>, edges: &[Edge]) -> Vec<Component> {
    let (inputs, far) = (Vec::new(), TimeDelta::MAX);
    let component = |part| Component { part, inputs: inputs.clone(), nearest_in: far, nearest_out: far };
    let mut components: Vec<_> = parts.into_iter().map(component).collect();
    for (number, edge) in edges.iter().enumerate() {
        let target = &mut components[edge.target as usize];
        target.inputs.push(number);
        target.nearest_in = target.nearest_in.min(edge.delay);
        let source = &mut components[edge.source as usize];
        let comes_back = if edge.source == edge.target { TimeDelta::ZERO } else { edge.delay };
        source.nearest_out = source.nearest_out.min(comes_back);
    }
    components
}
