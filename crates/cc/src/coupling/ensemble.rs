//! The common part of the kinds that share windows: a joint window, of which each flow has its part (RFC 2140 section 4,
//! ensemble sharing).

use super::group::{Group, Leaving};
use super::{Assigned, Assignment, FlowId, FlowUpdate};
use paceline_units::{Time, TimeDelta};

/// The joint window counts with no more, in bits: a window without end must not drown the others' in a sum.
const MAX_WINDOW: f64 = 1e12;

/// The flows of an ensemble and their joint window.
#[derive(Clone, Debug, Default)]
pub(super) struct Ensemble {
    /// The joint window in bits.
    pub(super) window: f64,
    pub(super) group: Group,
}

/// A controller's change of its window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Change {
    /// It added so many bits.
    Grown(f64),
    /// It `kept` this part, below 1, and gave up so many `bits` of its part of the joint window.
    Reduced { kept: f64, bits: f64 },
}

fn bits(assigned: Assigned, rtt: TimeDelta) -> f64 {
    match assigned {
        Assigned::Window(window) => window.as_bits_f64(),
        Assigned::Rate(rate) => rate.as_bps_f64() * rtt.as_secs_f64(),
    }
    .min(MAX_WINDOW)
}

impl Ensemble {
    /// Enters a flow. The first one's window is the joint window; others take their part of it at once, and add nothing.
    pub(super) fn join(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let first = self.group.members.is_empty();
        let _ = self.group.join(now, update);
        if first {
            self.window = update.rtt.map_or(0.0, |rtt| bits(update.own, rtt));
        }
        self.share()
    }

    /// The change by the controller of the flow at `place` since it took its part, and its round-trip time; absent while there
    /// is none.
    pub(super) fn change(&mut self, place: usize, update: &FlowUpdate) -> Option<(Change, TimeDelta)> {
        // By the priority with which it was shared.
        let part = self.part(place);
        let member = &mut self.group.members[place];
        member.refresh(update);
        let rtt = member.rtt?;
        let own = bits(update.own, rtt);
        let taken = update.taken.map_or(part, |taken| bits(taken, rtt));
        let change = if own < taken {
            let kept = own / taken;
            Change::Reduced { kept, bits: part * (1.0 - kept) }
        } else {
            Change::Grown(own - taken)
        };
        Some((change, rtt))
    }

    /// Part of the flow at `place` in the joint window, in bits.
    pub(super) fn part(&self, place: usize) -> f64 {
        let member = &self.group.members[place];
        self.window * member.priority.weight() / self.priorities()
    }

    fn priorities(&self) -> f64 {
        self.group.members.iter().map(|member| member.priority.weight()).sum()
    }

    /// Gives each flow its part of the joint window, by priority, as a window or as a rate.
    pub(super) fn share(&mut self) -> &[Assignment] {
        self.window = self.window.clamp(0.0, MAX_WINDOW);
        self.group.share_windows(self.window / self.priorities());
        &self.group.assignments
    }

    /// Removes a flow; the others inherit its part of the joint window, or it takes it along.
    pub(super) fn leave(&mut self, flow: FlowId, leaving: Leaving) -> &[Assignment] {
        let Some(place) = self.group.place(flow) else { return self.group.ignore() };
        let part = self.part(place);
        let _ = self.group.remove(place);
        match leaving {
            _ if self.group.members.is_empty() => (self.window, self.group.sum) = (0.0, 0.0),
            Leaving::Keep => {}
            Leaving::Subtract => self.window -= part,
        }
        self.group.nothing()
    }
}
