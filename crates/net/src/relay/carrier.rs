//! The loop of a relay that reads no transport: packets in at either side, links, packets out when they are due, sleep.

use super::gate::{Gate, Incoming, Side};
use super::packet::MemoryBudget;
use super::way::Way;
use crate::choice::ScenarioFlow;
use crate::clock::{DriverClock, Moment};
use crate::lateness::Lateness;
use crate::output::NetCounters;
use crate::record::{self, FlowRecord};
use crate::socket::Inbox;
use crate::wait::{LONGEST_SLEEP, PreciseTimers, Urgency, wait_for_any};
use crate::{Control, NetError, NetOutput};
use paceline_cc::StreamId;
use paceline_link::LinkConfig;
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, Tick};
use paceline_units::{Bytes, Time, TimeDelta};

/// Packets read at both sides before the rest of the loop has its turn.
const AT_ONCE: usize = 512;
/// After the scenario's end, what is under way may still arrive for so long.
const GRACE: TimeDelta = TimeDelta::from_secs(1);
/// All that passes counts as one stream.
const STREAM: StreamId = StreamId(0);

/// Limits of a carrier beyond the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most that may be under way.
    pub memory: Bytes,
    /// If nothing has arrived at all for so long, the run is an error; none: it waits for ever.
    pub patience: Option<TimeDelta>,
}

/// Carries packets from a gate's left side to its right over a flow's path, and back over its return path.
pub(crate) struct Carrier<'a, G> {
    gate: G,
    flow: ScenarioFlow<'a>,
    right: Way,
    left: Way,
    record: FlowRecord<'a>,
    inbox: Inbox,
    /// Packets that were read last and go on.
    incoming: Vec<Incoming>,
    limits: Limits,
    memory: MemoryBudget,
    counters: NetCounters,
    lateness: Lateness,
    /// Since everything was open.
    opened: DriverClock,
    /// Since the run's zero.
    clock: DriverClock,
    started: bool,
    /// The last arrival: arrivals at a side are in order but for the reading of two clocks.
    arrived: Time,
}

impl<'a, G: Gate> Carrier<'a, G> {
    /// Over the path of a flow, whose links are some of `links`.
    pub fn new(
        gate: G,
        flow: ScenarioFlow<'a>,
        links: &[LinkConfig],
        limits: Limits,
    ) -> Result<Carrier<'a, G>, NetError> {
        let opened = DriverClock::from_zero(Moment::now());
        let parts = flow.parts;
        Ok(Carrier {
            gate,
            flow,
            right: Way::new(flow.scenario, &parts.path, links, TimeDelta::ZERO)?,
            left: Way::new(flow.scenario, &parts.return_path, links, parts.return_delay)?,
            record: FlowRecord::new(flow, Facts::RELAY),
            inbox: Inbox::new(),
            incoming: Vec::new(),
            limits,
            memory: MemoryBudget::new(limits.memory),
            counters: NetCounters::default(),
            lateness: Lateness::new(),
            opened,
            clock: opened,
            started: false,
            arrived: Time::ZERO,
        })
    }

    pub fn gate(&self) -> &G {
        &self.gate
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let mut timers = PreciseTimers::urgent(Urgency::Links);
        self.opened = DriverClock::from_zero(Moment::now());
        if self.gate.begins() {
            self.begin(Moment::now());
        }
        let end = Time::ZERO + self.flow.scenario.duration;
        loop {
            timers.turn();
            let before = Moment::now();
            let all = self.read()?;
            let now = self.clock.time_of(before);
            if self.started {
                // Datagrams that arrived before this have been read.
                self.advance(if all { now.max(self.arrived) } else { self.arrived });
                self.release();
                while self.record.tick(now, PlayoutCounters::default(), control.progress).is_some() {}
            } else {
                self.check_patience()?;
            }
            let quiet = all && self.right.is_quiet() && self.left.is_quiet();
            let over = self.started && now >= end && (quiet || now >= end + GRACE);
            if over || control.stopped() || self.gate.is_done() {
                break;
            }
            if all {
                wait_for_any(self.gate.sockets().into_iter(), self.next())?;
            }
        }
        Ok(self.finish(timers.has_priority()))
    }

    fn finish(mut self, has_priority: bool) -> NetOutput {
        let now = if self.started { self.clock.now() } else { Time::ZERO };
        let mut links = self.right.finish(now);
        links.extend(self.left.finish(now));
        let mut warnings: Vec<String> =
            self.lateness.finish(&mut self.counters, has_priority).into_iter().collect();
        warnings.extend(self.gate.close(&mut self.counters));
        self.record.stop(now, PlayoutCounters::default());
        record::finish(vec![self.record], now, &links, self.counters, warnings)
    }

    fn way(&mut self, towards: Side) -> &mut Way {
        match towards {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }

    /// The run's zero is so long before `first` that the flow starts then.
    fn begin(&mut self, first: Moment) {
        self.started = true;
        self.clock = DriverClock::with_start(first, self.flow.parts.start);
    }

    fn check_patience(&self) -> Result<(), NetError> {
        let waited = self.opened.now() - Time::ZERO;
        match self.limits.patience.filter(|patience| waited >= *patience) {
            None => Ok(()),
            Some(patience) => Err(self.gate.nothing_came(patience.as_secs_f64())),
        }
    }

    fn next(&self) -> Moment {
        let ticks = self.record.pending().map(Tick::at);
        let due = [self.right.next(), self.left.next(), ticks].into_iter().flatten().min();
        let next = due
            .filter(|_| self.started)
            .map_or(Moment::now().plus(LONGEST_SLEEP), |due| self.clock.moment_of(due));
        next.min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes what has come in at both sides; true if nothing is left at either.
    fn read(&mut self) -> Result<bool, NetError> {
        let (mut inbox, mut incoming) = (std::mem::take(&mut self.inbox), std::mem::take(&mut self.incoming));
        let (mut open, mut taken) = ([true; 2], 0);
        while open.contains(&true) && taken < AT_ONCE {
            for side in Side::BOTH {
                if !open[side as usize] {
                    continue;
                }
                let now = self.opened.now();
                open[side as usize] =
                    self.gate.read(side, now, &mut inbox, &mut incoming, &mut self.counters)?;
                taken += incoming.len().max(1);
                for packet in incoming.drain(..) {
                    self.take(side, &packet, inbox.bytes(packet.place, packet.length));
                }
            }
        }
        (self.inbox, self.incoming) = (inbox, incoming);
        Ok(open == [false; 2])
    }

    /// A packet came in at a side.
    fn take(&mut self, side: Side, incoming: &Incoming, bytes: &[u8]) {
        if !self.started {
            self.begin(incoming.arrived);
        }
        self.arrived = self.arrived.max(self.clock.time_of(incoming.arrived));
        let overhead = self.gate.overhead(self.flow.parts.overhead);
        let Some(mut packet) = self.memory.packet(self.arrived, bytes, incoming.ecn, overhead) else {
            self.counters.overflowed += 1;
            return;
        };
        packet.flow = incoming.flow;
        if side == Side::Left {
            packet.data = Some(STREAM);
            self.record.recorder.sent(self.arrived, STREAM, packet.size, TimeDelta::ZERO);
        }
        let at = self.arrived;
        self.way(side.other()).offer(at, packet);
    }

    /// Lets everything happen in the links up to `known`.
    fn advance(&mut self, known: Time) {
        for (at, _, stream) in self.right.advance(known) {
            self.record.recorder.lost(at, stream, at);
        }
        self.left.advance(known).for_each(drop);
    }

    /// Sends what is due.
    fn release(&mut self) {
        for towards in Side::BOTH {
            loop {
                let now = self.clock.now();
                let Some((at, mut packet)) = self.way(towards).take(now) else { break };
                self.lateness.note_held(at - packet.entered, now - at);
                if packet.data.is_some() {
                    self.record.received(&packet.received(at, STREAM));
                }
                self.gate.send(towards, &mut packet, &mut self.counters);
            }
        }
        self.gate.flush(&mut self.counters);
    }
}
