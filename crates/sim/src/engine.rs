//! The engine: lets components run, each alone, as far as its inputs are known.
//!
//! Where all have something to do it goes from one to the next, over windows as long as the delays between them. Where
//! most have nothing to do, or delays are so short that windows are, those go on one by one that have: the one whose next
//! event is first, as far as no other can reach it. So the cost follows the events, whatever the delays.

use crate::any_flow::AnyFlow;
use crate::crowd::{Crowds, Ends, Work, World, advance_links, known};
use crate::edge::{Edge, Numbered};
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

/// Which rounds are shared between threads.
struct Sharing {
    threads: usize,
    /// Fewest events of a round that is shared.
    events: u64,
    /// How many were.
    rounds: u64,
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
    sharing: Sharing,
    /// The crowds that run on them, once a round was worth it.
    crowds: Option<Crowds>,
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
        let net = Net::new(hops, edges);
        let sharing = Sharing { threads: 1, events: u64::MAX, rounds: 0 };
        Engine { flows, hosts, net, components, pace, done, schedule, visits: 0, sharing, crowds: None }
    }

    /// Lets components run at the same time on so many threads, where a round has so many events.
    pub fn share_rounds(&mut self, threads: usize, events: u64) {
        let threads = threads.min(self.flows.len() + 1);
        self.sharing = Sharing { threads, events: events.max(1), rounds: 0 };
        self.crowds = None;
    }

    /// How many rounds were shared between threads.
    pub fn shared_rounds(&self) -> u64 {
        self.sharing.rounds
    }

    /// How far the world has come: everything before this has happened.
    pub fn done(&self) -> Time {
        self.done.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Data packets that reached a receiver.
    pub fn packets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.packets()).sum()
    }

    /// Events at senders, links and receivers.
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
                    let work = self.advance_windows(until);
                    self.visits += work.visits;
                    if work.events * IDLE <= work.visits {
                        self.advance_singly(until);
                    } else if work.events >= self.sharing.events && self.sharing.threads > 1 {
                        self.advance_crowds(until);
                    }
                }
            }
        }
    }

    /// Every component once, as far as its inputs are known.
    fn advance_windows(&mut self, until: Time) -> Work {
        self.net.look_ahead(until);
        let (receivers, ends) = (self.flows.len(), self.flows.len() + self.hosts.len());
        let (done_ends, done_links) = self.done.split_at_mut(ends);
        let (done_receivers, done_senders) = done_ends.split_at_mut(receivers);
        let mut all = Ends {
            components: &self.components,
            flows: Numbered { first: 0, items: &mut self.flows },
            hosts: &mut self.hosts,
            receivers: Numbered { first: 0, items: done_receivers },
            senders: Numbered { first: receivers, items: done_senders },
        };
        let links = Numbered { first: ends, items: &*done_links };
        let mut work = all.advance(links, until, &mut self.net);
        work += advance_links(&self.components, done_ends, done_links, until, &mut self.net);
        self.settle_losses();
        // A packet that came to a component is found by the next round.
        self.net.woken.clear();
        work
    }

    /// Rounds in which components run at the same time on several threads, while that pays.
    fn advance_crowds(&mut self, until: Time) {
        let world = World {
            components: &self.components,
            flows: &mut self.flows,
            hosts: &mut self.hosts,
            net: &mut self.net,
            done: &mut self.done,
        };
        let crowds = self.crowds.get_or_insert_with(|| Crowds::new(self.sharing.threads, &world));
        // A round of crowds is half of one that goes on as far as is known.
        let (work, rounds) = crowds.advance(until, self.sharing.events.div_ceil(2), world);
        self.visits += work.visits;
        self.sharing.rounds += rounds;
    }

    /// How far the inputs of a component are known.
    fn known(&self, component: usize) -> Time {
        known(&self.components[component], &self.net, |source| self.done[source])
    }

    /// Lets everything happen at a component before `until`.
    fn visit(&mut self, component: usize, until: Time) {
        self.visits += 1;
        self.done[component] = until;
        match self.components[component].part {
            Part::Receiver(flow) => self.flows[flow].advance_receiver(until, &mut self.net),
            Part::Host(host) => {
                let mut flows = Numbered { first: 0, items: &mut self.flows[..] };
                self.hosts[host].advance(until, &mut flows, &mut self.net);
            }
            Part::Link(hop) => self.net.advance(hop, until),
        }
        self.settle_losses();
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

    /// The time up to which a component may go on alone, where its next event, at `now`, is the first of all.
    ///
    /// No message can reach it before then. Another component sends one at its own next event at the earliest, or after a message
    /// from this component has reached it; the shortest delay of the edges into this component comes on top. With edges without
    /// delay the two times may be equal: it then goes on for one tick, since components before it in order have had their turn.
    fn alone_until(&self, now: Time, component: usize) -> Time {
        let component = &self.components[component];
        let others = self.schedule.second().min(now + component.nearest_out);
        (others + component.nearest_in).max(now + TICK)
    }

    /// Notes when a component is next.
    fn schedule(&mut self, component: usize) {
        self.schedule.set(component, self.next_at(component));
    }

    /// The next point in time at which anything happens, everywhere. An event of another component at the same time is waited for, as
    /// between windows; where components without delay between them wait for each other, receivers go first, then hosts, then links.
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

    fn settle_losses(&mut self) {
        settle_losses(&mut self.net, &mut self.flows);
    }
}

/// A packet that links did not carry is told to its flow.
fn settle_losses(net: &mut Net, flows: &mut [AnyFlow]) {
    for Lost { missed, packet } in net.lost.drain(..) {
        flows[packet.flow as usize].drop_packet(missed, &packet);
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
