//! Whether anything comes back to a sender.

use crate::NetError;
use crate::silence::{Awaited, PlannedSilence, Silences};
use paceline_units::{Time, TimeDelta};
use std::net::SocketAddr;

/// Answers that came back, and messages on them.
#[derive(Debug)]
pub(super) struct Answers {
    /// When the first packet left.
    pub first_sent: Option<Time>,
    /// The system's word on the last packet that it refused to send.
    pub refused: Option<String>,
    silences: Silences,
    /// Messages for people, to be told now.
    said: Vec<String>,
    patience: TimeDelta,
}

impl Answers {
    /// Nothing was sent; an answer is waited for as long as `patience`, and later ones but for what is `planned`.
    pub fn new(patience: TimeDelta, planned: PlannedSilence) -> Answers {
        let silences = Silences::new(Awaited::Feedback, planned);
        Answers { first_sent: None, refused: None, silences, said: Vec::new(), patience }
    }

    /// A report on our packets arrived.
    pub fn heard(&mut self, now: Time) {
        self.said.extend(self.silences.on_heard(now));
    }

    /// Takes the messages for people, to be told now.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Whether anything came back.
    pub fn is_answered(&self) -> bool {
        self.silences.heard().is_some()
    }

    /// The run is over at `now`. Messages on its silences, and of a sender that sent nothing though it had a second for it.
    pub fn finish(&mut self, now: Time) -> Vec<String> {
        let mut said = self.silences.finish(now);
        let had = self.silences.planned().unplanned(Time::ZERO, now);
        if self.first_sent.is_none() && had >= TimeDelta::from_secs(1) {
            said.push(format!("nothing was sent in {:.1} s", now.as_secs_f64()));
        }
        said
    }

    /// An error if nothing has come back at all.
    pub fn any(&mut self, now: Time, address: SocketAddr) -> Result<(), NetError> {
        let Some(first) = self.first_sent.filter(|_| !self.is_answered()) else { return Ok(()) };
        let seconds = now.saturating_since(first).as_secs_f64();
        Err(NetError::NothingAnswered { address, seconds, refused: self.refused.take() })
    }

    /// An error if nothing has come back within the patience.
    pub fn check(&mut self, now: Time, address: SocketAddr) -> Result<(), NetError> {
        if self.first_sent.is_some_and(|first| now.saturating_since(first) >= self.patience) {
            self.any(now, address)?;
        }
        self.said.extend(self.silences.check(now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_nothing_says_so_unless_that_is_the_plan() {
        let at = Time::from_secs_f64;
        let said = |planned: &[(Time, Time)]| {
            let planned = PlannedSilence::from_spans(planned);
            Answers::new(TimeDelta::from_secs(10), planned).finish(at(4.0))
        };
        assert_eq!(said(&[(at(0.0), at(2.5))]), ["nothing was sent in 4.0 s"]);
        assert_eq!(said(&[(at(0.0), at(3.5))]), [""; 0]);
    }
}
