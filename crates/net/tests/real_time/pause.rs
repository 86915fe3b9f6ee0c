//! One call with pauses, simulated and over sockets: both fall silent when the plan says, and go on alike.
//!
//! Times are the sender's own, as its end was told them, in steps of its samples. A process that did not get a processor
//! for long is late by its own clock, too, so a few runs are tried: an end that does not obey its plan fails all of them.

use crate::call::loaded;
use crate::dccp_ends::direct;
use crate::lateness::judge_on_time;
use paceline_metrics::TimeSeries;
use paceline_scenario::Loaded;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

/// The flow is silent from the first to the second, in ms.
const PAUSES: [(f64, f64); 2] = [(200.0, 330.0), (503.0, 641.0)];
/// Frames come every 10 ms; how far a time may be from the plan, and from the same time in the other world, in ms.
const TOLERANCE: f64 = 5.0;
const TRIES: usize = 5;

/// 2 Mbit/s in frames of 2500 B, every 10 ms.
fn scenario(transport: &str) -> Loaded {
    loaded(&format!(
        "duration = \"800ms\"\nsample = \"1ms\"\n[links.l]\nrate = \"100Mbps\"\nqueue = {{ packets = 100 }}\n\
         [flows.f]\n{transport}\nsource = {{ kind = \"cbr\", rate = \"2Mbps\", fps = 100 }}\npath = [\"l\"]\n\
         pause = [[\"200ms\", \"330ms\"], [\"503ms\", \"641ms\"]]\n"
    ))
}

/// When the last packet before the middle of each pause left, and the first after it, in ms.
fn edges(rows: &TimeSeries) -> Vec<(f64, f64)> {
    let [times, rates] = ["time_s", "send_rate_mbps"].map(|name| rows.float(name).expect("a column"));
    let busy = || (0..rows.rows()).filter(|row| rates.value(*row).is_some_and(|mbps| mbps > 0.0));
    let millis = |row: Option<usize>| row.and_then(|row| times.value(row)).map_or(f64::NAN, |s| s * 1e3);
    let edges = PAUSES.iter().map(|(from, to)| {
        let middle = (from + to) / 2.0;
        let before = busy().take_while(|row| millis(Some(*row)) < middle).last();
        (millis(before), millis(busy().find(|row| millis(Some(*row)) > middle)))
    });
    edges.collect()
}

fn simulated(loaded: &Loaded) -> TimeSeries {
    let mut simulation = Simulation::new(loaded, Pace::Windowed).expect("links");
    while !simulation.advance(TimeDelta::from_secs(1)) {}
    simulation.finish().flows
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE
}

fn both_worlds_obey(transport: &str) {
    let loaded = scenario(transport);
    let expected = edges(&simulated(&loaded));
    // A frame may be due just before the pause, and the one after it needs not wait for the next place in the old grid.
    for ((silent, again), (from, to)) in expected.iter().zip(PAUSES) {
        assert!((from - 10.0 - TOLERANCE..=from + TOLERANCE).contains(silent), "{expected:?}");
        assert!((to..=to + 10.0 + TOLERANCE).contains(again), "{expected:?}");
    }
    let agrees = |found: &[(f64, f64)]| {
        let pairs = found.iter().zip(&expected);
        pairs.into_iter().all(|(one, other)| near(one.0, other.0) && near(one.1, other.1))
    };
    // Frames from before a pause leave within it where the machine is late.
    let run = || edges(&direct(&loaded).0.flows);
    let until_one_agrees = || {
        let mut found = vec![run()];
        while found.len() < TRIES && !found.last().is_some_and(|found| agrees(found)) {
            found.push(run());
        }
        found
    };
    judge_on_time(until_one_agrees, |found| {
        assert!(found.last().is_some_and(|found| agrees(found)), "{expected:?} {found:?}");
    });
}

#[test]
fn rtp() {
    both_worlds_obey("controller = { kind = \"fixed\", rate = \"20Mbps\" }");
}

#[test]
fn dccp() {
    both_worlds_obey("transport = \"dccp\"\ncontroller = \"ccid2\"");
}
