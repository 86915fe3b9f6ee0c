//! A program of its own, for it needs a C compiler: programs in C, compiled and run against the header and library of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The C compiler, if there is one.
fn compiler() -> Option<&'static str> {
    let works =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success());
    ["cc", "gcc", "clang"].into_iter().find(works)
}

/// The static library that cargo built beside this program.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a file");
    let folders = program.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("libpaceline.a")).find(|file| file.exists());
    found.expect("cargo builds the static library with the tests")
}

/// Compiles `source` with every warning an error, and answers the program.
fn compiled(cc: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.trim_end_matches(".c"));
    let done = Command::new(cc)
        .args(["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I"])
        .arg(folder.join("include"))
        .arg(folder.join("tests").join(source))
        .arg(library())
        .args(["-lm", "-lpthread", "-ldl", "-o"])
        .arg(&program)
        .output()
        .expect("it ran a moment ago");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// Output of a program that succeeds; none without a C compiler.
fn printed(source: &str, words: &[&str]) -> Option<String> {
    let Some(cc) = compiler() else {
        eprintln!("skipped: no C compiler (cc, gcc or clang); sudo apt install build-essential");
        return None;
    };
    let done = Command::new(compiled(cc, source)).args(words).output().expect("it was compiled");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The numbers in a text, in order.
fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ';', ',']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_call_of_media_in_c_follows_its_link() {
    for format in ["rfc8888", "twcc"] {
        let Some(said) = printed("media.c", &[format]) else { return };
        let [at_five, _, at_one, _, pushed, discarded, delivered] = numbers(&said)[..] else {
            panic!("{said}")
        };
        // For a response time the target may be a fifth above what the link carries: `growth_most`.
        assert!((3.5..=6.0).contains(&at_five) && (0.4..=1.2).contains(&at_one), "{format}: {said}");
        // The rest, neither discarded nor delivered, waits or is under way.
        let rest = pushed - discarded - delivered;
        assert!(discarded < 0.03 * pushed && (0.0..50.0).contains(&rest), "{format}: {said}");
    }
}

#[test]
fn controllers_with_a_receiver_half_run_in_c() {
    for kind in ["tfrc", "ccid3"] {
        let Some(said) = printed("tfrc.c", &[kind]) else { return };
        // RFC 5348 section 3.1 with p = 0.01, R = 0.1 s, s = 1000 B and t_RTO = 4 R: 0.9 Mbit/s.
        let [rate, .., rtt] = numbers(&said)[..] else { panic!("{said}") };
        assert!((0.7..=1.1).contains(&rate) && (100.0..=102.0).contains(&rtt), "{kind}: {said}");
    }
}

/// Two calls of one program share by priority, and the first one inherits the rate of the second while that pauses.
#[test]
fn coupled_calls_in_c_share_by_priority() {
    for kind in ["active", "conservative", "cm"] {
        let Some(said) = printed("coupled.c", &[kind]) else { return };
        let [a, b, c, d, alone, paused, _, back, given, sum] = numbers(&said)[..] else {
            panic!("{kind}: {said}")
        };
        for (first, second) in [(a, b), (c, d)] {
            assert!((1.6..=2.4).contains(&(first / second)) && first + second > 4.0, "{kind}: {said}");
        }
        assert!(paused < 0.1 && alone > 1.2 * c && back > 1.0, "{kind}: {said}");
        assert!((given / sum - 2.0 / 3.0).abs() < 0.01, "{kind}: {said}");
    }
}

#[test]
fn a_call_in_c_fills_its_link() {
    let Some(said) = printed("call.c", &["scream", "reference-2022"]) else { return };
    let [rate, ..] = numbers(&said)[..] else { panic!("{said}") };
    assert!((3.5..=5.1).contains(&rate), "{said}");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("call");
    let done = Command::new(program).args(["skream", ""]).output().expect("it was compiled");
    let failed = String::from_utf8_lossy(&done.stderr);
    assert!(failed.starts_with("-3: controller: found skream, expected one of scream, "), "{failed}");
    assert_eq!(done.status.code(), Some(1));
}
