//! Which packets are outstanding, and what Ack Vectors make of them (RFC 4341 section 5).

use crate::Ring;
use paceline_units::{Bytes, Time};

/// More packets than any flight has: a sender that goes further ahead forgets the oldest.
const CAPACITY: u64 = 1 << 18;
/// The largest NUMDUPACK that can be set.
const MOST_DUPACKS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketState {
    /// No data packet has this number; if it is received it is a later packet all the same.
    NoData,
    Outstanding,
    /// Acknowledged, with or without data.
    Received,
    /// Inferred lost, or given up at a timeout.
    GivenUp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packet {
    at: Time,
    size: u64,
    state: PacketState,
}

/// A packet that is acknowledged for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acknowledged {
    /// Time at which the packet was sent.
    pub(super) at: Time,
    /// Whether it was in the pipe: neither inferred lost nor given up before.
    pub(super) counted: bool,
}

/// The packets from the first whose state may still change to the newest.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    numdupack: usize,
    packets: Ring<Packet>,
    /// `pipe`, data packets.
    pub(super) pipe: u64,
    bytes: u64,
    /// The highest numbers that were received, one above each, the highest first; 0 where there are fewer.
    highest: [u64; MOST_DUPACKS],
    /// Packets below this number were looked at for losses.
    looked_at: u64,
}

impl Flight {
    pub(super) fn new(numdupack: u64) -> Flight {
        Flight {
            numdupack: (numdupack as usize).clamp(1, MOST_DUPACKS),
            packets: Ring::new(0, Packet { at: Time::ZERO, size: 0, state: PacketState::NoData }),
            pipe: 0,
            bytes: 0,
            highest: [0; MOST_DUPACKS],
            looked_at: 0,
        }
    }

    /// Sum of the sizes of the packets in the pipe.
    #[inline]
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// The first packet that may still be acknowledged, or the next to be sent.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.packets.first()
    }

    /// One more than the highest number sent.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.packets.next()
    }

    /// A data packet leaves. Numbers left out are packets without data. False if the number is an old one, or the last of all,
    /// which no number follows.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, sequence: u64, size: Bytes) -> bool {
        if sequence == u64::MAX || sequence != self.next() && !self.leap(now, sequence) {
            return false;
        }
        self.packets.push(Packet { at: now, size: size.as_u64(), state: PacketState::Outstanding });
        self.pipe += 1;
        self.bytes = self.bytes.saturating_add(size.as_u64());
        if self.packets.len() > CAPACITY {
            self.retire();
        }
        true
    }

    #[cold]
    fn leap(&mut self, now: Time, sequence: u64) -> bool {
        let next = self.next();
        if sequence < next {
            return false;
        }
        if self.packets.is_empty() || sequence - next >= CAPACITY {
            self.packets.restart(sequence);
            (self.pipe, self.bytes) = (0, 0);
        }
        while self.next() < sequence {
            self.packets.push(Packet { at: now, size: 0, state: PacketState::NoData });
        }
        true
    }

    /// A packet is acknowledged as received, marked or not. None if it was before, or never sent; a packet without data
    /// counts as a later packet and is nothing else.
    #[inline]
    pub(super) fn on_received(&mut self, sequence: u64) -> Option<Acknowledged> {
        let packet = self.packets.get_mut(sequence)?;
        let state = core::mem::replace(&mut packet.state, PacketState::Received);
        let at = packet.at;
        if state == PacketState::Received {
            return None;
        }
        let counted = state == PacketState::Outstanding;
        if counted {
            self.pipe -= 1;
            self.bytes = self.bytes.saturating_sub(packet.size);
        }
        self.note_highest(sequence + 1);
        if sequence == self.first() {
            self.retire();
        }
        (state != PacketState::NoData).then_some(Acknowledged { at, counted })
    }

    fn note_highest(&mut self, above: u64) {
        let mut lower = above;
        for known in &mut self.highest[..self.numdupack] {
            if lower > *known {
                core::mem::swap(known, &mut lower);
            }
        }
    }

    /// Infers losses: NUMDUPACK packets sent later were received. Answers the highest that is newly lost.
    pub(super) fn infer_losses(&mut self) -> Option<u64> {
        // Below the NUMDUPACK-th highest as many were received later.
        let below = self.highest[self.numdupack - 1].saturating_sub(1);
        let from = self.looked_at.max(self.first());
        let mut newest = None;
        for sequence in from..below.min(self.next()) {
            let Some(packet) = self.packets.get_mut(sequence) else { break };
            if packet.state == PacketState::Outstanding {
                packet.state = PacketState::GivenUp;
                self.pipe -= 1;
                self.bytes = self.bytes.saturating_sub(packet.size);
                newest = Some(sequence);
            }
        }
        self.looked_at = self.looked_at.max(below);
        self.retire();
        newest
    }

    /// A timeout: nothing counts as in the network any more.
    pub(super) fn give_up(&mut self) {
        for sequence in self.first()..self.next() {
            if let Some(packet) = self.packets.get_mut(sequence)
                && packet.state == PacketState::Outstanding
            {
                packet.state = PacketState::GivenUp;
            }
        }
        (self.pipe, self.bytes) = (0, 0);
    }

    /// Forgets packets, from the oldest on: each that was received, or lies so far back that it will not be. A packet that was given up
    /// may still be acknowledged, and then tells the round-trip time.
    fn retire(&mut self) {
        while let Some(packet) = self.packets.front() {
            let open = match packet.state {
                PacketState::Outstanding => true,
                PacketState::GivenUp => self.first() >= self.looked_at,
                PacketState::NoData | PacketState::Received => false,
            };
            let crowded = self.packets.len() > CAPACITY;
            if open && !crowded {
                break;
            }
            if packet.state == PacketState::Outstanding {
                self.pipe -= 1;
                self.bytes = self.bytes.saturating_sub(packet.size);
            }
            self.packets.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(sequences: core::ops::Range<u64>) -> Flight {
        let mut flight = Flight::new(3);
        sequences.for_each(|n| assert!(flight.on_sent(Time::ZERO, n, Bytes::new(1000))));
        flight
    }

    fn receive(flight: &mut Flight, sequences: &[u64]) -> Option<u64> {
        sequences.iter().for_each(|n| {
            flight.on_received(*n);
        });
        flight.infer_losses()
    }

    #[test]
    fn no_number_follows_the_last() {
        let mut flight = flight(u64::MAX - 2..u64::MAX);
        assert!(!flight.on_sent(Time::ZERO, u64::MAX, Bytes::new(1000)));
        assert_eq!(receive(&mut flight, &[u64::MAX - 2, u64::MAX - 1, u64::MAX]), None);
        assert_eq!((flight.pipe, flight.next()), (0, u64::MAX));
    }

    #[test]
    fn three_later_packets_make_a_loss() {
        let mut flight = flight(10..20);
        assert_eq!(receive(&mut flight, &[11, 12]), None);
        assert_eq!(receive(&mut flight, &[12, 12, 11]), None, "the same again are no other packets");
        assert_eq!(receive(&mut flight, &[14]), Some(10));
        assert_eq!((flight.pipe, flight.bytes()), (6, Bytes::new(6000)));
        assert_eq!(receive(&mut flight, &[15, 16]), Some(13));
        assert_eq!((flight.pipe, flight.next()), (3, 20));
    }

    #[test]
    fn packets_without_data_are_later_packets_and_never_in_the_pipe() {
        let mut flight = flight(0..1);
        for n in [2, 4, 6] {
            flight.on_sent(Time::ZERO, n, Bytes::new(1000));
        }
        assert_eq!(flight.pipe, 4);
        assert_eq!(flight.on_received(1), None);
        assert_eq!(flight.pipe, 4);
        assert_eq!(receive(&mut flight, &[3, 5]), Some(0));
        assert_eq!(flight.pipe, 3);
    }

    #[test]
    fn the_pipe_counts_each_packet_once() {
        let mut flight = flight(0..6);
        assert_eq!(receive(&mut flight, &[2, 3, 4]), Some(1));
        assert_eq!(flight.pipe, 1);
        let late = flight.on_received(1);
        assert!(late.is_none_or(|packet| !packet.counted), "inferred lost before: {late:?}");
        assert_eq!(flight.pipe, 1);
        flight.give_up();
        assert_eq!(flight.pipe, 0);
        assert_eq!(flight.on_received(5), Some(Acknowledged { at: Time::ZERO, counted: false }));
        assert_eq!(flight.on_received(5), None);
        assert_eq!((flight.pipe, flight.bytes()), (0, Bytes::ZERO));
    }

    #[test]
    fn old_and_unknown_numbers_change_nothing() {
        let mut flight = flight(5..8);
        for n in [0, 4, 8, u64::MAX] {
            assert_eq!(flight.on_received(n), None);
        }
        assert!(
            !flight.on_sent(Time::ZERO, 6, Bytes::new(1))
                && !flight.on_sent(Time::ZERO, u64::MAX, Bytes::new(1))
        );
        assert_eq!((flight.pipe, flight.next()), (3, 8));
        assert!(flight.on_sent(Time::ZERO, 1 << 40, Bytes::new(1)));
        assert_eq!((flight.pipe, flight.next()), (1, (1 << 40) + 1), "a leap forgets");
    }

    #[test]
    fn what_is_settled_is_forgotten() {
        let mut flight = flight(0..100_000);
        for n in (0..100_000).filter(|n| n % 10 != 7) {
            flight.on_received(n);
            flight.infer_losses();
        }
        assert!(flight.packets.len() < 10, "{}", flight.packets.len());
    }

    #[test]
    fn a_flight_beyond_all_measure_forgets_its_oldest_packets() {
        let flight = flight(0..CAPACITY + 3);
        assert_eq!((flight.packets.len(), flight.first()), (CAPACITY, 3));
        assert_eq!((flight.pipe, flight.bytes()), (CAPACITY, Bytes::new(1000 * CAPACITY)));
    }
}
