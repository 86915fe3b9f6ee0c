//! The transports in the simulator: a file each, and a line in `transports!`.
//!
//! A transport says here which two ends make a flow, how its packets travel as small copies, and how they are spelled in a capture.

mod dccp;
mod rtp;
mod sctp;
mod tcp;
mod udp;

use crate::capture::Way;
use crate::flow::{Flow, FlowWiring};
use crate::log::MediaUnit;
use crate::packet::{PacketPool, Slot};
use dccp::{Dccp, PlainData};
use paceline_cc::ccid::ccid2::Ccid2;
use paceline_cc::ccid::ccid3::{Ccid3, Ccid3Receiver};
use paceline_cc::reno::Reno;
use paceline_cc::scream::Scream;
use paceline_cc::tempo::Tempo;
use paceline_cc::uncontrolled::Uncontrolled;
use paceline_cc::{NoReceiverHalf, StreamId};
use paceline_ends::{ReceivingEnd, SendingEnd};
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::{DccpParts, EndsParts, Halves, RtpParts, SctpParts, TcpParts, UdpParts};
use paceline_units::{CongestionHeader, Time};
use rtp::{Media, PlainReport, Rtp};
use sctp::{PlainChunk, PlainSack, Sctp};
use std::fmt::Debug;
use tcp::{Conversations, PlainSegment, Tcp, Transfers};
use udp::{PlainDatagram, Udp};

/// The parts of a flow's ends, of which the simulator makes a flow.
pub trait Simulated {
    /// Fields of the flow's packets on the wire that they do not say themselves.
    type Spelling: Clone + Debug;

    /// The flow over its two ends.
    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow;

    /// How packets of the flow with this number are spelled.
    fn spelling(&self, flow: usize) -> Self::Spelling;
}

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
    /// Takes over the congestion header with which its place in the pool travelled.
    fn set_congestion(&mut self, _header: CongestionHeader) {}
    /// The part of a frame that it carries, where it says so.
    fn media(&self) -> Option<MediaUnit> {
        None
    }
    /// Appends the IP packet that it would be on its way, having left at `sent`.
    fn spell(&self, sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>);
}

/// A transport's packet as a small copy.
pub trait Copied: Copy + Debug {
    /// The stream it belongs to, if it is data.
    fn data(&self) -> Option<StreamId>;

    /// A number that tells data from others of its flow that are sent at the same time; 0 of what only goes back.
    fn number(&self) -> u64 {
        0
    }

    /// Gives it the number of the packet that comes so many after it in a run, where numbers count on.
    #[inline]
    fn number_on(&mut self, _packets: u64) {}
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

/// One line for each transport: the parts of its ends, the flows over these ends, and the copies as which its packets travel. Flows of the
/// controllers that most flows have are compiled for these; the controllers of others say which they are with each call.
macro_rules! transports {
    ($( $transport:ident($parts:ident) {
        $( $(#[doc = $flow_help:literal])+ $flow:ident($ends:ty), )+
    } travels as { $( $(#[doc = $copy_help:literal])+ $copy:ident($copied:ty), )+ } )*) => {
        /// A flow of any transport. Which one is asked once per window, not per packet; and which controller as well for the controllers
        /// that most flows have.
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub enum AnyFlow {
            $($( $(#[doc = $flow_help])+ $flow(Flow<$ends>), )+)*
        }

        $($(
            impl From<Flow<$ends>> for AnyFlow {
                fn from(flow: Flow<$ends>) -> AnyFlow {
                    AnyFlow::$flow(flow)
                }
            }
        )+)*

        /// Calls the flow inside.
        macro_rules! each_flow {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any { $($( AnyFlow::$flow($inner) => $call, )+)* }
            };
        }
        pub(crate) use each_flow;

        /// A transport's packet as it travels: a small copy, or where it lies in its flow's pool.
        #[derive(Clone, Copy, Debug)]
        pub enum Content {
            $($( $(#[doc = $copy_help])+ $copy($copied), )+)*
            /// A packet of any transport, in the pool.
            Pooled(Slot),
            /// The same of one that a link copied.
            Shared(Slot),
            /// The same of either with the packet's congestion header, into which routers write.
            Headed(Slot, CongestionHeader),
        }

        impl Content {
            /// A number that tells it from others of its flow that are sent at the same time, as far as it has one.
            pub fn number(&self) -> u64 {
                match self {
                    $($( Content::$copy(copy) => copy.number(), )+)*
                    Content::Pooled(slot) | Content::Shared(slot) | Content::Headed(slot, _) => slot.number(),
                }
            }

            /// The stream it belongs to, if it is data: what counts as a packet sent, received or lost. Reports,
            /// acknowledgements and the padding of probes do not.
            #[inline]
            pub fn data(&self) -> Option<StreamId> {
                match self {
                    $($( Content::$copy(copy) => copy.data(), )+)*
                    Content::Pooled(slot) | Content::Shared(slot) | Content::Headed(slot, _) => slot.data(),
                }
            }

            /// The congestion header, where it has one.
            #[inline]
            pub fn congestion(&mut self) -> Option<&mut CongestionHeader> {
                if let Content::Headed(_, header) = self { Some(header) } else { None }
            }

            /// Gives it the number of the packet that comes so many after it in a run.
            #[inline]
            pub fn number_on(&mut self, packets: u64) {
                match self {
                    $($( Content::$copy(copy) => copy.number_on(packets), )+)*
                    Content::Pooled(_) | Content::Shared(_) | Content::Headed(..) => {}
                }
            }
        }

        /// Fields of a flow's packets on the wire that they do not say themselves, by transport.
        #[derive(Clone, Debug)]
        pub enum Spelling {
            $( #[doc = concat!("Fields of the transport ", stringify!($transport), ".")]
            $transport(<$parts as Simulated>::Spelling), )*
        }

        impl Spelling {
            /// The spelling of the flow with this number.
            pub fn of(flow: usize, parts: &FlowParts) -> Spelling {
                match &parts.ends {
                    $( EndsParts::$transport(ends) => Spelling::$transport(ends.spelling(flow)), )*
                }
            }
        }

        impl AnyFlow {
            /// The flow over the ends of its transport.
            pub fn new(parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
                match &parts.ends {
                    $( EndsParts::$transport(ends) => ends.flow(parts, wiring), )*
                }
            }
        }
    };
}

transports! {
    Rtp(RtpParts) {
        /// RTP under SCReAM.
        Scream(Rtp<Scream, NoReceiverHalf>),
        /// RTP under Tempo.
        Tempo(Rtp<Tempo, NoReceiverHalf>),
        /// RTP with reports of its receiver, under another controller.
        Rtp(Rtp),
    } travels as {
        /// A packet of media without annotation or padding.
        Media(Media),
        /// A report on one packet.
        Report(PlainReport),
    }
    Tcp(TcpParts) {
        /// One TCP connection with Reno's window law.
        Reno(Tcp<Reno>),
        /// One TCP connection under another controller.
        Tcp(Tcp),
        /// Short TCP connections, one for each file of a burst.
        Transfers(Transfers),
        /// TCP connections whose sides ask and answer.
        Conversations(Conversations),
    } travels as {
        /// A segment of TCP without selective acknowledgements, of either direction.
        Segment(PlainSegment),
    }
    Dccp(DccpParts) {
        /// One DCCP connection under CCID 2.
        Ccid2(Dccp<Halves<Ccid2, NoReceiverHalf>>),
        /// One DCCP connection under CCID 3.
        Ccid3(Dccp<Halves<Ccid3, Ccid3Receiver>>),
    } travels as {
        /// Bulk data over DCCP without options.
        Dccp(PlainData),
    }
    Sctp(SctpParts) {
        /// One SCTP association.
        Sctp(Sctp),
    } travels as {
        /// A DATA chunk.
        Chunk(PlainChunk),
        /// A SACK without gaps.
        Sack(PlainSack),
    }
    Udp(UdpParts) {
        /// Datagrams without congestion control.
        Udp(Udp<Uncontrolled>),
    } travels as {
        /// A datagram without any header of ours.
        Datagram(PlainDatagram),
    }
}
