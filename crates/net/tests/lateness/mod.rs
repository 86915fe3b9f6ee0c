//! How late the machine was while a run took place, and what a test may ask of a run that was late.
//!
//! Order, counts and conservation hold however late a machine is, and each run is asked for them. Rates and delays need a machine
//! that is on time: a run that misses them is repeated unless it was on time, and the last one fails unless it was late beyond use.
//! An awaited event has a deadline in turns of a thread, so that it is put off by as much as the machine is late.
#![allow(clippy::disallowed_methods, reason = "it measures how late the machine is")]

use paceline_net::NetOutput;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A thread looks at the clock so often.
const TURN: Duration = Duration::from_millis(5);
/// A run was on time if no turn came later than this, and all together took less than this part of the run too long; a controller
/// that reads delays may take a run for congested that was later.
const ON_TIME: Lateness = Lateness { longest: Duration::from_millis(10), lost: 0.03, pressed: 0.3 };
/// Rates and delays of a run mean nothing that was later than this. While some thread waits for a processor most of the time, one
/// that needs more of it than the measuring thread, as a browser's, gets too little.
const OF_USE: Lateness = Lateness { longest: Duration::from_millis(50), lost: 0.1, pressed: 0.6 };
/// Runs until one is on time, or misses nothing.
const TRIES: usize = 4;
/// Turns for which something is waited for: 30 s on a machine that is on time.
const PATIENCE: usize = 6000;

/// By how much the turns of a thread came too late during a run.
#[derive(Clone, Copy, Debug)]
pub struct Lateness {
    longest: Duration,
    lost: f64,
    /// Part of the time in which some thread of the machine could run and waited for a processor, as Linux counts it; 0 elsewhere.
    pressed: f64,
}

impl Lateness {
    fn is_within(&self, most: Lateness) -> bool {
        self.longest <= most.longest && self.lost <= most.lost && self.pressed <= most.pressed
    }
}

/// For how long some thread of the machine could run and waited for a processor.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let some = text.lines().find(|line| line.starts_with("some ")).and_then(|line| line.split_once("total="));
    Duration::from_micros(some.and_then(|(_, micros)| micros.trim().parse().ok()).unwrap_or_default())
}

/// Runs beside a thread that measures how late the machine is.
fn measured<T>(run: impl FnOnce() -> T) -> (T, Lateness) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let measuring = scope.spawn(|| {
            let (begun, waited_before) = (Instant::now(), waited());
            let (mut longest, mut sum) = (Duration::ZERO, Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let before = Instant::now();
                std::thread::sleep(TURN);
                let late = before.elapsed().saturating_sub(TURN);
                (longest, sum) = (longest.max(late), sum + late);
            }
            let part = |span: Duration| span.as_secs_f64() / begun.elapsed().as_secs_f64();
            Lateness { longest, lost: part(sum), pressed: part(waited().saturating_sub(waited_before)) }
        });
        let outcome = catch_unwind(AssertUnwindSafe(run));
        over.store(true, Ordering::Relaxed);
        let lateness = measuring.join().expect("no panic");
        (outcome.unwrap_or_else(|panic| resume_unwind(panic)), lateness)
    })
}

/// Asks for the rates and delays of a run by `judge`, which panics if they are wrong. `run` asks for what holds of every run.
pub fn judge_on_time<T>(mut run: impl FnMut() -> T, judge: impl Fn(&T)) {
    for tries in 1..=TRIES {
        let (outcome, lateness) = measured(&mut run);
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| judge(&outcome))) else { return };
        let most = if tries < TRIES { ON_TIME } else { OF_USE };
        if lateness.is_within(most) {
            resume_unwind(panic);
        }
        eprintln!("try {tries}: the machine was late: {lateness:?}");
    }
}

/// By how much nineteen of twenty packets left these ends too late at most, by their own figures, one end after the other.
pub fn late_ms(ends: &[&NetOutput]) -> f64 {
    ends.iter().filter_map(|end| end.counters.late_p95_ms).sum()
}

/// Waits until `done`.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let is_done = (0..PATIENCE).any(|_| {
        done() || {
            std::thread::sleep(TURN);
            false
        }
    });
    assert!(is_done, "no {what} in {PATIENCE} turns of {TURN:?}");
}

#[test]
fn a_run_that_misses_its_bands_is_repeated_while_the_machine_is_late() {
    let late = |millis| Lateness { longest: Duration::from_millis(millis), lost: 0.02, pressed: 0.1 };
    assert!(late(9).is_within(ON_TIME) && !late(11).is_within(ON_TIME));
    assert!(late(49).is_within(OF_USE) && !late(51).is_within(OF_USE));
    assert!(!Lateness { lost: 0.2, ..late(1) }.is_within(OF_USE));
    assert!(!Lateness { pressed: 0.9, ..late(1) }.is_within(OF_USE));
    let mut runs = 0;
    judge_on_time(|| runs += 1, |()| ());
    assert_eq!(runs, 1, "one that misses nothing is enough");
    let sleeps = || std::thread::sleep(Duration::from_millis(200));
    let ((), lateness) = measured(sleeps);
    assert!(lateness.longest > Duration::ZERO && lateness.lost < 1.0, "{lateness:?}");
}
