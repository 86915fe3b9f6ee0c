//! The two ends of a flow, whatever its transport: what the simulator needs of them, dispatched once per window.

mod dccp;
mod rtp;
mod tcp;
mod transfers;
mod udp;

pub use dccp::DccpEnds;
pub use rtp::RtpEnds;
pub use tcp::TcpEnds;
pub use transfers::TransfersEnds;
pub use udp::UdpEnds;

use crate::packet::{Cargo, Packet};
use paceline_cc::StreamId;
use paceline_media::DisplayedFrame;
use paceline_transport::{ReceivingEnd, SendingEnd, Transfer};
use paceline_units::{Bytes, Ecn, Time};

/// What leaves a sender.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// What it carries.
    pub cargo: Cargo,
    /// Transport header and payload, in bytes.
    pub size: u32,
    /// Its mark.
    pub ecn: Ecn,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// When what it carries began to wait for being sent.
    pub queued: Time,
}

/// What leaves a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Returning {
    /// What it carries.
    pub cargo: Cargo,
    /// Its size on the link without the flow's overhead, in bytes.
    pub size: u32,
    /// Its mark: reports and TCP's acknowledgements are not ECN-capable (RFC 3168 section 6.1.4), DCCP's are.
    pub ecn: Ecn,
}

/// What the receiving end makes of a data packet.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// What of its payload had not been there before.
    pub payload: Bytes,
}

/// A sending and a receiving end. They share nothing: what one tells the other travels as [`Cargo`].
pub trait Ends {
    /// The sending end, as a recorder sees it.
    type Sender: SendingEnd;
    /// The receiving end, as a recorder sees it.
    type Receiver: ReceivingEnd;

    /// The sending end.
    fn sender(&self) -> &Self::Sender;
    /// The receiving end.
    fn receiver(&self) -> &Self::Receiver;

    /// The flow begins.
    fn start(&mut self, now: Time);
    /// The flow ends.
    fn stop(&mut self, now: Time);
    /// The application has nothing to say for a while.
    fn pause(&mut self, now: Time);
    /// It goes on.
    fn resume(&mut self, now: Time);

    /// When the sender wants to be called; `Time::MAX` for never.
    fn sender_due(&self) -> Time;
    /// That time has come. False if it is only a packet's time to leave.
    fn sender_timeout(&mut self, now: Time) -> bool;
    /// What came back from the receiver, with the mark that it has got.
    fn take_return(&mut self, now: Time, cargo: &Cargo, ecn: Ecn);
    /// The next packet that leaves at `now`. Called until there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing>;

    /// When the receiver wants to be called; `Time::MAX` for never.
    fn receiver_due(&self) -> Time;
    /// That time has come.
    fn receiver_timeout(&mut self, now: Time);
    /// A packet of the sender arrived.
    fn take_data(&mut self, now: Time, packet: &Packet) -> Taken;
    /// What goes back to the sender at `now`. Called until there is none.
    fn poll_return(&mut self, now: Time) -> Option<Returning>;
    /// The next frame that was displayed.
    fn poll_displayed(&mut self) -> Option<DisplayedFrame> {
        None
    }
    /// The file whose transfer what came back has completed, if it has.
    #[inline]
    fn take_transfer(&mut self) -> Option<Transfer> {
        None
    }
    /// What was on its way, there or back, is lost.
    fn drop_cargo(&mut self, cargo: &Cargo) {
        let _ = cargo;
    }
}
