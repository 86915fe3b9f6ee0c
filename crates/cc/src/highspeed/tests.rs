//! RFC 3649's own tables as vectors.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, one_step};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<HighSpeedRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(HighSpeed::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}

/// Appendix B, table 7: some windows, the first at which a(w) is a whole number, and b(w) to two digits.
#[test]
fn increase_and_decrease_are_those_of_appendix_b() {
    let rule = HighSpeedRule::new(&Params::default()).0;
    let table =
        [(118.0, 2.0, 0.44), (221.0, 3.0, 0.41), (347.0, 4.0, 0.38), (495.0, 5.0, 0.37), (1058.0, 8.0, 0.33)];
    for (w, a, b) in table {
        assert!((rule.a(w) / a - 1.0).abs() < 0.03, "a({w}) is {}, not {a}", rule.a(w));
        assert!((rule.b(w) - b).abs() < 0.005, "b({w}) is {}, not {b}", rule.b(w));
    }
    assert_eq!((rule.a(38.0), rule.b(38.0)), (1.0, 0.5), "Reno up to Low_Window");
    assert!((rule.a(83_000.0) - 72.0).abs() < 1.0 && (rule.b(83_000.0) - 0.1).abs() < 1e-9, "section 5");
}

/// Section 5, table 5: the loss ratio of each mean window.
#[test]
fn the_response_function_is_that_of_section_5() {
    let rule = HighSpeedRule::new(&Params::default()).0;
    let table = [
        (1e-3, 38.0),
        (1e-4, 263.0),
        (1e-5, 1795.0),
        (1e-6, 12_279.0),
        (1e-7, 83_981.0),
        (1e-9, 3_928_088.0),
    ];
    for (p, w) in table {
        assert!((rule.p(w) / p - 1.0).abs() < 0.03, "p({w}) is {}, not {p}", rule.p(w));
    }
}

#[test]
fn a_loss_takes_less_and_a_round_trip_adds_more_the_larger_the_window() {
    let (grown, left) = step("rfc3649", 1058);
    assert!((7.9..8.2).contains(&grown) && (0.672..0.674).contains(&left), "{grown} {left}");
    close(step("rfc3649", 30).0, 1.0);
    close(step("rfc3649", 30).1, 0.5);
    close(step("linux", 60).0, 2.0);
    assert!(step("rfc3649", 60).0 < 1.4, "{:?}", step("rfc3649", 60));
    close(step("rfc3649", 5_000_000).1, 0.9);
}
