//! The RTCP of a sender of ready-made media: its reports, and what comes back.

use super::MediaSender;
use paceline_cc::{Controller, StreamId};
use paceline_ends::SendingEnd;
use paceline_rtp::RtpFeedback;
use paceline_rtp::rtcp::{Heard, RtcpConfig, RtcpCounters, RtcpEvent, SenderSession};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::Feedback;
use paceline_wire::rtcp::{self, RtcpPacket, bye, ecn as wire_ecn, nack, picture, report, sdes};
use paceline_wire::{FeedbackFormat, RawReport, TRANSPORT_WIDE, WireError, unwrap_sequence};

/// A timeout that is overdue by so much tells of a program that was suspended. Reports waited meanwhile, and their age is no round trip: the
/// controller hears of the silence first.
const SUSPENDED: TimeDelta = TimeDelta::from_secs(1);

/// RTCP of a sender, and what its reports on packets are read into.
#[derive(Clone, Debug)]
pub(super) struct MediaRtcp {
    pub(super) session: SenderSession,
    format: FeedbackFormat,
    raw: RawReport,
    feedback: Option<Box<Feedback>>,
}

impl<C: Controller, P: AsRef<[u8]>> MediaSender<C, P> {
    /// The sender takes part in RTCP: it reports on its streams, reads what comes back, reports on packets in `format` among it,
    /// and says goodbye. Where these tell of no marks, packets leave without ECN. Before it starts and a stream is added.
    pub fn use_rtcp(&mut self, config: RtcpConfig, format: FeedbackFormat) {
        let session = SenderSession::new(config);
        let (raw, feedback) = (format.raw(), Some(Box::default()));
        if !format.tells_ecn() {
            self.end.forgo_ecn();
        }
        self.rtcp = Some(Box::new(MediaRtcp { session, format, raw, feedback }));
    }

    /// Appends the next RTCP datagram that is due to `out`. Call until there is none.
    pub fn poll_rtcp(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.rtcp.as_mut().is_some_and(|rtcp| rtcp.session.poll(now, out))
    }

    /// The next event of the session. Call until there is nothing.
    pub fn poll_rtcp_event(&mut self) -> Option<RtcpEvent> {
        self.rtcp.as_mut()?.session.poll_event()
    }

    /// Counts of RTCP so far.
    pub fn rtcp_counters(&self) -> RtcpCounters {
        self.rtcp.as_ref().map_or(RtcpCounters::default(), |rtcp| rtcp.session.counters())
    }

    /// A stream's reception by the receiver's last regular report.
    pub fn heard(&self, id: StreamId) -> Option<Heard> {
        self.rtcp.as_ref()?.session.heard(id.0.into())
    }

    /// The stream whose packets have this SSRC.
    pub fn stream_of(&self, ssrc: u32) -> Option<StreamId> {
        let ids = (0..self.streams.len()).map(|id| StreamId(id as u8));
        ids.filter(|id| self.end.has_stream(*id)).find(|id| self.ssrc(*id) == Some(ssrc))
    }

    /// A datagram of RTCP came from the receiver, with this ECN field. Without [`MediaSender::use_rtcp`] nothing is read.
    pub fn receive_rtcp(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        let timeout = self.end.controller().next_timeout();
        if timeout.is_some_and(|(due, _)| due + SUSPENDED <= now) {
            self.handle_timeout(now);
        }
        let Some(mut rtcp) = self.rtcp.take() else { return };
        let whole = rtcp.session.is_reduced_size() || rtcp::expect_compound(datagram).is_ok();
        if whole {
            rtcp.session.on_datagram(datagram.len());
            for packet in rtcp::packets(datagram) {
                rtcp.session.counters_mut().received += 1;
                let read = packet.and_then(|packet| self.read_rtcp(now, &mut rtcp, &packet, ecn));
                rtcp.session.counters_mut().malformed += u64::from(read.is_err());
            }
        } else {
            rtcp.session.counters_mut().malformed += 1;
        }
        self.rtcp = Some(rtcp);
    }

    /// Another participant sends with the SSRC of one of our streams (RFC 3550 section 8.2): the stream says goodbye and goes on
    /// with another. An application that reads RTP on the same socket says so; reports that come from such a participant do by themselves.
    pub fn on_ssrc_collision(&mut self, now: Time, ssrc: u32) {
        let Some(mut rtcp) = self.rtcp.take() else { return };
        self.collide(now, &mut rtcp.session, ssrc);
        self.rtcp = Some(rtcp);
    }

    fn collide(&mut self, now: Time, session: &mut SenderSession, ssrc: u32) {
        let is_free = |ssrc| self.expect_free(ssrc, None).is_ok();
        if let Some((id, to)) = session.on_collision(now, ssrc, is_free) {
            self.streams[id].set_ssrc(to);
        }
    }

    fn read_rtcp(
        &mut self,
        now: Time,
        rtcp: &mut MediaRtcp,
        packet: &RtcpPacket<'_>,
        ecn: Ecn,
    ) -> Result<(), WireError> {
        let session = &mut rtcp.session;
        match packet.packet_type {
            report::SENDER_REPORT | report::RECEIVER_REPORT => {
                let report = report::decode(packet)?;
                if self.stream_of(report.ssrc).is_some() {
                    self.collide(now, session, report.ssrc);
                    return Ok(());
                }
                let next = |id: usize| self.end.next_sequence(StreamId(id as u8));
                if session.on_report(now, &report, next) {
                    self.end.tell_breaker_heard();
                }
            }
            sdes::PACKET_TYPE => drop(sdes::decode(packet)?),
            bye::PACKET_TYPE => {
                let ended = bye::decode(packet)?;
                ended
                    .sources()
                    .filter(|ssrc| self.stream_of(*ssrc).is_none())
                    .for_each(|ssrc| session.on_ended(ssrc));
            }
            _ if nack::is_nack(packet) => {
                let asked = nack::decode(packet)?;
                match session.stream_of(now, asked.media_ssrc) {
                    Some(id) => self.on_nack(now, StreamId(id as u8), asked.lost()),
                    None => session.counters_mut().unknown_ssrc += 1,
                }
            }
            _ if rtcp.format.recognises(packet) => self.read_feedback(now, rtcp, packet, ecn)?,
            wire_ecn::EXTENDED_REPORT => {
                for (ssrc, counts) in wire_ecn::decode_summary(packet)? {
                    session.on_ecn_counts(now, ssrc, counts);
                }
            }
            _ if wire_ecn::is_feedback(packet) => {
                let told = wire_ecn::decode_feedback(packet)?;
                session.on_ecn_counts(now, told.media_ssrc, told.counts);
            }
            _ if picture::is_pli(packet) => {
                let asked = picture::decode_pli(packet)?;
                self.on_picture(now, session, asked.media_ssrc, None);
            }
            _ if picture::is_fir(packet) => {
                for (ssrc, number) in picture::decode_fir(packet)?.streams() {
                    self.on_picture(now, session, ssrc, Some(number));
                }
            }
            _ => session.counters_mut().other += 1,
        }
        Ok(())
    }

    /// A receiver asks for a picture that needs no other: the application is told by
    /// [`MediaSender::take_key_frame_request`].
    fn on_picture(&mut self, now: Time, session: &mut SenderSession, ssrc: u32, request: Option<u8>) {
        let Some(id) = session.stream_of(now, ssrc) else {
            session.counters_mut().unknown_ssrc += 1;
            return;
        };
        if session.on_picture(now, id, request) && self.end.has_stream(StreamId(id as u8)) {
            self.end.request_key_frame(now, StreamId(id as u8));
        }
    }

    /// A report on packets.
    fn read_feedback(
        &mut self,
        now: Time,
        rtcp: &mut MediaRtcp,
        packet: &RtcpPacket<'_>,
        ecn: Ecn,
    ) -> Result<(), WireError> {
        rtcp.raw.decode(packet)?;
        let expected = self.end.receiver_time(now);
        let mut feedback = rtcp.feedback.take().unwrap_or_default();
        let (session, end) = (&rtcp.session, &self.end);
        let stream_of = |ssrc| session.stream_of(now, ssrc).map(|id| StreamId(id as u8));
        let extend = |stream: StreamId, begin: u16| match stream {
            // The endpoint knows which it means.
            TRANSPORT_WIDE => Some(begin.into()),
            id => unwrap_sequence(end.next_sequence(id)?.checked_sub(1)?, begin),
        };
        let read = rtcp.raw.complete(expected, stream_of, extend, &mut feedback);
        let told = !feedback.blocks.is_empty();
        rtcp.session.counters_mut().unknown_ssrc += *read.as_ref().unwrap_or(&0);
        rtcp.feedback = Some(feedback);
        read?;
        if let Some(report) = rtcp.feedback.take_if(|_| told) {
            rtcp.feedback = match self.receive(now, RtpFeedback::Packets(report), ecn) {
                Some(RtpFeedback::Packets(used)) => Some(used),
                _ => None,
            };
        }
        Ok(())
    }
}
