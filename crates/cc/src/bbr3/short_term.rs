//! The short-term model: what is safe by the losses of this cycle (section "When not Probing for Bandwidth").

use super::congestion::CongestionSignals;

/// `BBR.bw_shortterm` and `BBR.inflight_shortterm` (`bw_lo` and `inflight_lo` in older texts); infinite without losses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ShortTerm {
    /// Bytes per second.
    pub bw: f64,
    /// Bytes.
    pub inflight: f64,
}

impl ShortTerm {
    /// The values that `ResetShortTermModel` sets.
    pub const UNLIMITED: ShortTerm = ShortTerm { bw: f64::INFINITY, inflight: f64::INFINITY };

    /// `InitLowerBounds` and `LossLowerBounds`, once in a round trip with losses.
    pub fn lower(&mut self, beta: f64, signals: &CongestionSignals, max_bw: f64, cwnd: f64) {
        let bw = if self.bw == f64::INFINITY { max_bw } else { self.bw };
        let inflight = if self.inflight == f64::INFINITY { cwnd } else { self.inflight };
        self.bw = signals.bw_latest.max(beta * bw);
        self.inflight = signals.inflight_latest.max(beta * inflight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_with_losses_takes_down_to_what_is_delivered_but_at_most_three_tenths() {
        let mut model = ShortTerm::UNLIMITED;
        let delivers = |bw_latest, inflight_latest| {
            let mut signals = CongestionSignals::default();
            (signals.bw_latest, signals.inflight_latest) = (bw_latest, inflight_latest);
            signals
        };
        model.lower(0.7, &delivers(95.0, 1900.0), 100.0, 2000.0);
        assert_eq!(
            model,
            ShortTerm { bw: 95.0, inflight: 1900.0 },
            "the delivery, from max_bw and the window"
        );
        model.lower(0.7, &delivers(10.0, 100.0), 100.0, 5000.0);
        assert!((model.bw - 66.5).abs() < 1e-9 && (model.inflight - 1330.0).abs() < 1e-9, "{model:?}");
    }
}
