//! Whether the bottleneck's queue is a Classic AQM's, by how round trips vary and how far they lie above the least: passive
//! detection (Briscoe and Ahmed 2019, "TCP Prague Fall-back on Detection of a Classic ECN AQM"; RFC 9331 section 4.3).

use super::Params;
use crate::window::{Ack, Window};
use libm::{log2, pow};

/// The evidence of round trips, round by round.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicAqm {
    /// Smoothed round trip, its mean deviation and the least, in seconds.
    smoothed: f64,
    deviation: f64,
    least: f64,
    /// Weight of a sample in the first.
    gain: f64,
    /// Below the stickiness the queue is L4S's, above it by 1 a Classic one for certain.
    pub score: f64,
}

/// Packets in the window before anything reduced it, for the gain: as slow as it gets.
const LARGEST: f64 = 4096.0;
/// No deviation is smaller, in seconds: the logarithm has an end.
const LEAST_DEVIATION: f64 = 1e-6;

impl ClassicAqm {
    pub fn new() -> ClassicAqm {
        ClassicAqm {
            smoothed: 0.0,
            deviation: LEAST_DEVIATION,
            least: f64::INFINITY,
            gain: gain(LARGEST),
            score: 0.0,
        }
    }

    /// A round trip without the delay of acknowledgements.
    pub fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        self.least = self.least.min(rtt);
        if self.smoothed == 0.0 {
            self.smoothed = rtt;
            return;
        }
        let error = rtt - self.smoothed;
        self.smoothed += self.gain * error;
        // Half the gain: the deviation of the mean from itself is seen through.
        self.deviation += self.gain / 2.0 * (libm::fabs(error) - self.deviation);
    }

    /// The window was reduced: averages last for some cycles of its saw.
    pub fn adapt(&mut self, window: &Window) {
        self.gain = gain(window.packets().clamp(1.0, LARGEST));
    }

    /// A round with marks behind it is over: the score moves by `V lg(v / V0) + D lg(max(d / D0, 1))`.
    pub fn judge(&mut self, params: &Params) {
        if self.smoothed == 0.0 {
            return;
        }
        let (v0, d0) = (params.classic_v0.as_secs_f64(), params.classic_d0.as_secs_f64());
        let depth = self.smoothed - self.least;
        let variation = params.classic_v * log2(self.deviation.max(LEAST_DEVIATION) / v0);
        let deep = params.classic_d * log2((depth / d0).max(1.0));
        let most = 2.0 * params.classic_stickiness + 1.0;
        self.score = (self.score + variation + deep).clamp(0.0, most);
    }

    /// How certain it is that the queue is a Classic one, 0 to 1.
    pub fn certainty(&self, params: &Params) -> f64 {
        (self.score - params.classic_stickiness).clamp(0.0, 1.0)
    }
}

/// The gain for windows of so many packets.
fn gain(packets: f64) -> f64 {
    0.5 / pow(packets, 1.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each doubling of the deviation above V0 is half a point in a round, each of the depth above D0 another half.
    #[test]
    fn the_score_moves_by_logarithms_and_has_bounds() {
        let params = Params::default();
        let mut nothing = ClassicAqm::new();
        nothing.judge(&params);
        assert_eq!(nothing.score, 0.0, "before there is a round trip nothing is known");
        let moved = |score: f64, deviation: f64, depth: f64| {
            let mut aqm = ClassicAqm { smoothed: 0.02 + depth, deviation, least: 0.02, gain: 0.0, score };
            aqm.judge(&params);
            aqm.score - score
        };
        for (deviation, depth, expected) in [
            (0.00075, 0.0, 0.0),
            (0.0015, 0.0, 0.5),
            (0.000375, 0.0, -0.5),
            (0.00075, 0.001, 0.0),
            (0.00075, 0.008, 1.0),
            (0.0015, 0.004, 1.0),
        ] {
            let moved = moved(5.0, deviation, depth);
            assert!((moved - expected).abs() < 1e-9, "{deviation} {depth}: {moved}");
        }
        assert_eq!(moved(16.9, 1.0, 1.0), 17.0 - 16.9);
        assert_eq!(moved(0.1, 0.0, 0.0), -0.1);
        let certainty = |score| ClassicAqm { score, ..nothing }.certainty(&params);
        assert_eq!([0.0, 8.0, 8.5, 9.0, 17.0].map(certainty), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }
}
