//! What is said about a parameter that is out of range.

use alloc::string::{String, ToString};
use core::fmt;

/// A parameter whose value is out of range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidParameter {
    /// Name of the parameter, as a scenario spells it.
    pub name: &'static str,
    /// The value that was given, as text.
    pub found: String,
    /// What would have been accepted.
    pub expected: &'static str,
}

impl fmt::Display for InvalidParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.name, self.found, self.expected)
    }
}

impl core::error::Error for InvalidParameter {}

/// Complains about `name` unless `low <= value <= high`; NaN is never in range.
pub(crate) fn in_range(
    name: &'static str,
    value: f64,
    (low, high): (f64, f64),
    expected: &'static str,
) -> Result<(), InvalidParameter> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(InvalidParameter { name, found: value.to_string(), expected })
}
