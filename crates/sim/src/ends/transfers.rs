//! Short transfers: TCP connections that come and go, all over the path of one flow.

use super::tcp::{outgoing, returned, taken};
use super::{Ends, Outgoing, Returning, Taken};
use crate::packet::{Cargo, Packet};
use paceline_scenario::registry::AnyController;
use paceline_transport::Transfer;
use paceline_transport::tcp::transfers::{TransfersReceiver, TransfersSender};
use paceline_units::{Ecn, Time};

/// Both ends of all connections of a user.
pub struct TransfersEnds {
    sender: TransfersSender<AnyController>,
    receiver: TransfersReceiver,
    completed: Option<Transfer>,
}

impl TransfersEnds {
    /// Ends that have not started.
    pub fn new(sender: TransfersSender<AnyController>, receiver: TransfersReceiver) -> TransfersEnds {
        TransfersEnds { sender, receiver, completed: None }
    }
}

impl Ends for TransfersEnds {
    type Sender = TransfersSender<AnyController>;
    type Receiver = TransfersReceiver;

    fn sender(&self) -> &TransfersSender<AnyController> {
        &self.sender
    }

    fn receiver(&self) -> &TransfersReceiver {
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
        self.sender.next_timeout().unwrap_or(Time::MAX)
    }

    #[inline]
    fn sender_timeout(&mut self, now: Time) -> bool {
        self.sender.handle_timeout(now)
    }

    #[inline]
    fn take_return(&mut self, now: Time, cargo: &Cargo, _ecn: Ecn) {
        if let Cargo::Segment(segment) = cargo {
            self.completed = self.sender.handle_segment(now, segment);
        }
    }

    #[inline]
    fn take_transfer(&mut self) -> Option<Transfer> {
        self.completed.take()
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.sender.poll_transmit(now).map(outgoing)
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        self.receiver.next_timeout().unwrap_or(Time::MAX)
    }

    fn receiver_timeout(&mut self, _now: Time) {}

    #[inline]
    fn take_data(&mut self, now: Time, packet: &Packet) -> Taken {
        taken(packet, |segment| self.receiver.on_segment(now, segment, packet.ecn))
    }

    #[inline]
    fn poll_return(&mut self, now: Time) -> Option<Returning> {
        self.receiver.poll_ack(now).map(returned)
    }
}
