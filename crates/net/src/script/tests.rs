//! Scripts of sessions, without coverage; the fuzz target `rtp_session` runs more of them.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

#[test]
fn a_session_is_reported_in_full_under_every_controller() {
    for choice in 0..FLOWS {
        for relayed in [0, 0x80] {
            assert_eq!(drive(&[choice as u8 | relayed], counting::live), Ok(()), "{choice}");
        }
    }
}

proptest! {
    // The same scripts each time: the fuzz target looks for new ones, and one that it found waits to be judged.
    #![proptest_config(ProptestConfig { cases: 512, rng_seed: RngSeed::Fixed(16), ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_a_session_recovers(script in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(drive(&script, counting::live), Ok(()));
    }
}
