//! The C ABI of the congestion controllers and of the RTP endpoint.
//!
//! A controller, a sender or a receiver is a number that this library looks up, so that a use after `destroy` is an error and not a
//! fault. No panic leaves the library, and no call allocates once what it is for is warm. The header, `include/paceline.h`, is
//! written from here by cbindgen.
#![allow(unsafe_code, reason = "pointers of C are read and written here, and nowhere else")]

mod arguments;
mod controller;
mod controller_calls;
mod failure;
mod group;
mod half;
mod handles;
mod media_types;
mod receiver;
mod sender;
mod types;

pub use controller_calls::*;
pub use group::*;
pub use half::*;
pub use media_types::*;
pub use receiver::*;
pub use sender::*;
pub use types::*;
