//! Scripts of sessions, without coverage; the fuzz target `rtp_session` runs more of them.

use super::*;
use proptest::prelude::*;

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Runs a script; what breaks is told together with the script in hex.
fn driven(script: &[u8]) -> Result<(), String> {
    drive(script, counting::live).map_err(|broken| {
        let hex: String = script.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{broken} by the script {hex}")
    })
}

/// Scripts that broke a promise once, and by what.
const KEPT: [(&str, &str); 1] = [(
    "0f00aec2710334eadee91384826b7666994309d886dc1bd1431284db09695b451b503238c81d316c58a34f5d10b36d7c95",
    "where each other packet was refused for its timestamp, no two transport-wide numbers in a row were noted",
)];

#[test]
fn what_broke_a_session_once_breaks_it_no_more() {
    for (hex, why) in KEPT {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        let script: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        assert_eq!(driven(&script), Ok(()), "{why}");
    }
}

#[test]
fn a_session_is_reported_in_full_under_every_controller_wherever_it_begins() {
    for choice in 0..FLOWS as u8 {
        for relayed in [0, 0x80] {
            assert_eq!(driven(&[choice | relayed]), Ok(()));
            assert_eq!(
                driven(&[choice | relayed, 0xf, choice, 7, 3, 9, 0xfe, 0xff, 1, 0, 0, 0xf0, 0xff, 0xff]),
                Ok(())
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_a_session_recovers(script in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(driven(&script), Ok(()));
    }
}
