//! The conformance suite: every member passes every check, and every check notices the faults it is there for.

use crate::members::{Member, members};
use paceline_conformance::hostile::Flight;
use paceline_conformance::world::{LinkConfig, Record, at, run, run_every_step};
use paceline_conformance::{CHECKS, Check};
use paceline_units::Bitrate;

/// Runs a check on the members whose transport retransmits, or on the others, true to their kind and with faults, and tells all that
/// is wrong.
fn check(name: &str, retransmits: bool) {
    let check = CHECKS.iter().find(|check| check.name == name).expect("a check of that name");
    let all = members().iter().filter(|member| (member.subject.flight() == Flight::Pipe) == retransmits);
    let wrong: Vec<String> = all.flat_map(|member| wrong(check, member)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrong(check: &Check, member: &Member) -> Vec<String> {
    let verdict = member.subject.check(check.name);
    let mut wrong: Vec<String> = verdict.err().map(|finding| finding.to_string()).into_iter().collect();
    if member.subject.exempts(check.name) {
        return wrong;
    }
    for fault in check.notices.iter().filter(|fault| !member.unaffected_by.contains(fault)) {
        let altered = member.subject.altered(*fault);
        let is_noticed = check.run(&altered).is_err();
        match member.unharmed.iter().find(|(known, _)| known == fault) {
            Some((_, why)) if is_noticed => wrong.push(format!("{}: not harmless ({why})", altered.name())),
            None if !is_noticed => wrong.push(format!("{} does not notice: {}", check.name, altered.name())),
            _ => {}
        }
    }
    wrong
}

/// Every member, over a link that loses, marks, slows down and fails.
#[test]
fn steps_that_are_left_out_change_nothing() {
    let config = LinkConfig {
        lose_every: Some(150),
        mark_every: Some(170),
        step: Some((at(2.0), Bitrate::from_mbps(1))),
        outage: Some((at(4.0), at(5.0))),
        ..LinkConfig::clean(10)
    };
    for member in members() {
        let flows = [(&member.subject, 0.0), (&member.subject, 0.5)];
        let (some, all) = (run(config, &flows, 8.0), run_every_step(config, &flows, 8.0));
        for (some, all) in some.iter().zip(&all) {
            assert!(some.hash == all.hash && some.arrivals == all.arrivals, "{}", member.name());
            let counts = |record: &Record| (record.timeouts, record.samples.len());
            assert_eq!(counts(some), counts(all), "{}", member.name());
        }
    }
}

macro_rules! suite {
    ($($name:ident),*) => {
        $( mod $name {
            #[test] fn of_byte_streams() { super::check(stringify!($name), true); }
            #[test] fn of_datagrams() { super::check(stringify!($name), false); }
        } )*

        #[test]
        fn no_check_is_left_out() {
            assert_eq!(CHECKS.iter().map(|check| check.name).collect::<Vec<_>>(), [$(stringify!($name)),*]);
            assert!(CHECKS.iter().all(|check| !check.notices.is_empty()));
        }
    };
}

suite!(
    stays_within_its_window,
    reacts_to_loss,
    reacts_to_marks,
    reacts_to_delay,
    recovers_after_an_outage,
    quietens_without_reports,
    is_deterministic,
    takes_any_zero_of_the_clock,
    is_fair_to_itself,
    names_possible_rates,
    survives_any_feedback,
    allocates_nothing_once_warm
);
