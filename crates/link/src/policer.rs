//! A policer: what comes faster than a rate, beyond a burst, is dropped or marked before it reaches the queue.

use crate::account::Account;
use crate::bucket::Bucket;
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

/// A bucket before the queue that holds nothing back.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    bucket: Bucket,
    action: PolicerAction,
}

impl Policer {
    pub(crate) fn new(config: &PolicerConfig) -> Policer {
        Policer { bucket: Bucket::new(config.rate, config.burst), action: config.action }
    }

    /// Whether the packet, which comes at `now`, passes; marked if that is what becomes of those beyond the rate.
    pub(crate) fn passes(
        &mut self,
        now: u64,
        size: u64,
        packet: &mut impl Transit,
        account: &mut Account,
    ) -> bool {
        if self.bucket.spend(now, size) {
            return true;
        }
        account.policed += 1;
        let marks = self.action == PolicerAction::Mark && packet.ecn().is_capable();
        if marks {
            packet.mark_ce();
        }
        marks
    }
}
