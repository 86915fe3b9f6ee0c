//! Constants of the binomial laws by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of a binomial law. `Default` is SQRT.
    pub struct Params {
        increase_power: f64 = 0.5, in -0.9, 4.0, "Bansal and Balakrishnan 2001 (k)", "Growth in a round trip is alpha over the window to this power";
        decrease_power: f64 = 0.5, in 0.0, 1.0, "Bansal and Balakrishnan 2001 (l)", "A loss takes beta times the window to this power";
        alpha: f64 = 1.0, in 1e-6, 1e6, "Bansal and Balakrishnan 2001 (alpha)", "Factor of the growth";
        beta: f64 = 2.0 / 3.0, in 1e-6, 1e6, "Bansal and Balakrishnan 2001 (beta); alpha over beta is 1.5, as the square root law asks where k + l = 1", "Factor of what a loss takes";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "sqrt": "SQRT: k = l = 1/2" => Params::default,
        "iiad": "IIAD, inverse increase and additive decrease: k = 1, l = 0" => || Params { increase_power: 1.0, decrease_power: 0.0, ..Params::default() },
    }
}
