//! The duties of every congestion controller, as checks that any type of the contract [`paceline_cc::Controller`] can run.
//!
//! [`check`] runs them all on the controllers that a constructor makes, and answers what it found:
//!
//! ```
//! use paceline_cc::{FlowSetup, Steers, scream};
//!
//! let params = scream::Params { loss_deviations: 0.0, ..scream::Params::default() };
//! let make = move |setup: &FlowSetup| scream::Scream::new(&params, setup);
//! let findings = paceline_conformance::check(make, Steers::Media);
//! assert!(findings.is_empty(), "{findings:#?}");
//! ```
//!
//! A [`Subject`] says more of a controller: its receiver half, a longer queue, the checks that its own rules make it fail. Everything is in
//! virtual time and drawn from seeds, so that a finding repeats. [`CHECKS`] lists the checks, [`Fault`] the faults that each of them is
//! known to notice, and [`world`] is the closed loop that most of them run.

mod allocations;
#[allow(dead_code, reason = "other programs read words from the same bytes")]
mod bytes;
mod checks;
mod faults;
mod finding;
pub mod hostile;
mod link;
mod retransmitting;
mod shifted;
mod subject;
pub mod world;

pub use checks::{CHECKS, Check};
pub use faults::Fault;
pub use finding::{Finding, Violation};
pub use hostile::Half;
pub use subject::Subject;

use paceline_cc::{Controller, FlowSetup, Steers};
use paceline_units::Bytes;

/// The largest packet of every world, on the link.
pub const LARGEST: Bytes = Bytes::new(1212);

/// Runs every check on the controllers that `make` makes, those of media once more with L4S, and answers all that was found.
pub fn check<C: Controller + 'static>(
    make: impl Fn(&FlowSetup) -> C + Send + Sync + 'static,
    steers: Steers,
) -> Vec<Finding> {
    let subject = Subject::new("controller", steers, make);
    let mut findings = subject.findings();
    if steers == Steers::Media {
        findings.extend(subject.with_l4s().findings());
    }
    findings
}

/// The crate's README, whose code runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
