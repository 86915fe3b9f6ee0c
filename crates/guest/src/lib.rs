//! Controllers in other languages and other processes.
//!
//! A [`Mind`] decides, whatever it is written in: it is told of packets and reports, and answers with a target, a pace, a window or a time
//! to be woken. [`guest`] makes a kind of controller of minds, which a registry lists beside the project's own
//! ([`paceline_cc::guest::register_guest`]). The controller around a mind keeps the count of the flight and the limits of the application,
//! and looks at each answer before it holds. An answer that is wrong, late or missing ends the run as a [`Fault`].

mod answer;
mod controller;
mod declared;
mod fault;
#[cfg(unix)]
pub mod program;

pub use answer::{Answer, Burst};
pub use controller::{Mind, MindMaker, Setting, guest};
pub use declared::{Declared, Description, Hears};
pub use fault::{Failure, Fault, caught, raise};

/// The crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
