//! Tests that measure their whole process, its memory or its descriptors, run in a process of their own.

use std::process::Command;

/// Set in the process of such a test.
const ALONE: &str = "PACELINE_TEST_ALONE";

/// Does `work` of the test with this name in a process that runs no other.
pub fn in_own_process(test: &str, work: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let program = std::env::current_exe().expect("this program");
    let run =
        Command::new(program).args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().expect("run");
    let said = [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}
