//! DCCP: datagrams one way, acknowledgements the other, under the congestion control of one CCID.

use super::{Ends, Outgoing, Returning, Taken};
use crate::packet::{Cargo, Packet};
use paceline_cc::StreamId;
use paceline_media::DisplayedFrame;
use paceline_scenario::build::DccpParts;
use paceline_scenario::registry::{AnyController, FlowCcids};
use paceline_transport::dccp::{self, DccpReceiver, DccpSender, open_pair};
use paceline_transport::rtp::PathFacts;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::PacketType;

/// Both ends of a connection, and the packets under way between them.
pub struct DccpEnds {
    sender: DccpSender<FlowCcids>,
    receiver: DccpReceiver<FlowCcids>,
    under_way: Vec<Option<paceline_wire::dccp::Packet>>,
    free: Vec<u32>,
}

impl DccpEnds {
    /// Ends that have not started; without a handshake their connection is open at `start`.
    pub fn new(start: Time, parts: &DccpParts, idle: AnyController) -> DccpEnds {
        let (config, ccids) = (&parts.config, &parts.ccids);
        let carried = parts.carried.clone();
        let sender = DccpSender::new(config.clone(), ccids.clone(), parts.service, idle, carried);
        let receiver = DccpReceiver::new(config.clone(), ccids.clone(), parts.playout);
        let (sender, receiver) =
            if parts.handshake { (sender, receiver) } else { open_pair(start, sender, receiver) };
        DccpEnds { sender, receiver, under_way: Vec::new(), free: Vec::new() }
    }

    fn put(&mut self, packet: paceline_wire::dccp::Packet) -> Cargo {
        let data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
        let place = match self.free.pop() {
            Some(place) => {
                self.under_way[place as usize] = Some(packet);
                place
            }
            None => {
                self.under_way.push(Some(packet));
                self.under_way.len() as u32 - 1
            }
        };
        Cargo::Dccp { place, data }
    }

    fn take(&mut self, cargo: &Cargo) -> Option<paceline_wire::dccp::Packet> {
        let Cargo::Dccp { place, .. } = *cargo else { return None };
        self.free.push(place);
        self.under_way[place as usize].take()
    }
}

impl Ends for DccpEnds {
    type Sender = DccpSender<FlowCcids>;
    type Receiver = DccpReceiver<FlowCcids>;

    fn sender(&self) -> &DccpSender<FlowCcids> {
        &self.sender
    }

    fn receiver(&self) -> &DccpReceiver<FlowCcids> {
        &self.receiver
    }

    fn start(&mut self, now: Time) {
        self.sender.start(now);
    }

    fn stop(&mut self, now: Time) {
        self.sender.stop(now);
    }

    fn pause(&mut self, _now: Time) {
        self.sender.pause();
    }

    fn resume(&mut self, now: Time) {
        self.sender.resume(now);
    }

    #[inline]
    fn sender_due(&self) -> Time {
        self.sender.next_timeout().map_or(Time::MAX, |(due, _)| due)
    }

    #[inline]
    fn sender_timeout(&mut self, now: Time) -> bool {
        self.sender.handle_timeout(now)
    }

    #[inline]
    fn take_return(&mut self, now: Time, cargo: &Cargo, ecn: Ecn) {
        if let Some(packet) = self.take(cargo) {
            self.sender.handle_packet(now, packet, ecn);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        let dccp::Outgoing { packet, ecn, size, queued } = self.sender.poll_transmit(now)?;
        let cargo = self.put(packet);
        Some(Outgoing { cargo, size: size.as_u64() as u32, ecn, stream: StreamId(0), queued })
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        self.receiver.next_timeout().unwrap_or(Time::MAX)
    }

    #[inline]
    fn receiver_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
    }

    #[inline]
    fn take_data(&mut self, now: Time, packet: &Packet) -> Taken {
        let wait = Some(TimeDelta::from_nanos(packet.wait));
        let facts = PathFacts { sent: Some(packet.sent), wait, first: None };
        let payload = match self.take(&packet.cargo) {
            Some(arrived) => self.receiver.on_packet(now, arrived, packet.ecn, facts),
            None => Bytes::ZERO,
        };
        Taken { stream: StreamId(0), payload }
    }

    #[inline]
    fn poll_return(&mut self, now: Time) -> Option<Returning> {
        let dccp::Transmit { packet, size, ecn, .. } = self.receiver.poll_transmit(now)?;
        Some(Returning { cargo: self.put(packet), size: size.as_u64() as u32, ecn })
    }

    #[inline]
    fn poll_displayed(&mut self) -> Option<DisplayedFrame> {
        self.receiver.poll_displayed()
    }

    fn drop_cargo(&mut self, cargo: &Cargo) {
        let _ = self.take(cargo);
    }
}
