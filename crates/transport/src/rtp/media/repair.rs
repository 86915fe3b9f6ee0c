//! Packets that are sent again when the receiver asks for them: generic NACK (RFC 4585) answered by streams of retransmissions (RFC
//! 4588), each with an SSRC of its own, under the controller's window and pacing.

use super::{MediaPacket, MediaSender, MediaStream, MediaStreamConfig, StreamConfig, StreamError};
use crate::SendingEnd;
use paceline_cc::{Controller, FlowSetup, Limits, StreamId};
use paceline_media::{Frame, Source};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use paceline_wire::{rtx, unwrap_sequence};
use std::collections::VecDeque;

/// Taken for the round trip before one is known.
const UNKNOWN_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(50);
/// What may be sent again before any share of the media has been saved up.
const FIRST_CREDIT: f64 = 20_000.0;
/// The most retransmissions that wait.
const MOST_WAITING: usize = 256;

/// How packets of a stream are sent again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RepairConfig {
    /// SSRC of the retransmissions: no other stream of the flow has it.
    pub ssrc: u32,
    /// Payload type of the retransmissions.
    pub payload_type: u8,
    /// Payload type of the packets that are kept (`apt`, RFC 4588 section 8.1): those of others are not sent again.
    pub original: u8,
    /// How long a packet is kept after it left.
    pub keep: TimeDelta,
    /// The most bytes that are kept.
    pub keep_bytes: Bytes,
    /// Bytes of retransmissions per byte of media that was sent, at most, and 20 kB more at once.
    pub share: f64,
}

impl RepairConfig {
    /// Packets of payload type 96 are kept for a second, up to 1 MB, and sent again with payload type 97, for at most a quarter
    /// of the media.
    pub fn new(ssrc: u32) -> RepairConfig {
        let (payload_type, original) = (97, 96);
        let (keep, keep_bytes) = (TimeDelta::from_secs(1), Bytes::new(1_000_000));
        RepairConfig { ssrc, payload_type, original, keep, keep_bytes, share: 0.25 }
    }
}

/// Counts of packets that were asked for again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCounters {
    /// Packets that were asked for.
    pub asked: u64,
    /// Those that were put into the queue of retransmissions.
    pub resent: u64,
    /// Bytes of these, headers in.
    pub resent_bytes: u64,
    /// Those that were never sent: ignored.
    pub never_sent: u64,
    /// Those that are kept no more, or never were: padding, and other payload types.
    pub not_kept: u64,
    /// Those that were sent again less than a round trip ago.
    pub too_soon: u64,
    /// Those that would have cost more than their share of the rate, or found no room.
    pub over_share: u64,
    /// Retransmissions that waited for too long, and were discarded.
    pub discarded: u64,
}

#[cfg(test)]
impl<P> Repairs<P> {
    /// Packets kept of a stream, and their bytes.
    pub(super) fn kept(&self, id: StreamId) -> Option<(usize, u64)> {
        let repair = self.streams.get(usize::from(id.0))?.as_ref()?;
        Some((repair.kept.len(), repair.bytes))
    }
}

/// What is kept of a flow's streams.
#[derive(Clone, Debug)]
pub(super) struct Repairs<P> {
    /// How a packet is copied: for buffers that are shared a count goes up.
    copy: fn(&MediaPacket<P>) -> MediaPacket<P>,
    /// By the stream that is repaired.
    streams: Vec<Option<Repair<P>>>,
    pub(super) counters: RepairCounters,
}

#[derive(Clone, Debug)]
struct Repair<P> {
    config: RepairConfig,
    /// The stream of retransmissions.
    id: StreamId,
    kept: VecDeque<Kept<P>>,
    bytes: u64,
    /// Bytes that may be sent again.
    credit: f64,
}

#[derive(Clone, Debug)]
struct Kept<P> {
    sequence: u64,
    sent: Time,
    size: u32,
    resent: Option<Time>,
    packet: MediaPacket<P>,
}

impl<P: AsRef<[u8]>> Repairs<P> {
    /// A packet left.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        id: usize,
        (sequence, size): (u64, Bytes),
        packet: &MediaPacket<P>,
    ) {
        let Some(Some(repair)) = self.streams.get_mut(id) else { return };
        let size = size.as_u64();
        repair.credit = (repair.credit + repair.config.share * size as f64).min(FIRST_CREDIT);
        if packet.payload_type == repair.config.original {
            let packet = (self.copy)(packet);
            repair.bytes += size;
            repair.kept.push_back(Kept { sequence, sent: now, size: size as u32, resent: None, packet });
        }
        repair.forget(now);
    }

    /// The stream of retransmissions of a stream.
    pub(super) fn of(&self, id: StreamId) -> Option<StreamId> {
        Some(self.streams.get(usize::from(id.0))?.as_ref()?.id)
    }

    /// Nothing of these streams is sent again.
    pub(super) fn forget_stream(&mut self, id: StreamId) {
        for (original, repair) in self.streams.iter_mut().enumerate() {
            if original == usize::from(id.0) || repair.as_ref().is_some_and(|repair| repair.id == id) {
                *repair = None;
            }
        }
    }
}

impl<P> Repair<P> {
    /// Lets go of what is too old or too much.
    fn forget(&mut self, now: Time) {
        while let Some(oldest) = self.kept.front() {
            let old = now.saturating_since(oldest.sent) > self.config.keep;
            if !old && self.bytes <= self.config.keep_bytes.as_u64() {
                break;
            }
            self.bytes -= u64::from(oldest.size);
            self.kept.pop_front();
        }
    }
}

/// Why a packet is not sent again.
enum Refused {
    NeverSent,
    NotKept,
    TooSoon,
    OverShare,
}

impl<C: Controller, P: AsRef<[u8]>> MediaSender<C, P> {
    /// Packets may be sent again: they are two bytes shorter than the path takes, for the original number. Kept packets are
    /// clones, so that a buffer should be cheap to clone: `Arc<[u8]>` or `Bytes`, not `Vec<u8>`. Before a stream is added.
    pub fn use_repair(&mut self)
    where
        P: Clone,
    {
        if self.repairs.is_none() {
            self.end.max_payload =
                self.end.max_payload.saturating_sub(Bytes::new(rtx::OSN as u64)).max(Bytes::new(1));
            let repairs =
                Repairs { copy: Clone::clone, streams: Vec::new(), counters: RepairCounters::default() };
            self.repairs = Some(Box::new(repairs));
        }
    }

    /// Packets of a stream are sent again when they are asked for, by a stream of their own, whose packets leave before others.
    /// Answers that: it takes no share of the rate, and leaves when the stream does.
    ///
    /// # Errors
    /// A stream that is not there, the 64th, an SSRC that another has, or without [`MediaSender::use_repair`].
    pub fn repair(
        &mut self,
        now: Time,
        id: StreamId,
        config: &RepairConfig,
    ) -> Result<StreamId, StreamError> {
        self.expect_present(id)?;
        let free = |repairs: &Repairs<P>| repairs.of(id).is_none();
        if !self.repairs.as_deref().is_some_and(free) {
            return Err(StreamError::Repair(id));
        }
        self.expect_free(config.ssrc, None)?;
        let clock_rate = self.streams[usize::from(id.0)].config.clock_rate;
        let stream = MediaStreamConfig {
            priority: *FlowSetup::PRIORITIES.start(),
            target_start: Bitrate::ZERO,
            payload_type: config.payload_type,
            clock_rate,
            most_waiting: MOST_WAITING,
            ..MediaStreamConfig::new(config.ssrc)
        };
        let own = self.end.add_repair_stream(now, stream.stream()).ok_or(StreamError::TooMany)?;
        self.place(own, MediaStream::new(stream));
        let Some(repairs) = &mut self.repairs else { return Err(StreamError::Repair(id)) };
        let place = usize::from(id.0);
        if repairs.streams.len() <= place {
            repairs.streams.resize_with(place + 1, || None);
        }
        let (kept, credit) = (VecDeque::new(), FIRST_CREDIT);
        repairs.streams[place] = Some(Repair { config: *config, id: own, kept, bytes: 0, credit });
        Ok(own)
    }

    /// The receiver asks for packets of a stream again (RFC 4585 section 6.2.1), by the low 16 bits of their numbers. Those that
    /// were never sent, are kept no more or cost too much are counted, and nothing else changes.
    pub fn on_nack(&mut self, now: Time, id: StreamId, lost: impl IntoIterator<Item = u16>) {
        let Some(mut repairs) = self.repairs.take() else { return };
        for sequence in lost {
            repairs.counters.asked += 1;
            match self.resend(now, &mut repairs, id, sequence) {
                Ok(size) => {
                    repairs.counters.resent += 1;
                    repairs.counters.resent_bytes += size;
                }
                Err(Refused::NeverSent) => repairs.counters.never_sent += 1,
                Err(Refused::NotKept) => repairs.counters.not_kept += 1,
                Err(Refused::TooSoon) => repairs.counters.too_soon += 1,
                Err(Refused::OverShare) => repairs.counters.over_share += 1,
            }
        }
        self.repairs = Some(repairs);
        self.find_discarded(super::DiscardReason::TooOld);
    }

    /// Counts of packets that were asked for again.
    pub fn repair_counters(&self) -> RepairCounters {
        self.repairs.as_ref().map_or(RepairCounters::default(), |repairs| repairs.counters)
    }

    /// Puts a packet into the queue of retransmissions, and answers its size.
    fn resend(
        &mut self,
        now: Time,
        repairs: &mut Repairs<P>,
        id: StreamId,
        sequence: u16,
    ) -> Result<u64, Refused> {
        let place = usize::from(id.0);
        let next = self.end.streams.get(place).ok_or(Refused::NeverSent)?.history.next_sequence();
        let number = next.checked_sub(1).and_then(|newest| unwrap_sequence(newest, sequence));
        let number = number.filter(|number| *number < next).ok_or(Refused::NeverSent)?;
        let Some(Some(repair)) = repairs.streams.get_mut(place) else { return Err(Refused::NotKept) };
        repair.forget(now);
        let found = repair.kept.binary_search_by_key(&number, |kept| kept.sequence);
        let kept = &mut repair.kept[found.map_err(|_| Refused::NotKept)?];
        let round_trip = self.end.srtt_and_target().0.unwrap_or(UNKNOWN_ROUND_TRIP);
        if kept.resent.is_some_and(|resent| now.saturating_since(resent) < round_trip) {
            return Err(Refused::TooSoon);
        }
        let mut packet = (repairs.copy)(&kept.packet);
        packet.payload_type = repair.config.payload_type;
        packet.osn = Some(number as u16);
        let size = packet.size_with(self.element).ok_or(Refused::NotKept)? as u64;
        if repair.credit < size as f64 || !self.enqueue_repair(now, repair.id, packet, Bytes::new(size)) {
            return Err(Refused::OverShare);
        }
        repair.credit -= size as f64;
        kept.resent = Some(now);
        Ok(size)
    }

    fn enqueue_repair(&mut self, now: Time, id: StreamId, packet: MediaPacket<P>, size: Bytes) -> bool {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return false };
        if stream.waiting.len() >= stream.config.most_waiting || !self.end.has_stream(id) {
            return false;
        }
        let payload = size.saturating_sub(self.end.header.size());
        let frame = Frame { id: packet.frame, captured: now, payload, key: false };
        stream.waiting.push_back((packet, 0));
        let taken = self.end.push_packet(now, usize::from(id.0), &frame, false);
        if !taken {
            self.streams[usize::from(id.0)].waiting.pop_back();
        }
        taken
    }
}

impl<C: Controller> crate::rtp::RtpSender<C> {
    /// A stream of retransmissions joins: its packets leave before others, it has no target, and they may be two bytes longer.
    fn add_repair_stream(&mut self, now: Time, config: StreamConfig) -> Option<StreamId> {
        debug_assert!(matches!(config.source, Source::External), "what is sent again comes from outside");
        self.max_payload += Bytes::new(rtx::OSN as u64);
        let added = self.add_stream(now, config);
        self.max_payload -= Bytes::new(rtx::OSN as u64);
        let id = added?;
        self.streams[usize::from(id.0)].repairs = true;
        self.repairing = true;
        self.set_limits(now, &Limits { stream: id, min: Bitrate::ZERO, max: Bitrate::ZERO });
        Some(id)
    }
}
