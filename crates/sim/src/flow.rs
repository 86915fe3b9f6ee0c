//! A flow as two components: its sender and its receiver, with the reports under way between them.

use crate::edge::Edge;
use crate::packet::{Cargo, Data, Packet};
use paceline_scenario::recorder::{FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_scenario::registry::{AnyController, AnyReceiverHalf};
use paceline_transport::rtp::{Feedback, PathFacts, RtpReceiver, RtpSender};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

/// What a flow is built from.
pub struct FlowParts {
    /// Its place among the flows.
    pub index: u32,
    /// The sending endpoint.
    pub sender: RtpSender<AnyController>,
    /// The receiving endpoint.
    pub receiver: RtpReceiver<AnyReceiverHalf>,
    /// The mark of its packets as sent.
    pub ecn: Ecn,
    /// Added to each packet's size, in bytes.
    pub overhead: u32,
    /// The edge that its packets leave on, and the delay before they are there.
    pub data_out: (usize, TimeDelta),
    /// The edge that its packets arrive on.
    pub data_in: usize,
    /// The edge that its reports leave on, and the delay before they are there.
    pub reports_out: (usize, TimeDelta),
    /// The edge that its reports arrive on.
    pub reports_in: usize,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
    /// What is recorded.
    pub recorder: FlowRecorder,
    /// When the components are looked at.
    pub ticker: Ticker,
}

/// A flow that runs.
pub struct Flow {
    parts: FlowParts,
    started: bool,
    stopped: bool,
    reports: Vec<Feedback>,
    free: Vec<u32>,
    receiver_ticker: Ticker,
    /// Everything at the sender before this has happened.
    pub sender_done: Time,
    /// Everything at the receiver before this has happened.
    pub receiver_done: Time,
    /// What happened at both.
    pub events: u64,
    /// Data packets that reached the receiver.
    pub packets: u64,
}

impl Flow {
    /// A flow before anything happened.
    pub fn new(parts: FlowParts) -> Flow {
        Flow {
            receiver_ticker: parts.ticker.clone(),
            parts,
            started: false,
            stopped: false,
            reports: Vec::new(),
            free: Vec::new(),
            sender_done: Time::ZERO,
            receiver_done: Time::ZERO,
            events: 0,
            packets: 0,
        }
    }

    /// How far the sender's input is known.
    #[inline]
    pub fn sender_known(&self, edges: &[Edge]) -> Time {
        edges[self.parts.reports_in].horizon
    }

    /// How far the receiver's input is known.
    #[inline]
    pub fn receiver_known(&self, edges: &[Edge]) -> Time {
        edges[self.parts.data_in].horizon
    }

    /// When something happens next at the sender.
    #[inline]
    pub fn sender_next(&self, edges: &[Edge]) -> Time {
        self.sender_due().min(edges[self.parts.reports_in].next())
    }

    /// When something happens next at the receiver.
    #[inline]
    pub fn receiver_next(&self, edges: &[Edge]) -> Time {
        self.receiver_due().min(edges[self.parts.data_in].next())
    }

    /// The sender's own next event: its start, its stop or a timeout.
    #[inline]
    fn sender_due(&self) -> Time {
        if !self.started {
            return self.parts.start;
        }
        let stop = if self.stopped { Time::MAX } else { self.parts.stop };
        self.parts.sender.next_timeout().unwrap_or(Time::MAX).min(stop)
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        let report = self.parts.receiver.next_report().unwrap_or(Time::MAX);
        report.min(self.parts.receiver.next_playout().unwrap_or(Time::MAX))
    }

    /// Lets everything happen at the sender before `until`.
    pub fn advance_sender(&mut self, until: Time, edges: &mut [Edge]) {
        loop {
            let tick = self.parts.ticker.before(until);
            self.run_sender(tick.map_or(until, Tick::covers), edges);
            let Some(tick) = tick else { break };
            self.look_at_sender(tick);
            self.parts.ticker.pass(tick);
        }
        self.sender_done = until;
        self.publish(edges);
    }

    /// Lets everything happen at the receiver before `until`.
    pub fn advance_receiver(&mut self, until: Time, edges: &mut [Edge]) {
        loop {
            let tick = self.receiver_ticker.before(until);
            self.run_receiver(tick.map_or(until, Tick::covers), edges);
            let Some(tick) = tick else { break };
            self.look_at_receiver(tick);
            self.receiver_ticker.pass(tick);
        }
        self.receiver_done = until;
        self.publish(edges);
    }

    fn look_at_sender(&mut self, tick: Tick) {
        let FlowParts { recorder, sender, .. } = &mut self.parts;
        match tick {
            Tick::Sample(at) => recorder.sample_sender(at, sender),
            Tick::Begin(at) => recorder.begin_sender(at, sender),
            Tick::End(at) => recorder.end_sender(at, sender),
        }
    }

    fn look_at_receiver(&mut self, tick: Tick) {
        let FlowParts { recorder, receiver, .. } = &mut self.parts;
        match tick {
            Tick::Sample(at) => recorder.sample_receiver(at),
            Tick::Begin(_) => recorder.begin_receiver(receiver),
            Tick::End(at) => recorder.end_receiver(at, receiver),
        }
    }

    /// Tells the edges how far they are known.
    pub fn publish(&self, edges: &mut [Edge]) {
        let (data, delay) = self.parts.data_out;
        edges[data].horizon = self.sender_done + delay;
        let (reports, delay) = self.parts.reports_out;
        edges[reports].horizon = self.receiver_done + delay;
    }

    /// A report was lost on its way.
    pub fn drop_report(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// A data packet was lost on its way; it would have arrived at `missed` at the earliest.
    pub fn drop_data(&mut self, missed: Time, data: &Data) {
        self.parts.recorder.lost(missed, data.rtp.stream, data.sent);
    }

    /// What the recorder has gathered.
    pub fn into_recorder(self) -> FlowRecorder {
        self.parts.recorder
    }

    /// Of events at the same time the report comes first, then the sender's own.
    #[inline]
    fn run_sender(&mut self, until: Time, edges: &mut [Edge]) {
        loop {
            let report = edges[self.parts.reports_in].next();
            let own = self.sender_due();
            let now = report.min(own);
            if now >= until {
                break;
            }
            self.events += 1;
            let figures_changed = if report <= own {
                self.take_report(now, edges);
                true
            } else {
                self.take_timeout(now)
            };
            self.transmit(now, edges);
            if figures_changed {
                self.parts.recorder.reported(now, self.parts.sender.controller());
            }
        }
    }

    /// False if it is only a packet's time to leave.
    #[inline]
    fn take_timeout(&mut self, now: Time) -> bool {
        if !self.started {
            self.started = true;
            self.parts.sender.start(now);
        } else if !self.stopped && self.parts.stop <= now {
            self.stopped = true;
            self.parts.sender.stop(now);
        } else {
            return self.parts.sender.handle_timeout(now);
        }
        true
    }

    #[inline]
    fn take_report(&mut self, now: Time, edges: &mut [Edge]) {
        let Some((_, packet)) = edges[self.parts.reports_in].pop() else { return };
        if let Cargo::Report(slot) = packet.cargo {
            self.parts.sender.handle_feedback(now, &self.reports[slot as usize]);
            self.free.push(slot);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, edges: &mut [Edge]) {
        let FlowParts { sender, recorder, data_out: (edge, delay), overhead, index, ecn, .. } =
            &mut self.parts;
        while let Some(outgoing) = sender.poll_transmit(now) {
            let size = outgoing.packet.size().as_u64() as u32 + *overhead;
            recorder.sent(now, outgoing.packet.stream, Bytes::new(u64::from(size)), now - outgoing.queued);
            let data = Data { rtp: outgoing.packet, sent: now, first: outgoing.first };
            let packet =
                Packet { flow: *index, size, hop: 0, ecn: *ecn, wait: 0, noise: 0, cargo: Cargo::Data(data) };
            edges[*edge].push(now + *delay, packet);
        }
    }

    /// Of events at the same time the arrival comes first, then playout, then the report.
    #[inline]
    fn run_receiver(&mut self, until: Time, edges: &mut [Edge]) {
        loop {
            let arrival = edges[self.parts.data_in].next();
            let own = self.receiver_due();
            let now = arrival.min(own);
            if now >= until {
                break;
            }
            self.events += 1;
            if arrival <= own {
                self.take_packet(now, edges);
            } else {
                self.parts.receiver.handle_playout(now);
                self.display();
                self.send_report(now, edges);
            }
        }
    }

    #[inline]
    fn take_packet(&mut self, now: Time, edges: &mut [Edge]) {
        let Some((_, packet)) = edges[self.parts.data_in].pop() else { return };
        let Cargo::Data(data) = packet.cargo else { return };
        self.packets += 1;
        let wait = TimeDelta::from_nanos(packet.wait);
        let facts = PathFacts { sent: Some(data.sent), wait: Some(wait), first: Some(data.first) };
        let due = self.parts.receiver.on_packet(now, &data.rtp, packet.ecn, facts);
        self.parts.recorder.received(&ReceivedPacket {
            now,
            stream: data.rtp.stream,
            size: Bytes::new(u64::from(packet.size)),
            payload: data.rtp.payload,
            sent: data.sent,
            wait,
            noise: TimeDelta::from_nanos(packet.noise),
            ecn: packet.ecn,
            duplicate: false,
        });
        self.display();
        if due {
            self.send_report(now, edges);
        }
    }

    #[inline]
    fn display(&mut self) {
        while let Some((_, frame)) = self.parts.receiver.poll_displayed() {
            self.parts.recorder.displayed(&frame);
        }
    }

    #[inline]
    fn send_report(&mut self, now: Time, edges: &mut [Edge]) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.reports.push(Feedback::default());
            self.reports.len() as u32 - 1
        });
        let report = &mut self.reports[slot as usize];
        if !self.parts.receiver.poll_feedback(now, report) {
            self.free.push(slot);
            return;
        }
        let size = report.size().as_u64() as u32 + self.parts.overhead;
        let (edge, delay) = self.parts.reports_out;
        let (flow, cargo) = (self.parts.index, Cargo::Report(slot));
        let packet = Packet { flow, size, hop: 0, ecn: Ecn::NotEct, wait: 0, noise: 0, cargo };
        edges[edge].push(now + delay, packet);
    }
}
