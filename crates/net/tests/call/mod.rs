//! What every test of this room needs: a scenario, an address, the figures of a flow.

use paceline_metrics::FlowSummary;
use paceline_net::{NetOutput, parse_address};
use paceline_scenario::{Loaded, Loader, Origin, load};
use std::net::SocketAddr;

/// A scenario without files.
pub fn loaded(text: &str) -> Loaded {
    load(&Origin { text, file: "test.toml", sets: &[] }, &Loader::default()).expect("a sound scenario")
}

/// Any port of this machine.
pub fn anywhere() -> SocketAddr {
    parse_address("localhost:0").expect("an address")
}

/// The figures of the only flow.
pub fn flow(output: &NetOutput) -> &FlowSummary {
    output.summary.flows.values().next().expect("a flow")
}
