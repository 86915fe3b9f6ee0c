//! The relay's loop: datagrams in, links, datagrams out when they are due, sleep.

use super::RelayOptions;
use super::filter::Filter;
use super::packet::{MemoryBudget, RelayedPacket};
use super::path::{LinkPath, Outcome};
use crate::address::{local_for, require_port};
use crate::choice::{ChosenFlow, Over, reachable_from_outside};
use crate::clock::{DriverClock, Moment};
use crate::output::NetCounters;
use crate::queue::TimedQueue;
use crate::record::FlowRecord;
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::wait::{LONGEST_SLEEP, PreciseTimers, wait_for};
use crate::{Control, NetError, NetOutput};
use paceline_cc::StreamId;
use paceline_link::LinkConfig;
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, ReceivedPacket, Tick};
use paceline_units::{Bytes, Time, TimeDelta};
use std::net::SocketAddr;

/// Datagrams read of each socket before the rest of the loop has its turn.
const AT_ONCE: usize = 256;
/// After the scenario's end, what is under way may still arrive for so long.
const GRACE: TimeDelta = TimeDelta::from_secs(1);

pub(super) struct RelayDriver<'a> {
    listen: UdpPort,
    out: UdpPort,
    inbox: Inbox,
    flow: ChosenFlow<'a>,
    options: RelayOptions,
    memory: MemoryBudget,
    links: &'a [LinkConfig],
    path: LinkPath,
    outcome: Outcome,
    forward: TimedQueue<Time, RelayedPacket>,
    back: TimedQueue<Time, RelayedPacket>,
    filter: Filter,
    /// Whether a connection has still to be closed.
    open: bool,
    record: FlowRecord<'a>,
    counters: NetCounters,
    /// Since the sockets were opened.
    opened: DriverClock,
    /// Since the run's zero, which the first packet sets.
    clock: DriverClock,
    started: bool,
    /// Whether the sender that the run began with has proved to be there.
    established: bool,
    /// The last arrival: arrivals of a socket are in order but for the reading of two clocks.
    arrived: Time,
}

impl<'a> RelayDriver<'a> {
    /// Opens the sockets for `flow`, whose path is of some of `links`.
    pub fn bind(
        flow: ChosenFlow<'a>,
        links: &'a [LinkConfig],
        options: &RelayOptions,
    ) -> Result<RelayDriver<'a>, NetError> {
        require_port(options.forward)?;
        let opened = DriverClock::from_zero(Moment::now());
        Ok(RelayDriver {
            listen: UdpPort::bind(options.listen)?,
            out: UdpPort::bind(local_for(options.forward))?,
            inbox: Inbox::new(),
            flow,
            memory: MemoryBudget::new(options.memory),
            filter: Filter::new(flow.over, options.ssrc),
            open: matches!(flow.over, Over::Dccp(_)),
            record: FlowRecord::new(flow, Facts::RELAY),
            options: options.clone(),
            links,
            path: LinkPath::new(flow, links)?,
            outcome: Outcome::default(),
            forward: TimedQueue::new(),
            back: TimedQueue::new(),
            counters: NetCounters::default(),
            opened,
            clock: opened,
            started: false,
            established: false,
            arrived: Time::ZERO,
        })
    }

    /// The address that the sender is to send to.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.listen.address()
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let _timers = PreciseTimers::new();
        self.opened = DriverClock::from_zero(Moment::now());
        let mut warnings: Vec<String> = reachable_from_outside(self.listen.address()?).into_iter().collect();
        warnings.extend(self.crowded());
        let end = Time::ZERO + self.flow.scenario.duration;
        loop {
            let before = Moment::now();
            let all = self.read()?;
            if self.started {
                // What arrived before this has been read.
                let known = if all { self.clock.time_of(before).max(self.arrived) } else { self.arrived };
                self.run_links(known);
                self.release();
                let now = self.clock.time_of(before);
                while self.record.tick(now, PlayoutCounters::default(), control.progress).is_some() {}
            } else {
                self.check_patience()?;
            }
            let now = self.clock.now();
            let quiet = self.forward.is_empty() && !self.open;
            let over = self.started && now >= end && (quiet || now >= end + GRACE);
            if over || control.stopped() {
                break;
            }
            if all {
                wait_for(&[&self.listen, &self.out], self.next())?;
            }
        }
        let now = if self.started { self.clock.now() } else { Time::ZERO };
        let links = self.path.finish(now);
        self.record.stop(now, PlayoutCounters::default());
        Ok(self.record.finish(now, &links, self.counters, warnings))
    }

    /// A warning if the scenario has other flows on these links: they are not simulated beside the real one.
    fn crowded(&self) -> Option<String> {
        let others = self.flow.scenario.flows.iter().filter(|other| {
            other.name != self.flow.spec.name
                && other.path.iter().any(|link| self.flow.spec.path.contains(link))
        });
        let names: Vec<_> = others.map(|other| other.name.as_str()).collect();
        let text = || {
            format!(
                "flow {} is alone on its links: not relayed are {}",
                self.flow.spec.name,
                names.join(", ")
            )
        };
        (!names.is_empty()).then(text)
    }

    fn check_patience(&self) -> Result<(), NetError> {
        let waited = self.opened.now() - Time::ZERO;
        match self.options.patience.filter(|patience| waited >= *patience) {
            None => Ok(()),
            Some(patience) => {
                let (address, seconds) = (self.listen.address()?, patience.as_secs_f64());
                Err(NetError::NothingArrived { address, seconds })
            }
        }
    }

    fn next(&self) -> Moment {
        let links = if self.started { self.path.next() } else { None };
        let ticks = self.record.pending().map(Tick::at).filter(|_| self.started);
        let due = [links, self.forward.next(), self.back.next(), ticks];
        let next = self.clock.moment_of(due.into_iter().flatten().min().unwrap_or(Time::MAX));
        next.min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes what has arrived at both sockets; true if nothing is left at either.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let (mut in_front, mut behind) = (true, true);
        for _ in 0..AT_ONCE {
            if in_front {
                let datagram = self.listen.read(&mut inbox)?;
                in_front = datagram.is_some();
                datagram.iter().try_for_each(|datagram| self.take_forward(datagram))?;
            }
            if behind {
                let datagram = self.out.read(&mut inbox)?;
                behind = datagram.is_some();
                datagram.iter().for_each(|datagram| self.take_back(datagram));
            }
            if !in_front && !behind {
                break;
            }
        }
        self.inbox = inbox;
        Ok(!in_front && !behind)
    }

    /// A datagram from the sender's side.
    fn take_forward(&mut self, datagram: &Datagram<'_>) -> Result<(), NetError> {
        self.counters.received += 1;
        let now = self.opened.time_of(datagram.arrived);
        let Some(admitted) = self.filter.admit(now, datagram, &mut self.counters) else { return Ok(()) };
        if let Some(first) = admitted.begins.filter(|_| !self.established) {
            self.begin(first)?;
        }
        self.established |= admitted.established;
        self.arrived = self.arrived.max(self.clock.time_of(datagram.arrived));
        let Some(mut packet) = self.memory.packet(self.arrived, datagram, self.flow.parts.overhead) else {
            self.counters.overflowed += 1;
            return Ok(());
        };
        packet.data = admitted.data;
        if let Some(stream) = packet.data {
            self.record.recorder.sent(self.arrived, stream, packet.size, TimeDelta::ZERO);
        }
        self.path.offer(self.arrived, packet);
        Ok(())
    }

    /// The run begins with a sender's first packet, at `first`. What was before, of somebody who proved to be nobody, is
    /// forgotten.
    fn begin(&mut self, first: Moment) -> Result<(), NetError> {
        self.started = true;
        self.clock = DriverClock::with_start(first, self.flow.parts.start);
        self.arrived = Time::ZERO;
        self.path = LinkPath::new(self.flow, self.links)?;
        self.outcome = Outcome::default();
        (self.forward, self.back) = (TimedQueue::new(), TimedQueue::new());
        self.record = FlowRecord::new(self.flow, Facts::RELAY);
        Ok(())
    }

    /// A datagram from the receiver's side.
    fn take_back(&mut self, datagram: &Datagram<'_>) {
        self.counters.received += 1;
        if datagram.from != self.options.forward {
            self.counters.unknown_peers += 1;
            return;
        }
        if !self.filter.is_answer(datagram.bytes) {
            self.counters.malformed += 1;
            return;
        }
        let arrived = self.clock.time_of(datagram.arrived);
        match self.memory.packet(arrived, datagram, Bytes::ZERO) {
            Some(packet) => self.back.push(arrived + self.flow.parts.return_delay, packet),
            None => self.counters.overflowed += 1,
        }
    }

    fn run_links(&mut self, known: Time) {
        self.path.advance(known, &mut self.outcome);
        for (at, packet) in self.outcome.arrived.drain(..) {
            self.forward.push(at, packet);
        }
        for (at, stream) in self.outcome.lost.drain(..) {
            self.record.recorder.lost(at, stream, at);
        }
    }

    /// Sends what is due.
    fn release(&mut self) {
        let clock = self.clock;
        while let Some((at, packet)) = self.forward.pop_if(|at| at <= clock.now()) {
            if let Some(stream) = packet.data {
                self.record.received(&received(at, stream, &packet));
            }
            self.open &= !self.filter.ends(&packet.bytes);
            send(&self.out, &packet, self.options.forward, &mut self.counters);
        }
        while let Some((_, packet)) = self.back.pop_if(|at| at <= clock.now()) {
            let Some((address, sender)) = self.filter.target(&packet.bytes) else {
                self.counters.unknown_peers += 1;
                continue;
            };
            self.open &= !(sender && self.filter.ends(&packet.bytes));
            send(&self.listen, &packet, address, &mut self.counters);
        }
    }
}

fn send(port: &UdpPort, packet: &RelayedPacket, to: SocketAddr, counters: &mut NetCounters) {
    match port.send(&packet.bytes, to, packet.ecn) {
        Ok(()) => counters.sent += 1,
        Err(_) => counters.unsendable += 1,
    }
}

/// A data packet that is at the far end at `at`, for the record. What of it is payload, a relay does not read.
fn received(at: Time, stream: StreamId, packet: &RelayedPacket) -> ReceivedPacket {
    ReceivedPacket {
        now: at,
        stream,
        size: packet.size,
        payload: Bytes::ZERO,
        sent: packet.entered,
        queue_delay: packet.wait,
        delay_noise: packet.noise,
        ecn: packet.ecn,
        duplicate: false,
    }
}
