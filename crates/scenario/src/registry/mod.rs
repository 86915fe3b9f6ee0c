//! What there is: controllers, queues, sources, traces. To add a controller: one line in `controllers!`.

mod controllers;
mod dccp;
mod fixed;
mod listing;
mod uncontrolled;

pub use controllers::{AnyController, AnyReceiverHalf, ControllerParams, ControllerSetup, controller_kinds};
pub use dccp::FlowCcids;
pub use fixed::{Fixed, FixedParams};
pub use listing::{Entry, Listing, Parameter, Profile, controllers, queues, sources, traces};
