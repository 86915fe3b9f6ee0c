//! Sizes of a flow's packets: their header, and the most payload behind it.

use super::packet::Header;
use paceline_media::SendQueue;
use paceline_units::Bytes;

/// Header and largest payload of the packets of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSizes {
    max_payload: Bytes,
    header: Header,
}

impl PacketSizes {
    /// Packets of at most `max_payload` behind `header`.
    pub(super) fn new(max_payload: Bytes, header: Bytes) -> PacketSizes {
        PacketSizes { max_payload, header: Header::of_size(header) }
    }

    #[inline]
    pub(super) fn header(&self) -> Header {
        self.header
    }

    /// Size of the largest packet, header in.
    pub(super) fn largest(&self) -> Bytes {
        self.header.size() + self.max_payload
    }

    /// The send queue of a stream whose payloads may be `longer` than those of others.
    pub(super) fn queue(&self, longer: Bytes) -> SendQueue {
        SendQueue::new(self.max_payload + longer, self.header.size())
    }

    /// Packets have a header that is `extension` longer, and are as long as before.
    pub(super) fn lengthen_header(&mut self, extension: Bytes) {
        self.header = Header::of_size(self.header.size() + extension);
        self.shorten_payload(extension);
    }

    /// Packets have so much less payload, and one byte at least.
    pub(super) fn shorten_payload(&mut self, by: Bytes) {
        self.max_payload = self.max_payload.saturating_sub(by).max(Bytes::new(1));
    }
}
