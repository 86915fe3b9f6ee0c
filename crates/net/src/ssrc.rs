//! Streams and their SSRCs on the wire.

use paceline_cc::StreamId;

/// RTP payload type of the media (the reference's tool: 98).
pub(crate) const PAYLOAD_TYPE: u8 = 98;
/// SSRC of the first stream unless asked otherwise: the reference's receiver reports on no other.
pub(crate) const FIRST_SSRC: u32 = 100;

/// Consecutive SSRCs, one for each stream of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ssrcs {
    first: u32,
    streams: u8,
}

impl Ssrcs {
    /// Those of `streams` streams, at least one, from `first` on; numbers wrap.
    pub fn new(first: u32, streams: usize) -> Ssrcs {
        Ssrcs { first, streams: streams.clamp(1, 255) as u8 }
    }

    /// The SSRC of a stream.
    pub fn of(self, stream: StreamId) -> u32 {
        self.first.wrapping_add(stream.0.into())
    }

    /// The stream of an SSRC, if it is one of these.
    pub fn stream(self, ssrc: u32) -> Option<StreamId> {
        let offset = ssrc.wrapping_sub(self.first);
        (offset < self.streams.into()).then_some(StreamId(offset as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_ssrcs_are_inverse_and_others_are_unknown() {
        let ssrcs = Ssrcs::new(u32::MAX, 2);
        for stream in [StreamId(0), StreamId(1)] {
            assert_eq!(ssrcs.stream(ssrcs.of(stream)), Some(stream));
        }
        assert_eq!((ssrcs.stream(u32::MAX - 1), ssrcs.stream(1)), (None, None));
    }
}
