//! Whether anything comes back to a sender.

use crate::NetError;
use crate::record::SILENCE;
use paceline_units::{Time, TimeDelta};
use std::net::SocketAddr;

/// A run that flaps for days does not fill the memory with warnings.
const MOST_WARNINGS: usize = 20;

/// What came back, and what is to be said of it.
#[derive(Debug)]
pub(super) struct Answers {
    /// When the first packet left.
    pub first_sent: Option<Time>,
    /// What the system said of the last packet that it refused to send.
    pub refused: Option<String>,
    pub warnings: Vec<String>,
    last: Option<Time>,
    silent: bool,
    patience: TimeDelta,
}

impl Answers {
    /// Nothing was sent; an answer is waited for as long as `patience`.
    pub fn new(patience: TimeDelta) -> Answers {
        Answers { first_sent: None, refused: None, warnings: Vec::new(), last: None, silent: false, patience }
    }

    /// A report on our packets arrived.
    pub fn heard(&mut self, now: Time) {
        self.end(now);
        (self.last, self.silent) = (Some(now), false);
    }

    /// Whether anything came back.
    pub fn is_answered(&self) -> bool {
        self.last.is_some()
    }

    /// When something came back last, or else when the first packet left.
    pub fn waiting_since(&self) -> Option<Time> {
        self.last.or(self.first_sent)
    }

    /// A silence ends, for whatever reason.
    pub fn end(&mut self, now: Time) {
        if let Some(last) = self.last.filter(|_| self.silent) {
            let (from, span) = (last.as_secs_f64(), (now - last).as_secs_f64());
            self.warnings.push(format!("no feedback from {from:.1} s on, for {span:.1} s"));
        }
    }

    /// An error if nothing has come back at all.
    pub fn any(&mut self, now: Time, address: SocketAddr) -> Result<(), NetError> {
        let Some(first) = self.first_sent.filter(|_| self.last.is_none()) else { return Ok(()) };
        let seconds = now.saturating_since(first).as_secs_f64();
        Err(NetError::NothingAnswered { address, seconds, refused: self.refused.take() })
    }

    /// An error if nothing has come back within the patience.
    pub fn check(&mut self, now: Time, address: SocketAddr) -> Result<(), NetError> {
        if self.first_sent.is_some_and(|first| now.saturating_since(first) >= self.patience) {
            self.any(now, address)?;
        }
        self.silent = self.last.is_some_and(|last| now.saturating_since(last) >= SILENCE)
            && self.warnings.len() < MOST_WARNINGS;
        Ok(())
    }
}
