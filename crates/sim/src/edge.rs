//! The edge between two components: packets in order of arrival.

use crate::packet::{Packet, PacketRun};
use paceline_units::{Time, TimeDelta};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Some of many things that are numbered: those from `first` on.
#[derive(Debug)]
pub struct Numbered<S> {
    /// Number of the first.
    pub first: usize,
    /// These things, in order.
    pub items: S,
}

impl<T, S: Deref<Target = [T]>> Index<usize> for Numbered<S> {
    type Output = T;
    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.items[number - self.first]
    }
}

impl<T, S: DerefMut<Target = [T]>> IndexMut<usize> for Numbered<S> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.items[number - self.first]
    }
}

/// Edges by their numbers.
pub type Edges = Numbered<Vec<Edge>>;

/// The passage of a packet at the end of an edge.
#[derive(Clone, Copy, Debug)]
pub enum Passage {
    /// The packet waits until the component there takes it.
    Waits,
    /// The packet may pass this link at once, which is plain ([`paceline_link::Link::is_plain`]).
    Plain(u32),
    /// The packet may pass this link at once, which is not plain.
    Any(u32),
}

/// An edge from one component to another.
#[derive(Debug)]
pub struct Edge {
    packets: VecDeque<(Time, Packet)>,
    /// The latest arrival so far.
    last: Time,
    /// The component that packets come from.
    pub source: u32,
    /// The component that they go to.
    pub target: u32,
    /// How long a packet is under way at least.
    pub delay: TimeDelta,
    /// The link that packets pass at once when they come here, if there is one.
    pub passes: Passage,
    /// The link that merges what comes here with what comes on other edges, if there is one.
    pub merges: Option<u32>,
}

impl Edge {
    /// Nothing under way; which components it joins is said later.
    pub fn new() -> Edge {
        let packets = VecDeque::new();
        let (last, delay) = (Time::ZERO, TimeDelta::ZERO);
        Edge { packets, last, source: 0, target: 0, delay, passes: Passage::Waits, merges: None }
    }

    /// A packet arrives at `time`. Packets come nearly in order: only delay noise lets one overtake another. True if the
    /// packet is the next to arrive.
    #[inline(always)]
    pub fn push(&mut self, time: Time, packet: &Packet) -> bool {
        if time >= self.last {
            self.last = time;
            let is_next = self.packets.is_empty();
            if is_next {
                // From the beginning of its memory again, which the processor's cache still has.
                self.packets.clear();
            }
            self.packets.push_back((time, *packet));
            is_next
        } else {
            self.push_early(time, packet)
        }
    }

    /// As [`Edge::push`], of several.
    #[inline]
    pub fn push_run(&mut self, mut run: PacketRun) -> bool {
        let Some((at, first)) = run.next() else { return false };
        let is_next = self.push(at, &first);
        if at < self.last {
            for (at, packet) in run {
                self.push(at, &packet);
            }
        } else if run.count > 0 {
            self.last = run.last_at();
            self.packets.extend(run);
        }
        is_next
    }

    #[cold]
    fn push_early(&mut self, time: Time, packet: &Packet) -> bool {
        let place = self.packets.partition_point(|(arrives, _)| *arrives <= time);
        self.packets.insert(place, (time, *packet));
        place == 0
    }

    /// Takes over what is under way on another part of this edge. True if that has the next packet to arrive.
    pub fn take_over(&mut self, other: &mut Edge) -> bool {
        if self.packets.is_empty() {
            std::mem::swap(&mut self.packets, &mut other.packets);
            self.last = self.last.max(other.last);
            return !self.packets.is_empty();
        }
        let mut is_next = false;
        while let Some((time, packet)) = other.pop() {
            is_next |= self.push(time, &packet);
        }
        is_next
    }

    /// The same edge with nothing under way, for packets that are to be taken over.
    pub fn part(&self) -> Edge {
        let (source, target, delay) = (self.source, self.target, self.delay);
        Edge { source, target, delay, ..Edge::new() }
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

    /// The passage of a packet that arrives at `at`: it passes a link at once if that is before `reach` and nothing is under way to
    /// the link.
    #[inline]
    pub fn passage(&self, at: Time, reach: Time) -> Passage {
        match self.passes {
            Passage::Waits => Passage::Waits,
            passage if at < reach && self.packets.is_empty() => passage,
            _ => Passage::Waits,
        }
    }

    /// Takes the next packet if it arrives before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, Packet)> {
        if self.next() < until { self.packets.pop_front() } else { None }
    }

    /// Hands out what is under way, with the times of arrival, to the component that it goes to. Nothing comes onto the edge until
    /// it is given back.
    #[inline]
    pub fn lend(&mut self) -> VecDeque<(Time, Packet)> {
        std::mem::take(&mut self.packets)
    }

    /// Takes back what was lent, but for the first packets of it, so many.
    #[inline]
    pub fn give_back(&mut self, mut lent: VecDeque<(Time, Packet)>, taken: usize) {
        lent.drain(..taken);
        self.packets = lent;
    }

    /// Takes the next packet.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        self.packets.pop_front()
    }
}
