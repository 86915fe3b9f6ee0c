//! The checks. Each answers the figure that lies outside its band, on either side.

use crate::faults::Fault;
use crate::finding::{Finding, Violation, caught};
use crate::world::{LinkConfig, Record, at, run};
use crate::{Subject, allocations};
use paceline_units::{Bitrate, Ecn, Time, TimeDelta};
use std::ops::RangeInclusive;

/// Inputs of a hostile network that each controller survives.
const CASES: u64 = 400;

/// A promise of the contract that a run can show to be kept or broken.
pub struct Check {
    /// Name of the check.
    pub name: &'static str,
    /// The promise of a controller that the check holds it to, in a sentence.
    pub help: &'static str,
    /// Faults that it notices where they are built into a controller which depends on the thing that they break.
    pub notices: &'static [Fault],
    run: fn(&Subject) -> Verdict,
}

/// All there are.
pub const CHECKS: &[Check] = &[
    Check {
        name: "stays_within_its_window",
        help: "It sends something, never more than its window, and counts the bytes in flight as its transport does",
        notices: &[Fault::Generous],
        run: stays_within_its_window,
    },
    Check {
        name: "reacts_to_loss",
        help: "2 % of losses leave it between a hundredth and half of its rate",
        notices: &[Fault::DeafToLoss],
        run: reacts_to_loss,
    },
    Check {
        name: "reacts_to_marks",
        help: "20 % of marks leave it between a hundredth and half of its rate, unless it ignores marks and its packets have none",
        notices: &[Fault::DeafToCe],
        run: reacts_to_marks,
    },
    Check {
        name: "reacts_to_delay",
        help: "5 s after a link became narrow its queue is short, and the link in use",
        notices: &[Fault::DeafToDelay],
        run: reacts_to_delay,
    },
    Check {
        name: "recovers_after_an_outage",
        help: "12 s after an outage of 3 s it has about the rate that it would have had without",
        notices: &[Fault::Sleepless],
        run: recovers_after_an_outage,
    },
    Check {
        name: "quietens_without_reports",
        help: "After 3 s without a report it sends at most half of its rate",
        notices: &[Fault::Restless],
        run: quietens_without_reports,
    },
    Check {
        name: "is_deterministic",
        help: "The same events twice give the same bits",
        notices: &[Fault::Moody],
        run: is_deterministic,
    },
    Check {
        name: "takes_any_zero_of_the_clock",
        help: "A clock that counts from 1970 gives the same bits as one that counts from the start",
        notices: &[Fault::Calendar],
        run: takes_any_zero_of_the_clock,
    },
    Check {
        name: "is_fair_to_itself",
        help: "Two of its flows, one 3 s after the other, share a link about equally in the end, and use it",
        notices: &[Fault::Greedy],
        run: is_fair_to_itself,
    },
    Check {
        name: "names_possible_rates",
        help: "Paces and targets are rates that a link can have, its state is finite, and discards end",
        notices: &[Fault::Absurd],
        run: names_possible_rates,
    },
    Check {
        name: "survives_any_feedback",
        help: "No input makes it panic, allow more than its window, miscount the bytes in flight or show a state that is no number",
        notices: &[Fault::Fragile, Fault::Credulous, Fault::Generous],
        run: survives_any_feedback,
    },
    Check {
        name: "allocates_nothing_once_warm",
        help: "After 20,000 packets no event allocates, at either end, where the program counts allocations",
        notices: &[Fault::Wasteful],
        run: allocates_nothing_once_warm,
    },
];

impl Check {
    /// The check of this name.
    pub(crate) fn named(name: &str) -> &'static Check {
        let names = || CHECKS.iter().map(|check| check.name).collect::<Vec<_>>().join(", ");
        let found = CHECKS.iter().find(|check| check.name == name);
        found.unwrap_or_else(|| panic!("no check is called {name}; there are {}", names()))
    }

    /// Runs it on a controller, whether that is exempt or not.
    ///
    /// # Errors
    /// The promise that was broken. A panic of the controller is one of them.
    pub fn run(&self, subject: &Subject) -> Result<(), Finding> {
        crate::finding::pass(Time::ZERO);
        let mut seed = None;
        let verdict = caught(|| match (self.run)(subject) {
            Err(Broken { violation, seed: Some(of) }) => {
                seed = Some(of);
                Err(violation)
            }
            verdict => verdict.map_err(|broken| broken.violation),
        });
        let subject = || subject.name().to_string();
        verdict.map_err(|violation| Finding { subject: subject(), check: self.name, violation, seed })
    }
}

/// A violation, and the seed of the input that showed it.
struct Broken {
    violation: Violation,
    seed: Option<u64>,
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Broken {
        Broken { violation, seed: None }
    }
}

type Verdict = Result<(), Broken>;

/// Fails unless a figure that is known at `end`, in seconds, lies in its band.
fn within(what: &str, found: f64, band: RangeInclusive<f64>, end: f64) -> Verdict {
    if band.contains(&found) {
        return Ok(());
    }
    let expected = format!("{what}: {} to {}", band.start(), band.end());
    Err(Violation::new(at(end), expected, format!("{found:.3}")).into())
}

fn none_of(violations: impl IntoIterator<Item = Option<Violation>>) -> Verdict {
    violations.into_iter().flatten().next().map_or(Ok(()), |violation| Err(violation.into()))
}

fn alone(subject: &Subject, config: LinkConfig, seconds: f64) -> Record {
    run(config, &[(subject, 0.0)], seconds).remove(0)
}

/// A link that loses and marks nothing but by the queue that the controller is tested with.
fn clean(subject: &Subject, mbps: u64) -> LinkConfig {
    LinkConfig { longest_wait: subject.longest_wait, ..LinkConfig::clean(mbps) }
}

fn stays_within_its_window(subject: &Subject) -> Verdict {
    let configs = [
        clean(subject, 10),
        LinkConfig { lose_every: Some(150), mark_every: Some(170), ..clean(subject, 10) },
        LinkConfig { step: Some((at(15.0), Bitrate::from_mbps(1))), ..clean(subject, 20) },
        LinkConfig { outage: Some((at(10.0), at(12.0))), ..clean(subject, 10) },
    ];
    for config in configs {
        let record = alone(subject, config, 30.0);
        within("Mbit/s that arrive", record.rate(0.0, 30.0), 0.1..=20.0, 30.0)?;
        none_of([record.beyond, record.miscounted])?;
    }
    Ok(())
}

/// The rate of a minute on a link that disturbs nothing, from 20 s and from 45 s on. Three checks compare with it.
fn undisturbed(subject: &Subject) -> (f64, f64) {
    *subject.undisturbed.get_or_init(|| {
        let record = alone(subject, clean(subject, 10), 60.0);
        (record.rate(20.0, 60.0), record.rate(45.0, 60.0))
    })
}

/// The rate under a disturbance as a part of the rate without it.
fn part_left(subject: &Subject, disturbed: LinkConfig) -> f64 {
    alone(subject, disturbed, 60.0).rate(20.0, 60.0) / undisturbed(subject).0
}

fn reacts_to_loss(subject: &Subject) -> Verdict {
    let config = LinkConfig { lose_every: Some(50), ..clean(subject, 10) };
    within("rate left by 2 % loss", part_left(subject, config), 0.01..=0.5, 60.0)
}

fn reacts_to_marks(subject: &Subject) -> Verdict {
    if subject.ecn() == Ecn::NotEct {
        return Ok(()); // Its packets are never marked.
    }
    let config = LinkConfig { mark_every: Some(subject.mark_every), ..clean(subject, 10) };
    within("rate left by marks", part_left(subject, config), 0.01..=0.5, 60.0)
}

fn reacts_to_delay(subject: &Subject) -> Verdict {
    let config = LinkConfig { step: Some((at(30.0), Bitrate::from_mbps(4))), ..LinkConfig::clean(10) };
    let record = alone(subject, config, 60.0);
    // The mean of three seconds: a controller that sees the step at once leaves a queue for a fraction of one.
    within("wait just after the step, ms", record.wait(30.0, 33.0), 5.0..=600.0, 33.0)?;
    within("wait after 5 s, ms", record.wait(35.0, 40.0), 0.5..=120.0, 40.0)?;
    within("wait after 10 s, ms", record.wait(40.0, 60.0), 0.5..=120.0, 60.0)?;
    within("use of the narrow link", record.rate(40.0, 60.0) / 4.0, 0.5..=1.01, 60.0)
}

fn recovers_after_an_outage(subject: &Subject) -> Verdict {
    let config = LinkConfig { outage: Some((at(30.0), at(33.0))), ..clean(subject, 10) };
    let record = alone(subject, config, 60.0);
    within("nothing arrives in the outage, Mbit/s", record.rate(30.5, 33.0), 0.0..=0.0, 33.0)?;
    let back = record.rate(45.0, 60.0) / undisturbed(subject).1;
    within("rate 12 s after the outage over the rate without", back, 0.4..=1.6, 60.0)
}

fn quietens_without_reports(subject: &Subject) -> Verdict {
    let config = LinkConfig { outage: Some((at(10.0), at(16.0))), ..clean(subject, 10) };
    let record = alone(subject, config, 16.0);
    within("Mbit/s that arrive before", record.rate(5.0, 10.0), 0.1..=10.1, 10.0)?;
    let left = record.rate_sent(13.0, 16.0) / record.rate(5.0, 10.0);
    within("rate left after 3 s without a report", left, 0.0..=0.5, 16.0)?;
    none_of([record.beyond])
}

fn is_deterministic(subject: &Subject) -> Verdict {
    let config = LinkConfig { lose_every: Some(500), mark_every: Some(700), ..clean(subject, 10) };
    let (once, again) = (alone(subject, config, 20.0), alone(subject, config, 20.0));
    same_bits(&once, &again, 20.0)
}

/// By a clock that counts the seconds since 1970. The time between is whole to all that is counted in steps of the clock: GCC's
/// milliseconds, URCP's windows, and what floats round.
fn takes_any_zero_of_the_clock(subject: &Subject) -> Verdict {
    let config = LinkConfig { lose_every: Some(500), mark_every: Some(700), ..clean(subject, 10) };
    let shifted = subject.shifted(TimeDelta::from_secs(1875 << 20));
    same_bits(&alone(subject, config, 10.0), &alone(&shifted, config, 10.0), 10.0)
}

fn same_bits(once: &Record, again: &Record, end: f64) -> Verdict {
    let expected = "the same bits of what it shows after each report";
    match (once.hash, again.hash) {
        (0, _) => Err(Violation::new(at(end), expected, "no report at all").into()),
        (a, b) if a == b => Ok(()),
        _ => Err(Violation::new(at(end), expected, "others the second time").into()),
    }
}

fn is_fair_to_itself(subject: &Subject) -> Verdict {
    // The altered one is the second: it must not get away with it.
    let honest = subject.honest();
    let records = run(clean(subject, 20), &[(&honest, 0.0), (subject, 3.0)], 90.0);
    let rates: Vec<f64> = records.iter().map(|record| record.rate(50.0, 90.0)).collect();
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    within("Jain's index", sum * sum / (2.0 * squares), 0.85..=1.0, 90.0)?;
    within("use of the link", sum / 20.0, 0.5..=1.01, 90.0)
}

fn names_possible_rates(subject: &Subject) -> Verdict {
    let config = LinkConfig {
        lose_every: Some(150),
        mark_every: Some(170),
        step: Some((at(5.0), Bitrate::from_mbps(1))),
        outage: Some((at(8.0), at(10.0))),
        ..clean(subject, 10)
    };
    none_of([alone(subject, config, 15.0).absurd])
}

fn survives_any_feedback(subject: &Subject) -> Verdict {
    let first = subject.seed;
    (first..first.saturating_add(CASES)).try_for_each(|seed| {
        let verdict = caught(|| subject.survive(seed));
        verdict.map_err(|violation| Broken { violation, seed: Some(seed) })
    })
}

fn allocates_nothing_once_warm(subject: &Subject) -> Verdict {
    let Some(count) = subject.allocations else { return Ok(()) };
    let ends = [
        ("sender", allocations::of_sender(subject, count)),
        ("receiver half", allocations::of_half(subject, count)),
    ];
    ends.into_iter().find(|(_, count)| *count > 0).map_or(Ok(()), |(end, count)| {
        let found = format!("{count} of its {end} while 100,000 packets pass");
        Err(Violation::now("no allocation once warm", found).into())
    })
}
