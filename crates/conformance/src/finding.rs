//! Broken promises of a controller, and the virtual time at which they are found.

use paceline_units::Time;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    // A panic says nothing of virtual time, so worlds note it as it passes.
    static NOW: Cell<Time> = const { Cell::new(Time::ZERO) };
}

/// Notes the time that a world has reached.
pub(crate) fn pass(now: Time) {
    NOW.set(now);
}

/// A promise of the contract that a controller broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The behaviour that was expected.
    pub expected: String,
    /// The behaviour that was found.
    pub found: String,
    /// Virtual time of the run when it was found.
    pub at: Time,
}

impl Violation {
    pub(crate) fn new(at: Time, expected: impl Into<String>, found: impl Into<String>) -> Violation {
        Violation { expected: expected.into(), found: found.into(), at }
    }

    /// A violation at the time that this thread's world has reached.
    pub(crate) fn now(expected: impl Into<String>, found: impl Into<String>) -> Violation {
        Violation::new(NOW.get(), expected, found)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { expected, found, at } = self;
        write!(f, "expected {expected}; found {found}, at {:.4} s", at.as_secs_f64())
    }
}

impl std::error::Error for Violation {}

/// A check that a controller did not pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Name of the controller, as the [`Subject`](crate::Subject) says it.
    pub subject: String,
    /// Name of the check.
    pub check: &'static str,
    /// The promise that was broken: what was expected, what was found, and when.
    pub violation: Violation,
    /// Seed of the input that showed it, for [`Subject::with_seed`](crate::Subject::with_seed); absent where a check draws nothing at
    /// random and repeats by itself.
    pub seed: Option<u64>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { subject, check, violation, seed } = self;
        write!(f, "{subject}: {check}: {violation}")?;
        seed.map_or(Ok(()), |seed| write!(f, " (seed {seed})"))
    }
}

impl std::error::Error for Finding {}

/// The answer of a run in which a panic of the controller is a violation like any other.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Violation::now("no panic, whatever happens", format!("a panic: {text}")))
    })
}
