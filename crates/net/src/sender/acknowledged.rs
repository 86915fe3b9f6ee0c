//! What a DCCP sender sent, and what acknowledgements say of it.

use super::sent::Delivered;
use crate::losses::MissingPackets;
use paceline_cc::{PacketResult, Status, StreamId};
use paceline_units::{Bytes, Time};
use paceline_wire::dccp::{Packet, PacketType, SequenceNumber};
use std::collections::VecDeque;

/// Packets that are remembered: as many as the connection remembers.
const MOST: usize = 1 << 16;
const STREAM: StreamId = StreamId(0);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Unknown,
    Missing,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    sent: Time,
    size: u32,
    /// Of a data packet.
    payload: Option<u32>,
    fate: Fate,
}

/// The packets of a connection as its sender knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct AcknowledgedLog {
    /// The number of the connection's first packet; others count from it.
    base: Option<SequenceNumber>,
    /// That of the first packet remembered.
    first: u64,
    packets: VecDeque<SentPacket>,
    missing: MissingPackets,
}

impl AcknowledgedLog {
    /// `packet` of `size` bytes left at `now`. Numbers are consecutive; one that is not is the answer to a packet of no
    /// connection.
    pub fn sent(&mut self, now: Time, packet: &Packet, size: Bytes) {
        let base = *self.base.get_or_insert(packet.sequence);
        // A short packet that is sent has its whole number.
        if packet.sequence.since(base) != (self.first as i64).wrapping_add(self.packets.len() as i64) {
            return;
        }
        if self.packets.len() == MOST {
            self.packets.pop_front();
            self.first += 1;
        }
        let data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
        self.packets.push_back(SentPacket {
            sent: now,
            size: u32::try_from(size.as_u64()).unwrap_or(u32::MAX),
            payload: data.then(|| u32::try_from(packet.payload.len()).unwrap_or(u32::MAX)),
            fate: Fate::Unknown,
        });
    }

    fn packet(&mut self, sequence: u64) -> Option<&mut SentPacket> {
        self.packets.get_mut(usize::try_from(sequence.checked_sub(self.first)?).ok()?)
    }

    /// An acknowledgement arrived at `now` and told `results`: hands over the data packets that are new in it.
    pub fn told(&mut self, now: Time, results: &[PacketResult], mut take: impl FnMut(Delivered)) {
        for result in results {
            let packet = self.packet(result.sequence).filter(|packet| packet.fate != Fate::Received);
            let Some((packet, payload)) =
                packet.and_then(|packet| packet.payload.map(|payload| (packet, payload)))
            else {
                continue;
            };
            match result.status {
                Status::Missing if packet.fate == Fate::Unknown => {
                    packet.fate = Fate::Missing;
                    self.missing.note(now, STREAM, result.sequence);
                }
                Status::Missing => {}
                Status::Received { ecn, .. } => {
                    packet.fate = Fate::Received;
                    let (size, payload) = (Bytes::new(packet.size.into()), Bytes::new(payload.into()));
                    take(Delivered { stream: STREAM, size, payload, sent: packet.sent, queued: None, ecn });
                }
            }
        }
    }

    /// Hands over the data packets that are lost by now: when they were sent.
    pub fn settle(&mut self, now: Time, mut lost: impl FnMut(StreamId, Time)) {
        while let Some((_, sequence)) = self.missing.settle(now) {
            if let Some(packet) = self.packet(sequence).filter(|packet| packet.fate == Fate::Missing) {
                lost(STREAM, packet.sent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::Ecn;
    use paceline_wire::dccp::{Body, Payload, Ports};

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn packet(number: i64, data: bool) -> Packet {
        let acknowledgment = SequenceNumber::ZERO;
        let body = if data { Body::Data } else { Body::Ack { acknowledgment } };
        let mut packet = Packet::new(Ports::default(), SequenceNumber::new(u64::MAX).plus(number), body);
        packet.payload = if data { Payload::dummy(1000, Time::ZERO) } else { Payload::EMPTY };
        packet
    }

    fn result(sequence: u64, received: bool) -> PacketResult {
        let ecn = Ecn::Ce;
        let status = if received { Status::Received { arrived: None, ecn } } else { Status::Missing };
        PacketResult { stream: STREAM, sequence, size: Bytes::ZERO, sent: Time::ZERO, status }
    }

    #[test]
    fn data_counts_once_and_what_is_missing_for_a_second_is_lost() {
        let mut log = AcknowledgedLog::default();
        for number in 0..5 {
            log.sent(at(number as u64), &packet(number, number != 1), Bytes::new(1016));
        }
        let mut delivered = Vec::new();
        for results in [
            vec![result(0, true), result(1, true), result(2, false), result(3, false)],
            vec![result(0, true), result(3, true), result(2, false), result(9, true)],
        ] {
            log.told(at(10), &results, |packet| delivered.push((packet.sent, packet.payload, packet.ecn)));
        }
        let payload = Bytes::new(1000);
        assert_eq!(delivered, [(at(0), payload, Ecn::Ce), (at(3), payload, Ecn::Ce)]);
        let mut lost = Vec::new();
        log.settle(at(1009), |_, sent| lost.push(sent));
        assert!(lost.is_empty());
        log.settle(at(1010), |_, sent| lost.push(sent));
        assert_eq!(lost, [at(2)]);
    }

    #[test]
    fn memory_is_bounded_and_a_number_out_of_order_is_left_out() {
        let mut log = AcknowledgedLog::default();
        log.sent(at(0), &packet(0, true), Bytes::new(1016));
        log.sent(at(0), &packet(77, true), Bytes::new(1016));
        (1..100_000).for_each(|number| log.sent(at(1), &packet(number, true), Bytes::new(1016)));
        assert_eq!((log.packets.len(), log.first), (MOST, 100_000 - MOST as u64));
    }
}
