//! What can be wrong with a link's configuration.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A configuration that no link can have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError {
    /// The key as a scenario spells it, relative to the link: `loss.ratio`.
    pub key: &'static str,
    /// The value that was found, as text.
    pub found: String,
    /// What would have been right.
    pub expected: &'static str,
}

impl LinkError {
    pub(crate) fn new(key: &'static str, found: impl fmt::Debug, expected: &'static str) -> LinkError {
        LinkError { key, found: format!("{found:?}"), expected }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: found {}, expected {}", self.key, self.found, self.expected)
    }
}

impl core::error::Error for LinkError {}

/// Fails unless `value` is a ratio.
pub(crate) fn check_ratio(key: &'static str, value: f64) -> Result<(), LinkError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(LinkError::new(key, value, "a ratio from 0 to 1")) }
}

/// Fails if `value` is negative.
pub(crate) fn check_span(key: &'static str, value: paceline_units::TimeDelta) -> Result<(), LinkError> {
    if value.is_negative() {
        return Err(LinkError::new(key, value, "a duration of 0 or more"));
    }
    Ok(())
}
