//! DCCP in the simulator: datagrams one way, acknowledgements the other.

use super::{AnyFlow, Content, Copied, Ends, Simulated, Travels};
use crate::capture::Way;
use crate::flow::{Flow, FlowWiring};
use crate::log::MediaUnit;
use crate::packet::PacketPool;
use paceline_cc::ccid::CcidReceiver;
use paceline_cc::{Controller, StreamId};
use paceline_dccp::{Ccids, DccpReceiver, DccpSender, FLOW_PORTS, open_pair};
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::{DccpParts, FlowCcids, Halves};
use paceline_units::Time;
use paceline_wire::dccp::{Body, Options, Packet, PacketType, Payload, SequenceNumber, encode_in_udp, to_ip};
use std::marker::PhantomData;

impl Simulated for DccpParts {
    /// The packets say all.
    type Spelling = ();

    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
        match &self.ccids {
            FlowCcids::Ccid2(halves) => flow(self, halves, parts, wiring).into(),
            FlowCcids::Ccid3(halves) => flow(self, halves, parts, wiring).into(),
        }
    }

    fn spelling(&self, _flow: usize) {}
}

/// Without a handshake the connection is open at the flow's start.
fn flow<C: Controller + Clone, R: CcidReceiver + Clone>(
    ends: &DccpParts,
    halves: &Halves<C, R>,
    parts: &FlowParts,
    wiring: FlowWiring,
) -> Flow<Dccp<Halves<C, R>>> {
    let (config, idle) = (&ends.config, halves.controller().clone());
    let sender = DccpSender::new(config, halves.clone(), ends.service, idle, ends.carried.clone());
    let receiver = DccpReceiver::new(config.clone(), halves.clone(), ends.playout);
    let (sender, receiver) =
        if ends.handshake { (sender, receiver) } else { open_pair(parts.start, sender, receiver) };
    Flow::new(sender, receiver, parts.plan(), wiring)
}

/// DCCP: datagrams one way, acknowledgements the other, under the congestion control of one CCID.
pub struct Dccp<F>(PhantomData<F>);

impl<F: Ccids + Clone> Ends for Dccp<F> {
    type Data = Packet;
    type Returning = Packet;
    type Sender = DccpSender<F>;
    type Receiver = DccpReceiver<F>;
}

impl Travels for Packet {
    #[inline(always)]
    fn pack(self, pool: &mut PacketPool<Packet>) -> Content {
        match PlainData::of(&self) {
            Some(data) => Content::Dccp(data),
            None => {
                let data = matches!(self.packet_type(), PacketType::Data | PacketType::DataAck);
                Content::Pooled(pool.insert(self, data.then_some(StreamId(0))))
            }
        }
    }

    #[inline]
    fn copied(content: &Content) -> Option<Packet> {
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
        way.payload.clear();
        debug_assert!(!way.forward || self.ports == FLOW_PORTS);
        if encode_in_udp(self, way.payload).is_ok() {
            let _ = to_ip(way.payload, &way.addresses, way.ecn, out);
        }
    }
}

/// A Data packet of a flow over DCCP without options, whose payload is not stored and is of no RTP packet.
#[derive(Clone, Copy, Debug)]
pub struct PlainData {
    sequence: SequenceNumber,
    captured: Time,
    payload: u32,
    ccval: u8,
    coverage: u8,
    short: bool,
}

impl PlainData {
    /// The packet as it travels; absent if there is more to it.
    #[inline]
    pub fn of(packet: &Packet) -> Option<PlainData> {
        let Packet { ports, ccval, coverage, short, sequence, ref body, ref options, ref payload } = *packet;
        match (payload, body) {
            (&Payload::Dummy { size, captured }, Body::Data) if options.is_empty() && ports == FLOW_PORTS => {
                Some(PlainData { sequence, captured, payload: size, ccval, coverage, short })
            }
            _ => None,
        }
    }

    /// The packet that arrived.
    #[inline]
    pub fn packet(self) -> Packet {
        let PlainData { sequence, captured, payload, ccval, coverage, short } = self;
        let (options, payload) = (Options::new(), Payload::Dummy { size: payload, captured });
        let (ports, body) = (FLOW_PORTS, Body::Data);
        Packet { ports, ccval, coverage, short, sequence, body, options, payload }
    }
}

impl Copied for PlainData {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    fn number(&self) -> u64 {
        self.sequence.as_u64()
    }
}
