//! The links of a path, one behind the other, run in the order of their own time and not of the process's.
//!
//! A packet is offered to the first link at the time the kernel received it, to the next at the time it arrives there.
//! When the process wakes does therefore not matter to what the links do, only to when their packets leave the relay.

use super::parcel::Parcel;
use super::release::Releases;
use crate::{NetError, choice::ChosenFlow};
use paceline_link::{Departure, Link, LinkConfig, Offered};
use paceline_scenario::recorder::{LinkRecorder, Tick, Ticker};
use paceline_units::{Time, TimeDelta};

const NEXT: TimeDelta = TimeDelta::from_nanos(1);

/// A link, what is on its way to it, and what is written down of it.
struct Hop {
    link: Link<Parcel>,
    arriving: Releases<Parcel>,
    recorder: LinkRecorder,
    ticker: Ticker,
}

/// The links of a path.
pub(super) struct Chain {
    hops: Vec<Hop>,
}

/// What became of packets in the links.
#[derive(Default)]
pub(super) struct Passed {
    /// Those that leave the last link, and when they are there.
    pub arrived: Vec<(Time, Parcel)>,
    /// How many with media were dropped or lost, at which times.
    pub lost: Vec<Time>,
}

impl Chain {
    /// The links of the flow's path, before anything happened.
    pub fn new(flow: ChosenFlow<'_>, configs: &[LinkConfig]) -> Result<Chain, NetError> {
        let hop = |place: &usize| {
            let name = &flow.scenario.links[*place].name;
            let link =
                Link::new(configs[*place].clone(), flow.scenario.seed, name).map_err(NetError::Link)?;
            let recorder = LinkRecorder::new(flow.scenario, name);
            let ticker = Ticker::of(flow.scenario, &recorder.window());
            Ok(Hop { link, arriving: Releases::new(), recorder, ticker })
        };
        Ok(Chain { hops: flow.parts.path.iter().map(hop).collect::<Result<_, NetError>>()? })
    }

    /// A packet arrives at the first link at `at`, which is not before the last [`Chain::advance`].
    pub fn offer(&mut self, at: Time, parcel: Parcel) {
        if let Some(first) = self.hops.first_mut() {
            first.arriving.push(at, parcel);
        }
    }

    /// Lets everything happen up to and including `until`. Calls come in order of time; after `until` no earlier packet
    /// may be offered (one that comes all the same is taken as of then).
    pub fn advance(&mut self, until: Time, passed: &mut Passed) {
        for place in 0..self.hops.len() {
            let (before, after) = self.hops.split_at_mut(place + 1);
            let (Some(hop), next) = (before.last_mut(), after.first_mut()) else { continue };
            match next {
                Some(next) => {
                    hop.advance(until, &mut passed.lost, |at, parcel| next.arriving.push(at, parcel))
                }
                None => hop.advance(until, &mut passed.lost, |at, parcel| passed.arrived.push((at, parcel))),
            }
        }
    }

    /// When something happens next that nobody has been told of.
    pub fn next(&self) -> Option<Time> {
        let hops = self.hops.iter();
        hops.flat_map(|hop| [hop.link.next_event(), hop.arriving.next(), hop.ticker.next()]).flatten().min()
    }

    /// The records, ended at `now` if they have not been before.
    pub fn finish(mut self, now: Time) -> Vec<LinkRecorder> {
        for hop in &mut self.hops {
            if hop.ticker.cut() {
                hop.link.settle(now);
                hop.recorder.end(now, &mut hop.link);
            }
        }
        self.hops.into_iter().map(|hop| hop.recorder).collect()
    }
}

impl Hop {
    fn advance(&mut self, until: Time, lost: &mut Vec<Time>, mut take: impl FnMut(Time, Parcel)) {
        while let Some(tick) = self.ticker.due(until) {
            self.run(tick.covers(), lost, &mut take);
            self.link.settle(tick.at());
            match tick {
                Tick::Begin(at) => self.recorder.begin(at, &mut self.link),
                Tick::Sample(at) => self.recorder.sample(at, &mut self.link),
                Tick::End(at) => self.recorder.end(at, &mut self.link),
            }
        }
        self.run(until + NEXT, lost, &mut take);
    }

    /// Everything strictly before `until`.
    fn run(&mut self, until: Time, lost: &mut Vec<Time>, take: &mut impl FnMut(Time, Parcel)) {
        let Hop { link, arriving, recorder, .. } = self;
        let mut depart = |departure: Departure<Parcel>| {
            recorder.departed(departure.departed, departure.wait);
            let mut parcel = departure.packet;
            parcel.wait += departure.wait;
            parcel.noise += departure.noise;
            take(departure.arrives, parcel);
        };
        while let Some((at, parcel)) = arriving.pop_before(until) {
            let data = parcel.data;
            if link.offer(at, parcel, &mut depart) != Offered::Accepted && data {
                lost.push(at);
            }
        }
        link.advance(until, &mut depart);
        // What a queue dropped after it had taken it.
        while let Some((at, parcel)) = link.take_dropped() {
            if parcel.data {
                lost.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::parcel::Hold;
    use paceline_scenario::{Loader, Origin, load};
    use paceline_units::{Bytes, Ecn};

    #[test]
    fn what_a_managed_queue_drops_late_is_lost_and_gives_back_its_memory() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = { kind = \"codel\" }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        let loaded =
            load(&Origin { text, file: "relay.toml", sets: &[] }, &Loader::default()).expect("right");
        let flow = ChosenFlow::of(&loaded, None).expect("the only one");
        let mut chain = Chain::new(flow, &loaded.parts.links).expect("a link");
        // Twice what the link has, for a second: 250 packets of 1000 B, of which it serves 125 in that time.
        let hold = Hold::new(Bytes::new(250 * 1300));
        let mut passed = Passed::default();
        for number in 0..250 {
            let at = Time::from_nanos(number * 4_000_000);
            let parcel = hold.parcel(at, &[0; 1000], Bytes::ZERO, Ecn::NotEct).expect("room for all");
            chain.offer(at, parcel);
            chain.advance(at, &mut passed);
        }
        chain.advance(Time::from_nanos(9_000_000_000), &mut passed);
        assert!((10..100).contains(&passed.lost.len()), "{} lost", passed.lost.len());
        assert_eq!(passed.arrived.len() + passed.lost.len(), 250);
        assert!(passed.lost.is_sorted());
        passed.arrived.clear();
        // 325,000 B are room for 258 parcels of 1256 B if each before gave back what it took.
        let next = |_| hold.parcel(Time::ZERO, &[0; 1000], Bytes::ZERO, Ecn::NotEct);
        assert_eq!((0..300).map_while(next).collect::<Vec<_>>().len(), 258);
    }
}
