//! Packets that were sent, and their known fate: the sender's view of delivery, delay and loss, whatever the feedback.

use crate::losses::MissingPackets;
use paceline_cc::{PacketResult, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::VecDeque;

/// Packets of a stream that are remembered at most: as many as the transports remember.
pub(super) const REMEMBERED: usize = 1 << 16;

/// Feedback on one packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reported {
    pub stream: StreamId,
    pub number: u64,
    pub status: Status,
}

impl Reported {
    /// The transport's reading of a report.
    pub fn of(result: &PacketResult) -> Reported {
        Reported { stream: result.stream, number: result.sequence, status: result.status }
    }
}

/// A data packet that was reported as received, for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delivered {
    pub stream: StreamId,
    /// Size on the link, headers in.
    pub size: Bytes,
    pub payload: Bytes,
    pub sent: Time,
    /// One-way delay above the smallest so far, whatever the receiver's clock shows; absent without an arrival time.
    pub queued: Option<TimeDelta>,
    pub ecn: Ecn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketState {
    Unreported,
    Missing,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    sent: Time,
    size: u32,
    /// Of a data packet.
    payload: Option<u32>,
    state: PacketState,
}

#[derive(Clone, Debug, Default)]
struct SentStream {
    /// The number of the first packet remembered.
    first: u64,
    packets: VecDeque<SentPacket>,
}

impl SentStream {
    /// Forgets what no report changes any more, but for the newest packet, whose number says which is next.
    fn forget_settled(&mut self) {
        let settled = |packet: &SentPacket| packet.payload.is_none() || packet.state == PacketState::Received;
        while self.packets.len() > 1 && self.packets.front().is_some_and(settled) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    fn data_packet(&mut self, number: u64) -> Option<(&mut SentPacket, Bytes)> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(place)?;
        packet.payload.map(|payload| (packet, Bytes::new(payload.into())))
    }
}

/// The packets of a flow as the sender knows them.
#[derive(Clone, Debug)]
pub(super) struct SentLog {
    streams: Vec<SentStream>,
    missing: MissingPackets,
    /// The smallest difference of arrival (receiver's clock) and sending (ours).
    least_delay: Option<TimeDelta>,
}

impl SentLog {
    /// A log of so many streams.
    pub fn new(streams: usize) -> SentLog {
        let streams = vec![SentStream::default(); streams];
        SentLog { streams, missing: MissingPackets::default(), least_delay: None }
    }

    /// A packet left at `now`; one with `payload` is data. Numbers of a stream are consecutive: one that is not is left
    /// out, such as that of an answer outside a connection.
    pub fn sent(&mut self, now: Time, stream: StreamId, number: u64, size: Bytes, payload: Option<Bytes>) {
        let Some(stream) = self.streams.get_mut(usize::from(stream.0)) else { return };
        if stream.packets.is_empty() {
            stream.first = number;
        }
        if number != stream.first + stream.packets.len() as u64 {
            return;
        }
        stream.forget_settled();
        if stream.packets.len() == REMEMBERED {
            stream.packets.pop_front();
            stream.first += 1;
        }
        let narrow = |bytes: Bytes| u32::try_from(bytes.as_u64()).unwrap_or(u32::MAX);
        let (size, payload) = (narrow(size), payload.map(narrow));
        stream.packets.push_back(SentPacket { sent: now, size, payload, state: PacketState::Unreported });
    }

    /// Feedback arrived at `now`: answers a data packet of which it says for the first time that it was received.
    pub fn reported(&mut self, now: Time, told: &Reported) -> Option<Delivered> {
        let stream = self.streams.get_mut(usize::from(told.stream.0))?;
        let (packet, payload) = stream.data_packet(told.number)?;
        match (packet.state, told.status) {
            (PacketState::Received, _) | (PacketState::Missing, Status::Missing) => None,
            (PacketState::Unreported, Status::Missing) => {
                packet.state = PacketState::Missing;
                self.missing.note(now, told.stream, told.number);
                None
            }
            (_, Status::Received { arrived, ecn }) => {
                packet.state = PacketState::Received;
                let delay = arrived.map(|arrived| arrived - packet.sent);
                self.least_delay = [self.least_delay, delay].into_iter().flatten().min();
                let queued = delay.zip(self.least_delay).map(|(delay, least)| delay - least);
                let size = Bytes::new(packet.size.into());
                Some(Delivered { stream: told.stream, size, payload, sent: packet.sent, queued, ecn })
            }
        }
    }

    /// Hands over the packets that are lost by now: stream and when they were sent.
    pub fn settle(&mut self, now: Time, mut lost: impl FnMut(StreamId, Time)) {
        while let Some((id, number)) = self.missing.settle(now) {
            let stream = self.streams.get_mut(usize::from(id.0));
            let packet = stream.and_then(|stream| stream.data_packet(number));
            if let Some((packet, _)) = packet.filter(|(packet, _)| packet.state == PacketState::Missing) {
                lost(id, packet.sent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId(0);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn send(log: &mut SentLog, millis: u64, number: u64, data: bool) {
        let payload = data.then_some(Bytes::new(1000));
        log.sent(at(millis), STREAM, number, Bytes::new(1012), payload);
    }

    /// Tells of the packets from `begin` on: when each arrived, by the receiver's clock in ms.
    fn tell(log: &mut SentLog, now: u64, begin: u64, arrivals: &[Option<u64>]) -> Vec<Delivered> {
        let reported = arrivals.iter().zip(begin..).map(|(arrived, number)| {
            let status = match arrived.map(at) {
                None => Status::Missing,
                arrived => Status::Received { arrived, ecn: Ecn::Ect1 },
            };
            Reported { stream: STREAM, number, status }
        });
        reported.filter_map(|told| log.reported(at(now), &told)).collect()
    }

    fn lost(log: &mut SentLog, now: u64) -> Vec<Time> {
        let mut lost = Vec::new();
        log.settle(at(now), |_, sent| lost.push(sent));
        lost
    }

    #[test]
    fn delay_is_above_the_smallest_and_each_packet_counts_once() {
        let mut log = SentLog::new(1);
        (0..4).for_each(|n| send(&mut log, 10 * n, n, true));
        // The receiver's clock is 500 ms ahead: 30, 20, 45 ms of delay show as 530, 520, 545.
        let mut delivered = tell(&mut log, 100, 0, &[Some(530), Some(530)]);
        delivered.extend(tell(&mut log, 100, 1, &[Some(530), None, Some(575)]));
        let queued: Vec<_> = delivered.iter().filter_map(|packet| packet.queued).collect();
        let ms = TimeDelta::from_millis;
        assert_eq!(queued, [ms(0), ms(0), ms(25)], "the first is judged by what is known then");
        assert_eq!((delivered[0].size, delivered[0].payload), (Bytes::new(1012), Bytes::new(1000)));
        assert!(lost(&mut log, 1099).is_empty());
        assert_eq!(lost(&mut log, 1100), [at(20)]);
    }

    #[test]
    fn a_late_packet_is_not_lost_and_what_was_never_sent_is_nothing() {
        let mut log = SentLog::new(1);
        (0..2).for_each(|n| send(&mut log, n, n, true));
        tell(&mut log, 10, 0, &[None, Some(5)]);
        assert_eq!(tell(&mut log, 20, 0, &[Some(15), Some(5)]).len(), 1);
        assert!(tell(&mut log, 30, 2, &[Some(1), None, Some(2)]).is_empty(), "never sent");
        assert!(lost(&mut log, 9000).is_empty());
    }

    #[test]
    fn only_data_is_delivered_or_lost() {
        let mut log = SentLog::new(1);
        (0..5).for_each(|n| send(&mut log, n, n, n % 2 == 0));
        let delivered = tell(&mut log, 10, 0, &[Some(1), Some(1), None, None]);
        assert_eq!(delivered.iter().map(|packet| packet.sent).collect::<Vec<_>>(), [at(0)]);
        assert_eq!(lost(&mut log, 1010), [at(2)]);
    }

    #[test]
    fn what_was_received_is_forgotten_once_all_before_it_was() {
        let mut log = SentLog::new(1);
        for n in 0..10_000 {
            send(&mut log, n, n, n % 3 > 0);
            if let Some(told) = n.checked_sub(50) {
                let new = tell(&mut log, n, told, &[(told != 9001).then_some(n)]).len();
                assert_eq!(new, usize::from(told % 3 > 0 && told != 9001), "{told}");
            }
            if n < 9001 {
                assert!(log.streams[0].packets.len() <= 53, "{n}: {}", log.streams[0].packets.len());
            }
        }
        assert_eq!(log.streams[0].packets.len(), 999, "a missing packet may still be reported");
        assert_eq!(tell(&mut log, 10_001, 8000, &[Some(1)]).len(), 0, "a second time");
    }

    #[test]
    fn memory_is_bounded_and_a_number_out_of_order_is_left_out() {
        let mut log = SentLog::new(1);
        send(&mut log, 0, 7, true);
        send(&mut log, 0, 77, true);
        (8..200_000).for_each(|n| send(&mut log, n, n, true));
        let stream = &log.streams[0];
        assert_eq!((stream.packets.len(), stream.first), (REMEMBERED, 200_000 - REMEMBERED as u64));
        assert_eq!(tell(&mut log, 1, 7, &[Some(1)]).len() + tell(&mut log, 1, 199_999, &[Some(1)]).len(), 1);
    }
}
