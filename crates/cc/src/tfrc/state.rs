//! What a person would plot of TFRC: names, units and values, each declared once.

use super::Tfrc;
use crate::StateVariable;

/// The variables, in the order of [`Tfrc::values`].
pub(super) const VARIABLES: &[StateVariable] = &[
    StateVariable { name: "x", unit: "Mbps", help: "X, the allowed rate" },
    StateVariable { name: "x_inst", unit: "Mbps", help: "X_inst, the rate at which packets are spaced" },
    StateVariable {
        name: "x_bps",
        unit: "Mbps",
        help: "The throughput equation's rate; absent before a loss",
    },
    StateVariable {
        name: "x_recv",
        unit: "Mbps",
        help: "The largest recent rate that the receiver told; absent before it limits",
    },
    StateVariable { name: "loss_event_rate", unit: "", help: "p, as the receiver told it" },
    StateVariable { name: "segment_size", unit: "B", help: "s, the mean packet, header in" },
];

impl Tfrc {
    /// The values of [`VARIABLES`] now.
    pub(super) fn values(&self) -> [Option<f64>; VARIABLES.len()] {
        let mbps = |rate: f64| rate * 8.0 / 1e6;
        [
            Some(mbps(self.x)),
            Some(mbps(self.x_inst())),
            self.x_bps.map(mbps),
            Some(self.limit.max()).filter(|rate| rate.is_finite()).map(mbps),
            Some(self.p),
            Some(self.segment.bytes()),
        ]
    }
}
