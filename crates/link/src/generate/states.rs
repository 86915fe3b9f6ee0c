//! A link of several states that take turns, such as blocked, reflected and line of sight: a semi-Markov chain.
//!
//! A state lasts a Weibull time, rounded up to whole intervals, and the next one is drawn by weights. Within a state the
//! rate has any distribution, given by its quantiles; a Gaussian AR(1) process, carried over from state to state, says where
//! in the distribution it is. With `ramps` that process is bent so that a stay begins and ends on the side of the states before
//! and after it: a rate on its way up enters a state from below. With a shape of 1 the Weibull time is exponential; below 1 there are more short and more
//! long stays, as recordings of mmWave links have them.

use super::whole_intervals;
use crate::normal::normal_probability;
use crate::trace::{Trace, TraceError};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::{Bitrate, RandomStream, TimeDelta};

/// One state of [`StatesParams`].
#[derive(Clone, PartialEq, Debug)]
pub struct RateState {
    /// Its name, without a meaning to the generator.
    pub name: String,
    /// Quantiles of the rate at even steps of probability, the first of them its minimum and the last its maximum; linear
    /// in between. A single one: always that. 0 is an outage.
    pub rates: Vec<Bitrate>,
    /// Time constant of the AR(1) process: the correlation falls to 1/e over it. 0: no correlation.
    pub correlation: TimeDelta,
    /// Mean of the Weibull time in this state, before it is rounded up to whole intervals.
    pub dwell: TimeDelta,
    /// Shape of the Weibull time; 1: exponential.
    pub dwell_shape: f64,
    /// Weight of each state as the next one, in their order; 0 for this state.
    pub next: Vec<f64>,
}

/// The parameters of [`states`].
#[derive(Clone, PartialEq, Debug)]
pub struct StatesParams {
    /// The states, at least two; with `ramps` by rising rate.
    pub states: Vec<RateState>,
    /// Whether a stay begins in the lower half of its state's probability after a state further up in the list, ends there
    /// before one, and in the upper half likewise: without, rates jump where the state changes. `rates` are then no longer
    /// quantiles, but what stands where a normal distribution has them: a state that is entered from one side only is more
    /// often on that side.
    pub ramps: bool,
    /// Time between two values; at least 1 ms.
    pub interval: TimeDelta,
}

/// The most states, and the most quantiles of one.
const MOST: usize = 1001;
/// Steps towards the share of time of each state; a chain of few states has long settled.
const SETTLING_STEPS: usize = 1000;

impl StatesParams {
    /// Checks what [`states`] would refuse.
    pub fn validate(&self) -> Result<(), TraceError> {
        if self.interval < TimeDelta::from_millis(1) {
            return Err(TraceError::whole(self.interval.as_secs_f64(), "interval of at least 0.001 s"));
        }
        if !(2..=MOST).contains(&self.states.len()) {
            return Err(TraceError::whole(format!("{} states", self.states.len()), "from 2 to 1001 states"));
        }
        for (index, state) in self.states.iter().enumerate() {
            state.validate(index, self.states.len())?;
        }
        if self.states.iter().all(|state| state.highest() == Bitrate::ZERO) {
            return Err(TraceError::whole("only rates of 0", "some rate above 0"));
        }
        Ok(())
    }

    /// The part of the time spent in each state in the long run, dwell times not rounded.
    fn shares(&self) -> Vec<f64> {
        let count = self.states.len();
        let mut visits = vec![1.0 / count as f64; count];
        for _ in 0..SETTLING_STEPS {
            // Half of the weight stays, so that two states that take turns settle as well.
            let mut next: Vec<f64> = visits.iter().map(|visit| 0.5 * visit).collect();
            for (visit, state) in visits.iter().zip(&self.states) {
                let total: f64 = state.next.iter().sum();
                for (into, weight) in next.iter_mut().zip(&state.next) {
                    *into += 0.5 * visit * weight / total;
                }
            }
            visits = next;
        }
        visits.iter().zip(&self.states).map(|(visit, state)| visit * state.dwell.as_secs_f64()).collect()
    }
}

impl RateState {
    fn validate(&self, index: usize, count: usize) -> Result<(), TraceError> {
        if !(1..=MOST).contains(&self.rates.len()) {
            return Err(TraceError::whole(format!("{} rates", self.rates.len()), "from 1 to 1001 rates"));
        }
        if let Some(pair) = self.rates.windows(2).find(|pair| pair[0] > pair[1]) {
            let found = format!("{} Mbit/s before {}", pair[0].as_mbps_f64(), pair[1].as_mbps_f64());
            return Err(TraceError::whole(found, "rates that do not fall: the quantiles of the state"));
        }
        if self.highest().as_bps() > crate::trace::MAX_RATE {
            return Err(TraceError::whole(self.highest().as_mbps_f64(), "rates of at most 1 Pbit/s"));
        }
        if self.correlation.is_negative() {
            return Err(TraceError::whole(self.correlation.as_secs_f64(), "correlation of 0 s or more"));
        }
        if self.dwell < TimeDelta::from_millis(1) {
            return Err(TraceError::whole(self.dwell.as_secs_f64(), "dwell of at least 0.001 s"));
        }
        if !(0.1..=10.0).contains(&self.dwell_shape) {
            return Err(TraceError::whole(self.dwell_shape, "dwell_shape from 0.1 to 10"));
        }
        let is_weight = |weight: &f64| (0.0..=1e9).contains(weight);
        let leaves = self.next.iter().sum::<f64>() > 0.0 && self.next.get(index) == Some(&0.0);
        if self.next.len() != count || !self.next.iter().all(is_weight) || !leaves {
            return Err(TraceError::whole(
                format!("next = {:?}", self.next),
                "a weight from 0 to 1e9 for each other state, not all 0",
            ));
        }
        Ok(())
    }

    fn highest(&self) -> Bitrate {
        self.rates.last().copied().unwrap_or_default()
    }

    /// The rate that the part `probability` of the state's time does not exceed.
    fn quantile(&self, probability: f64) -> Bitrate {
        let place = probability * (self.rates.len() - 1) as f64;
        let below = place as usize;
        let (low, high) = (self.rates[below], *self.rates.get(below + 1).unwrap_or(&self.rates[below]));
        let (low, high) = (low.as_bps_f64(), high.as_bps_f64());
        Bitrate::from_bps_f64(low + (high - low) * (place - below as f64))
    }
}

/// A trace of at least `length`, in whole intervals. Depends on `seed`, `length` and `params` only, and a longer one
/// begins with the shorter one. It begins in a state drawn by their shares of time.
///
/// # Errors
/// A parameter out of range, a length of 0 or below, or one of more than 100 million intervals.
pub fn states(seed: u64, length: TimeDelta, params: &StatesParams) -> Result<Trace, TraceError> {
    params.validate()?;
    let values = whole_intervals(length, params.interval)?;
    let mut chain = Chain::new(seed, params);
    Trace::from_segments((0..values).map(|_| (params.interval, chain.next_rate())))
}

struct Chain<'a> {
    params: &'a StatesParams,
    // One stream for the states and one for the rates: a changed rate keeps the blockages in place.
    dwells: RandomStream,
    rates: RandomStream,
    state: usize,
    next: usize,
    /// Intervals left in the present state.
    left: u64,
    /// AR(1) state, standard normal.
    fading: f64,
    /// Where `fading` is in the last interval of the present state; none: wherever it comes to.
    end: Option<f64>,
}

impl<'a> Chain<'a> {
    fn new(seed: u64, params: &'a StatesParams) -> Chain<'a> {
        let mut dwells = RandomStream::new(seed, "generate.states.dwell");
        let rates = RandomStream::new(seed, "generate.states.rate");
        let state = draw(&mut dwells, &params.shares());
        let mut chain = Chain { params, dwells, rates, state, next: state, left: 0, fading: 0.0, end: None };
        chain.fading = chain.rates.normal();
        chain.draw_stay();
        chain.end = chain.ramp(chain.next);
        chain
    }

    /// How long the present state lasts, and what comes then.
    fn draw_stay(&mut self) {
        let state = &self.params.states[self.state];
        let inverse = 1.0 / state.dwell_shape;
        let scale = state.dwell.as_secs_f64() / libm::tgamma(1.0 + inverse);
        let dwell = scale * libm::pow(self.dwells.exponential(1.0), inverse);
        self.left = libm::ceil(dwell / self.params.interval.as_secs_f64()).max(1.0) as u64;
        self.next = draw(&mut self.dwells, &state.next);
    }

    /// A place on the side of the present state that `other` is on; none without ramps.
    fn ramp(&mut self, other: usize) -> Option<f64> {
        let place = libm::fabs(self.rates.normal());
        self.params.ramps.then_some(if other < self.state { -place } else { place })
    }

    fn change(&mut self) {
        let before = self.state;
        self.state = self.next;
        self.draw_stay();
        let begin = self.ramp(before);
        self.end = self.ramp(self.next);
        self.fading = match (begin, self.end) {
            // A single value cannot begin and end on two sides: it is anywhere.
            (Some(begin), Some(end)) if self.left == 1 && begin * end < 0.0 => self.rates.normal(),
            (Some(begin), _) => begin,
            (None, _) => self.step(),
        };
    }

    /// The next value of the AR(1) process, on its way to `end` if there is one: `left` steps away, this one counted.
    fn step(&mut self) -> f64 {
        let rho = match self.params.states[self.state].correlation {
            TimeDelta::ZERO => 0.0,
            span => libm::exp(-self.params.interval.as_secs_f64() / span.as_secs_f64()),
        };
        let noise = self.rates.normal();
        let Some(end) = self.end else {
            return rho * self.fading + libm::sqrt(1.0 - rho * rho) * noise;
        };
        if self.left <= 1 {
            return end;
        }
        // An AR(1) bridge: normal, given the value before and the one at the end.
        let beyond = libm::pow(rho, (self.left - 1) as f64);
        let (free, bound, whole) =
            (1.0 - beyond * beyond, 1.0 - rho * rho, 1.0 - beyond * beyond * rho * rho);
        let mean = (rho * free * self.fading + beyond * bound * end) / whole;
        mean + libm::sqrt(bound * free / whole) * noise
    }

    fn next_rate(&mut self) -> Bitrate {
        let rate = self.params.states[self.state].quantile(normal_probability(self.fading));
        self.left -= 1;
        if self.left == 0 {
            self.change();
        } else {
            self.fading = self.step();
        }
        rate
    }
}

/// An index, by weight.
fn draw(random: &mut RandomStream, weights: &[f64]) -> usize {
    let mut left = random.uniform() * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a little of the last one.
    chosen.unwrap_or_else(|| weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0))
}
