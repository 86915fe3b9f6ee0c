//! Veno's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of TCP Veno. `Default` is the paper.
    pub struct Params {
        beta: f64 = 3.0, in 0.0, 1e6, "Fu and Liew 2003, section II-A (beta)", "Packets in the queue from which the path counts as congested";
        congested_increase: f64 = 0.5, in 0.0, 1.0, "Fu and Liew 2003, section II-B (every other acknowledgement)", "Packets in a round trip while the path is congested";
        random_loss: f64 = 0.8, in 0.0, 1.0, "Fu and Liew 2003, section II-C (4/5)", "Part of the window that a loss leaves where the path is not congested";
        congested_loss: f64 = 0.5, in 0.0, 1.0, "Fu and Liew 2003, section II-C", "Part of the window that a loss leaves where it is";
        samples: u64 = 3, in 1.0, 1000.0, "Linux", "Round trips of a round from which the queue is judged; with less the path counts as congested";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2003": "Fu and Liew 2003" => Params::default,
    }
}
