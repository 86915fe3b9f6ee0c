//! The conformance suite: every member passes every check, and every check notices the faults it is there for.

use crate::conformance::altered::Alteration;
use crate::conformance::checks::CHECKS;
use crate::conformance::link::LinkConfig;
use crate::conformance::world::run;
use crate::conformance::{Flight, Member, members};
use paceline_units::TimeDelta;

/// Runs a check on the members whose transport retransmits, or on the others, true to their kind and altered, and tells all that is
/// wrong.
fn check(name: &str, retransmits: bool) {
    let check = CHECKS.iter().find(|check| check.name == name).expect("a check of that name");
    let mut wrong = Vec::new();
    for member in members().into_iter().filter(|member| (member.flight == Flight::Pipe) == retransmits) {
        let verdict = (check.run)(&member);
        if let Some((_, why)) = member.exempt.iter().find(|(exempt, _)| *exempt == name) {
            if verdict.is_ok() {
                wrong.push(format!("{}: exempt from {name} ({why}), but it passes now", member.name));
            }
            continue;
        }
        wrong.extend(verdict.err().map(|why| format!("{}: {why}", member.name)));
        for alteration in check.notices.iter().filter(|fault| !member.unaffected_by.contains(fault)) {
            let altered = member.altered(*alteration);
            let is_noticed = (check.run)(&altered).is_err();
            match member.unharmed.iter().find(|(fault, _)| fault == alteration) {
                Some((_, why)) if is_noticed => wrong.push(format!("{}: not harmless ({why})", altered.name)),
                None if !is_noticed => wrong.push(format!("{name} does not notice: {}", altered.name)),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A clock may show anything at its zero: what happens is the same, to the bit, by one that counts the seconds since 1970. The time between
/// is whole to all that is counted in steps of the clock: GCC's milliseconds, URCP's windows, and what floats round.
#[test]
fn the_zero_of_the_clock_does_not_matter() {
    let by = TimeDelta::from_secs(1875 << 20);
    let mut wrong = Vec::new();
    // BBR draws when to probe by what the clock shows.
    for member in members().into_iter().filter(|member| !member.name.starts_with("bbr3")) {
        let config = LinkConfig {
            lose_every: Some(500),
            mark_every: Some(700),
            longest_wait: member.longest_wait,
            ..LinkConfig::clean(10)
        };
        let hash = |member: &Member| run(config, &[(member, 0.0)], 10.0).remove(0).hash;
        if hash(&member) != hash(&member.shifted(by)) {
            wrong.push(member.name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
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
            assert!(CHECKS.iter().all(|check| !check.notices.contains(&Alteration::None) && !check.notices.is_empty()));
        }
    };
}

suite!(
    stays_within_its_window,
    reacts_to_loss,
    reacts_to_marks,
    reacts_to_delay,
    recovers_after_an_outage,
    is_deterministic,
    is_fair_to_itself,
    survives_any_feedback
);
