//! The cost of coupling: an update of a group, and of an exchange with many groups.

use crate::{RUNS, processor_time};
use paceline_cc::{AnyCoupling, Assigned, Coupling, CouplingParams, FlowId, FlowUpdate, Priority};
use paceline_ends::{CoupledEnds, Exchange};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Microseconds that an update of a group of 100 flows may take.
const WANTED: f64 = 5.0;
const UPDATES: u32 = 100_000;
const RTT: TimeDelta = TimeDelta::from_millis(50);

/// Prints a line for each kind and size of group, and for each size of exchange.
pub fn print() {
    println!(
        "\n{:<22}{:>8}{:>12}   coupling; wanted: a group of 100 below {WANTED} us",
        "update of", "flows", "us"
    );
    for &kind in CouplingParams::KINDS {
        for flows in [1, 10, 100, 1000] {
            println!("{:<22}{flows:>8}{:>12.3}", format!("group, {kind}"), fastest(|| update(kind, flows)));
        }
    }
    for groups in [1, 10, 100, 1000] {
        let flows = 10 * groups;
        println!(
            "{:<22}{flows:>8}{:>12.3}",
            format!("exchange, {groups} x 10"),
            fastest(|| exchange(groups))
        );
    }
}

fn fastest(run: impl Fn() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// A rate that differs from update to update.
fn rate(step: u32) -> Assigned {
    Assigned::Rate(Bitrate::from_kbps(1000 + u64::from(step * 7919 % 200)))
}

fn told(flow: u32, step: u32) -> FlowUpdate {
    // Every third flow is limited by its application, at a rate that moves.
    let desired = flow.is_multiple_of(3).then(|| Bitrate::from_kbps(900 + u64::from(step % 100)));
    FlowUpdate {
        flow: FlowId(flow),
        own: rate(step),
        taken: None,
        desired,
        rtt: Some(RTT),
        priority: Priority::ONE,
    }
}

/// Microseconds of an update of a group of `flows`.
fn update(kind: &str, flows: u32) -> f64 {
    let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("a kind of the list"));
    (0..flows).for_each(|flow| {
        let _ = group.join(Time::ZERO, &told(flow, 0));
    });
    let (start, mut answers) = (processor_time(), 0);
    for step in 0..UPDATES {
        let now = Time::from_nanos(u64::from(step) * 1_000_000);
        answers += group.update(now, &told(step % flows, step)).len();
    }
    assert!(answers >= UPDATES as usize, "{kind}: every update is answered");
    1e6 * (processor_time() - start) / f64::from(UPDATES)
}

/// Ends that take what they are given.
struct Ends(Vec<Assigned>);

impl CoupledEnds for Ends {
    fn share(&self, flow: usize) -> Option<Assigned> {
        self.0.get(flow).copied()
    }

    fn desired(&self, _flow: usize) -> Option<Bitrate> {
        None
    }

    fn srtt(&self, _flow: usize) -> Option<TimeDelta> {
        Some(RTT)
    }

    fn assign(&mut self, _now: Time, flow: usize, assigned: Assigned) {
        self.0[flow] = assigned;
    }
}

/// Microseconds of an event at one of the ten flows of one of so many groups.
fn exchange(groups: u32) -> f64 {
    let flows = 10 * groups;
    let params = CouplingParams::of("active").expect("a kind of the list");
    let members: Vec<_> = (0..flows).map(|flow| ((flow / 10) as usize, Priority::ONE)).collect();
    let (mut exchange, mut ends) =
        (Exchange::new(&params, &members, Vec::new()), Ends(vec![rate(0); flows as usize]));
    (0..flows).for_each(|flow| exchange.after_event(Time::ZERO, flow as usize, &mut ends));
    let start = processor_time();
    for step in 1..=UPDATES {
        let flow = (step.wrapping_mul(7919) % flows) as usize;
        ends.0[flow] = rate(step);
        exchange.after_event(Time::from_nanos(u64::from(step) * 1000), flow, &mut ends);
    }
    1e6 * (processor_time() - start) / f64::from(UPDATES)
}
