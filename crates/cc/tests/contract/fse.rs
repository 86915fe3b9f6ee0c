//! Coupling: a flow state exchange (RFC 8699, active algorithm 1) between controllers that know nothing of it.

use crate::path::{Datagrams, Path, Run, SIZE, ms};
use crate::tfrc_sender::TfrcSender;
use paceline_cc::FlowSetup;
use paceline_cc::scream::{Params, Scream};
use paceline_cc::{
    Allowance, Assigned, Assignment, Controller, Coupling, FlowId, FlowUpdate, ReceiverReport, Report,
    StreamId, TargetChange,
};
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

struct Member {
    flow: FlowId,
    priority: f64,
    rate: f64,
    desired: f64,
}

/// The group: the sum of all rates, shared by priority.
pub struct Fse {
    sum: f64,
    members: Vec<Member>,
    priorities: fn(FlowId) -> f64,
    answer: Vec<Assignment>,
}

impl Fse {
    fn new(priorities: fn(FlowId) -> f64) -> Fse {
        Fse { sum: 0.0, members: Vec::new(), priorities, answer: Vec::new() }
    }

    /// Shares the sum: who wants less than its part leaves the rest to the others (the loop of section 5.3.1).
    fn distribute(&mut self) -> &[Assignment] {
        let (mut left, mut open): (f64, Vec<usize>) = (self.sum, (0..self.members.len()).collect());
        loop {
            let priorities: f64 = open.iter().map(|n| self.members[*n].priority).sum();
            let part = |member: &Member| left * member.priority / priorities;
            let sated: Vec<usize> = open
                .iter()
                .copied()
                .filter(|n| part(&self.members[*n]) >= self.members[*n].desired)
                .collect();
            if sated.is_empty() {
                open.iter().for_each(|n| self.members[*n].rate = part(&self.members[*n]));
                break;
            }
            for n in sated {
                self.members[n].rate = self.members[n].desired;
                left -= self.members[n].desired;
                open.retain(|other| *other != n);
            }
            if open.is_empty() {
                break;
            }
        }
        self.answer.clear();
        let rate = |member: &Member| Assigned::Rate(Bitrate::from_bps_f64(member.rate));
        self.answer.extend(
            self.members.iter().map(|member| Assignment { flow: member.flow, assigned: rate(member) }),
        );
        &self.answer
    }
}

impl Coupling for Fse {
    fn update(&mut self, _now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Assigned::Rate(own) = update.own else { return &[] };
        let (own, desired) = (own.as_bps_f64(), update.desired.map_or(f64::INFINITY, Bitrate::as_bps_f64));
        match self.members.iter_mut().find(|member| member.flow == update.flow) {
            Some(member) => {
                self.sum += own - member.rate;
                member.desired = desired;
            }
            None => {
                let (flow, priority) = (update.flow, (self.priorities)(update.flow));
                self.sum += own;
                self.members.push(Member { flow, priority, rate: own, desired });
            }
        }
        self.distribute()
    }

    /// What it had stays with the group.
    fn leave(&mut self, _now: Time, flow: FlowId) -> &[Assignment] {
        self.members.retain(|member| member.flow != flow);
        self.distribute()
    }
}

fn mbps(assignments: &[Assignment]) -> Vec<u64> {
    let rate = |assignment: &Assignment| match assignment.assigned {
        Assigned::Rate(rate) => rate.as_bps().div_ceil(1000) / 1000,
        Assigned::Window(_) => panic!("a rate was given"),
    };
    assignments.iter().map(rate).collect()
}

/// The rates after flows of these rates and wishes (Mbit/s) have joined.
fn shares(flows: &[(u64, Option<u64>)], priorities: fn(FlowId) -> f64) -> Vec<u64> {
    let mut group = Fse::new(priorities);
    let mut last = Vec::new();
    for (n, (rate, desired)) in flows.iter().enumerate() {
        let own = Assigned::Rate(Bitrate::from_mbps(*rate));
        let desired = desired.map(Bitrate::from_mbps);
        last = mbps(group.update(ms(0), &FlowUpdate { flow: FlowId(n as u32), own, desired }));
    }
    last
}

#[test]
fn active_algorithm_1_shares_the_sum_by_priority_and_wish() {
    let two_to_one = |flow: FlowId| if flow.0 == 0 { 2.0 } else { 1.0 };
    let one_to_two = |flow: FlowId| if flow.0 == 0 { 1.0 } else { 2.0 };
    assert_eq!(shares(&[(3, None), (3, None)], two_to_one), [4, 2]);
    assert_eq!(shares(&[(3, Some(1)), (3, None)], two_to_one), [1, 5]);
    assert_eq!(shares(&[(3, Some(3)), (3, None)], two_to_one), [3, 3]);
    assert_eq!(shares(&[(3, Some(1)), (3, Some(1))], two_to_one), [1, 1]);
    assert_eq!(shares(&[(3, None), (3, Some(1))], one_to_two), [5, 1]);
    assert_eq!(shares(&[(3, None), (3, Some(1)), (3, None)], |_| 1.0), [4, 1, 4]);
}

/// What an endpoint does after an update: hands the group the flow's share and passes the assignments on.
fn exchange(group: &mut dyn Coupling, flows: &mut [&mut dyn Controller], who: usize) {
    let own = flows[who].share().expect("it steers something");
    let update = FlowUpdate { flow: FlowId(who as u32), own, desired: None };
    for assignment in group.update(ms(0), &update) {
        let told = flows[assignment.flow.0 as usize].assign(ms(0), assignment.assigned);
        assert_ne!(told.target, TargetChange::None, "an assignment is answered like any change");
    }
}

fn target(controller: &dyn Controller) -> u64 {
    controller.snapshot().target.map_or(0, Bitrate::as_bps)
}

#[test]
fn an_update_of_one_flow_raises_the_other() {
    let (mut tfrc, mut other) = (TfrcSender::default(), TfrcSender::default());
    let mut scream = Scream::new(&Params::profile("reference-2022").expect("known"), &FlowSetup::new(SIZE));
    let mut group = Fse::new(|_| 1.0);
    let flows: &mut [&mut dyn Controller] = &mut [&mut tfrc, &mut scream, &mut other];
    (0..3).for_each(|who| exchange(&mut group, flows, who));
    let before: Vec<u64> = flows.iter().map(|flow| target(*flow)).collect();
    assert_eq!(before[1], 338_666, "8 + 1000 + 8 kbit/s shared equally");
    let report = ReceiverReport::Tfrc {
        loss_event_rate: 0.0001,
        receive_rate: Bitrate::from_mbps(50),
        newest_sent: Some(ms(0)),
        delay: TimeDelta::ZERO,
    };
    let _ = flows[0].on_report(ms(100), &Report::Receiver(report));
    let own = target(flows[0]);
    assert!(own > 9_000_000, "the equation at p = 0.0001: {own}");
    exchange(&mut group, flows, 0);
    let after: Vec<u64> = flows.iter().map(|flow| target(*flow)).collect();
    for n in 0..3 {
        assert!(after[n].abs_diff((own + 2 * before[1]) / 3) <= 2, "flow {n}: {before:?} to {after:?}");
    }
    assert_eq!(flows[1].target_bitrate(StreamId(0)).map(Bitrate::as_bps), Some(after[1]));
    let left = mbps(group.leave(ms(200), FlowId(0)));
    assert_eq!(
        left.iter().sum::<u64>(),
        (own + 2 * before[1]) / 1_000_000,
        "who leaves leaves its rate behind"
    );
}

#[test]
fn an_assignment_raises_window_and_target_of_a_window_based_flow() {
    let params = Params::profile("reference-2022").expect("known");
    let (mut scream, mut near) = (Scream::new(&params, &FlowSetup::new(SIZE)), Datagrams::default());
    Run::new(&mut scream, &mut near, Path::clean(TimeDelta::from_millis(50))).until(ms(300));
    let window = scream.snapshot().window.expect("it has one");
    let wanted = Bytes::new(window.as_u64() + 50_000);
    let update = scream.assign(ms(300), Assigned::Window(wanted));
    assert!(scream.snapshot().window.is_some_and(|window| window.as_u64().abs_diff(wanted.as_u64()) <= 1));
    assert!(
        matches!(update.allowance, Some(Allowance::Bytes(bytes)) if bytes >= Bytes::new(50_000)),
        "{update:?}"
    );
    let rate = wanted.as_bits_f64() / 0.1;
    assert!((0.95..1.05).contains(&(target(&scream) as f64 / rate)), "window over round trip");
}
