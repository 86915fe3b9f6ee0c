//! A flow as two components, its sender and its receiver, whatever its transport.

use crate::edge::Edge;
use crate::ends::{DccpEnds, Ends, Outgoing, Returning, RtpEnds, TcpEnds, TransfersEnds, UdpEnds};
use crate::net::Net;
use crate::packet::{Cargo, Packet};
use paceline_metrics::{FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_transport::SendingEnd;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

/// What a flow is built from, besides its ends.
pub struct FlowParts {
    /// Its place among the flows.
    pub index: u32,
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
    /// When what begins and ends, in order of time.
    pub plan: Vec<(Time, Turn)>,
    /// What is recorded.
    pub recorder: FlowRecorder,
    /// When the components are looked at.
    pub ticker: Ticker,
}

/// What happens to a flow by plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It begins.
    Start,
    /// Its application falls silent.
    Pause,
    /// Its application goes on.
    Resume,
    /// It ends.
    Stop,
}

/// A flow that runs, over ends of one transport.
pub struct Flow<E> {
    ends: E,
    parts: FlowParts,
    /// The next turn of the plan.
    turn: usize,
    receiver_ticker: Ticker,
    sender_done: Time,
    receiver_done: Time,
    events: u64,
    packets: u64,
}

impl<E: Ends> Flow<E> {
    /// A flow before anything happened.
    pub fn new(ends: E, parts: FlowParts) -> Flow<E> {
        Flow {
            ends,
            receiver_ticker: parts.ticker.clone(),
            parts,
            turn: 0,
            sender_done: Time::ZERO,
            receiver_done: Time::ZERO,
            events: 0,
            packets: 0,
        }
    }

    /// The sender's own next event: a turn of its plan, or a timeout once it has begun.
    #[inline]
    fn sender_due(&self) -> Time {
        let turn = self.next_turn();
        if self.turn == 0 { turn } else { self.ends.sender_due().min(turn) }
    }

    #[inline]
    fn next_turn(&self) -> Time {
        self.parts.plan.get(self.turn).map_or(Time::MAX, |(at, _)| *at)
    }

    /// Apart from the other transports' in [`AnyFlow`], so that each is compiled for itself.
    #[inline(never)]
    fn advance_sender(&mut self, until: Time, net: &mut Net) {
        loop {
            let tick = self.parts.ticker.before(until);
            self.run_sender(tick.map_or(until, Tick::covers), net);
            let Some(tick) = tick else { break };
            self.look_at_sender(tick);
            self.parts.ticker.pass(tick);
        }
        self.sender_done = until;
        self.publish(&mut net.edges);
    }

    #[inline(never)]
    fn advance_receiver(&mut self, until: Time, net: &mut Net) {
        loop {
            let tick = self.receiver_ticker.before(until);
            self.run_receiver(tick.map_or(until, Tick::covers), net);
            let Some(tick) = tick else { break };
            self.look_at_receiver(tick);
            self.receiver_ticker.pass(tick);
        }
        self.receiver_done = until;
        self.publish(&mut net.edges);
    }

    fn look_at_sender(&mut self, tick: Tick) {
        let (recorder, sender) = (&mut self.parts.recorder, self.ends.sender());
        match tick {
            Tick::Sample(at) => recorder.sample_sender(at, sender),
            Tick::Begin(at) => recorder.begin_sender(at, sender),
            Tick::End(at) => recorder.end_sender(at, sender),
        }
    }

    fn look_at_receiver(&mut self, tick: Tick) {
        let (recorder, receiver) = (&mut self.parts.recorder, self.ends.receiver());
        match tick {
            Tick::Sample(at) => recorder.sample_receiver(at),
            Tick::Begin(_) => recorder.begin_receiver(receiver),
            Tick::End(at) => recorder.end_receiver(at, receiver),
        }
    }

    fn publish(&self, edges: &mut [Edge]) {
        let (data, delay) = self.parts.data_out;
        edges[data].horizon = self.sender_done + delay;
        let (reports, delay) = self.parts.reports_out;
        edges[reports].horizon = self.receiver_done + delay;
    }

    /// Of events at the same time what came back comes first, then the sender's own.
    #[inline]
    fn run_sender(&mut self, until: Time, net: &mut Net) {
        loop {
            let back = net.edges[self.parts.reports_in].next();
            let own = self.sender_due();
            let now = back.min(own);
            if now >= until {
                break;
            }
            self.events += 1;
            let figures_changed = if back <= own {
                if let Some((_, packet)) = net.edges[self.parts.reports_in].pop() {
                    self.ends.take_return(now, &packet.cargo, packet.ecn);
                    if let Some(transfer) = self.ends.take_transfer() {
                        self.parts.recorder.transferred(&transfer);
                    }
                }
                true
            } else {
                self.take_timeout(now)
            };
            self.transmit(now, net);
            if figures_changed {
                self.parts.recorder.reported(now, self.ends.sender().controller());
            }
        }
    }

    /// False if it is only a packet's time to leave.
    #[inline]
    fn take_timeout(&mut self, now: Time) -> bool {
        if self.next_turn() > now {
            return self.ends.sender_timeout(now);
        }
        let (_, turn) = self.parts.plan[self.turn];
        self.turn += 1;
        match turn {
            Turn::Start => self.ends.start(now),
            Turn::Pause => self.ends.pause(now),
            Turn::Resume => self.ends.resume(now),
            Turn::Stop => self.ends.stop(now),
        }
        true
    }

    #[inline]
    fn transmit(&mut self, now: Time, net: &mut Net) {
        let (edge, delay) = self.parts.data_out;
        while let Some(Outgoing { cargo, size, ecn, stream, queued }) = self.ends.poll_transmit(now) {
            let size = size + self.parts.overhead;
            if cargo.data().is_some() {
                self.parts.recorder.sent(now, stream, Bytes::new(u64::from(size)), now - queued);
            }
            let packet = self.packet(now, size, ecn, cargo);
            net.carry(edge, now + delay, packet);
        }
    }

    #[inline]
    fn packet(&self, sent: Time, size: u32, ecn: Ecn, cargo: Cargo) -> Packet {
        Packet { flow: self.parts.index, size, back: false, ecn, sent, wait: 0, noise: 0, cargo }
    }

    /// Of events at the same time the arrival comes first, then the receiver's own.
    #[inline]
    fn run_receiver(&mut self, until: Time, net: &mut Net) {
        loop {
            let arrival = net.edges[self.parts.data_in].next();
            let own = self.ends.receiver_due();
            let now = arrival.min(own);
            if now >= until {
                break;
            }
            self.events += 1;
            if arrival <= own {
                if let Some((_, packet)) = net.edges[self.parts.data_in].pop() {
                    self.take_packet(now, &packet);
                }
            } else {
                self.ends.receiver_timeout(now);
            }
            while let Some(frame) = self.ends.poll_displayed() {
                self.parts.recorder.displayed(&frame);
            }
            self.send_back(now, net);
        }
    }

    #[inline]
    fn take_packet(&mut self, now: Time, packet: &Packet) {
        let taken = self.ends.take_data(now, packet);
        if packet.cargo.data().is_none() {
            return;
        }
        self.packets += 1;
        self.parts.recorder.received(&ReceivedPacket {
            now,
            stream: taken.stream,
            size: Bytes::new(u64::from(packet.size)),
            payload: taken.payload,
            sent: packet.sent,
            wait: TimeDelta::from_nanos(packet.wait),
            noise: TimeDelta::from_nanos(packet.noise),
            ecn: packet.ecn,
            duplicate: false,
        });
    }

    #[inline]
    fn send_back(&mut self, now: Time, net: &mut Net) {
        let (edge, delay) = self.parts.reports_out;
        while let Some(Returning { cargo, size, ecn }) = self.ends.poll_return(now) {
            let packet = self.packet(now, size + self.parts.overhead, ecn, cargo);
            net.carry(edge, now + delay, Packet { back: true, ..packet });
        }
    }

    fn drop_packet(&mut self, missed: Time, packet: &Packet) {
        if let (Some(stream), false) = (packet.cargo.data(), packet.back) {
            self.parts.recorder.lost(missed, stream, packet.sent);
        }
        self.ends.drop_cargo(&packet.cargo);
    }
}

/// A flow of any transport. Which one is asked once per window, not per packet.
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
pub enum AnyFlow {
    /// Media and reports.
    Rtp(Flow<RtpEnds>),
    /// A connection.
    Tcp(Flow<TcpEnds>),
    /// Connections that come and go.
    Transfers(Flow<TransfersEnds>),
    /// Datagrams of a connection under congestion control.
    Dccp(Flow<DccpEnds>),
    /// Datagrams that nobody controls.
    Udp(Flow<UdpEnds>),
}

/// Calls the flow inside.
macro_rules! each {
    ($any:expr, $flow:ident => $call:expr) => {
        match $any {
            AnyFlow::Rtp($flow) => $call,
            AnyFlow::Tcp($flow) => $call,
            AnyFlow::Transfers($flow) => $call,
            AnyFlow::Dccp($flow) => $call,
            AnyFlow::Udp($flow) => $call,
        }
    };
}

impl AnyFlow {
    /// How far the sender's input is known.
    pub fn sender_known(&self, edges: &[Edge]) -> Time {
        each!(self, flow => edges[flow.parts.reports_in].horizon)
    }

    /// How far the receiver's input is known.
    pub fn receiver_known(&self, edges: &[Edge]) -> Time {
        each!(self, flow => edges[flow.parts.data_in].horizon)
    }

    /// Everything at the sender before this has happened.
    pub fn sender_done(&self) -> Time {
        each!(self, flow => flow.sender_done)
    }

    /// Everything at the receiver before this has happened.
    pub fn receiver_done(&self) -> Time {
        each!(self, flow => flow.receiver_done)
    }

    /// When something happens next at the sender.
    pub fn sender_next(&self, edges: &[Edge]) -> Time {
        each!(self, flow => flow.sender_due().min(edges[flow.parts.reports_in].next()))
    }

    /// When something happens next at the receiver.
    pub fn receiver_next(&self, edges: &[Edge]) -> Time {
        each!(self, flow => flow.ends.receiver_due().min(edges[flow.parts.data_in].next()))
    }

    /// Lets everything happen at the sender before `until`.
    pub fn advance_sender(&mut self, until: Time, net: &mut Net) {
        each!(self, flow => flow.advance_sender(until, net));
    }

    /// Lets everything happen at the receiver before `until`.
    pub fn advance_receiver(&mut self, until: Time, net: &mut Net) {
        each!(self, flow => flow.advance_receiver(until, net));
    }

    /// Tells the edges how far they are known.
    pub fn publish(&self, edges: &mut [Edge]) {
        each!(self, flow => flow.publish(edges));
    }

    /// A packet was lost on its way; it would have arrived at `missed` at the earliest.
    pub fn drop_packet(&mut self, missed: Time, packet: &Packet) {
        each!(self, flow => flow.drop_packet(missed, packet));
    }

    /// What happened at both ends.
    pub fn events(&self) -> u64 {
        each!(self, flow => flow.events)
    }

    /// Data packets that reached the receiver.
    pub fn packets(&self) -> u64 {
        each!(self, flow => flow.packets)
    }

    /// What the recorder has gathered.
    pub fn into_recorder(self) -> FlowRecorder {
        each!(self, flow => flow.parts.recorder)
    }
}
