//! The engine: lets components run, each alone, as far as its inputs are known.

use crate::edge::Edge;
use crate::flow::AnyFlow;
use crate::hop::{Hop, Lost};
use crate::host::Host;
use crate::net::Net;
use paceline_units::{Time, TimeDelta};

/// How the engine goes through time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// Each component alone over a window bounded by the delays between components.
    #[default]
    Windowed,
    /// One point in time after another. Slow; the oracle of the windowed pace, and its fallback without delays.
    Stepped,
}

/// A world that runs.
pub struct Engine {
    pub(crate) flows: Vec<AnyFlow>,
    /// Where the flows' senders run.
    pub hosts: Vec<Host>,
    pub(crate) net: Net,
    pace: Pace,
    done: Time,
}

const TICK: TimeDelta = TimeDelta::from_nanos(1);
/// Windows below this are not worth it: without delays they have no length, and with delays of nanoseconds there would
/// be hundreds of millions a second. From event to event is as exact, and never slower than the events are many.
const CREEP: TimeDelta = TimeDelta::from_micros(1);

impl Engine {
    /// A world before anything happened. Every flow's sender runs on one of the hosts.
    pub(crate) fn assemble(
        flows: Vec<AnyFlow>,
        hosts: Vec<Host>,
        hops: Vec<Hop>,
        edges: Vec<Edge>,
        pace: Pace,
    ) -> Engine {
        let mut net = Net::new(hops, edges);
        flows.iter().for_each(|flow| flow.publish(&mut net.edges));
        Engine { flows, hosts, net, pace, done: Time::ZERO }
    }

    /// How far the world has come: everything before this has happened.
    pub fn done(&self) -> Time {
        self.done
    }

    /// Data packets that reached a receiver.
    pub fn packets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.packets()).sum()
    }

    /// What happened at senders, links and receivers.
    pub fn events(&self) -> u64 {
        self.flows.iter().map(|flow| flow.events()).sum::<u64>()
            + self.net.hops.iter().map(|hop| hop.events()).sum::<u64>()
    }

    /// Lets everything happen before `until`.
    pub fn advance(&mut self, until: Time) {
        while self.done < until {
            if self.pace == Pace::Stepped || self.advance_windows(until) < CREEP {
                self.step(until);
            }
            self.done = self.least_done();
        }
    }

    /// Every component once, as far as its inputs are known. The longest way that one of them came.
    fn advance_windows(&mut self, until: Time) -> TimeDelta {
        let mut longest = TimeDelta::ZERO;
        self.net.look_ahead(until);
        for flow in &mut self.flows {
            let known = flow.receiver_known(&self.net.edges).min(until);
            if known > flow.receiver_done() {
                longest = longest.max(known - flow.receiver_done());
                flow.advance_receiver(known, &mut self.net);
            }
        }
        for host in &mut self.hosts {
            let (known, done) = (host.known(&self.flows, &self.net.edges).min(until), host.done(&self.flows));
            if known > done {
                longest = longest.max(known - done);
                host.advance(known, &mut self.flows, &mut self.net);
            }
        }
        for hop in 0..self.net.hops.len() {
            let (known, done) = (self.net.known(hop).min(until), self.net.hops[hop].done);
            if known > done {
                longest = longest.max(known - done);
                self.net.advance(hop, known);
            }
        }
        self.settle_losses();
        longest
    }

    /// The next point in time at which anything happens, everywhere. What another component does at the same time is
    /// waited for, as between windows; where components without delay between them wait for each other, receivers go
    /// first, then senders, then links.
    fn step(&mut self, until: Time) {
        self.net.look_ahead(Time::ZERO);
        let now = self.next();
        let after = if now < until { now + TICK } else { until };
        while self.step_known(after) {}
        while {
            for flow in &mut self.flows {
                flow.advance_receiver(after, &mut self.net);
            }
            for host in &mut self.hosts {
                host.advance(after, &mut self.flows, &mut self.net);
            }
            for hop in 0..self.net.hops.len() {
                self.net.advance(hop, after);
            }
            self.settle_losses();
            self.next() < after
        } {}
    }

    /// Lets those components go on to `after` whose inputs are known until then. False if there was none.
    fn step_known(&mut self, after: Time) -> bool {
        let mut any = false;
        for flow in &mut self.flows {
            if flow.receiver_done() < after && flow.receiver_known(&self.net.edges) >= after {
                flow.advance_receiver(after, &mut self.net);
                any = true;
            }
        }
        for host in &mut self.hosts {
            if host.done(&self.flows) < after && host.known(&self.flows, &self.net.edges) >= after {
                host.advance(after, &mut self.flows, &mut self.net);
                any = true;
            }
        }
        for hop in 0..self.net.hops.len() {
            if self.net.hops[hop].done < after && self.net.known(hop) >= after {
                self.net.advance(hop, after);
                any = true;
            }
        }
        self.settle_losses();
        any
    }

    fn next(&self) -> Time {
        let flows = self.flows.iter().map(|flow| flow.receiver_next(&self.net.edges));
        let hosts = self.hosts.iter().map(|host| host.next(&self.flows, &self.net.edges));
        let hops = self.net.hops.iter().map(|hop| hop.next(&self.net.edges));
        flows.chain(hosts).chain(hops).min().unwrap_or(Time::MAX)
    }

    fn least_done(&self) -> Time {
        let flows = self.flows.iter().map(|flow| flow.sender_done().min(flow.receiver_done()));
        flows.chain(self.net.hops.iter().map(|hop| hop.done)).min().unwrap_or(Time::MAX)
    }

    /// What links did not carry is told to its flow.
    fn settle_losses(&mut self) {
        for Lost { missed, packet } in self.net.lost.drain(..) {
            self.flows[packet.flow as usize].drop_packet(missed, &packet);
        }
    }
}
