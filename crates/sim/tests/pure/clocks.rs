//! Clocks that do not agree: what a receiver's clock that runs faster or slower, or is put while a flow runs, does to the
//! controllers that read its arrival times. docs/known-results.md has the tables, which the tests print.

use crate::world::{column, flow, run};
use paceline_cc::{ControllerParams, Steers};
use paceline_units::param::{ParamSet, Value};
use std::collections::BTreeMap;

/// Runs of which a mean is taken: around a step, it then scatters by less than 2 %.
const SEEDS: u32 = 6;
/// Over five minutes of a skew half as many do.
const SEEDS_OF_SKEW: u32 = 3;

/// A kind and a profile.
type Reader = (&'static str, &'static str);

/// Every controller that reads one-way delays or arrival times, under every profile; but LEDBAT, which only TCP carries here,
/// where no receiver tells arrivals.
fn readers() -> Vec<Reader> {
    let all = ControllerParams::all();
    let reads = |params: &ControllerParams| {
        let flag =
            |name| params.value(name).map(|value| assert_eq!(value, Value::Flag(true), "{}", params.kind()));
        flag("skew_compensation").or(flag("step_compensation")).is_some()
            && params.steers() != Steers::ByteStream
    };
    let readers = all.filter(|(params, _)| reads(params));
    readers.map(|(params, profile)| (params.kind(), profile)).collect()
}

fn scenario(reader: Reader, more: &str, link: &str, seconds: u32, feedback: &str) -> String {
    let (kind, profile) = reader;
    let source = "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }";
    format!(
        "duration = \"{seconds}s\"\nwarmup = \"10s\"\nsample = \"100ms\"\nlinks.l = {{ {link}, delay = \"20ms\", \
         queue = {{ limit = \"500ms\" }} }}\n[flows.f]\ntransport = \"rtp\"\nsource = {source}\npath = [\"l\"]\n\
         controller = {{ kind = \"{kind}\", profile = \"{profile}\"{more} }}\nfeedback = {{ {feedback} }}\n"
    )
}

/// Rate in Mbit/s, and mean and 95th percentile of the queue delay in ms, as means over seeds.
fn under_skew(reader: Reader, more: &str, skew: i32, seeds: u32) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for seed in 1..=seeds {
        let text = scenario(reader, more, "rate = \"10Mbps\"", 300, &format!("skew = {skew}"));
        let outcome = run(&format!("seed = {seed}\n{text}"));
        let figures = flow(&outcome, "f");
        let delay = &figures.queue_delay_ms;
        let found = [figures.throughput_mbps, delay.mean, delay.p95].map(|figure| figure.expect("packets"));
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found / f64::from(seeds));
    }
    sums
}

/// Whether a skew of so many ppm leaves rate and mean delay as they are, to a twentieth. Of other controllers than SCReAM, whose
/// queues are of a millisecond, the delay may differ by 1.5 ms: set after the first run.
fn is_unharmed(reader: Reader, more: &str, skew: i32, exact: [f64; 3], seeds: u32) -> bool {
    let skewed = under_skew(reader, more, skew, seeds);
    let change = |n: usize| skewed[n] / exact[n] - 1.0;
    println!("{:7} {:22}{more} {skew:5} ppm: {exact:.3?} {skewed:.3?}", reader.0, reader.1);
    let shown = if reader.0 == "scream" { 0.0 } else { 1.5 };
    change(0).abs() < 0.05 && (change(1).abs() < 0.05 || (skewed[1] - exact[1]).abs() < shown)
}

#[test]
#[ignore = "long: make test-all"]
fn a_skew_changes_rate_and_delay_by_less_than_a_twentieth() {
    for reader in readers() {
        let exact = under_skew(reader, "", 0, SEEDS_OF_SKEW);
        for skew in [200, -200] {
            assert!(is_unharmed(reader, "", skew, exact, SEEDS_OF_SKEW), "{reader:?}, {skew} ppm");
        }
        // And does, where it is not taken out. GCC reads gradients, and Tempo's smallest delay is half a minute old at most.
        if !["gcc", "tempo"].contains(&reader.0) {
            assert!(!is_unharmed(reader, ", skew_compensation = false", 200, exact, 1), "{reader:?}");
        }
    }
}

/// Rate in Mbit/s and queue delay in ms, as means over seeds, before the step at 40 s, in the second after it, in the two after
/// that, from then on, and from ten seconds after it on.
type Around = [[f64; 2]; 5];

fn around(reader: Reader, more: &str, feedback: &str) -> Around {
    let mut found = [[0.0; 2]; 5];
    for seed in 1..=SEEDS {
        let text = scenario(reader, more, "rate = \"5Mbps\"", 70, feedback);
        let outcome = run(&format!("seed = {seed}\n{text}"));
        let columns =
            ["throughput_mbps", "queue_delay_ms"].map(|name| column(&outcome.flows, "flow", "f", name));
        for (means, span) in found.iter_mut().zip([300..400, 400..410, 410..430, 430..700, 500..700]) {
            for (mean, column) in means.iter_mut().zip(&columns) {
                *mean += column[span.clone()].iter().sum::<f64>() / (span.len() as f64 * f64::from(SEEDS));
            }
        }
    }
    println!("{:7} {:22} {feedback:36}{more}: {found:6.2?}", reader.0, reader.1);
    found
}

/// Whether the flow does as well as without a step, from a second after the step on: with so many ms more of queue at most in the two
/// seconds after that, and from then on.
fn is_over_but_for(more: [f64; 2], found: &Around, none: &Around) -> bool {
    [2, 3].iter().zip(more).all(|(&span, more)| {
        let ([rate, delay], [usual, usual_delay]) = (found[span], none[span]);
        rate > 0.9 * usual && delay < usual_delay + more
    })
}

fn is_over(found: &Around, none: &Around) -> bool {
    is_over_but_for([3.0; 2], found, none)
}

/// Whether from ten seconds after the step on the rate is as without one, to a twentieth, with at most 3 ms or this part more of queue.
fn is_forgotten(part: f64, found: &Around, none: &Around) -> bool {
    let ([rate, delay], [usual, usual_delay]) = (found[4], none[4]);
    (rate / usual - 1.0).abs() < 0.05 && delay < usual_delay + f64::max(3.0, part * usual_delay)
}

/// A step by more than a round trip is taken out where reports are read, since no path can do that; a smaller one is the
/// controller's to tell from a queue.
#[test]
#[ignore = "long: make test-all"]
fn a_step_of_the_clock_costs_a_second() {
    let mut harmed: BTreeMap<&str, u32> = BTreeMap::new();
    let mut costly = Vec::new();
    for reader in readers() {
        let none = around(reader, "", "");
        let flag = if reader.0 == "gcc" { "step" } else { "skew" };
        let harmed = harmed.entry(reader.0).or_default();
        for step in ["50ms", "-50ms", "200ms", "-200ms", "500ms", "-500ms", "3s", "-3s", "100s", "-100s"] {
            let feedback = format!("clock_steps = [[\"40s\", \"{step}\"]]");
            let found = around(reader, "", &feedback);
            // Hidden by a queue that grows within the same 100 ms, a step back by 50 ms is not seen before that drains: SCReAM's with one
            // of six seeds. libwebrtc, whose frames leave at once, has 31 ms more for two seconds.
            let more = match (reader, step) {
                (("gcc", "libwebrtc"), "-50ms") => [40.0, 3.0],
                (("scream", _), "-50ms") => [4.0; 2],
                _ => [3.0; 2],
            };
            // A step is told within a second. By then SCReAM v2's window has fallen with each 25 ms of what looks like a queue, and it grows
            // back by packets: the ten seconds after which the step is forgotten hold, the first ones do not.
            let falls = step == "50ms" && matches!(reader, ("scream-v2", "draft" | "ericsson"));
            let over = falls || is_over_but_for(more, &found, &none);
            let soon = falls || found[1][0] > 0.8 * none[1][0];
            // Where a swing of `robust` begins is another after any disturbance: 24 to 28 ms of queue in ten seconds.
            let part = if reader == ("scream", "robust") { 0.15 } else { 0.1 };
            if !over || !soon || !is_forgotten(part, &found, &none) {
                costly.push(format!("{reader:?}, {step}: {found:.2?}, without a step {none:.2?}"));
            }
            // Without compensation: the rows of the table, and of others what shows that there is something to take out.
            if *harmed == 0 || step.ends_with("50ms") {
                let more = format!(", {flag}_compensation = false");
                *harmed += u32::from(!is_over(&around(reader, &more, &feedback), &none));
            }
        }
    }
    assert!(costly.is_empty(), "{costly:#?}");
    // Profiles whose target is larger than the step, such as rfc8298, need no compensation. To Tempo a step that is left in is a queue that
    // no drain ends, so none of its own.
    assert!(
        harmed.iter().all(|(kind, harmed)| *harmed > 0 || *kind == "tempo"),
        "of no profile, though not compensated: {harmed:?}"
    );
}
