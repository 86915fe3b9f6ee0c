//! RFC 8699 appendix C: an update answers its own flow alone, and takes what others leave over.

use super::group::Group;
use super::{Assignment, FlowId, FlowUpdate, Law};
use alloc::vec::Vec;
use paceline_units::Time;
use paceline_units::params;

params! {
    /// The choices of the passive flow state exchange: none.
    pub struct PassiveParams {
    }
    profiles { "rfc8699": "Appendix C as printed" => PassiveParams::default, }
}

/// A group under the passive flow state exchange. A member's `desired` is the appendix' `DR`: what the flow used last.
#[derive(Clone, Debug)]
pub struct Passive {
    /// Rate that limited flows left and nobody has taken, in bit/s (`TLO`).
    left_over: f64,
    /// Flows that ended; their rates count until somebody updates.
    ended: Vec<FlowId>,
    group: Group,
}

impl Passive {
    pub(super) fn new(_params: &PassiveParams) -> Passive {
        Passive { left_over: 0.0, ended: Vec::new(), group: Group::default() }
    }
}

impl Law for Passive {
    fn group(&self) -> &Group {
        &self.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.group
    }

    /// Step 1.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        // It takes its part with its own next update, whatever others left.
        let _ = self.group.join(now, update);
        self.group.nothing()
    }

    /// A flow that joins again before its end was noticed shares on.
    fn join(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        self.ended.retain(|&ended| ended != update.flow);
        match self.group.place(update.flow) {
            Some(_) => self.update(now, update),
            None => self.enter(now, update),
        }
    }

    /// Step 3.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some(mut place) = self.group.place(update.flow).filter(|_| !self.ended.contains(&update.flow))
        else {
            return self.group.ignore();
        };
        let own = self.group.refresh(place, update);
        // (a) and (b)
        let calculated: f64 = self.group.members.iter().map(|member| member.rate).sum();
        let delta = own - self.group.members[place].rate;
        if delta > 0.0 {
            self.group.sum += delta;
        } else if delta < 0.0 {
            self.group.sum = (calculated + delta).max(0.0);
        }
        // (c)
        for flow in self.ended.drain(..) {
            if let Some(gone) = self.group.place(flow) {
                let left = self.group.remove(gone);
                self.group.inherit(now, left);
                place -= usize::from(gone < place);
            }
        }
        let priorities: f64 = self.group.members.iter().map(|member| member.priority.weight()).sum();
        let member = &mut self.group.members[place];
        let share = member.priority.weight() * self.group.sum / priorities;
        let used = member.desired.min(own);
        if used < own {
            self.left_over = (self.left_over + share - used).max(0.0);
        }
        // (d) and (e)
        let rate = member.desired.min(share + self.left_over);
        if rate != member.desired {
            self.left_over = 0.0;
        }
        member.rate = rate;
        self.group.answer(place)
    }

    /// Step 2.
    fn leave(&mut self, _now: Time, flow: FlowId) -> &[Assignment] {
        match self.group.place(flow) {
            Some(_) if !self.ended.contains(&flow) => self.ended.push(flow),
            _ => self.group.ignored += 1,
        }
        if self.ended.len() == self.group.members.len() {
            // Nobody is left to inherit.
            self.ended.clear();
            self.left_over = 0.0;
            self.group.clear();
        }
        self.group.nothing()
    }
}
