//! The receiver's loop, whatever the transport: datagrams in, answers out, sleep.

use super::ReceiveOptions;
use super::codec::{ReceivingCodec, SessionPacket};
use super::session::{Session, SessionParts};
use crate::choice::{ChosenFlow, reachable_from_outside};
use crate::clock::{DriverClock, Moment};
use crate::control::{Progress, Told};
use crate::output::NetCounters;
use crate::port::Port;
use crate::record::{Ended, FlowRecord};
use crate::silence::{LATE, never_came};
use crate::socket::{Datagram, Inbox};
use crate::wait::{Farewell, LONGEST_SLEEP, PreciseTimers, Urgency, wait_for};
use crate::{Control, NetError};
use paceline_media::PlayoutCounters;
use paceline_metrics::Facts;
use paceline_units::{Ecn, Time, TimeDelta};

/// Datagrams read before the rest of the loop has its turn.
const AT_ONCE: usize = 256;

pub(crate) struct ReceivingDriver<'a, C> {
    port: Port,
    inbox: Inbox,
    flow: ChosenFlow<'a>,
    parts: SessionParts<'a>,
    options: ReceiveOptions,
    codec: C,
    session: Option<Session<'a>>,
    counters: NetCounters,
    /// Since the socket was opened: the codec's clock.
    clock: DriverClock,
    /// The last time that the codec was told.
    time: Time,
    duration: TimeDelta,
    /// Whether the run is over, and only the connection is to be closed.
    closing: bool,
    /// Whether people know that its sender does not come.
    missed: bool,
}

impl<'a, C: ReceivingCodec> ReceivingDriver<'a, C> {
    pub fn new(
        port: Port,
        flow: ChosenFlow<'a>,
        parts: SessionParts<'a>,
        codec: C,
        options: ReceiveOptions,
    ) -> ReceivingDriver<'a, C> {
        ReceivingDriver {
            port,
            inbox: Inbox::new(),
            flow,
            parts,
            codec,
            session: None,
            counters: NetCounters::default(),
            clock: DriverClock::from_zero(Moment::now()),
            time: Time::ZERO,
            duration: options.duration.unwrap_or(flow.scenario.duration),
            closing: false,
            missed: false,
            options,
        }
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<Ended<'a>, NetError> {
        let mut timers = PreciseTimers::urgent(Urgency::End);
        let address = self.port.socket.address()?;
        let outside = reachable_from_outside(address);
        self.clock = DriverClock::from_zero(Moment::now());
        let ended = loop {
            timers.turn();
            let before = Moment::now();
            let all = self.read()?;
            self.handle_timeouts();
            // After the sender's last packet nothing is missed; before it, what arrived up to `before` has been taken.
            let known = if self.codec.is_over() { Moment::now() } else { before };
            if self.is_over(known, control.progress)? || control.stopped() {
                break known;
            }
            if all {
                self.wait(Time::MAX)?;
            }
        };
        let ran = self.session.as_ref().map_or(Time::ZERO, |session| session.clock.time_of(ended));
        let given_up = self.gave_up(ran).filter(|_| !control.stopped());
        self.close(control.stopped())?;
        let ReceivingDriver { mut codec, mut counters, port, session, flow, .. } = self;
        let ended = codec.finish(ran, &mut counters);
        let captured = port.finish(&mut counters);
        let (record, silences) = match session {
            Some(session) => session.finish(ran),
            None => {
                let mut record = FlowRecord::new(flow.flow, Facts::RECEIVER);
                record.stop(ran, PlayoutCounters::default());
                (record, vec![never_came(address, &counters)])
            }
        };
        let warnings =
            outside.into_iter().chain(silences).chain(given_up).chain(ended).chain(captured).collect();
        Ok(Ended { record, ran, counters, warnings, unanswered: None })
    }

    /// Takes what has arrived; true if nothing is left.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let (mut more, mut taken) = (true, 0);
        while more && taken < AT_ONCE {
            more = self.port.read(&mut inbox, &mut self.counters)?;
            taken += inbox.len();
            for datagram in inbox.datagrams() {
                self.port.capture(&datagram);
                self.take(&datagram);
                while let Some(held) = self.codec.poll_held() {
                    self.take(&held.datagram());
                }
            }
        }
        self.inbox = inbox;
        Ok(!more)
    }

    /// Hands a datagram to the codec, what that admits to the session, and their answers back.
    fn take(&mut self, datagram: &Datagram<'_>) {
        let now = self.reach(datagram.arrived);
        let ReceivingDriver { port, codec, session, flow, parts, counters, closing, .. } = self;
        let mut refused = NetCounters::default();
        codec.receive(now, datagram, counters, |packet: SessionPacket<'_>| {
            if *closing {
                return;
            }
            let begins = packet.begins || session.is_none();
            if let Some(data) = packet.data.filter(|_| begins && packet.is_of_session()) {
                let opened = Session::open(*flow, parts.clone(), data.payload, datagram);
                port.begin(opened.clock.zero());
                *session = Some(opened);
            }
            if let Some(session) = session {
                session.take(datagram, &packet, &mut refused);
            }
        });
        self.counters.out_of_sequence += refused.out_of_sequence;
        self.counters.duplicates += refused.duplicates;
        self.counters.out_of_time += refused.out_of_time;
        // A packet may make a report due at once: before the next packet changes what it would say.
        if let Some(session) = &mut self.session {
            session.report(session.clock.time_of(datagram.read), |feedback| self.codec.report(feedback));
        }
        self.transmit(now);
    }

    /// Lets codec and session do what is due.
    fn handle_timeouts(&mut self) {
        let moment = Moment::now();
        let now = self.reach(moment);
        self.codec.handle_timeout(now);
        if let Some(session) = self.session.as_mut().filter(|_| !self.closing) {
            session.handle_timeout(session.clock.time_of(moment), |feedback| self.codec.report(feedback));
        }
        self.transmit(now);
    }

    fn transmit(&mut self, now: Time) {
        loop {
            self.port.bytes.clear();
            let Some(to) = self.codec.poll_transmit(now, &mut self.port.bytes) else { return };
            // As in the simulator, what goes back is not ECN-capable. An answer that cannot be sent is lost like any other packet.
            self.port.send(to, Ecn::NotEct, &mut self.counters);
        }
    }

    /// The codec's time of something at `moment`: never before what it was told last.
    fn reach(&mut self, moment: Moment) -> Time {
        self.time = self.time.max(self.clock.time_of(moment));
        self.time
    }

    /// Does what is due in the record; true at the end of the run. Packets that arrived up to `known` have been taken.
    fn is_over(&mut self, known: Moment, progress: &Told<'_>) -> Result<bool, NetError> {
        let Some(session) = &mut self.session else { return self.await_first(progress) };
        let now = session.clock.time_of(known);
        session.tick(now, progress);
        Ok(now >= Time::ZERO + self.duration || self.codec.is_over() || self.gave_up(now).is_some())
    }

    /// Says once that no sender comes.
    ///
    /// # Errors
    /// If none came within the options' patience.
    fn await_first(&mut self, progress: &Told<'_>) -> Result<bool, NetError> {
        let waited = self.time - Time::ZERO;
        let address = self.port.socket.address()?;
        if let Some(patience) = self.options.patience.filter(|patience| waited >= *patience) {
            return Err(NetError::NothingArrived { address, seconds: patience.as_secs_f64() });
        }
        if waited >= LATE && !std::mem::replace(&mut self.missed, true) {
            progress(Progress::Waits(&never_came(address, &self.counters)));
        }
        Ok(false)
    }

    /// Message that the sender has been silent for too long at `now` to be waited for; none if it has not.
    fn gave_up(&self, now: Time) -> Option<String> {
        let (session, most) = (self.session.as_ref()?, self.options.silence?);
        (session.silent(now) >= most).then(|| {
            let (ended, planned) = (now.as_secs_f64(), self.duration.as_secs_f64());
            format!(
                "the run ended at {ended:.1} s of {planned:.1} s: nothing had arrived for {:.1} s",
                most.as_secs_f64()
            )
        })
    }

    /// Sleeps until something arrives or is due, but not longer than until `until`.
    fn wait(&self, until: Time) -> Result<(), NetError> {
        let codec = self.clock.moment_of(self.codec.next_timeout().unwrap_or(Time::MAX).min(until));
        let session = self.session.as_ref().filter(|_| !self.closing).map(Session::next);
        let due = session.map_or(codec, |due| due.min(codec));
        wait_for(&[&self.port.socket], due.min(Moment::now().plus(LONGEST_SLEEP)))
    }

    /// Closes the connection, if there is one, after a moment for the sender to do so unless `at_once`.
    fn close(&mut self, at_once: bool) -> Result<(), NetError> {
        self.closing = true;
        if !at_once {
            self.linger()?;
        }
        if self.codec.is_open() {
            let now = self.reach(Moment::now());
            self.codec.close(now);
            self.transmit(now);
            self.linger()?;
        }
        let now = self.reach(Moment::now());
        self.codec.abort(now);
        self.transmit(now);
        Ok(())
    }

    /// Waits a moment for the connection to be over.
    fn linger(&mut self) -> Result<(), NetError> {
        let mut farewell = Farewell::new(self.clock.now(), self.counters.received);
        while self.codec.is_open()
            && let Some(until) = farewell.until(self.clock.now(), self.counters.received)
        {
            if self.read()? {
                self.wait(until)?;
            }
            self.handle_timeouts();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
