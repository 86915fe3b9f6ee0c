//! The links of a path, one behind the other, run in the order of their own time and not of the process's.
//!
//! A packet is offered to the first link at the time the kernel received it, to the next at the time it arrives there.
//! When the process wakes does therefore not matter to what the links do, only to when their packets leave the relay.

use super::packet::RelayedPacket;
use crate::NetError;
use crate::queue::TimedQueue;
use paceline_cc::StreamId;
use paceline_link::{Arrival, Departure, Link, LinkConfig, Offered, QueueConfig};
use paceline_metrics::{LinkRecorder, Ticker};
use paceline_scenario::Scenario;
use paceline_units::{Time, TimeDelta};

const NEXT: TimeDelta = TimeDelta::from_nanos(1);

/// A link, what is on its way to it, and what is written down of it.
struct Hop {
    link: Link<RelayedPacket>,
    arriving: TimedQueue<Time, RelayedPacket>,
    recorder: LinkRecorder,
    ticker: Ticker,
}

/// The links of a path.
pub(super) struct LinkPath {
    hops: Vec<Hop>,
}

/// The fate of packets in the links.
#[derive(Default)]
pub(super) struct Outcome {
    /// Packets that leave the last link, and when they are at the far end.
    pub arrived: Vec<(Time, RelayedPacket)>,
    /// When data packets were dropped or lost, and of which flows and streams.
    pub lost: Vec<Lost>,
}

pub(super) type Lost = (Time, usize, StreamId);

impl LinkPath {
    /// The links of a scenario with these places, before anything happened.
    pub fn new(scenario: &Scenario, places: &[usize], configs: &[LinkConfig]) -> Result<LinkPath, NetError> {
        let hop = |place: &usize| {
            let name = &scenario.links[*place].name;
            let queue = &configs[*place].queue;
            if let QueueConfig::Xcp(_) | QueueConfig::Rcp(_) = queue {
                let kind = queue.kind();
                let what = format!(
                    "link {name} has the queue {kind}, which writes into congestion headers, and datagrams carry none: expected another queue"
                );
                return Err(NetError::Unsupported { what });
            }
            let link = Link::new(configs[*place].clone(), scenario.seed, name).map_err(NetError::Link)?;
            let recorder = scenario.link_recorder(name);
            let ticker = recorder.ticker();
            Ok(Hop { link, arriving: TimedQueue::new(), recorder, ticker })
        };
        Ok(LinkPath { hops: places.iter().map(hop).collect::<Result<_, NetError>>()? })
    }

    /// Whether there is no link.
    pub fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    /// A packet arrives at the first link at `at`, which is not before the last [`LinkPath::advance`].
    pub fn offer(&mut self, at: Time, packet: RelayedPacket) {
        if let Some(first) = self.hops.first_mut() {
            first.arriving.push(at, packet);
        }
    }

    /// Lets everything happen up to and including `until`. Calls come in order of time; after `until` no earlier packet
    /// may be offered (one that comes all the same is taken as of then).
    pub fn advance(&mut self, until: Time, outcome: &mut Outcome) {
        for place in 0..self.hops.len() {
            let (before, after) = self.hops.split_at_mut(place + 1);
            let (Some(hop), next) = (before.last_mut(), after.first_mut()) else { continue };
            match next {
                Some(next) => {
                    hop.advance(until, &mut outcome.lost, |at, packet| next.arriving.push(at, packet))
                }
                None => {
                    hop.advance(until, &mut outcome.lost, |at, packet| outcome.arrived.push((at, packet)))
                }
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
    fn advance(&mut self, until: Time, lost: &mut Vec<Lost>, mut take: impl FnMut(Time, RelayedPacket)) {
        while let Some(tick) = self.ticker.due(until) {
            self.run(tick.covers(), lost, &mut take);
            self.link.settle(tick.at());
            self.recorder.tick(tick, &mut self.link);
        }
        self.run(until + NEXT, lost, &mut take);
    }

    /// Everything strictly before `until`.
    fn run(&mut self, until: Time, lost: &mut Vec<Lost>, take: &mut impl FnMut(Time, RelayedPacket)) {
        let Hop { link, arriving, recorder, .. } = self;
        let mut damaged = Vec::new();
        let copy_delay = link.copy_delay();
        let mut depart = |departure: Departure<RelayedPacket>| {
            recorder.departed(departure.departed, departure.wait);
            let mut packet = departure.packet;
            packet.wait += departure.wait;
            packet.noise += departure.noise;
            match departure.arrival {
                Arrival::Whole => take(departure.arrives, packet),
                Arrival::Damaged => {
                    damaged.extend(packet.data.map(|stream| (departure.departed, packet.flow, stream)));
                }
                Arrival::Twice => {
                    // Without room for a copy there is none.
                    let copy = packet.copy();
                    take(departure.arrives, packet);
                    copy.into_iter().for_each(|copy| take(departure.arrives + copy_delay, copy));
                }
            }
        };
        while let Some((at, packet)) = arriving.pop_if(|at| at < until) {
            let (flow, data) = (packet.flow, packet.data);
            if link.offer(at, packet, &mut depart) != Offered::Accepted {
                lost.extend(data.map(|stream| (at, flow, stream)));
            }
        }
        link.advance(until, &mut depart);
        // Packets that a queue dropped after it had taken them.
        while let Some((at, packet)) = link.take_dropped() {
            lost.extend(packet.data.map(|stream| (at, packet.flow, stream)));
        }
        lost.append(&mut damaged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChosenFlow;
    use crate::relay::packet::MemoryBudget;
    use paceline_scenario::{Loader, Origin, load};
    use paceline_units::{Bytes, Ecn};

    /// The fate of `count` packets of 1000 B, each `gap` nanoseconds behind the one before, over the path of the only flow.
    fn carried(text: &str, memory: &MemoryBudget, count: u64, gap: u64) -> Outcome {
        let loaded =
            load(&Origin { text, file: "relay.toml", sets: &[] }, &Loader::default()).expect("right");
        let flow = ChosenFlow::of(&loaded, None).expect("the only one");
        let mut path = LinkPath::new(flow.scenario, &flow.parts.path, &loaded.parts.links).expect("a link");
        let mut outcome = Outcome::default();
        for number in 0..count {
            let at = Time::from_nanos(number * gap);
            let mut packet = memory.packet(at, &[0; 1000], Ecn::NotEct, Bytes::ZERO).expect("room for all");
            packet.data = Some(StreamId(0));
            path.offer(at, packet);
            path.advance(at, &mut outcome);
        }
        path.advance(Time::from_nanos(9_000_000_000), &mut outcome);
        outcome
    }

    #[test]
    fn what_a_managed_queue_drops_late_is_lost_and_gives_back_its_memory() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = { kind = \"codel\" }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        // Twice what the link has, for a second: 250 packets of 1000 B, of which it serves 125 in that time.
        let memory = MemoryBudget::new(Bytes::new(250 * 1300));
        let mut outcome = carried(text, &memory, 250, 4_000_000);
        assert!((10..100).contains(&outcome.lost.len()), "{} lost", outcome.lost.len());
        assert_eq!(outcome.arrived.len() + outcome.lost.len(), 250);
        assert!(outcome.lost.is_sorted());
        outcome.arrived.clear();
        // 325,000 B are room for 258 packets of 1256 B if each before gave back what it took.
        let next = |_| memory.packet(Time::ZERO, &[0; 1000], Ecn::NotEct, Bytes::ZERO);
        assert_eq!((0..300).map_while(next).collect::<Vec<_>>().len(), 258);
    }

    #[test]
    fn a_router_that_writes_into_headers_is_refused() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = { kind = \"xcp\" }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        let loaded =
            load(&Origin { text, file: "relay.toml", sets: &[] }, &Loader::default()).expect("right");
        let flow = ChosenFlow::of(&loaded, None).expect("the only one");
        let refused = LinkPath::new(flow.scenario, &flow.parts.path, &loaded.parts.links).err();
        let message = refused.expect("no header there").to_string();
        assert!(
            message.contains("link l has the queue xcp") && message.contains("another queue"),
            "{message}"
        );
    }

    /// The relay's links change and damage as the simulator's do: it is the same code.
    #[test]
    fn routes_change_and_damaged_packets_are_lost() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"100Mbps\"\nqueue = { packets = 99 }\ncorrupt = 0.2\n\
                    delay = { steps = [[\"0s\", \"50ms\"], [\"1s\", \"10ms\"]] }\npolicer = { rate = \"5Mbps\", burst = \"9kB\" }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        let outcome = carried(text, &MemoryBudget::new(Bytes::new(1 << 20)), 200, 10_000_000);
        assert!((20..60).contains(&outcome.lost.len()), "{} lost", outcome.lost.len());
        assert_eq!(outcome.arrived.len() + outcome.lost.len(), 200);
        let delay = |(at, packet): &(Time, RelayedPacket)| (*at - packet.entered).as_millis_f64();
        let (first, last) = (&outcome.arrived[0], outcome.arrived.last().expect("most arrive"));
        assert!((delay(first) - 50.0).abs() < 1.0 && (delay(last) - 10.0).abs() < 1.0);
        assert!(outcome.arrived.windows(2).all(|pair| pair[0].0 <= pair[1].0), "nothing overtakes");
    }

    /// The relay's shaper is the simulator's: packets leave as its tokens come, and what it has no room for is lost.
    #[test]
    fn what_comes_too_fast_is_held_back() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"1Gbps\"\nqueue = { packets = 99 }\n\
                    shaper = { rate = \"8Mbps\", burst = \"5kB\", packets = 20 }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        // 40 packets of 1000 B within 4 ms: 5 at once, then one a millisecond.
        let outcome = carried(text, &MemoryBudget::new(Bytes::new(1 << 20)), 40, 100_000);
        let arrived = outcome.arrived.iter().map(|(at, _)| at.as_nanos() / 1_000_000);
        let held: Vec<_> = (1..=23).collect();
        assert_eq!(arrived.skip(5).collect::<Vec<_>>(), held);
        assert_eq!(outcome.lost.len(), 40 - 5 - 23);
        let (at, last) = outcome.arrived.last().expect("some arrive");
        assert!(
            (*at - last.entered - last.wait).as_millis_f64() < 0.1,
            "the wait for tokens counts as a wait"
        );
    }

    /// Copies leave the relay as datagrams of their own, and count as none of the flow's.
    #[test]
    fn copies_arrive_as_well() {
        let text = "duration = \"2s\"\n[links.l]\nrate = \"1Gbps\"\nqueue = { packets = 99 }\n\
                    duplicate = { ratio = 0.5, delay = \"3ms\" }\n\
                    [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        let outcome = carried(text, &MemoryBudget::new(Bytes::new(1 << 20)), 200, 1_000_000);
        let copies: Vec<_> = outcome.arrived.iter().filter(|(_, packet)| packet.data.is_none()).collect();
        assert!((70..130).contains(&copies.len()), "{} copies", copies.len());
        assert_eq!((outcome.arrived.len(), outcome.lost.len()), (200 + copies.len(), 0));
        let is_whole = |packet: &RelayedPacket| packet.bytes.len() == 1000 && packet.size == Bytes::new(1000);
        assert!(
            copies
                .iter()
                .all(|(at, packet)| is_whole(packet) && (*at - packet.entered).as_millis_f64() > 3.0)
        );
    }
}
