//! A path probe over one simulated link, beside other traffic or alone. The receiver's reports come back after the link's delay, without
//! limits.

use paceline_ends::{PathProbe, ProbePlan, ProbeRecord, Prober};
use paceline_link::{Arrival, Departure, Link, LinkConfig, Transit};
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many events pass before it is asked whether to go on.
const STEPS: u32 = 10_000;

/// A packet of a probe, or of other traffic, which has no number.
struct Probe {
    number: Option<u64>,
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
        u64::from(self.number.is_none())
    }
}

/// Other traffic on a probed link: packets at random times (Poisson), which no loss slows down.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CrossTraffic {
    /// Its mean rate; zero for none.
    pub rate: Bitrate,
    /// Size of each of its packets on the link.
    pub packet_size: Bytes,
}

impl CrossTraffic {
    /// No other traffic.
    pub const NONE: CrossTraffic = CrossTraffic { rate: Bitrate::ZERO, packet_size: Bytes::new(1500) };
}

/// The packets of other traffic, in order of time.
struct Crossing {
    traffic: CrossTraffic,
    random: RandomStream,
    next: Option<Time>,
}

impl Crossing {
    fn new(traffic: CrossTraffic, seed: u64) -> Crossing {
        let mut crossing =
            Crossing { traffic, random: RandomStream::new(seed, "probe.cross"), next: Some(Time::ZERO) };
        crossing.draw();
        crossing
    }

    fn draw(&mut self) {
        let mean = self.traffic.packet_size.as_bits_f64() / self.traffic.rate.as_bps_f64();
        let drawn = |next| next + TimeDelta::from_secs_f64(self.random.exponential(mean));
        self.next = if mean.is_finite() { self.next.map(drawn) } else { None };
    }
}

/// The observations of a probe that fills a link which carries nothing else; the rest as [`probe_beside`].
///
/// # Errors
/// A link that cannot be.
pub fn probe(
    config: LinkConfig,
    seed: u64,
    name: &str,
    plan: ProbePlan,
    goes_on: impl FnMut(f64) -> bool,
) -> Result<ProbeRecord, ParamError> {
    probe_beside(config, seed, name, CrossTraffic::NONE, PathProbe::new(plan), goes_on)
}

/// The observations of a probe on a link beside other traffic. `seed` and `name` are those of the link's random draws. `goes_on` is asked now
/// and then, with the part that is done.
///
/// # Errors
/// A link that cannot be.
pub fn probe_beside<P: Prober>(
    config: LinkConfig,
    seed: u64,
    name: &str,
    traffic: CrossTraffic,
    mut probe: P,
    mut goes_on: impl FnMut(f64) -> bool,
) -> Result<P::Record, ParamError> {
    let mut link = Link::new(config, seed, name)?;
    let (delay, size) = (link.delay(), probe.packet_size());
    let mut cross = Crossing::new(traffic, seed);
    // When the sender hears of an arrival, and of which.
    let mut answers: BinaryHeap<Reverse<(Time, u64, Time)>> = BinaryHeap::new();
    let (mut now, mut until_asked) = (Time::ZERO, STEPS);
    while !probe.is_over() {
        let mut sink = |departure: Departure<Probe>| {
            // A copy tells nothing new.
            if let (Some(number), Arrival::Whole | Arrival::Twice) =
                (departure.packet.number, departure.arrival)
            {
                answers.push(Reverse((departure.arrives + delay, number, departure.arrives)));
            }
        };
        link.advance(now + TimeDelta::from_nanos(1), &mut sink);
        while cross.next.is_some_and(|next| next <= now) {
            let packet = Probe { number: None, size: traffic.packet_size };
            let _ = link.offer(now, packet, &mut sink);
            cross.draw();
        }
        while let Some(number) = probe.poll_transmit(now) {
            let _ = link.offer(now, Probe { number: Some(number), size }, &mut sink);
        }
        while link.take_dropped().is_some() {}
        let answer = answers.peek().map(|Reverse((at, ..))| *at);
        let next = [probe.next_timeout(), link.next_event(), answer, cross.next].into_iter().flatten().min();
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
