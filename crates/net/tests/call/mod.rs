//! Parts that every test of this room needs: a scenario, an address, the figures of a flow.

pub mod formats;
pub mod two_flows;
pub mod wrapping;

use paceline_metrics::FlowSummary;
use paceline_net::{NetOutput, parse_address};
use paceline_scenario::{Loaded, Loader, Origin, load};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Sets its flag at the end of its scope, in a panic too: the ends that run beside it are not waited for in vain.
pub struct StopAtEnd<'f>(pub &'f AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
