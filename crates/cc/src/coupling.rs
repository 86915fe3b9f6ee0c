//! Coupling of flows that share a bottleneck. A group owns no controller: it is told of updates and answers a list.

use paceline_units::{Bitrate, Bytes, Time};

/// A flow of a coupled group, counted from 0 by whoever forms the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// What a coupled group gives a flow: a rate or a window, whichever the flow's controller steers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assigned {
    /// A rate, headers in.
    Rate(Bitrate),
    /// A window.
    Window(Bytes),
}

/// A flow's own new rate or window, as its controller just computed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowUpdate {
    /// The flow.
    pub flow: FlowId,
    /// What its controller arrived at.
    pub own: Assigned,
    /// What the application could use; absent: as much as it gets.
    pub desired: Option<Bitrate>,
}

/// One line of a group's answer: this flow takes this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The flow.
    pub flow: FlowId,
    /// What it takes.
    pub assigned: Assigned,
}

/// A group of coupled flows (RFC 8699's flow group).
pub trait Coupling {
    /// A flow's controller has updated; its first update is its joining. The answer may name other flows too.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment];

    /// A flow has ended. The answer may give others what it leaves behind.
    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        let _ = (now, flow);
        &[]
    }
}
