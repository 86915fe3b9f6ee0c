//! Scripts of sessions, without coverage: by hand, the seeds of the fuzz target `rtp_session`, changed seeds, and noise.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;
use std::sync::OnceLock;

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

/// The files of a folder of the fuzz target, by name; none if it is not there.
fn inputs(folder: &str) -> Vec<(String, Vec<u8>)> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder).join("rtp_session");
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |path: std::path::PathBuf| Some((path.display().to_string(), std::fs::read(path).ok()?));
    let mut found: Vec<_> = entries.filter_map(read).collect();
    found.sort();
    found
}

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| inputs("seeds").into_iter().map(|(_, seed)| seed).collect())
}

#[test]
fn seeds_of_the_fuzz_target_and_what_failed_there_break_nothing() {
    assert!(seeds().len() > 10);
    for (name, script) in [inputs("seeds"), inputs("artifacts")].concat() {
        assert_eq!(driven(&script), Ok(()), "{name}");
    }
}

/// A change of a seed.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, u8),
    Cut(Index, u8),
    Repeat(Index, u8),
    /// The rest is that of another seed.
    Join(Index, Index),
}

impl Change {
    fn apply(&self, script: &mut Vec<u8>) {
        let place = |at: &Index, script: &[u8]| at.index(script.len().max(1)).min(script.len());
        match self {
            Change::Set(at, value) => {
                let at = place(at, script);
                script.get_mut(at).into_iter().for_each(|byte| *byte = *value);
            }
            Change::Insert(at, value) => script.insert(place(at, script), *value),
            Change::Cut(at, length) => {
                let at = place(at, script);
                script.drain(at..script.len().min(at + usize::from(*length)));
            }
            Change::Repeat(at, length) => {
                let at = place(at, script);
                script.extend_from_within(at..script.len().min(at + usize::from(*length)));
            }
            Change::Join(at, other) => {
                script.truncate(place(at, script));
                let other = other.get(seeds());
                script.extend(&other[script.len().min(other.len())..]);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    prop_oneof![
        4 => (place(), any::<u8>()).prop_map(|(at, value)| Change::Set(at, value)),
        2 => (place(), any::<u8>()).prop_map(|(at, value)| Change::Insert(at, value)),
        1 => (place(), 1..32u8).prop_map(|(at, length)| Change::Cut(at, length)),
        1 => (place(), 1..64u8).prop_map(|(at, length)| Change::Repeat(at, length)),
        1 => (place(), place()).prop_map(|(at, other)| Change::Join(at, other)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_a_session_recovers(script in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(driven(&script), Ok(()));
    }

    #[test]
    fn a_session_recovers_from_changed_seeds(
        seed in any::<Index>(),
        changes in prop::collection::vec(change(), 1..9),
    ) {
        let mut script = seed.get(seeds()).clone();
        changes.iter().for_each(|change| change.apply(&mut script));
        prop_assert_eq!(driven(&script), Ok(()));
    }
}
