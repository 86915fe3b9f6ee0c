//! The exchange and the processes of a machine without sockets: messages are passed by hand, and so is time.

mod detection;
mod service;

use super::ExchangeLimits;
use super::member::{Member, Outlet, Sent, Terms};
use super::service::{ClientId, Service};
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Assigned, Priority};
use paceline_ends::{CoupledEnds, PriorityStep};
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::exchange::GroupKey;
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: TimeDelta = TimeDelta::from_millis(1);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn priority(weight: f64) -> Priority {
    Priority::new(weight).expect("a priority")
}

fn group(name: &str) -> GroupKey {
    GroupKey::Name(name.into())
}

fn mbps(rate: Option<Assigned>) -> f64 {
    match rate {
        Some(Assigned::Rate(rate)) => rate.as_mbps_f64(),
        other => panic!("found {other:?}, expected a rate"),
    }
}

/// Flows whose controllers take every rate, and the newest summary of the delays of all of them.
#[derive(Default)]
struct Ends(Vec<Option<Assigned>>, Option<DelaySummary>, Vec<usize>);

impl CoupledEnds for Ends {
    fn share(&self, flow: usize) -> Option<Assigned> {
        self.0[flow]
    }

    fn desired(&self, _: usize) -> Option<Bitrate> {
        None
    }

    fn srtt(&self, _: usize) -> Option<TimeDelta> {
        Some(MS * 40)
    }

    fn delay_summary(&self, _: usize) -> Option<DelaySummary> {
        self.1
    }

    fn exchanges_rates(&mut self, flow: usize) {
        self.2.push(flow);
    }

    fn assign(&mut self, _: Time, flow: usize, assigned: Assigned) {
        self.0[flow] = Some(assigned);
    }
}

/// Messages that a process has sent and the exchange has not read.
#[derive(Default)]
struct Pipe {
    messages: VecDeque<Vec<u8>>,
    full: bool,
}

impl Outlet for Pipe {
    fn send(&mut self, message: &[u8]) -> Sent {
        if self.full {
            return Sent::Later;
        }
        self.messages.push_back(message.to_vec());
        Sent::Done
    }
}

/// A process with its flows.
struct Process {
    id: ClientId,
    member: Member,
    ends: Ends,
    pipe: Pipe,
}

impl Process {
    /// Rate of its first flow in Mbit/s.
    fn rate(&self) -> f64 {
        mbps(self.ends.0[0])
    }

    /// The controller of its first flow computes a rate in Mbit/s.
    fn compute(&mut self, now: Time, rate: f64) {
        self.ends.0[0] = Some(Assigned::Rate(Bitrate::from_bps_f64(rate * 1e6)));
        self.member.after_event(now, 0, &self.ends, &mut self.pipe);
    }
}

/// An exchange and processes.
struct Machine {
    service: Service,
    processes: Vec<Process>,
    connections: u64,
}

impl Machine {
    fn new() -> Machine {
        let service = Service::new(&ExchangeLimits::default());
        Machine { service, processes: Vec::new(), connections: 0 }
    }

    /// A process of one flow with a priority and a rate in Mbit/s, connected and greeted.
    fn start(&mut self, now: Time, weight: f64, rate: f64, kind: &str, steps: Vec<PriorityStep>) -> usize {
        self.start_flows(now, &[(group("call"), priority(weight))], rate, kind, steps)
    }

    /// The same of several flows, in their groups.
    fn start_flows(
        &mut self,
        now: Time,
        flows: &[(GroupKey, Priority)],
        rate: f64,
        kind: &str,
        steps: Vec<PriorityStep>,
    ) -> usize {
        self.start_with(
            now,
            flows,
            rate,
            Terms { kind: kind.into(), settings: String::new(), detection: None },
            steps,
        )
    }

    fn start_with(
        &mut self,
        now: Time,
        flows: &[(GroupKey, Priority)],
        rate: f64,
        terms: Terms,
        steps: Vec<PriorityStep>,
    ) -> usize {
        let member = Member::new(terms, flows, steps).expect("a group");
        let ends = Ends(
            vec![Some(Assigned::Rate(Bitrate::from_bps_f64(rate * 1e6))); flows.len()],
            None,
            Vec::new(),
        );
        let process = Process { id: ClientId(0), member, ends, pipe: Pipe::default() };
        self.processes.push(process);
        self.connect(now, self.processes.len() - 1);
        self.pass(now);
        self.processes.len() - 1
    }

    fn connect(&mut self, now: Time, place: usize) {
        self.connections += 1;
        let process = &mut self.processes[place];
        process.id = ClientId(self.connections);
        self.service.connect(now, process.id, 100 + place as u32);
        process.member.connected(now);
    }

    /// Passes all messages until there are none.
    fn pass(&mut self, now: Time) {
        loop {
            let mut idle = true;
            for process in &mut self.processes {
                while let Some(message) = process.pipe.messages.pop_front() {
                    self.service.receive(now, process.id, &message);
                    idle = false;
                }
                let mut bytes = Vec::new();
                while process.member.is_connected() && self.service.next_message(process.id, &mut bytes) {
                    self.service.sent(process.id);
                    process.member.receive(now, &bytes, &mut process.ends, &mut process.pipe);
                    bytes.clear();
                    idle = false;
                }
            }
            if idle {
                return;
            }
        }
    }

    /// The controller of a process computes a rate in Mbit/s, and everybody hears of it.
    fn compute(&mut self, now: Time, place: usize, rate: f64) {
        self.processes[place].compute(now, rate);
        self.pass(now);
    }

    /// Lets what is due happen until `until`, every 10 ms.
    fn run(&mut self, from: Time, until: Time) {
        let mut now = from;
        while now < until {
            now += MS * 10;
            for process in &mut self.processes {
                process.member.handle_timeout(now, &mut process.ends, &mut process.pipe);
            }
            self.pass(now);
            self.service.handle_timeout(now);
            self.pass(now);
        }
    }

    /// The first flow of a process as its exchange sees it.
    fn share(&self, place: usize) -> Option<paceline_ends::CoupledShare> {
        self.processes[place].member.coupled(0).share
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-5 * one.abs().max(1.0)
}

#[test]
fn flows_of_two_processes_share_by_priority() {
    let mut machine = Machine::new();
    let camera = machine.start(at(0), 2.0, 1.0, "active", Vec::new());
    let slides = machine.start(at(1), 1.0, 2.0, "active", Vec::new());
    assert_eq!((machine.processes[camera].rate(), machine.processes[slides].rate()), (1.0, 2.0), "as joined");
    machine.compute(at(2), camera, 4.0);
    assert!(close(machine.processes[camera].rate(), 4.0) && close(machine.processes[slides].rate(), 2.0));
    machine.compute(at(3), slides, 1.0);
    let (one, other) = (machine.processes[camera].rate(), machine.processes[slides].rate());
    assert!(close(one, 10.0 / 3.0) && close(other, 5.0 / 3.0), "{one} and {other}");
    let share = machine.share(slides).expect("it shares");
    assert!(close(share.sum.as_mbps_f64(), 5.0) && close(share.rate.as_mbps_f64(), 5.0 / 3.0), "{share:?}");
}

#[test]
fn flows_hear_once_that_rates_are_exchanged_where_they_are() {
    for (kind, heard) in
        [("active", vec![0, 1]), ("conservative", vec![0, 1]), ("etcp", vec![]), ("cm", vec![])]
    {
        let mut machine = Machine::new();
        let flows = [(group("call"), priority(1.0)), (group("call"), priority(2.0))];
        let place = machine.start_flows(at(0), &flows, 2.0, kind, Vec::new());
        machine.compute(at(100), place, 3.0);
        machine.run(at(100), at(500));
        assert_eq!(machine.processes[place].ends.2, heard, "{kind}");
    }
}

/// Two processes have a flow each in two groups of one exchange: a group hears nothing of the other.
#[test]
fn groups_of_one_exchange_share_nothing_with_each_other() {
    let mut machine = Machine::new();
    let flows = [(group("call-1"), priority(2.0)), (group("call-2"), priority(1.0))];
    let one = machine.start_flows(at(0), &flows, 1.0, "active", Vec::new());
    let flows = [(group("call-1"), priority(1.0)), (group("call-2"), priority(3.0))];
    let other = machine.start_flows(at(0), &flows, 2.0, "active", Vec::new());
    machine.compute(at(10), one, 4.0);
    let given =
        |process: usize, machine: &Machine| [0, 1].map(|flow| mbps(machine.processes[process].ends.0[flow]));
    assert_eq!([given(one, &machine), given(other, &machine)], [[4.0, 1.0], [2.0, 2.0]]);
    let sums = |process: usize| {
        [0, 1].map(|place| machine.processes[process].member.coupled(place).share.expect("it shares").sum)
    };
    assert_eq!(sums(one), [6, 3].map(Bitrate::from_mbps));
    assert_eq!(sums(other), [6, 3].map(Bitrate::from_mbps));
}

#[test]
fn a_priority_that_changes_acts_in_both_processes() {
    let steps = vec![PriorityStep { at: at(50), flow: 0, priority: priority(4.0) }];
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 5.0, "active", steps);
    let other = machine.start(at(0), 1.0, 5.0, "active", Vec::new());
    machine.run(at(0), at(100));
    assert!(close(machine.processes[one].rate(), 8.0) && close(machine.processes[other].rate(), 2.0));
}

#[test]
fn who_is_killed_leaves_its_rate_to_the_others() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 2.0, 4.0, "active", Vec::new());
    let other = machine.start(at(0), 1.0, 2.0, "active", Vec::new());
    machine.service.disconnect(at(10), machine.processes[one].id);
    machine.processes[one].member.lost(at(10));
    machine.compute(at(11), other, 2.5);
    assert!(close(machine.processes[other].rate(), 6.5), "as `leaving` says, all of it");
    let counters = machine.service.counters;
    assert_eq!((counters.vanished, counters.left, counters.expired), (1, 1, 0));
}

#[test]
fn who_is_silent_has_left_and_who_speaks_stays() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 3.0, "active", Vec::new());
    let other = machine.start(at(0), 1.0, 3.0, "active", Vec::new());
    machine.processes[one].pipe.full = true;
    machine.run(at(0), at(1_900));
    assert_eq!(machine.share(other).expect("it shares").sum.as_mbps_f64(), 6.0);
    assert_eq!(machine.service.counters.expired, 0, "not yet");
    machine.run(at(1_900), at(2_600));
    machine.compute(at(2_600), other, 3.0 + 1e-6);
    assert!(close(machine.processes[other].rate(), 6.0));
    assert_eq!((machine.service.counters.expired, machine.service.counters.left), (1, 1));
    assert!(machine.share(one).is_none() && !machine.processes[one].member.is_connected(), "it was told");
    assert!(machine.service.is_over(machine.processes[one].id, false), "and the connection can end");
    machine.run(at(2_600), at(10_000));
    assert_eq!(machine.service.counters.expired, 1, "signs of life are enough");
}

/// A flow that waits for nobody.
#[test]
fn without_an_exchange_a_flow_goes_by_its_controller() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 3.0, "active", Vec::new());
    let other = machine.start(at(0), 2.0, 3.0, "active", Vec::new());
    machine.compute(at(5), one, 3.3);
    let process = &mut machine.processes[one];
    // A service that hangs: it reads nothing, then answers nothing.
    process.pipe.full = true;
    let given = process.rate();
    process.compute(at(10), given + 1.0);
    assert!(close(process.rate(), given + 1.0), "its own rate");
    process.pipe.full = false;
    for now in (20..3_000).step_by(10) {
        process.member.handle_timeout(at(now), &mut process.ends, &mut process.pipe);
    }
    assert!(!process.member.is_connected(), "it was silent for too long");
    assert!(process.member.wants_connection(at(3_600)));
    process.compute(at(3_600), 9.0);
    assert_eq!(process.rate(), 9.0);
    assert_eq!(process.member.coupled(0).share, None, "it does not share");
    // Another exchange, which knows nothing: both come back with what they have.
    process.pipe.messages.clear();
    machine.service = Service::new(&ExchangeLimits::default());
    machine.processes[other].member.lost(at(3_600));
    for place in [one, other] {
        machine.connect(at(4_000), place);
    }
    let other_rate = machine.processes[other].rate();
    machine.pass(at(4_000));
    machine.compute(at(4_001), one, 9.0 + 1e-6);
    let share = machine.share(one).expect("it shares again");
    assert!(close(share.sum.as_mbps_f64(), 9.0 + other_rate), "what their controllers have, no more");
    let troubles = machine.processes[one].member.finish(at(5_000), &mut Pipe::default());
    assert_eq!((troubles.away, troubles.refused, troubles.greeted), (1, 0, true));
    assert!((1.0..2.0).contains(&troubles.away_for.as_secs_f64()), "{troubles:?}");
}

#[test]
fn an_answer_to_an_older_update_does_not_undo_a_newer_one() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 8.0, "active", Vec::new());
    machine.processes[one].compute(at(10), 9.0);
    let first = machine.processes[one].pipe.messages.pop_front().expect("an update");
    let id = machine.processes[one].id;
    machine.service.receive(at(10), id, &first);
    let mut answer = Vec::new();
    assert!(machine.service.next_message(id, &mut answer));
    machine.service.sent(id);
    // A loss, while the answer is under way.
    machine.processes[one].compute(at(11), 4.5);
    let Process { member, ends, pipe, .. } = &mut machine.processes[one];
    member.receive(at(11), &answer, ends, pipe);
    assert_eq!(machine.processes[one].rate(), 4.5, "the reduction stands");
    machine.pass(at(12));
    assert!(
        close(machine.processes[one].rate(), 4.5)
            && close(machine.share(one).expect("it shares").sum.as_mbps_f64(), 4.5)
    );
}

#[test]
fn what_the_exchange_does_not_take_is_told_with_the_next_update() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 8.0, "active", Vec::new());
    machine.processes[one].pipe.full = true;
    machine.compute(at(1), one, 9.0);
    machine.compute(at(2), one, 7.0);
    machine.processes[one].pipe.full = false;
    machine.compute(at(3), one, 10.0);
    let share = machine.share(one).expect("it shares");
    assert!(close(share.sum.as_mbps_f64(), 10.0), "one change from 8 to 10: {share:?}");
}

#[test]
fn another_kind_is_refused_by_both_names_and_the_flow_goes_alone() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 4.0, "active", Vec::new());
    let other = machine.start(at(0), 1.0, 4.0, "etcp", Vec::new());
    machine.compute(at(5), other, 5.0);
    assert_eq!((machine.processes[one].rate(), machine.processes[other].rate()), (4.0, 5.0));
    let troubles = machine.processes[other].member.finish(at(6), &mut Pipe::default());
    let said = troubles.first.expect("it was refused");
    assert!(said.contains("group call: kind: found etcp, expected active"), "{said}");
    // The group ends, and the second becomes its first.
    machine.service.disconnect(at(10), machine.processes[one].id);
    machine.compute(at(1_100), other, 6.0);
    assert!(machine.share(other).is_some(), "it has tried again");
}

/// Whatever an exchange says, a member asks it seldom and its flow goes on.
#[test]
fn an_exchange_that_speaks_nonsense_is_left_alone() {
    let mut machine = Machine::new();
    let one = machine.start(at(0), 1.0, 8.0, "active", Vec::new());
    let Process { member, ends, pipe, .. } = &mut machine.processes[one];
    member.receive(at(10), b"FS\x01\x81\0\0\0\x01", ends, pipe);
    assert!(member.next_timeout() >= at(10 + 25), "a sign of life every 25 ms at most");
    member.receive(at(11), b"HTTP/1.1 400 Bad Request", ends, pipe);
    assert!(!member.is_connected() && !member.wants_connection(at(100)) && member.wants_connection(at(111)));
    let mut attempts = 0;
    for now in 111..20_111 {
        if member.wants_connection(at(now)) {
            attempts += 1;
            member.connected(at(now));
            member.receive(at(now), &[0xff; 300], ends, pipe);
        }
    }
    assert!((8..=16).contains(&attempts), "{attempts} attempts in 20 s");
    machine.processes[one].compute(at(20_200), 3.0);
    assert_eq!(machine.processes[one].rate(), 3.0);
}

/// One step of processes that do anything.
#[derive(Clone, Debug)]
enum Step {
    /// A controller multiplies its rate, in thousandths.
    Compute(usize, u64),
    /// A flow ends, or begins anew with so many kbit/s.
    End(usize),
    Begin(usize, u64),
    /// A process dies, or closes and connects again.
    Kill(usize),
    Nonsense(usize, Vec<u8>),
    /// All messages are passed.
    Pass,
    /// Time goes by, in milliseconds.
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0usize..3;
    prop_oneof![
        4 => (who.clone(), 500u64..1500).prop_map(|(who, by)| Step::Compute(who, by)),
        1 => who.clone().prop_map(Step::End),
        1 => (who.clone(), 100u64..10_000).prop_map(|(who, rate)| Step::Begin(who, rate)),
        1 => who.clone().prop_map(Step::Kill),
        1 => (who, proptest::collection::vec(any::<u8>(), 0..80)).prop_map(|(who, bytes)| Step::Nonsense(who, bytes)),
        4 => Just(Step::Pass),
        2 => (0u64..700).prop_map(Step::Wait),
    ]
}

fn total(machine: &Machine) -> Option<(f64, f64)> {
    let shares: Vec<_> = (0..machine.processes.len()).filter_map(|place| machine.share(place)).collect();
    let sum = shares.first()?.sum.as_mbps_f64();
    Some((shares.iter().map(|share| share.rate.as_mbps_f64()).sum(), sum))
}

proptest! {
    /// Whatever processes do: once all has been said, the rates add up to no more than the group's sum, each flow has what
    /// the group gave it, and the sum is what joined and what controllers changed.
    #[test]
    fn rates_add_up_to_the_sum_whatever_happens(steps in proptest::collection::vec(step(), 1..80)) {
        let mut machine = Machine::new();
        for (place, weight) in [2.0, 1.0, 0.5].into_iter().enumerate() {
            machine.start(at(0), weight, 1.0 + place as f64, "active", Vec::new());
        }
        let (mut now, mut dead) = (at(1), [false; 3]);
        for step in steps {
            match step {
                Step::Compute(who, by) => {
                    if let Some(Assigned::Rate(rate)) = machine.processes[who].ends.0[0] {
                        machine.processes[who].compute(now, rate.as_mbps_f64() * by as f64 / 1000.0);
                    }
                }
                Step::End(who) => {
                    let Process { member, ends, pipe, .. } = &mut machine.processes[who];
                    ends.0[0] = None;
                    member.after_event(now, 0, ends, pipe);
                }
                Step::Begin(who, rate) => machine.processes[who].compute(now, rate as f64 / 1000.0),
                Step::Kill(who) => {
                    machine.service.disconnect(now, machine.processes[who].id);
                    machine.processes[who].pipe.messages.clear();
                    machine.processes[who].member.lost(now);
                    dead[who] = true;
                }
                Step::Nonsense(who, bytes) => machine.service.receive(now, machine.processes[who].id, &bytes),
                Step::Pass => machine.pass(now),
                Step::Wait(millis) => {
                    machine.run(now, now + MS * millis as i64);
                    now += MS * (millis as i64 + 10);
                }
            }
            for who in 0..3 {
                if machine.processes[who].member.wants_connection(now) {
                    machine.processes[who].pipe.messages.clear();
                    machine.connect(now, who);
                }
            }
        }
        machine.pass(now);
        // A flow that is alone goes by its own controller.
        let together = (0..3).filter(|who| machine.share(*who).is_some()).count() > 1;
        for who in 0..3 {
            if let Some(share) = machine.share(who).filter(|_| together) {
                prop_assert!(close(share.rate.as_mbps_f64(), machine.processes[who].rate()), "{share:?}");
            }
        }
        if let Some((rates, sum)) = total(&machine) {
            prop_assert!(rates <= sum * (1.0 + 1e-9) + 1e-5, "{rates} of {sum}");
        }
    }

    #[test]
    fn any_bytes_leave_other_processes_alone(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..600), 0..40),
        kinds in proptest::collection::vec(0u8..8, 40),
    ) {
        let mut machine = Machine::new();
        let honest = machine.start(at(0), 1.0, 5.0, "active", Vec::new());
        machine.service.connect(at(0), ClientId(99), 9);
        for (message, kind) in messages.into_iter().zip(kinds) {
            let mut bytes = vec![b'F', b'S', if kind > 4 { 2 } else { 1 }, kind];
            bytes.extend(&message);
            machine.service.receive(at(1), ClientId(99), if kind == 7 { &message } else { &bytes });
        }
        machine.service.disconnect(at(2), ClientId(99));
        machine.compute(at(3), honest, 5.5);
        let share = machine.share(honest).expect("it shares");
        prop_assert!(close(share.sum.as_mbps_f64(), 5.5) && close(machine.processes[honest].rate(), 5.5));
    }
}
