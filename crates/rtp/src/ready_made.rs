//! The sender endpoint for programs that make their packets themselves: sizes, numbers, and requests that come from outside.

use super::sender::RtpSender;
use super::stream::Stream;
use paceline_cc::{Controller, StreamId};
use paceline_units::{Bytes, Time};

impl<C: Controller> RtpSender<C> {
    /// Size of the header of each packet.
    #[inline]
    pub fn header(&self) -> Bytes {
        self.sizes.header().size()
    }

    /// Size of the largest packet, header in.
    pub fn largest_packet(&self) -> Bytes {
        self.sizes.largest()
    }

    /// Packets have a header that is `extension` longer, and are as long as before. Before a stream is added.
    pub fn lengthen_header(&mut self, extension: Bytes) {
        self.sizes.lengthen_header(extension);
    }

    /// Packets have so much less payload, and one byte at least. Before a stream is added.
    pub fn shorten_payload(&mut self, by: Bytes) {
        self.sizes.shorten_payload(by);
    }

    /// The sequence number that a stream's next packet takes.
    pub fn next_sequence(&self, id: StreamId) -> Option<u64> {
        self.streams.by_id(id).map(Stream::next_sequence)
    }

    /// The next frame of a stream is to be a key frame: somebody else asks for it.
    pub fn request_key_frame(&mut self, now: Time, id: StreamId) {
        if let Some(stream) = self.streams.by_id_mut(id) {
            stream.request_key_frame(now);
        }
    }
}
