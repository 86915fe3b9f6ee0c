//! The seam, proven before it is used: skeletons of very different controllers run on the one contract.
//!
//! The skeletons are test code, not products: each has just enough of its algorithm to bend the contract where it could
//! bend. All are driven as `&mut dyn Controller` by one loop ([`path::Run`]) in virtual time.

#[path = "contract/fse.rs"]
mod fse;
#[path = "contract/newreno.rs"]
mod newreno;
#[path = "contract/path.rs"]
mod path;
#[path = "contract/probing.rs"]
mod probing;
#[path = "contract/reliable.rs"]
mod reliable;
#[path = "contract/tfrc.rs"]
mod tfrc;
#[path = "contract/tfrc_receiver.rs"]
mod tfrc_receiver;
#[path = "contract/tfrc_sender.rs"]
mod tfrc_sender;
