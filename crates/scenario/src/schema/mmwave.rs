//! `rate = { generator = "mmwave", ... }`: two states, a preset, or states of one's own.

use crate::error::ScenarioError;
use crate::params;
use crate::rate::{MmwaveSpec, States};
use crate::reader::{Node, Table};
use paceline_link::generate::{PRESETS, RateState};
use paceline_units::text::one_of;
use paceline_units::{Bitrate, TimeDelta};
use std::ops::RangeInclusive;

pub(super) fn parse(table: &Table<'_>) -> Result<MmwaveSpec, ScenarioError> {
    let mut spec = MmwaveSpec::default();
    let preset = table.find("preset").and_then(|node| node.as_text());
    let states = table.find("states").filter(|_| preset.is_none());
    if let Some(fitted) = PRESETS.iter().find(|fitted| Some(fitted.name) == preset) {
        let fitted = fitted.params();
        (spec.states, spec.ramps) = (States(fitted.states), fitted.ramps);
        spec.two_states.interval = fitted.interval;
    } else if states.is_some() {
        spec.two_states.interval = USUAL_INTERVAL;
    }
    params::set(table, &mut spec, &["generator"])?;
    if let Some(node) = states {
        spec.states = States(own_states(&node)?);
    }
    params::check(table, &spec)?;
    spec.preset = None;
    Ok(spec)
}

/// Time between two values of states without another one: that of most recordings.
const USUAL_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
const STATE_KEYS: [&str; 6] = ["name", "rates", "correlation", "dwell", "dwell_shape", "next"];
const WEIGHTS: RangeInclusive<f64> = 0.0..=1e9;

fn own_states(node: &Node<'_>) -> Result<Vec<RateState>, ScenarioError> {
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
    tables.iter().enumerate().map(|(index, table)| own_state(table, index, &names)).collect()
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
