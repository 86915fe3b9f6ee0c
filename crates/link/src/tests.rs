//! Tests of the link against arithmetic, and of drop-tail against an oracle with real departures.

pub(crate) mod aging;
pub(crate) mod fifo;

mod arrivals;
mod codel;
mod disciplines;
mod drive;
mod dualpi2;
mod duplicates;
mod fq_codel;
mod generated;
mod losses;
mod marks;
mod noise_order;
mod noise_processes;
mod noises;
mod oracle;
mod parsing;
mod pie;
mod policing;
mod queueing;
mod rates;
mod rcp;
mod recordings;
mod red;
mod routes;
mod runs;
mod service;
mod shaping;
mod xcp;

use crate::{
    Departure, Link, LinkConfig, LinkCounters, Offered, Planned, QueueConfig, QueueLimit, RateProcess,
    Service, Transit,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// The packet of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) id: u64,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
}

impl Transit for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn flow(&self) -> u64 {
        self.id % 7
    }
}

/// An arrival: time in nanoseconds, size in bytes.
type Arrival = (u64, u64);

/// The observations of a run of a link.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    offered: Vec<Offered>,
    departures: Vec<Departure<Packet>>,
    /// Dropped after they had waited.
    discarded: Vec<(Time, Packet)>,
    counters: LinkCounters,
}

/// Offers `arrivals` as `ecn` and settles at `end`.
fn run(config: LinkConfig, arrivals: &[Arrival], ecn: Ecn, end: Time) -> Outcome {
    let mut link = Link::new(config, 1, "test").expect("a valid link");
    let mut departures = Vec::new();
    let mut sink = |departure| departures.push(departure);
    let mut offered = Vec::new();
    for (id, &(time, size)) in arrivals.iter().enumerate() {
        let packet = Packet { id: id as u64, size, ecn };
        offered.push(link.offer(Time::from_nanos(time), packet, &mut sink));
    }
    link.advance(end, &mut sink);
    link.settle(end);
    link.advance(end + TimeDelta::from_nanos(1), &mut sink);
    let discarded = std::iter::from_fn(|| link.take_dropped()).collect();
    Outcome { offered, departures, discarded, counters: link.counters() }
}

fn mbps(mbps: u64) -> RateProcess {
    RateProcess::Constant(Bitrate::from_mbps(mbps))
}

fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn unlimited(rate: RateProcess) -> LinkConfig {
    limited(rate, QueueLimit::Unlimited)
}

fn limited(rate: RateProcess, limit: QueueLimit) -> LinkConfig {
    LinkConfig::new(rate, TimeDelta::ZERO, QueueConfig::droptail(limit))
}

fn departed(outcome: &Outcome) -> Vec<u64> {
    outcome.departures.iter().map(|departure| departure.departed.as_nanos()).collect()
}

/// offered = departed + dropped + lost + still there.
fn is_conserved(counters: &LinkCounters) -> bool {
    let still_there = counters.queue_packets + counters.in_service;
    counters.offered == counters.departed + counters.dropped + counters.lost + still_there
}
