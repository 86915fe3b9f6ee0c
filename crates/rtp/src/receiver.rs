//! The receiver endpoint: notes arrivals, says when to report and what (RFC 8888, or the controller's receiver half),
//! and plays the media out.

use super::concealing::Concealing;
use super::delays::{ArrivalDelays, DelayReport};
use super::feedback::FeedbackConfig;
use super::packet::{RtpFeedback, RtpPacket};
use super::received::Noted;
use super::reports::PacketReports;
use paceline_cc::shared_bottleneck::{Params, SummaryEnd};
use paceline_cc::{Arrival, NoReceiverHalf, ReceiverHalf, ReceiverReport, StreamId};
use paceline_ends::{Follows, PathFacts, Reason, Received, ReceivingEnd, Transmit};
use paceline_media::{
    ArrivedPacket, DisplayedFrame, IncompleteFrame, Playout, PlayoutConfig, PlayoutCounters,
};
use paceline_units::{Bytes, Ecn, Time};

/// Receives the streams of one flow. Where the controller has a receiver half, its reports replace RFC 8888's.
#[derive(Clone, Debug)]
pub struct RtpReceiver<H = NoReceiverHalf> {
    reports: PacketReports,
    playouts: Vec<Playout>,
    half: Option<H>,
    /// The memory of the half's last message.
    spare_message: Option<Box<ReceiverReport>>,
    /// Delays of its packets, where the sender's host asks for their summary.
    delays: Option<Box<ArrivalDelays>>,
    spare_summary: Option<Box<DelayReport>>,
    /// Of a receiver that does not comply.
    concealing: Option<Box<Concealing>>,
}

impl RtpReceiver {
    /// A receiver of `streams` streams.
    pub fn new(config: FeedbackConfig, streams: u8, playout: PlayoutConfig) -> RtpReceiver {
        RtpReceiver::with_half(config, streams, playout, None)
    }
}

impl<H: ReceiverHalf> RtpReceiver<H> {
    /// A receiver of `streams` streams, and what its controller has at this end.
    pub fn with_half(
        config: FeedbackConfig,
        streams: u8,
        playout: PlayoutConfig,
        half: Option<H>,
    ) -> RtpReceiver<H> {
        let streams = streams.max(1);
        let concealing = Concealing::new(config.conceals, streams);
        let mut reports = PacketReports::new(config);
        (0..streams).for_each(|_| reports.add_stream());
        RtpReceiver {
            reports,
            playouts: (0..streams).map(|_| Playout::new(playout)).collect(),
            half,
            spare_message: None,
            delays: None,
            spare_summary: None,
            concealing,
        }
    }

    /// The numbers of a stream go on with `sequence`, whatever came before: its sender has started anew, or packets were
    /// not its own (RFC 3550 appendix A.1, `init_seq`; [`SequenceUnwrapper::jumps`](paceline_wire::SequenceUnwrapper::jumps)).
    /// Packets that were not reported yet are in the next report all the same.
    #[cold]
    pub fn resynchronise(&mut self, now: Time, id: StreamId, sequence: u64) {
        let Some(playout) = self.playouts.get_mut(usize::from(id.0)) else { return };
        playout.resynchronise(now, sequence);
        self.reports.resynchronise(id, sequence, self.half.is_none());
        if let Some(delays) = &mut self.delays {
            delays.resynchronise(now, id);
        }
        if let Some(concealing) = &mut self.concealing {
            concealing.resynchronise(id);
        }
    }

    /// As [`PacketReports::expect_ecn`].
    pub fn expect_ecn(&mut self, ecn: Ecn) {
        self.reports.expect_ecn(ecn);
    }

    /// Summarises the delays of its packets and sends the summary back once an interval, if the parameters leave that to
    /// the receiver.
    pub fn summarise_delays(&mut self, params: &Params) {
        let streams = self.playouts.len();
        self.delays =
            (params.at == SummaryEnd::Receiver).then(|| Box::new(ArrivalDelays::new(params, streams)));
    }

    /// The receiver half, to look at.
    pub fn receiver_half(&self) -> Option<&H> {
        self.half.as_ref()
    }

    /// A packet with this transport-wide number arrived that its stream refuses, for its sequence number or its timestamp.
    /// Reports that tell of transport-wide numbers tell of it all the same: where those of one stream were led astray, the
    /// numbers that all streams share go on.
    #[cold]
    pub fn note_refused(&mut self, now: Time, number: u16) {
        self.reports.note_refused(now, number, self.half.is_none());
    }

    /// A packet of a stream that the receiver does not have arrived with this SSRC and transport-wide number, which is so many bytes long.
    /// Reports that tell of transport-wide numbers are about the transport, and tell of it.
    #[cold]
    pub fn note_unannounced(&mut self, now: Time, (ssrc, number): (u32, u16), size: Bytes, marker: bool) {
        if self.half.is_none() {
            self.reports.note_unannounced(now, (ssrc, number), size, marker);
        }
    }

    /// A retransmission restored a packet: it is played out, and no report tells of it as of one that arrived.
    pub fn restore(&mut self, now: Time, packet: &RtpPacket) {
        if let Some(playout) = self.playouts.get_mut(usize::from(packet.stream.0)) {
            let _ = playout.on_packet(now, &arrived(packet, PathFacts::default()));
        }
    }

    /// Notes when the next report is due, now that `packet` has arrived; answers what follows.
    #[inline]
    fn schedule_report(&mut self, now: Time, packet: &RtpPacket, ecn: Ecn, sent: Option<Time>) -> Follows {
        if let Some(half) = &mut self.half {
            let RtpPacket { stream, sequence, annotation, .. } = *packet;
            let ecn = self.reports.shown(ecn);
            let arrival = Arrival { stream, sequence, size: packet.size(), sent, ecn, annotation };
            if let Some(concealing) = &mut self.concealing {
                concealing.fill(now, packet, &arrival, half);
            }
            let at_once = half.on_arrival(now, &arrival);
            self.reports.due = if at_once { Some(now) } else { half.next_timeout() };
            return Follows::Unknown;
        }
        self.reports.schedule(now, || packet.size(), packet.marker)
    }

    /// Writes the report that is due, if there is something to say.
    #[inline]
    fn write_report(&mut self, now: Time) -> Option<RtpFeedback> {
        if self.half.is_some() {
            return self.write_message(now);
        }
        Some(self.reports.hand_over(now))
    }

    /// The receiver half's report, if it has one.
    #[inline(never)]
    fn write_message(&mut self, now: Time) -> Option<RtpFeedback> {
        let half = self.half.as_mut()?;
        let report = half.report(now);
        self.reports.due = half.next_timeout().filter(|due| *due > now);
        Some(RtpFeedback::Half(boxed(&mut self.spare_message, report?)))
    }

    /// The summary of delays that is due, if there is one.
    #[inline]
    fn write_summary(&mut self, now: Time) -> Option<RtpFeedback> {
        let report = self.delays.as_mut()?.poll(now)?;
        Some(RtpFeedback::Delays(boxed(&mut self.spare_summary, report)))
    }

    #[inline(always)]
    fn transmit(&self, now: Time, packet: RtpFeedback) -> Transmit<RtpFeedback> {
        let size = packet.size(self.reports.config.format);
        Transmit { packet, size, ecn: Ecn::NotEct, stream: StreamId(0), queued: now }
    }

    /// When playout wants to be called.
    #[inline]
    fn next_playout(&self) -> Option<Time> {
        match &self.playouts[..] {
            [playout] => playout.next_timeout(),
            playouts => playouts.iter().filter_map(Playout::next_timeout).min(),
        }
    }
}

impl<H: ReceiverHalf> ReceivingEnd for RtpReceiver<H> {
    type Data = RtpPacket;
    type Returning = RtpFeedback;

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let due = match &self.delays {
            None => self.reports.due,
            Some(delays) => self.reports.due.into_iter().chain(delays.next_timeout()).min(),
        };
        match (due, self.next_playout()) {
            (Some(report), Some(playout)) if playout < report => Some((playout, Reason::Playout)),
            (Some(report), _) => Some((report, Reason::Report)),
            (None, playout) => playout.map(|due| (due, Reason::Playout)),
        }
    }

    /// Displays what is due.
    fn handle_timeout(&mut self, now: Time) {
        self.playouts.iter_mut().for_each(|playout| playout.handle_timeout(now));
    }

    /// Packets of streams that it does not have are reported on by their transport-wide numbers, and ignored otherwise.
    #[inline(always)]
    fn receive(&mut self, now: Time, packet: RtpPacket, ecn: Ecn, facts: PathFacts) -> Received {
        let nothing = Received { stream: packet.stream, ..Received::default() };
        let Some(playout) = self.playouts.get_mut(usize::from(packet.stream.0)) else {
            let name = (packet.stream.0.into(), packet.transport);
            self.note_unannounced(now, name, packet.size(), packet.marker);
            return nothing;
        };
        let numbers = (packet.stream, packet.sequence);
        let noted = self.reports.note(now, numbers, Some(packet.transport), ecn);
        if noted == Noted::TooOld {
            self.note_refused(now, packet.transport);
            return nothing;
        }
        let extends_frame = if packet.is_padding() {
            playout.on_padding(now, packet.sequence);
            false
        } else {
            playout.on_packet(now, &arrived(&packet, facts))
        };
        let of_report = self.schedule_report(now, &packet, ecn, facts.sent);
        if let (Some(delays), Noted::New) = (&mut self.delays, noted) {
            delays.on_arrival(now, numbers, self.reports.config.skewed(now), facts.sent);
        }
        let follows = match of_report {
            _ if !extends_frame || self.delays.is_some() => Follows::Unknown,
            Follows::Timeout(due) => {
                Follows::Timeout(self.next_playout().map_or(due, |playout| due.min(playout)))
            }
            Follows::Answer(due) => Follows::Answer(self.next_playout().unwrap_or(due)),
            follows => follows,
        };
        let payload = if noted == Noted::New { packet.payload } else { Bytes::ZERO };
        Received { payload, follows, ..nothing }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<RtpFeedback>> {
        let report = match self.reports.due {
            Some(due) if due <= now => self.write_report(now),
            _ => None,
        };
        let packet = match report {
            Some(report) => report,
            None => self.write_summary(now)?,
        };
        Some(self.transmit(now, packet))
    }

    #[inline(always)]
    fn answer(&mut self, now: Time) -> Option<Transmit<RtpFeedback>> {
        let report = self.reports.hand_over(now);
        Some(self.transmit(now, report))
    }

    #[inline]
    fn recycle(&mut self, packet: RtpFeedback) {
        match packet {
            RtpFeedback::Packet(_) => {}
            RtpFeedback::Packets(feedback) => self.reports.recycle(feedback),
            RtpFeedback::Half(message) => self.spare_message = Some(message),
            RtpFeedback::Delays(summary) => self.spare_summary = Some(summary),
        }
    }

    #[inline]
    fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        (0..).map(StreamId).zip(&mut self.playouts).find_map(|(id, playout)| Some((id, playout.poll()?)))
    }

    #[inline]
    fn poll_given_up(&mut self) -> Option<(StreamId, IncompleteFrame)> {
        (0..)
            .map(StreamId)
            .zip(&mut self.playouts)
            .find_map(|(id, playout)| Some((id, playout.poll_given_up()?)))
    }

    fn waiting(&self, tell: &mut dyn FnMut(StreamId, &IncompleteFrame)) {
        for (id, playout) in (0..).map(StreamId).zip(&self.playouts) {
            playout.waiting().for_each(|frame| tell(id, &frame));
        }
    }

    fn playout(&self) -> PlayoutCounters {
        let counters = self.playouts.iter().map(Playout::counters);
        counters.fold(PlayoutCounters::default(), |sum, stream| PlayoutCounters {
            incomplete: sum.incomplete + stream.incomplete,
            freezes: sum.freezes + stream.freezes,
            ..sum
        })
    }
}

/// The value in a box, in that of an earlier one if there is one to spare.
#[cold]
fn boxed<T>(spare: &mut Option<Box<T>>, value: T) -> Box<T> {
    match spare.take() {
        Some(mut earlier) => {
            *earlier = value;
            earlier
        }
        None => Box::new(value),
    }
}

/// The packet as playout knows it.
#[inline]
fn arrived(packet: &RtpPacket, facts: PathFacts) -> ArrivedPacket {
    ArrivedPacket {
        sequence: packet.sequence,
        captured: packet.captured,
        payload: packet.payload,
        first: packet.first,
        marker: packet.marker,
        key: packet.key,
        sent: facts.sent,
        wait: facts.wait,
    }
}
