//! The packets of the simulator: small structs, no bytes.

use paceline_cc::StreamId;
use paceline_link::Transit;
use paceline_transport::dccp::FLOW_PORTS;
use paceline_transport::rtp::{Header, RtpPacket};
use paceline_transport::tcp::{Flags, SackBlocks, Segment};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::PacketFeedback;
use paceline_wire::dccp::{self, Body, Options, Payload, SequenceNumber};

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: u32,
    /// Size on links: transport header, payload and the flow's overhead.
    pub size: u32,
    /// Whether it goes from the receiver to the sender.
    pub back: bool,
    /// ECN field of the packet now.
    pub ecn: Ecn,
    /// When it was handed to the network.
    pub sent: Time,
    /// How long it waited in queues so far, in nanoseconds.
    pub wait: i64,
    /// Delay noise so far, in nanoseconds.
    pub noise: i64,
    /// The transport's packet in it.
    pub content: Content,
}

/// A transport's packet as it travels: a small copy, or where it lies in its flow's pool.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A packet of media without annotation or padding.
    Media(Media),
    /// A segment of TCP without selective acknowledgements, of either direction.
    Segment(PlainSegment),
    /// A report on one packet.
    Report(PlainReport),
    /// Bulk data over DCCP without options.
    Dccp(PlainData),
    /// A packet of any transport, in the pool.
    Pooled(Slot),
    /// A datagram without any header of ours.
    Datagram {
        /// Size of the datagram in bytes.
        payload: u32,
    },
}

impl Content {
    /// The stream it belongs to, if it is data: what counts as a packet sent, received or lost. Reports,
    /// acknowledgements and the padding of probes do not.
    #[inline]
    pub fn data(&self) -> Option<StreamId> {
        match self {
            Content::Media(media) => Some(media.stream),
            Content::Segment(segment) => (segment.payload > 0).then_some(StreamId(0)),
            Content::Report(_) => None,
            Content::Pooled(slot) => slot.data(),
            Content::Dccp(_) | Content::Datagram { .. } => Some(StreamId(0)),
        }
    }
}

/// [`RtpPacket`] without annotation or padding.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    sequence: u64,
    captured: Time,
    payload: u32,
    transport: u16,
    stream: StreamId,
    header: Header,
    first: Option<bool>,
    marker: bool,
    key: Option<bool>,
}

impl Media {
    /// The packet as it travels; absent if its controller put an annotation on it, or a probe fills it.
    #[inline]
    pub fn of(packet: &RtpPacket) -> Option<Media> {
        let RtpPacket {
            stream,
            sequence,
            captured,
            payload,
            padding: 0,
            header,
            transport,
            first,
            marker,
            key,
            annotation: None,
        } = *packet
        else {
            return None;
        };
        let payload = payload.as_u64() as u32;
        Some(Media { sequence, captured, payload, transport, stream, header, first, marker, key })
    }

    /// The packet that arrived.
    #[inline]
    pub fn packet(self) -> RtpPacket {
        let Media { sequence, captured, payload, transport, stream, header, first, marker, key } = self;
        RtpPacket {
            stream,
            sequence,
            captured,
            payload: Bytes::new(payload.into()),
            padding: 0,
            header,
            transport,
            first,
            marker,
            key,
            annotation: None,
        }
    }
}

/// [`Segment`] without selective acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct PlainSegment {
    sequence: u32,
    acknowledgment: u32,
    window: u32,
    payload: u32,
    timestamp: u32,
    connection: u16,
    flags: Flags,
}

impl PlainSegment {
    /// The segment as it travels; absent if it has selective acknowledgements.
    #[inline]
    pub fn of(segment: &Segment) -> Option<PlainSegment> {
        let Segment { connection, flags, sequence, acknowledgment, window, payload, timestamp, ref sack } =
            *segment;
        sack.is_empty().then_some(PlainSegment {
            sequence,
            acknowledgment,
            window,
            payload,
            timestamp,
            connection,
            flags,
        })
    }

    /// The segment that arrived.
    #[inline]
    pub fn segment(self) -> Segment {
        let PlainSegment { sequence, acknowledgment, window, payload, timestamp, connection, flags } = self;
        let sack = SackBlocks::none();
        Segment { connection, flags, sequence, acknowledgment, window, payload, timestamp, sack }
    }
}

/// [`PacketFeedback`] of a packet that arrived no more than 4 s before. Its fields leave room for what tells contents from each other.
#[derive(Clone, Copy, Debug)]
pub struct PlainReport {
    written: Time,
    sequence: u64,
    /// Nanoseconds from the packet's arrival to the report.
    age: u32,
    stream: StreamId,
    ecn: Ecn,
}

impl PlainReport {
    /// The report as it travels; absent if the packet arrived long before, or after.
    #[inline]
    pub fn of(report: &PacketFeedback) -> Option<PlainReport> {
        let PacketFeedback { written, arrived, sequence, stream, ecn } = *report;
        let age = u32::try_from(written.wrapping_since(arrived).as_nanos()).ok()?;
        Some(PlainReport { written, sequence, age, stream, ecn })
    }

    /// The report that arrived.
    #[inline]
    pub fn feedback(self) -> PacketFeedback {
        let PlainReport { written, sequence, age, stream, ecn } = self;
        let arrived = written - TimeDelta::from_nanos(age.into());
        PacketFeedback { written, arrived, sequence, stream, ecn }
    }
}

/// A Data packet of a flow over DCCP without options, whose payload is not stored and is of no RTP packet.
#[derive(Clone, Copy, Debug)]
pub struct PlainData {
    sequence: SequenceNumber,
    captured: Time,
    payload: u32,
    ccval: u8,
    coverage: u8,
    short: bool,
}

impl PlainData {
    /// The packet as it travels; absent if there is more to it.
    #[inline]
    pub fn of(packet: &dccp::Packet) -> Option<PlainData> {
        let dccp::Packet { ports, ccval, coverage, short, sequence, ref body, ref options, ref payload } =
            *packet;
        match (payload, body) {
            (&Payload::Dummy { size, captured }, Body::Data) if options.is_empty() && ports == FLOW_PORTS => {
                Some(PlainData { sequence, captured, payload: size, ccval, coverage, short })
            }
            _ => None,
        }
    }

    /// The packet that arrived.
    #[inline]
    pub fn packet(self) -> dccp::Packet {
        let PlainData { sequence, captured, payload, ccval, coverage, short } = self;
        let (options, payload) = (Options::new(), Payload::Dummy { size: payload, captured });
        let (ports, body) = (FLOW_PORTS, Body::Data);
        dccp::Packet { ports, ccval, coverage, short, sequence, body, options, payload }
    }
}

/// A packet's place in the pool of its flow, and the stream of its data if it carries any. One word, as the other contents begin
/// with: fields of other sizes in the same place let the compiler move all of them byte by byte.
#[derive(Clone, Copy, Debug)]
pub struct Slot(u64);

impl Slot {
    #[inline]
    fn new(place: u32, data: Option<StreamId>) -> Slot {
        Slot(u64::from(place) << 16 | data.map_or(0, |stream| u64::from(stream.0) + 1))
    }

    #[inline]
    fn place(self) -> u32 {
        (self.0 >> 16) as u32
    }

    #[inline]
    fn data(self) -> Option<StreamId> {
        (self.0 as u16).checked_sub(1).map(|stream| StreamId(stream as u8))
    }
}

/// Packets of a flow that are under way and too large to travel as copies.
#[derive(Debug)]
pub struct PacketPool<P> {
    packets: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P> PacketPool<P> {
    /// A pool without packets.
    pub const fn new() -> PacketPool<P> {
        PacketPool { packets: Vec::new(), free: Vec::new() }
    }

    /// Keeps a packet, which carries data of a stream or none; answers what travels in its place.
    #[inline]
    pub fn insert(&mut self, packet: P, data: Option<StreamId>) -> Slot {
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place as usize] = Some(packet);
                place
            }
            None => {
                self.packets.push(Some(packet));
                self.packets.len() as u32 - 1
            }
        };
        Slot::new(place, data)
    }

    /// Takes the packet out that travels in this form, if it is here.
    #[inline]
    pub fn take(&mut self, content: &Content) -> Option<P> {
        let Content::Pooled(slot) = *content else { return None };
        self.free.push(slot.place());
        self.packets[slot.place() as usize].take()
    }
}

/// Packets alike that leave one after the other, and arrive somewhere at the same distances: each with its time of arrival.
#[derive(Clone, Debug)]
pub struct PacketRun {
    /// The first of them. Of media the others have the sequence numbers after its own.
    pub packet: Packet,
    /// When the first arrives.
    pub at: Time,
    /// The time from one to the next.
    pub gap: TimeDelta,
    /// How many there are.
    pub count: u64,
}

impl PacketRun {
    /// When the last arrives, if there is one.
    #[inline]
    pub fn last_at(&self) -> Time {
        self.at + self.gap * (self.count as i64 - 1)
    }

    /// Keeps those that arrive before `time`, of which the first is one; answers the others if there are any.
    #[inline]
    pub fn split_off(&mut self, time: Time) -> Option<PacketRun> {
        if self.last_at() < time {
            return None;
        }
        let before = ((time - self.at).as_nanos() as u64).div_ceil(self.gap.as_nanos() as u64);
        let mut later = PacketRun { count: self.count - before, ..self.clone() };
        later.advance(before);
        self.count = before;
        Some(later)
    }

    /// The first is the one that came so many after it.
    #[inline]
    fn advance(&mut self, packets: u64) {
        let span = self.gap * packets as i64;
        (self.at, self.packet.sent) = (self.at + span, self.packet.sent + span);
        self.packet.number_on(packets);
    }
}

impl Iterator for PacketRun {
    type Item = (Time, Packet);

    #[inline]
    fn next(&mut self) -> Option<(Time, Packet)> {
        self.count = self.count.checked_sub(1)?;
        let first = (self.at, self.packet);
        self.advance(1);
        Some(first)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count as usize, Some(self.count as usize))
    }
}

impl Packet {
    /// Makes it the packet after it in a run, which is sent at `sent`, before any link did something to it.
    #[inline]
    pub fn renew(&mut self, sent: Time, ecn: Ecn) {
        (self.sent, self.ecn, self.wait, self.noise) = (sent, ecn, 0, 0);
        self.number_on(1);
    }

    /// Gives it the number of the packet that comes so many after it in a run. Only media has numbers that count on.
    #[inline]
    fn number_on(&mut self, packets: u64) {
        if let Content::Media(media) = &mut self.content {
            media.sequence += packets;
        }
    }

    /// Notes what a link did to it.
    #[inline]
    pub fn cross(&mut self, wait: TimeDelta, noise: TimeDelta) {
        self.wait += wait.as_nanos();
        self.noise += noise.as_nanos();
    }
}

impl Packet {
    /// Index of the packet's flow and direction in a link's table of next edges.
    #[inline]
    pub fn way(&self) -> usize {
        self.flow as usize * 2 + usize::from(self.back)
    }
}

impl Transit for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    #[inline]
    fn flow(&self) -> u64 {
        self.way() as u64
    }
}

/// A packet as a link's queue sees it: what the queue needs to know, and where the packet lies meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Slot of the packet in [`QueuedPackets`].
    slot: u32,
    size: u32,
    way: u32,
    /// ECN field of the packet, which the link may change.
    ecn: Ecn,
}

impl Transit for Token {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    #[inline]
    fn flow(&self) -> u64 {
        u64::from(self.way)
    }
}

/// The packets whose tokens a link's queue holds, so that the queue moves little.
#[derive(Debug, Default)]
pub struct QueuedPackets {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl QueuedPackets {
    /// Keeps a packet; answers its token.
    #[inline]
    pub fn put(&mut self, packet: &Packet) -> Token {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = *packet;
                slot
            }
            None => {
                self.packets.push(*packet);
                self.packets.len() as u32 - 1
            }
        };
        Token { slot, size: packet.size, way: packet.way() as u32, ecn: packet.ecn }
    }

    /// Takes a packet out, with the ECN field of its token.
    #[inline]
    pub fn take(&mut self, token: &Token) -> Packet {
        self.free.push(token.slot);
        Packet { ecn: token.ecn, ..self.packets[token.slot as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::{Packet, Slot};
    use paceline_cc::StreamId;

    #[test]
    fn a_slot_keeps_the_place_and_the_stream() {
        for data in [None, Some(StreamId(0)), Some(StreamId(u8::MAX))] {
            for place in [0, 1, u32::MAX] {
                assert_eq!((Slot::new(place, data).place(), Slot::new(place, data).data()), (place, data));
            }
        }
    }

    #[test]
    fn a_packet_is_small_since_it_is_copied_at_every_hop() {
        assert!(size_of::<Packet>() <= 72, "{} bytes", size_of::<Packet>());
    }
}
