//! `rate = { generator = "mmwave", ... }`: two states, a preset, or states of one's own.

use super::link::scale;
use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use crate::spec::{MmwaveModel, MmwaveSpec};
use paceline_link::generate::{MmwaveParams, PRESETS, RateState, Shape, StateParams, StatesParams};
use paceline_link::trace::TraceError;
use paceline_units::text::one_of;
use paceline_units::{Bitrate, TimeDelta};
use std::ops::RangeInclusive;

const KEYS: [&str; 13] = [
    "generator",
    "length",
    "seed",
    "scale",
    "repeat",
    "interval",
    "preset",
    "states",
    "ramps",
    "los",
    "blocked",
    "outage_ratio",
    "rate_max",
];
/// What only the model of two states knows.
const TWO_STATES: [&str; 4] = ["los", "blocked", "outage_ratio", "rate_max"];

pub(super) fn parse(table: &Table<'_>) -> Result<MmwaveSpec, ScenarioError> {
    table.only(&KEYS)?;
    let (preset, states) = (table.find("preset"), table.find("states"));
    let model = match (preset, states) {
        (None, None) => {
            if let Some(node) = table.find("ramps") {
                return Err(node.fail("nothing: `ramps` goes with states"));
            }
            two_states(table)?
        }
        (Some(_), Some(states)) => {
            return Err(states.fail("either preset = NAME or states, not both: a preset has its states"));
        }
        (Some(preset), None) => several(table, "preset", preset_named(&preset)?)?,
        (None, Some(states)) => several(table, "states", own_states(&states)?)?,
    };
    Ok(MmwaveSpec {
        model,
        length: table.find("length").map(|node| node.time_above_zero()).transpose()?,
        seed: table.find("seed").map(|node| node.count(0..=i64::MAX as u64)).transpose()?,
        scale: scale(table)?,
        repeat: table.find("repeat").map_or(Ok(false), |node| node.flag())?,
    })
}

fn two_states(table: &Table<'_>) -> Result<MmwaveModel, ScenarioError> {
    let default = MmwaveParams::default();
    let params = MmwaveParams {
        los: state(table, "los", default.los)?,
        blocked: state(table, "blocked", default.blocked)?,
        outage_ratio: table
            .find("outage_ratio")
            .map_or(Ok(default.outage_ratio), |node| node.number(0.0..=1.0))?,
        rate_max: table.find("rate_max").map_or(Ok(default.rate_max), |node| node.rate_above_zero())?,
        interval: table.find("interval").map_or(Ok(default.interval), |node| node.time_above_zero())?,
    };
    params.validate().map_err(|error| invalid(table, &error))?;
    Ok(MmwaveModel::TwoStates(params))
}

fn invalid(table: &Table<'_>, error: &TraceError) -> ScenarioError {
    table.fail(&error.found, error.expected)
}

/// States that came by `key`; they have another interval if the scenario says so.
fn several(table: &Table<'_>, key: &str, params: StatesParams) -> Result<MmwaveModel, ScenarioError> {
    if let Some(node) = TWO_STATES.iter().find_map(|key| table.find(key)) {
        return Err(
            node.fail(&format!("nothing: los, blocked, outage_ratio and rate_max do not go with `{key}`"))
        );
    }
    let interval = table.find("interval").map_or(Ok(params.interval), |node| node.time_above_zero())?;
    let ramps = table.find("ramps").map_or(Ok(params.ramps), |node| node.flag())?;
    let params = StatesParams { interval, ramps, ..params };
    params.validate().map_err(|error| invalid(table, &error))?;
    Ok(MmwaveModel::States(params))
}

fn preset_named(node: &Node<'_>) -> Result<StatesParams, ScenarioError> {
    let known = PRESETS.each_ref().map(|preset| (preset.name, preset));
    Ok(node.choice(&known, &[])?.params())
}

/// Time between two values of states without another one: that of most recordings.
const USUAL_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
const STATE_KEYS: [&str; 6] = ["name", "rates", "correlation", "dwell", "dwell_shape", "next"];
const WEIGHTS: RangeInclusive<f64> = 0.0..=1e9;

fn own_states(node: &Node<'_>) -> Result<StatesParams, ScenarioError> {
    const STATES: &str =
        "a list of at least two states { name, rates, correlation, dwell, dwell_shape, next }";
    let tables = node.list(STATES)?.iter().map(|node| node.table(STATES)).collect::<Result<Vec<_>, _>>()?;
    if tables.len() < 2 {
        return Err(node.fail(STATES));
    }
    let mut names: Vec<&str> = Vec::new();
    for table in &tables {
        table.only(&STATE_KEYS)?;
        let node = table.require("name", "the state's name, such as \"los\"")?;
        let name = node.text("the state's name")?;
        if names.contains(&name) {
            return Err(node.fail("another name: a state before has it"));
        }
        names.push(name);
    }
    let states = tables.iter().enumerate().map(|(index, table)| own_state(table, index, &names));
    let states = states.collect::<Result<_, _>>()?;
    Ok(StatesParams { states, ramps: false, interval: USUAL_INTERVAL })
}

fn own_state(table: &Table<'_>, index: usize, names: &[&str]) -> Result<RateState, ScenarioError> {
    const RATES: &str = "quantiles of the state's rate, at even steps from the lowest to the highest, such as \
                         [\"200Mbps\", \"500Mbps\", \"700Mbps\"]";
    let node = table.require("rates", RATES)?;
    let mut rates: Vec<Bitrate> = Vec::new();
    for node in node.list(RATES)? {
        let rate = node.rate()?;
        if rates.last().is_some_and(|&before| rate < before) {
            return Err(node.fail("a rate that is not below the one before it: quantiles do not fall"));
        }
        rates.push(rate);
    }
    if rates.is_empty() {
        return Err(node.fail(RATES));
    }
    Ok(RateState {
        name: names[index].into(),
        rates,
        correlation: table.find("correlation").map_or(Ok(TimeDelta::ZERO), |node| node.time())?,
        dwell: table.require("dwell", "the mean time in the state, such as \"3s\"")?.time_above_zero()?,
        dwell_shape: table.find("dwell_shape").map_or(Ok(1.0), |node| node.number(0.1..=10.0))?,
        next: next(table, index, names)?,
    })
}

/// The weight of each state as the next one; without the key all others are as likely.
fn next(table: &Table<'_>, index: usize, names: &[&str]) -> Result<Vec<f64>, ScenarioError> {
    let Some(node) = table.find("next") else {
        return Ok((0..names.len()).map(|other| if other == index { 0.0 } else { 1.0 }).collect());
    };
    let others: Vec<_> = names.iter().enumerate().filter(|(other, _)| *other != index).collect();
    let known = one_of(&others.iter().map(|(_, name)| **name).collect::<Vec<_>>());
    let expected = format!("weights of the other states ({known}) as the next one, not all 0");
    let mut weights = vec![0.0; names.len()];
    for (name, node) in node.table(&expected)?.entries() {
        let Some((other, _)) = others.iter().find(|(_, known)| **known == name) else {
            return Err(node.fail(&expected));
        };
        weights[*other] = node.number(WEIGHTS)?;
    }
    if weights.iter().all(|&weight| weight == 0.0) {
        return Err(node.fail(&expected));
    }
    Ok(weights)
}

fn state(table: &Table<'_>, key: &str, default: StateParams) -> Result<StateParams, ScenarioError> {
    let Some(node) = table.find(key) else {
        return Ok(default);
    };
    let table = node.table("a table of mean, std, shape, correlation, dwell")?;
    table.only(&["mean", "std", "shape", "correlation", "dwell"])?;
    Ok(StateParams {
        mean: table.find("mean").map_or(Ok(default.mean), |node| node.rate_above_zero())?,
        std: table.find("std").map_or(Ok(default.std), |node| node.rate())?,
        shape: table
            .find("shape")
            .map_or(Ok(default.shape), |node| node.named(Shape::NAMES, Shape::named))?,
        correlation: table.find("correlation").map_or(Ok(default.correlation), |node| node.time())?,
        dwell: table.find("dwell").map_or(Ok(default.dwell), |node| node.time_above_zero())?,
    })
}
