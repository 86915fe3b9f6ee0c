//! The receiver's loop: packets in, reports out, sleep.

use super::ReceiveOptions;
use super::session::Session;
use crate::choice::{ChosenFlow, reachable_from_outside};
use crate::clock::{DriverClock, Moment};
use crate::output::NetCounters;
use crate::peer::MediaGate;
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::wait::{LONGEST_SLEEP, PreciseTimers, wait_for};
use crate::{Control, NetError, NetOutput};
use paceline_scenario::build::RtpParts;
use paceline_units::{Time, TimeDelta};
use paceline_wire::rtp;

/// Datagrams read before the rest of the loop has its turn.
const AT_ONCE: usize = 256;

pub(super) struct Driver<'a> {
    port: UdpPort,
    inbox: Inbox,
    flow: ChosenFlow<'a>,
    rtp: &'a RtpParts,
    options: ReceiveOptions,
    gate: MediaGate,
    session: Option<Session<'a>>,
    counters: NetCounters,
    /// Since the socket was opened.
    clock: DriverClock,
    duration: TimeDelta,
}

impl<'a> Driver<'a> {
    pub fn new(
        port: UdpPort,
        flow: ChosenFlow<'a>,
        rtp: &'a RtpParts,
        options: ReceiveOptions,
    ) -> Driver<'a> {
        let longest = flow.scenario.duration;
        Driver {
            port,
            inbox: Inbox::new(),
            gate: MediaGate::new(options.ssrc, rtp.streams.len(), None),
            flow,
            rtp,
            session: None,
            counters: NetCounters::default(),
            clock: DriverClock::from_zero(Moment::now()),
            duration: options.duration.map_or(longest, |duration| duration.min(longest)),
            options,
        }
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let _timers = PreciseTimers::new();
        self.clock = DriverClock::from_zero(Moment::now());
        let warning = reachable_from_outside(self.port.address()?);
        loop {
            let before = Moment::now();
            let all = self.read()?;
            if self.advance(before, control)? || control.stopped() {
                break;
            }
            if !all {
                continue;
            }
            let due = self.session.as_ref().map_or(Moment::from_nanos(u64::MAX), Session::next);
            wait_for(&[&self.port], due.min(Moment::now().plus(LONGEST_SLEEP)))?;
        }
        let now = Moment::now();
        let mut output = match self.session {
            Some(session) => {
                let ran = session.clock.time_of(now);
                session.finish(ran, self.counters)
            }
            None => super::record::ReceiverRecord::new(self.flow, false).nothing(self.counters),
        };
        output.warnings.extend(warning);
        Ok(output)
    }

    /// Does what is due; true at the end of the run. What arrived up to `before` has been taken.
    fn advance(&mut self, before: Moment, control: &Control<'_>) -> Result<bool, NetError> {
        let Some(session) = &mut self.session else {
            let waited = self.clock.now() - Time::ZERO;
            let Some(patience) = self.options.patience.filter(|patience| waited >= *patience) else {
                return Ok(false);
            };
            return Err(NetError::NothingArrived {
                address: self.port.address()?,
                seconds: patience.as_secs_f64(),
            });
        };
        session.advance(session.clock.now(), &self.port, &mut self.counters);
        let now = session.clock.time_of(before);
        session.tick(now, control.progress);
        let silent = now.saturating_since(session.heard);
        Ok(now >= Time::ZERO + self.duration || self.options.silence.is_some_and(|most| silent >= most))
    }

    /// Takes what has arrived; true if nothing is left.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut all = false;
        for _ in 0..AT_ONCE {
            let datagram = self.port.read(&mut inbox)?;
            all = datagram.is_none();
            let Some(datagram) = datagram else { break };
            self.counters.received += 1;
            self.take(&datagram);
        }
        self.inbox = inbox;
        Ok(all)
    }

    fn take(&mut self, datagram: &Datagram<'_>) {
        if rtp::is_rtcp(datagram.bytes) {
            self.counters.other_rtcp += 1;
            return;
        }
        let now = self.clock.time_of(datagram.arrived);
        let Some(packet) = self.gate.admit(now, datagram, &mut self.counters) else { return };
        if packet.new {
            self.session = Some(Session::open(self.flow, self.rtp, packet.ssrcs, datagram, &packet.view));
        }
        // A packet may make a report due at once: before the next packet changes what it would say.
        if let Some(session) = &mut self.session {
            session.take(datagram, &packet.view, &mut self.counters);
            session.advance(session.clock.now(), &self.port, &mut self.counters);
        }
    }
}
