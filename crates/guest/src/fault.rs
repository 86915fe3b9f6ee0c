//! The end of a run by a mind that fails: unwound through the simulator or the driver, and caught where the run was started.

use paceline_units::Time;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The failure of a mind to answer a call.
#[derive(Debug)]
pub struct Failure {
    /// The wrong thing and the expected one, for people.
    pub text: String,
    /// An error of the mind's language, such as Python's exception.
    pub cause: Option<Box<dyn Any + Send>>,
}

impl Failure {
    /// A failure that has no error of another language.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), cause: None }
    }
}

/// The failure of a mind, with its name and the time of the run.
#[derive(Debug)]
pub struct Fault {
    /// Kind of the controller.
    pub kind: String,
    /// Time of the run; on sockets, since the call began.
    pub at: Time,
    /// The call that failed, as the mind knows it.
    pub call: &'static str,
    /// The wrong thing about the answer, or the error in place of one.
    pub failure: Failure,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, at, call, failure } = self;
        write!(out, "controller {kind:?} at {:.6} s, {call}: {}", at.as_secs_f64(), failure.text)
    }
}

/// Ends the run that is under way: nothing of it goes on.
pub fn raise(fault: Fault) -> ! {
    // Without the message that a panic prints: this one has a reader.
    resume_unwind(Box::new(fault))
}

/// The outcome of `run`, or the fault that ended it.
///
/// # Errors
/// The fault of a mind. Another panic goes on.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<Fault>> {
    // The caller drops what the run has left half-done.
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|payload| payload.downcast::<Fault>().unwrap_or_else(|other| resume_unwind(other)))
}
