//! H-TCP's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{Stack, TimeDelta, params};

params! {
    /// Every constant of H-TCP. `Default` is Leith and Shorten's.
    pub struct Params {
        delta_l: TimeDelta = TimeDelta::from_secs(1), in 0.0, 1000.0, "Leith and Shorten 2004 (Delta_L)", "Time since the last congestion event up to which it is Reno";
        alpha_linear: f64 = 10.0, in 0.0, 1e6, "Leith and Shorten 2004, eq. for alpha", "Packets in a round trip for each second beyond delta_l";
        alpha_square: f64 = 0.25, in 0.0, 1e6, "Leith and Shorten 2004, eq. for alpha", "Packets in a round trip for the square of these seconds";
        beta_min: f64 = 0.5, in 0.0, 1.0, "Leith and Shorten 2004", "Part of the window that a loss leaves at least";
        beta_max: f64 = 0.8, in 0.0, 1.0, "Leith and Shorten 2004", "Part of the window that a loss leaves at most";
        delta_b: f64 = 0.2, in 0.0, 10.0, "Leith and Shorten 2004 (Delta_B)", "Change of the largest rate, from one congestion event to the next, that takes the least part";
        rtt_scaling: bool = true, "Leith and Shorten 2004, RTT scaling; Linux", "alpha is times the round trip over rtt_reference";
        rtt_reference: TimeDelta = TimeDelta::from_millis(100), in 1e-6, 100.0, "Linux (use_rtt_scale)", "Round trip at which rtt_scaling changes nothing";
        rtt_scaling_max: f64 = 2.0, in 1.0, 1e4, "Linux (scale at least 0.5)", "Largest factor of rtt_scaling; the smallest is a tenth";
        least_rtt: TimeDelta = TimeDelta::from_millis(10), in 0.0, 10.0, "Linux", "Smallest round trip above which round trips say what a loss leaves";
        fade: f64 = 0.95, in 0.0, 1.0, "Linux", "Part of the distance between largest and smallest round trip that is remembered over a congestion event";
        from_recovery: bool = false, "Linux", "The time since a congestion event begins with the end of recovery";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    ordered beta_min <= beta_max;
    profiles {
        "2004": "Leith and Shorten 2004, with scaling by the round trip" => Params::default,
        "linux": "Its clock begins when recovery ends, as in Linux 2.6 and ns-2.35", over Stack::Linux => || Params { from_recovery: true, ..Params::default() },
    }
}
