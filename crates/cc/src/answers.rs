//! The answers of a controller in force, for programs that ask for them instead of reading each update.

use crate::{Allowance, Discard, Pacing, Probe, ReceiverRequest, StreamId, Update};

/// A controller's answers so far: what holds until it is said anew, and what is still to be done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answers {
    /// Bytes or packets that may be sent.
    pub allowance: Allowance,
    /// How packets are spaced.
    pub pacing: Pacing,
    /// Stream whose packet goes next; absent where the controller has not said.
    pub next_stream: Option<StreamId>,
    /// The latest discard that was asked for and not yet taken.
    pub discard: Option<Discard>,
    /// The latest probe that was asked for and not yet taken.
    pub probe: Option<Probe>,
    /// The latest request to the receiver that was not yet taken.
    pub receiver: Option<ReceiverRequest>,
}

impl Answers {
    /// The state before a controller has answered.
    pub const fn new() -> Answers {
        Answers {
            allowance: Allowance::Unlimited,
            pacing: Pacing::Off,
            next_stream: None,
            discard: None,
            probe: None,
            receiver: None,
        }
    }

    /// Takes what an update changed.
    #[inline]
    pub fn take(&mut self, update: Update) {
        *self = Answers {
            allowance: update.allowance.unwrap_or(self.allowance),
            pacing: update.pacing.unwrap_or(self.pacing),
            next_stream: update.next_stream.or(self.next_stream),
            discard: update.discard.or(self.discard),
            probe: update.probe.or(self.probe),
            receiver: update.receiver.or(self.receiver),
        };
    }
}

impl Default for Answers {
    fn default() -> Answers {
        Answers::new()
    }
}
