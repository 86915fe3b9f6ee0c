//! A sender driven by one call for what leaves and one for what happened: what bindings for other languages use.

use super::{DiscardedPacket, MediaSender, MediaTransmit};
use paceline_cc::{Controller, StreamId};
use paceline_rtp::Broken;
use paceline_rtp::rtcp::RtcpEvent;
use paceline_units::{Bytes, Time};
use paceline_wire::rtx;

/// A datagram that leaves now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentDatagram<P> {
    /// A packet of media, or padding.
    Rtp(MediaTransmit<P>),
    /// Reports, and what else the sender says of itself. It leaves without an ECN mark.
    Rtcp,
}

/// Events for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SenderEvent<P> {
    /// A packet will not be sent.
    Discarded(DiscardedPacket<P>),
    /// The next frame of a stream should be a key frame: the receiver asked (PLI, FIR), or too much was discarded.
    KeyFrame(StreamId),
    /// Something happened in the session.
    Session(RtcpEvent),
    /// A circuit breaker ended the call (RFC 8083).
    Broken(Broken),
}

impl<C: Controller, P: AsRef<[u8]>> MediaSender<C, P> {
    /// Size of the largest packet that leaves: header and payload, and what the endpoint adds.
    pub fn largest_packet(&self) -> Bytes {
        let original = self.repairs.as_ref().map_or(0, |_| rtx::OSN as u64);
        self.end.largest_packet() + Bytes::new(original)
    }

    /// Does what is due, and appends the next datagram that leaves at `now` to `out`. Call until there is none.
    pub fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SentDatagram<P>> {
        self.handle_timeout(now);
        if self.poll_rtcp(now, out) {
            return Some(SentDatagram::Rtcp);
        }
        loop {
            let sent = self.poll_transmit(now)?;
            // Payload types were read when packets were offered; one that an application changed since is not sent.
            if sent.write(out).is_ok() {
                return Some(SentDatagram::Rtp(sent));
            }
        }
    }

    /// The next event. Call until there is nothing.
    pub fn poll_event(&mut self) -> Option<SenderEvent<P>> {
        if let Some(discarded) = self.poll_discarded() {
            return Some(SenderEvent::Discarded(discarded));
        }
        if let Some(event) = self.poll_rtcp_event() {
            return Some(SenderEvent::Session(event));
        }
        let ids = (0..self.streams.len()).map(|id| StreamId(id as u8));
        if let Some(id) = ids.into_iter().find(|id| self.take_key_frame_request(*id)) {
            return Some(SenderEvent::KeyFrame(id));
        }
        let (_, broken) = self.end.broken().filter(|_| !self.broken_told)?;
        self.broken_told = true;
        Some(SenderEvent::Broken(broken))
    }
}
