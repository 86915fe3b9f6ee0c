//! How fast a link serves, as a scenario says it.

use paceline_link::generate::{MmwaveParams, PresetName, RateState, StatesParams};
use paceline_link::trace::TraceOptions;
use paceline_units::param::{self, FileName, Kind, ParamError, Parameter, Reason, Value};
use paceline_units::{Bitrate, TimeDelta, params};

/// How fast a link serves.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per link, never moved in the packet path")]
pub enum RateSpec {
    /// One rate for ever.
    Constant(Bitrate),
    /// Each holds from its time on, a trace from its own start; the first time is 0. Steps do not nest.
    Steps(Vec<(TimeDelta, RateSpec)>),
    /// Rates at times, the first at 0: between two of them it changes evenly.
    Ramp(Vec<(TimeDelta, Bitrate)>),
    /// A recording in a file.
    Trace(TraceSpec),
    /// The mmWave generator.
    Mmwave(MmwaveSpec),
}

impl RateSpec {
    /// Whether it starts over at its end, for ever.
    pub fn repeats(&self) -> bool {
        match self {
            RateSpec::Trace(trace) => trace.played.repeat,
            RateSpec::Mmwave(mmwave) => mmwave.played.repeat,
            RateSpec::Constant(_) | RateSpec::Steps(_) | RateSpec::Ramp(_) => false,
        }
    }

    /// The traces that it names.
    pub(crate) fn traces_mut(&mut self) -> Vec<&mut TraceSpec> {
        match self {
            RateSpec::Trace(trace) => vec![trace],
            RateSpec::Steps(steps) => steps.iter_mut().flat_map(|(_, rate)| rate.traces_mut()).collect(),
            RateSpec::Constant(_) | RateSpec::Ramp(_) | RateSpec::Mmwave(_) => Vec::new(),
        }
    }
}

params! {
    /// How a trace is played.
    #[derive(Copy)]
    pub struct Played {
        scale: f64 = 1.0, in f64::MIN_POSITIVE, 1e9, "", "Every rate is multiplied by this; other than 1 it stands in for the unit that a header names";
        repeat: bool = false, "", "Start over at the end; else the last value holds";
    }
}

params! {
    /// A recorded rate.
    pub struct TraceSpec {
        file("trace"): FileName = FileName::default(), as Required, where no ["steps", "generator"], "", "The recording";
        offset: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "Where in the trace the run starts";
        zero: Option<Bitrate> = None, else "nothing is served there", in 1.0, f64::INFINITY, "", "Replaces every rate of 0 in the file, before `scale`: for recordings whose zeros are gaps and not outages";
    }
    /// How the file is read.
    with options: TraceOptions;
    /// How the recording is played.
    with played: Played;
}

params! {
    /// A generated mmWave rate: line of sight and blockage in turns, or states of any number.
    pub struct MmwaveSpec {
        length: Option<TimeDelta> = None, else "as long as the scenario", in 1e-9, 1e6, "", "How long the trace is";
        seed: Option<u64> = None, else "the run's, by the link's name", in 0.0, f64::INFINITY, "", "Seed of the draws";
        preset: Option<PresetName> = None, where no ["states"], else "los and blocked", "docs/generators.md", "States fitted to recordings, with an interval of 1 s; excludes los, blocked, outage_ratio and rate_max";
        states: States = States::default(), where no ["preset"], else "los and blocked", "docs/generators.md", "States of one's own, such as `paceline fit` prints, with an interval of 1 s; excludes the same";
        ramps: bool = false, else "true for a preset, else false", "docs/generators.md", "With preset or states: a stay begins and ends towards the states before and after it";
    }
    /// The model of two states, and the interval of either model.
    with two_states: MmwaveParams;
    /// How the trace is played.
    with played: Played;
    idle of_the_other_model;
    check states_fit;
}

fn of_the_other_model(spec: &MmwaveSpec, name: &str) -> Option<Reason> {
    let has_states = !spec.states.0.is_empty();
    match name {
        "ramps" if !has_states => Some(Reason::Useless("nothing: `ramps` goes with states".into())),
        "los" | "blocked" | "outage_ratio" | "rate_max" if has_states => {
            let key = if spec.preset.is_some() { "preset" } else { "states" };
            let expected = format!("nothing: los, blocked, outage_ratio and rate_max do not go with `{key}`");
            Some(Reason::Useless(expected.into()))
        }
        _ => None,
    }
}

fn states_fit(spec: &MmwaveSpec) -> Result<(), ParamError> {
    let Some(states) = spec.states() else { return Ok(()) };
    states.validate().map_err(|error| ParamError::new("", error.found, error.expected))
}

impl MmwaveSpec {
    /// The states of a preset or of the scenario's own, if it is drawn from such.
    pub(crate) fn states(&self) -> Option<StatesParams> {
        let states = self.states.0.clone();
        let (ramps, interval) = (self.ramps, self.two_states.interval);
        (!states.is_empty()).then_some(StatesParams { states, ramps, interval })
    }
}

/// The states of a generated rate; none: line of sight and blockage.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct States(pub Vec<RateState>);

impl Parameter for States {
    const KIND: Kind = Kind::Other("list of { name, rates, correlation, dwell, dwell_shape, next }");

    fn to_value(&self) -> Option<Value> {
        let state = |state: &RateState| {
            let weights = self.0.iter().zip(&state.next).filter(|(_, weight)| **weight > 0.0);
            let next = weights.map(|(to, weight)| (to.name.clone(), Value::Ratio(*weight)));
            param::table([
                ("name", Value::Text(state.name.clone())),
                ("rates", Value::List(state.rates.iter().map(|rate| Value::Rate(*rate)).collect())),
                ("correlation", Value::Time(state.correlation)),
                ("dwell", Value::Time(state.dwell)),
                ("dwell_shape", Value::Ratio(state.dwell_shape)),
                ("next", param::table(next)),
            ])
        };
        (!self.0.is_empty()).then(|| Value::List(self.0.iter().map(state).collect()))
    }

    fn from_value(_: Value) -> Option<States> {
        None
    }
}

/// A rate, or a table of steps, of a trace or of a generator, which `schema::link` reads.
impl Parameter for RateSpec {
    const KIND: Kind = Kind::Other("rate or table");

    fn to_value(&self) -> Option<Value> {
        Some(match self {
            RateSpec::Constant(rate) => Value::Rate(*rate),
            RateSpec::Steps(steps) => param::table(steps.to_value().map(|steps| ("steps", steps))),
            RateSpec::Ramp(ramp) => param::table(ramp.to_value().map(|ramp| ("ramp", ramp))),
            RateSpec::Trace(trace) => param::table(param::values(trace)),
            RateSpec::Mmwave(mmwave) => {
                let generator = ("generator", Value::Name("mmwave"));
                param::table(std::iter::once(generator).chain(param::values(mmwave)))
            }
        })
    }

    fn from_value(_: Value) -> Option<RateSpec> {
        None
    }
}
