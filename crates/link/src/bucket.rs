//! A bucket of tokens (RFC 2697's committed rate and burst), which policers and shapers take bytes from.

use crate::config::MAX_PACKET;
use crate::server::WORK_PER_BYTE;
use paceline_units::{Bitrate, Bytes};

/// A bucket that fills at a rate. Tokens are work in bit·ns/s: a byte takes 8e9 of them, a rate of R bit/s fills R in a nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    size: u64,
    tokens: u64,
    /// When the tokens were counted last, in nanoseconds.
    at: u64,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(rate: Bitrate, burst: Bytes) -> Bucket {
        let size = burst.as_u64().min(MAX_PACKET) * WORK_PER_BYTE;
        Bucket { rate: rate.as_bps(), size, tokens: size, at: 0 }
    }

    /// Whether so many bytes ever fit into the bucket.
    pub(crate) fn holds(&self, bytes: u64) -> bool {
        bytes.checked_mul(WORK_PER_BYTE).is_some_and(|work| work <= self.size)
    }

    /// Whether so many bytes may be taken at `now`.
    pub(crate) fn has(&mut self, now: u64, bytes: u64) -> bool {
        self.fill(now);
        bytes.checked_mul(WORK_PER_BYTE).is_some_and(|work| work <= self.tokens)
    }

    /// Takes so many bytes at `now` if it has them.
    pub(crate) fn spend(&mut self, now: u64, bytes: u64) -> bool {
        let has = self.has(now, bytes);
        if has {
            self.tokens -= bytes * WORK_PER_BYTE;
        }
        has
    }

    /// Takes so many bytes, which it must hold, at `now` or as soon as it has them: answers when. Bytes that are taken later than
    /// asked for are taken before those of the next call.
    pub(crate) fn take(&mut self, now: u64, bytes: u64) -> u64 {
        self.fill(now);
        let work = bytes * WORK_PER_BYTE;
        let wait = work.saturating_sub(self.tokens).div_ceil(self.rate.max(1));
        self.at = self.at.saturating_add(wait);
        // Below twice the largest packet's work, as the wait is no longer than it must be.
        self.tokens = self.tokens + self.rate * wait - work;
        self.at
    }

    fn fill(&mut self, now: u64) {
        if now > self.at {
            let filled = u128::from(self.tokens) + u128::from(self.rate) * u128::from(now - self.at);
            (self.tokens, self.at) = (filled.min(u128::from(self.size)) as u64, now);
        }
    }
}
