//! The network between the ends of flows: links, and the edges that hold what is under way between components.
//!
//! A packet that reaches a link which predicts, and has one feeder only, needs no place to wait for its turn: it passes
//! at once, and so goes through a chain of such links without a stop. Their samples are taken on the way.

use crate::edge::Edge;
use crate::hop::{Fate, Hop, Lost};
use crate::packet::Packet;
use paceline_units::Time;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

/// Links and edges.
pub struct Net {
    /// What the ends and links are joined by.
    pub edges: Vec<Edge>,
    /// The links.
    pub hops: Vec<Hop>,
    /// What links did not carry, and no flow knows yet.
    pub lost: Vec<Lost>,
    /// What arrives at a link before this may pass at once.
    reach: Time,
}

impl Net {
    /// A network before anything happened.
    pub fn new(hops: Vec<Hop>, edges: Vec<Edge>) -> Net {
        let mut net = Net { edges, hops, lost: Vec::new(), reach: Time::ZERO };
        for hop in 0..net.hops.len() {
            net.hops[hop].publish(&mut net.edges);
            if let [input] = net.hops[hop].inputs[..]
                && net.hops[hop].is_predicted()
                && net.keeps_order(input)
            {
                net.edges[input].passes = Some(hop as u32);
            }
        }
        net
    }

    /// Whether packets come onto an edge in the order in which they arrive.
    fn keeps_order(&self, edge: usize) -> bool {
        self.hops.iter().all(|hop| hop.keeps_order() || !hop.outputs.contains(&edge))
    }

    /// Lets packets pass several links at once as far as this; nothing that may be told by then is told later.
    pub fn look_ahead(&mut self, reach: Time) {
        self.reach = reach;
    }

    /// A packet arrives at `at` where `edge` ends.
    #[inline]
    pub fn carry(&mut self, edge: usize, at: Time, packet: Packet) {
        match self.passed(edge, at) {
            Some(hop) => self.pass(hop, at, packet),
            None => self.edges[edge].push(at, packet),
        }
    }

    /// The link that a packet which arrives at `at` where `edge` ends may pass at once.
    #[inline]
    fn passed(&self, edge: usize, at: Time) -> Option<usize> {
        let edge = &self.edges[edge];
        let hop = edge.passes.filter(|_| at < self.reach && edge.is_empty())?;
        Some(hop as usize)
    }

    /// A packet comes to a link that predicts, and to what follows it as far as that predicts, too.
    #[inline(never)]
    fn pass(&mut self, mut hop: usize, mut at: Time, mut packet: Packet) {
        loop {
            let link = &mut self.hops[hop];
            link.look_before(at);
            match link.pass(at, &mut packet) {
                Fate::Arrives(edge, arrives) => match self.passed(edge, arrives) {
                    Some(next) => (hop, at) = (next, arrives),
                    None => return self.edges[edge].push(arrives, packet),
                },
                Fate::Stays => return,
                Fate::Lost(missed) => return self.lost.push(Lost { missed, packet }),
            }
        }
    }

    /// How far a link's inputs are known.
    pub fn known(&self, hop: usize) -> Time {
        self.hops[hop].known(&self.edges)
    }

    /// Lets everything happen at a link before `until`.
    pub fn advance(&mut self, hop: usize, until: Time) {
        match self.hops[hop].inputs[..] {
            [input] if self.edges[input].passes.is_some() => {
                // What had to wait goes as far as what comes now, which must not overtake it.
                while let Some((at, packet)) = self.edges[input].pop_before(until.max(self.reach)) {
                    self.pass(hop, at, packet);
                }
                self.hops[hop].look_before(until);
            }
            _ => self.advance_slowly(hop, until),
        }
        let hop = &mut self.hops[hop];
        hop.done = until;
        hop.publish(&mut self.edges);
    }

    /// From sample to sample.
    fn advance_slowly(&mut self, hop: usize, until: Time) {
        while self.hops[hop].next_look() <= until {
            let look = self.hops[hop].next_look();
            self.run(hop, look);
            self.hops[hop].look_before(look);
        }
        self.run(hop, until);
    }

    fn run(&mut self, hop: usize, until: Time) {
        match self.hops[hop].inputs[..] {
            [input] => {
                while let Some((at, packet)) = self.edges[input].pop_before(until) {
                    self.offer(hop, at, packet);
                }
            }
            _ => self.run_merged(hop, until),
        }
        self.hops[hop].advance_link(until, &mut self.edges, &mut self.lost);
    }

    fn run_merged(&mut self, hop: usize, until: Time) {
        let mut merge = std::mem::take(&mut self.hops[hop].merge);
        merge.clear();
        for &input in &self.hops[hop].inputs {
            let edge = &self.edges[input];
            if edge.next() < until {
                merge.push(Reverse((edge.next(), edge.next_flow(), input)));
            }
        }
        while let Some(mut first) = merge.peek_mut() {
            let Reverse((_, _, input)) = *first;
            let edge = &mut self.edges[input];
            let Some((at, packet)) = edge.pop() else { break };
            let (next, flow) = (edge.next(), edge.next_flow());
            if next < until {
                *first = Reverse((next, flow, input));
                drop(first);
            } else {
                PeekMut::pop(first);
            }
            self.offer(hop, at, packet);
        }
        self.hops[hop].merge = merge;
    }

    #[inline(never)]
    fn offer(&mut self, hop: usize, at: Time, packet: Packet) {
        if self.hops[hop].is_predicted() {
            return self.pass(hop, at, packet);
        }
        self.hops[hop].offer(at, packet, &mut self.edges, &mut self.lost);
    }
}
