//! XCP's constants at the sender by name.

use crate::window::AvoidanceParams;
use paceline_units::{Bitrate, params};

params! {
    /// The constants of XCP's sender. The queue `xcp` has those of its routers.
    pub struct Params {
        max_rate: Bitrate = Bitrate::from_mbps(10_000), in 1e3, 1e12, "Katabi, Handley and Rohrs 2002, section 3.2 (r), no text at hand", "The sender's desired rate: routers lead the window to at most this times the smoothed round trip";
        loss_beta: f64 = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "Part of the window that a loss or a mark leaves";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2002": "Katabi, Handley and Rohrs 2002, with Reno's reaction to losses" => Params::default,
    }
}
