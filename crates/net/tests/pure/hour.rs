//! An hour of what `make long-run` does for a day.

use crate::long::{CALLS, simulate};
use paceline_units::TimeDelta;

#[test]
fn an_hour_is_simulated_without_loss_in_the_same_memory() {
    for call in CALLS {
        let outcome = simulate(call, TimeDelta::from_secs(3600));
        assert!(outcome.is_ok(), "{}: {outcome:?}", call.0);
    }
}
