//! The C ABI of the congestion controllers.
//!
//! A controller is a number that this library looks up, so that a use after `destroy` is an error and not a fault. No panic
//! leaves the library, and no call allocates once its controller is warm. The header, `include/paceline.h`, is written
//! from here by cbindgen.
#![allow(unsafe_code, reason = "pointers of C are read and written here, and nowhere else")]

mod calls;
mod failure;
mod session;
mod types;

pub use calls::*;
pub use types::*;
