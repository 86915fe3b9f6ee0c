//! The conformance suite: every member passes every check, and every check notices the faults it is there for.

mod conformance;

use conformance::altered::Alteration;
use conformance::checks::CHECKS;
use conformance::members;

/// Runs a check on all members, true to their kind and altered.
fn check(name: &str) {
    let check = CHECKS.iter().find(|check| check.name == name).expect("a check of that name");
    for member in members() {
        let verdict = (check.run)(&member);
        if let Some((_, why)) = member.exempt.iter().find(|(exempt, _)| *exempt == name) {
            assert!(verdict.is_err(), "{}: exempt from {name} ({why}), but it passes now", member.name);
            continue;
        }
        verdict.unwrap_or_else(|why| panic!("{}: {why}", member.name));
        for alteration in check.notices.iter().filter(|fault| !member.unaffected_by.contains(fault)) {
            let altered = member.altered(*alteration);
            let verdict = (check.run)(&altered);
            match member.unharmed.iter().find(|(fault, _)| fault == alteration) {
                Some((_, why)) => assert!(verdict.is_ok(), "{}: not harmless ({why})", altered.name),
                None => assert!(verdict.is_err(), "{name} does not notice: {}", altered.name),
            }
        }
    }
}

macro_rules! suite {
    ($($name:ident),*) => {
        $( #[test] fn $name() { check(stringify!($name)); } )*

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
