//! RFC 8699 section 5.3.2, and algorithm 2 of the paper before it (Islam et al., "Coupled congestion control for RTP media",
//! 2014): the group acts like one flow.

use super::group::{Group, Leaving};
use super::{Assignment, FlowId, FlowUpdate, Law, Member};
use paceline_units::{Time, TimeDelta, params};

paceline_units::names! {
    /// How much of a flow's increase the sum takes.
    pub enum Growth {
        /// All of it (RFC 8699 section 5.3.2).
        Whole = "whole",
        /// One part of as many as there are flows: together they grow like one (the paper, section 3).
        Divided = "divided",
    }
}

params! {
    /// The choices of the conservative flow state exchange. `Default` is the profile `rfc8699`.
    pub struct ConservativeParams {
        redistribute: bool = true, "RFC 8699 5.3.1 step 3 (c); the paper has no such step", "Whether other flows take what a flow cannot use";
        beyond_desired: bool = true, "RFC 8699 5.3.1 step 3 (a) as printed", "Whether an increase that the application cannot use raises the sum of rates";
        leaving: Leaving = Leaving::Keep, "RFC 8699 5.3.1 step 2 leaves it open", "Change of the sum of rates when a flow leaves";
        growth: Growth = Growth::Whole, "RFC 8699 5.3.2; the paper, section 3, divides", "How much of a flow's increase the sum takes";
        hold: f64 = 2.0, in 0.0, 100.0, "RFC 8699 5.3.2", "Round-trip times of the flow that reduced its rate for which the sum then stays";
    }
    profiles {
        "rfc8699": "Section 5.3.2 as printed" => ConservativeParams::default,
        "bounded": "As rfc8699, but an increase that the application cannot use does not count" => || ConservativeParams {
            beyond_desired: false,
            ..ConservativeParams::default()
        },
        "islam2014": "Algorithm 2 of the paper: increases are divided by the number of flows, and what a flow cannot use is nobody's" => || ConservativeParams {
            redistribute: false,
            growth: Growth::Divided,
            ..ConservativeParams::default()
        },
    }
}

/// A group under the conservative flow state exchange.
#[derive(Clone, Debug)]
pub struct Conservative {
    params: ConservativeParams,
    /// Until when the sum stays as it is.
    held_until: Time,
    group: Group,
}

impl Conservative {
    pub(super) fn new(params: &ConservativeParams) -> Conservative {
        Conservative { params: params.clone(), held_until: Time::ZERO, group: Group::default() }
    }
}

impl Law for Conservative {
    fn group(&self) -> &Group {
        &self.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.group
    }

    /// As in the active exchange.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        self.group.enter(now, update, self.params.redistribute)
    }

    /// Step (a) of section 5.3.2; the others as in the active exchange.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some((place, own)) = self.group.take(now, update, self.params.beyond_desired) else {
            return self.group.ignore();
        };
        let Member { rate: given, rtt, .. } = self.group.members[place];
        let alone = self.group.members.len() == 1;
        if now < self.held_until && !alone {
            // The sum stays; what changed beside it counts.
        } else if own < given {
            self.group.sum *= own / given;
            let hold = self.params.hold * rtt.map_or(0.0, TimeDelta::as_secs_f64);
            // A flow alone is the one that the group emulates.
            self.held_until = if alone { now } else { now + TimeDelta::from_secs_f64(hold) };
        } else {
            let flows = match self.params.growth {
                Growth::Whole => 1.0,
                Growth::Divided => self.group.members.len() as f64,
            };
            self.group.sum += (own - given) / flows;
        }
        self.group.share(self.params.redistribute)
    }

    /// As in the active exchange.
    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        if self.group.is_last(flow) {
            self.held_until = Time::ZERO;
        }
        self.group.leave(now, flow, self.params.leaving)
    }

    fn go_over(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        if self.group.is_last(flow) {
            self.held_until = Time::ZERO;
        }
        self.group.leave(now, flow, Leaving::Subtract)
    }
}
