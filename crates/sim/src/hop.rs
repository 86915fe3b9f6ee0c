//! A link as a component: merges what its feeders offer, in order of (time, flow), and hands on what departs.

use crate::edge::Edge;
use crate::packet::{Lobby, Packet, Token};
use paceline_link::{Link, Offered, Planned};
use paceline_scenario::recorder::{LinkRecorder, Tick, Ticker};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
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

/// A link, its feeders and its recorder.
pub struct Hop {
    link: Link<Token>,
    lobby: Lobby,
    /// Edges that packets arrive on.
    pub inputs: Vec<usize>,
    /// Edges that packets leave on.
    pub outputs: Vec<usize>,
    /// The edge that packets of each flow leave on: forward at twice its number, back at the place after it.
    pub next: Vec<u32>,
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
    pub fn new(link: Link<Token>, recorder: LinkRecorder, ticker: Ticker) -> Hop {
        let (inputs, outputs, next, merge) = (Vec::new(), Vec::new(), Vec::new(), BinaryHeap::new());
        Hop {
            link,
            lobby: Lobby::default(),
            inputs,
            outputs,
            next,
            recorder,
            ticker,
            done: Time::ZERO,
            events: 0,
            merge,
        }
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
    pub fn advance(&mut self, until: Time, edges: &mut [Edge], lost: &mut Vec<Lost>) {
        loop {
            let tick = self.ticker.before(until);
            self.run(tick.map_or(until, Tick::covers), edges, lost);
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
    fn run(&mut self, until: Time, edges: &mut [Edge], lost: &mut Vec<Lost>) {
        match self.inputs[..] {
            [input] if self.link.is_predicted() => self.run_predicted(until, input, edges, lost),
            [input] => {
                while edges[input].next() < until {
                    if let Some((now, packet)) = edges[input].pop() {
                        self.offer(now, packet, edges, lost);
                    }
                }
            }
            _ => self.run_merged(until, edges, lost),
        }
        let Hop { link, lobby, recorder, next, .. } = self;
        link.advance(until, &mut |departure| hand_on(departure, lobby, recorder, next, edges));
        while let Some((at, token)) = self.link.take_dropped() {
            let packet = self.lobby.leave(&token);
            lost.push(Lost { missed: at + self.link.delay(), packet });
        }
    }

    /// One feeder and a queue that knows departures at once: packets go from edge to edge without a stop.
    fn run_predicted(&mut self, until: Time, input: usize, edges: &mut [Edge], lost: &mut Vec<Lost>) {
        while let Some((now, packet)) = edges[input].front().copied().filter(|(now, _)| *now < until) {
            edges[input].drop_front();
            self.pass(now, packet, edges, lost);
        }
    }

    /// A packet and a queue that knows its departure at once.
    #[inline(always)]
    fn pass(&mut self, now: Time, mut packet: Packet, edges: &mut [Edge], lost: &mut Vec<Lost>) {
        self.events += 1;
        match self.link.plan(now, Bytes::new(u64::from(packet.size)), packet.ecn) {
            Planned::Departs(plan) => {
                self.recorder.departed(plan.departed, plan.wait);
                if plan.marked {
                    packet.ecn = Ecn::Ce;
                }
                packet.cross(plan.wait, plan.noise);
                edges[self.next[packet.way()] as usize].push(plan.arrives, packet);
            }
            Planned::Stays => {}
            Planned::Dropped | Planned::Lost => {
                lost.push(Lost { missed: now + self.link.delay(), packet });
            }
        }
    }

    fn run_merged(&mut self, until: Time, edges: &mut [Edge], lost: &mut Vec<Lost>) {
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
            self.offer(now, packet, edges, lost);
        }
        self.merge = merge;
    }

    #[inline(never)]
    fn offer(&mut self, now: Time, packet: Packet, edges: &mut [Edge], lost: &mut Vec<Lost>) {
        if self.link.is_predicted() {
            return self.pass(now, packet, edges, lost);
        }
        self.events += 1;
        let Hop { link, lobby, recorder, next, .. } = self;
        let token = lobby.enter(&packet);
        let mut sink = |departure| hand_on(departure, lobby, recorder, next, edges);
        if !matches!(link.offer(now, token, &mut sink), Offered::Accepted) {
            self.lobby.leave(&token);
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
    departure: paceline_link::Departure<Token>,
    lobby: &mut Lobby,
    recorder: &mut LinkRecorder,
    next: &[u32],
    edges: &mut [Edge],
) {
    recorder.departed(departure.departed, departure.wait);
    let mut packet = lobby.leave(&departure.packet);
    packet.cross(departure.wait, departure.noise);
    edges[next[packet.way()] as usize].push(departure.arrives, packet);
}
