//! Feedback as it arrives: hostile until it proves to be about our packets.

use super::sent::SentLog;
use crate::output::NetCounters;
use crate::ssrc::Ssrcs;
use paceline_wire::ccfb::Feedback;
use paceline_wire::ccfb::{self, RawFeedback, RtsUnwrapper};
use paceline_wire::{rtcp, unwrap_sequence};

/// Reads RTCP datagrams from the peer.
#[derive(Debug, Default)]
pub(crate) struct ReportReader {
    raw: RawFeedback,
    rts: RtsUnwrapper,
    feedback: Feedback,
}

impl ReportReader {
    /// Hands over the reports in `datagram` that are about our streams. A report that names no packet ever sent is
    /// handed over too, for the transport to count, but teaches nothing: not even the receiver's clock.
    pub fn read(
        &mut self,
        datagram: &[u8],
        ssrcs: Ssrcs,
        log: &mut SentLog,
        counters: &mut NetCounters,
        mut take: impl FnMut(&Feedback, &mut SentLog),
    ) {
        for packet in rtcp::packets(datagram) {
            let Ok(packet) = packet else {
                counters.malformed += 1;
                return;
            };
            if !ccfb::is_ccfb(&packet) {
                counters.other_rtcp += 1;
                continue;
            }
            if ccfb::decode_packet(&packet, &mut self.raw).is_err() {
                counters.malformed += 1;
                continue;
            }
            if self.complete(ssrcs, log, counters) {
                take(&self.feedback, log);
            }
        }
    }

    /// Turns the raw report into the transport's; false if nothing of it is for us.
    fn complete(&mut self, ssrcs: Ssrcs, log: &SentLog, counters: &mut NetCounters) -> bool {
        let foreign = self.raw.blocks.iter().filter(|block| ssrcs.stream(block.ssrc).is_none()).count();
        counters.unknown_ssrc += foreign as u64;
        if foreign == self.raw.blocks.len() {
            return false;
        }
        let mut rts = self.rts;
        let extend = |stream, begin| unwrap_sequence(log.highest(stream)?, begin);
        let stream_of = |ssrc| ssrcs.stream(ssrc);
        if self.raw.to_feedback(&mut rts, stream_of, extend, &mut self.feedback).is_err() {
            counters.malformed += 1;
            return false;
        }
        if log.concerns(&self.feedback) {
            self.rts = rts;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::StreamId;
    use paceline_transport::rtp::{Header, RtpPacket};
    use paceline_units::{Bytes, Ecn, Time};
    use paceline_wire::ccfb::{ArrivalReport, FeedbackBlock};
    use proptest::prelude::*;

    const SSRCS: fn() -> Ssrcs = || Ssrcs::new(100, 1);

    fn log(sent: u64) -> SentLog {
        let mut log = SentLog::new(1);
        for sequence in 0..sent {
            let (stream, payload) = (StreamId(0), Bytes::new(1000));
            let packet = RtpPacket {
                stream,
                sequence,
                captured: Time::ZERO,
                payload,
                header: Header::RTP,
                first: None,
                marker: false,
                annotation: None,
            };
            log.sent(Time::ZERO, &packet);
        }
        log
    }

    fn bytes(written_s: u64, begin: u64, ssrc: u32) -> Vec<u8> {
        let written = Time::from_nanos(written_s * 1_000_000_000);
        let arrival = ArrivalReport::Received { at: Some(written), ecn: Ecn::Ce };
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count: 1 }];
        let mut out = Vec::new();
        let feedback = Feedback { written, blocks, arrivals: vec![arrival], receiver: None };
        ccfb::encode(&feedback, 1, |_| ssrc, &mut out).expect("encoded");
        out
    }

    fn written(reader: &mut ReportReader, log: &mut SentLog, datagram: &[u8]) -> (Vec<Time>, NetCounters) {
        let (mut seen, mut counters) = (Vec::new(), NetCounters::default());
        reader.read(datagram, SSRCS(), log, &mut counters, |feedback, _| seen.push(feedback.written));
        (seen, counters)
    }

    #[test]
    fn only_our_streams_and_only_sound_reports() {
        let (mut reader, mut log) = (ReportReader::default(), log(10));
        let mut compound = bytes(5, 3, 100);
        compound.extend(bytes(6, 4, 7));
        compound.extend([0x80, 200, 0, 0]);
        compound.extend([0xff; 5]);
        let (seen, counters) = written(&mut reader, &mut log, &compound);
        assert_eq!(seen, [Time::from_nanos(5_000_000_000)]);
        assert_eq!((counters.unknown_ssrc, counters.other_rtcp, counters.malformed), (1, 1, 1));
    }

    #[test]
    fn reports_on_packets_never_sent_do_not_move_the_receivers_clock() {
        let (mut reader, mut log) = (ReportReader::default(), log(10));
        written(&mut reader, &mut log, &bytes(5, 3, 100));
        // Each step alone would be taken for the nearer way round; together they would wrap the clock.
        for hours in [9, 18, 27] {
            written(&mut reader, &mut log, &bytes(hours * 3600, 30_000, 100));
        }
        let (seen, _) = written(&mut reader, &mut log, &bytes(6, 4, 100));
        assert_eq!(seen, [Time::from_nanos(6_000_000_000)]);
    }

    proptest! {
        #[test]
        fn nothing_panics(datagram in prop::collection::vec(any::<u8>(), 0..300), flips in prop::collection::vec((0usize..24, any::<u8>()), 0..4)) {
            let (mut reader, mut log) = (ReportReader::default(), log(10));
            written(&mut reader, &mut log, &datagram);
            let mut damaged = bytes(5, 3, 100);
            for (place, value) in flips {
                let length = damaged.len();
                damaged[place % length] = value;
            }
            written(&mut reader, &mut log, &damaged);
        }
    }
}
