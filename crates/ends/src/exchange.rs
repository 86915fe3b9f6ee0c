//! The flows of one host and the groups in which they share, executed by the same code in every world.

use crate::Detection;
use paceline_cc::shared_bottleneck::{DelaySummary, Params};
use paceline_cc::{
    AnyCoupling, Assigned, Assignment, Coupling, CouplingParams, FlowId, FlowUpdate, Priority,
};
use paceline_units::{Bitrate, Time, TimeDelta};

/// The sending ends of a host, by their numbers, as an exchange sees them.
pub trait CoupledEnds {
    /// The value that the controller of a flow steers by now; absent while the flow has not started, pauses, or is over: then it
    /// does not share.
    fn share(&self, flow: usize) -> Option<Assigned>;

    /// Rate that the application of a flow could use; absent if it can use any.
    fn desired(&self, flow: usize) -> Option<Bitrate>;

    /// Smoothed round-trip time of a flow; absent before the first sample.
    fn srtt(&self, flow: usize) -> Option<TimeDelta>;

    /// The newest summary of a flow's delays; absent while there is none.
    fn delay_summary(&self, _flow: usize) -> Option<DelaySummary> {
        None
    }

    /// The part of an assignment from elsewhere that a flow takes: no more than its own packets bear out.
    fn bound(&mut self, _now: Time, _flow: usize, assigned: Assigned) -> Assigned {
        assigned
    }

    /// The flow begins to share by an exchange of rates ([`paceline_cc::Controller::on_rates_exchanged`]).
    fn exchanges_rates(&mut self, _flow: usize) {}

    /// Replaces what the controller of a flow steers by, and lets the flow send what it may now.
    fn assign(&mut self, now: Time, flow: usize, assigned: Assigned);
}

/// A flow that may share.
#[derive(Clone, Debug)]
struct CoupledFlow {
    /// Place of its group.
    group: usize,
    priority: Priority,
    /// The last assignment as its controller took it, or began to share with; absent while it does not share.
    taken: Option<Assigned>,
    /// The desired rate that the group knows.
    desired: Option<Bitrate>,
    /// The round-trip time that the group knows.
    rtt: Option<TimeDelta>,
    /// Assignments that it was given.
    assignments: u64,
}

/// A flow's share in its group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coupled {
    /// Its group, counted from 0 in its exchange.
    pub group: usize,
    /// The share itself; absent while it does not share.
    pub share: Option<CoupledShare>,
    /// Assignments that it was given so far, from the beginning on.
    pub assignments: u64,
    /// Updates that its group ignored so far, from the beginning on.
    pub ignored: u64,
    /// Times that it was taken out of a group which made it worse off, from the beginning on.
    pub parted: u64,
}

/// A group's state of a flow that shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CoupledShare {
    /// Sum of the rates of the group (RFC 8699: `S_CR`).
    pub sum: Bitrate,
    /// Rate that the group gave the flow last (RFC 8699: `FSE_R`).
    pub rate: Bitrate,
    /// Rate that the flow's application could use (RFC 8699: `DR`); absent if it can use any.
    pub desired: Option<Bitrate>,
    /// Priority of the flow (RFC 8699: `P`).
    pub priority: Priority,
}

/// A priority that a flow has from a time on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PriorityStep {
    /// When it begins.
    pub at: Time,
    /// Number of the flow.
    pub flow: usize,
    /// Priority from then on.
    pub priority: Priority,
}

/// The groups of a host's flows.
///
/// The driver of the flows calls [`Exchange::after_event`] after each event at one of them. The consequence for the others happens at that
/// instant.
#[derive(Clone, Debug)]
pub struct Exchange {
    groups: Vec<AnyCoupling>,
    flows: Vec<CoupledFlow>,
    /// Priorities that change, the next one last.
    steps: Vec<PriorityStep>,
    /// Assignments that are being carried out.
    assignments: Vec<Assignment>,
    /// Decides on the groups, where they are not fixed.
    detection: Option<Box<Detection>>,
}

impl Exchange {
    /// An exchange of flows whose group, counted from 0, and priority `flows` says. `steps` may come in any order.
    pub fn new(
        params: &CouplingParams,
        flows: &[(usize, Priority)],
        mut steps: Vec<PriorityStep>,
    ) -> Exchange {
        let groups = flows.iter().map(|(group, _)| group + 1).max().unwrap_or(0);
        let flow = |&(group, priority): &(usize, Priority)| CoupledFlow {
            group,
            priority,
            taken: None,
            desired: None,
            rtt: None,
            assignments: 0,
        };
        steps.sort_by(|a, b| b.at.cmp(&a.at).then(b.flow.cmp(&a.flow)));
        Exchange {
            groups: vec![AnyCoupling::new(params); groups],
            flows: flows.iter().map(flow).collect(),
            steps,
            assignments: Vec::new(),
            detection: None,
        }
    }

    /// An exchange of flows with these priorities, whose groups follow from the delays of their packets. Until they are
    /// known, each flow is a group by itself.
    pub fn detecting(
        params: &CouplingParams,
        detection: &Params,
        priorities: &[Priority],
        steps: Vec<PriorityStep>,
    ) -> Exchange {
        let flows: Vec<_> = priorities.iter().copied().enumerate().collect();
        let detection = Some(Box::new(Detection::new(detection, Time::ZERO, flows.len())));
        Exchange { detection, ..Exchange::new(params, &flows, steps) }
    }

    /// When the next priority changes, or groups are decided on.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let step = self.steps.last().map(|step| step.at);
        let decision = self.detection.as_ref().map(|detection| detection.next_timeout());
        step.into_iter().chain(decision).min()
    }

    /// Changes the priorities that are due, and then the groups.
    pub fn handle_timeout(&mut self, now: Time, ends: &mut impl CoupledEnds) {
        while let Some(&step) = self.steps.last().filter(|step| step.at <= now) {
            self.steps.pop();
            self.set_priority(now, step.flow, step.priority, ends);
        }
        self.decide(now, ends);
    }

    /// A flow's part has another weight from now on; one that does not share yet begins to.
    pub fn set_priority(&mut self, now: Time, flow: usize, priority: Priority, ends: &mut impl CoupledEnds) {
        self.flows[flow].priority = priority;
        if let Some(own) = ends.share(flow) {
            self.tell(now, flow, own, ends);
        }
    }

    /// A flow that does not share is gone for good: another one that gets its number has never been there.
    pub fn forget(&mut self, flow: usize) {
        self.groups[self.flows[flow].group].forget(FlowId(flow as u32));
    }

    fn decide(&mut self, now: Time, ends: &mut impl CoupledEnds) {
        let due = |detection: &&mut Box<Detection>| detection.next_timeout() <= now;
        let Some(detection) = self.detection.as_mut().filter(due) else { return };
        let groups = detection.decide(now, |flow| ends.delay_summary(flow), |flow| ends.srtt(flow));
        for (flow, group) in groups.into_iter().enumerate() {
            self.regroup(now, flow, group, ends);
        }
    }

    /// Something happened at a flow: if what its controller steers by has changed, its group hears of it, and every flow
    /// takes what the group answers. A window is another rate whenever the round trip is another.
    #[inline]
    pub fn after_event(&mut self, now: Time, flow: usize, ends: &mut impl CoupledEnds) {
        let known = &self.flows[flow];
        let own = ends.share(flow);
        let other_rate = matches!(own, Some(Assigned::Window(_))) && ends.srtt(flow) != known.rtt;
        if own != known.taken || other_rate || (own.is_some() && ends.desired(flow) != known.desired) {
            match own {
                Some(own) => self.tell(now, flow, own, ends),
                None => self.leave(now, flow, ends),
            }
        }
    }

    /// Puts a flow into another group, by its number from 0.
    pub fn regroup(&mut self, now: Time, flow: usize, group: usize, ends: &mut impl CoupledEnds) {
        if self.flows[flow].group == group || group >= self.groups.len() {
            return;
        }
        if self.flows[flow].taken.take().is_some() {
            let answer = self.groups[self.flows[flow].group].go_over(now, FlowId(flow as u32));
            self.assignments.clear();
            self.assignments.extend_from_slice(answer);
            self.carry_out(now, ends);
        }
        self.flows[flow].group = group;
        self.after_event(now, flow, ends);
    }

    fn tell(&mut self, now: Time, flow: usize, own: Assigned, ends: &mut impl CoupledEnds) {
        let known = &mut self.flows[flow];
        let (desired, rtt) = (ends.desired(flow), ends.srtt(flow));
        if rtt.is_none() && matches!(own, Assigned::Window(_)) {
            // A window is no rate yet: the flow joins with its first round-trip time.
            return;
        }
        (known.desired, known.rtt) = (desired, rtt);
        let (taken, priority) = (known.taken, known.priority);
        let update = FlowUpdate { flow: FlowId(flow as u32), own, taken, desired, rtt, priority };
        let group = &mut self.groups[known.group];
        if taken.is_none() && group.exchanges_rates() {
            ends.exchanges_rates(flow);
        }
        let answer = if taken.is_none() { group.join(now, &update) } else { group.update(now, &update) };
        self.assignments.clear();
        self.assignments.extend_from_slice(answer);
        known.taken = Some(own);
        if !update.is_alone(group.members().len(), group.sum()) {
            self.carry_out(now, ends);
        }
    }

    fn leave(&mut self, now: Time, flow: usize, ends: &mut impl CoupledEnds) {
        let known = &mut self.flows[flow];
        if known.taken.take().is_none() {
            return;
        }
        let answer = self.groups[known.group].leave(now, FlowId(flow as u32));
        self.assignments.clear();
        self.assignments.extend_from_slice(answer);
        self.carry_out(now, ends);
    }

    fn carry_out(&mut self, now: Time, ends: &mut impl CoupledEnds) {
        for &Assignment { flow: FlowId(flow), assigned } in &self.assignments {
            let flow = flow as usize;
            ends.assign(now, flow, assigned);
            let known = &mut self.flows[flow];
            // A flow that has just ended is still a member, and leaves with its own next event.
            known.taken = ends.share(flow).or(known.taken);
            known.assignments += 1;
        }
    }

    /// Decisions so far on which flows share a bottleneck; none where the groups are fixed.
    pub fn decisions(&self) -> u64 {
        self.detection.as_ref().map_or(0, |detection| detection.decisions())
    }

    /// The number of each flow's group, counted from 0.
    pub fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.flows.iter().map(|known| known.group)
    }

    /// The group of a flow, to look at.
    pub fn group(&self, flow: usize) -> &AnyCoupling {
        &self.groups[self.flows[flow].group]
    }

    /// A flow's share in its group, to look at.
    pub fn coupled(&self, flow: usize) -> Coupled {
        let (known, group) = (&self.flows[flow], self.group(flow));
        let members = group.members();
        let place = members.binary_search_by_key(&FlowId(flow as u32), |member| member.flow).ok();
        let share = place.map(|place| &members[place]).map(|member| CoupledShare {
            sum: group.sum(),
            rate: member.rate(),
            desired: member.desired(),
            priority: member.priority,
        });
        let parted = self.detection.as_ref().map_or(0, |detection| detection.parted(flow));
        let (assignments, ignored) = (known.assignments, group.ignored());
        Coupled { group: known.group, share, assignments, ignored, parted }
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
