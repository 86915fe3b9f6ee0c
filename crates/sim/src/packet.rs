//! The packets of the simulator: small structs, no bytes.

use crate::transports::Content;
use paceline_cc::StreamId;
use paceline_link::Transit;
use paceline_units::{Bytes, CongestionHeader, Ecn, Time, TimeDelta};
use std::collections::BTreeMap;

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
    /// Delay noise so far, in nanoseconds; of packets that links copied also how often, in units of `HALVING`. A field of its own would
    /// make each move of a packet longer (the bench call-100-off-1 by 21 instructions a packet).
    pub noise: i64,
    /// The transport's packet in it.
    pub content: Content,
}

/// A packet's share of one that was copied: the whole is `WHOLE`, and each copy takes half of what there was.
pub const WHOLE: u64 = 1 << MOST_HALVINGS;
/// A share that was halved so often is copied no more.
const MOST_HALVINGS: u8 = 32;
/// Longer than any delay, in nanoseconds.
const HALVING: i64 = 1 << 56;

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

    /// A number that no other packet has that is under way.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.place())
    }

    /// How often the share in the packet was halved.
    fn halvings(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// The same with half of the share.
    fn halved(self) -> Slot {
        Slot(self.0 + (1 << 48))
    }

    #[inline]
    pub(crate) fn data(self) -> Option<StreamId> {
        (self.0 as u16).checked_sub(1).map(|stream| StreamId(stream as u8))
    }
}

/// Packets of a flow that are under way and too large to travel as copies.
#[derive(Debug)]
pub struct PacketPool<P> {
    packets: Vec<Option<P>>,
    free: Vec<u32>,
    /// Of packets that links copied the shares that are still under way, by place.
    shared: BTreeMap<u32, u64>,
}

impl<P: Clone> PacketPool<P> {
    /// A pool without packets.
    pub const fn new() -> PacketPool<P> {
        PacketPool { packets: Vec::new(), free: Vec::new(), shared: BTreeMap::new() }
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
        let Content::Pooled(slot) = *content else { return self.take_share(content) };
        self.free.push(slot.place());
        self.packets[slot.place() as usize].take()
    }

    /// The same of a packet with a congestion header, and of one that a link copied: it stays until all of its copies came or were lost.
    #[cold]
    fn take_share(&mut self, content: &Content) -> Option<P> {
        let slot = match *content {
            Content::Headed(slot, _) if slot.halvings() == 0 => return self.take(&Content::Pooled(slot)),
            Content::Shared(slot) | Content::Headed(slot, _) => slot,
            _ => return None,
        };
        let left = self.shared.entry(slot.place()).or_insert(WHOLE);
        *left -= WHOLE >> slot.halvings();
        if *left > 0 {
            return self.packets[slot.place() as usize].clone();
        }
        self.shared.remove(&slot.place());
        self.take(&Content::Pooled(slot))
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

    /// Gives it the number of the packet that comes so many after it in a run.
    #[inline]
    fn number_on(&mut self, packets: u64) {
        self.content.number_on(packets);
    }

    /// A copy of it, which shares what it was; none of one that was copied too often.
    pub fn copy(&mut self) -> Option<Packet> {
        if self.halvings() == MOST_HALVINGS {
            return None;
        }
        self.noise += HALVING;
        self.content = match self.content {
            Content::Pooled(slot) | Content::Shared(slot) => Content::Shared(slot.halved()),
            Content::Headed(slot, header) => Content::Headed(slot.halved(), header),
            content => content,
        };
        Some(*self)
    }

    /// Its share in the packet that was sent, of [`WHOLE`].
    pub fn share(&self) -> u64 {
        WHOLE >> self.halvings()
    }

    /// How often links halved its share: a copy has the other half each time.
    fn halvings(&self) -> u8 {
        (self.noise / HALVING) as u8
    }

    /// Delay noise so far, of a packet that links may have copied.
    pub fn delay_noise(&self) -> TimeDelta {
        TimeDelta::from_nanos(self.noise % HALVING)
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

    #[inline]
    fn congestion(&mut self) -> Option<&mut CongestionHeader> {
        self.content.congestion()
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
    /// Whether the packet has a congestion header, which the link is lent under the packet's slot.
    pub headed: bool,
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

    #[inline]
    fn lent_key(&self) -> Option<u32> {
        self.headed.then_some(self.slot)
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
        let headed = matches!(packet.content, Content::Headed(..));
        Token { slot, size: packet.size, way: packet.way() as u32, ecn: packet.ecn, headed }
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
