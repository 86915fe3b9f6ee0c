//! A call on paths that are not clean: feedback that stops, is lost or comes seldom, long round trips, reordering, every frame
//! rate. Each row is a scenario beside another without the trouble, on 10 Mbit/s with 300 ms of queue. Every controller that names a
//! target to an encoder passes every row, or stands in [`EXEMPT`] with the reason, and then must fail it.

use crate::members::{self, Member, REFERENCE};
use crate::world::{column, flow, run};
use paceline_sim::Outcome;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A scenario of a row: what differs from a call over 100 ms with 50 frames a second, reported at each frame's end.
#[derive(Clone, Copy, Debug)]
struct Call {
    rate: &'static str,
    round_trip_ms: u32,
    fps: u32,
    link: &'static str,
    return_link: &'static str,
    feedback: &'static str,
}

const CALL: Call =
    Call { rate: "10Mbps", round_trip_ms: 100, fps: 50, link: "", return_link: "", feedback: "" };
/// A packet of 1212 B takes 16 ms.
const SLOW: Call = Call { rate: "600kbps", ..CALL };
const SECONDS: u32 = 160;
/// The time before is not judged: the slowest ramp, RFC 8298's, takes 45 s to 10 Mbit/s.
const WARMUP: u32 = 70;

impl Call {
    fn outcome(&self, controller: &str) -> Outcome {
        let Call { rate, round_trip_ms, fps, link, return_link, feedback } = self;
        let half = round_trip_ms / 2;
        run(&format!(
            "duration = \"{SECONDS}s\"\nwarmup = \"{WARMUP}s\"\nsample = \"50ms\"\n\
             [links.l]\nrate = \"{rate}\"\ndelay = \"{half}ms\"\nqueue = {{ limit = \"300ms\" }}\n{link}\n\
             [links.back]\nrate = \"100Mbps\"\ndelay = \"{half}ms\"\nqueue = {{ packets = 1000 }}\n{return_link}\n\
             [flows.f]\ntransport = \"rtp\"\ncontroller = {controller}\npath = [\"l\"]\nreturn_path = [\"back\"]\n{feedback}\n\
             source = {{ kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = {fps} }}\n"
        ))
    }

    /// Mbit/s that arrived after the warm-up.
    fn rate(&self, controller: &str) -> f64 {
        flow(&self.outcome(controller), "f").throughput_mbps.expect("packets arrived")
    }
}

struct Row {
    name: &'static str,
    /// Without the trouble.
    beside: Call,
    trouble: Call,
    /// The least part of the rate beside that the trouble leaves.
    leaves: f64,
}

const LOST: [&str; 2] =
    ["loss = { kind = \"bernoulli\", ratio = 0.01 }", "loss = { kind = \"bernoulli\", ratio = 0.1 }"];
const OFTEN: &str = "feedback = { packets = 10000, marker = false, time = \"20ms\" }";
const SELDOM: &str = "feedback = { packets = 10000, marker = false, time = \"200ms\" }";
const BY_RATE: &str = "feedback = { by_rate = true }";
const FAST: &str = "feedback = { skew = 200 }";
const PUT: &str =
    "feedback = { clock_steps = [[\"80s\", \"32400s\"], [\"100s\", \"32400s\"], [\"120s\", \"32400s\"]] }";
const IN_ORDER: &str = "noise = { kind = \"uniform\", max = \"25ms\" }";
const REORDERED: &str = "noise = { kind = \"uniform\", max = \"25ms\", reorder = true }";

const fn over(round_trip_ms: u32) -> Call {
    Call { round_trip_ms, ..CALL }
}

const fn at(fps: u32) -> Call {
    Call { fps, ..CALL }
}

/// All bounds but that for seldom reports were wanted before anything was run.
const ROWS: &[Row] = &[
    Row { name: "0.6 s", beside: over(400), trouble: over(600), leaves: 0.8 },
    Row { name: "1 s", beside: over(400), trouble: over(1000), leaves: 0.8 },
    Row { name: "1.2 s", beside: over(400), trouble: over(1200), leaves: 0.8 },
    Row { name: "2 s", beside: over(400), trouble: over(2000), leaves: 0.8 },
    Row {
        name: "1 % of reports lost",
        beside: CALL,
        trouble: Call { return_link: LOST[0], ..CALL },
        leaves: 0.95,
    },
    Row {
        name: "10 % of reports lost",
        beside: CALL,
        trouble: Call { return_link: LOST[1], ..CALL },
        leaves: 0.95,
    },
    Row { name: "15 fps", beside: at(60), trouble: at(15), leaves: 0.95 },
    Row { name: "24 fps", beside: at(60), trouble: at(24), leaves: 0.95 },
    Row { name: "30 fps", beside: at(60), trouble: at(30), leaves: 0.95 },
    Row { name: "50 fps", beside: at(60), trouble: at(50), leaves: 0.95 },
    Row {
        name: "a report each 200 ms",
        beside: Call { feedback: OFTEN, ..CALL },
        trouble: Call { feedback: SELDOM, ..CALL },
        leaves: 0.9,
    },
    Row { name: "reports by rate", beside: CALL, trouble: Call { feedback: BY_RATE, ..CALL }, leaves: 0.95 },
    Row {
        name: "reordering",
        beside: Call { link: IN_ORDER, ..CALL },
        trouble: Call { link: REORDERED, ..CALL },
        leaves: 0.9,
    },
    Row {
        name: "reordering of packets 16 ms apart",
        beside: Call { link: IN_ORDER, ..SLOW },
        trouble: Call { link: REORDERED, ..SLOW },
        leaves: 0.9,
    },
    Row {
        name: "a clock 200 ppm fast",
        beside: CALL,
        trouble: Call { feedback: FAST, ..CALL },
        leaves: 0.95,
    },
    Row {
        name: "a clock put ahead by 9 h, thrice",
        beside: CALL,
        trouble: Call { feedback: PUT, ..CALL },
        leaves: 0.95,
    },
];

/// Member, row and the reason.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("scream reference-2022", "1 s", REFERENCE),
    ("scream reference-2022", "1.2 s", REFERENCE),
    ("scream reference-2022", "2 s", REFERENCE),
    ("scream reference-2022", "a report each 200 ms", REFERENCE),
    ("scream reference-2022", "reordering", REFERENCE),
    ("scream reference-2022", "reordering of packets 16 ms apart", REFERENCE),
    ("scream reference-2022", "silence", REFERENCE),
    ("scream-v2 draft", "1 s", BY_PACKETS),
    ("scream-v2 draft", "1.2 s", BY_PACKETS),
    ("scream-v2 draft", "2 s", BY_PACKETS),
    ("scream-v2 libwebrtc", "0.6 s", BY_PACKETS),
    ("scream-v2 libwebrtc", "1 s", BY_PACKETS),
    ("scream-v2 libwebrtc", "1.2 s", BY_PACKETS),
    ("scream-v2 libwebrtc", "2 s", BY_PACKETS),
    ("scream-v2 libwebrtc", "24 fps", UNEVEN),
    ("scream-v2 libwebrtc", "30 fps", UNEVEN),
    ("scream-v2 ericsson", "1.2 s", BY_PACKETS),
    ("scream-v2 ericsson", "2 s", BY_PACKETS),
    ("scream-v2 ericsson", "a report each 200 ms", FEW_FLIGHTS),
    ("gcc draft", "10 % of reports lost", LOSSES),
    ("gcc draft", "reordering", GRADIENT),
    ("gcc draft", "reordering of packets 16 ms apart", GRADIENT),
    ("gcc libwebrtc-2012", "1 s", PER_ROUND_TRIP),
    ("gcc libwebrtc-2012", "1.2 s", PER_ROUND_TRIP),
    ("gcc libwebrtc-2012", "2 s", PER_ROUND_TRIP),
    ("gcc libwebrtc-2012", "reordering", GRADIENT),
    ("gcc libwebrtc-2012", "reordering of packets 16 ms apart", GRADIENT),
    ("gcc libwebrtc-2012", "silence", OF_2012),
    ("gcc libwebrtc", "10 % of reports lost", LOSSES),
    ("gcc libwebrtc", "reordering", GRADIENT),
    ("nada rfc8698", "1 s", SLOW_LOOP),
    ("nada rfc8698", "1.2 s", SLOW_LOOP),
    ("nada rfc8698", "2 s", SLOW_LOOP),
    ("sprout nsdi13", "0.6 s", AHEAD),
    ("sprout nsdi13", "1 s", AHEAD),
    ("sprout nsdi13", "1.2 s", AHEAD),
    ("sprout nsdi13", "2 s", AHEAD),
    ("sprout nsdi13", "10 % of reports lost", ENDS),
    ("sprout nsdi13", "a report each 200 ms", ENDS),
    ("sprout nsdi13", "15 fps", BETWEEN),
    ("sprout nsdi13", "24 fps", BETWEEN),
    ("sprout nsdi13", "30 fps", BETWEEN),
    ("sprout ewma", "0.6 s", AHEAD),
    ("sprout ewma", "1 s", AHEAD),
    ("sprout ewma", "1.2 s", AHEAD),
    ("sprout ewma", "2 s", AHEAD),
    ("sprout ewma", "50 fps", AHEAD),
    ("sprout ewma", "silence", AHEAD),
    ("urcp paper", "reordering", NOISE),
    ("urcp adaptive", "reordering", NOISE),
];

const AHEAD: &str =
    "its window is what the link delivers within 100 ms, which a round trip and a report exceed";
const ENDS: &str = "eight ticks after a report its forecast ends, and nothing more leaves";
const BETWEEN: &str = "ticks between frames tell it nothing, so that its forecast becomes more cautious";
const SLOW_LOOP: &str = "RFC 8698 section 1: its constants are stable for round trips below 250 ms";
const BY_PACKETS: &str = "it grows by a packet in a round trip, and by a few percent long after congestion (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.2.2.2)";
const UNEVEN: &str =
    "its bursts are delayed unevenly at some frame rates, where its window grows a tenth as fast";
const FEW_FLIGHTS: &str = "where delays vary its flights are 1.5 windows at most, too few for a report each 200 ms: it is made for one in 16 packets";
const OF_2012: &str = "the profile is what the authors of URCP measured, which did not look for reports";
const PER_ROUND_TRIP: &str = "it grows by a part per response time, which holds the round trip";
const LOSSES: &str =
    "the rate that arrives is measured from what reports name, and a tenth of it is in no report";
const GRADIENT: &str = "delays of packets that overtake each other look like an unsteady queue";
const NOISE: &str = "a packet that a report leaves out counts as lost at once, though it was only overtaken";

/// Every controller that names a target. SCReAM's tuned sets are judged on recordings of mobile networks.
fn members() -> impl Iterator<Item = Member> {
    let kinds = ["scream", "scream-v2", "gcc", "nada", "tempo", "sprout", "urcp", "um"];
    members::untuned().filter(move |member| kinds.contains(&member.params.kind()))
}

/// Errors of a row: members that fail it, and exempt ones that do not.
fn wrong_in(row: &str, passes: impl Fn(&str) -> Result<(), String>) -> Vec<String> {
    let fault = |member: Member| Some((member.name.clone(), passes(&member.controller()).err()?));
    let faults: Vec<_> = members().filter_map(fault).collect();
    members::wrong_in(row, &faults, EXEMPT).into_iter().map(|wrong| format!("{row}: {wrong}")).collect()
}

#[test]
#[ignore = "long: make test-all"]
fn trouble_leaves_most_of_the_rate() {
    // Several rows are beside the same call, which is run once.
    let known = RefCell::new(BTreeMap::new());
    let beside = |call: &Call, controller: &str| {
        let named = format!("{call:?} {controller}");
        *known.borrow_mut().entry(named).or_insert_with(|| call.rate(controller))
    };
    let wrong = ROWS.iter().flat_map(|row| {
        wrong_in(row.name, |controller| {
            let (beside, trouble) = (beside(&row.beside, controller), row.trouble.rate(controller));
            println!("{:22} {controller:60} {beside:6.3} {trouble:6.3} Mbit/s", row.name);
            let least = row.leaves * beside;
            (trouble >= least)
                .then_some(())
                .ok_or(format!("{trouble:.2} Mbit/s, expected {least:.2} at least"))
        })
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The return path is down from 90 to 120 s (RFC 8888 section 5): the target never rises meanwhile, little is sent, and the call comes
/// back.
#[test]
fn silence_is_answered() {
    let wrong = wrong_in("silence", |controller| {
        let call = Call { return_link: "down = [[\"90s\", \"120s\"]]", ..CALL };
        let outcome = call.outcome(controller);
        let of = |name| column(&outcome.flows, "flow", "f", name);
        let (targets, rates) = (of("target_bitrate_mbps"), of("throughput_mbps"));
        let rows = |from: f64, to: f64| (from * 20.0) as usize..(to * 20.0) as usize;
        let mean = |from, to| rates[rows(from, to)].iter().sum::<f64>() / rows(from, to).len() as f64;
        // The last report comes at 90.05 s, and what was sent by then is on the way for 50 ms and its time in the queue.
        let highest = targets[rows(90.15, 120.0)].iter().copied().fold(0.0, f64::max);
        let (before, first, late) = (targets[rows(90.1, 90.15)][0], mean(90.2, 91.2), mean(95.0, 120.0));
        let after = mean(f64::from(SECONDS) - 10.0, f64::from(SECONDS));
        println!(
            "{controller:60} target {before:.2}, highest {highest:.2}, sent {first:.2} and {late:.2}, after {after:.2}"
        );
        let wrong = [
            (highest > 1.01 * before, "the target rises"),
            (first > 0.5 * mean(80.0, 90.0), "more than half is sent in the first second"),
            (late > 0.2, "more than 0.2 Mbit/s is sent after 5 s"),
            (after < 3.0, "the call does not come back"),
        ];
        wrong.iter().find(|(is, _)| *is).map_or(Ok(()), |(_, what)| Err((*what).to_string()))
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// With its circuit breakers on (RFC 8083) a call ends 15 s after the last report, whatever comes later, and outlasts 14 s of silence.
#[test]
fn a_circuit_breaker_ends_a_call_that_stays_dead() {
    const DOWN: [(&str, bool); 3] = [
        ("down = [[\"90s\", \"160s\"]]", true),
        ("down = [[\"90s\", \"120s\"]]", true),
        ("down = [[\"90s\", \"104s\"]]", false),
    ];
    for member in members().filter(|member| ["scream robust", "gcc draft"].contains(&&*member.name)) {
        let controller = member.controller();
        let guarded = format!("{controller}\nrtp = {{ circuit_breaker = \"timeouts\" }}");
        for (return_link, ends) in DOWN {
            let outcome = Call { return_link, ..CALL }.outcome(&guarded);
            let rates = column(&outcome.flows, "flow", "f", "throughput_mbps");
            let sent = |from: usize, to: usize| rates[from * 20..to * 20].iter().sum::<f64>() > 0.0;
            assert!(sent(100, 104), "{controller}, {return_link}: it goes on for 15 s");
            assert_eq!(sent(106, 160), !ends, "{controller}, {return_link}");
        }
    }
}
