//! The fate of each packet of pictures: for flows whose frames somebody decodes after the run.
//!
//! Opt-in and off the packet path: a flow without such a source has no log, and asks for it once per packet.

use paceline_cc::StreamId;
use paceline_media::DisplayedFrame;
use paceline_units::{Time, TimeDelta};

/// A packet of media, as its transport tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaUnit {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Sequence number in the stream, which counts padding too.
    pub sequence: u64,
    /// When its frame was captured.
    pub captured: Time,
    /// Whether it is its frame's first packet.
    pub first: bool,
}

/// A packet of media that was sent, or a whole frame where the transport carries a stream of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedPacket {
    /// When its frame was captured.
    pub captured: Time,
    /// Place in its frame, counted from 0; absent if it stands for the whole frame.
    pub place: Option<u32>,
    /// When it was sent; absent of a whole frame.
    pub sent: Option<Time>,
    /// When it arrived first; absent if it never did.
    pub arrived: Option<Time>,
    /// Its wait in link queues.
    pub wait: TimeDelta,
    /// Delay that noise added.
    pub noise: TimeDelta,
}

/// The log of one flow.
#[derive(Clone, Debug, Default)]
pub struct MediaLog {
    streams: Vec<StreamLog>,
}

#[derive(Clone, Debug, Default)]
struct StreamLog {
    /// The first sequence number sent.
    base: u64,
    /// Packets that were sent, by sequence number; padding is absent.
    packets: Vec<Option<LoggedPacket>>,
    /// Packets of the newest frame.
    in_frame: u32,
}

impl MediaLog {
    fn stream(&mut self, stream: StreamId) -> &mut StreamLog {
        let place = usize::from(stream.0);
        if self.streams.len() <= place {
            self.streams.resize_with(place + 1, StreamLog::default);
        }
        &mut self.streams[place]
    }

    /// A packet leaves its sender.
    pub fn sent(&mut self, now: Time, unit: &MediaUnit) {
        let log = self.stream(unit.stream);
        if log.packets.is_empty() {
            log.base = unit.sequence;
        }
        let Some(place) = unit.sequence.checked_sub(log.base) else { return };
        log.in_frame = if unit.first { 0 } else { log.in_frame.saturating_add(1) };
        let packet = LoggedPacket {
            captured: unit.captured,
            place: Some(log.in_frame),
            sent: Some(now),
            arrived: None,
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
        };
        // Nothing skips more than a probe's padding, a packet of which was sent each.
        log.packets.resize(log.packets.len().max(place as usize + 1), None);
        log.packets[place as usize] = Some(packet);
    }

    /// A packet arrives; of duplicates the first counts.
    pub fn arrived(&mut self, now: Time, unit: &MediaUnit, wait: TimeDelta, noise: TimeDelta) {
        let log = self.stream(unit.stream);
        let place = unit.sequence.checked_sub(log.base).and_then(|place| usize::try_from(place).ok());
        let packet = place.and_then(|place| log.packets.get_mut(place)).and_then(Option::as_mut);
        if let Some(packet) = packet.filter(|packet| packet.arrived.is_none()) {
            *packet = LoggedPacket { arrived: Some(now), wait, noise, ..*packet };
        }
    }

    /// A frame that a stream of bytes carries is whole.
    pub fn whole(&mut self, stream: StreamId, frame: &DisplayedFrame) {
        self.stream(stream).packets.push(Some(LoggedPacket {
            captured: frame.captured,
            place: None,
            sent: None,
            arrived: Some(frame.displayed),
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
        }));
    }

    /// The packets of a stream in the order of sending, padding out.
    pub fn packets(&self, stream: usize) -> impl Iterator<Item = &LoggedPacket> {
        self.streams.get(stream).into_iter().flat_map(|log| log.packets.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_in_each_frame_and_padding_has_none() {
        let mut log = MediaLog::default();
        let unit = |sequence, frame: u64, first| MediaUnit {
            stream: StreamId(0),
            sequence,
            captured: Time::from_nanos(frame),
            first,
        };
        let sent = [unit(7, 1, true), unit(8, 1, false), unit(11, 2, true), unit(12, 2, false)];
        for unit in &sent {
            log.sent(Time::from_nanos(10), unit);
        }
        for (at, unit) in [(30, &sent[1]), (40, &sent[1]), (50, &sent[3])] {
            log.arrived(Time::from_nanos(at), unit, TimeDelta::ZERO, TimeDelta::ZERO);
        }
        let seen = |packet: &LoggedPacket| {
            (packet.captured.as_nanos(), packet.place, packet.arrived.map(Time::as_nanos))
        };
        assert_eq!(
            log.packets(0).map(seen).collect::<Vec<_>>(),
            [(1, Some(0), None), (1, Some(1), Some(30)), (2, Some(0), None), (2, Some(1), Some(50))]
        );
        assert_eq!(log.packets(1).count(), 0);
    }

    #[test]
    fn what_was_never_sent_changes_nothing() {
        let mut log = MediaLog::default();
        let unit = MediaUnit { stream: StreamId(3), sequence: u64::MAX, captured: Time::ZERO, first: true };
        log.arrived(Time::ZERO, &unit, TimeDelta::ZERO, TimeDelta::ZERO);
        assert_eq!(log.packets(3).count(), 0);
    }
}
