//! The network between the ends of flows: links, and the edges that hold what is under way between components.
//!
//! A packet that reaches a link with one feeder only, which keeps the order, need not wait until others are known: it is
//! offered at once. Where its departure is known then, because the queue is drop-tail or nothing is ahead, it goes
//! through a chain of such links without a stop. Their samples are taken on the way.

use crate::edge::{Edge, Edges, Numbered, Passage};
use crate::hop::{Forwarded, Hop, Lost};
use crate::packet::{Packet, PacketRun};
use paceline_link::{Arrival, Planned};
use paceline_metrics::ReceivedPacket;
use paceline_units::Time;

/// Links and edges.
pub struct Net {
    /// Edges that join ends and links; they hold packets that are under way.
    pub edges: Edges,
    /// Links with their recorders.
    pub hops: Vec<Hop>,
    /// Packets that links dropped or lost and whose flow does not know it yet.
    pub lost: Vec<Lost>,
    /// A packet that arrives at a link before this time may pass it at once.
    reach: Time,
    /// Packets that reached the receiver which goes on now, and that it has not recorded yet.
    pub arrivals: Vec<ReceivedPacket>,
    /// Packets that left a link and are not carried on yet.
    forwarded: Vec<Forwarded>,
    /// Components whose next event may have moved, because of what came to them.
    pub woken: Vec<u32>,
}

impl Net {
    /// A network before anything happened.
    pub fn new(hops: Vec<Hop>, edges: Vec<Edge>) -> Net {
        let (lost, arrivals, forwarded, woken) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let edges = Numbered { first: 0, items: edges };
        let mut net = Net { edges, hops, lost, arrivals, reach: Time::ZERO, forwarded, woken };
        for hop in 0..net.hops.len() {
            match net.hops[hop].inputs[..] {
                [input] if net.keeps_order(input) => {
                    let passage = if net.hops[hop].is_plain() { Passage::Plain } else { Passage::Any };
                    net.edges[input].passes = passage(hop as u32);
                }
                [] | [_] => {}
                ref inputs => inputs.iter().for_each(|&input| net.edges[input].merges = Some(hop as u32)),
            }
        }
        net
    }

    /// Room for what is under way at the ends of some flows, apart from the links: edges with these numbers.
    pub fn part(&self, edges: std::ops::Range<usize>) -> Net {
        let items = edges.clone().map(|edge| self.edges[edge].part()).collect();
        Net { edges: Numbered { first: edges.start, items }, ..Net::new(Vec::new(), Vec::new()) }
    }

    /// Takes over what is under way on an edge of another part.
    pub fn take_over(&mut self, edge: usize, other: &mut Net) {
        if self.edges[edge].take_over(&mut other.edges[edge]) {
            self.wake(edge);
        }
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
    #[inline(always)]
    pub fn carry(&mut self, edge: usize, at: Time, packet: &mut Packet) {
        match self.edges[edge].passage(at, self.reach) {
            Passage::Plain(hop) => self.pass_plain(hop as usize, at, packet),
            Passage::Any(hop) => self.pass_any(hop as usize, at, packet),
            Passage::Waits => self.arrive(edge, at, packet),
        }
    }

    /// Packets arrive one after the other where `edge` ends. Links that all of them find idle only add to their times.
    #[inline(never)]
    pub fn carry_run(&mut self, mut edge: usize, mut run: PacketRun) {
        while let Passage::Plain(hop) = self.edges[edge].passage(run.last_at(), self.reach) {
            let link = &mut self.hops[hop as usize];
            if let Some(later) = run.split_off(link.look_before(run.at)) {
                self.carry_run(edge, run);
                return self.carry_run(edge, later);
            }
            let Some(next) = link.pass_run(&mut run) else { break };
            edge = next;
        }
        if let Passage::Waits = self.edges[edge].passage(run.at, self.reach) {
            // The others wait with the first.
            if self.edges[edge].push_run(run) {
                self.wake(edge);
            }
        } else {
            run.for_each(|(at, mut packet)| self.carry(edge, at, &mut packet));
        }
    }

    /// A packet is under way on an edge until `at`.
    #[inline(always)]
    fn arrive(&mut self, edge: usize, at: Time, packet: &Packet) {
        if self.edges[edge].push(at, packet) {
            self.wake(edge);
        }
    }

    /// A packet has become the next on an edge.
    #[inline(never)]
    fn wake(&mut self, edge: usize) {
        let joins = &self.edges[edge];
        self.woken.push(joins.target);
        if let Some(hop) = joins.merges {
            self.hops[hop as usize].note_head(edge, joins);
        }
    }

    /// A packet comes to a link, and to those behind as far as it need not wait.
    fn pass(&mut self, hop: usize, at: Time, packet: &mut Packet) {
        match self.hops[hop].is_plain() {
            true => self.pass_plain(hop, at, packet),
            false => self.pass_any(hop, at, packet),
        }
    }

    /// The same from a plain link on.
    #[inline(never)]
    fn pass_plain(&mut self, hop: usize, at: Time, packet: &mut Packet) {
        self.pass_links::<true>(hop, at, packet);
    }

    /// The same from a link on that need not be plain: apart from the others, whose path is short.
    #[inline(never)]
    fn pass_any(&mut self, hop: usize, at: Time, packet: &mut Packet) {
        self.pass_links::<false>(hop, at, packet);
    }

    #[inline(always)]
    fn pass_links<const PLAIN: bool>(&mut self, mut hop: usize, mut at: Time, packet: &mut Packet) {
        loop {
            let link = &mut self.hops[hop];
            link.look_before(at);
            let planned = link.plan::<PLAIN>(at, packet);
            if !PLAIN {
                link.note_timer(&mut self.woken);
            }
            let plan = match planned {
                Planned::Departs(plan) => plan,
                Planned::Stays => return,
                Planned::Dropped | Planned::Lost => return self.lost.push(link.lose(at, packet)),
                Planned::Undecided => return self.offer(hop, at, packet),
            };
            let edge = link.depart(&plan, packet);
            if !PLAIN && plan.arrival != Arrival::Whole {
                return self.arrive_otherwise(
                    hop,
                    Forwarded { edge, at: plan.arrives, packet: *packet, arrival: plan.arrival },
                );
            }
            (hop, at) = match self.edges[edge].passage(plan.arrives, self.reach) {
                Passage::Any(next) if PLAIN => return self.pass_any(next as usize, plan.arrives, packet),
                Passage::Plain(next) | Passage::Any(next) => (next as usize, plan.arrives),
                Passage::Waits => return self.arrive(edge, plan.arrives, packet),
            };
        }
    }

    /// A packet left a link, and arrives damaged or twice.
    #[cold]
    fn arrive_otherwise(&mut self, hop: usize, forwarded: Forwarded) {
        let Forwarded { edge, at, mut packet, arrival } = forwarded;
        match arrival {
            Arrival::Damaged => self.lost.push(Lost { missed: at, packet }),
            Arrival::Whole => self.carry(edge, at, &mut packet),
            Arrival::Twice => {
                let copy = packet.copy();
                self.carry(edge, at, &mut packet);
                if let Some(mut copy) = copy {
                    self.carry(edge, at + self.hops[hop].copy_delay(), &mut copy);
                }
            }
        }
    }

    /// To a link that holds the packet: departures that have happened come first.
    #[inline(never)]
    fn offer(&mut self, hop: usize, at: Time, packet: &Packet) {
        let first = self.forwarded.len();
        let is_accepted = self.hops[hop].offer(at, packet, &mut self.forwarded);
        self.hops[hop].note_next(&mut self.woken);
        self.carry_on(hop, first);
        if !is_accepted {
            self.lost.push(self.hops[hop].lose(at, packet));
        }
    }

    /// Carries on the packets that have departed from a link since there were `first` of them.
    fn carry_on(&mut self, hop: usize, first: usize) {
        let mut index = first;
        while let Some(forwarded) = self.forwarded.get(index) {
            // Links behind leave the list as they found it.
            if forwarded.arrival == Arrival::Whole {
                let Forwarded { edge, at, mut packet, .. } = *forwarded;
                self.carry(edge, at, &mut packet);
            } else {
                self.arrive_otherwise(hop, *forwarded);
            }
            index += 1;
        }
        self.forwarded.truncate(first);
    }

    /// Lets everything happen at a link before `until`.
    pub fn advance(&mut self, hop: usize, until: Time) {
        match self.hops[hop].inputs[..] {
            [input] if !matches!(self.edges[input].passes, Passage::Waits) => {
                // Packets that had to wait go as far as the one that comes now, which must not overtake them.
                while let Some((at, mut packet)) = self.edges[input].pop_before(until.max(self.reach)) {
                    self.pass(hop, at, &mut packet);
                }
                self.hops[hop].look_before(until);
                self.advance_link(hop, until);
            }
            _ => self.advance_slowly(hop, until),
        }
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
                while let Some((at, mut packet)) = self.edges[input].pop_before(until) {
                    self.pass(hop, at, &mut packet);
                }
            }
            _ => self.run_merged(hop, until),
        }
        self.advance_link(hop, until);
    }

    fn advance_link(&mut self, hop: usize, until: Time) {
        let first = self.forwarded.len();
        self.hops[hop].advance_link(until, &mut self.forwarded, &mut self.lost);
        self.carry_on(hop, first);
    }

    fn run_merged(&mut self, hop: usize, until: Time) {
        while let Some((at, mut packet)) = self.hops[hop].take_head(until, &mut self.edges) {
            self.pass(hop, at, &mut packet);
        }
    }
}
