//! TCP in the simulator: segments of data one way, acknowledgements the other.

use super::{AnyFlow, Content, Copied, Ends, Simulated, Spelling, Travels};
use crate::capture::{DISCARD_PORT, Way};
use crate::flow::{Flow, FlowWiring};
use crate::packet::PacketPool;
use paceline_cc::{AnyController, Controller, StreamId};
use paceline_media::Source;
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::{ByteStream, TcpParts};
use paceline_tcp::conversations::{ConversationsReceiver, ConversationsSender};
use paceline_tcp::transfers::{TransfersReceiver, TransfersSender};
use paceline_tcp::{Congestion, Flags, SackBlocks, Segment, TcpConfig, TcpReceiver, TcpSender, stamp};
use paceline_units::{CongestionHeader, Time};
use paceline_wire::tcp::{self, TcpHeader, TcpOption};
use std::marker::PhantomData;

/// The first port of a connection's initiator in a capture, of those that nobody registers; further connections count on and around.
const FIRST_EPHEMERAL: u16 = 49_152;
/// The largest shift of a window (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

impl Simulated for TcpParts {
    type Spelling = TcpFlowSpelling;

    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
        let (config, controller, plan) = (&self.config, parts.controller.clone(), parts.plan());
        match &self.carried {
            ByteStream::Source(source) => match controller {
                AnyController::Tahoe(reno)
                | AnyController::Reno(reno)
                | AnyController::NewReno(reno)
                | AnyController::Sack(reno) => flow((config, source), reno, parts, wiring).into(),
                other => flow((config, source), other, parts, wiring).into(),
            },
            ByteStream::Transfers(transfers, random) => {
                let sender = TransfersSender::new(controller, config, transfers, random.clone());
                let receiver = TransfersReceiver::new(config, transfers);
                Flow::<Transfers>::new(sender, receiver, plan, wiring).into()
            }
            ByteStream::Conversations(conversations) => {
                let sender = ConversationsSender::new(controller.clone(), config, conversations.clone());
                let receiver = ConversationsReceiver::new(controller, config, conversations.clone());
                Flow::<Conversations>::new(sender, receiver, plan, wiring).into()
            }
        }
    }

    fn spelling(&self, _flow: usize) -> TcpFlowSpelling {
        let window = self.config.receive_window();
        let shift = (0..LARGEST_SHIFT).find(|shift| window >> shift <= u16::MAX.into());
        TcpFlowSpelling {
            segment: self.config.mss().min(u16::MAX.into()) as u16,
            window: window.min(u32::MAX.into()) as u32,
            first: self.config.initial_sequence.wrapping_add(1),
            shift: shift.unwrap_or(LARGEST_SHIFT),
        }
    }
}

fn flow<C: Controller>(
    (config, source): (&TcpConfig, &Source),
    controller: C,
    parts: &FlowParts,
    wiring: FlowWiring,
) -> Flow<Tcp<C>> {
    let sender = TcpSender::new(controller, config, source.clone(), 0);
    Flow::new(sender, TcpReceiver::new(config, 0), parts.plan(), wiring)
}

/// Fields of a segment that it does not say itself.
#[derive(Clone, Copy, Debug)]
pub struct TcpFlowSpelling {
    /// Payload of a full segment.
    segment: u16,
    /// Window of an end that says none, since it takes no data: no receiver ever closes it.
    window: u32,
    /// The number of the first byte that such an end would take.
    first: u32,
    /// Bits by which windows are shifted.
    shift: u8,
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
                let (congestion, slot) = (self.congestion, pool.insert(self, data));
                match congestion {
                    Congestion::Header(header) => Content::Headed(slot, header),
                    Congestion::None | Congestion::Feedback(_) => Content::Pooled(slot),
                }
            }
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Segment> {
        if let Content::Segment(segment) = content { Some(segment.segment()) } else { None }
    }

    fn set_congestion(&mut self, header: CongestionHeader) {
        self.congestion = Congestion::Header(header);
    }

    fn spell(&self, sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        let Spelling::Tcp(spelling) = &*way.spelling else { return };
        let &TcpFlowSpelling { segment: largest, window, first, shift } = spelling;
        let segment = self;
        let initiator = FIRST_EPHEMERAL + segment.connection % (u16::MAX - FIRST_EPHEMERAL + 1);
        let (source, destination) =
            if way.forward { (initiator, DISCARD_PORT) } else { (DISCARD_PORT, initiator) };
        let opens = segment.flags.has(Flags::SYN);
        let (window, expected) = match segment.window {
            0 => (window, first),
            told => (told, segment.acknowledgment),
        };
        // The window of a SYN is not shifted (RFC 7323 section 2.2); no other one looks smaller than it is.
        let shifted = if opens { window } else { window.div_ceil(1 << shift) };
        let header = TcpHeader {
            source,
            destination,
            sequence: segment.sequence,
            acknowledgment: if segment.flags.has(Flags::ACK) { expected } else { 0 },
            flags: segment.flags.0,
            window: shifted.min(u16::MAX.into()) as u16,
        };
        let opening =
            [TcpOption::MaximumSegmentSize(largest), TcpOption::SackPermitted, TcpOption::WindowScale(shift)];
        let opening = opening.into_iter().filter(|_| opens);
        let blocks = segment.sack.iter().map(|(begin, end)| TcpOption::SackBlock(begin, end));
        let (value, echo) =
            if way.forward { (segment.timestamp, 0) } else { (stamp(sent), segment.timestamp) };
        let timestamps = (segment.timestamp != 0).then_some(TcpOption::Timestamps(value, echo));
        let options = opening.chain(timestamps).chain(blocks.filter(|_| !opens));
        let _ = tcp::encode(&header, options, segment.payload as usize, &way.addresses, way.ecn, out);
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

/// [`Segment`] without selective acknowledgements and congestion header.
#[derive(Clone, Copy, Debug)]
pub struct PlainSegment {
    sequence: u32,
    acknowledgment: u32,
    window: u32,
    payload: u32,
    timestamp: u32,
    connection: u16,
    flags: Flags,
}

impl PlainSegment {
    /// The segment as it travels; absent if it has selective acknowledgements.
    #[inline]
    pub fn of(segment: &Segment) -> Option<PlainSegment> {
        let Segment {
            connection,
            flags,
            sequence,
            acknowledgment,
            window,
            payload,
            timestamp,
            ref sack,
            congestion,
        } = *segment;
        (sack.is_empty() && congestion == Congestion::None).then_some(PlainSegment {
            sequence,
            acknowledgment,
            window,
            payload,
            timestamp,
            connection,
            flags,
        })
    }

    /// The segment that arrived.
    #[inline]
    pub fn segment(self) -> Segment {
        let PlainSegment { sequence, acknowledgment, window, payload, timestamp, connection, flags } = self;
        let (sack, congestion) = (SackBlocks::none(), Congestion::None);
        Segment { connection, flags, sequence, acknowledgment, window, payload, timestamp, sack, congestion }
    }
}

impl Copied for PlainSegment {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        (self.payload > 0).then_some(StreamId(0))
    }

    fn number(&self) -> u64 {
        u64::from(self.connection) << 32 | u64::from(self.sequence)
    }
}
