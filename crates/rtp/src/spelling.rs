//! RTP packets and reports as bytes: what sockets send, and what captures of simulated flows show.

use super::{RtpFeedback, RtpPacket};
use paceline_cc::{Annotation, ReceiverReport, StreamId};
use paceline_units::{Bytes, Time};
use paceline_wire::ccfb::{CountForm, Feedback};
use paceline_wire::clock::media_ticks_of;
use paceline_wire::rtp::{self, HEADER, RtpHeaderFields};
use paceline_wire::tfrc::{self, SendTime, Stamp, TfrcReport};
use paceline_wire::{FeedbackFormat, Reporter, WireError, delays, twcc};

/// RTP payload type of the media (the reference's tool: 98).
pub const PAYLOAD_TYPE: u8 = 98;
/// Local identifier of the header extension's element with the transport-wide number (RFC 8285 section 4.2).
pub const TRANSPORT_WIDE_ELEMENT: u8 = 5;
/// A receiver's SSRC in its reports, unless a stream has it; nothing is ever sent under it.
const RECEIVER_SSRC: u32 = 1;

/// Consecutive SSRCs, one for each stream of a flow, and maybe another for retransmissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ssrcs {
    first: u32,
    streams: u8,
    repairs: Option<u32>,
}

impl Ssrcs {
    /// The SSRCs of `streams` streams, at least one, from `first` on; numbers wrap.
    pub fn new(first: u32, streams: usize) -> Ssrcs {
        Ssrcs { first, streams: streams.clamp(1, 255) as u8, repairs: None }
    }

    /// With a stream of retransmissions behind the others, whose SSRC is any.
    pub fn with_repairs(self, ssrc: u32) -> Ssrcs {
        Ssrcs { repairs: Some(ssrc), ..self }
    }

    /// The stream of retransmissions, if there is one.
    pub fn repairs(self) -> Option<StreamId> {
        self.repairs.map(|_| StreamId(self.streams))
    }

    /// The SSRCs of a sender of `streams` streams of which one is `ssrc`, a random number. Where there are several they begin at a
    /// multiple of 256, so that each tells the others.
    pub fn with(ssrc: u32, streams: usize) -> Ssrcs {
        Ssrcs::new(if streams > 1 { ssrc & !0xff } else { ssrc }, streams)
    }

    /// SSRC of a receiver of these streams: another than theirs (RFC 3550 section 8.2).
    pub fn of_receiver(self) -> u32 {
        let others = [RECEIVER_SSRC, self.first.wrapping_sub(1), self.first.wrapping_sub(2)];
        others.into_iter().find(|ssrc| self.stream(*ssrc).is_none()).unwrap_or(RECEIVER_SSRC)
    }

    /// The SSRC of a stream.
    pub fn of(self, stream: StreamId) -> u32 {
        self.repairs.filter(|_| stream.0 == self.streams).unwrap_or(self.first.wrapping_add(stream.0.into()))
    }

    /// The stream of an SSRC, if it is one of these.
    pub fn stream(self, ssrc: u32) -> Option<StreamId> {
        let offset = ssrc.wrapping_sub(self.first);
        let own = (offset < self.streams.into()).then_some(StreamId(offset as u8));
        own.or_else(|| self.repairs().filter(|_| self.repairs == Some(ssrc)))
    }
}

/// How the packets of a flow are spelled.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpelling {
    /// The streams' SSRCs.
    pub ssrcs: Ssrcs,
    /// RTP timestamp of the zero of time.
    pub first_timestamp: u32,
    /// The format of the reports on the packets: transport-wide numbers stand in a header extension.
    pub format: FeedbackFormat,
    /// Whether the controller has a half at the receiver, and packets carry what that needs in place of such numbers.
    pub half: bool,
    /// RTP payload type of the media.
    pub payload_type: u8,
    /// Local identifier of the element with the transport-wide number.
    pub transport_wide: u8,
}

/// A packet that was spelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpelledPacket {
    /// The packet's RTP timestamp.
    pub timestamp: u32,
    /// Bytes of its header, extension in.
    pub header: usize,
}

impl PacketSpelling {
    /// Between Paceline's own ends, of a controller without a half at the receiver.
    pub fn new(ssrcs: Ssrcs, first_timestamp: u32, format: FeedbackFormat) -> PacketSpelling {
        let (payload_type, transport_wide) = (PAYLOAD_TYPE, TRANSPORT_WIDE_ELEMENT);
        PacketSpelling { ssrcs, first_timestamp, format, half: false, payload_type, transport_wide }
    }

    /// Appends a packet that leaves at `now`, with zeros as its payload.
    pub fn write(&self, now: Time, packet: &RtpPacket, bytes: &mut Vec<u8>) -> SpelledPacket {
        let timestamp = (media_ticks_of(packet.captured) as u32).wrapping_add(self.first_timestamp);
        let header = RtpHeaderFields {
            payload_type: self.payload_type,
            ssrc: self.ssrcs.of(packet.stream),
            sequence: packet.sequence as u16,
            timestamp,
            marker: packet.marker,
        };
        let rtt = match packet.annotation {
            Some(Annotation::Rtt(rtt)) => Some(rtt),
            Some(Annotation::Counter(_)) | None => None,
        };
        let stamp = self.half.then(|| Stamp { sent: SendTime::of(now), rtt }.extension());
        let number = (!self.half && self.format.is_transport_wide())
            .then(|| twcc::extension(self.transport_wide, packet.transport));
        let extension = match (&stamp, &number) {
            (Some(stamp), _) => &stamp[..],
            (None, Some(number)) => &number[..],
            (None, None) => &[],
        };
        let payload = packet.payload.as_u64() as usize;
        let encoded = rtp::encode_extended(&header, extension, payload, packet.padding, bytes);
        debug_assert!(encoded.is_ok(), "the payload type is one that media can have");
        SpelledPacket { timestamp, header: HEADER + extension.len() }
    }
}

/// How the reports of a flow's receiver are spelled.
#[derive(Clone, Debug)]
pub struct ReportSpelling {
    /// The format of its reports on packets.
    pub format: FeedbackFormat,
    reporter: Reporter,
    /// The last report on one packet.
    single: Feedback,
}

impl ReportSpelling {
    /// Reports on packets in this format.
    pub fn new(format: FeedbackFormat) -> ReportSpelling {
        ReportSpelling { format, reporter: Reporter::default(), single: Feedback::default() }
    }

    /// Counts the packets of a block of RFC 8888 so.
    pub fn counting(self, form: CountForm) -> ReportSpelling {
        ReportSpelling { reporter: Reporter { form, ..self.reporter }, ..self }
    }

    /// Appends a report on these streams: RTCP packets of at most `limit` bytes, one after the other.
    ///
    /// # Errors
    /// A report that does not add up, which no endpoint makes.
    pub fn write(
        &mut self,
        report: &RtpFeedback,
        ssrcs: Ssrcs,
        limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let own = ssrcs.of_receiver();
        match report {
            RtpFeedback::Packet(_) | RtpFeedback::Packets(_) => {
                let Some(feedback) = report.on_packets(&mut self.single) else { return Ok(()) };
                self.reporter.ssrc = own;
                return self.format.encode(feedback, &mut self.reporter, |id| ssrcs.of(id), limit, out);
            }
            RtpFeedback::Delays(report) => {
                delays::encode(&report.to_packet(own, ssrcs.of(report.stream)), out);
            }
            RtpFeedback::Half(report) => {
                if let Some(report) = tfrc_report(report, own, ssrcs.of(StreamId(0))) {
                    tfrc::encode(&report, out);
                }
            }
        }
        Ok(())
    }
}

/// TFRC's report on the flow whose first stream has this SSRC. No controller's receiver half says a maximum bitrate.
fn tfrc_report(report: &ReceiverReport, sender_ssrc: u32, ssrc: u32) -> Option<TfrcReport> {
    match *report {
        ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay } => Some(TfrcReport {
            sender_ssrc,
            ssrc,
            newest_sent: SendTime::of(newest_sent?),
            delay,
            receive_rate,
            loss_event_rate,
        }),
        ReceiverReport::Remb { .. } => None,
    }
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
        let repaired = Ssrcs::new(7, 1).with_repairs(1);
        assert_eq!((repaired.of(StreamId(0)), repaired.of(StreamId(1)), repaired.of_receiver()), (7, 1, 6));
        assert_eq!((repaired.stream(7), repaired.stream(1)), (Some(StreamId(0)), repaired.repairs()));
        assert_eq!((repaired.stream(8), Ssrcs::new(7, 1).repairs()), (None, None));
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
