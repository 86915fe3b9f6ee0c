//! RFC 8699 section 5.3.1, and algorithm 1 of the paper before it (Islam et al., "Coupled congestion control for RTP media",
//! 2014).

use super::group::{Group, Leaving};
use super::{Assignment, FlowId, FlowUpdate, Law};
use paceline_units::{Time, params};

params! {
    /// The choices of the active flow state exchange. `Default` is the profile `rfc8699`.
    pub struct ActiveParams {
        redistribute: bool = true, "RFC 8699 5.3.1 step 3 (c); the paper has no such step", "Whether other flows take what a flow cannot use";
        beyond_desired: bool = true, "RFC 8699 5.3.1 step 3 (a) as printed", "Whether an increase that the application cannot use raises the sum of rates";
        leaving: Leaving = Leaving::Keep, "RFC 8699 5.3.1 step 2 leaves it open", "Change of the sum of rates when a flow leaves";
    }
    profiles {
        "rfc8699": "Section 5.3.1 as printed" => ActiveParams::default,
        "bounded": "As rfc8699, but an increase that the application cannot use does not count" => || ActiveParams {
            beyond_desired: false,
            ..ActiveParams::default()
        },
        "islam2014": "Algorithm 1 of the paper: what a flow cannot use is nobody's" => || ActiveParams {
            redistribute: false,
            ..ActiveParams::default()
        },
    }
}

/// A group under the active flow state exchange.
#[derive(Clone, Debug)]
pub struct Active {
    params: ActiveParams,
    group: Group,
}

impl Active {
    pub(super) fn new(params: &ActiveParams) -> Active {
        Active { params: params.clone(), group: Group::default() }
    }
}

impl Law for Active {
    fn group(&self) -> &Group {
        &self.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.group
    }

    /// Step 1.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        self.group.enter(now, update, self.params.redistribute)
    }

    /// Step 3.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some((place, own)) = self.group.take(now, update, self.params.beyond_desired) else {
            return self.group.ignore();
        };
        self.group.sum = (self.group.sum + own - self.group.members[place].rate).max(0.0);
        self.group.share(self.params.redistribute)
    }

    /// Step 2.
    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        self.group.leave(now, flow, self.params.leaving)
    }

    fn go_over(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        self.group.leave(now, flow, Leaving::Subtract)
    }
}
