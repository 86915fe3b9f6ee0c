//! SCTP in the simulator: chunks of data one way, SACKs the other.

use super::{AnyFlow, Content, Copied, Ends, Simulated, Travels};
use crate::capture::{DISCARD_PORT, Way};
use crate::flow::{Flow, FlowWiring};
use crate::packet::PacketPool;
use paceline_cc::{AnyController, Controller, StreamId};
use paceline_media::Source;
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::SctpParts;
use paceline_sctp::{Backward, DataChunk, Forward, Sack, SctpReceiver, SctpSender};
use paceline_units::Time;
use paceline_wire::sctp::{self, Chunk, SctpHeader};
use std::marker::PhantomData;

/// The port of an association's sender in a capture.
const SENDER_PORT: u16 = 5001;
/// The verification tag of both directions: the simulated association is there from the beginning.
const TAG: u32 = 1;

impl Simulated for SctpParts {
    /// Packets say all.
    type Spelling = ();

    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
        let (controller, random) = (parts.controller.clone(), self.random.clone());
        let sender = SctpSender::new(controller, &self.config, self.streams.clone(), random);
        let frames = self.streams.iter().map(|stream| !matches!(stream.source, Source::Bulk(_)));
        let receiver = SctpReceiver::new(&self.config, frames);
        Flow::<Sctp>::new(sender, receiver, parts.plan(), wiring).into()
    }

    fn spelling(&self, _flow: usize) {}
}

/// An SCTP association: chunks of data one way, SACKs the other.
pub struct Sctp<C = AnyController>(PhantomData<C>);

impl<C: Controller> Ends for Sctp<C> {
    type Data = Forward;
    type Returning = Backward;
    type Sender = SctpSender<C>;
    type Receiver = SctpReceiver;
}

impl Travels for Forward {
    #[inline]
    fn pack(self, pool: &mut PacketPool<Forward>) -> Content {
        match self {
            Forward::Data(chunk) => Content::Chunk(PlainChunk(chunk)),
            other => Content::Pooled(pool.insert(other, None)),
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Forward> {
        if let Content::Chunk(PlainChunk(chunk)) = content { Some(Forward::Data(*chunk)) } else { None }
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        spell(
            way,
            out,
            &match self {
                Forward::Data(chunk) => Chunk::Data {
                    flags: (chunk.begins, chunk.ends, chunk.unordered),
                    tsn: chunk.tsn,
                    stream: (u16::from(chunk.stream), chunk.ssn),
                    protocol: u32::from(chunk.source),
                    payload: chunk.payload as usize,
                },
                Forward::Heartbeat(sent) => Chunk::Heartbeat { answers: false, information: sent.as_nanos() },
                Forward::ForwardTsn(forward) => {
                    Chunk::ForwardTsn { cumulative: forward.cumulative, skipped: &forward.skipped }
                }
            },
        );
    }
}

impl Travels for Backward {
    #[inline]
    fn pack(self, pool: &mut PacketPool<Backward>) -> Content {
        match self {
            Backward::Sack(Sack { cumulative, a_rwnd, ref gaps, duplicates: 0 }) if gaps.is_empty() => {
                Content::Sack(PlainSack { cumulative, a_rwnd })
            }
            other => Content::Pooled(pool.insert(other, None)),
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Backward> {
        let Content::Sack(PlainSack { cumulative, a_rwnd }) = *content else { return None };
        Some(Backward::Sack(Sack { cumulative, a_rwnd, ..Sack::default() }))
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        spell(
            way,
            out,
            &match self {
                Backward::Sack(sack) => Chunk::Sack {
                    cumulative: sack.cumulative,
                    a_rwnd: sack.a_rwnd,
                    gaps: &sack.gaps,
                    duplicates: sack.duplicates,
                },
                Backward::HeartbeatAck(sent) => {
                    Chunk::Heartbeat { answers: true, information: sent.as_nanos() }
                }
            },
        );
    }
}

/// Writes a packet of one chunk; one that no IP packet holds is left out.
fn spell(way: &Way<'_>, out: &mut Vec<u8>, chunk: &Chunk<'_>) {
    let (source, destination) =
        if way.forward { (SENDER_PORT, DISCARD_PORT) } else { (DISCARD_PORT, SENDER_PORT) };
    let _ = sctp::encode(&SctpHeader { source, destination, tag: TAG }, chunk, &way.addresses, way.ecn, out);
}

/// [`DataChunk`] as it travels.
#[derive(Clone, Copy, Debug)]
pub struct PlainChunk(DataChunk);

impl Copied for PlainChunk {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        Some(StreamId(self.0.source))
    }

    fn number(&self) -> u64 {
        u64::from(self.0.tsn)
    }
}

/// [`Sack`] without gaps and duplicates.
#[derive(Clone, Copy, Debug)]
pub struct PlainSack {
    cumulative: u32,
    a_rwnd: u32,
}

impl Copied for PlainSack {
    fn data(&self) -> Option<StreamId> {
        None
    }
}
