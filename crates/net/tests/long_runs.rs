//! An hour simulated and a moment over loopback of what `make long-run` does for a day and half an hour.

mod long;

use long::{CALLS, over_loopback, simulate};
use paceline_units::TimeDelta;

#[test]
fn an_hour_is_simulated_without_loss_in_the_same_memory() {
    for call in CALLS {
        let outcome = simulate(call, TimeDelta::from_secs(3600));
        assert!(outcome.is_ok(), "{}: {outcome:?}", call.0);
    }
}

#[test]
fn calls_over_loopback_lose_nothing_and_keep_their_memory() {
    std::thread::scope(|scope| {
        let span = TimeDelta::from_secs(20);
        let calls = CALLS.map(|call| scope.spawn(move || (call.0, over_loopback(call, span))));
        for call in calls {
            let (name, outcome) = call.join().expect("no panic");
            assert!(outcome.is_ok(), "{name}: {outcome:?}");
        }
    });
}
