//! TCP: segments of data one way, acknowledgements the other.

use super::{Ends, Outgoing, Returning, Taken};
use crate::packet::{Cargo, Packet};
use paceline_cc::StreamId;
use paceline_media::{DisplayedFrame, PlayoutCounters, StreamPlayout};
use paceline_scenario::registry::AnyController;
use paceline_transport::tcp::{Segment, TcpArrival, TcpOutgoing, TcpReceiver, TcpSender};
use paceline_transport::{ReceivingEnd, SendingEnd, Transfer};
use paceline_units::{Bytes, Ecn, Time};
use std::collections::VecDeque;

/// The end that receives, and the application behind it, which knows where each frame ends.
pub struct TcpReader {
    receiver: TcpReceiver,
    playout: StreamPlayout,
    shown: VecDeque<DisplayedFrame>,
}

impl ReceivingEnd for TcpReader {
    fn playout(&self) -> PlayoutCounters {
        self.playout.counters()
    }
}

/// Both ends of a connection.
pub struct TcpEnds {
    sender: TcpSender<AnyController>,
    reader: TcpReader,
    /// Whether the transfer of a file that ends may still be told.
    untold: bool,
}

impl TcpEnds {
    /// Ends that have not started.
    pub fn new(sender: TcpSender<AnyController>, receiver: TcpReceiver) -> TcpEnds {
        let reader = TcpReader { receiver, playout: StreamPlayout::default(), shown: VecDeque::new() };
        TcpEnds { untold: sender.transfers().is_some(), sender, reader }
    }
}

impl Ends for TcpEnds {
    type Sender = TcpSender<AnyController>;
    type Receiver = TcpReader;

    fn sender(&self) -> &TcpSender<AnyController> {
        &self.sender
    }

    fn receiver(&self) -> &TcpReader {
        &self.reader
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
            self.sender.handle_segment(now, segment);
        }
    }

    #[inline]
    fn take_transfer(&mut self) -> Option<Transfer> {
        if !self.untold {
            return None;
        }
        let transfer = self.sender.transfer();
        self.untold = transfer.is_none();
        transfer
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.sender.poll_transmit(now).map(outgoing)
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        self.reader.receiver.next_timeout().unwrap_or(Time::MAX)
    }

    fn receiver_timeout(&mut self, _now: Time) {}

    #[inline]
    fn take_data(&mut self, now: Time, packet: &Packet) -> Taken {
        let reader = &mut self.reader;
        let taken = taken(packet, |segment| reader.receiver.on_segment(now, segment, packet.ecn));
        while let Some(frame) = self.sender.take_frame(reader.receiver.readable()) {
            reader.shown.push_back(reader.playout.show(now, frame.captured, frame.payload));
        }
        taken
    }

    #[inline]
    fn poll_displayed(&mut self) -> Option<DisplayedFrame> {
        self.reader.shown.pop_front()
    }

    #[inline]
    fn poll_return(&mut self, now: Time) -> Option<Returning> {
        self.reader.receiver.poll_ack(now).map(returned)
    }
}

/// A segment that leaves the sender.
#[inline]
pub(super) fn outgoing(out: TcpOutgoing) -> Outgoing {
    Outgoing {
        cargo: Cargo::Segment(out.segment),
        size: out.segment.size().as_u64() as u32,
        ecn: out.ecn,
        stream: StreamId(0),
        queued: out.queued,
    }
}

/// What a receiver that is told of segments makes of a packet.
#[inline]
pub(super) fn taken(packet: &Packet, tell: impl FnOnce(&Segment) -> TcpArrival) -> Taken {
    let payload = match &packet.cargo {
        Cargo::Segment(segment) => tell(segment).new_payload,
        _ => Bytes::ZERO,
    };
    Taken { stream: StreamId(0), payload }
}

/// An acknowledgement that goes back.
#[inline]
pub(super) fn returned(segment: Segment) -> Returning {
    let size = segment.size().as_u64() as u32;
    Returning { cargo: Cargo::Segment(segment), size, ecn: Ecn::NotEct }
}
