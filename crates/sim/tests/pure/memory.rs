//! Memory grows with recorded samples and with nothing else: not with simulated time, nor with packets.

use crate::world::loaded;
use paceline_scenario::Loader;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

/// Calls with everything that remembers: loss, noise, marks, reports over a link, playout.
fn calls(seconds: u64, sample: &str) -> String {
    let flow = |name: &str, profile: &str, rest: &str| {
        format!(
            "[flows.{name}]\nsource = {{ kind = \"trace-encoder\", generator = {{ kind = \"frames\", count = 300 }} }}\n\
             controller = {{ kind = \"scream\", profile = \"{profile}\" }}\npath = [\"l\"]\n{rest}\n"
        )
    };
    format!(
        "duration = \"{seconds}s\"\nsample = \"{sample}\"\n\
         [links.l]\nrate = \"6Mbps\"\ndelay = \"15ms\"\nqueue = {{ limit = \"200ms\" }}\n\
         loss = {{ kind = \"bernoulli\", ratio = 0.002 }}\nmark = {{ kind = \"ramp\", low = \"2ms\", high = \"20ms\" }}\n\
         noise = {{ kind = \"uniform\", max = \"3ms\", reorder = true }}\n\
         [links.back]\nrate = \"1Mbps\"\ndelay = \"15ms\"\nqueue = {{ packets = 100 }}\n\
         loss = {{ kind = \"bernoulli\", ratio = 0.01 }}\n{}{}",
        flow("old", "rfc8298", "return_path = [\"back\"]\nplayout = { kind = \"fixed\", delay = \"100ms\" }"),
        flow("new", "reference-2022", "ecn = \"l4s\"\nfeedback = { packets = 1 }\nrecord = true")
    )
}

/// Live bytes at the end of a run, rows of both tables, and packets.
fn at_the_end(text: &str) -> (i64, usize, u64) {
    let world = loaded(text, &[], &Loader::default());
    let before = crate::counting::live();
    let mut simulation = Simulation::new(&world, Pace::Windowed).expect("loaded");
    while !simulation.advance(TimeDelta::from_millis(700)) {}
    let live = crate::counting::live() - before;
    let outcome = simulation.finish();
    (live, outcome.flows.rows() + outcome.links.rows(), outcome.summary.packets.expect("known"))
}

/// Allocations, and packets, in `seconds` of a world that has run for `before` seconds.
fn warm(text: &str, before: i64, seconds: i64) -> (u64, u64) {
    let world = loaded(text, &[], &Loader::default());
    let mut simulation = Simulation::new(&world, Pace::Windowed).expect("loaded");
    simulation.advance(TimeDelta::from_secs(before));
    let (packets, allocations) = (simulation.packets(), crate::counting::allocations());
    simulation.advance(TimeDelta::from_secs(seconds));
    (crate::counting::allocations() - allocations, simulation.packets() - packets)
}

#[test]
fn ten_times_the_time_with_as_many_samples_takes_no_more_memory() {
    let (short, rows, packets) = at_the_end(&calls(20, "200ms"));
    let (long, as_many, more) = at_the_end(&calls(200, "2s"));
    assert_eq!((rows, as_many), (400, 400), "100 of two flows and two links");
    assert!(more > 8 * packets, "{packets}, then {more}");
    // Rings double when a flight is larger than any before; what grew with time would be ten times as large.
    assert!((short..=short + short / 4).contains(&long), "{short} B after 20 s, {long} B after 200 s");
    let (sampled, rows, _) = at_the_end(&calls(20, "2ms"));
    assert_eq!(rows, 40_000);
    assert!(sampled > 4 * short, "samples are what memory is for: {short} B, {sampled} B");
}

#[test]
fn a_warm_world_allocates_nothing_between_samples() {
    let (allocations, packets) = warm(&calls(1000, "990s"), 300, 600);
    assert!(packets > 300_000, "{packets}");
    // Now and then a ring meets its largest flight; a packet path that allocates would need hundreds of thousands.
    assert!(allocations < packets / 10_000, "{allocations} allocations for {packets} packets");
}

#[test]
fn warm_dccp_connections_allocate_nothing_for_a_packet() {
    let flow = |name: &str| {
        format!(
            "[flows.{name}]\npath = [\"l\"]\nreturn_path = [\"back\"]\ncontroller = \"{name}\"\n\
             source = {{ kind = \"bulk\" }}\n"
        )
    };
    // CCID 3 makes a report in each round trip, of some 40 packets here, and a list or two for it.
    for (name, each) in [("ccid2", 10_000), ("ccid3", 4)] {
        let text = format!(
            "duration = \"400s\"\nsample = \"390s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ packets = 50 }}\n[links.back]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ packets = 50 }}\n{}",
            flow(name)
        );
        let (allocations, packets) = warm(&text, 100, 280);
        assert!(packets > 200_000, "{name}: {packets}");
        assert!(allocations < packets / each, "{name}: {allocations} allocations for {packets} packets");
    }
}

#[test]
fn connections_that_are_over_are_forgotten() {
    let users = |seconds: u64, sample: &str| {
        format!(
            "duration = \"{seconds}s\"\nsample = \"{sample}\"\n[links.l]\nrate = \"20Mbps\"\ndelay = \"15ms\"\n\
             queue = {{ limit = \"100ms\" }}\nloss = {{ kind = \"bernoulli\", ratio = 0.005 }}\n\
             [flows.web]\ntransport = \"tcp\"\ncontroller = \"cubic\"\ncount = 3\npath = [\"l\"]\n\
             source = {{ kind = \"short-transfers\", idle = \"500ms\" }}\n"
        )
    };
    let (short, rows, packets) = at_the_end(&users(100, "1s"));
    let (long, as_many, more) = at_the_end(&users(1000, "10s"));
    assert_eq!((rows, as_many), (400, 400));
    assert!(more > 8 * packets, "{packets}, then {more}");
    // More or fewer connections are open at the very end, and packets under way.
    assert!(long < short + short / 2 && short < 2_500_000, "{short} B after 100 s, {long} B after 1000 s");
}
