//! Bytes that the last round trip delivered, and whether something was lost in it (section "When not Probing for Bandwidth").

use super::Sample;

/// The latest delivery signals, and the rounds in which losses are counted.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct CongestionSignals {
    /// `BBR.bw_latest`: the largest delivery rate of a round trip, bytes per second.
    pub bw_latest: f64,
    /// `BBR.inflight_latest`: the most delivered in a round trip, bytes.
    pub inflight_latest: f64,
    /// `BBR.is_loss_in_round`.
    pub is_loss_in_round: bool,
    /// `BBR.loss_round_start`: the present acknowledgement ends a round of losses.
    pub loss_round_start: bool,
    loss_round_delivered: u64,
}

impl CongestionSignals {
    /// `UpdateLatestDeliverySignals`; `delivered` is `C.delivered`.
    #[inline]
    pub fn update(&mut self, delivered: u64, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    #[inline]
    pub fn advance(&mut self, sample: &Sample) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample.delivery_rate, sample.delivered);
        }
    }

    /// `ResetCongestionSignals`.
    pub fn reset(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// Of `NoteLoss`: whether the loss is the first of its round, which begins with it.
    pub fn note_loss(&mut self, delivered: u64) -> bool {
        let first = !self.is_loss_in_round;
        if first {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_latest_are_the_largest_of_a_round() {
        let mut signals = CongestionSignals::default();
        let acks = [
            (10.0, 0, true, 10.0),
            (8.0, 500, false, 10.0),
            (9.0, 1000, true, 10.0),
            (7.0, 1500, false, 9.0),
        ];
        for (delivery_rate, prior_delivered, start, latest) in acks {
            let sample = Sample { delivery_rate, delivered: delivery_rate, prior_delivered, ..sample() };
            signals.update(prior_delivered + 1000, &sample);
            assert_eq!((signals.loss_round_start, signals.bw_latest), (start, latest), "{prior_delivered}");
            assert_eq!(signals.inflight_latest, latest);
            signals.advance(&sample);
        }
    }

    #[test]
    fn a_round_of_losses_begins_with_its_first() {
        let mut signals = CongestionSignals::default();
        assert!(signals.note_loss(3000) && !signals.note_loss(4000));
        signals.update(5000, &Sample { prior_delivered: 2999, ..sample() });
        assert!(!signals.loss_round_start, "sent before the loss was known");
        signals.update(6000, &Sample { prior_delivered: 3000, ..sample() });
        assert!(signals.loss_round_start);
        signals.reset();
        assert!(signals.note_loss(7000), "the first anew");
    }
}
