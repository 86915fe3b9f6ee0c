//! Round trips of a connection, round by round: a round ends when a packet is acknowledged that was sent after it began.

use super::{Ack, Window};

/// Round trips in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rounds {
    /// The first packet of the next round.
    end: u64,
    /// Smallest round trip so far; infinite before the first.
    pub least: f64,
    /// Largest round trip so far; 0 before the first.
    pub most: f64,
    now: Round,
}

/// The round trips of one round, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Round {
    /// Smallest of them; infinite if there was none.
    pub least: f64,
    sum: f64,
    /// How many were measured.
    pub count: u32,
}

impl Round {
    const NEW: Round = Round { least: f64::INFINITY, sum: 0.0, count: 0 };

    /// Mean of the round trips; absent if there was none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl Rounds {
    /// No round trip is known.
    pub const NEW: Rounds = Rounds { end: 0, least: f64::INFINITY, most: 0.0, now: Round::NEW };

    /// Counts an acknowledgement; the answer is the round that it ends.
    #[inline]
    pub fn on_ack(&mut self, window: &Window, ack: &Ack) -> Option<Round> {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64().max(1e-9);
            self.least = self.least.min(rtt);
            self.most = self.most.max(rtt);
            self.now = Round {
                least: self.now.least.min(rtt),
                sum: self.now.sum + rtt,
                count: self.now.count.saturating_add(1),
            };
        }
        (ack.newest >= self.end).then(|| {
            self.end = window.next;
            core::mem::replace(&mut self.now, Round::NEW)
        })
    }

    /// Smallest round trip in ms; absent before the first.
    pub fn least_ms(&self) -> Option<f64> {
        self.least.is_finite().then_some(self.least * 1e3)
    }
}
