//! What a person would plot of SCReAM: names, units and values, each declared once.

use super::Scream;
use crate::{Pacing, StateVariable};
use paceline_units::TimeDelta;

/// The variables, in the order of [`Scream::values`].
pub(super) const VARIABLES: &[StateVariable] = &[
    StateVariable { name: "qdelay_trend", unit: "", help: "Trend of the queue delay, 0 to 1" },
    StateVariable { name: "qdelay_fraction_avg", unit: "", help: "Averaged queue delay over its target" },
    StateVariable { name: "qdelay_target", unit: "ms", help: "Target of the queue delay" },
    StateVariable { name: "in_fast_increase", unit: "", help: "1 in fast increase" },
    StateVariable { name: "post_congestion", unit: "", help: "How far growth is back after congestion" },
    StateVariable { name: "l4s_alpha", unit: "", help: "Averaged part of marked bytes" },
    StateVariable { name: "loss_event_rate", unit: "", help: "Averaged part of round trips with losses" },
    StateVariable { name: "window_use", unit: "", help: "Flight over window before the last report" },
    StateVariable { name: "rate_current", unit: "Mbps", help: "Larger of transmitted and acknowledged rate" },
    StateVariable { name: "rate_media", unit: "Mbps", help: "Measured rate of the encoder" },
    StateVariable {
        name: "target_last_max",
        unit: "Mbps",
        help: "Last known highest target of the first stream; absent before the first",
    },
    StateVariable { name: "target_scale", unit: "", help: "Factor between target and encoder, first stream" },
    StateVariable { name: "pacing_rate", unit: "Mbps", help: "Pacing rate; absent without pacing" },
    StateVariable {
        name: "reorder_window",
        unit: "ms",
        help: "Reordering window of the loss detector, first stream",
    },
];

impl Scream {
    /// The values of [`VARIABLES`] now.
    pub(super) fn values(&self) -> [Option<f64>; VARIABLES.len()] {
        let first = &self.streams[0];
        let pacing = match self.pacing {
            Pacing::Off => None,
            Pacing::Rate(rate) => Some(rate.as_mbps_f64()),
            Pacing::Gap(TimeDelta::ZERO) => None,
            Pacing::Gap(gap) => Some(self.mss.as_bits_f64() / gap.as_secs_f64() / 1e6),
        };
        [
            Some(self.trend.trend()),
            Some(self.trend.average()),
            Some(self.delay_target * 1e3),
            Some(f64::from(u8::from(self.window.in_fast_increase()))),
            Some(self.window.post()),
            self.alpha(),
            Some(self.shares.loss_event_rate()),
            Some(self.window_use()),
            Some(self.current_rate() / 1e6),
            Some(self.media_rate() / 1e6),
            first.media.last_max().map(|rate| rate / 1e6),
            Some(first.media.scale()),
            pacing,
            Some(first.detector.reorder_window().as_millis_f64()),
        ]
    }
}
