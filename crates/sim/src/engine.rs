//! The engine: lets components run, each alone, as far as its inputs are known.
//!
//! Where all have something to do it goes from one to the next, over windows as long as the delays between them. Where
//! most have nothing to do, or delays are so short that windows are, those go on one by one that have: the one whose next
//! event is first, as far as no other can reach it. So the cost follows the events, whatever the delays.

use crate::edge::Edge;
use crate::flow::AnyFlow;
use crate::graph::{Component, Part, components};
use crate::hop::{Hop, Lost};
use crate::host::Host;
use crate::net::Net;
use crate::schedule::Schedule;
use paceline_units::{Time, TimeDelta};

/// How the engine goes through time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// Each component alone over a window bounded by the delays between components, or from event to event.
    #[default]
    Windowed,
    /// One point in time after another, everywhere. Slow; the oracle of the windowed pace.
    Stepped,
}

/// A world that runs.
pub struct Engine {
    pub(crate) flows: Vec<AnyFlow>,
    /// Where the flows' senders run.
    pub hosts: Vec<Host>,
    pub(crate) net: Net,
    components: Vec<Component>,
    pace: Pace,
    /// Of each component: everything before this has happened.
    done: Vec<Time>,
    /// Which component is next, while they go on one by one.
    schedule: Schedule,
    visits: u64,
}

const TICK: TimeDelta = TimeDelta::from_nanos(1);
/// A round over all components pays where there is at least one event for so many of them.
const IDLE: u64 = 4;
/// After a round that did not pay, components go on one by one for so many rounds' worth of visits.
const PATIENCE: u64 = 8;

impl Engine {
    /// A world before anything happened. Every flow's sender runs on one of the hosts.
    pub(crate) fn assemble(
        flows: Vec<AnyFlow>,
        hosts: Vec<Host>,
        mut hops: Vec<Hop>,
        mut edges: Vec<Edge>,
        pace: Pace,
    ) -> Engine {
        let parts = join(&flows, &hosts, &mut hops, &mut edges);
        let components = components(parts, &edges);
        let (done, schedule) = (vec![Time::ZERO; components.len()], Schedule::new(components.len()));
        Engine { flows, hosts, net: Net::new(hops, edges), components, pace, done, schedule, visits: 0 }
    }

    /// How far the world has come: everything before this has happened.
    pub fn done(&self) -> Time {
        self.done.iter().copied().min().unwrap_or(Time::MAX)
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

    /// How often a component was asked to go on.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// Lets everything happen before `until`.
    pub fn advance(&mut self, until: Time) {
        while self.done() < until {
            match self.pace {
                Pace::Stepped => self.step(until),
                Pace::Windowed => {
                    let (visits, events) = (self.visits, self.advance_windows(until));
                    if events * IDLE <= self.visits - visits {
                        self.advance_singly(until);
                    }
                }
            }
        }
    }

    /// Every component once, as far as its inputs are known. How many events happened at ends and links by that.
    fn advance_windows(&mut self, until: Time) -> u64 {
        self.net.look_ahead(until);
        let mut events = 0;
        for component in 0..self.components.len() {
            let known = self.known(component).min(until);
            if known > self.done[component] {
                let before = self.events_at(component);
                self.visit(component, known);
                events += self.events_at(component) - before;
            }
        }
        // What came to a component is found by the next round.
        self.net.woken.clear();
        events
    }

    /// How far the inputs of a component are known.
    fn known(&self, component: usize) -> Time {
        let inputs = self.components[component].inputs.iter();
        let known = inputs.map(|&input| {
            let edge = &self.net.edges[input];
            self.done[edge.source as usize] + edge.delay
        });
        known.min().unwrap_or(Time::MAX)
    }

    /// Lets everything happen at a component before `until`.
    fn visit(&mut self, component: usize, until: Time) {
        self.visits += 1;
        self.done[component] = until;
        match self.components[component].part {
            Part::Receiver(flow) => self.flows[flow].advance_receiver(until, &mut self.net),
            Part::Host(host) => self.hosts[host].advance(until, &mut self.flows, &mut self.net),
            Part::Link(hop) => self.net.advance(hop, until),
        }
        self.settle_losses();
    }

    fn events_at(&self, component: usize) -> u64 {
        match self.components[component].part {
            Part::Receiver(flow) => self.flows[flow].events(),
            Part::Host(host) => self.hosts[host].flows().iter().map(|&flow| self.flows[flow].events()).sum(),
            Part::Link(hop) => self.net.hops[hop].events(),
        }
    }

    /// When something happens next at a component.
    fn next_at(&self, component: usize) -> Time {
        match self.components[component].part {
            Part::Receiver(flow) => self.flows[flow].receiver_next(&self.net.edges),
            Part::Host(host) => self.hosts[host].next(&self.flows, &self.net.edges),
            Part::Link(hop) => self.net.hops[hop].next(&self.net.edges),
        }
    }

    /// The component whose next event is first, and so on, for a while. Where nothing happens before `until`, all are done.
    fn advance_singly(&mut self, until: Time) {
        let components = self.components.len();
        self.net.hops.iter_mut().for_each(|hop| hop.woken = false);
        self.net.woken.clear();
        (0..components).for_each(|component| self.schedule(component));
        let enough = self.visits + PATIENCE * components as u64;
        while self.schedule.first().0 < until && self.visits < enough {
            let (now, component) = self.schedule.first();
            let known = self.alone_until(now, component).min(until);
            self.visit(component, known.max(self.done[component]));
            self.schedule(component);
            while let Some(woken) = self.net.woken.pop() {
                if let Part::Link(hop) = self.components[woken as usize].part {
                    self.net.hops[hop].woken = false;
                }
                self.schedule(woken as usize);
            }
        }
        let (first, _) = self.schedule.first();
        if first < until {
            // Before the first event of all nothing happens.
            self.done.iter_mut().for_each(|done| *done = first.max(*done));
        } else {
            (0..components).for_each(|component| self.visit(component, until));
        }
    }

    /// How far the component goes on by itself whose next event, at `now`, is the first of all. What others tell it is told
    /// at their next event, or when what it tells them has come to one of them. If that is no time at all, those before it
    /// that may tell it something at `now` have had their turn.
    fn alone_until(&self, now: Time, component: usize) -> Time {
        let component = &self.components[component];
        let others = self.schedule.second().min(now + component.nearest_out);
        (others + component.nearest_in).max(now + TICK)
    }

    /// Notes when a component is next.
    fn schedule(&mut self, component: usize) {
        self.schedule.set(component, self.next_at(component));
    }

    /// The next point in time at which anything happens, everywhere. What another component does at the same time is
    /// waited for, as between windows; where components without delay between them wait for each other, receivers go
    /// first, then hosts, then links.
    fn step(&mut self, until: Time) {
        self.net.look_ahead(Time::ZERO);
        let components = self.components.len();
        let now = self.next();
        let after = if now < until { now + TICK } else { until };
        while self.step_known(after) {}
        while {
            (0..components).for_each(|component| self.visit(component, after));
            self.next() < after
        } {}
        self.net.woken.clear();
    }

    /// Lets those components go on to `after` whose inputs are known until then. False if there was none.
    fn step_known(&mut self, after: Time) -> bool {
        let mut any = false;
        for component in 0..self.components.len() {
            if self.done[component] < after && self.known(component) >= after {
                self.visit(component, after);
                any = true;
            }
        }
        any
    }

    fn next(&self) -> Time {
        (0..self.components.len()).map(|component| self.next_at(component)).min().unwrap_or(Time::MAX)
    }

    /// What links did not carry is told to its flow.
    fn settle_losses(&mut self) {
        for Lost { missed, packet } in self.net.lost.drain(..) {
            self.flows[packet.flow as usize].drop_packet(missed, &packet);
        }
    }
}

/// Tells the edges which components they join, and links their numbers. Answers what the components are, in the order of
/// their numbers.
fn join(flows: &[AnyFlow], hosts: &[Host], hops: &mut [Hop], edges: &mut [Edge]) -> Vec<Part> {
    let receivers = (0..flows.len()).map(Part::Receiver);
    let parts: Vec<Part> =
        receivers.chain((0..hosts.len()).map(Part::Host)).chain((0..hops.len()).map(Part::Link)).collect();
    for (number, part) in (0..).zip(&parts) {
        match *part {
            Part::Receiver(flow) => {
                let wiring = flows[flow].wiring();
                edges[wiring.data_in].target = number;
                (edges[wiring.reports_out.0].source, edges[wiring.reports_out.0].delay) =
                    (number, wiring.reports_out.1);
            }
            Part::Host(host) => {
                for wiring in hosts[host].flows().iter().map(|&flow| flows[flow].wiring()) {
                    edges[wiring.reports_in].target = number;
                    (edges[wiring.data_out.0].source, edges[wiring.data_out.0].delay) =
                        (number, wiring.data_out.1);
                }
            }
            Part::Link(hop) => {
                let hop = &mut hops[hop];
                hop.number = number;
                hop.inputs.iter().for_each(|&input| edges[input].target = number);
                for &output in &hop.outputs {
                    (edges[output].source, edges[output].delay) = (number, hop.delay() + TICK);
                }
            }
        }
    }
    parts
}
