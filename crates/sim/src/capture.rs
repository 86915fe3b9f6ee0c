//! Captures: the packets of simulated flows as they would be on the wire, with the run's clock.
//!
//! Every flow keeps what its ends send and receive until it is asked for; the caller asks often enough to bound that. Packets of
//! all flows then stand in the order of time, of flows at the same time, and of each flow as they happened: the same bytes
//! whatever the threads.

use paceline_scenario::Scenario;
use paceline_scenario::assembly::{EndsParts, FlowParts};
use paceline_transport::dccp::FLOW_PORTS;
use paceline_transport::rtp::{PacketSpelling, ReportSpelling, RtpFeedback, RtpPacket, Ssrcs};
use paceline_transport::tcp::{Flags, Segment, TcpConfig, stamp};
use paceline_transport::udp::Datagram;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::capture::{self, Direction};
use paceline_wire::ip::{self, Addresses};
use paceline_wire::tcp::{TcpHeader, TcpOption};
use paceline_wire::{dccp, tcp};
use std::net::Ipv4Addr;
use std::ops::Range;

paceline_units::names! {
    /// Where packets are captured.
    pub enum CapturePlace {
        /// At the senders of flows: what they send, and the answers that reach them.
        Sender = "sender",
        /// At the receivers of flows: what reaches them, and what they answer.
        Receiver = "receiver",
        /// At both, as two interfaces.
        Both = "both",
    }
}

/// The port of RTP and RTCP at both ends, which Wireshark's preferences know.
const RTP_PORT: u16 = 5004;
/// The port of data that nobody reads: discard.
const DISCARD_PORT: u16 = 9;
/// The first port of a TCP connection's initiator, of those that nobody registers; further connections count on and around.
const FIRST_EPHEMERAL: u16 = 49_152;
/// The largest shift of a window (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;
/// No UDP datagram carries more.
const LARGEST_PAYLOAD: Bytes = Bytes::new(65_507);

/// A packet of a flow that was captured.
#[derive(Clone, Debug)]
struct Captured {
    at: Time,
    interface: u32,
    direction: Direction,
    /// Where its bytes are.
    bytes: Range<usize>,
}

/// Packets that the ends of one flow sent and received since the last call.
#[derive(Debug)]
pub struct FlowCapture {
    place: CapturePlace,
    sender: Ipv4Addr,
    receiver: Ipv4Addr,
    /// How packets are spelled, by the end that sees them: each counts the reports that it has seen.
    spellings: [Spelling; 2],
    /// Payload of the UDP datagram that is being written.
    payload: Vec<u8>,
    packets: Vec<Captured>,
    bytes: Vec<u8>,
}

impl FlowCapture {
    fn new(place: CapturePlace, flow: usize, parts: &FlowParts) -> FlowCapture {
        let [sender, receiver] = addresses(flow);
        let spelling = Spelling::of(flow, parts);
        let spellings = [spelling.clone(), spelling];
        let (payload, packets, bytes) = (Vec::new(), Vec::new(), Vec::new());
        FlowCapture { place, sender, receiver, spellings, payload, packets, bytes }
    }

    /// A packet passes the sending end, which `spell` writes.
    pub fn at_sender(
        &mut self,
        at: Time,
        direction: Direction,
        ecn: Ecn,
        spell: impl FnOnce(&mut Way<'_>, &mut Vec<u8>),
    ) {
        if self.place != CapturePlace::Receiver {
            self.take(at, (0, 0), direction, (direction == Direction::Outbound, ecn), spell);
        }
    }

    /// A packet passes the receiving end, which `spell` writes.
    pub fn at_receiver(
        &mut self,
        at: Time,
        direction: Direction,
        ecn: Ecn,
        spell: impl FnOnce(&mut Way<'_>, &mut Vec<u8>),
    ) {
        if self.place != CapturePlace::Sender {
            let interface = u32::from(self.place == CapturePlace::Both);
            self.take(at, (1, interface), direction, (direction == Direction::Inbound, ecn), spell);
        }
    }

    fn take(
        &mut self,
        at: Time,
        (end, interface): (usize, u32),
        direction: Direction,
        (forward, ecn): (bool, Ecn),
        spell: impl FnOnce(&mut Way<'_>, &mut Vec<u8>),
    ) {
        let (source, destination) =
            if forward { (self.sender, self.receiver) } else { (self.receiver, self.sender) };
        let addresses = Addresses::V4 { source, destination };
        let (spelling, payload) = (&mut self.spellings[end], &mut self.payload);
        let start = self.bytes.len();
        spell(&mut Way { addresses, forward, ecn, spelling, payload }, &mut self.bytes);
        let bytes = start..self.bytes.len();
        // A packet that no IP packet holds is left out.
        if !bytes.is_empty() {
            self.packets.push(Captured { at, interface, direction, bytes });
        }
    }
}

/// Addresses of a flow's sender and receiver: in 10.0.0.0/9 and 10.128.0.0/9, numbered from 1 in the order of the scenario.
fn addresses(flow: usize) -> [Ipv4Addr; 2] {
    let number = (flow as u32 + 1) & 0x007f_ffff;
    [0x0a00_0000, 0x0a80_0000].map(|network| Ipv4Addr::from_bits(network | number))
}

/// Fields of a flow's packets on the wire that they do not say themselves.
#[derive(Clone, Debug)]
enum Spelling {
    Rtp(PacketSpelling, Box<ReportSpelling>),
    Tcp {
        /// Payload of a full segment.
        segment: u16,
        /// Window of an end that says none, since it takes no data: no receiver ever closes it.
        window: u32,
        /// The number of the first byte that such an end would take.
        first: u32,
        /// Bits by which windows are shifted.
        shift: u8,
    },
    /// As the packets themselves say.
    Plain,
}

impl Spelling {
    fn of(flow: usize, parts: &FlowParts) -> Spelling {
        match &parts.ends {
            EndsParts::Rtp(rtp) => {
                let (streams, format) = (rtp.streams.len(), rtp.feedback.format);
                let own = (flow as u32 + 1) << 8;
                let ssrcs = Ssrcs::new(rtp.identity.ssrc.unwrap_or(own), streams);
                let first_timestamp = rtp.identity.first_timestamp.unwrap_or(0);
                let half = rtp.receiver_half.is_some();
                let packets = PacketSpelling { half, ..PacketSpelling::new(ssrcs, first_timestamp, format) };
                Spelling::Rtp(packets, Box::new(ReportSpelling::new(format)))
            }
            EndsParts::Tcp { config, .. }
            | EndsParts::Transfers { config, .. }
            | EndsParts::Conversations { config, .. } => Spelling::of_tcp(config),
            EndsParts::Dccp(_) | EndsParts::Udp { .. } => Spelling::Plain,
        }
    }

    fn of_tcp(config: &TcpConfig) -> Spelling {
        let window = config.receive_window();
        let shift = (0..LARGEST_SHIFT).find(|shift| window >> shift <= u16::MAX.into());
        Spelling::Tcp {
            segment: config.mss().min(u16::MAX.into()) as u16,
            window: window.min(u32::MAX.into()) as u32,
            first: config.initial_sequence.wrapping_add(1),
            shift: shift.unwrap_or(LARGEST_SHIFT),
        }
    }
}

/// The way of a packet that is being written.
pub struct Way<'a> {
    addresses: Addresses,
    /// Whether it goes from the flow's sender to its receiver.
    forward: bool,
    ecn: Ecn,
    spelling: &'a mut Spelling,
    payload: &'a mut Vec<u8>,
}

impl Way<'_> {
    /// Writes a packet of media that left at `sent`.
    pub fn media(&mut self, sent: Time, packet: &RtpPacket, out: &mut Vec<u8>) {
        if let Spelling::Rtp(spelling, _) = self.spelling {
            self.payload.clear();
            spelling.write(sent, packet, self.payload);
            self.udp(RTP_PORT, out);
        }
    }

    /// Writes a report.
    pub fn report(&mut self, report: &RtpFeedback, out: &mut Vec<u8>) {
        if let Spelling::Rtp(packets, spelling) = self.spelling {
            self.payload.clear();
            let written = spelling.write(report, packets.ssrcs, LARGEST_PAYLOAD, self.payload);
            debug_assert!(written.is_ok(), "the endpoint's reports add up");
            self.udp(RTP_PORT, out);
        }
    }

    fn udp(&mut self, port: u16, out: &mut Vec<u8>) {
        if !self.payload.is_empty() {
            // A packet that no IP packet holds is left out.
            let _ = ip::udp(&self.addresses, (port, port), self.ecn, self.payload, out);
        }
    }

    /// Writes a datagram that nobody reads.
    pub fn datagram(&mut self, datagram: &Datagram, out: &mut Vec<u8>) {
        self.payload.clear();
        self.payload.resize(datagram.payload.min(LARGEST_PAYLOAD).as_u64() as usize, 0);
        self.udp(DISCARD_PORT, out);
    }

    /// Writes a packet of DCCP.
    pub fn dccp(&mut self, packet: &dccp::Packet, out: &mut Vec<u8>) {
        self.payload.clear();
        debug_assert!(!self.forward || packet.ports == FLOW_PORTS);
        if dccp::encode_in_udp(packet, self.payload).is_ok() {
            let _ = dccp::to_ip(self.payload, &self.addresses, self.ecn, out);
        }
    }

    /// Writes a segment of TCP.
    pub fn segment(&mut self, sent: Time, segment: &Segment, out: &mut Vec<u8>) {
        let Spelling::Tcp { segment: largest, window, first, shift } = *self.spelling else { return };
        let initiator = FIRST_EPHEMERAL + segment.connection % (u16::MAX - FIRST_EPHEMERAL + 1);
        let (source, destination) =
            if self.forward { (initiator, DISCARD_PORT) } else { (DISCARD_PORT, initiator) };
        let opens = segment.flags.has(Flags::SYN);
        let (window, expected) = match segment.window {
            0 => (window, first),
            told => (told, segment.acknowledgment),
        };
        // The window of a SYN is not shifted (RFC 7323 section 2.2); no other one looks smaller than it is.
        let shifted = if opens { window } else { window.div_ceil(1 << shift) };
        let header = TcpHeader {
            source,
            destination,
            sequence: segment.sequence,
            acknowledgment: if segment.flags.has(Flags::ACK) { expected } else { 0 },
            flags: segment.flags.0,
            window: shifted.min(u16::MAX.into()) as u16,
        };
        let opening =
            [TcpOption::MaximumSegmentSize(largest), TcpOption::SackPermitted, TcpOption::WindowScale(shift)];
        let opening = opening.into_iter().filter(|_| opens);
        let blocks = segment.sack.iter().map(|(begin, end)| TcpOption::SackBlock(begin, end));
        let (value, echo) =
            if self.forward { (segment.timestamp, 0) } else { (stamp(sent), segment.timestamp) };
        let timestamps = (segment.timestamp != 0).then_some(TcpOption::Timestamps(value, echo));
        let options = opening.chain(timestamps).chain(blocks.filter(|_| !opens));
        let _ = tcp::encode(&header, options, segment.payload as usize, &self.addresses, self.ecn, out);
    }
}

/// The captures of a world's flows, and what of their file is still to be written.
pub struct Captures {
    place: CapturePlace,
    /// The front of the file, until it was taken.
    front: Option<Vec<u8>>,
}

impl Captures {
    /// The captures of a scenario's flows, of which nothing is written.
    pub fn new(place: CapturePlace, scenario: &Scenario) -> Captures {
        let mut front = Vec::new();
        let comment = format!("simulated: {}, seed {}", scenario.name, scenario.seed);
        capture::section(&format!("Paceline {}", paceline_metrics::version()), &comment, &mut front);
        if place != CapturePlace::Receiver {
            capture::interface("sender", "what flows' senders send and receive", &mut front);
        }
        if place != CapturePlace::Sender {
            capture::interface("receiver", "what flows' receivers receive and send", &mut front);
        }
        let names = scenario.flows.iter().enumerate().flat_map(|(index, flow)| {
            let [sender, receiver] = addresses(index);
            [(sender, format!("{}.sender", flow.name)), (receiver, format!("{}.receiver", flow.name))]
        });
        let names: Vec<_> = names.collect();
        capture::names(names.iter().map(|(address, name)| (*address, &name[..])), &mut front);
        Captures { place, front: Some(front) }
    }

    /// The record in which a flow keeps its packets.
    pub fn of_flow(&self, flow: usize, parts: &FlowParts) -> FlowCapture {
        FlowCapture::new(self.place, flow, parts)
    }

    /// Appends to `out` what of the file is new: the packets that `flows` have kept.
    pub fn write<'a>(&mut self, flows: impl Iterator<Item = &'a mut FlowCapture>, out: &mut Vec<u8>) {
        if let Some(front) = self.front.take() {
            out.extend(front);
        }
        let mut flows: Vec<_> = flows.collect();
        let numbered = flows.iter().enumerate();
        let mut order: Vec<_> = numbered
            .flat_map(|(flow, kept)| (0..kept.packets.len()).map(move |packet| (flow, packet)))
            .collect();
        // Packets of a flow at one time keep their order.
        order.sort_by_key(|&(flow, packet)| (flows[flow].packets[packet].at, flow));
        for (flow, packet) in order {
            let FlowCapture { packets, bytes, .. } = &*flows[flow];
            let Captured { at, interface, direction, bytes: place } = &packets[packet];
            capture::packet(*interface, at.as_nanos(), *direction, &bytes[place.clone()], out);
        }
        for kept in &mut flows {
            kept.packets.clear();
            kept.bytes.clear();
        }
    }
}
