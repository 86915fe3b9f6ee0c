//! Ends of flows and links that go on at the same time, on several threads.
//!
//! The ends are divided into crowds, and the links are apart from them. Each part goes on as far as is known when a round
//! begins, with what is under way to it; what it tells the others lies in edges of its own meanwhile, and is handed over
//! between rounds. So links forward the packets of one window while senders send those of the next, and no part sees how
//! far another has come: the bits are those of one thread.

use crate::edge::Numbered;
use crate::flow::AnyFlow;
use crate::graph::{Component, Part};
use crate::host::{Flows, Host};
use crate::net::Net;
use paceline_units::Time;
use std::ops::Range;

/// What a round has done.
#[derive(Clone, Copy, Default, Debug)]
pub struct Work {
    /// How often a component was asked to go on.
    pub visits: u64,
    /// What happened at those.
    pub events: u64,
}

impl Work {
    /// A component was asked to go on, and had counted so many events before and after.
    fn count(&mut self, before: u64, after: u64) {
        self.visits += 1;
        self.events += after - before;
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.visits += other.visits;
        self.events += other.events;
    }
}

/// The ends of some flows, whose hosts have no others.
pub struct Ends<'a> {
    /// Those of the world.
    pub components: &'a [Component],
    /// The flows that these ends belong to.
    pub flows: Flows<'a>,
    /// The hosts of those flows' sending ends.
    pub hosts: &'a mut [Host],
    /// Of receivers, hosts and links, by the numbers of the components: everything before this has happened.
    pub receivers: Numbered<&'a mut [Time]>,
    pub senders: Numbered<&'a mut [Time]>,
    pub links: Numbered<&'a [Time]>,
}

impl Ends<'_> {
    /// Every end once, as far as its inputs are known.
    pub fn advance(&mut self, until: Time, net: &mut Net) -> Work {
        let mut work = Work::default();
        for flow in self.flows.first..self.flows.first + self.flows.items.len() {
            let known = self.known(flow, net).min(until);
            if known > self.receivers[flow] {
                let end = &mut self.flows[flow];
                let before = end.events();
                end.advance_receiver(known, net);
                work.count(before, end.events());
                self.receivers[flow] = known;
            }
        }
        for place in 0..self.hosts.len() {
            let component = self.senders.first + place;
            let known = self.known(component, net).min(until);
            if known > self.senders[component] {
                let host = &mut self.hosts[place];
                let before = host.events(&self.flows);
                host.advance(known, &mut self.flows, net);
                work.count(before, host.events(&self.flows));
                self.senders[component] = known;
            }
        }
        work
    }

    /// How far the inputs of a component are known.
    fn known(&self, component: usize, net: &Net) -> Time {
        known(&self.components[component], net, |source| {
            if source >= self.links.first {
                self.links[source]
            } else if source >= self.senders.first {
                self.senders[source]
            } else {
                self.receivers[source]
            }
        })
    }
}

/// How far the inputs of a component are known, of which each source is `done` until some time.
pub fn known(component: &Component, net: &Net, done: impl Fn(usize) -> Time) -> Time {
    let inputs = component.inputs.iter().map(|&input| &net.edges[input]);
    inputs.map(|edge| done(edge.source as usize) + edge.delay).min().unwrap_or(Time::MAX)
}

/// Every link once, as far as its inputs are known; `ends` and `links` are done until those times.
pub fn advance_links(
    components: &[Component],
    ends: &[Time],
    links: &mut [Time],
    until: Time,
    net: &mut Net,
) -> Work {
    let mut work = Work::default();
    for hop in 0..links.len() {
        let done = |source: usize| ends.get(source).copied().unwrap_or_else(|| links[source - ends.len()]);
        let known = known(&components[ends.len() + hop], net, done).min(until);
        if known > links[hop] {
            let before = net.hops[hop].events();
            net.advance(hop, known);
            work.count(before, net.hops[hop].events());
            links[hop] = known;
        }
    }
    work
}

/// Some flows with their hosts, and room for what is under way to and from them.
struct Crowd {
    flows: Range<usize>,
    hosts: Range<usize>,
    net: Net,
    /// Edges that packets come on from links.
    arriving: Vec<usize>,
    /// Edges that packets take to links.
    leaving: Vec<usize>,
    /// Edges from the receiver of a flow to its sender.
    inside: Vec<usize>,
    work: Work,
}

/// The crowds of a world, and the threads that they run on.
pub struct Crowds {
    crowds: Vec<Crowd>,
    pool: rayon::ThreadPool,
}

/// A world between two rounds.
pub struct World<'a> {
    pub components: &'a [Component],
    pub flows: &'a mut [AnyFlow],
    pub hosts: &'a mut [Host],
    pub net: &'a mut Net,
    /// Of each component: everything before this has happened.
    pub done: &'a mut [Time],
}

/// So many crowds for each thread, since they differ in what they have to do.
const PER_THREAD: usize = 4;

impl Crowds {
    /// Crowds for so many threads; absent if there are no threads to be had.
    pub fn new(threads: usize, world: &World<'_>) -> Option<Crowds> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
        let flows = world.flows.len();
        // Hosts of several flows come first, and are in one crowd with all that they have.
        let several = world.hosts.iter().take_while(|host| matches!(host, Host::Coupled(_))).count();
        let shared = world.hosts[..several].iter().flat_map(Host::flows);
        let first = shared.max().map_or(0, |flow| flow + 1);
        let size = flows.div_ceil(threads * PER_THREAD).max(1);
        let (mut crowds, mut flow, mut host) = (Vec::new(), 0, 0);
        while flow < flows {
            let end = if flow == 0 { first.max(size) } else { flow + size }.min(flows);
            let alone = world.hosts[several..].partition_point(|host| host.flows()[0] < end);
            crowds.push(Crowd::new(flow..end, host..several + alone, world));
            (flow, host) = (end, several + alone);
        }
        Some(Crowds { crowds, pool })
    }

    /// Takes what is under way over from the net; to be given back with [`Crowds::leave`].
    pub fn enter(&mut self, net: &mut Net) {
        for crowd in &mut self.crowds {
            crowd.arriving.iter().chain(&crowd.inside).for_each(|&edge| crowd.net.take_over(edge, net));
        }
    }

    /// Gives the net back what is under way.
    pub fn leave(&mut self, net: &mut Net) {
        for crowd in &mut self.crowds {
            crowd.arriving.iter().chain(&crowd.inside).for_each(|&edge| net.take_over(edge, &mut crowd.net));
        }
        net.woken.clear();
    }

    /// Every component once, as far as its inputs are known when the round begins.
    pub fn advance(&mut self, until: Time, world: &mut World<'_>) -> Work {
        let before = world.done.to_vec();
        let (receivers, hosts) = (world.flows.len(), world.hosts.len());
        let (ends_before, links_before) = before.split_at(receivers + hosts);
        let (done_ends, done_links) = world.done.split_at_mut(receivers + hosts);
        let (components, net) = (world.components, &mut *world.net);
        let mut links = Work::default();
        let mut rest = (&mut *world.flows, &mut *world.hosts, done_ends.split_at_mut(receivers));
        self.pool.scope(|scope| {
            let links = &mut links;
            scope.spawn(move |_| *links = advance_links(components, ends_before, done_links, until, net));
            for crowd in &mut self.crowds {
                let (flows, hosts) = (crowd.flows.clone(), crowd.hosts.clone());
                let mut ends = Ends {
                    components,
                    flows: Numbered { first: flows.start, items: take(&mut rest.0, flows.len()) },
                    hosts: take(&mut rest.1, hosts.len()),
                    receivers: Numbered { first: flows.start, items: take(&mut rest.2.0, flows.len()) },
                    senders: Numbered {
                        first: receivers + hosts.start,
                        items: take(&mut rest.2.1, hosts.len()),
                    },
                    links: Numbered { first: ends_before.len(), items: links_before },
                };
                scope.spawn(move |_| crowd.work = ends.advance(until, &mut crowd.net));
            }
        });
        for crowd in &mut self.crowds {
            crowd.arriving.iter().for_each(|&edge| crowd.net.take_over(edge, world.net));
            crowd.leaving.iter().for_each(|&edge| world.net.take_over(edge, &mut crowd.net));
            crowd.net.woken.clear();
            links += crowd.work;
        }
        world.net.woken.clear();
        links
    }
}

/// The first `count` of a slice, which has the others left.
fn take<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, rest) = std::mem::take(slice).split_at_mut(count);
    *slice = rest;
    first
}

impl Crowd {
    fn new(flows: Range<usize>, hosts: Range<usize>, world: &World<'_>) -> Crowd {
        // The edges of a flow are laid one after another, beginning with the one that it sends on.
        let begin = |flow: usize| world.flows.get(flow).map(|flow| flow.wiring().data_out.0);
        let edges = begin(flows.start).unwrap_or(0)..begin(flows.end).unwrap_or(world.net.edges.items.len());
        let is_link = |component: u32| matches!(world.components[component as usize].part, Part::Link(_));
        let (mut arriving, mut leaving, mut inside) = (Vec::new(), Vec::new(), Vec::new());
        for edge in edges.clone() {
            let joins = &world.net.edges[edge];
            match (is_link(joins.source), is_link(joins.target)) {
                (true, false) => arriving.push(edge),
                (false, true) => leaving.push(edge),
                (false, false) => inside.push(edge),
                (true, true) => {}
            }
        }
        let net = world.net.part(edges);
        Crowd { flows, hosts, net, arriving, leaving, inside, work: Work::default() }
    }
}
