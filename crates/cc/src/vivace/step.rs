//! How far the rate goes along the gradient: the amplifier of confidence, the swing buffer and the bound of a change.

use super::Params;

/// Memory of the changes before.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Step {
    /// The change before, Mbit/s; 0 after a restart.
    before: f64,
    /// Changes in this direction that count.
    pub confidence: f64,
    /// Changes that the bound cut.
    pub cut: f64,
    /// Changes in a row that do not count, one for each turn.
    pub swing: u64,
    /// Whether the direction is known: a single pair of trials will do.
    pub trend: bool,
}

impl Step {
    /// Trials contradicted each other.
    pub fn forget(&mut self) {
        (self.before, self.trend) = (0.0, true);
    }

    /// The change of a rate by a gradient, Mbit/s.
    pub fn change(&mut self, params: &Params, gradient: f64, rate: f64) -> f64 {
        let raw = params.theta * gradient;
        let (turned, same) = (raw * self.before < 0.0, raw * self.before > 0.0);
        if turned {
            (self.confidence, self.cut) = (0.0, 0.0);
            self.swing = (self.swing + 1).min(params.swing_most);
            self.trend = false;
        }
        let amplified = raw * amplifier(self.confidence);
        if same {
            self.trend = true;
            match self.swing.checked_sub(1) {
                Some(less) => self.swing = less,
                None => self.confidence += if self.confidence > 3.0 { 0.5 } else { 1.0 },
            }
        }
        let bound = rate * (params.omega + params.omega_step * self.cut);
        let least = (params.change_min.as_bps_f64() * 1e-6).min(bound);
        let size = libm::fabs(amplified);
        self.cut = if turned {
            0.0
        } else if size > bound {
            self.cut + 1.0
        } else {
            (self.cut - 1.0).max(0.0)
        };
        self.before = libm::copysign(size.clamp(least, bound), raw);
        self.before
    }
}

/// Piecewise linear: each further change counts for more.
fn amplifier(confidence: f64) -> f64 {
    let (slope, above) = match confidence {
        few if few < 3.0 => (1.0, -1.0),
        few if few < 6.0 => (2.0, 2.0),
        many if many < 9.0 => (4.0, 14.0),
        _ => (8.0, 50.0),
    };
    slope * confidence - above
}
