//! FAST TCP's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{TimeDelta, params};

params! {
    /// Every constant of FAST TCP. `Default` is the paper with a queue that suits 10 to 100 Mbit/s.
    pub struct Params {
        alpha: f64 = 20.0, in 0.1, 1e6, "Jin, Wei and Low 2004, section IV-B (alpha), no text at hand", "Packets of its own that it keeps in the queue";
        gamma: f64 = 0.5, in 1e-3, 1.0, "Jin, Wei and Low 2004, section IV-B (gamma), no text at hand", "Part of the way to the target that the window goes in a round trip";
        most: f64 = 2.0, in 1.0, 100.0, "Jin, Wei and Low 2004, section IV-B (2w), no text at hand", "The window grows to at most this many windows in a round trip";
        rtt_weight: f64 = 0.25, in 1e-3, 1.0, "Jin, Wei and Low 2004, section IV-A, no text at hand", "Largest weight of a round trip in the mean";
        rtt_packets: f64 = 3.0, in 1.0, 1e6, "Jin, Wei and Low 2004, section IV-A, no text at hand", "Of larger windows the weight is this over the window";
        mi_threshold: TimeDelta = TimeDelta::from_micros(750), in 0.0, 10.0, "ours; the paper's zero", "Mean queue delay that ends slow start";
        loss_beta: f64 = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "Part of the window that a loss or a mark leaves";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2004": "Jin, Wei and Low 2004 with 20 packets in the queue" => Params::default,
        "gigabit": "the same with 200 packets, for 1 Gbit/s" => Params::gigabit,
    }
}

impl Params {
    /// FAST TCP for links of 1 Gbit/s.
    pub fn gigabit() -> Params {
        Params { alpha: 200.0, ..Params::default() }
    }
}
