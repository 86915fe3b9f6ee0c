//! A toy: every n-th packet is lost.

use paceline_units::{RandomStream, params};

params! {
    /// The parameters of the toy.
    pub struct ToyLossConfig {
        every: u64 = 100, in 1.0, 1e9, "ours", "One of so many packets is lost";
    }
}

/// The running toy.
#[derive(Clone, Debug)]
pub(super) struct ToyLoss {
    every: u64,
    seen: u64,
}

impl ToyLoss {
    pub(super) fn new(config: &ToyLossConfig) -> ToyLoss {
        ToyLoss { every: config.every, seen: 0 }
    }

    #[inline]
    pub(super) fn takes(&mut self, _random: &mut RandomStream) -> bool {
        self.seen += 1;
        self.seen % self.every == 0
    }
}
