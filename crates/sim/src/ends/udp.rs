//! Datagrams that nobody controls: what the source gives leaves, and nothing comes back.

use super::{Ends, Outgoing, Returning, Taken};
use crate::packet::{Cargo, Packet};
use paceline_cc::StreamId;
use paceline_scenario::registry::AnyController;
use paceline_transport::udp::{UdpReceiver, UdpSender};
use paceline_units::{Bytes, Ecn, Time};

/// Both ends of a UDP flow.
pub struct UdpEnds {
    sender: UdpSender<AnyController>,
    receiver: UdpReceiver,
    ecn: Ecn,
}

impl UdpEnds {
    /// Ends that have not started; packets are sent with the mark `ecn`.
    pub fn new(sender: UdpSender<AnyController>, ecn: Ecn) -> UdpEnds {
        UdpEnds { sender, receiver: UdpReceiver, ecn }
    }
}

impl Ends for UdpEnds {
    type Sender = UdpSender<AnyController>;
    type Receiver = UdpReceiver;

    fn sender(&self) -> &UdpSender<AnyController> {
        &self.sender
    }

    fn receiver(&self) -> &UdpReceiver {
        &self.receiver
    }

    fn start(&mut self, now: Time) {
        self.sender.start(now);
    }

    fn stop(&mut self, _now: Time) {
        self.sender.stop();
    }

    fn pause(&mut self, _now: Time) {
        self.sender.pause();
    }

    fn resume(&mut self, now: Time) {
        self.sender.resume(now);
    }

    #[inline]
    fn sender_due(&self) -> Time {
        self.sender.next_timeout().unwrap_or(Time::MAX)
    }

    #[inline]
    fn sender_timeout(&mut self, now: Time) -> bool {
        self.sender.handle_timeout(now);
        false
    }

    fn take_return(&mut self, _now: Time, _cargo: &Cargo, _ecn: Ecn) {}

    #[inline]
    fn poll_transmit(&mut self, _now: Time) -> Option<Outgoing> {
        let datagram = self.sender.poll_transmit()?;
        Some(Outgoing {
            cargo: Cargo::Datagram { payload: datagram.payload.as_u64() as u32 },
            size: datagram.payload.as_u64() as u32,
            ecn: self.ecn,
            stream: StreamId(0),
            queued: datagram.captured,
        })
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        Time::MAX
    }

    fn receiver_timeout(&mut self, _now: Time) {}

    #[inline]
    fn take_data(&mut self, _now: Time, packet: &Packet) -> Taken {
        let payload = if let Cargo::Datagram { payload } = packet.cargo { payload } else { 0 };
        Taken { stream: StreamId(0), payload: Bytes::new(u64::from(payload)) }
    }

    #[inline]
    fn poll_return(&mut self, _now: Time) -> Option<Returning> {
        None
    }
}
