//! RTP to one receiver, and RFC 8888 reports back from it: hostile until they prove to be about our packets. Summaries of
//! delays come back too, where groups are found by them. Where the controller has a half at the receiver, packets carry what it
//! needs, and its reports come in place of RFC 8888's.

use super::resending::Resending;
use crate::agreed::{Agreed, Media};
use crate::output::NetCounters;
use crate::remote::Remote;
use crate::sender::codec::{Encoded, SendingCodec};
use crate::sender::sent::Reported;
use crate::session_rate::SessionRate;
use crate::socket::Datagram;
use crate::ssrc::MEDIA_CLOCK;
use paceline_cc::{Controller, ReceiverReport, StreamId};
use paceline_ends::{EcnFault, EcnState, SendingEnd};
use paceline_rtp::rtcp::{RtcpConfig, SenderSession};
use paceline_rtp::{Broken, DelayReport, RtpFeedback, RtpPacket, RtpSender};
use paceline_rtp::{PacketSpelling, Ssrcs};
use paceline_units::{Time, TimeDelta};
use paceline_wire::ccfb::Feedback;
use paceline_wire::rtcp::{self, RtcpPacket, bye, nack, report, sdes};
use paceline_wire::rtp;
use paceline_wire::tfrc::{self, TfrcReport};
use paceline_wire::{FeedbackFormat, RawReport, TRANSPORT_WIDE, delays, unwrap_sequence, vp8};
use std::marker::PhantomData;

/// The streams on the wire, and what is needed to read reports on them.
pub(crate) struct RtpSendingCodec<C> {
    spelling: PacketSpelling,
    /// The next sequence number of each stream.
    next: Vec<u64>,
    /// Kind of its media.
    media: Media,
    /// Bytes of each stream's frame that have left, where the media is one that is decoded.
    begun: Vec<usize>,
    raw: RawReport,
    feedback: Box<Feedback>,
    /// Its regular reports, where the flow has them.
    rtcp: Option<Box<SenderSession>>,
    rate: SessionRate,
    remote: Remote,
    resending: Option<Box<Resending>>,
    controller: PhantomData<C>,
}

/// A report that was read.
enum Read<'r> {
    /// A report on packets, RFC 8888 or TWCC.
    Report(&'r mut Box<Feedback>),
    /// A summary of delays.
    Summary(DelayReport),
    /// Report of the controller's half at the receiver.
    Half(ReceiverReport),
}

impl<C> RtpSendingCodec<C> {
    /// For so many streams with these SSRCs, and reports in `format`, or those of a receiver `half`. RTP timestamps count from
    /// `first_timestamp`.
    pub fn new(
        (ssrcs, first_timestamp): (Ssrcs, u32),
        streams: usize,
        format: FeedbackFormat,
        half: bool,
    ) -> RtpSendingCodec<C> {
        RtpSendingCodec {
            spelling: PacketSpelling { half, ..PacketSpelling::new(ssrcs, first_timestamp, format) },
            media: Agreed::OWN.media,
            begun: vec![0; streams],
            next: vec![0; streams],
            raw: format.raw(),
            feedback: Box::default(),
            rtcp: None,
            rate: SessionRate::default(),
            remote: Remote::Standard,
            resending: None,
            controller: PhantomData,
        }
    }

    /// Sends packets that are like this.
    pub fn with_packets(self, agreed: Agreed) -> RtpSendingCodec<C> {
        let Agreed { payload_type, transport_wide, media, repair } = agreed;
        let ssrcs =
            repair.map_or(self.spelling.ssrcs, |repair| self.spelling.ssrcs.with_repairs(repair.ssrc));
        let spelling = PacketSpelling { ssrcs, payload_type, transport_wide, ..self.spelling };
        let resending = repair
            .zip(ssrcs.repairs())
            .map(|(repair, stream)| Box::new(Resending::new(repair.payload_type, stream)));
        let next = vec![0; self.next.len() + usize::from(resending.is_some())];
        RtpSendingCodec { spelling, media, next, resending, ..self }
    }

    /// Reports on its streams, as the participant that `config` says.
    pub fn with_rtcp(mut self, config: Option<RtcpConfig>) -> RtpSendingCodec<C> {
        self.rtcp = config.map(|config| {
            let mut session = SenderSession::new(config);
            for id in 0..self.next.len() {
                session.join(id, self.spelling.ssrcs.of(StreamId(id as u8)), MEDIA_CLOCK);
            }
            session.start(Time::ZERO);
            Box::new(session)
        });
        self
    }

    /// Towards this program.
    pub fn towards(self, remote: Remote) -> RtpSendingCodec<C> {
        RtpSendingCodec { remote, ..self }
    }

    /// A regular report of the receiver, or what else RTCP says; false if nothing is done with it.
    fn regular(&mut self, now: Time, packet: &RtcpPacket<'_>, counters: &mut NetCounters) -> bool {
        let Some(session) = &mut self.rtcp else { return false };
        if packet.packet_type == sdes::PACKET_TYPE || packet.packet_type == bye::PACKET_TYPE {
            return true;
        }
        if !report::is_report(packet) {
            return false;
        }
        let Ok(report) = report::decode(packet) else {
            counters.malformed += 1;
            return true;
        };
        let before = session.counters();
        let _ = session.on_report(now, &report, |id| self.next.get(id).copied());
        let after = session.counters();
        let refused = (after.impossible - before.impossible, after.unknown_ssrc - before.unknown_ssrc);
        counters.unknown_ssrc += refused.1;
        counters.rtcp_reports += u64::from(refused == (0, 0));
        true
    }

    /// Writes the part of a picture's frame that is in a packet.
    fn write_still(&mut self, packet: &RtpPacket, payload: &mut [u8]) {
        let Some(begun) = self.begun.get_mut(usize::from(packet.stream.0)) else { return };
        let begin = if packet.first == Some(true) { 0 } else { *begun };
        *begun = vp8::write_still(begin, payload);
    }

    /// The numbers of packets that a NACK asks for.
    fn asked(&mut self, packet: &RtcpPacket<'_>, counters: &mut NetCounters) {
        let (Some(resending), Ok(nack)) = (&mut self.resending, nack::decode(packet)) else {
            counters.malformed += 1;
            return;
        };
        if self.spelling.ssrcs.stream(nack.media_ssrc) != Some(StreamId(0)) {
            counters.unknown_ssrc += 1;
            return;
        }
        resending.ask(nack.lost());
    }

    fn sent(&self, stream: StreamId) -> u64 {
        self.next.get(usize::from(stream.0)).copied().unwrap_or(0)
    }

    /// Turns the raw report into the transport's, its timestamp being the nearest to `expected`; false if nothing of it is
    /// for us. The transport judges which of it can be.
    fn complete(&mut self, expected: Option<Time>, counters: &mut NetCounters) -> bool {
        let ssrcs = self.spelling.ssrcs;
        let mut feedback = std::mem::take(&mut self.feedback);
        let extend = |stream, begin: u16| match stream {
            // The transport knows which it means.
            TRANSPORT_WIDE => Some(begin.into()),
            stream => unwrap_sequence(self.sent(stream).checked_sub(1)?, begin),
        };
        let read = self.raw.complete(expected, |ssrc| ssrcs.stream(ssrc), extend, &mut feedback);
        let told = !feedback.blocks.is_empty();
        self.feedback = feedback;
        counters.malformed += u64::from(read.is_err());
        counters.unknown_ssrc += read.unwrap_or(0);
        told
    }

    /// The summary of delays that `packet` is, if it is of one of our streams. The transport judges which of it can be.
    fn summary(&self, packet: &RtcpPacket<'_>, counters: &mut NetCounters) -> Option<DelayReport> {
        let Ok(summary) = delays::decode_packet(packet) else {
            counters.malformed += 1;
            return None;
        };
        let Some(stream) = self.spelling.ssrcs.stream(summary.ssrc) else {
            counters.unknown_ssrc += 1;
            return None;
        };
        Some(DelayReport::of_packet(&summary, stream))
    }

    /// The receiver half's report that `packet` is, if it is of one of our streams. Of a time that this clock has not shown, it
    /// is about no packet that was sent; the transport judges that.
    fn of_half(
        &self,
        now: Time,
        packet: &RtcpPacket<'_>,
        counters: &mut NetCounters,
    ) -> Option<ReceiverReport> {
        let Ok(report) = tfrc::decode_packet(packet) else {
            counters.malformed += 1;
            return None;
        };
        if self.spelling.ssrcs.stream(report.ssrc).is_none() {
            counters.unknown_ssrc += 1;
            return None;
        }
        let TfrcReport { newest_sent, delay, receive_rate, loss_event_rate, .. } = report;
        let newest_sent = Some(newest_sent.until(now).unwrap_or(Time::MAX));
        Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay })
    }

    /// Reads the reports of a datagram that came at `now`, when the receiver's clock is expected to show `expected`, one
    /// after the other.
    fn read(
        &mut self,
        (now, expected): (Time, Option<Time>),
        datagram: &[u8],
        counters: &mut NetCounters,
        mut take: impl FnMut(Read<'_>),
    ) {
        if self.remote.keeps_alive(datagram) {
            counters.keep_alives += 1;
            return;
        }
        if let Some(session) = &mut self.rtcp {
            session.on_datagram(datagram.len());
        }
        for packet in rtcp::packets(datagram) {
            let Ok(packet) = packet else {
                counters.malformed += 1;
                return;
            };
            if delays::is_delay_summary(&packet) {
                if let Some(report) = self.summary(&packet, counters) {
                    take(Read::Summary(report));
                }
            } else if self.spelling.half && tfrc::is_report(&packet) {
                if let Some(report) = self.of_half(now, &packet, counters) {
                    take(Read::Half(report));
                }
            } else if self.resending.is_some() && nack::is_nack(&packet) {
                self.asked(&packet, counters);
            } else if self.spelling.half || !self.spelling.format.recognises(&packet) {
                counters.other_rtcp += u64::from(!self.regular(now, &packet, counters));
            } else if self.raw.decode(&packet).is_err() {
                counters.malformed += 1;
            } else if self.complete(expected, counters) {
                take(Read::Report(&mut self.feedback));
            }
        }
    }
}

impl<C: Controller> SendingCodec for RtpSendingCodec<C> {
    type End = RtpSender<C>;

    fn encode(&mut self, now: Time, packet: &RtpPacket, bytes: &mut Vec<u8>) -> Encoded {
        if let Some(next) = self.next.get_mut(usize::from(packet.stream.0)) {
            *next = packet.sequence + 1;
        }
        if self.spelling.ssrcs.repairs() == Some(packet.stream) && !packet.is_padding() {
            if let Some(resending) = self.resending.as_deref_mut() {
                resending.encode(now, packet, self.spelling, bytes);
            }
            return Encoded { number: None, payload: None, media: None };
        }
        let spelled = self.spelling.write(now, packet, bytes);
        if let Some(session) = &mut self.rtcp {
            let media = (!packet.is_padding()).then_some((spelled.timestamp, packet.captured));
            session.on_sent(packet.stream.0.into(), media, packet.payload.as_u64() as usize);
            if let Some(bandwidth) = self.rate.count(now, bytes.len()) {
                session.set_bandwidth(bandwidth);
            }
        }
        // Padding is no data: nothing is captured in it, and nobody counts it.
        let data = (!packet.is_padding()).then_some(packet.payload);
        let begin = spelled.header;
        let media = match (data, self.media) {
            (Some(_), Media::Timed) => Some((begin, packet.captured)),
            (Some(payload), Media::Vp8) => {
                self.write_still(packet, &mut bytes[begin..begin + payload.as_u64() as usize]);
                None
            }
            (None, _) => None,
        };
        if let Some(resending) = self.resending.as_deref_mut() {
            let payload = data.map(|payload| &bytes[begin..begin + payload.as_u64() as usize]);
            resending.on_sent(now, packet, payload);
        }
        Encoded { number: Some(packet.sequence), payload: data, media }
    }

    fn collides(&self, datagram: &[u8]) -> bool {
        rtp::decode(datagram).is_ok_and(|view| self.spelling.ssrcs.stream(view.header.ssrc).is_some())
    }

    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        end: &mut RtpSender<C>,
        counters: &mut NetCounters,
        mut told: impl FnMut(Reported),
    ) -> bool {
        let mut heard = false;
        self.read((now, end.receiver_time(now)), datagram.bytes, counters, |read| match read {
            Read::Report(feedback) => {
                let report = RtpFeedback::Packets(std::mem::take(feedback));
                if let Some(RtpFeedback::Packets(read)) = end.receive(now, report, datagram.ecn) {
                    *feedback = read;
                }
                heard |= !end.reported().is_empty();
                end.reported().iter().map(Reported::of).for_each(&mut told);
            }
            Read::Half(report) => {
                let unknown = end.counters().unknown_reports;
                let _ = end.receive(now, RtpFeedback::Half(Box::new(report)), datagram.ecn);
                heard |= end.counters().unknown_reports == unknown;
            }
            // It names no packet, so that whoever wrote it need not have heard any.
            Read::Summary(report) => {
                let _ = end.receive(now, RtpFeedback::Delays(Box::new(report)), datagram.ecn);
            }
        });
        let next = self.sent(StreamId(0));
        if let Some(resending) = self.resending.as_deref_mut() {
            resending.push(now, next, end);
        }
        heard
    }

    fn poll_beside(&mut self, now: Time, bytes: &mut Vec<u8>) -> bool {
        self.rtcp.as_mut().is_some_and(|session| session.poll(now, bytes))
    }

    fn next_beside(&self) -> Option<Time> {
        self.rtcp.as_ref()?.next_timeout()
    }

    fn say_goodbye(&mut self, now: Time) {
        if let Some(session) = &mut self.rtcp {
            (0..self.next.len()).for_each(|id| session.leave(now, id));
        }
    }

    fn is_over(&self, end: &RtpSender<C>) -> bool {
        end.broken().is_some()
    }

    fn finish(
        &self,
        end: &RtpSender<C>,
        _ran: Time,
        _cut_off: bool,
        counters: &mut NetCounters,
    ) -> Vec<String> {
        counters.unknown_reports = end.counters().unknown_reports;
        let impossible = self.rtcp.as_ref().map_or(0, |session| session.counters().impossible);
        counters.impossible_times = end.counters().impossible_times + impossible;
        let mut told = NetCounters::default();
        for heard in (0..self.next.len()).filter_map(|id| self.rtcp.as_ref()?.heard(id)) {
            told.add(NetCounters {
                rtcp_round_trip_ms: heard.round_trip.map(TimeDelta::as_millis_f64),
                rtcp_jitter_ms: Some(heard.jitter.as_millis_f64()),
                rtcp_lost: Some(heard.cumulative_lost.into()),
                ..NetCounters::default()
            });
        }
        let NetCounters { rtcp_round_trip_ms, rtcp_jitter_ms, rtcp_lost, .. } = told;
        *counters = NetCounters { rtcp_round_trip_ms, rtcp_jitter_ms, rtcp_lost, ..*counters };
        counters.resent = self.resending.as_ref().map_or(0, |resending| resending.resent());
        counters.circuit_breakers = u64::from(end.broken().is_some());
        let ended = |(at, why): (Time, Broken)| {
            format!(
                "a circuit breaker ended the call at {:.1} s: {}; rtp.circuit_breaker = \"off\" switches it off",
                at.as_secs_f64(),
                why.what()
            )
        };
        let unused = |fault: EcnFault| {
            format!(
                "packets left without ECN in the end: {}; rtp.ecn_check = \"off\" lets them leave with it",
                fault.what()
            )
        };
        let fault = match end.ecn_state() {
            Some(EcnState::Failed(fault)) => Some(fault),
            _ => None,
        };
        end.broken().map(ended).into_iter().chain(fault.map(unused)).collect()
    }
}

#[cfg(test)]
#[path = "forged_tests.rs"]
mod forged_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::{Annotation, AnyController};
    use paceline_rtp::Header;
    use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};
    use paceline_wire::ccfb::{ArrivalReport, FeedbackBlock};
    use paceline_wire::tfrc::{SendTime, Stamp};
    use proptest::prelude::*;

    /// A codec of one stream that has sent so many packets.
    fn codec(sent: u64) -> RtpSendingCodec<AnyController> {
        RtpSendingCodec {
            next: vec![sent],
            ..RtpSendingCodec::new((Ssrcs::new(100, 1), 0), 1, FeedbackFormat::Rfc8888, false)
        }
    }

    fn bytes(written_s: u64, begin: u64, ssrc: u32) -> Vec<u8> {
        let written = Time::from_nanos(written_s * 1_000_000_000);
        let arrival = ArrivalReport::Received { at: Some(written), ecn: Ecn::Ce };
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count: 1 }];
        let mut out = Vec::new();
        let feedback = Feedback { written, blocks, arrivals: vec![arrival] };
        paceline_wire::ccfb::encode(&feedback, 1, |_| ssrc, &mut out).expect("encoded");
        out
    }

    fn written(codec: &mut RtpSendingCodec<AnyController>, datagram: &[u8]) -> (Vec<Time>, NetCounters) {
        let (mut seen, mut counters) = (Vec::new(), NetCounters::default());
        codec.read((Time::ZERO, Some(Time::ZERO)), datagram, &mut counters, |read| match read {
            Read::Report(feedback) => seen.push(feedback.written),
            Read::Summary(_) | Read::Half(_) => {}
        });
        (seen, counters)
    }

    #[test]
    fn the_padding_of_a_probe_is_padding_on_the_wire_and_no_data() {
        let packet = RtpPacket {
            stream: StreamId(0),
            sequence: 7,
            captured: Time::ZERO,
            payload: Bytes::ZERO,
            padding: 200,
            header: Header::RTP,
            transport: 0,
            first: Some(false),
            marker: false,
            key: None,
            annotation: None,
        };
        let (mut codec, mut bytes) = (codec(7), Vec::new());
        let encoded = codec.encode(Time::ZERO, &packet, &mut bytes);
        assert_eq!((encoded.number, encoded.payload, encoded.media), (Some(7), None, None));
        let view = rtp::decode(&bytes).expect("sound");
        assert_eq!((view.payload.len(), view.padding, bytes.len() as u64), (0, 200, packet.size().as_u64()));
    }

    /// The output of `scream_bw_test_rx` is in `oracles/feedback` beside the folder that `PACELINE_DATA` names.
    #[test]
    fn reports_and_keep_alives_of_the_reference_are_told_apart() {
        let mut codec = codec(1000).towards(Remote::Ericsson);
        assert_eq!(written(&mut codec, &[0x80]).1, NetCounters { keep_alives: 1, ..NetCounters::default() });
        let folder = std::env::var_os("PACELINE_DATA").map(std::path::PathBuf::from);
        let file = folder.map(|folder| folder.join("../oracles/feedback/ericsson-rfc8888.hex"));
        let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) else {
            eprintln!("skipped: the captured reports are not here");
            return;
        };
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits");
        for line in text.lines() {
            let datagram: Vec<u8> = line.as_bytes().chunks(2).map(byte).collect();
            let (mut told, mut counters) = (Vec::new(), NetCounters::default());
            // Its numbers begin at 0, and it reports 64 packets from the first on.
            codec.next = vec![(1 << 16) + 1000];
            codec.read((Time::ZERO, None), &datagram, &mut counters, |read| {
                if let Read::Report(feedback) = read {
                    told.push((feedback.arrivals.len(), feedback.arrivals[63]));
                }
            });
            let [(64, ArrivalReport::Received { at: Some(_), .. })] = told[..] else {
                panic!("{line}: {told:?}, {counters:?}")
            };
            assert_eq!(counters, NetCounters::default());
        }
    }

    #[test]
    fn media_with_our_ssrc_from_elsewhere_is_a_collision() {
        let codec = codec(10);
        let media = |ssrc: u8| [&[0x80, 98, 0, 1, 0, 0, 0, 1, 0, 0, 0, ssrc][..], &[0; 20]].concat();
        assert!(
            codec.collides(&media(100)) && !codec.collides(&media(101)) && !codec.collides(&bytes(5, 3, 100))
        );
    }

    #[test]
    fn only_our_streams_and_only_sound_reports() {
        let mut compound = bytes(5, 3, 100);
        compound.extend(bytes(6, 4, 7));
        compound.extend([0x80, 200, 0, 0]);
        compound.extend([0xff; 5]);
        let (seen, counters) = written(&mut codec(10), &compound);
        assert_eq!(seen, [Time::from_nanos(5_000_000_000)]);
        assert_eq!((counters.unknown_ssrc, counters.other_rtcp, counters.malformed), (1, 1, 1));
    }

    /// A sender of TFRC that has sent two packets, and the bytes of the second.
    fn tfrc_sender() -> (RtpSendingCodec<AnyController>, Vec<u8>) {
        let mut codec = RtpSendingCodec::new((Ssrcs::new(100, 1), 0), 1, FeedbackFormat::Rfc8888, true);
        let mut bytes = Vec::new();
        for (sequence, annotation) in [(0, None), (1, Some(Annotation::Rtt(TimeDelta::from_millis(40))))] {
            bytes.clear();
            let packet = RtpPacket {
                stream: StreamId(0),
                sequence,
                captured: Time::ZERO,
                payload: Bytes::new(100),
                padding: 0,
                header: Header::of_size(Bytes::new(28)),
                transport: 0,
                first: Some(true),
                marker: true,
                key: None,
                annotation,
            };
            let encoded = codec.encode(Time::from_nanos(5_000 + sequence), &packet, &mut bytes);
            assert_eq!(encoded.media, Some((28, Time::ZERO)));
            assert_eq!(bytes.len() as u64, packet.size().as_u64());
        }
        (codec, bytes)
    }

    #[test]
    fn a_tfrc_packet_says_when_it_was_sent_and_the_round_trip() {
        let (_, bytes) = tfrc_sender();
        let view = rtp::decode(&bytes).expect("sound");
        let stamp = Stamp::read(&view.extension.expect("one")).expect("a stamp");
        assert_eq!(stamp.sent, SendTime::of(Time::from_nanos(5_001)));
        assert_eq!((stamp.rtt, view.payload.len()), (Some(TimeDelta::from_millis(40)), 100));
    }

    #[test]
    fn a_tfrc_sender_reads_reports_of_its_streams_alone() {
        let (mut sender, _) = tfrc_sender();
        let report = |ssrc, nanos| {
            let mut bytes = Vec::new();
            let report = TfrcReport {
                sender_ssrc: 1,
                ssrc,
                newest_sent: SendTime::of(Time::from_nanos(nanos)),
                delay: TimeDelta::from_millis(1),
                receive_rate: Bitrate::from_kbps(80),
                loss_event_rate: 0.5,
            };
            tfrc::encode(&report, &mut bytes);
            bytes
        };
        let mut datagram = report(100, 5_001);
        datagram.extend(report(7, 5_001));
        datagram.extend(report(100, 1 << 40));
        datagram.extend(bytes(5, 0, 100));
        datagram.extend([0x81, 204, 0, 2, 0, 0, 0, 1, b'T', b'F', b'R', b'C']);
        let (mut seen, mut counters) = (Vec::new(), NetCounters::default());
        sender.read((Time::from_nanos(9_000_000), Some(Time::ZERO)), &datagram, &mut counters, |read| {
            match read {
                Read::Half(ReceiverReport::Tfrc { newest_sent, .. }) => seen.push(newest_sent),
                _ => panic!("TFRC's receiver says nothing else"),
            }
        });
        assert_eq!(
            seen,
            [Some(Time::from_nanos(5_001)), Some(Time::MAX)],
            "of a time to come: about no packet"
        );
        assert_eq!((counters.unknown_ssrc, counters.other_rtcp, counters.malformed), (1, 1, 1));
        let (mut other, mut counters) = (codec(10), NetCounters::default());
        other.read((Time::ZERO, Some(Time::ZERO)), &report(100, 5), &mut counters, |_| {
            panic!("its controller has no such half")
        });
        assert_eq!(counters.other_rtcp, 1);
    }

    proptest! {
        #[test]
        fn nothing_panics(datagram in prop::collection::vec(any::<u8>(), 0..300), flips in prop::collection::vec((0usize..24, any::<u8>()), 0..4)) {
            let mut codec = codec(10);
            written(&mut codec, &datagram);
            let mut damaged = bytes(5, 3, 100);
            for (place, value) in flips {
                let length = damaged.len();
                damaged[place % length] = value;
            }
            written(&mut codec, &damaged);
            let (mut tfrc, _) = tfrc_sender();
            written(&mut tfrc, &datagram);
        }
    }
}
