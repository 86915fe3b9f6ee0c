//! Parameters of [`states`](super::states()) that were fitted to recordings: where they come from, and the numbers.

use super::{RateState, StatesParams};
use paceline_units::param::{Kind, Parameter, Value};
use paceline_units::{Bitrate, TimeDelta};

/// Parameters under a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The recordings that it was fitted to, and how.
    pub origin: &'static str,
    /// Time between the values of the recordings, in seconds.
    interval_s: f64,
    states: &'static [FittedState],
}

#[derive(Debug)]
struct FittedState {
    name: &'static str,
    mbps: &'static [f64],
    correlation_s: f64,
    dwell_s: f64,
    dwell_shape: f64,
    next: &'static [f64],
}

impl Preset {
    /// The states that were fitted to this preset's recordings, as parameters of the generator.
    pub fn params(&self) -> StatesParams {
        let state = |fitted: &FittedState| RateState {
            name: fitted.name.into(),
            rates: fitted.mbps.iter().map(|mbps| Bitrate::from_bps_f64(mbps * 1e6 + 0.5)).collect(),
            correlation: TimeDelta::from_secs_f64(fitted.correlation_s),
            dwell: TimeDelta::from_secs_f64(fitted.dwell_s),
            dwell_shape: fitted.dwell_shape,
            next: fitted.next.to_vec(),
        };
        StatesParams {
            states: self.states.iter().map(state).collect(),
            ramps: true,
            interval: TimeDelta::from_secs_f64(self.interval_s),
        }
    }
}

/// The name of a preset among parameters. It only says what the others start from: they are what is kept and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PresetName;

impl Parameter for PresetName {
    const KIND: Kind = Kind::Name(&[PRESETS[0].name, PRESETS[1].name]);

    fn to_value(&self) -> Option<Value> {
        None
    }

    fn from_value(_: Value) -> Option<PresetName> {
        Some(PresetName)
    }
}

/// Every preset. `paceline fit` made the numbers, with states from 0, 20, 165 and 700 Mbit/s and means over 1 s; the commands
/// and the distances to the recordings are in `docs/generators.md`.
///
/// Lumos5G: Narayanan et al., "Lumos5G: Mapping and Predicting Commercial mmWave 5G Throughput", IMC 2020; measured on foot
/// and in a car in Minneapolis, data under CC BY 4.0.
pub const PRESETS: [Preset; 2] = [
    Preset {
        name: "lumos5g-walking",
        origin: "Lumos5G runs 5, 49 and 75 on foot, 2399 s; run 114 was left out",
        interval_s: 1.0,
        states: &[
            FittedState {
                name: "blocked",
                mbps: &[
                    0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.889, 2.0, 2.0, 3.0, 3.0, 3.198, 5.0, 5.0, 6.0, 7.0, 8.0,
                    10.0, 12.0, 15.0, 19.0,
                ],
                correlation_s: 0.974,
                dwell_s: 3.351,
                dwell_shape: 0.645,
                next: &[0.0, 0.9138, 0.0862, 0.0],
            },
            FittedState {
                name: "fallback",
                mbps: &[
                    20.0, 31.0, 40.0, 51.0, 64.0, 84.0, 90.0, 94.56, 98.0, 101.7, 104.0, 107.0, 110.0, 113.0,
                    115.0, 117.0, 119.3, 122.0, 124.0, 125.0, 162.0,
                ],
                correlation_s: 1.126,
                dwell_s: 5.407,
                dwell_shape: 0.471,
                next: &[0.3362, 0.0, 0.5431, 0.1207],
            },
            FittedState {
                name: "reflected",
                mbps: &[
                    165.0, 195.0, 228.0, 260.0, 292.8, 330.0, 362.6, 393.7, 420.0, 453.9, 477.0, 495.4,
                    524.1, 546.1, 565.0, 586.0, 616.6, 638.2, 659.6, 679.0, 699.0,
                ],
                correlation_s: 2.757,
                dwell_s: 3.508,
                dwell_shape: 0.597,
                next: &[0.1007, 0.3691, 0.0, 0.5302],
            },
            FittedState {
                name: "los",
                mbps: &[
                    701.0, 745.0, 804.0, 863.7, 917.9, 982.0, 1077.0, 1140.0, 1220.0, 1280.0, 1370.0, 1430.0,
                    1490.0, 1540.0, 1587.0, 1640.0, 1680.0, 1720.0, 1770.0, 1790.0, 1860.0,
                ],
                correlation_s: 7.385,
                dwell_s: 8.266,
                dwell_shape: 0.561,
                next: &[0.0323, 0.0753, 0.8925, 0.0],
            },
        ],
    },
    Preset {
        name: "lumos5g-driving",
        origin: "Lumos5G runs 15 and 22 by car, 500 s; run 42 was left out",
        interval_s: 1.0,
        states: &[
            FittedState {
                name: "blocked",
                mbps: &[
                    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.539, 6.692, 9.0, 10.0, 11.0,
                    12.0, 13.79, 15.39, 18.0, 19.0,
                ],
                correlation_s: 3.605,
                dwell_s: 1.782,
                dwell_shape: 0.965,
                next: &[0.0, 1.0, 0.0, 0.0],
            },
            FittedState {
                name: "fallback",
                mbps: &[
                    20.0, 24.0, 30.59, 40.11, 54.0, 62.0, 79.61, 85.0, 89.0, 93.84, 100.0, 103.0, 105.0,
                    108.0, 111.0, 113.0, 116.0, 119.0, 122.0, 124.0, 154.0,
                ],
                correlation_s: 2.069,
                dwell_s: 5.46,
                dwell_shape: 0.714,
                next: &[0.6327, 0.0, 0.2857, 0.0816],
            },
            FittedState {
                name: "reflected",
                mbps: &[
                    179.0, 202.1, 244.0, 282.9, 308.0, 351.1, 382.0, 385.9, 394.9, 421.2, 469.7, 487.5,
                    511.8, 542.6, 572.1, 608.7, 634.6, 647.1, 663.3, 679.9, 695.0,
                ],
                correlation_s: 3.334,
                dwell_s: 1.794,
                dwell_shape: 0.715,
                next: &[0.0741, 0.5556, 0.0, 0.3704],
            },
            FittedState {
                name: "los",
                mbps: &[
                    701.0, 751.1, 797.0, 817.2, 862.1, 891.6, 941.6, 994.4, 1132.0, 1208.0, 1236.0, 1347.0,
                    1385.0, 1472.0, 1551.0, 1636.0, 1650.0, 1676.0, 1706.0, 1724.0, 1740.0,
                ],
                correlation_s: 4.803,
                dwell_s: 6.621,
                dwell_shape: 0.491,
                next: &[0.0, 0.0, 1.0, 0.0],
            },
        ],
    },
];
