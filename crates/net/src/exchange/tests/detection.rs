//! The exchange finds out by delays which flows of several processes share a bottleneck.

use super::service::{Raw, join, update};
use super::*;
use paceline_wire::exchange::{Join, Refusal, Reply, Request, encode_request};

/// Decisions each 100 ms, of which two in a row put flows together, by summaries of as few intervals as there can be.
const TERMS: &str = "rfc8382 T=100ms N=2 M=2 F=1 decisions=2";

fn terms(detection: Option<&str>) -> Terms {
    Terms { kind: "active".into(), settings: String::new(), detection: detection.map(Into::into) }
}

/// A summary of flows that pass a bottleneck, told apart by the frequency at which their delays cross the mean.
fn summary(intervals: u64, frequency: f64) -> DelaySummary {
    let (skewness, variability, loss) = (-0.5, MS * 5, 0.0);
    DelaySummary { intervals, skewness, variability, frequency, loss, bottleneck: true }
}

/// Three processes of one flow each, which start with 1, 2 and 3 Mbit/s; the last has another bottleneck at first.
struct World {
    machine: Machine,
    frequencies: [f64; 3],
}

impl World {
    fn new() -> World {
        let mut machine = Machine::new();
        for rate in [1.0, 2.0, 3.0] {
            machine.start_with(
                at(0),
                &[(group("calls"), Priority::ONE)],
                rate,
                terms(Some(TERMS)),
                Vec::new(),
            );
        }
        World { machine, frequencies: [0.2, 0.2, 0.8] }
    }

    /// Each process tells of an interval of 100 ms after the other.
    fn run(&mut self, intervals: std::ops::Range<u64>) {
        for interval in intervals {
            for (process, frequency) in self.machine.processes.iter_mut().zip(self.frequencies) {
                process.ends.1 = Some(summary(interval, frequency));
                process.member.after_event(at(100 * interval), 0, &process.ends, &mut process.pipe);
            }
            self.machine.run(at(100 * interval), at(100 * interval + 100));
        }
    }

    /// Sum in Mbit/s of the group of each process's flow.
    fn sums(&self) -> [f64; 3] {
        [0, 1, 2].map(|place| self.machine.share(place).expect("it shares").sum.as_mbps_f64())
    }
}

#[test]
fn flows_of_processes_whose_delays_are_alike_share() {
    let mut world = World::new();
    world.run(1..4);
    assert_eq!(world.sums(), [1.0, 2.0, 3.0], "each by itself, before anything is known");
    world.run(4..20);
    assert_eq!(world.sums(), [3.0, 3.0, 3.0], "the first two have 3 Mbit/s together, the third its own");
    assert_eq!(world.machine.service.counters.regrouped, 1);
    // An update of one is an assignment of both, and of no other.
    world.machine.compute(at(2_050), 0, 2.0);
    let rates = [0, 1, 2].map(|place| world.machine.processes[place].rate());
    let sum = world.sums()[0];
    assert!(
        close(rates[0], sum / 2.0) && close(rates[1], sum / 2.0) && rates[2] == 3.0,
        "{rates:?} of {sum}"
    );
    // The second moves to the bottleneck of the third.
    world.frequencies[1] = 0.8;
    world.run(21..60);
    let [one, two, three] = world.sums();
    assert!(close(two, three) && close(one + two, sum + 3.0), "{one}, {two} and {three} Mbit/s");
    world.machine.compute(at(6_050), 2, 3.5);
    let rates = [1, 2].map(|place| world.machine.processes[place].rate());
    assert!(close(rates[0], rates[1]) && close(rates[0] + rates[1], two + 0.5), "{rates:?} of {two} and 0.5");
}

#[test]
fn flows_of_a_group_whose_first_one_dies_stay_together() {
    let mut world = World::new();
    world.frequencies = [0.2; 3];
    world.run(1..20);
    assert_eq!(world.sums(), [6.0; 3]);
    let id = world.machine.processes[0].id;
    world.machine.service.disconnect(at(2_010), id);
    // A newcomer at that moment is no member of the group that goes by the seat of the one that died.
    let all = &[(group("calls"), Priority::ONE)];
    let new = world.machine.start_with(at(2_020), all, 9.0, terms(Some(TERMS)), Vec::new());
    world.machine.processes[0].member.lost(at(2_030));
    assert_eq!(world.machine.share(new).expect("it shares").sum, Bitrate::from_mbps(9));
    world.machine.run(at(2_030), at(2_200));
    let [one, other] = [1, 2].map(|place| world.machine.share(place).expect("it shares").sum);
    assert_eq!(one, other);
    assert_eq!(
        world.machine.share(new).expect("it shares").sum,
        Bitrate::from_mbps(9),
        "nothing is known of it"
    );
}

#[test]
fn who_joins_again_tells_its_delays_anew() {
    let mut world = World::new();
    world.run(1..20);
    world.machine.processes[0].member.lost(at(2_000));
    let id = world.machine.processes[0].id;
    world.machine.service.disconnect(at(2_000), id);
    world.machine.connect(at(2_010), 0);
    world.run(21..40);
    let [one, other, _] = world.sums();
    assert_eq!(one, other, "they share again");
}

#[test]
fn delays_that_are_nobodys_are_refused() {
    let mut raw = Raw::new(ExchangeLimits::default());
    let delays = |flow| Request::Delays { flow, summary: summary(9, 0.2) };
    let (refusal, text) = raw.refused(at(1), &delays(0));
    assert_eq!(refusal, Refusal::NotJoined);
    assert!(text.contains("flow: found 0, expected one that has joined"), "{text}");
    raw.say(at(2), &join(0, "call", "active", 1.0));
    let (refusal, text) = raw.refused(at(3), &delays(0));
    assert_eq!(refusal, Refusal::Kind);
    assert!(text.contains("group call: found delays, expected none"), "{text}");
    raw.say(at(4), &detecting(1, "calls", TERMS));
    assert_eq!(raw.say(at(5), &delays(1)), [], "nothing to say until the next decision");
    let mut wrong = Vec::new();
    encode_request(&delays(1), &mut wrong).expect("it fits");
    wrong[28..36].copy_from_slice(&f64::NAN.to_be_bytes());
    raw.service.receive(at(6), raw.id, &wrong);
    assert_eq!(raw.service.counters.malformed, 1);
}

fn detecting(flow: u32, name: &str, terms: &str) -> Request {
    let Request::Join(plain) = join(flow, name, "active", 1.0) else { unreachable!() };
    Request::Join(Join { detection: Some(terms.into()), ..plain })
}

#[test]
fn all_of_a_name_are_grouped_in_the_same_way() {
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.say(at(1), &detecting(0, "calls", TERMS));
    raw.say(at(1), &join(1, "call", "active", 1.0));
    for (request, expected) in [
        (join(2, "calls", "active", 1.0), "group calls: groups by: found a declaration, expected delays"),
        (detecting(2, "call", TERMS), "group call: groups by: found delays, expected a declaration"),
        (detecting(2, "calls", "steady"), "group calls: T: found 350ms, expected 100ms"),
        (detecting(0, "calls", "rfc8382"), "as it has joined"),
        (detecting(2, "calls", "rfc8382 T=20ms"), "T: found 20 ms, expected at least 50 ms"),
        (detecting(2, "calls", "loud"), "profile of the detection: found loud"),
    ] {
        let (refusal, text) = raw.refused(at(2), &request);
        assert_eq!(refusal, Refusal::Kind, "{text}");
        assert!(text.contains(expected), "{text} lacks {expected}");
    }
    let joined = raw.say(at(3), &detecting(0, "calls", TERMS));
    assert!(matches!(joined[..], [Reply::State(state)] if state.members == 1), "{joined:?}");
    assert_eq!(raw.state(at(4), &Request::Update(update(1, 2, 1.0, None))).members, 1);
    // A name that nobody has any more may be taken by flows of the other kind.
    raw.say(at(5), &Request::Leave { flow: 0 });
    raw.say(at(6), &join(0, "calls", "active", 1.0));
    assert_eq!(raw.service.counters.refused, 6);
}

#[test]
fn there_is_room_for_so_many_flows_whose_delays_are_compared() {
    let limits = ExchangeLimits { groups: 2, flows_per_process: 100, ..Default::default() };
    let mut raw = Raw::new(limits);
    raw.say(at(1), &join(0, "call", "active", 1.0));
    for flow in 1..=64 {
        raw.say(at(1), &detecting(flow, "calls", TERMS));
    }
    let (refusal, text) = raw.refused(at(2), &detecting(65, "calls", TERMS));
    assert_eq!(refusal, Refusal::Full);
    assert!(text.contains("flows in group calls: found 64"), "{text}");
    let (refusal, text) = raw.refused(at(2), &detecting(65, "more", TERMS));
    assert!(refusal == Refusal::Full && text.contains("groups: found 2"), "{text}");
    (1..=64).for_each(|flow| drop(raw.say(at(3), &Request::Leave { flow })));
    raw.say(at(4), &detecting(65, "more", TERMS));
    assert_eq!(raw.service.counters.joined, 66);
}

proptest! {
    /// Whatever summaries processes tell, as often as they like: no rate is lost or made by moving flows between groups.
    #[test]
    fn any_delays_leave_the_rates_as_they_are(
        told in proptest::collection::vec((0usize..3, 0u64..9, -1.0f64..1.0, 0.0f64..1.0, 0.0f64..1.0, any::<bool>()), 1..200),
    ) {
        let mut machine = Machine::new();
        for rate in [1.0, 2.0, 4.0] {
            machine.start_with(at(0), &[(group("calls"), Priority::ONE)], rate, terms(Some(TERMS)), Vec::new());
        }
        let mut now = 0;
        for (who, intervals, skewness, frequency, loss, bottleneck) in told {
            let told = DelaySummary { intervals, skewness, variability: MS, frequency, loss, bottleneck };
            let Process { member, ends, pipe, .. } = &mut machine.processes[who];
            ends.1 = Some(told);
            member.after_event(at(now), 0, ends, pipe);
            machine.run(at(now), at(now + 40));
            now += 40;
        }
        let rates: f64 = (0..3).map(|place| machine.processes[place].rate()).sum();
        prop_assert!((rates - 7.0).abs() < 1e-4, "{rates}");
        prop_assert_eq!(machine.service.counters.malformed + machine.service.counters.refused, 0);
    }
}
