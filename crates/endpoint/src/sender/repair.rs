//! Packets that are sent again when the receiver asks for them: generic NACK (RFC 4585) answered by streams of retransmissions (RFC
//! 4588), each with an SSRC of its own, under the controller's window and pacing.

use super::stream::MediaStream;
use super::{MediaSender, MediaStreamConfig};
use crate::error::StreamError;
use crate::packet::MediaPacket;
use paceline_cc::{Controller, FlowSetup, StreamId};
use paceline_ends::SendingEnd;
use paceline_media::Frame;
use paceline_rtp::{KeptPackets, NotResent, RepairCounters, asked_number};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use paceline_wire::rtx;

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

/// Kept packets of a flow's streams.
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
    kept: KeptPackets<MediaPacket<P>>,
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
        let is_kept = packet.payload_type == repair.config.original;
        repair.kept.on_sent(now, (sequence, size), is_kept.then(|| (self.copy)(packet)));
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

impl<C: Controller, P: AsRef<[u8]>> MediaSender<C, P> {
    /// Packets may be sent again: they are two bytes shorter than the path takes, for the original number. Kept packets are
    /// clones, so that a buffer should be cheap to clone: `Arc<[u8]>` or `Bytes`, not `Vec<u8>`. Before a stream is added.
    pub fn use_repair(&mut self)
    where
        P: Clone,
    {
        if self.repairs.is_none() {
            self.end.shorten_payload(Bytes::new(rtx::OSN as u64));
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
        let clock_rate = self.streams[usize::from(id.0)].clock_rate();
        let stream = MediaStreamConfig {
            priority: *FlowSetup::PRIORITIES.start(),
            target_start: Bitrate::ZERO,
            payload_type: config.payload_type,
            clock_rate,
            most_waiting: MOST_WAITING,
            ..MediaStreamConfig::new(config.ssrc)
        };
        let own = self.end.add_repair_stream(now, stream.stream()).ok_or_else(|| self.no_room())?;
        self.place(own, MediaStream::new(stream));
        let Some(repairs) = &mut self.repairs else { return Err(StreamError::Repair(id)) };
        let place = usize::from(id.0);
        if repairs.streams.len() <= place {
            repairs.streams.resize_with(place + 1, || None);
        }
        let kept = KeptPackets::new(config.keep, config.keep_bytes, config.share);
        repairs.streams[place] = Some(Repair { config: *config, id: own, kept });
        Ok(own)
    }

    /// The receiver asks for packets of a stream again (RFC 4585 section 6.2.1), by the low 16 bits of their numbers. Packets that were
    /// never sent, are kept no more or cost too much are counted, and nothing else changes.
    pub fn on_nack(&mut self, now: Time, id: StreamId, lost: impl IntoIterator<Item = u16>) {
        let Some(mut repairs) = self.repairs.take() else { return };
        for sequence in lost {
            let asked = self.resend(now, &mut repairs, id, sequence);
            repairs.counters.count(asked);
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
    ) -> Result<Bytes, NotResent> {
        let place = usize::from(id.0);
        let next = self.end.next_sequence(id).ok_or(NotResent::NeverSent)?;
        let (number, copy) = (asked_number(next, sequence)?, repairs.copy);
        let Some(Some(Repair { config, id, kept })) = repairs.streams.get_mut(place) else {
            return Err(NotResent::NotKept);
        };
        let round_trip = self.end.srtt_and_target().0;
        kept.asked(now, number, round_trip, |packet, credit| {
            let mut packet = copy(packet);
            packet.payload_type = config.payload_type;
            packet.osn = Some(number as u16);
            let size = Bytes::new(packet.size_with(self.element).ok_or(NotResent::NotKept)? as u64);
            if credit < size.as_u64() as f64 || !self.enqueue_repair(now, *id, packet, size) {
                return Err(NotResent::OverShare);
            }
            Ok(size)
        })
    }

    fn enqueue_repair(&mut self, now: Time, id: StreamId, packet: MediaPacket<P>, size: Bytes) -> bool {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return false };
        if stream.is_full() || !self.end.has_stream(id) {
            return false;
        }
        let payload = size.saturating_sub(self.end.header());
        let frame = Frame { id: packet.frame, captured: now, payload, key: false };
        stream.push((packet, 0));
        let taken = self.end.offer_packet(now, id, &frame, false);
        if !taken {
            self.streams[usize::from(id.0)].take_back();
        }
        taken
    }
}
