//! The checks. Each answers what it saw when that lies outside its band, on either side.

use super::altered::Alteration;
use super::hostile;
use super::link::LinkConfig;
use super::world::{Record, at, run};
use super::{Member, Member as M};
use paceline_units::{Bitrate, Ecn};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

pub type Verdict = Result<(), String>;

/// A check, and the faults it must notice.
pub struct Check {
    pub name: &'static str,
    pub run: fn(&Member) -> Verdict,
    pub notices: &'static [Alteration],
}

/// All there are.
pub const CHECKS: &[Check] = &[
    Check { name: "stays_within_its_window", run: stays_within_its_window, notices: &[Alteration::Generous] },
    Check { name: "reacts_to_loss", run: reacts_to_loss, notices: &[Alteration::DeafToLoss] },
    Check { name: "reacts_to_marks", run: reacts_to_marks, notices: &[Alteration::DeafToCe] },
    Check { name: "reacts_to_delay", run: reacts_to_delay, notices: &[Alteration::DeafToDelay] },
    Check {
        name: "recovers_after_an_outage",
        run: recovers_after_an_outage,
        notices: &[Alteration::Sleepless],
    },
    Check { name: "is_deterministic", run: is_deterministic, notices: &[Alteration::Moody] },
    Check { name: "is_fair_to_itself", run: is_fair_to_itself, notices: &[Alteration::Greedy] },
    Check {
        name: "survives_any_feedback",
        run: survives_any_feedback,
        notices: &[Alteration::Fragile, Alteration::Credulous, Alteration::Generous],
    },
];

fn within(what: &str, found: f64, band: RangeInclusive<f64>) -> Verdict {
    if band.contains(&found) { Ok(()) } else { Err(format!("{what}: {found:.3} is outside {band:?}")) }
}

fn alone(member: &Member, config: LinkConfig, seconds: f64) -> Record {
    run(config, &[(member, 0.0)], seconds).remove(0)
}

/// A link that loses and marks nothing but by the queue that the member is tested with.
fn clean(member: &Member, mbps: u64) -> LinkConfig {
    LinkConfig { longest_wait: member.longest_wait, ..LinkConfig::clean(mbps) }
}

fn stays_within_its_window(member: &Member) -> Verdict {
    let configs = [
        clean(member, 10),
        LinkConfig { lose_every: Some(150), mark_every: Some(170), ..clean(member, 10) },
        LinkConfig { step: Some((at(15.0), Bitrate::from_mbps(1))), ..clean(member, 20) },
        LinkConfig { outage: Some((at(10.0), at(12.0))), ..clean(member, 10) },
    ];
    for config in configs {
        let record = alone(member, config, 30.0);
        within("it sends, Mbit/s", record.rate(0.0, 30.0), 0.1..=20.0)?;
        record.beyond.or(record.miscounted).map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// The rate of a minute on a link that disturbs nothing, from 20 s and from 45 s on. Three checks compare with it.
fn undisturbed(member: &Member) -> (f64, f64) {
    static KNOWN: Mutex<BTreeMap<String, (f64, f64)>> = Mutex::new(BTreeMap::new());
    let known = KNOWN.lock().expect("no check panics here").get(&member.name).copied();
    known.unwrap_or_else(|| {
        let record = alone(member, clean(member, 10), 60.0);
        let rates = (record.rate(20.0, 60.0), record.rate(45.0, 60.0));
        KNOWN.lock().expect("no check panics here").insert(member.name.clone(), rates);
        rates
    })
}

/// The rate under a disturbance as a part of the rate without it.
fn part_left(member: &Member, disturbed: LinkConfig) -> f64 {
    alone(member, disturbed, 60.0).rate(20.0, 60.0) / undisturbed(member).0
}

fn reacts_to_loss(member: &Member) -> Verdict {
    let config = LinkConfig { lose_every: Some(50), ..clean(member, 10) };
    within("rate left by 2 % loss", part_left(member, config), 0.01..=0.5)
}

fn reacts_to_marks(member: &Member) -> Verdict {
    if member.ecn == Ecn::NotEct {
        return Ok(()); // Its packets are never marked.
    }
    let config = LinkConfig { mark_every: Some(member.mark_every), ..clean(member, 10) };
    within("rate left by marks", part_left(member, config), 0.01..=0.5)
}

fn reacts_to_delay(member: &Member) -> Verdict {
    let config = LinkConfig { step: Some((at(30.0), Bitrate::from_mbps(4))), ..LinkConfig::clean(10) };
    let record = alone(member, config, 60.0);
    within("wait just after the step, ms", record.wait(30.0, 33.0), 20.0..=600.0)?;
    within("wait after 5 s, ms", record.wait(35.0, 40.0), 0.5..=120.0)?;
    within("wait after 10 s, ms", record.wait(40.0, 60.0), 0.5..=120.0)?;
    within("use of the narrow link", record.rate(40.0, 60.0) / 4.0, 0.5..=1.01)
}

fn recovers_after_an_outage(member: &Member) -> Verdict {
    let config = LinkConfig { outage: Some((at(30.0), at(33.0))), ..clean(member, 10) };
    let record = alone(member, config, 60.0);
    within("nothing arrives in the outage, Mbit/s", record.rate(30.5, 33.0), 0.0..=0.0)?;
    let back = record.rate(45.0, 60.0) / undisturbed(member).1;
    within("rate 12 s after the outage over the rate without", back, 0.4..=1.6)
}

fn is_deterministic(member: &Member) -> Verdict {
    let config = LinkConfig { lose_every: Some(500), mark_every: Some(700), ..clean(member, 10) };
    let (once, again) = (alone(member, config, 20.0), alone(member, config, 20.0));
    if once.hash == again.hash && once.hash != 0 { Ok(()) } else { Err("other bits the second time".into()) }
}

fn is_fair_to_itself(member: &Member) -> Verdict {
    // The altered one is the second: it must not get away with it.
    let honest = M { alteration: Alteration::None, ..member.clone() };
    let records = run(clean(member, 20), &[(&honest, 0.0), (member, 3.0)], 90.0);
    let rates: Vec<f64> = records.iter().map(|record| record.rate(50.0, 90.0)).collect();
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    within("Jain's index", sum * sum / (2.0 * squares), 0.85..=1.0)?;
    within("use of the link", sum / 20.0, 0.5..=1.01)
}

fn survives_any_feedback(member: &Member) -> Verdict {
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 400, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = proptest::collection::vec(any::<u8>(), 0..900);
    let outcome = runner.run(&strategy, |bytes| {
        let drive = || hostile::drive(&mut *member.controller(), member.flight, member.slack, &bytes);
        let verdict = catch_unwind(AssertUnwindSafe(drive)).unwrap_or_else(|_| Err("it panicked".into()));
        verdict.map_err(TestCaseError::fail)?;
        let half = || member.half.as_ref().map_or(Ok(()), |make| hostile::drive_half(&mut *make(), &bytes));
        let verdict =
            catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|_| Err("its half panicked".into()));
        verdict.map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, bytes)) => Err(format!("{why} after {bytes:?}")),
        Err(other) => Err(other.to_string()),
    }
}
