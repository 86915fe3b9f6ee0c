//! What lies between two components: packets in order of arrival, and how far that order is known.

use crate::packet::Packet;
use paceline_units::Time;
use std::collections::VecDeque;

/// An edge from one component to another.
#[derive(Debug)]
pub struct Edge {
    packets: VecDeque<(Time, Packet)>,
    /// The latest arrival so far.
    last: Time,
    /// Every packet that arrives before this is there.
    pub horizon: Time,
    /// The link that packets pass at once when they come here, if there is one.
    pub passes: Option<u32>,
}

impl Edge {
    /// Nothing under way, nothing known.
    pub fn new() -> Edge {
        Edge { packets: VecDeque::new(), last: Time::ZERO, horizon: Time::ZERO, passes: None }
    }

    /// A packet arrives at `time`. Packets come nearly in order: only delay noise lets one overtake another.
    #[inline]
    pub fn push(&mut self, time: Time, packet: Packet) {
        if time >= self.last {
            self.last = time;
            self.packets.push_back((time, packet));
        } else {
            self.push_early(time, packet);
        }
    }

    #[cold]
    fn push_early(&mut self, time: Time, packet: Packet) {
        let place = self.packets.partition_point(|(arrives, _)| *arrives <= time);
        self.packets.insert(place, (time, packet));
    }

    /// When the next packet arrives; `Time::MAX` if none is under way.
    #[inline]
    pub fn next(&self) -> Time {
        self.packets.front().map_or(Time::MAX, |(time, _)| *time)
    }

    /// The flow of the next packet, to break ties; the largest if none is under way.
    #[inline]
    pub fn next_flow(&self) -> u32 {
        self.packets.front().map_or(u32::MAX, |(_, packet)| packet.flow)
    }

    /// Whether no packet is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes the next packet if it arrives before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, Packet)> {
        if self.next() < until { self.packets.pop_front() } else { None }
    }

    /// The next packet, if one is under way.
    #[inline]
    pub fn first(&self) -> Option<&Packet> {
        self.packets.front().map(|(_, packet)| packet)
    }

    /// Takes the next packet.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        self.packets.pop_front()
    }
}
