//! Errors in a trace, and mere oddities.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use paceline_units::param::ParamError;

/// A file that is no trace of the format it was said to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// The line, counted from 1; none if it is the file as a whole.
    pub line: Option<usize>,
    /// The text found.
    pub found: String,
    /// The text expected.
    pub expected: Cow<'static, str>,
}

impl From<ParamError> for TraceError {
    fn from(error: ParamError) -> TraceError {
        TraceError {
            line: None,
            found: format!("{} = {}", error.name, error.found),
            expected: error.expected,
        }
    }
}

/// The longest piece of a file that a message repeats.
const QUOTED: usize = 40;

impl TraceError {
    pub(crate) fn at(line: usize, found: impl fmt::Display, expected: &'static str) -> TraceError {
        TraceError { line: Some(line), ..TraceError::whole(found, expected) }
    }

    pub(crate) fn whole(found: impl fmt::Display, expected: &'static str) -> TraceError {
        let mut found = found.to_string();
        if found.chars().count() > QUOTED {
            found = found.chars().take(QUOTED).chain("...".chars()).collect();
        }
        TraceError { line: None, found, expected: expected.into() }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(out, "line {line}: ")?;
        }
        write!(out, "found {:?}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for TraceError {}

/// Something odd in a file that can be read all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceWarning {
    /// Where it was first, counted from 1.
    pub line: usize,
    /// How often it was.
    pub count: usize,
    /// The oddity, and how it was read.
    pub what: &'static str,
}

impl fmt::Display for TraceWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {} ({} in all)", self.line, self.what, self.count)
    }
}

/// The oddity of a recording of round trips, which is none to who scales it.
pub(crate) const ROUND_TRIPS: &str =
    "delays are round trips, taken as they are: scale = 0.5 makes them one way";

/// Counts one more of `what`, first seen at `line`.
pub(super) fn warn(warnings: &mut Vec<TraceWarning>, line: usize, what: &'static str) {
    match warnings.iter_mut().find(|warning| warning.what == what) {
        Some(warning) => warning.count += 1,
        None => warnings.push(TraceWarning { line, count: 1, what }),
    }
}
