//! The build that made a result: the version that summaries and captures name.

use std::sync::OnceLock;

static VERSION: OnceLock<&'static str> = OnceLock::new();

/// The version of this build: what the program said with [`set_version`], else the release alone.
pub fn version() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// Says once, before anything runs, which build the program is. A second call changes nothing.
///
/// The program says it, not a build script of this crate: the commit is part of a version, and each commit would compile all rooms above this one anew.
pub fn set_version(version: &'static str) {
    let _ = VERSION.set(version);
}
