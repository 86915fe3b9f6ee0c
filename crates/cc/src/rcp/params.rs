//! RCP's constants at the sender by name.

use crate::window::AvoidanceParams;
use paceline_units::{Bitrate, params};

params! {
    /// The constants of RCP's sender. The queue `rcp` has those of its routers.
    pub struct Params {
        max_rate: Bitrate = Bitrate::from_mbps(10_000), in 1e3, 1e12, "ours", "Highest rate that the sender takes from routers; ns-2's takes any";
        packets_min: f64 = 0.01, in 1e-6, 1.0, "ns-2's Queue/DropTail/RCP by Zhang and Dukkipati (min_pprtt_)", "Lowest rate that it takes, in packets per smoothed round trip";
        window_gain: f64 = 2.0, in 1.0, 100.0, "ours", "Window, where a router has spoken, in products of its rate and the smoothed round trip; ns-2's sender has none";
        loss_beta: f64 = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "Part of the window that a loss or a mark leaves where no router speaks";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2007": "RCP as ns-2 has it, with Reno's window where no router speaks" => Params::default,
    }
}
