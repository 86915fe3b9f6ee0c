//! Retransmissions of the only stream when a NACK asks for them, as RTX (RFC 4588): packets of a stream of its own, whose payload is the
//! number of the packet that is repeated and what that had.

use paceline_cc::{Controller, StreamId};
use paceline_ends::SendingEnd;
use paceline_rtp::{
    KeptPackets, NotResent, PacketSpelling, RTP_HEADER, RepairCounters, RtpPacket, RtpSender, asked_number,
};
use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::rtx;
use std::collections::VecDeque;
use std::rc::Rc;

/// For so long a packet can be sent again, up to so many bytes, for at most such a share of the media.
const KEEP: TimeDelta = TimeDelta::from_secs(1);
const KEEP_BYTES: Bytes = Bytes::new(1_000_000);
const RESENT_SHARE: f64 = 0.25;
/// The most retransmissions that wait, and the most that one datagram asks for.
const MOST_WAITING: u64 = 256;
const MOST_ASKED: usize = 512;

/// The packets that can be sent again, and those that wait for it.
pub(super) struct Resending {
    payload_type: u8,
    /// The stream of retransmissions.
    stream: StreamId,
    kept: KeptPackets<Rc<SentMedia>>,
    /// Retransmissions in the queue: when they were put there, the original number, and what it was.
    waiting: VecDeque<(Time, u16, Rc<SentMedia>)>,
    /// Numbers that the datagram that is read asks for.
    asked: Vec<u16>,
    counters: RepairCounters,
}

/// A packet of media, as it left.
struct SentMedia {
    captured: Time,
    marker: bool,
    payload: Vec<u8>,
}

impl Resending {
    /// Nothing has been sent yet.
    pub fn new(payload_type: u8, stream: StreamId) -> Resending {
        Resending {
            payload_type,
            stream,
            kept: KeptPackets::new(KEEP, KEEP_BYTES, RESENT_SHARE),
            waiting: VecDeque::new(),
            asked: Vec::new(),
            counters: RepairCounters::default(),
        }
    }

    /// A packet left, with this payload unless it is padding.
    pub fn on_sent(&mut self, now: Time, packet: &RtpPacket, payload: Option<&[u8]>) {
        let kept = payload.map(|payload| {
            let (captured, marker) = (packet.captured, packet.marker);
            Rc::new(SentMedia { captured, marker, payload: payload.to_vec() })
        });
        self.kept.on_sent(now, (packet.sequence, packet.size()), kept);
    }

    /// A NACK asks for packets.
    pub fn ask(&mut self, lost: impl Iterator<Item = u16>) {
        let room = MOST_ASKED.saturating_sub(self.asked.len());
        self.asked.extend(lost.take(room));
    }

    /// Puts what was asked for into the queue of retransmissions; packets before `next` have left.
    pub fn push<C: Controller>(&mut self, now: Time, next: u64, end: &mut RtpSender<C>) {
        let Resending { stream, kept, waiting, asked, counters, .. } = self;
        let round_trip = end.srtt_and_target().0;
        // The queue discards its oldest.
        let discarded = waiting.len().saturating_sub(end.waiting(*stream) as usize);
        waiting.drain(..discarded);
        for sequence in asked.drain(..) {
            let resent = asked_number(next, sequence).and_then(|number| {
                kept.asked(now, number, round_trip, |packet, credit| {
                    let payload = Bytes::new((rtx::OSN + packet.payload.len()) as u64);
                    let size = payload + RTP_HEADER;
                    let fits = credit >= size.as_u64() as f64 && end.waiting(*stream) < MOST_WAITING;
                    if !fits || !end.push_repair(now, *stream, payload) {
                        return Err(NotResent::OverShare);
                    }
                    waiting.push_back((now, number as u16, packet.clone()));
                    Ok(size)
                })
            });
            counters.count(resent);
        }
    }

    /// Writes the retransmission that leaves, spelled like the media but for its payload type.
    pub fn encode(&mut self, now: Time, packet: &RtpPacket, spelling: PacketSpelling, bytes: &mut Vec<u8>) {
        // Packets that the queue discarded since the last call do not leave.
        while self.waiting.front().is_some_and(|(pushed, ..)| *pushed < packet.captured) {
            self.waiting.pop_front();
        }
        let (osn, media) = self.waiting.pop_front().map_or((0, None), |(_, osn, media)| (osn, Some(media)));
        let spelling = PacketSpelling { payload_type: self.payload_type, ..spelling };
        let (captured, marker) =
            media.as_ref().map_or((packet.captured, false), |media| (media.captured, media.marker));
        let spelled = spelling.write(now, &RtpPacket { captured, marker, ..*packet }, bytes);
        let payload = &mut bytes[spelled.header..spelled.header + packet.payload.as_u64() as usize];
        let (number, original) = payload.split_at_mut(rtx::OSN.min(payload.len()));
        number.copy_from_slice(&rtx::osn(osn)[..number.len()]);
        if let Some(media) = media.filter(|media| media.payload.len() == original.len()) {
            original.copy_from_slice(&media.payload);
        }
    }

    /// Packets that were sent again.
    pub fn resent(&self) -> u64 {
        self.counters.resent
    }
}
