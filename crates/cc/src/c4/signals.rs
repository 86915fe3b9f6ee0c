//! Losses and marks as signals, and how large they must be (draft-huitema-ccwg-c4-spec-04, Handling of congestion signals).

use super::Params;
use paceline_units::Bitrate;

/// `sensitivity`, 0 to 1, of a nominal rate in bytes per second.
pub(super) fn sensitivity(params: &Params, rate: f64) -> f64 {
    let [low, mid, high] = [params.sensitivity_low, params.sensitivity_mid, params.sensitivity_high]
        .map(|rate: Bitrate| rate.as_bps_f64() / 8.0);
    let at = params.sensitivity_at_mid;
    if rate <= low {
        0.0
    } else if rate < mid {
        at * (rate - low) / (mid - low)
    } else if rate < high {
        at + (1.0 - at) * (rate - mid) / (high - mid)
    } else {
        1.0
    }
}

/// Smoothed ratio of lost packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRate {
    pub rate: f64,
    /// The newest packet that was lost.
    newest: u64,
}

impl LossRate {
    /// A packet was lost; those between it and the loss before were not.
    pub fn on_lost(&mut self, params: &Params, sequence: u64) {
        if sequence > self.newest {
            let between = (sequence - self.newest).min(1000) as f64;
            self.rate *= libm::pow(1.0 - params.loss_gain, between);
            self.rate += params.loss_gain * (1.0 - self.rate);
            self.newest = sequence;
        }
    }
}

/// Smoothed ratio of marked bytes (`ecn_alpha`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkRatio {
    pub ratio: f64,
    marked: f64,
    delivered: f64,
}

impl MarkRatio {
    pub fn count(&mut self, marked: u64, delivered: u64) {
        self.marked += marked as f64;
        self.delivered += delivered as f64;
    }

    /// Marks and deliveries since the last update move the ratio.
    pub fn update(&mut self, params: &Params) {
        if self.delivered > 0.0 {
            let now = self.marked / self.delivered;
            let jumps = now > self.ratio && now >= params.ce_jump;
            self.ratio = if jumps { now } else { self.ratio + params.ce_gain * (now - self.ratio) };
        }
        (self.marked, self.delivered) = (0.0, 0.0);
    }
}
