//! A path probe over one simulated link. The receiver's reports come back after the link's delay, without limits.

use paceline_ends::{PathProbe, ProbePlan, ProbeRecord};
use paceline_link::{Departure, Link, LinkConfig, Transit};
use paceline_units::param::ParamError;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many events pass before it is asked whether to go on.
const STEPS: u32 = 10_000;

/// A packet of a probe.
struct Probe {
    number: u64,
    size: Bytes,
}

impl Transit for Probe {
    fn size(&self) -> Bytes {
        self.size
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }
}

/// The observations of a probe on a link that carries nothing else. `seed` and `name` are those of the link's random draws. `goes_on` is
/// asked now and then, with the part that is done.
///
/// # Errors
/// A link that cannot be.
pub fn probe(
    config: LinkConfig,
    seed: u64,
    name: &str,
    plan: ProbePlan,
    mut goes_on: impl FnMut(f64) -> bool,
) -> Result<ProbeRecord, ParamError> {
    let mut link = Link::new(config, seed, name)?;
    let (delay, size) = (link.delay(), plan.packet_size);
    let mut probe = PathProbe::new(plan);
    // When the sender hears of an arrival, and of which.
    let mut answers: BinaryHeap<Reverse<(Time, u64, Time)>> = BinaryHeap::new();
    let (mut now, mut until_asked) = (Time::ZERO, STEPS);
    while !probe.is_over() {
        let mut sink = |departure: Departure<Probe>| {
            answers.push(Reverse((departure.arrives + delay, departure.packet.number, departure.arrives)));
        };
        link.advance(now + TimeDelta::from_nanos(1), &mut sink);
        while let Some(number) = probe.poll_transmit(now) {
            let _ = link.offer(now, Probe { number, size }, &mut sink);
        }
        while link.take_dropped().is_some() {}
        let answer = answers.peek().map(|Reverse((at, ..))| *at);
        let next = [probe.next_timeout(), link.next_event(), answer].into_iter().flatten().min();
        now = next.map_or(now, |next| now.max(next));
        while let Some(&Reverse((at, number, arrived))) = answers.peek()
            && at <= now
        {
            answers.pop();
            probe.on_arrival(now, number, arrived);
        }
        until_asked -= 1;
        if until_asked == 0 {
            if !goes_on(probe.progress()) {
                break;
            }
            until_asked = STEPS;
        }
    }
    Ok(probe.into_record())
}
