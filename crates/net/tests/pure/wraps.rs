//! Numbers that wrap change nothing: neither the rates of a simulated call nor its delays.

use crate::call::wrapping::{
    Beginning, REFERENCE_TIMES, REPORT_TIMESTAMPS, RTP_TIMESTAMPS, SEQUENCE_NUMBERS, TRANSPORT_WIDE_NUMBERS,
};
use paceline_metrics::FlowSummary;
use paceline_scenario::Loaded;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

fn simulated(loaded: &Loaded) -> FlowSummary {
    let mut simulation = Simulation::new(loaded, Pace::Windowed).expect("a simulation");
    while !simulation.advance(TimeDelta::from_secs(1)) {}
    simulation.finish().summary.flows.into_values().next().expect("a flow")
}

fn changes_nothing(beginning: &Beginning) {
    assert_eq!(simulated(&beginning.call()), simulated(&beginning.plain()));
}

#[test]
fn sequence_numbers_wrap() {
    changes_nothing(&SEQUENCE_NUMBERS);
}

#[test]
fn transport_wide_numbers_wrap() {
    changes_nothing(&TRANSPORT_WIDE_NUMBERS);
}

#[test]
fn rtp_timestamps_wrap() {
    RTP_TIMESTAMPS.iter().for_each(changes_nothing);
}

#[test]
fn report_timestamps_wrap() {
    changes_nothing(&REPORT_TIMESTAMPS);
}

#[test]
fn reference_times_wrap() {
    changes_nothing(&REFERENCE_TIMES);
}
