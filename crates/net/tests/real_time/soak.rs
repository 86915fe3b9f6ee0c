//! A moment of what `make soak` does for half an hour.

use crate::alone::in_own_process;
use crate::lateness::judge_on_time;
use crate::soak_calls::{Broken, soak};
use paceline_units::TimeDelta;

#[test]
fn ten_calls_go_on_after_each_failure_of_their_links_in_the_same_memory() {
    in_own_process("soak::ten_calls_go_on_after_each_failure_of_their_links_in_the_same_memory", || {
        judge_on_time(soaked, |outcome| assert!(outcome.is_ok(), "{}", outcome.as_ref().expect_err("slow")));
    });
}

/// However late the machine is no call ends, memory stays as it is, and no descriptor is lost.
fn soaked() -> Result<String, Broken> {
    let outcome = soak(TimeDelta::from_secs(20));
    assert!(!matches!(outcome, Err(Broken::Ended(_))), "{}", outcome.expect_err("ended"));
    outcome
}
