//! Whole scenarios, from their text to their figures: what the simulator's test programs share.

use paceline_metrics::TimeSeries;
use paceline_metrics::{FlowSummary, LinkSummary};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_sim::{Outcome, Pace, Simulation};
use paceline_units::TimeDelta;

/// Reads `text` and what it names, with changes as `--set` makes them.
pub fn loaded(text: &str, sets: &[(&str, &str)], loader: &Loader) -> Loaded {
    let sets: Vec<_> = sets.iter().map(|&(path, value)| (path.to_string(), value.to_string())).collect();
    load(&Origin { text, file: "test.toml", sets: &sets }, loader)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a scenario to its end, in spans of `span`.
pub fn simulated(loaded: &Loaded, pace: Pace, span: TimeDelta) -> Outcome {
    let mut simulation = Simulation::new(loaded, pace).expect("load has refused what cannot be built");
    while !simulation.advance(span) {}
    simulation.finish()
}

/// Runs a scenario that names no files.
pub fn run_at(text: &str, pace: Pace) -> Outcome {
    simulated(&loaded(text, &[], &Loader::default()), pace, TimeDelta::from_secs(1))
}

/// The same at the pace that everybody uses.
pub fn run(text: &str) -> Outcome {
    run_at(text, Pace::Windowed)
}

/// The figures of a flow.
pub fn flow<'o>(outcome: &'o Outcome, name: &str) -> &'o FlowSummary {
    outcome.summary.flows.get(name).unwrap_or_else(|| panic!("no flow {name}"))
}

/// The figures of a link.
pub fn link<'o>(outcome: &'o Outcome, name: &str) -> &'o LinkSummary {
    outcome.summary.links.get(name).unwrap_or_else(|| panic!("no link {name}"))
}

/// A count that the simulator knows.
pub fn count(known: Option<u64>) -> u64 {
    known.expect("the simulator knows it")
}

/// A column of the rows of one flow (`of` = "flow") or link (`of` = "link"); zero where absent.
pub fn column(series: &TimeSeries, of: &str, name: &str, column: &str) -> Vec<f64> {
    cells(series, of, name, column).into_iter().map(|value| value.unwrap_or(0.0)).collect()
}

/// The same, as it stands there.
pub fn cells(series: &TimeSeries, of: &str, name: &str, column: &str) -> Vec<Option<f64>> {
    let names = series.text(of).unwrap_or_else(|| panic!("no column {of}"));
    let values = series.float(column).unwrap_or_else(|| panic!("no column {column}"));
    let mine = (0..series.rows()).filter(|row| names.value(*row) == Some(name));
    mine.map(|row| values.value(row)).collect()
}

/// Fails unless `found` is there and within `within` of `expected`.
#[track_caller]
pub fn assert_near(what: &str, found: impl Into<Option<f64>>, expected: f64, within: f64) {
    let found = found.into().unwrap_or(f64::NAN);
    assert!((found - expected).abs() <= within, "{what}: {found}, expected {expected} within {within}");
}

/// The first difference, bit for bit: a number is written so that it reads back as itself, and the sign of a zero is.
pub fn differs(one: &Outcome, other: &Outcome) -> Option<String> {
    let (first, second) = (format!("{:#?}", one.summary), format!("{:#?}", other.summary));
    if let Some((line, other)) = first.lines().zip(second.lines()).find(|(line, other)| line != other) {
        return Some(format!("summary: {line} and {other}"));
    }
    let tables = [(&one.flows, &other.flows), (&one.links, &other.links)];
    let mut columns = tables.iter().flat_map(|(one, other)| one.columns.iter().zip(&other.columns));
    let column = columns.find(|(one, other)| format!("{one:?}") != format!("{other:?}"));
    column.map(|(one, _)| format!("the column {}", one.name))
}
