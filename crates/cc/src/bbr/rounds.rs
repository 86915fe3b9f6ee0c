//! Packet-timed round trips: one is over when a packet is acknowledged that was sent after the last one was over.

/// The count of round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rounds {
    pub count: u64,
    /// Whether the present acknowledgement began one.
    pub start: bool,
    /// The round ends when a packet is acknowledged that was sent after so much was delivered.
    next_delivered: u64,
}

impl Rounds {
    /// An acknowledgement: `delivered` bytes so far, `prior` of them when its newest packet was sent.
    #[inline]
    pub fn on_sample(&mut self, delivered: u64, prior: u64) {
        self.start = prior >= self.next_delivered;
        if self.start {
            self.restart(delivered);
            self.count += 1;
        }
    }

    /// The present round ends with what is sent from now on.
    pub fn restart(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut rounds = Rounds::default();
        rounds.on_sample(1000, 0);
        assert!(rounds.start && rounds.count == 1);
        rounds.on_sample(2000, 999);
        assert!(!rounds.start && rounds.count == 1);
        rounds.on_sample(3000, 1000);
        assert!(rounds.start && rounds.count == 2);
        rounds.restart(5000);
        rounds.on_sample(6000, 4999);
        assert!(!rounds.start && rounds.count == 2);
    }
}
