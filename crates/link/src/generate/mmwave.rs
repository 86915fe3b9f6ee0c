//! A two-state mmWave link: in line of sight, or blocked by a body, a vehicle or a building.
//!
//! Dwell times are exponential. Within a state the rate is an AR(1) process with the state's own distribution; a blockage
//! may be an outage, in which nothing is served. The shape is that of walking measurements of commercial mmWave (Lumos5G:
//! long stretches near a gigabit, falls to the 4G anchor's tens of megabits, some to nothing); the defaults are round
//! numbers in their range, not a fit. Values fitted to those measurements are in [`PRESETS`](super::PRESETS).

use super::whole_intervals;
use crate::trace::{Trace, TraceError};
use paceline_units::param::ParamSet as _;
use paceline_units::{Bitrate, RandomStream, TimeDelta, names, params};

names! {
    /// How the rates of a state are distributed.
    pub enum Shape {
        /// Normal, cut to what is possible: a link that runs near what its modulation allows.
        Normal = "normal",
        /// Lognormal: many low values, few high ones.
        Lognormal = "lognormal",
    }
}

params! {
    /// One state of the link.
    pub struct StateParams {
        mean: Bitrate = Bitrate::from_mbps(1200), in 1.0, MAX_RATE, "Lumos5G", "Mean rate, before the cut to the highest";
        std: Bitrate = Bitrate::from_mbps(300), in 0.0, MAX_RATE, "Lumos5G", "Standard deviation of the rate";
        shape: Shape = Shape::Normal, "ours", "Distribution of the rate";
        correlation: TimeDelta = TimeDelta::from_secs(1), in 0.0, 1e6, "ours", "Correlation falls to 1/e over it; 0: no correlation";
        dwell: TimeDelta = TimeDelta::from_secs(8), in 1e-3, 1e6, "ours", "Mean of the exponential time in the state";
    }
}

/// The lowest rate outside an outage, in bit/s: a link that is up serves something.
const FLOOR_BPS: f64 = 1000.0;
/// The highest rate of a trace, in bit/s.
const MAX_RATE: f64 = crate::trace::MAX_RATE as f64;

/// Blocked: 80 Mbit/s, what is left by reflection or the 4G anchor, heavy-tailed; 3 s, a body or a vehicle passing.
const BLOCKED: StateParams = StateParams {
    mean: Bitrate::from_mbps(80),
    std: Bitrate::from_mbps(60),
    shape: Shape::Lognormal,
    correlation: TimeDelta::from_millis(500),
    dwell: TimeDelta::from_secs(3),
};

params! {
    /// The parameters of [`mmwave`].
    ///
    /// Line of sight: 1.2 Gbit/s ± 300, what four 100 MHz carriers give a walking phone; 8 s, some ten metres of walk.
    /// Correlation of 1 s, blocked 0.5 s: fading of a walk is seen over a metre or so. A tenth of the blockages are outages:
    /// the measured traces hold a few percent of zeros. At most 1.86 Gbit/s, the largest value in Lumos5G.
    pub struct MmwaveParams {
        los: StateParams = StateParams::default(), else "1.2Gbps, 300Mbps, normal, 1s, 8s", "", "In line of sight, where the trace starts";
        blocked: StateParams = BLOCKED, else "80Mbps, 60Mbps, lognormal, 500ms, 3s", "", "Blocked by a body or an object";
        outage_ratio: f64 = 0.1, in 0.0, 1.0, "ours", "Part of the blockages in which nothing is served";
        rate_max: Bitrate = Bitrate::from_mbps(1860), in FLOOR_BPS, MAX_RATE, "Lumos5G", "No rate is above this";
        interval: TimeDelta = TimeDelta::from_millis(100), in 1e-3, 1e6, "ours", "Time between two values; of preset and states 1s";
    }
}

/// A trace of at least `length`, in whole intervals. Depends on `seed`, `length` and `params` only, and a longer one
/// begins with the shorter one.
///
/// # Errors
/// A parameter out of range, a length of 0 or below, or one of more than 100 million intervals.
pub fn mmwave(seed: u64, length: TimeDelta, params: &MmwaveParams) -> Result<Trace, TraceError> {
    params.check()?;
    let interval = params.interval.as_nanos();
    let values = whole_intervals(length, params.interval)?;
    let mut states = TwoStates::new(seed, params);
    Trace::from_segments((0..values).map(|index| (params.interval, states.rate_at(index * interval))))
}

struct TwoStates<'a> {
    params: &'a MmwaveParams,
    // One stream for the states and one for the rates: a changed rate model keeps the blockages in place.
    dwells: RandomStream,
    rates: RandomStream,
    blocked: bool,
    outage: bool,
    /// When the present state ends, in nanoseconds.
    until: i64,
    /// AR(1) state, standard normal.
    fading: f64,
}

impl<'a> TwoStates<'a> {
    fn new(seed: u64, params: &'a MmwaveParams) -> TwoStates<'a> {
        let dwells = RandomStream::new(seed, "generate.mmwave.dwell");
        let mut rates = RandomStream::new(seed, "generate.mmwave.rate");
        let fading = rates.normal();
        let mut states = TwoStates { params, dwells, rates, blocked: false, outage: false, until: 0, fading };
        states.until = states.draw_dwell();
        states
    }

    fn state(&self) -> &'a StateParams {
        if self.blocked { &self.params.blocked } else { &self.params.los }
    }

    fn draw_dwell(&mut self) -> i64 {
        let mean = self.state().dwell.as_nanos() as f64;
        // A state lasts a microsecond at least, so that walking through the states ends.
        (self.dwells.exponential(mean) as i64).max(1000)
    }

    /// The rate at `now`; the calls are one interval apart.
    fn rate_at(&mut self, now: i64) -> Bitrate {
        while now >= self.until {
            self.blocked = !self.blocked;
            self.outage = self.blocked && self.dwells.chance(self.params.outage_ratio);
            self.until = self.until.saturating_add(self.draw_dwell());
        }
        let state = self.state();
        let rho = match state.correlation {
            TimeDelta::ZERO => 0.0,
            span => libm::exp(-self.params.interval.as_secs_f64() / span.as_secs_f64()),
        };
        self.fading = rho * self.fading + libm::sqrt(1.0 - rho * rho) * self.rates.normal();
        if self.outage { Bitrate::ZERO } else { rate_of(state, self.fading, self.params.rate_max) }
    }
}

fn rate_of(state: &StateParams, fading: f64, max: Bitrate) -> Bitrate {
    let (mean, std) = (state.mean.as_bps_f64(), state.std.as_bps_f64());
    let rate = match state.shape {
        Shape::Normal => mean + std * fading,
        Shape::Lognormal => {
            let variance = libm::log1p((std / mean) * (std / mean));
            libm::exp(libm::log(mean) - variance / 2.0 + libm::sqrt(variance) * fading)
        }
    };
    Bitrate::from_bps_f64(rate.clamp(FLOOR_BPS, max.as_bps_f64()))
}
