//! A policer: what comes faster than a rate, beyond a burst, is dropped or marked before it reaches the queue (RFC 2697's committed
//! rate and burst alone).

use crate::account::Account;
use crate::config::MAX_PACKET;
use crate::server::WORK_PER_BYTE;
use crate::transit::Transit;
use paceline_units::{Bitrate, Bytes, names, params};

names! {
    /// Fate of packets beyond the rate.
    pub enum PolicerAction {
        /// They are dropped.
        Drop = "drop",
        /// They are marked CE if they can be, else dropped.
        Mark = "mark",
    }
}

params! {
    /// The parameters of a policer.
    pub struct PolicerConfig {
        rate: Bitrate = Bitrate::ZERO, as Required, in 1.0, 1e15, "RFC 2697", "Rate at which the bucket fills";
        burst: Bytes = Bytes::ZERO, as Required, in 1.0, 1e9, "RFC 2697", "Size of the bucket, which is full at the beginning: a larger packet never passes";
        action: PolicerAction = PolicerAction::Drop, "ours", "Fate of packets that find too little in the bucket: `mark` sets CE on those that can be marked, and drops the others";
    }
}

/// A bucket of tokens, in bit·ns/s: a byte takes 8e9.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    rate: u64,
    size: u64,
    action: PolicerAction,
    tokens: u64,
    /// When the tokens were counted last.
    at: u64,
}

impl Policer {
    pub(crate) fn new(config: &PolicerConfig) -> Policer {
        let size = config.burst.as_u64().min(MAX_PACKET) * WORK_PER_BYTE;
        Policer { rate: config.rate.as_bps(), size, action: config.action, tokens: size, at: 0 }
    }

    /// Whether the packet, which comes at `now`, passes; marked if that is what becomes of those beyond the rate.
    pub(crate) fn passes(
        &mut self,
        now: u64,
        size: u64,
        packet: &mut impl Transit,
        account: &mut Account,
    ) -> bool {
        let filled = u128::from(self.tokens) + u128::from(self.rate) * u128::from(now - self.at);
        self.tokens = filled.min(u128::from(self.size)) as u64;
        self.at = now;
        match size.checked_mul(WORK_PER_BYTE).and_then(|work| self.tokens.checked_sub(work)) {
            Some(left) => {
                self.tokens = left;
                return true;
            }
            None => account.policed += 1,
        }
        let marks = self.action == PolicerAction::Mark && packet.ecn().is_capable();
        if marks {
            packet.mark_ce();
        }
        marks
    }
}
