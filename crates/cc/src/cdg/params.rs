//! CDG's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of CDG. `Default` is the paper.
    pub struct Params {
        g: f64 = 3.0, in 0.01, 1e4, "Hayes and Armitage 2011 (G), no text at hand; FreeBSD cc_cdg(4)", "Scale of the delay gradient in ms: a gradient of so much reduces with a probability of 63 %";
        beta: f64 = 0.7, in 0.01, 1.0, "Hayes and Armitage 2011; FreeBSD cc_cdg(4) (beta_delay)", "Part of the window that a delay gradient leaves";
        beta_loss: f64 = 0.5, in 0.01, 1.0, "Hayes and Armitage 2011; FreeBSD cc_cdg(4) (beta_loss)", "Part of the window that a loss leaves";
        a: u64 = 8, in 1.0, 64.0, "Hayes and Armitage 2011; FreeBSD cc_cdg(4) (smoothing_factor)", "Round trips over which gradients are averaged";
        b: u64 = 5, in 0.0, 1000.0, "Hayes and Armitage 2011; FreeBSD cc_cdg(4) (loss_compete_consec_cong)", "Reductions in a row without an effect, after which as many are left out (loss_compete_hold_backoff); 0: none ever is";
        shadow: bool = true, "Hayes and Armitage 2011; Linux tcp_cdg (use_shadow)", "A loss leaves a part of the window that there would be without reductions for delay";
        tolerance: bool = true, "Hayes and Armitage 2011; Linux tcp_cdg (use_tolerance)", "A loss reduces only where the queue is inferred to be full";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2011": "Hayes and Armitage 2011" => Params::default,
        "linux": "Linux: every loss reduces, and a gradient leaves 724 parts of 1024" => Params::linux,
        "scavenger": "the same as Linux for traffic that yields: no shadow window, every reduction counts" => Params::scavenger,
    }
}

impl Params {
    /// Linux's defaults.
    pub fn linux() -> Params {
        Params { beta: 724.0 / 1024.0, tolerance: false, ..Params::default() }
    }

    /// Linux's advice for traffic that yields.
    pub fn scavenger() -> Params {
        Params { shadow: false, b: 0, ..Params::linux() }
    }
}
