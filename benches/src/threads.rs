//! One large simulation on all cores: seconds on the wall for one thread and for two.

use crate::{RUNS, simulated};
use std::time::Instant;

const SCENARIO: &str = "flows-1000";

/// Prints both, and how many times as fast two are.
pub fn print() {
    let [one, two] = [1, 2].map(wall);
    println!(
        "{SCENARIO:<18}{one:>8.2} s on the wall with one thread, {two:.2} s with two: {:.2} times as fast   wanted (floor, aim) 1.4, 1.7",
        one / two
    );
}

/// Seconds on the wall of the fastest run.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn wall(threads: usize) -> f64 {
    let bench = simulated::named(SCENARIO).expect("it is one of the scenarios");
    let runs = (0..RUNS).map(|_| {
        let mut simulation = simulated::prepared(&bench);
        simulation.set_threads(threads);
        let start = Instant::now();
        simulated::complete(&mut simulation);
        start.elapsed().as_secs_f64()
    });
    runs.fold(f64::INFINITY, f64::min)
}
