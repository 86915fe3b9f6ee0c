//! RTP in the simulator: media one way, reports the other.

use super::{AnyFlow, Content, Copied, Ends, Simulated, Spelling, Travels};
use crate::capture::{LARGEST_PAYLOAD, Way};
use crate::flow::{Flow, FlowWiring};
use crate::log::MediaUnit;
use crate::packet::PacketPool;
use paceline_cc::{AnyController, AnyReceiverHalf, Controller, ReceiverHalf, StreamId};
use paceline_rtp::{
    Header, PacketSpelling, ReportSpelling, RtpFeedback, RtpPacket, RtpReceiver, RtpSender, Ssrcs,
};
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::{RtpParts, SendingWorld};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::PacketFeedback;
use std::marker::PhantomData;

/// The port of RTP and RTCP at both ends of a capture, which Wireshark's preferences know.
const PORT: u16 = 5004;

impl Simulated for RtpParts {
    type Spelling = RtpFlowSpelling;

    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
        match parts.controller.clone() {
            AnyController::Scream(scream) => flow(self, (scream, None), parts, wiring).into(),
            AnyController::Tempo(tempo) => flow(self, (tempo, None), parts, wiring).into(),
            other => flow(self, (other, self.receiver_half.clone()), parts, wiring).into(),
        }
    }

    fn spelling(&self, flow: usize) -> RtpFlowSpelling {
        let (streams, format) = (self.streams.len(), self.feedback.format);
        let own = (flow as u32 + 1) << 8;
        let ssrcs = Ssrcs::new(self.identity.ssrc.unwrap_or(own), streams);
        let first_timestamp = self.identity.first_timestamp.unwrap_or(0);
        let half = self.receiver_half.is_some();
        let packets = PacketSpelling { half, ..PacketSpelling::new(ssrcs, first_timestamp, format) };
        RtpFlowSpelling { packets, reports: Box::new(ReportSpelling::new(format)) }
    }
}

fn flow<C: Controller, H: ReceiverHalf>(
    ends: &RtpParts,
    (controller, half): (C, Option<H>),
    parts: &FlowParts,
    wiring: FlowWiring,
) -> Flow<Rtp<C, H>> {
    let sender = ends.sending_end(controller, &SendingWorld::plain(&ends.first_sequences));
    Flow::new(sender, ends.receiving(half, false).end(), parts.plan(), wiring)
}

/// How packets and reports of a flow are spelled.
#[derive(Clone, Debug)]
pub struct RtpFlowSpelling {
    packets: PacketSpelling,
    reports: Box<ReportSpelling>,
}

/// RTP: media one way, reports the other.
pub struct Rtp<C = AnyController, H = AnyReceiverHalf>(PhantomData<(C, H)>);

impl<C: Controller, H: ReceiverHalf> Ends for Rtp<C, H> {
    type Data = RtpPacket;
    type Returning = RtpFeedback;
    type Sender = RtpSender<C>;
    type Receiver = RtpReceiver<H>;
}

impl Travels for RtpPacket {
    #[inline]
    fn pack(self, pool: &mut PacketPool<RtpPacket>) -> Content {
        match Media::of(&self) {
            Some(media) => Content::Media(media),
            None => {
                let data = (!self.is_padding()).then_some(self.stream);
                Content::Pooled(pool.insert(self, data))
            }
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<RtpPacket> {
        if let Content::Media(media) = content { Some(media.packet()) } else { None }
    }

    fn media(&self) -> Option<MediaUnit> {
        let RtpPacket { stream, sequence, captured, .. } = *self;
        let first = self.first.unwrap_or(false);
        (!self.is_padding()).then_some(MediaUnit { stream, sequence, captured, first })
    }

    fn spell(&self, sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        if let Spelling::Rtp(spelling) = &*way.spelling {
            way.payload.clear();
            spelling.packets.write(sent, self, way.payload);
            way.udp(PORT, out);
        }
    }
}

impl Travels for RtpFeedback {
    #[inline(always)]
    fn pack(self, pool: &mut PacketPool<RtpFeedback>) -> Content {
        match &self {
            RtpFeedback::Packet(report) => PlainReport::of(report).map(Content::Report),
            _ => None,
        }
        .unwrap_or_else(|| Content::Pooled(pool.insert(self, None)))
    }

    #[inline]
    fn copied(content: &Content) -> Option<RtpFeedback> {
        if let Content::Report(report) = content {
            Some(RtpFeedback::Packet(report.feedback()))
        } else {
            None
        }
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        if let Spelling::Rtp(RtpFlowSpelling { packets, reports }) = &mut *way.spelling {
            way.payload.clear();
            let written = reports.write(self, packets.ssrcs, LARGEST_PAYLOAD, way.payload);
            debug_assert!(written.is_ok(), "the endpoint's reports add up");
            way.udp(PORT, out);
        }
    }
}

/// [`RtpPacket`] without annotation or padding.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    sequence: u64,
    captured: Time,
    payload: u32,
    transport: u16,
    stream: StreamId,
    header: Header,
    first: Option<bool>,
    marker: bool,
    key: Option<bool>,
}

impl Media {
    /// The packet as it travels; absent if its controller put an annotation on it, or a probe fills it.
    #[inline]
    pub fn of(packet: &RtpPacket) -> Option<Media> {
        let RtpPacket {
            stream,
            sequence,
            captured,
            payload,
            padding: 0,
            header,
            transport,
            first,
            marker,
            key,
            annotation: None,
        } = *packet
        else {
            return None;
        };
        let payload = payload.as_u64() as u32;
        Some(Media { sequence, captured, payload, transport, stream, header, first, marker, key })
    }

    /// The packet that arrived.
    #[inline]
    pub fn packet(self) -> RtpPacket {
        let Media { sequence, captured, payload, transport, stream, header, first, marker, key } = self;
        RtpPacket {
            stream,
            sequence,
            captured,
            payload: Bytes::new(payload.into()),
            padding: 0,
            header,
            transport,
            first,
            marker,
            key,
            annotation: None,
        }
    }
}

impl Copied for Media {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        Some(self.stream)
    }

    fn number(&self) -> u64 {
        self.sequence << 8 | u64::from(self.stream.0)
    }

    #[inline]
    fn number_on(&mut self, packets: u64) {
        self.sequence += packets;
    }
}

/// [`PacketFeedback`] of a packet that arrived no more than 4 s before. Its fields leave room for what tells contents from each other.
#[derive(Clone, Copy, Debug)]
pub struct PlainReport {
    written: Time,
    sequence: u64,
    /// Nanoseconds from the packet's arrival to the report.
    age: u32,
    stream: StreamId,
    ecn: Ecn,
}

impl PlainReport {
    /// The report as it travels; absent if the packet arrived long before, or after.
    #[inline]
    pub fn of(report: &PacketFeedback) -> Option<PlainReport> {
        let PacketFeedback { written, arrived, sequence, stream, ecn } = *report;
        let age = u32::try_from(written.wrapping_since(arrived).as_nanos()).ok()?;
        Some(PlainReport { written, sequence, age, stream, ecn })
    }

    /// The report that arrived.
    #[inline]
    pub fn feedback(self) -> PacketFeedback {
        let PlainReport { written, sequence, age, stream, ecn } = self;
        let arrived = written - TimeDelta::from_nanos(age.into());
        PacketFeedback { written, arrived, sequence, stream, ecn }
    }
}

impl Copied for PlainReport {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        None
    }
}
