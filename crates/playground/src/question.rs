//! The questions of a page.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A question, by its key `ask`.
#[derive(Deserialize, Debug)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Question {
    /// Controllers with their profiles, queues, named networks.
    Kinds,
    /// Every value of a scenario as resolved, or the error in it.
    Read {
        /// The scenario as TOML.
        scenario: String,
        /// Contents of the files that it names.
        #[serde(default)]
        files: BTreeMap<String, String>,
    },
    /// Begins a run in place of the one before.
    Begin {
        /// The scenario as TOML.
        scenario: String,
        /// Contents of the files that it names.
        #[serde(default)]
        files: BTreeMap<String, String>,
    },
    /// Simulates on.
    Advance {
        /// Simulated time in seconds, above 0.
        seconds: f64,
    },
    /// The samples so far.
    Rows {
        /// Only samples after this time, in seconds.
        after: f64,
    },
    /// The figures of the whole run, which is over with that.
    Finish,
}
