//! A moment over loopback of what `make long-run` does for half an hour.

use crate::lateness::judge_on_time;
use crate::long::{CALLS, over_loopback};
use paceline_units::TimeDelta;

#[test]
fn calls_over_loopback_lose_nothing_and_keep_their_memory() {
    std::thread::scope(|scope| {
        for call in CALLS {
            scope.spawn(move || {
                let carried = || {
                    over_loopback(call, TimeDelta::from_secs(12))
                        .unwrap_or_else(|broken| panic!("{}: {broken}", call.0))
                };
                judge_on_time(carried, |media| assert!(media.is_ok(), "{}: {media:?}", call.0));
            });
        }
    });
}
