//! Coupling of flows that share a bottleneck. A group owns no controller: it is told of updates and answers a list.

use paceline_units::{Bitrate, Bytes, Time};

/// A flow of a coupled group, counted from 0 by whoever forms the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// What a coupled group gives a flow: a rate or a window, whichever the flow's controller steers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assigned {
    /// Rate of sending, packet headers in.
    Rate(Bitrate),
    /// Congestion window in bytes, packet headers in.
    Window(Bytes),
}

/// A flow's own new rate or window, as its controller just computed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowUpdate {
    /// Flow of the group.
    pub flow: FlowId,
    /// Rate or window that the flow's controller computed.
    pub own: Assigned,
    /// Rate that the application could use; absent if it can use any.
    pub desired: Option<Bitrate>,
}

/// One line of a group's answer: this flow takes this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Flow of the group.
    pub flow: FlowId,
    /// Rate or window that replaces the flow's own.
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
