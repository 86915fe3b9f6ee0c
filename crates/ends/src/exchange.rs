//! The flows of one host and the groups in which they share, executed by the same code in every world.

use paceline_cc::shared_bottleneck::{BottleneckGroups, DelaySummary, Params};
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

/// Loss and delay of a flow that share no blame with noise: this part of packets and this time more than without coupling, beside a
/// factor of each.
const WORSE_LOSS: (f64, f64) = (2.0, 0.02);
const WORSE_DELAY: (f64, TimeDelta) = (1.5, TimeDelta::from_millis(50));
/// A flow that was taken out of a group waits for this factor longer the next time, so often.
const LONGEST_WAIT: u32 = 6;

/// The effect of a detected group on a flow (RFC 8699 section 5.1: coupling is to be disabled where it causes a significant increase in delay or
/// loss).
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Round trip in seconds, averaged over as many decisions as losses are: single ones vary by whole queues.
    round_trip: Option<f64>,
    /// Part of packets lost and round trip when it last was by itself.
    before: Option<(f64, Option<f64>)>,
    /// Decisions since then.
    coupled_for: u64,
    /// The decision until which it stays by itself.
    apart_until: u64,
    parted: u32,
}

impl Effect {
    /// A decision, of this number, coupled the flow or not, while it bears this. Answers whether it is to be by itself. Loss and delay are of
    /// the last `span` decisions.
    fn decided(&mut self, number: u64, couples: bool, borne: (f64, Option<TimeDelta>), span: u64) -> bool {
        if let Some(srtt) = borne.1.map(TimeDelta::as_secs_f64) {
            let mean = self.round_trip.get_or_insert(srtt);
            *mean += (srtt - *mean) / span.max(1) as f64;
        }
        let borne = (borne.0, self.round_trip);
        if number < self.apart_until || !couples {
            (self.before, self.coupled_for) = (Some(borne), 0);
            return number < self.apart_until;
        }
        self.coupled_for += 1;
        let Some((loss, delay)) = self.before.filter(|_| self.coupled_for > span) else { return false };
        let most = delay.map(|before| WORSE_DELAY.0 * before + WORSE_DELAY.1.as_secs_f64());
        let longer = most.zip(borne.1).is_some_and(|(most, now)| now > most);
        let worse = longer || borne.0 > WORSE_LOSS.0 * loss + WORSE_LOSS.1;
        if worse {
            self.apart_until = number + (span << self.parted.min(LONGEST_WAIT));
            self.parted += 1;
            self.coupled_for = 0;
        }
        worse
    }
}

/// A flow as the detection of shared bottlenecks knows it.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The newest summary of its delays.
    summary: Option<DelaySummary>,
    /// Decisions since that came.
    age: u64,
    effect: Effect,
}

/// Finds out once an interval which flows share a bottleneck (RFC 8382).
#[derive(Clone, Debug)]
struct Detection {
    groups: BottleneckGroups,
    /// Time between decisions, and when the next one is.
    interval: TimeDelta,
    next: Time,
    /// Decisions without a new summary after which a flow is forgotten: its last one is of older delays alone.
    forget: u64,
    flows: Vec<Seen>,
    /// Decisions so far.
    decisions: u64,
}

impl Detection {
    fn new(params: &Params, flows: usize) -> Detection {
        Detection {
            groups: BottleneckGroups::new(params),
            interval: params.interval,
            next: Time::ZERO + params.interval,
            forget: params.n,
            flows: vec![Seen::default(); flows],
            decisions: 0,
        }
    }

    /// Decides by the newest summaries, and answers for each flow the lowest flow of its group.
    fn decide(&mut self, now: Time, ends: &impl CoupledEnds) -> Vec<usize> {
        let late = now.saturating_since(self.next).as_nanos() / self.interval.as_nanos().max(1);
        self.next += self.interval * (late + 1);
        self.decisions += 1;
        for (flow, seen) in self.flows.iter_mut().enumerate() {
            let id = FlowId(flow as u32);
            let intervals = seen.summary.map_or(0, |summary| summary.intervals);
            match ends.delay_summary(flow).filter(|summary| summary.intervals != intervals) {
                Some(summary) => {
                    (seen.summary, seen.age) = (Some(summary), 0);
                    self.groups.on_summary(id, &summary);
                }
                None if seen.age == self.forget => self.groups.remove(id),
                None => seen.age += 1,
            }
        }
        let mut groups: Vec<usize> = (0..self.flows.len()).collect();
        for (FlowId(flow), FlowId(lowest)) in self.groups.decide() {
            groups[flow as usize] = lowest as usize;
        }
        self.part_who_is_worse_off(groups, ends)
    }

    /// Flows that are worse off by coupling are by themselves for a while; the others of a group stay together.
    fn part_who_is_worse_off(&mut self, groups: Vec<usize>, ends: &impl CoupledEnds) -> Vec<usize> {
        let mut parted = vec![false; groups.len()];
        for (flow, Seen { summary, effect, .. }) in self.flows.iter_mut().enumerate() {
            let Some(summary) = summary else { continue };
            let couples = groups.iter().filter(|group| **group == groups[flow]).count() > 1;
            parted[flow] =
                effect.decided(self.decisions, couples, (summary.loss, ends.srtt(flow)), self.forget);
        }
        let lowest = |flow: usize| {
            let mut others =
                (0..groups.len()).filter(|&other| groups[other] == groups[flow] && !parted[other]);
            if parted[flow] { flow } else { others.next().unwrap_or(flow) }
        };
        (0..groups.len()).map(lowest).collect()
    }
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
        let detection = Some(Box::new(Detection::new(detection, flows.len())));
        Exchange { detection, ..Exchange::new(params, &flows, steps) }
    }

    /// When the next priority changes, or groups are decided on.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let step = self.steps.last().map(|step| step.at);
        let decision = self.detection.as_ref().map(|detection| detection.next);
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
        let Some(detection) = self.detection.as_mut().filter(|detection| detection.next <= now) else {
            return;
        };
        for (flow, group) in detection.decide(now, ends).into_iter().enumerate() {
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
        self.leave(now, flow, ends);
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
        self.detection.as_ref().map_or(0, |detection| detection.decisions)
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
        let parted =
            self.detection.as_ref().map_or(0, |detection| detection.flows[flow].effect.parted.into());
        let (assignments, ignored) = (known.assignments, group.ignored());
        Coupled { group: known.group, share, assignments, ignored, parted }
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
