//! Packets that were sent, and the news of them in reports.

use crate::one_way_delay::OneWayDelay;
use crate::{PacketResult, SentPacket, Status};
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::{Bytes, Time};

/// A report's word on a packet that was not known to have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Time of arrival in whole microseconds of the receiver's clock, if the packet arrived and the receiver said when.
    pub(super) arrived: Option<Time>,
    /// Place in the report, for packets with one arrival time.
    order: u32,
    pub(super) received: bool,
    /// Number that the observer of losses gave the packet when it was reported missing before.
    pub(super) missed: Option<u32>,
    /// Time of sending in whole microseconds.
    pub(super) sent: Time,
    pub(super) size: Bytes,
    pub(super) probe: Option<u64>,
}

#[cfg(test)]
impl Outcome {
    /// A packet of a probe that arrived.
    pub(super) fn of_probe(sent: Time, arrived: Time, size: Bytes, probe: u64) -> Outcome {
        let (arrived, probe) = (Some(arrived), Some(probe));
        Outcome { arrived, order: 0, received: true, missed: None, sent, size, probe }
    }

    /// A packet that is reported missing, or arrived at once.
    pub(super) fn sent_at(sent: Time, received: bool, size: Bytes) -> Outcome {
        Outcome {
            received,
            arrived: received.then_some(sent),
            probe: None,
            ..Outcome::of_probe(sent, sent, size, 0)
        }
    }
}

/// The packets of all streams.
#[derive(Clone, Debug)]
pub(super) struct History {
    streams: Vec<Stream>,
    /// Knows the steps of the receiver's clock, where they are taken out of arrival times.
    clocks: Option<OneWayDelay>,
}

#[derive(Clone, Debug)]
struct Stream {
    ring: Vec<Entry>,
    /// One above the newest sequence number, and above the newest that was reported.
    next: u64,
    reported: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sequence: u64,
    sent: Time,
    size: Bytes,
    probe: Option<u64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unreported,
    /// Reported missing; the number is the observer's.
    Missing(u32),
    Received,
}

const FIRST_CAPACITY: usize = 256;
/// 2.6 s of full packets at 1 Gbit/s. An older packet is forgotten.
const LARGEST_CAPACITY: usize = 1 << 18;
const NO_ENTRY: Entry =
    Entry { sequence: u64::MAX, sent: Time::ZERO, size: Bytes::ZERO, probe: None, state: State::Received };

impl History {
    pub(super) fn new(step_compensation: bool) -> History {
        History { streams: Vec::new(), clocks: step_compensation.then(|| OneWayDelay::new(true)) }
    }

    /// A packet was sent. Old numbers are ignored.
    pub(super) fn on_sent(&mut self, now: Time, packet: &SentPacket) {
        let id = usize::from(packet.stream.0);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, || Stream {
                ring: vec![NO_ENTRY; FIRST_CAPACITY],
                next: 0,
                reported: 0,
            });
        }
        let (sequence, probe) = (packet.sequence, packet.probe);
        let entry =
            Entry { sequence, sent: whole_micros(now), size: packet.size, probe, state: State::Unreported };
        self.streams[id].on_sent(entry);
    }

    /// Whether something was sent after the newest packet that was reported.
    pub(super) fn is_in_flight(&self) -> bool {
        self.streams.iter().any(|stream| stream.next > stream.reported)
    }

    /// Writes what is new in a report to `outcomes`, in order of arrival. A packet is told of as missing at most once, with
    /// the number `observer`, and as received at most once.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        packets: &[PacketResult],
        observer: u32,
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.clear();
        for packet in packets {
            let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { continue };
            outcomes.extend(stream.on_result(packet, observer, outcomes.len() as u32));
        }
        if let Some(clocks) = &mut self.clocks {
            for outcome in &*outcomes {
                if let Some(arrived) = outcome.arrived {
                    let _ = clocks.on_arrival(now, outcome.sent, arrived);
                }
            }
            // The whole report tells a step better than its first packets.
            for outcome in &mut *outcomes {
                let stepped = clocks.stepped_at(outcome.sent);
                outcome.arrived = outcome.arrived.map(|arrived| whole_micros(arrived - stepped));
            }
        }
        outcomes.sort_unstable_by_key(|outcome| (outcome.arrived, outcome.order));
    }
}

impl Stream {
    fn on_sent(&mut self, entry: Entry) {
        if entry.sequence < self.next || entry.sequence == u64::MAX {
            return;
        }
        while self.ring.len() < LARGEST_CAPACITY && self.is_awaited(entry.sequence) {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[entry.sequence as usize & mask] = entry;
        self.next = entry.sequence + 1;
    }

    /// Whether the packet whose place `sequence` would take is still waited for: no report has come that far.
    fn is_awaited(&self, sequence: u64) -> bool {
        let entry = &self.ring[sequence as usize & (self.ring.len() - 1)];
        entry.state == State::Unreported && entry.sequence >= self.reported
    }

    fn grow(&mut self) {
        let mut larger = vec![NO_ENTRY; self.ring.len() * 2];
        let mask = larger.len() - 1;
        for entry in self.ring.iter().filter(|entry| entry.sequence != u64::MAX) {
            larger[entry.sequence as usize & mask] = *entry;
        }
        self.ring = larger;
    }

    fn on_result(&mut self, packet: &PacketResult, observer: u32, order: u32) -> Option<Outcome> {
        let mask = self.ring.len() - 1;
        let entry = &mut self.ring[packet.sequence as usize & mask];
        if entry.sequence != packet.sequence || packet.sequence == u64::MAX {
            return None;
        }
        let missed = if let State::Missing(number) = entry.state { Some(number) } else { None };
        let (state, arrived) = match (entry.state, packet.status) {
            (State::Received, _) | (State::Missing(_), Status::Missing) => return None,
            (_, Status::Missing) => (State::Missing(observer), None),
            (_, Status::Received { arrived, .. }) => (State::Received, arrived.map(whole_micros)),
        };
        entry.state = state;
        self.reported = self.reported.max(packet.sequence + 1);
        let (sent, size, probe) = (entry.sent, entry.size, entry.probe);
        Some(Outcome { arrived, order, received: state == State::Received, missed, sent, size, probe })
    }
}

/// Both clocks count microseconds: then decisions at a threshold do not hang on what no implementation measures.
pub(super) fn whole_micros(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() / 1000 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;
    use paceline_units::Ecn;

    const STREAM: StreamId = StreamId(0);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn sent(history: &mut History, sequence: u64) {
        let size = Bytes::new(1000);
        history.on_sent(
            at(sequence),
            &SentPacket { stream: STREAM, sequence, size, probe: None, app_limited: false },
        );
    }

    fn result(sequence: u64, arrived: Option<u64>) -> PacketResult {
        let status = match arrived {
            Some(millis) => Status::Received { arrived: Some(at(millis)), ecn: Ecn::NotEct },
            None => Status::Missing,
        };
        PacketResult { stream: STREAM, sequence, size: Bytes::new(1), sent: Time::ZERO, status }
    }

    #[test]
    fn a_packet_is_missing_once_and_received_once() {
        let (mut history, mut outcomes) = (History::new(true), Vec::new());
        (0..3).for_each(|sequence| sent(&mut history, sequence));
        history.on_report(
            at(5000),
            &[result(0, None), result(1, Some(30)), result(2, Some(20))],
            7,
            &mut outcomes,
        );
        let said: Vec<_> = outcomes.iter().map(|outcome| (outcome.received, outcome.sent)).collect();
        assert_eq!(said, [(false, at(0)), (true, at(2)), (true, at(1))], "in order of arrival");
        history.on_report(
            at(5000),
            &[result(0, None), result(1, Some(30)), result(9, Some(30))],
            8,
            &mut outcomes,
        );
        assert!(outcomes.is_empty(), "nothing new, and one that was never sent");
        history.on_report(at(5000), &[result(0, Some(50))], 9, &mut outcomes);
        assert_eq!((outcomes.len(), outcomes[0].missed, outcomes[0].received), (1, Some(7), true));
    }

    #[test]
    fn what_is_not_reported_is_kept() {
        let (mut history, mut outcomes) = (History::new(true), Vec::new());
        (0..3000).for_each(|sequence| sent(&mut history, sequence));
        history.on_report(at(5000), &[result(5, Some(4000))], 0, &mut outcomes);
        assert_eq!(outcomes.len(), 1);
    }
}
