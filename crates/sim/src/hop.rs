//! A link as a component: merges what its feeders offer, in order of (time, flow), and hands on what departs.

use crate::edge::Edge;
use crate::packet::Packet;
use paceline_link::{Link, Offered};
use paceline_scenario::recorder::{LinkRecorder, Tick, Ticker};
use paceline_units::{Time, TimeDelta};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet that a link did not carry.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it would have been at the link's other end, at the earliest.
    pub missed: Time,
    /// Whose and what.
    pub packet: Packet,
}

/// Where packets go from each link: the edge by (flow, hop), forward and back.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// For each flow the edges from sender to receiver: into the first link, between links, into the receiver.
    pub forward: Vec<Vec<usize>>,
    /// For each flow the edges from receiver to sender.
    pub back: Vec<Vec<usize>>,
}

impl Routes {
    /// The edge that a packet takes which has crossed `packet.hop` links.
    #[inline]
    fn edge(&self, packet: &Packet) -> usize {
        let routes = if packet.back { &self.back } else { &self.forward };
        routes[packet.flow as usize][usize::from(packet.hop)]
    }
}

/// A link, its feeders and its recorder.
pub struct Hop {
    link: Link<Packet>,
    /// Edges that packets arrive on.
    pub inputs: Vec<usize>,
    /// Edges that packets leave on.
    pub outputs: Vec<usize>,
    recorder: LinkRecorder,
    ticker: Ticker,
    /// Everything before this has happened.
    pub done: Time,
    /// Packets offered.
    pub events: u64,
    merge: BinaryHeap<Reverse<(Time, u32, usize)>>,
}

impl Hop {
    /// A link before anything happened.
    pub fn new(link: Link<Packet>, recorder: LinkRecorder, ticker: Ticker) -> Hop {
        let (inputs, outputs, merge) = (Vec::new(), Vec::new(), BinaryHeap::new());
        Hop { link, inputs, outputs, recorder, ticker, done: Time::ZERO, events: 0, merge }
    }

    /// How far the inputs are known.
    pub fn known(&self, edges: &[Edge]) -> Time {
        self.inputs.iter().map(|&input| edges[input].horizon).min().unwrap_or(Time::MAX)
    }

    /// When something happens next.
    pub fn next(&self, edges: &[Edge]) -> Time {
        let own = self.link.next_event().unwrap_or(Time::MAX);
        self.inputs.iter().map(|&input| edges[input].next()).fold(own, Time::min)
    }

    /// Lets everything happen before `until`.
    pub fn advance(&mut self, until: Time, edges: &mut [Edge], routes: &Routes, lost: &mut Vec<Lost>) {
        loop {
            let tick = self.ticker.before(until);
            self.run(tick.map_or(until, Tick::covers), edges, routes, lost);
            let Some(tick) = tick else { break };
            self.look(tick);
            self.ticker.pass(tick);
        }
        self.done = until;
        self.publish(edges);
    }

    /// Tells the edges how far they are known.
    pub fn publish(&self, edges: &mut [Edge]) {
        for &output in &self.outputs {
            edges[output].horizon = self.done + self.link.delay();
        }
    }

    /// Statistics are over half-open windows, samples cover everything up to and including their time.
    fn look(&mut self, tick: Tick) {
        let before = |at: Time| at - TimeDelta::from_nanos(1);
        match tick {
            Tick::Sample(at) => {
                self.link.settle(at);
                self.recorder.sample(at, &mut self.link);
            }
            Tick::Begin(at) => {
                self.link.settle(before(at));
                self.recorder.begin(at, &mut self.link);
            }
            Tick::End(at) => {
                self.link.settle(before(at));
                self.recorder.end(at, &mut self.link);
            }
        }
    }

    #[inline]
    fn run(&mut self, until: Time, edges: &mut [Edge], routes: &Routes, lost: &mut Vec<Lost>) {
        if let [input] = self.inputs[..] {
            while edges[input].next() < until {
                if let Some((now, packet)) = edges[input].pop() {
                    self.offer(now, packet, edges, routes, lost);
                }
            }
        } else {
            self.run_merged(until, edges, routes, lost);
        }
        let recorder = &mut self.recorder;
        self.link.advance(until, &mut |departure| hand_on(departure, recorder, edges, routes));
        while let Some((at, packet)) = self.link.take_dropped() {
            lost.push(Lost { missed: at + self.link.delay(), packet });
        }
    }

    fn run_merged(&mut self, until: Time, edges: &mut [Edge], routes: &Routes, lost: &mut Vec<Lost>) {
        let mut merge = std::mem::take(&mut self.merge);
        merge.clear();
        for &input in &self.inputs {
            if edges[input].next() < until {
                merge.push(Reverse((edges[input].next(), edges[input].next_flow(), input)));
            }
        }
        while let Some(mut first) = merge.peek_mut() {
            let Reverse((_, _, input)) = *first;
            let Some((now, packet)) = edges[input].pop() else { break };
            let (next, flow) = (edges[input].next(), edges[input].next_flow());
            if next < until {
                *first = Reverse((next, flow, input));
                drop(first);
            } else {
                std::collections::binary_heap::PeekMut::pop(first);
            }
            self.offer(now, packet, edges, routes, lost);
        }
        self.merge = merge;
    }

    #[inline]
    fn offer(
        &mut self,
        now: Time,
        packet: Packet,
        edges: &mut [Edge],
        routes: &Routes,
        lost: &mut Vec<Lost>,
    ) {
        self.events += 1;
        let recorder = &mut self.recorder;
        let offered =
            self.link.offer(now, packet, &mut |departure| hand_on(departure, recorder, edges, routes));
        if !matches!(offered, Offered::Accepted) {
            lost.push(Lost { missed: now + self.link.delay(), packet });
        }
    }

    /// What the link's recorder has gathered.
    pub fn into_recorder(self) -> LinkRecorder {
        self.recorder
    }
}

#[inline]
fn hand_on(
    departure: paceline_link::Departure<Packet>,
    recorder: &mut LinkRecorder,
    edges: &mut [Edge],
    routes: &Routes,
) {
    recorder.departed(departure.departed, departure.wait);
    let mut packet = departure.packet;
    packet.cross(departure.wait, departure.noise);
    edges[routes.edge(&packet)].push(departure.arrives, packet);
}
