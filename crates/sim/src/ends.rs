//! How each transport's packets travel as small copies, and which two ends belong together.

use crate::capture::Way;
use crate::log::MediaUnit;
use crate::packet::{Content, Media, PacketPool, PlainData, PlainReport, PlainSegment};
use paceline_cc::{AnyController, AnyReceiverHalf, Controller, ReceiverHalf, StreamId};
use paceline_transport::dccp::{Ccids, DccpReceiver, DccpSender};
use paceline_transport::rtp::{RtpFeedback, RtpPacket, RtpReceiver, RtpSender};
use paceline_transport::tcp::conversations::{ConversationsReceiver, ConversationsSender};
use paceline_transport::tcp::transfers::{TransfersReceiver, TransfersSender};
use paceline_transport::tcp::{Segment, TcpReceiver, TcpSender};
use paceline_transport::udp::{Datagram, UdpReceiver, UdpSender};
use paceline_transport::{ReceivingEnd, SendingEnd};
use paceline_units::{Bytes, Time};
use paceline_wire::dccp::{self, PacketType, Payload};
use std::convert::Infallible;
use std::marker::PhantomData;

/// A packet that travels as a small copy: what is larger stays in the pool of its flow meanwhile.
pub trait Travels: Clone {
    /// The packet as it travels in the simulator; what is too large goes into `pool`.
    fn pack(self, pool: &mut PacketPool<Self>) -> Content;
    /// The packet that arrived, or was lost, if it travelled as a copy.
    #[inline]
    fn copied(_content: &Content) -> Option<Self> {
        None
    }
    /// The packet that arrived, or was lost, however it travelled.
    #[inline]
    fn unpack(content: &Content, pool: &mut PacketPool<Self>) -> Option<Self> {
        Self::copied(content).or_else(|| pool.take(content))
    }
    /// The part of a frame that it carries, where it says so.
    fn media(&self) -> Option<MediaUnit> {
        None
    }
    /// Appends the IP packet that it would be on its way, having left at `sent`.
    fn spell(&self, sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>);
}

/// The two ends of a flow of one transport. They share nothing: what one tells the other travels.
pub trait Ends {
    /// The packets that the sender sends.
    type Data: Travels;
    /// The packets that the receiver sends.
    type Returning: Travels;
    /// The transport's sending end.
    type Sender: SendingEnd<Data = Self::Data, Returning = Self::Returning>;
    /// The transport's receiving end.
    type Receiver: ReceivingEnd<Data = Self::Data, Returning = Self::Returning>;

    /// Whether it carries a stream of bytes, whose packets know no frames.
    const CARRIES_BYTES: bool = false;

    /// Whether packets that leave in runs mostly find links idle, and so are handed over together. A sender that fills links does not.
    const FINDS_LINKS_IDLE: bool = false;

    /// A data packet arrived at `now`: what the packets do not say of the application's data, the simulator tells. Whether a frame
    /// is shown for that.
    #[inline]
    fn tell_application(_now: Time, _sender: &mut Self::Sender, _receiver: &mut Self::Receiver) -> bool {
        false
    }
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
        way.media(sent, self, out);
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
        way.report(self, out);
    }
}

/// TCP: segments of data one way, acknowledgements the other.
pub struct Tcp<C = AnyController>(PhantomData<C>);

impl<C: Controller> Ends for Tcp<C> {
    type Data = Segment;
    type Returning = Segment;
    type Sender = TcpSender<C>;
    type Receiver = TcpReceiver;
    const CARRIES_BYTES: bool = true;

    /// Frames have no borders in a stream of bytes: the receiving application knows them from the sender.
    #[inline]
    fn tell_application(now: Time, sender: &mut TcpSender<C>, receiver: &mut TcpReceiver) -> bool {
        let mut shows = false;
        while let Some(frame) = sender.take_frame(receiver.readable()) {
            receiver.display(now, &frame);
            shows = true;
        }
        shows
    }
}

impl Travels for Segment {
    #[inline]
    fn pack(self, pool: &mut PacketPool<Segment>) -> Content {
        match PlainSegment::of(&self) {
            Some(segment) => Content::Segment(segment),
            None => {
                let data = (self.payload > 0).then_some(StreamId(0));
                Content::Pooled(pool.insert(self, data))
            }
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Segment> {
        if let Content::Segment(segment) = content { Some(segment.segment()) } else { None }
    }

    fn spell(&self, sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        way.segment(sent, self, out);
    }
}

/// Short transfers: TCP connections that come and go, all over the path of one flow.
pub enum Transfers {}

impl Ends for Transfers {
    type Data = Segment;
    type Returning = Segment;
    type Sender = TransfersSender<AnyController>;
    type Receiver = TransfersReceiver;
}

/// Conversations: TCP connections that come and go, with data both ways.
pub enum Conversations {}

impl Ends for Conversations {
    type Data = Segment;
    type Returning = Segment;
    type Sender = ConversationsSender<AnyController>;
    type Receiver = ConversationsReceiver<AnyController>;
}

/// DCCP: datagrams one way, acknowledgements the other, under the congestion control of one CCID.
pub struct Dccp<F>(PhantomData<F>);

impl<F: Ccids + Clone> Ends for Dccp<F> {
    type Data = dccp::Packet;
    type Returning = dccp::Packet;
    type Sender = DccpSender<F>;
    type Receiver = DccpReceiver<F>;
}

impl Travels for dccp::Packet {
    #[inline(always)]
    fn pack(self, pool: &mut PacketPool<dccp::Packet>) -> Content {
        match PlainData::of(&self) {
            Some(data) => Content::Dccp(data),
            None => {
                let data = matches!(self.packet_type(), PacketType::Data | PacketType::DataAck);
                Content::Pooled(pool.insert(self, data.then_some(StreamId(0))))
            }
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<dccp::Packet> {
        if let Content::Dccp(data) = content { Some(data.packet()) } else { None }
    }

    fn media(&self) -> Option<MediaUnit> {
        let Payload::Rtp(rtp) = &self.payload else { return None };
        Some(MediaUnit {
            stream: StreamId(0),
            sequence: rtp.sequence,
            captured: rtp.captured,
            first: rtp.first.unwrap_or(false),
        })
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        way.dccp(self, out);
    }
}

/// Datagrams that nobody controls: what the source gives leaves, and nothing comes back.
pub struct Udp<C = AnyController>(PhantomData<C>);

impl<C: Controller> Ends for Udp<C> {
    type Data = Datagram;
    type Returning = Infallible;
    type Sender = UdpSender<C>;
    type Receiver = UdpReceiver;
    const FINDS_LINKS_IDLE: bool = true;
}

impl Travels for Datagram {
    #[inline]
    fn pack(self, _pool: &mut PacketPool<Datagram>) -> Content {
        Content::Datagram { payload: self.payload.as_u64() as u32 }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Datagram> {
        let Content::Datagram { payload } = content else { return None };
        Some(Datagram { payload: Bytes::new(u64::from(*payload)) })
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        way.datagram(self, out);
    }
}

impl Travels for Infallible {
    fn pack(self, _pool: &mut PacketPool<Infallible>) -> Content {
        match self {}
    }

    fn spell(&self, _sent: Time, _way: &mut Way<'_>, _out: &mut Vec<u8>) {
        match *self {}
    }
}
