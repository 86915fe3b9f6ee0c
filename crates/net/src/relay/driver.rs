//! The relay's loop: datagrams in, links, datagrams out when they are due, sleep.

use super::RelayFilter;
use super::RelayOptions;
use super::packet::{MemoryBudget, RelayedPacket};
use super::way::Way;
use crate::address::{local_for, require_port};
use crate::batch::Outlet;
use crate::choice::{ChosenFlow, ChosenFlows, ScenarioFlow, reachable_from_outside};
use crate::clock::{DriverClock, Moment};
use crate::control::{Progress, Told};
use crate::lateness::Lateness;
use crate::output::NetCounters;
use crate::queue::TimedQueue;
use crate::record::{self, FlowRecord, named};
use crate::remote::is_keep_alive;
use crate::silence::{Awaited, LATE, PlannedSilence, Silences, never_came};
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::transports::Filter;
use crate::wait::{LONGEST_SLEEP, PreciseTimers, Urgency, Watch};
use crate::{Control, NetError, NetOutput};
use paceline_link::LinkConfig;
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, Tick};
use paceline_units::{Bytes, Time, TimeDelta};
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Datagrams read of each socket before the rest of the loop has its turn.
const AT_ONCE: usize = 256;
/// After the scenario's end, what is under way may still arrive for so long.
const GRACE: TimeDelta = TimeDelta::from_secs(1);

/// A flow on its way through the relay's links, and its sockets.
struct RelayedFlow<'a> {
    flow: ChosenFlow<'a>,
    listen: Outlet,
    out: Outlet,
    /// Address of its receiver.
    to: SocketAddr,
    filter: Filter,
    /// Whether a connection has still to be closed.
    open: bool,
    record: FlowRecord<'a>,
    silences: Silences,
    /// Messages for people, to be told now.
    said: Vec<String>,
}

impl<'a> RelayedFlow<'a> {
    /// Opens the socket from which packets that come to `listen` leave for `to`.
    fn bind(
        flow: ChosenFlow<'a>,
        listen: UdpPort,
        to: SocketAddr,
        ssrc: Option<u32>,
    ) -> Result<RelayedFlow<'a>, NetError> {
        Ok(RelayedFlow {
            flow,
            listen: Outlet::new(listen),
            out: Outlet::new(UdpPort::bind(local_for(to))?),
            to,
            filter: flow.over.filter(ssrc),
            open: flow.over.connects(),
            record: FlowRecord::new(flow.flow, Facts::RELAY),
            silences: silences(&flow),
            said: Vec::new(),
        })
    }
}

fn silences(flow: &ChosenFlow<'_>) -> Silences {
    Silences::new(Awaited::Packets, PlannedSilence::of(flow))
}

pub(super) struct RelayDriver<'a> {
    /// All of one path; there is one at least.
    flows: Vec<RelayedFlow<'a>>,
    /// Both sockets of each flow.
    watch: Watch,
    inbox: Inbox,
    options: RelayOptions,
    memory: MemoryBudget,
    links: &'a [LinkConfig],
    forward: Way,
    back: TimedQueue<Time, RelayedPacket>,
    counters: NetCounters,
    lateness: Lateness,
    /// Since the sockets were opened.
    opened: DriverClock,
    /// Since the run's zero, which the first packet sets.
    clock: DriverClock,
    started: bool,
    /// Place of the flow that the run began with.
    first: usize,
    /// Whether the sender that the run began with has proved to be there.
    established: bool,
    /// The last arrival: arrivals of a socket are in order but for the reading of two clocks.
    arrived: Time,
    /// Whether people know that no sender comes.
    missed: bool,
}

impl<'a> RelayDriver<'a> {
    /// Opens the sockets for the flows, whose path is of some of `links`.
    pub fn bind(
        chosen: ChosenFlows<'a>,
        links: &'a [LinkConfig],
        options: &RelayOptions,
    ) -> Result<RelayDriver<'a>, NetError> {
        require_port(options.forward)?;
        let opened = DriverClock::from_zero(Moment::now());
        let listen = chosen.listen(options.listen)?.into_iter();
        let ways = listen.zip(chosen.addresses(options.forward)?);
        let flows = chosen.flows.iter().zip(ways);
        let flows = flows.map(|(flow, (listen, to))| RelayedFlow::bind(*flow, listen, to, options.ssrc));
        let flows: Vec<_> = flows.collect::<Result<_, _>>()?;
        let sockets = flows.iter().flat_map(|relayed| [relayed.listen.as_fd(), relayed.out.as_fd()]);
        Ok(RelayDriver {
            forward: way(chosen.flows[0], links)?,
            watch: Watch::of(sockets)?,
            flows,
            inbox: Inbox::new(),
            memory: MemoryBudget::new(options.memory),
            options: options.clone(),
            links,
            back: TimedQueue::new(),
            counters: NetCounters::default(),
            lateness: Lateness::new(),
            opened,
            clock: opened,
            started: false,
            first: 0,
            established: false,
            arrived: Time::ZERO,
            missed: false,
        })
    }

    /// The address that the sender is to send to, of several flows that of the first.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.flows[0].listen.port.address()
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let mut timers = PreciseTimers::urgent(Urgency::Links);
        self.opened = DriverClock::from_zero(Moment::now());
        let mut warnings: Vec<String> = reachable_from_outside(self.address()?).into_iter().collect();
        warnings.extend(self.crowded());
        let end = Time::ZERO + self.flows[0].flow.scenario.duration;
        loop {
            timers.turn();
            let before = Moment::now();
            let all = self.read()?;
            let now = self.clock.time_of(before);
            if self.started {
                // Datagrams that arrived before this have been read.
                let known = if all { now.max(self.arrived) } else { self.arrived };
                self.run_links(known);
                self.release();
                self.tick(now, control.progress);
            } else {
                self.check_patience(control.progress)?;
            }
            let quiet = self.forward.is_quiet() && !self.flows.iter().any(|relayed| relayed.open);
            let over = self.started && now >= end && (all && quiet || now >= end + GRACE);
            if over || control.stopped() {
                break;
            }
            if all {
                self.watch.wait(self.next())?;
            }
        }
        let now = if self.started { self.clock.now() } else { Time::ZERO };
        if !self.started {
            warnings.push(self.never_came()?);
        }
        let links = self.forward.finish(now);
        warnings.extend(self.lateness.finish(&mut self.counters, timers.has_priority()));
        let several = self.flows.len() > 1;
        for relayed in &mut self.flows {
            warnings.extend(relayed.filter.warnings());
            let (silences, name) = (relayed.silences.finish(now), &relayed.flow.spec.name);
            warnings.extend(silences.into_iter().map(|said| named(several, name, said)));
        }
        let stopped = |mut relayed: RelayedFlow<'a>| {
            relayed.record.stop(now, PlayoutCounters::default());
            relayed.record
        };
        let records = self.flows.into_iter().map(stopped).collect();
        Ok(record::finish(records, now, &links, self.counters, warnings))
    }

    /// Does what is due in the records.
    fn tick(&mut self, now: Time, progress: &Told<'_>) {
        let several = self.flows.len() > 1;
        for relayed in &mut self.flows {
            while relayed.record.tick(now, PlayoutCounters::default(), progress).is_some() {}
            relayed.said.extend(relayed.silences.check(now));
            for said in relayed.said.drain(..) {
                progress(Progress::Warned(&named(several, &relayed.flow.spec.name, said)));
            }
        }
    }

    /// A warning if the scenario has other flows on these links: they are not simulated beside the real one.
    fn crowded(&self) -> Option<String> {
        let ours: Vec<_> = self.flows.iter().map(|relayed| relayed.flow.spec.name.as_str()).collect();
        let ScenarioFlow { scenario, spec, .. } = *self.flows[0].flow;
        let others = scenario.flows.iter().filter(|other| {
            !ours.contains(&other.name.as_str()) && other.path.iter().any(|link| spec.path.contains(link))
        });
        let names: Vec<_> = others.map(|other| other.name.as_str()).collect();
        let text = || {
            let (who, are) = (ours.join(" and "), if ours.len() > 1 { "flows" } else { "flow" });
            let alone = if ours.len() > 1 { "are alone on their links" } else { "is alone on its links" };
            format!("{are} {who} {alone}: not relayed are {}", names.join(", "))
        };
        (!names.is_empty()).then(text)
    }

    fn check_patience(&mut self, progress: &Told<'_>) -> Result<(), NetError> {
        let waited = self.opened.now() - Time::ZERO;
        if let Some(patience) = self.options.patience.filter(|patience| waited >= *patience) {
            let (address, seconds) = (self.address()?, patience.as_secs_f64());
            return Err(NetError::NothingArrived { address, seconds });
        }
        if waited >= LATE && !std::mem::replace(&mut self.missed, true) {
            progress(Progress::Waits(&self.never_came()?));
        }
        Ok(())
    }

    fn never_came(&self) -> Result<String, NetError> {
        Ok(never_came(self.address()?, &self.counters))
    }

    fn next(&self) -> Moment {
        let links = if self.started { self.forward.next() } else { None };
        let ticks = self.flows.iter().filter_map(|relayed| relayed.record.pending()).map(Tick::at).min();
        let ticks = ticks.filter(|_| self.started);
        let due = [links, self.back.next(), ticks];
        let next = self.clock.moment_of(due.into_iter().flatten().min().unwrap_or(Time::MAX));
        next.min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes what has arrived at the sockets of each flow; true if nothing is left at any.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut all = true;
        for place in self.awaiting()? {
            all &= self.read_flow(place, &mut inbox)?;
        }
        self.inbox = inbox;
        Ok(all)
    }

    /// Places of the flows at whose sockets something has arrived.
    fn awaiting(&self) -> Result<Vec<usize>, NetError> {
        let mut places: Vec<_> = self.watch.readable()?.into_iter().map(|socket| socket / 2).collect();
        places.dedup();
        Ok(places)
    }

    /// Takes what has arrived at both sockets of a flow; true if nothing is left at either.
    fn read_flow(&mut self, place: usize, inbox: &mut Inbox) -> Result<bool, NetError> {
        let (mut in_front, mut behind, mut taken) = (true, true, 0);
        while (in_front || behind) && taken < AT_ONCE {
            if in_front {
                in_front = self.flows[place].listen.port.read(inbox)?;
                taken += inbox.len();
                for datagram in inbox.datagrams() {
                    self.counters.received += 1;
                    self.take_forward(place, &datagram)?;
                    while let Some(held) = self.flows[place].filter.poll_held() {
                        self.take_forward(place, &held.datagram())?;
                    }
                }
            }
            if behind {
                behind = self.flows[place].out.port.read(inbox)?;
                taken += inbox.len();
                inbox.datagrams().for_each(|datagram| self.take_back(place, &datagram));
            }
        }
        Ok(!in_front && !behind)
    }

    /// A datagram from a flow's sender's side.
    fn take_forward(&mut self, place: usize, datagram: &Datagram<'_>) -> Result<(), NetError> {
        let now = self.opened.time_of(datagram.arrived);
        let filter = &mut self.flows[place].filter;
        let Some(admitted) = filter.admit(now, datagram, &mut self.counters) else { return Ok(()) };
        let begins = !self.established && (!self.started || self.first == place);
        if let Some(first) = admitted.begins.filter(|_| begins) {
            self.begin(first, place)?;
        }
        self.established |= admitted.established;
        self.arrived = self.arrived.max(self.clock.time_of(datagram.arrived));
        let relayed = &mut self.flows[place];
        let Some(mut packet) =
            self.memory.packet(self.arrived, datagram.bytes, datagram.ecn, relayed.flow.parts.overhead)
        else {
            self.counters.overflowed += 1;
            return Ok(());
        };
        relayed.said.extend(relayed.silences.on_heard(self.arrived));
        (packet.flow, packet.data) = (place, admitted.data);
        if let Some(stream) = packet.data {
            relayed.record.recorder.sent(self.arrived, stream, packet.size, TimeDelta::ZERO);
        }
        self.forward.offer(self.arrived, packet);
        Ok(())
    }

    /// The run begins with the first packet of the sender of a flow, at `first`. The record so far, of a sender that proved to be none, is
    /// forgotten.
    fn begin(&mut self, first: Moment, place: usize) -> Result<(), NetError> {
        let flow = self.flows[place].flow;
        (self.started, self.first) = (true, place);
        self.clock = DriverClock::with_start(first, flow.parts.start);
        self.arrived = Time::ZERO;
        (self.forward, self.back) = (way(flow, self.links)?, TimedQueue::new());
        for relayed in &mut self.flows {
            relayed.record = FlowRecord::new(relayed.flow.flow, Facts::RELAY);
            relayed.silences = silences(&relayed.flow);
        }
        Ok(())
    }

    /// A datagram from a flow's receiver's side.
    fn take_back(&mut self, place: usize, datagram: &Datagram<'_>) {
        self.counters.received += 1;
        let relayed = &self.flows[place];
        if datagram.from != relayed.to {
            self.counters.unknown_peers += 1;
            return;
        }
        if !relayed.filter.is_answer(datagram.bytes) {
            let keeps_alive = is_keep_alive(datagram.bytes);
            self.counters.keep_alives += u64::from(keeps_alive);
            self.counters.malformed += u64::from(!keeps_alive);
            return;
        }
        let arrived = self.clock.time_of(datagram.arrived);
        match self.memory.packet(arrived, datagram.bytes, datagram.ecn, Bytes::ZERO) {
            Some(mut packet) => {
                packet.flow = place;
                self.back.push(arrived + relayed.flow.parts.return_delay, packet);
            }
            None => self.counters.overflowed += 1,
        }
    }

    fn run_links(&mut self, known: Time) {
        for (at, flow, stream) in self.forward.advance(known) {
            self.flows[flow].record.recorder.lost(at, stream, at);
        }
    }

    /// Sends what is due.
    fn release(&mut self) {
        let clock = self.clock;
        while let Some((at, packet)) = self.forward.take(clock.now()) {
            self.lateness.note_held(at - packet.entered, clock.now() - at);
            let relayed = &mut self.flows[packet.flow];
            if let Some(stream) = packet.data {
                relayed.record.received(&packet.received(at, stream));
            }
            relayed.open &= !relayed.filter.ends(&packet.bytes);
            relayed.out.send(&packet.bytes, relayed.to, packet.ecn, &mut self.counters);
        }
        while let Some((_, packet)) = self.back.pop_if(|at| at <= clock.now()) {
            let relayed = &mut self.flows[packet.flow];
            let Some((address, sender)) = relayed.filter.target(&packet.bytes) else {
                self.counters.unknown_peers += 1;
                continue;
            };
            relayed.open &= !(sender && relayed.filter.ends(&packet.bytes));
            relayed.listen.send(&packet.bytes, address, packet.ecn, &mut self.counters);
        }
        for relayed in &mut self.flows {
            relayed.out.flush(&mut self.counters);
            relayed.listen.flush(&mut self.counters);
        }
    }
}

/// The links of a flow's path.
fn way(flow: ChosenFlow<'_>, links: &[LinkConfig]) -> Result<Way, NetError> {
    Way::new(flow.scenario, &flow.parts.path, links, TimeDelta::ZERO)
}
