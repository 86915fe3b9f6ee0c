//! RTP from one sender, and RFC 8888 reports back to it, and summaries of delays if it looks for shared bottlenecks. The
//! reports of a controller's receiver half take the place of RFC 8888's.

use crate::agreed::{Agreed, Repair};
use crate::output::NetCounters;
use crate::peer::SenderFilter;
use crate::receiver::codec::{Data, PacketKind, ReceivingCodec, RtpNumbers, SessionPacket};
use crate::remote::Remote;
use crate::session_rate::SessionRate;
use crate::socket::{Datagram, HeldDatagram};
use paceline_cc::StreamId;
use paceline_rtp::rtcp::{IncomingRepair, IncomingStream, ReceiverSession, RtcpConfig};
use paceline_rtp::{ReportSpelling, RtpFeedback, Ssrcs};
use paceline_scenario::transports::RtpParts;
use paceline_units::{Bytes, Time};
use paceline_wire::rtp::RtpView;
use paceline_wire::tfrc::Stamp;
use paceline_wire::{rtcp, rtp, twcc};
use std::net::SocketAddr;

/// No report is larger (RFC 8888 section 3.1 asks to stay within the path's MTU).
const LARGEST_REPORT: Bytes = Bytes::new(1200);

/// The sender that it listens to, and the numbers of its streams.
pub(crate) struct RtpReceivingCodec {
    filter: SenderFilter,
    /// How many streams of media there are.
    media: usize,
    /// How the only one is repaired, if it is.
    repair: Option<IncomingRepair>,
    ssrcs: Ssrcs,
    numbers: Vec<RtpNumbers>,
    spelling: ReportSpelling,
    /// Whether packets carry transport-wide numbers, of which reports tell.
    transport_wide: bool,
    /// Under which element.
    element: u8,
    /// Reports that are to be sent, one RTCP packet after the other, and how much of them is.
    reports: Vec<u8>,
    sent: usize,
    /// Takes part in RTCP beside them, if the flow does: how, and since its sender is known.
    rtcp: Option<RtcpConfig>,
    session: Option<Box<ReceiverSession>>,
    rate: SessionRate,
    remote: Remote,
    /// Its figures before streams ended.
    last: NetCounters,
}

impl RtpReceivingCodec {
    /// For the streams of a flow, whose first SSRC is `ssrc` if that is known.
    pub fn new(parts: &RtpParts, ssrc: Option<u32>) -> RtpReceivingCodec {
        let streams = parts.streams.len();
        RtpReceivingCodec {
            media: streams,
            repair: None,
            rtcp: None,
            session: None,
            rate: SessionRate::default(),
            remote: Remote::Standard,
            last: NetCounters::default(),
            filter: SenderFilter::new(ssrc.or(parts.identity.ssrc), streams),
            ssrcs: Ssrcs::new(0, 1),
            numbers: vec![RtpNumbers::default(); streams],
            spelling: ReportSpelling::new(parts.feedback.format),
            transport_wide: parts.is_transport_wide(),
            element: Agreed::OWN.transport_wide,
            reports: Vec::with_capacity(LARGEST_REPORT.as_u64() as usize),
            sent: 0,
        }
    }
}

impl RtpReceivingCodec {
    /// Reports on what it hears, as the participant that `config` says.
    pub fn with_rtcp(self, config: Option<RtcpConfig>) -> RtpReceivingCodec {
        RtpReceivingCodec { rtcp: config, ..self }
    }

    /// Hears packets that are like this.
    pub fn with_packets(self, agreed: Agreed) -> RtpReceivingCodec {
        let filter = self.filter.with_packets(agreed);
        let repair = agreed.repair.map(|Repair { ssrc, payload_type, .. }| {
            let original = agreed.payload_type;
            IncomingRepair { payload_type, original, ..IncomingRepair::new(ssrc) }
        });
        let numbers = vec![RtpNumbers::default(); self.media + usize::from(repair.is_some())];
        RtpReceivingCodec { filter, repair, numbers, element: agreed.transport_wide, ..self }
    }

    /// Towards this program.
    pub fn towards(self, remote: Remote) -> RtpReceivingCodec {
        let spelling = self.spelling.counting(remote.count_form());
        RtpReceivingCodec { remote, spelling, ..self }
    }

    /// A sender is known: its streams are expected, and nothing of another's.
    fn begin_session(&mut self) {
        let Some(config) = self.rtcp.clone() else { return };
        let mut session = ReceiverSession::new(config, self.ssrcs.of_receiver());
        for id in 0..self.media {
            let stream = IncomingStream::new(self.ssrcs.of(StreamId(id as u8)));
            session.add_stream(IncomingStream { repair: self.repair, ..stream });
        }
        self.session = Some(Box::new(session));
    }

    /// RTCP of the one sender.
    fn receive_rtcp(&mut self, now: Time, datagram: &Datagram<'_>, counters: &mut NetCounters) {
        let last = self.figures();
        let Some(session) = &mut self.session else {
            counters.other_rtcp += 1;
            return;
        };
        if self.filter.address() != Some(datagram.from) {
            counters.unknown_peers += 1;
            return;
        }
        let before = session.counters();
        session.on_rtcp(now, datagram.bytes);
        let after = session.counters();
        if session.streams() < self.numbers.len() {
            self.last = last;
        }
        counters.rtcp_reports += after.reports - before.reports;
        counters.malformed += after.malformed - before.malformed;
        counters.other_rtcp += after.other - before.other;
        counters.unknown_ssrc += after.unknown_ssrc - before.unknown_ssrc;
    }

    /// Hands over what a retransmission restored.
    fn restore(&mut self, view: &RtpView<'_>, mut take: impl FnMut(SessionPacket<'_>)) {
        let stream = self.ssrcs.stream(view.header.ssrc);
        let numbers = stream.and_then(|stream| self.numbers.get_mut(usize::from(stream.0)));
        let (Some(stream), Some(extended)) =
            (stream, numbers.and_then(|numbers| numbers.extend(view.header.sequence)))
        else {
            return;
        };
        let (payload, rtp, padding) = (view.payload, Some((extended, view.header)), view.padding);
        let data = Some(Data { payload, padding, rtp, stamp: None, transport: 0 });
        let (number, kind) = (Some(extended.number), PacketKind::Restored);
        take(SessionPacket { begins: false, resynchronised: false, stream, number, data, kind });
    }

    /// A packet from the sender's address that is none of its streams, where reports are about the transport.
    fn unannounced<'d>(&self, datagram: &Datagram<'d>) -> Option<SessionPacket<'d>> {
        let from_sender = self.transport_wide && self.filter.address() == Some(datagram.from);
        let RtpView { header, extension, payload, padding, .. } =
            rtp::decode(datagram.bytes).ok().filter(|_| from_sender)?;
        let transport = twcc::number_of(&extension?, self.element)?;
        Some(SessionPacket {
            begins: false,
            resynchronised: false,
            stream: StreamId(0),
            number: None,
            data: Some(Data { payload, padding, rtp: None, stamp: None, transport }),
            kind: PacketKind::Unannounced { ssrc: header.ssrc, marker: header.marker },
        })
    }

    /// The last figures of the regular reports.
    fn figures(&self) -> NetCounters {
        let restored = self.session.as_ref().map_or(0, |session| session.counters().restored);
        let mut figures = NetCounters { restored, ..NetCounters::default() };
        for id in 0..self.media {
            let ssrc = self.ssrcs.of(StreamId(id as u8));
            let heard = self.session.as_ref().and_then(|session| session.reception(ssrc));
            if let Some(reception) = heard.filter(|reception| reception.is_heard()) {
                figures.add(NetCounters {
                    rtcp_jitter_ms: Some(reception.jitter().as_millis_f64()),
                    rtcp_lost: Some(reception.cumulative_lost().into()),
                    ..NetCounters::default()
                });
            }
        }
        figures
    }
}

impl ReceivingCodec for RtpReceivingCodec {
    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
        mut take: impl FnMut(SessionPacket<'_>),
    ) {
        if self.remote.keeps_alive(datagram.bytes) && self.filter.address() == Some(datagram.from) {
            counters.keep_alives += 1;
            return;
        }
        if rtp::is_rtcp(datagram.bytes) {
            self.receive_rtcp(now, datagram, counters);
            return;
        }
        let Some(packet) = self.filter.admit(now, datagram, counters) else {
            self.unannounced(datagram).into_iter().for_each(take);
            return;
        };
        if packet.new {
            self.ssrcs = packet.ssrcs;
            self.numbers.fill(RtpNumbers::default());
            self.begin_session();
        }
        let mut restored = None;
        if let Some(session) = &mut self.session {
            restored = session.on_rtp(now, &packet.view, datagram.ecn).filter(|came| came.repaired);
            if let Some(bandwidth) = self.rate.count(now, datagram.bytes.len()) {
                session.set_bandwidth(bandwidth);
            }
        }
        let Some(stream) = self.ssrcs.stream(packet.view.header.ssrc) else {
            counters.unknown_ssrc += 1;
            return;
        };
        let header = packet.view.header;
        let shared = packet.view.extension.as_ref().and_then(|own| twcc::number_of(own, self.element));
        if self.transport_wide && shared.is_none() {
            counters.malformed += 1;
            return;
        }
        let numbers = self.numbers.get_mut(usize::from(stream.0));
        let extended = numbers.and_then(|numbers| numbers.extend(header.sequence));
        let number = extended.map(|extended| extended.number);
        let resynchronised = extended.is_some_and(|extended| extended.jumped);
        counters.resynchronised += u64::from(resynchronised);
        let data = Some(Data {
            payload: packet.view.payload,
            padding: packet.view.padding,
            rtp: extended.map(|extended| (extended, header)),
            stamp: packet.view.extension.as_ref().and_then(Stamp::read),
            transport: shared.unwrap_or(0),
        });
        let kind =
            if Some(stream) == self.ssrcs.repairs() { PacketKind::Repairs } else { PacketKind::Original };
        take(SessionPacket { begins: packet.new, resynchronised, stream, number, data, kind });
        if let Some(view) = restored.map(|came| came.packet) {
            self.restore(&view, take);
        }
    }

    fn poll_held(&mut self) -> Option<HeldDatagram> {
        self.filter.poll_held()
    }

    fn report(&mut self, report: &RtpFeedback) {
        let encoded = self.spelling.write(report, self.ssrcs, LARGEST_REPORT, &mut self.reports);
        debug_assert!(encoded.is_ok(), "the endpoint's reports add up");
    }

    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<SocketAddr> {
        let Some(Ok(packet)) = rtcp::packets(&self.reports[self.sent..]).next() else {
            self.reports.clear();
            self.sent = 0;
            let session = self.session.as_mut()?;
            return if session.poll_transmit(now, bytes) { self.filter.address() } else { None };
        };
        bytes.extend_from_slice(packet.bytes);
        self.sent += packet.bytes.len();
        self.filter.address()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.session.as_ref()?.next_timeout()
    }

    /// The sender said goodbye for each of its streams.
    fn is_over(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.streams() == 0)
    }

    fn abort(&mut self, _now: Time) {
        if self.session.as_ref().is_some_and(|session| session.streams() == self.numbers.len()) {
            self.last = self.figures();
        }
        if let Some(session) = &mut self.session {
            session.leave();
        }
    }

    fn finish(&mut self, _ran: Time, counters: &mut NetCounters) -> Option<String> {
        counters.add(self.last);
        self.filter.warnings().reduce(|one, other| format!("{one}; {other}"))
    }
}

#[cfg(test)]
#[path = "receiving_tests.rs"]
mod tests;
