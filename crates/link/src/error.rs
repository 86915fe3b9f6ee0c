//! What can be wrong with a link's configuration.

use std::fmt;

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

impl std::error::Error for LinkError {}

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

/// Fails unless `value` is above 0.
pub(crate) fn check_positive(key: &'static str, value: paceline_units::TimeDelta) -> Result<(), LinkError> {
    if value.as_nanos() > 0 { Ok(()) } else { Err(LinkError::new(key, value, "a time above 0")) }
}

/// Fails if nothing may wait: an active queue has something to manage.
pub(crate) fn check_limit(limit: crate::QueueLimit) -> Result<(), LinkError> {
    use crate::QueueLimit::{Bytes, Packets, Time, Unlimited};
    match limit {
        Packets(0) => Err(LinkError::new("queue.packets", 0, "at least 1: nothing would ever wait")),
        Bytes(bytes) if bytes.as_u64() == 0 => {
            Err(LinkError::new("queue.bytes", bytes, "above 0: nothing would ever wait"))
        }
        Time(span) if span.as_nanos() <= 0 => {
            Err(LinkError::new("queue.limit", span, "above 0: nothing would ever wait"))
        }
        Packets(_) | Bytes(_) | Time(_) | Unlimited => Ok(()),
    }
}
