//! A moment of what `make soak` does for half an hour.

mod soak_calls;

use paceline_units::TimeDelta;

#[test]
fn ten_calls_go_on_after_each_failure_of_their_links_in_the_same_memory() {
    let outcome = soak_calls::soak(TimeDelta::from_secs(60));
    assert!(outcome.is_ok(), "{}", outcome.unwrap_or_else(|broken| broken));
}
