//! Ends of flows and links that go on at the same time, on several threads.
//!
//! The ends are divided into crowds, and the links are apart from them. Each part goes on as far as is known when a round
//! begins, with what is under way to it; what it tells the others lies in edges of its own meanwhile, and is handed over
//! between rounds. So links forward the packets of one window while senders send those of the next, and no part sees how
//! far another has come: the bits are those of one thread.

use crate::any_flow::AnyFlow;
use crate::edge::Numbered;
use crate::graph::{Component, Part};
use crate::hop::Lost;
use crate::host::{Flows, Host};
use crate::net::Net;
use crate::team;
use paceline_units::{Time, TimeDelta};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The work of a round.
#[derive(Clone, Copy, Default, Debug)]
pub struct Work {
    /// How often a component was asked to go on.
    pub visits: u64,
    /// Events at those.
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
    /// Components of the world.
    pub components: &'a [Component],
    /// The flows that these ends belong to.
    pub flows: Flows<'a>,
    /// The hosts of those flows' sending ends.
    pub hosts: &'a mut [Host],
    /// Of receivers and hosts, by the numbers of the components: everything before this has happened.
    pub receivers: Numbered<&'a mut [Time]>,
    pub senders: Numbered<&'a mut [Time]>,
}

impl Ends<'_> {
    /// Every end once, as far as its inputs are known; `links` are done until those times.
    pub fn advance(&mut self, links: Numbered<&[Time]>, until: Time, net: &mut Net) -> Work {
        let mut work = Work::default();
        for flow in self.flows.first..self.flows.first + self.flows.items.len() {
            let known = self.known(flow, &links, net).min(until);
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
            let known = self.known(component, &links, net).min(until);
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
    fn known(&self, component: usize, links: &Numbered<&[Time]>, net: &Net) -> Time {
        known(&self.components[component], net, |source| {
            if source >= links.first {
                links[source]
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
}

/// The crowds of a world, and how many threads they go on with.
pub struct Crowds {
    crowds: Vec<Crowd>,
    threads: usize,
    /// How far senders have been ahead of links at most.
    lead: TimeDelta,
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

/// Crowds for each thread, several, since they differ in what they have to do: the last one keeps the others waiting.
const PER_THREAD: usize = 16;

impl Crowds {
    /// Crowds for so many threads.
    pub fn new(threads: usize, world: &World<'_>) -> Crowds {
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
        Crowds { crowds, threads, lead: TimeDelta::ZERO }
    }

    /// Rounds in each of which every component goes on once, as far as its inputs are known when it begins, until all are done
    /// or a round had fewer than `least` events. Answers what was done, and in how many rounds.
    pub fn advance(&mut self, until: Time, least: u64, world: World<'_>) -> (Work, u64) {
        let World { components, flows, hosts, net, done } = world;
        let (receivers, ends) = (flows.len(), flows.len() + hosts.len());
        let (done_ends, done) = done.split_at_mut(ends);
        let ends = done_ends.to_vec();
        let mut rest = (flows, hosts, done_ends.split_at_mut(receivers));
        let crowds = self.crowds.iter_mut().map(|crowd| {
            crowd.arriving.iter().chain(&crowd.inside).for_each(|&edge| crowd.net.take_over(edge, net));
            let (flows, hosts) = (crowd.flows.clone(), crowd.hosts.clone());
            let ends = Ends {
                components,
                flows: Numbered { first: flows.start, items: take(&mut rest.0, flows.len()) },
                hosts: take(&mut rest.1, hosts.len()),
                receivers: Numbered { first: flows.start, items: take(&mut rest.2.0, flows.len()) },
                senders: Numbered { first: receivers + hosts.start, items: take(&mut rest.2.1, hosts.len()) },
            };
            Mutex::new(CrowdAtWork { crowd, ends, links: done.to_vec(), until, work: Work::default() })
        });
        let crowds: Vec<_> = crowds.collect();
        let links = Mutex::new(LinksAtWork { components, net, done, ends, work: Work::default() });
        let (mut sum, mut rounds, lead) = (Work::default(), 0, &mut self.lead);
        team::share(
            self.threads,
            1 + crowds.len(),
            |place| match place.checked_sub(1) {
                // The part that cannot be divided goes first.
                None => lock(&links).advance(until),
                Some(crowd) => lock(&crowds[crowd]).advance(),
            },
            || {
                let work = lock(&links).hand_over(&crowds, until, lead);
                sum += work;
                rounds += 1;
                work.events >= least && !lock(&links).are_done(until)
            },
        );
        let LinksAtWork { net, .. } = links.into_inner().unwrap_or_else(PoisonError::into_inner);
        for crowd in crowds {
            let CrowdAtWork { crowd, .. } = crowd.into_inner().unwrap_or_else(PoisonError::into_inner);
            crowd.arriving.iter().chain(&crowd.inside).for_each(|&edge| net.take_over(edge, &mut crowd.net));
        }
        net.woken.clear();
        (sum, rounds)
    }
}

/// A crowd over rounds.
struct CrowdAtWork<'a> {
    crowd: &'a mut Crowd,
    ends: Ends<'a>,
    /// How far the links had come when the round began.
    links: Vec<Time>,
    /// How far it goes on at most.
    until: Time,
    work: Work,
}

impl CrowdAtWork<'_> {
    fn advance(&mut self) {
        let first = self.ends.components.len() - self.links.len();
        let links = Numbered { first, items: &self.links[..] };
        self.work = self.ends.advance(links, self.until, &mut self.crowd.net);
    }
}

/// All links over rounds.
struct LinksAtWork<'a> {
    components: &'a [Component],
    net: &'a mut Net,
    /// Of each link: everything before this has happened.
    done: &'a mut [Time],
    /// How far the ends had come when the round began.
    ends: Vec<Time>,
    work: Work,
}

impl LinksAtWork<'_> {
    fn advance(&mut self, until: Time) {
        self.work = advance_links(self.components, &self.ends, self.done, until, self.net);
    }

    /// Hands over what crowds and links have for each other, when none is at work. Answers what all have done.
    ///
    /// Senders that have gone on as far as they can wait for the links, and the links for them. So they go on by no more than
    /// half of their `lead`: then both have something to do in each round.
    fn hand_over(&mut self, crowds: &[Mutex<CrowdAtWork<'_>>], until: Time, lead: &mut TimeDelta) -> Work {
        let (mut sum, mut senders) = (self.work, until);
        let mut crowds: Vec<_> = crowds.iter().map(lock).collect();
        for CrowdAtWork { crowd, ends, links, work, .. } in crowds.iter_mut().map(|crowd| &mut **crowd) {
            crowd.arriving.iter().for_each(|&edge| crowd.net.take_over(edge, self.net));
            crowd.leaving.iter().for_each(|&edge| self.net.take_over(edge, &mut crowd.net));
            crowd.net.woken.clear();
            links.copy_from_slice(self.done);
            for Numbered { first, items } in [&ends.receivers, &ends.senders] {
                self.ends[*first..*first + items.len()].copy_from_slice(items);
            }
            sum += *work;
            senders = ends.senders.items.iter().copied().fold(senders, Time::min);
        }
        let links = self.done.iter().copied().min().unwrap_or(until);
        *lead = (*lead).max(senders.saturating_since(links));
        let until = if *lead > TimeDelta::ZERO { until.min(senders + *lead - *lead / 2) } else { until };
        crowds.iter_mut().for_each(|crowd| crowd.until = until);
        self.net.woken.clear();
        for Lost { missed, packet } in self.net.lost.drain(..) {
            let flow = packet.flow as usize;
            let crowd = crowds.partition_point(|crowd| crowd.crowd.flows.end <= flow);
            crowds[crowd].ends.flows[flow].drop_packet(missed, &packet);
        }
        sum
    }

    /// Whether everything has happened before `until`, everywhere.
    fn are_done(&self, until: Time) -> bool {
        self.done.iter().chain(&self.ends).all(|done| *done >= until)
    }
}

/// Takes a part that no other thread is at.
fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
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
        Crowd { flows, hosts, net, arriving, leaving, inside }
    }
}
