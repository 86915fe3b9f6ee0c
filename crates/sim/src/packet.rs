//! What travels in the simulator: small structs, no bytes.

use paceline_cc::StreamId;
use paceline_link::Transit;
use paceline_transport::rtp::RtpPacket;
use paceline_transport::tcp::Segment;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

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

/// A transport's packet as it travels.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A packet of media.
    Rtp(RtpPacket),
    /// A report, by its slot in the flow's pool.
    Report(u32),
    /// A segment of TCP, of either direction.
    Segment(Segment),
    /// A packet of DCCP, of either direction.
    Dccp {
        /// Slot of the packet in the flow's pool.
        slot: u32,
        /// Whether it carries application data.
        data: bool,
    },
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
            Content::Rtp(packet) => (!packet.is_padding()).then_some(packet.stream),
            Content::Report(_) => None,
            Content::Segment(segment) => (segment.payload > 0).then_some(StreamId(0)),
            Content::Dccp { data, .. } => data.then_some(StreamId(0)),
            Content::Datagram { .. } => Some(StreamId(0)),
        }
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

    /// Keeps a packet; answers its slot.
    #[inline]
    pub fn insert(&mut self, packet: P) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = Some(packet);
                slot
            }
            None => {
                self.packets.push(Some(packet));
                self.packets.len() as u32 - 1
            }
        }
    }

    /// Takes the packet in `slot` out.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> Option<P> {
        self.free.push(slot);
        self.packets[slot as usize].take()
    }
}

impl Packet {
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

/// A packet as a link's queue sees it: what the queue needs to know, and where the packet lies meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Slot of the packet in [`QueuedPackets`].
    pub slot: u32,
    size: u32,
    way: u32,
    /// ECN field of the packet, which the link may change.
    pub ecn: Ecn,
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
    /// The token of a packet that may be queued. Its slot is then either filled with `put` or given back with `free`.
    #[inline]
    pub fn token(&mut self, packet: &Packet) -> Token {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(*packet);
            self.packets.len() as u32 - 1
        });
        Token { slot, size: packet.size, way: packet.way() as u32, ecn: packet.ecn }
    }

    /// Keeps a packet in a slot.
    #[inline]
    pub fn put(&mut self, slot: u32, packet: &Packet) {
        self.packets[slot as usize] = *packet;
    }

    /// Gives a slot back.
    #[inline]
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
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
    use super::Packet;

    #[test]
    fn a_packet_is_small_since_it_is_copied_at_every_hop() {
        assert!(size_of::<Packet>() <= 104, "{} bytes", size_of::<Packet>());
    }
}
