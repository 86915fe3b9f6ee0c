//! Controllers that a program steps, over a link of arithmetic alone.

use super::*;
use paceline_cc::{
    AnyCoupling, Coupling, FlowId, Offered, PacketResult, SendQueueState, SentPacket, Status, StreamId,
};
use paceline_units::{Bytes, Ecn};
use std::collections::VecDeque;

const SIZE: Bytes = Bytes::new(1000);
const STREAM: StreamId = StreamId(0);
const DELAY: TimeDelta = TimeDelta::from_millis(25);

/// The rule of an event: whoever couples decides how the group hears of it.
trait Coupler {
    fn event(
        &mut self,
        now: Time,
        flow: usize,
        told: Told,
        call: &mut dyn FnMut(&mut Session<AnyController>),
    );
    fn look(&self, flow: usize, look: &mut dyn FnMut(&Session<AnyController>));
}

struct ByGroup(Vec<CoupledSession>);

impl Coupler for ByGroup {
    fn event(
        &mut self,
        now: Time,
        flow: usize,
        told: Told,
        call: &mut dyn FnMut(&mut Session<AnyController>),
    ) {
        self.0[flow].tell(now, told, call);
        self.0[flow].share(now);
    }

    fn look(&self, flow: usize, look: &mut dyn FnMut(&Session<AnyController>)) {
        self.0[flow].with(|session| look(session));
    }
}

/// As the simulator's host does: an exchange over ends.
struct ByHost {
    exchange: Exchange,
    ends: HostEnds,
}

struct HostEnds(Vec<(Session<AnyController>, Hearing)>);

impl CoupledEnds for HostEnds {
    fn share(&self, flow: usize) -> Option<Assigned> {
        let (session, hearing) = &self.0[flow];
        if hearing.is_silent() { None } else { session.controller.share() }
    }

    fn desired(&self, _flow: usize) -> Option<Bitrate> {
        None
    }

    fn srtt(&self, flow: usize) -> Option<TimeDelta> {
        let (session, hearing) = &self.0[flow];
        hearing.round_trip(session.controller.snapshot().srtt)
    }

    fn assign(&mut self, now: Time, flow: usize, assigned: Assigned) {
        self.0[flow].0.tell(|controller| controller.assign(now, assigned));
    }
}

impl Coupler for ByHost {
    fn event(
        &mut self,
        now: Time,
        flow: usize,
        told: Told,
        call: &mut dyn FnMut(&mut Session<AnyController>),
    ) {
        for place in 0..self.ends.0.len() {
            let (session, hearing) = &mut self.ends.0[place];
            if hearing.silent_at().is_some_and(|at| at <= now) {
                hearing.fall_silent(session.controller.snapshot().srtt);
                self.exchange.after_event(now, place, &mut self.ends);
            }
        }
        let (session, hearing) = &mut self.ends.0[flow];
        let due = session.controller.next_timeout();
        call(session);
        match (told, due) {
            (Told::Sent, _) => hearing.sent(now),
            (Told::Heard, _) => hearing.heard(now),
            (Told::Timeout, Some((_, reason))) => {
                hearing.woken(now, Reason::Controller(reason), || session.controller.snapshot().srtt);
            }
            (Told::Timeout | Told::Other, _) => {}
        }
        self.exchange.after_event(now, flow, &mut self.ends);
    }

    fn look(&self, flow: usize, look: &mut dyn FnMut(&Session<AnyController>)) {
        look(&self.ends.0[flow].0);
    }
}

/// Greedy flows over a link of 8 Mbit/s with room for 50 packets, each of which reports its packets one by one; the reports of the last one
/// are lost from 6 s to 9 s. Answers bytes sent by each in the second half.
fn run(coupler: &mut impl Coupler, flows: usize, seconds: u64) -> Vec<u64> {
    let mut reports: Vec<VecDeque<(Time, PacketResult)>> = vec![VecDeque::new(); flows];
    let mut sequences = vec![0; flows];
    let (mut next_send, mut sent) = (vec![Time::ZERO; flows], vec![0; flows]);
    let mut free = Time::ZERO;
    let queue = SendQueueState {
        stream: STREAM,
        bytes: Bytes::new(100_000),
        packets: 100,
        newest_frame: SIZE,
        greedy: true,
        ..SendQueueState::default()
    };
    for millis in 0..seconds * 1000 {
        let now = Time::from_nanos(millis * 1_000_000);
        for flow in 0..flows {
            let deaf = flow + 1 == flows && (6000..9000).contains(&millis);
            while reports[flow].front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, packet)) = reports[flow].pop_front() else { break };
                if !deaf {
                    let step = TimeDelta::from_micros(1);
                    coupler.event(now, flow, Told::Heard, &mut |session| {
                        session.on_packets(now, [packet], step)
                    });
                }
            }
            let mut due = None;
            coupler.look(flow, &mut |session| due = session.controller.next_timeout());
            if due.is_some_and(|(at, _)| at <= now) {
                coupler.event(now, flow, Told::Timeout, &mut |session| {
                    session.tell(|controller| controller.on_timeout(now));
                });
            }
            if millis % 20 == 0 {
                let offered = Offered { stream: STREAM, bytes: SIZE, frame_end: true };
                coupler.event(now, flow, Told::Other, &mut |session| {
                    session.tell(|controller| controller.on_offered(now, &offered, &queue));
                });
            }
            loop {
                let (mut fits, mut gap) = (false, TimeDelta::ZERO);
                coupler.look(flow, &mut |session| {
                    fits = session.allowed_bytes().is_none_or(|bytes| bytes >= SIZE)
                        && session.allowed_packets() != Some(0);
                    let paced =
                        session.pacing_rate().map(|rate| rate.time_for(SIZE)).or(session.pacing_gap());
                    gap = paced.unwrap_or(TimeDelta::from_micros(200));
                });
                if !fits || next_send[flow] > now {
                    break;
                }
                next_send[flow] = next_send[flow].max(now) + gap;
                let packet = SentPacket {
                    stream: STREAM,
                    sequence: sequences[flow],
                    size: SIZE,
                    probe: None,
                    app_limited: false,
                };
                sequences[flow] += 1;
                sent[flow] += if millis > seconds * 500 { SIZE.as_u64() } else { 0 };
                coupler.event(now, flow, Told::Sent, &mut |session| session.on_sent_remembered(now, &packet));
                let lost = free > now + TimeDelta::from_millis(50);
                free = if lost { free } else { free.max(now) + TimeDelta::from_millis(1) };
                let arrived = free + DELAY;
                let status = match lost {
                    true => Status::Missing,
                    false => Status::Received { arrived: Some(arrived), ecn: Ecn::NotEct },
                };
                let result =
                    PacketResult { stream: STREAM, sequence: packet.sequence, size: SIZE, sent: now, status };
                reports[flow].push_back((arrived + DELAY, result));
            }
        }
    }
    sent
}

fn controller(kind: &str) -> AnyController {
    AnyController::configured(kind, None, []).expect("a kind")
}

/// The program's group does what the simulator's host does, to a bit: its members' windows and rates, and what they sent.
#[test]
fn a_group_of_controllers_does_what_an_exchange_of_ends_does() {
    let weights = [Priority::new(2.0).expect("a priority"), Priority::ONE, Priority::ONE];
    for coupling in CouplingParams::KINDS {
        let params = CouplingParams::of(coupling).expect("a kind");
        for kind in ["newreno", "cubic", "scream", "gcc", "rap", "nada"] {
            let group = SessionGroup::new(&params);
            let mut own = ByGroup((0..3).map(|_| CoupledSession::new(controller(kind))).collect());
            for (session, weight) in own.0.iter().zip(weights) {
                group.join(Time::ZERO, session, weight).expect("it is in none");
            }
            let flows: Vec<_> = weights.iter().map(|weight| (0, *weight)).collect();
            let exchange = Exchange::new(&params, &flows, Vec::new());
            let sessions = (0..3).map(|_| (Session::new(controller(kind)), Hearing::default())).collect();
            let mut host = ByHost { exchange, ends: HostEnds(sessions) };
            for flow in 0..3 {
                host.exchange.after_event(Time::ZERO, flow, &mut host.ends);
            }
            let sent = [run(&mut own, 3, 14), run(&mut host, 3, 14)];
            assert_eq!(sent[0], sent[1], "{coupling} {kind}");
            for flow in 0..3 {
                let snapshot = own.0[flow].with(|session| session.controller.snapshot());
                assert_eq!(snapshot, host.ends.0[flow].0.controller.snapshot(), "{coupling} {kind}");
                let coupled = group.coupled(&own.0[flow]).expect("a member");
                assert_eq!(coupled, host.exchange.coupled(flow), "{coupling} {kind}");
                assert!(coupled.assignments > 0 && coupled.ignored == 0, "{coupling} {kind}: {coupled:?}");
            }
        }
    }
}

#[test]
fn a_member_that_is_not_heard_leaves_and_comes_back() {
    let group = SessionGroup::new(&CouplingParams::of("active").expect("a kind"));
    let mut own = ByGroup((0..2).map(|_| CoupledSession::new(controller("scream"))).collect());
    own.0.iter().for_each(|session| group.join(Time::ZERO, session, Priority::ONE).expect("it is in none"));
    let share = |own: &ByGroup| group.coupled(&own.0[1]).expect("a member").share;
    run(&mut own, 2, 9);
    assert_eq!(share(&own), None, "nothing has come back for two seconds");
    let mut own = ByGroup(own.0.iter().map(|_| CoupledSession::new(controller("scream"))).collect());
    own.0.iter().for_each(|session| group.join(Time::ZERO, session, Priority::ONE).expect("it is in none"));
    run(&mut own, 2, 12);
    assert!(share(&own).is_some(), "it is heard again");
}

#[test]
fn wrong_uses_change_nothing() {
    let [one, other] =
        ["active", "cm"].map(|kind| SessionGroup::new(&CouplingParams::of(kind).expect("a kind")));
    let session = CoupledSession::new(controller("newreno"));
    assert_eq!(one.leave(Time::ZERO, &session), Err(GroupError::NoMember));
    for alone in ["sprout", "none"] {
        let session = CoupledSession::new(controller(alone));
        assert_eq!(one.join(Time::ZERO, &session, Priority::ONE), Err(GroupError::Alone), "{alone}");
        assert!(!session.is_coupled());
    }
    one.join(Time::ZERO, &session, Priority::ONE).expect("it is in none");
    assert_eq!(one.join(Time::ZERO, &session, Priority::ONE), Err(GroupError::Twice));
    assert_eq!(other.join(Time::ZERO, &session, Priority::ONE), Err(GroupError::Elsewhere));
    assert_eq!(other.leave(Time::ZERO, &session), Err(GroupError::NoMember));
    assert_eq!(other.set_desired(Time::ZERO, &session, None), Err(GroupError::NoMember));
    one.leave(Time::ZERO, &session).expect("a member");
    assert_eq!(one.leave(Time::ZERO, &session), Err(GroupError::NoMember));
    assert_eq!(one.set_priority(Time::ZERO, &session, Priority::ONE), Err(GroupError::NoMember));
    assert_eq!(one.coupled(&session), Err(GroupError::NoMember));
    other.join(Time::ZERO, &session, Priority::ONE).expect("it is in none");
    other.dissolve();
    assert!(!session.is_coupled());
    assert_eq!(other.leave(Time::ZERO, &session), Err(GroupError::NoMember));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let said = priority(wrong).expect_err("no priority");
        assert!(
            said.starts_with("priority: found ") && said.contains("expected a number from 0.000001"),
            "{said}"
        );
    }
}

/// More controllers than a group knows: they come and go, and nothing grows.
#[test]
fn a_group_has_room_for_those_that_are_in_it() {
    let group = SessionGroup::new(&CouplingParams::of("active").expect("a kind"));
    let start = || CoupledSession::new(controller("rap"));
    for at in 0..3 * MOST {
        let (now, session) = (Time::from_nanos(at as u64 * 1_000_000), start());
        group.join(now, &session, Priority::ONE).expect("there is room");
        if at % 2 == 0 {
            group.leave(now, &session).expect("a member");
        } else {
            drop(session);
            let other = start();
            group.join(now, &other, Priority::ONE).expect("there is room");
            other.share(now);
            group.leave(now, &other).expect("a member");
        }
    }
    let members: Vec<_> = (0..MOST).map(|_| start()).collect();
    for session in &members {
        group.join(Time::ZERO, session, Priority::ONE).expect("there is room");
    }
    assert_eq!(group.join(Time::ZERO, &start(), Priority::ONE), Err(GroupError::Full));
    assert_eq!(lock(&group.0).seats.0.len(), MOST);
}

/// A flow that got the number of another one that had left is new to the group: its rate adds to the sum.
#[test]
fn a_number_that_is_given_again_is_another_flow() {
    let mut group = AnyCoupling::new(&CouplingParams::of("active").expect("a kind"));
    let update = |flow, mbps| paceline_cc::FlowUpdate {
        flow: FlowId(flow),
        own: Assigned::Rate(Bitrate::from_mbps(mbps)),
        taken: None,
        desired: None,
        rtt: None,
        priority: Priority::ONE,
    };
    group.join(Time::ZERO, &update(0, 2));
    group.join(Time::ZERO, &update(1, 2));
    group.leave(Time::ZERO, FlowId(1));
    group.forget(FlowId(1));
    // After ten seconds a rate that was left is nobody's any more.
    group.join(Time::from_nanos(11_000_000_000), &update(1, 2));
    assert_eq!(group.sum(), Bitrate::from_mbps(6));
}
