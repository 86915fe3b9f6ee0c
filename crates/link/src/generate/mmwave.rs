//! A two-state mmWave link: in line of sight, or blocked by a body, a vehicle or a building.
//!
//! Dwell times are exponential. Within a state the rate is an AR(1) process with the state's own distribution; a blockage
//! may be an outage, in which nothing is served. The shape is that of walking measurements of commercial mmWave (Lumos5G:
//! long stretches near a gigabit, falls to the 4G anchor's tens of megabits, some to nothing); the defaults are round
//! numbers in their range, not a fit. What is fitted to those measurements is in [`PRESETS`](super::PRESETS).

use super::whole_intervals;
use crate::trace::{Trace, TraceError};
use paceline_units::{Bitrate, RandomStream, TimeDelta, names};

names! {
    /// How the rates of a state are distributed.
    pub enum Shape {
        /// Normal, cut to what is possible: a link that runs near what its modulation allows.
        Normal = "normal",
        /// Lognormal: many low values, few high ones.
        Lognormal = "lognormal",
    }
}

/// One state of the link.
#[derive(Clone, PartialEq, Debug)]
pub struct StateParams {
    /// Mean rate, before the cut to [`MmwaveParams::rate_max`].
    pub mean: Bitrate,
    /// Standard deviation of the rate.
    pub std: Bitrate,
    /// Distribution of the rate.
    pub shape: Shape,
    /// Time constant of the AR(1) process: the correlation falls to 1/e over it. 0: no correlation.
    pub correlation: TimeDelta,
    /// Mean of the exponential time in this state.
    pub dwell: TimeDelta,
}

/// The parameters of [`mmwave`].
#[derive(Clone, PartialEq, Debug)]
pub struct MmwaveParams {
    /// Line of sight; the trace starts in it.
    pub los: StateParams,
    /// A body or an object stands between phone and base station.
    pub blocked: StateParams,
    /// Probability that a blockage is an outage: rate 0 until it ends.
    pub outage_ratio: f64,
    /// No rate is above this: what the radio can do.
    pub rate_max: Bitrate,
    /// Time between two values; at least 1 ms.
    pub interval: TimeDelta,
}

impl Default for MmwaveParams {
    /// Line of sight: 1.2 Gbit/s ± 300, what four 100 MHz carriers give a walking phone; 8 s, some ten metres of walk.
    /// Blocked: 80 Mbit/s, what is left by reflection or the 4G anchor, heavy-tailed; 3 s, a body or a vehicle passing.
    /// Correlation of 1 s and 0.5 s: fading of a walk is seen over a metre or so. A tenth of the blockages are outages:
    /// the measured traces hold a few percent of zeros. At most 1.86 Gbit/s, the largest value in Lumos5G.
    fn default() -> MmwaveParams {
        MmwaveParams {
            los: StateParams {
                mean: Bitrate::from_mbps(1200),
                std: Bitrate::from_mbps(300),
                shape: Shape::Normal,
                correlation: TimeDelta::from_secs(1),
                dwell: TimeDelta::from_secs(8),
            },
            blocked: StateParams {
                mean: Bitrate::from_mbps(80),
                std: Bitrate::from_mbps(60),
                shape: Shape::Lognormal,
                correlation: TimeDelta::from_millis(500),
                dwell: TimeDelta::from_secs(3),
            },
            outage_ratio: 0.1,
            rate_max: Bitrate::from_mbps(1860),
            interval: TimeDelta::from_millis(100),
        }
    }
}

/// The lowest rate outside an outage: a link that is up serves something.
const FLOOR_BPS: f64 = 1000.0;

impl MmwaveParams {
    /// Checks what [`mmwave`] would refuse.
    pub fn validate(&self) -> Result<(), TraceError> {
        if self.interval < TimeDelta::from_millis(1) {
            return Err(TraceError::whole(self.interval.as_secs_f64(), "interval of at least 0.001 s"));
        }
        if !(0.0..=1.0).contains(&self.outage_ratio) {
            return Err(TraceError::whole(self.outage_ratio, "outage_ratio from 0 to 1"));
        }
        if self.rate_max.as_bps_f64() < FLOOR_BPS || self.rate_max.as_bps() > crate::rate::MAX_RATE {
            return Err(TraceError::whole(self.rate_max.as_mbps_f64(), "rate_max from 1 kbit/s to 1 Pbit/s"));
        }
        for state in [&self.los, &self.blocked] {
            if state.mean == Bitrate::ZERO {
                return Err(TraceError::whole("a mean of 0", "a mean above 0; outage_ratio makes outages"));
            }
            if state.correlation.is_negative() {
                return Err(TraceError::whole(state.correlation.as_secs_f64(), "correlation of 0 s or more"));
            }
            if state.dwell < TimeDelta::from_millis(1) {
                return Err(TraceError::whole(state.dwell.as_secs_f64(), "dwell of at least 0.001 s"));
            }
        }
        Ok(())
    }
}

/// A trace of at least `length`, in whole intervals. Depends on `seed`, `length` and `params` only, and a longer one
/// begins with the shorter one.
///
/// # Errors
/// A parameter out of range, a length of 0 or below, or one of more than 100 million intervals.
pub fn mmwave(seed: u64, length: TimeDelta, params: &MmwaveParams) -> Result<Trace, TraceError> {
    params.validate()?;
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
