//! Datagrams that nobody controls, in the simulator.

use super::{AnyFlow, Content, Copied, Ends, Simulated, Travels};
use crate::capture::{DISCARD_PORT, LARGEST_PAYLOAD, Way};
use crate::flow::{Flow, FlowWiring};
use crate::packet::PacketPool;
use paceline_cc::uncontrolled::Uncontrolled;
use paceline_cc::{AnyController, Controller, StreamId};
use paceline_rtp::udp::{Datagram, UdpReceiver, UdpSender};
use paceline_scenario::assembly::FlowParts;
use paceline_scenario::transports::UdpParts;
use paceline_units::{Bytes, Time};
use std::convert::Infallible;
use std::marker::PhantomData;

impl Simulated for UdpParts {
    /// Datagrams say all.
    type Spelling = ();

    fn flow(&self, parts: &FlowParts, wiring: FlowWiring) -> AnyFlow {
        let sender = UdpSender::new(Uncontrolled, self.source.clone(), self.max_payload, parts.ecn);
        Flow::<Udp<Uncontrolled>>::new(sender, UdpReceiver, parts.plan(), wiring).into()
    }

    fn spelling(&self, _flow: usize) {}
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
        let (payload, left) = (self.payload.as_u64() as u32, self.left.as_u64() as u32);
        Content::Datagram(PlainDatagram { payload, left })
    }

    #[inline]
    fn copied(content: &Content) -> Option<Datagram> {
        let Content::Datagram(copy) = content else { return None };
        let [payload, left] = [copy.payload, copy.left].map(|size| Bytes::new(u64::from(size)));
        Some(Datagram { payload, left })
    }

    fn spell(&self, _sent: Time, way: &mut Way<'_>, out: &mut Vec<u8>) {
        way.payload.clear();
        way.payload.resize(self.payload.min(LARGEST_PAYLOAD).as_u64() as usize, 0);
        way.udp(DISCARD_PORT, out);
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

/// [`Datagram`] as it travels.
#[derive(Clone, Copy, Debug)]
pub struct PlainDatagram {
    /// Size of the datagram in bytes.
    payload: u32,
    /// Bytes of its frame behind it.
    left: u32,
}

impl Copied for PlainDatagram {
    #[inline]
    fn data(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    fn number(&self) -> u64 {
        u64::from(self.left)
    }
}
