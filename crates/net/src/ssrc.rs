//! Streams and their SSRCs on the wire.

use crate::clock::ntp_now;
use paceline_cc::StreamId;
use paceline_scenario::build::RtpParts;
use paceline_transport::rtp::rtcp::{NtpClock, RtcpConfig};

/// Ticks of the media's timestamps in a second.
pub(crate) const MEDIA_CLOCK: u32 = 90_000;
/// SSRC of a path probe's packets.
pub(crate) const PROBE_SSRC: u32 = 100;
/// A receiver's SSRC in its reports, unless a stream has it; nothing is ever sent under it.
const RECEIVER_SSRC: u32 = 1;

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

    /// Those of a sender of so many streams of which one is `ssrc`, a random number. Where there are several they begin at a
    /// multiple of 256, so that each tells the others.
    pub fn with(ssrc: u32, streams: usize) -> Ssrcs {
        Ssrcs::new(if streams > 1 { ssrc & !0xff } else { ssrc }, streams)
    }

    /// SSRC of a receiver of these streams: another than theirs (RFC 3550 section 8.2).
    pub fn of_receiver(self) -> u32 {
        if self.stream(RECEIVER_SSRC).is_some() { self.first.wrapping_sub(1) } else { RECEIVER_SSRC }
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

/// How an end of this SSRC takes part in RTCP, if its flow does: `drawn` is random.
pub(crate) fn rtcp_config(parts: &RtpParts, ssrc: u32, drawn: u64) -> Option<RtcpConfig> {
    parts.identity.rtcp.then(|| {
        // Reports on packets go alone (RFC 5506).
        let clock = NtpClock::starting_at(ntp_now());
        RtcpConfig { reduced_size: true, ..RtcpConfig::new(format!("{ssrc:08x}@paceline"), clock, drawn) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_several_tells_the_others_and_a_receiver_has_another() {
        let ssrcs = Ssrcs::with(0x1234_56ab, 3);
        assert_eq!(ssrcs.of(StreamId(0)), 0x1234_5600);
        assert!(
            [0, 1, 2]
                .map(StreamId)
                .map(|stream| Ssrcs::with(ssrcs.of(stream), 3))
                .iter()
                .all(|other| *other == ssrcs)
        );
        assert_eq!((Ssrcs::with(0x1234_56ab, 1).of(StreamId(0)), ssrcs.of_receiver()), (0x1234_56ab, 1));
        assert_eq!((Ssrcs::new(1, 1).of_receiver(), Ssrcs::new(0, 2).of_receiver()), (0, u32::MAX));
    }

    #[test]
    fn streams_and_ssrcs_are_inverse_and_others_are_unknown() {
        let ssrcs = Ssrcs::new(u32::MAX, 2);
        for stream in [StreamId(0), StreamId(1)] {
            assert_eq!(ssrcs.stream(ssrcs.of(stream)), Some(stream));
        }
        assert_eq!((ssrcs.stream(u32::MAX - 1), ssrcs.stream(1)), (None, None));
    }
}
