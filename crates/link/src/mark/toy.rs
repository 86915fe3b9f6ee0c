//! A toy: every n-th packet is marked.

use paceline_units::{Ecn, params};

params! {
    /// The parameters of the toy.
    pub struct ToyMarkConfig {
        every: u64 = 100, in 1.0, 1e9, "ours", "One of so many packets is marked";
    }
}

/// The running toy.
#[derive(Clone, Debug)]
pub(crate) struct ToyMark {
    every: u64,
    seen: u64,
}

impl ToyMark {
    pub(super) fn new(config: &ToyMarkConfig) -> ToyMark {
        ToyMark { every: config.every, seen: 0 }
    }

    #[inline]
    pub(super) fn decide(&mut self, _departs: u64, _wait: u64, ecn: Ecn) -> bool {
        self.seen += 1;
        ecn == Ecn::Ect1 && self.seen % self.every == 0
    }
}
