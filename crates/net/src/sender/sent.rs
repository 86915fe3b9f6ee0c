//! What was sent and what is known of it: the sender's view of delivery, delay and loss.

use crate::losses::MissingPackets;
use paceline_cc::StreamId;
use paceline_transport::rtp::{RTP_HEADER, RtpPacket};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback};
use std::collections::VecDeque;

/// Packets of a stream that are remembered: as many as the transport remembers to complete reports.
const MOST: usize = 1 << 16;

/// A packet that the receiver reported as received, for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delivered {
    pub stream: StreamId,
    /// Header in.
    pub size: Bytes,
    pub payload: Bytes,
    pub sent: Time,
    /// Its one-way delay above the smallest so far, whatever the receiver's clock shows; absent without arrival time.
    pub queued: Option<TimeDelta>,
    pub ecn: Ecn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Unreported,
    Missing,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    sent: Time,
    payload: u32,
    fate: Fate,
}

#[derive(Clone, Debug, Default)]
struct SentStream {
    /// Sequence number of the first packet remembered.
    first: u64,
    packets: VecDeque<SentPacket>,
}

impl SentStream {
    fn end(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    fn packet(&mut self, sequence: u64) -> Option<&mut SentPacket> {
        let place = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.packets.get_mut(place)
    }
}

/// The packets of a flow as the sender knows them.
#[derive(Clone, Debug)]
pub(crate) struct SentLog {
    streams: Vec<SentStream>,
    missing: MissingPackets,
    /// The smallest difference of arrival (receiver's clock) and sending (ours).
    least_delay: Option<TimeDelta>,
}

impl SentLog {
    pub fn new(streams: usize) -> SentLog {
        let streams = vec![SentStream::default(); streams];
        SentLog { streams, missing: MissingPackets::default(), least_delay: None }
    }

    /// `packet` left at `now`; sequence numbers of a stream are consecutive.
    pub fn sent(&mut self, now: Time, packet: &RtpPacket) {
        let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { return };
        if stream.packets.is_empty() {
            stream.first = packet.sequence;
        }
        if stream.packets.len() == MOST {
            stream.packets.pop_front();
            stream.first += 1;
        }
        let payload = packet.payload.as_u64() as u32;
        stream.packets.push_back(SentPacket { sent: now, payload, fate: Fate::Unreported });
    }

    /// The highest sequence number sent.
    pub fn highest(&self, stream: StreamId) -> Option<u64> {
        self.streams.get(usize::from(stream.0))?.end().checked_sub(1)
    }

    /// Whether `feedback` is about any packet that was sent.
    pub fn concerns(&self, feedback: &Feedback) -> bool {
        feedback.blocks.iter().any(|block| {
            let stream = self.streams.get(usize::from(block.stream.0));
            let end = block.begin.saturating_add(block.count.into());
            stream.is_some_and(|stream| block.begin < stream.end() && stream.first < end)
        })
    }

    /// A report arrived at `now`: hands over what it says for the first time.
    pub fn reported(&mut self, now: Time, feedback: &Feedback, mut take: impl FnMut(Delivered)) {
        let mut arrivals = feedback.arrivals.iter();
        for block in &feedback.blocks {
            let entries = arrivals.by_ref().take(block.count as usize);
            let Some(stream) = self.streams.get_mut(usize::from(block.stream.0)) else {
                entries.for_each(drop);
                continue;
            };
            for (offset, arrival) in entries.enumerate() {
                let sequence = block.begin.saturating_add(offset as u64);
                let Some(packet) = stream.packet(sequence).filter(|packet| packet.fate != Fate::Received)
                else {
                    continue;
                };
                let ArrivalReport::Received { at, ecn } = *arrival else {
                    if packet.fate == Fate::Unreported {
                        packet.fate = Fate::Missing;
                        self.missing.note(now, block.stream, sequence);
                    }
                    continue;
                };
                packet.fate = Fate::Received;
                let delay = at.map(|at| at - packet.sent);
                self.least_delay = [self.least_delay, delay].into_iter().flatten().min();
                let queued = delay.zip(self.least_delay).map(|(delay, least)| delay - least);
                let payload = Bytes::new(packet.payload.into());
                let (stream, size, sent) = (block.stream, payload + RTP_HEADER, packet.sent);
                take(Delivered { stream, size, payload, sent, queued, ecn });
            }
        }
    }

    /// Hands over the packets that are lost by now: stream and when they were sent.
    pub fn settle(&mut self, now: Time, mut lost: impl FnMut(StreamId, Time)) {
        while let Some((id, sequence)) = self.missing.settle(now) {
            let stream = self.streams.get_mut(usize::from(id.0));
            let packet = stream.and_then(|stream| stream.packet(sequence));
            if let Some(packet) = packet.filter(|packet| packet.fate == Fate::Missing) {
                lost(id, packet.sent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_transport::rtp::Header;
    use paceline_wire::ccfb::FeedbackBlock;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn packet(sequence: u64) -> RtpPacket {
        RtpPacket {
            stream: StreamId(0),
            sequence,
            captured: Time::ZERO,
            payload: Bytes::new(1000),
            header: Header::RTP,
            first: None,
            marker: false,
            annotation: None,
        }
    }

    fn report(begin: u64, arrivals: &[Option<u64>]) -> Feedback {
        let arrival = |at_ms: &Option<u64>| match at_ms {
            None => ArrivalReport::Missing,
            Some(at_ms) => ArrivalReport::Received { at: Some(at(*at_ms)), ecn: Ecn::Ect1 },
        };
        Feedback {
            written: Time::ZERO,
            blocks: vec![FeedbackBlock { stream: StreamId(0), begin, count: arrivals.len() as u32 }],
            arrivals: arrivals.iter().map(arrival).collect(),
            receiver: None,
        }
    }

    #[test]
    fn delay_is_above_the_smallest_and_each_packet_counts_once() {
        let mut log = SentLog::new(1);
        (0..4).for_each(|n| log.sent(at(10 * n), &packet(n)));
        assert_eq!(log.highest(StreamId(0)), Some(3));
        let mut queued = Vec::new();
        // The receiver's clock is 500 ms ahead: 30, 20, 45 ms of delay show as 530, 520, 545.
        for feedback in [report(0, &[Some(530), Some(530)]), report(1, &[Some(530), None, Some(575)])] {
            assert!(log.concerns(&feedback));
            log.reported(at(100), &feedback, |packet| queued.extend(packet.queued));
        }
        let ms = TimeDelta::from_millis;
        assert_eq!(queued, [ms(0), ms(0), ms(25)], "the first is judged by what is known then");
        let mut lost = Vec::new();
        log.settle(at(1099), |stream, sent| lost.push((stream, sent)));
        assert!(lost.is_empty());
        log.settle(at(1100), |stream, sent| lost.push((stream, sent)));
        assert_eq!(lost, [(StreamId(0), at(20))]);
    }

    #[test]
    fn a_late_packet_is_not_lost_and_what_was_never_sent_is_nothing() {
        let mut log = SentLog::new(1);
        (0..2).for_each(|n| log.sent(at(n), &packet(n)));
        log.reported(at(10), &report(0, &[None, Some(5)]), |_| ());
        log.reported(at(20), &report(0, &[Some(15), Some(5)]), |_| ());
        log.settle(at(5000), |_, _| panic!("nothing is lost"));
        let unsent = report(2, &[Some(1), None, Some(2)]);
        assert!(!log.concerns(&unsent));
        log.reported(at(30), &unsent, |_| panic!("never sent"));
        log.settle(at(9000), |_, _| panic!("never sent"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut log = SentLog::new(1);
        (0..200_000).for_each(|n| log.sent(at(n), &packet(n)));
        assert_eq!(log.streams[0].packets.len(), MOST);
        assert!(!log.concerns(&report(0, &[Some(1)])) && log.concerns(&report(199_999, &[Some(1)])));
    }
}
