//! The seam, proven before it is used: skeletons of very different controllers run on the one contract.
//!
//! The skeletons are test code, not products: each has just enough of its algorithm to bend the contract where it could
//! bend. All are driven as `&mut dyn Controller` by one loop ([`path::Run`]) in virtual time.

mod fse;
mod newreno;
pub mod path;
mod probing;
mod reliable;
mod tfrc;
mod tfrc_receiver;
mod tfrc_sender;
