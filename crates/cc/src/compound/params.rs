//! Compound TCP's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of Compound TCP. `Default` is draft-sridharan-tcpm-ctcp-02.
    pub struct Params {
        alpha: f64 = 0.125, in 0.0, 100.0, "draft-sridharan-tcpm-ctcp-02 (alpha), as told", "Growth of the delay window in a round trip: this times the window to the power of k, less a packet";
        k: f64 = 0.75, in 0.0, 1.0, "draft-sridharan-tcpm-ctcp-02 (k), as told", "Power of the window in the growth";
        beta: f64 = 0.5, in 0.0, 1.0, "draft-sridharan-tcpm-ctcp-02 (beta), as told", "Part of the window that a loss takes";
        zeta: f64 = 1.0, in 0.0, 100.0, "draft-sridharan-tcpm-ctcp-02, as told", "Packets that the delay window loses in a round trip for each that waits";
        gamma: f64 = 30.0, in 0.0, 1e6, "draft-sridharan-tcpm-ctcp-02 (gamma), as told", "Packets of its own in the queue from which the delay window shrinks";
        low_window: f64 = 0.0, in 0.0, 1e6, "Tan and others 2006; 41 by a trace of ns-2.35's Linux module", "Window in packets below which the delay window does not grow";
        whole: bool = false, "a trace of ns-2.35's Linux module", "The delay window grows by whole packets in a round trip";
        samples: u64 = 3, in 1.0, 1000.0, "Linux", "Round trips of a round from which the queue is judged";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "draft": "draft-sridharan-tcpm-ctcp-02" => Params::default,
        "linux": "Linux, as traces of ns-2.35 show it: windows of 41 packets or more, growth by whole packets, and losses that leave nine sixteenths" => Params::linux,
    }
}

impl Params {
    /// The Linux module that ns-2.35 carries.
    pub fn linux() -> Params {
        Params { low_window: 41.0, whole: true, beta: 0.4375, ..Params::default() }
    }
}
