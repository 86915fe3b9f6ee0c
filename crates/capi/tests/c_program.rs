//! A program in C, compiled and run against the header and the library of this build.

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

#[test]
fn a_call_in_c_fills_its_link() {
    let Some(cc) = compiler() else {
        eprintln!("skipped: no C compiler (cc, gcc or clang); sudo apt install build-essential");
        return;
    };
    let program = compiled(cc, "call.c");
    let run = |words: [&str; 2]| Command::new(&program).args(words).output().expect("it was compiled");
    let done = run(["scream", "reference-2022"]);
    let (said, failed) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{failed}");
    let rate: f64 = said.split(' ').next().and_then(|rate| rate.parse().ok()).expect("it says a rate first");
    assert!((3.5..=5.1).contains(&rate), "{said}");
    let done = run(["skream", ""]);
    let failed = String::from_utf8_lossy(&done.stderr);
    assert!(failed.starts_with("-3: controller: found skream, expected one of scream, "), "{failed}");
    assert_eq!(done.status.code(), Some(1));
}
