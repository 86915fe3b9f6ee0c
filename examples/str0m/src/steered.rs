//! The part that a program that uses str0m adds: a send queue under the controller's window and pace, and the feedback that str0m reads.

#![allow(clippy::disallowed_types, reason = "str0m's times are those of the system")]

use paceline_cc::{
    Allowance, Answers, AnyController, Controller, Offered, Pacing, PacketResult, PacketsReport, Report,
    SendQueueState, SentPacket, Status, StreamId, Update,
};
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::unwrap_sequence;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use str0m::media::Pt;
use str0m::rtp::rtcp::{Rtcp, Twcc};
use str0m::rtp::{RawPacket, RtpHeader, RtpWrite, Ssrc};
use str0m::{Event, Rtc};

/// All streams of the session are one to the controller, whose packets have the transport-wide numbers.
const STREAM: StreamId = StreamId(0);
/// A packet's RTP header and extensions, as far as they are known before it is sent.
const HEADER: usize = 24;
/// Packets without a report that are remembered.
const REMEMBERED: usize = 10_000;

/// A packet as the program made it. It has no number until it is sent, so that what is discarded leaves no gap.
pub struct Packet {
    pub payload_type: Pt,
    pub timestamp: u32,
    pub marker: bool,
    pub payload: Vec<u8>,
}

/// A packet that waits to be handed to str0m.
struct Waiting {
    queued: (Time, Instant),
    size: Bytes,
    stream: Ssrc,
    packet: Packet,
}

/// The sending side of a session in RTP mode ([`Rtc`] with `set_rtp_mode`, `enable_raw_packets` and without its own estimator).
pub struct Steered {
    controller: AnyController,
    answers: Answers,
    zero: Instant,
    queue: VecDeque<Waiting>,
    next_send: Time,
    /// Numbers of the streams' last packets.
    numbers: BTreeMap<u32, u64>,
    /// Size and send time by transport-wide number.
    sent: BTreeMap<u64, (Bytes, Time)>,
}

impl Steered {
    /// Under SCReAM with these settings, of a session whose times count from `zero`.
    pub fn new<'t>(
        zero: Instant,
        settings: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Steered, ParamError> {
        let controller = AnyController::configured("scream", None, settings)?;
        Ok(Steered {
            controller,
            answers: Answers::new(),
            zero,
            queue: VecDeque::new(),
            next_send: Time::ZERO,
            numbers: BTreeMap::new(),
            sent: BTreeMap::new(),
        })
    }

    fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.zero).as_nanos() as u64)
    }

    /// Bitrate that the encoders are to make together.
    pub fn target(&self) -> Bitrate {
        self.controller.snapshot().target.unwrap_or(Bitrate::from_kbps(300))
    }

    /// The encoder of a stream made the packets of a frame.
    pub fn on_frame(&mut self, now: Instant, stream: Ssrc, packets: Vec<Packet>) {
        let (queued, mut bytes) = (self.time(now), Bytes::ZERO);
        for packet in packets {
            let size = Bytes::new((packet.payload.len() + HEADER) as u64);
            bytes += size;
            self.queue.push_back(Waiting { queued: (queued, now), size, stream, packet });
        }
        let offered = Offered { stream: STREAM, bytes, frame_end: true };
        let update = self.controller.on_offered(queued, &offered, &self.queue_state(queued, bytes));
        self.obey(queued, update);
    }

    /// Hands str0m the packets that may leave now. After everything else, and when [`Steered::next_timeout`] is due.
    pub fn send(&mut self, now: Instant, rtc: &mut Rtc) {
        let at = self.time(now);
        if self.controller.next_timeout().is_some_and(|(due, _why)| due <= at) {
            let told = self.controller.on_send_queue(at, &self.queue_state(at, Bytes::ZERO));
            let update = told.then(self.controller.on_timeout(at));
            self.obey(at, update);
        }
        while self.next_send <= at && self.fits() {
            let Some(Waiting { size, stream, packet, queued }) = self.queue.pop_front() else { break };
            let mut direct = rtc.direct_api();
            let Some(sending) = direct.stream_tx(&stream) else { continue };
            let number = self.numbers.entry(*stream).or_default();
            *number += 1;
            let Packet { payload_type, timestamp, marker, payload } = packet;
            let packet = RtpWrite::new(payload_type, (*number).into(), timestamp, queued.1, payload);
            sending.write_rtp(packet.marker(marker));
            self.next_send = at
                + match self.answers.pacing {
                    Pacing::Off => TimeDelta::ZERO,
                    Pacing::Rate(rate) | Pacing::Burst { rate, .. } => rate.time_for(size),
                    Pacing::Gap(gap) => gap,
                };
            // str0m sends it when it is polled, and then says so: until then the window would look as it was.
            break;
        }
    }

    /// When to call [`Steered::send`] at the latest.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timeout = self.controller.next_timeout().map(|(due, _why)| due);
        let packet = self.fits().then_some(self.next_send);
        let due = timeout.into_iter().chain(packet).min()?;
        Some(self.zero + std::time::Duration::from_nanos(due.as_nanos()))
    }

    /// Something that [`Rtc::poll_output`] answered.
    pub fn on_event(&mut self, now: Instant, event: &Event) {
        match event.as_raw_packet() {
            Some(RawPacket::RtpTx(header, bytes)) => self.on_sent(self.time(now), header, bytes.len()),
            Some(RawPacket::RtcpRx(Rtcp::Twcc(report))) => self.on_report(self.time(now), report.clone()),
            _ => {}
        }
    }

    fn on_sent(&mut self, now: Time, header: &RtpHeader, bytes: usize) {
        let Some(number) = header.ext_vals.transport_cc else { return };
        let newest = self.sent.last_key_value().map_or(1 << 16, |(newest, _)| *newest);
        let Some(sequence) = unwrap_sequence(newest, number) else { return };
        let size = Bytes::new(bytes as u64);
        self.sent.insert(sequence, (size, now));
        if self.sent.len() > REMEMBERED {
            self.sent.pop_first();
        }
        let app_limited = self.queue.is_empty();
        let packet = SentPacket { stream: STREAM, sequence, size, probe: None, app_limited };
        let update = self.controller.on_sent(now, &packet);
        self.obey(now, update);
    }

    fn on_report(&mut self, now: Time, report: Twcc) {
        let Some((&newest, _)) = self.sent.last_key_value() else { return };
        let arrivals = report.into_iter(self.zero, newest.into());
        let told = arrivals.filter_map(|(number, _status, arrived)| {
            let (size, sent) = *self.sent.get(&*number)?;
            let status = match arrived {
                Some(at) => Status::Received { arrived: Some(self.time(at)), ecn: Ecn::NotEct },
                None => Status::Missing,
            };
            Some(PacketResult { stream: STREAM, sequence: *number, size, sent, status })
        });
        let packets: Vec<_> = told.collect();
        let clock_step = TimeDelta::from_micros(250);
        let report = PacketsReport { packets: &packets, clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.obey(now, update);
    }

    /// Whether the controller allows the next packet.
    fn fits(&self) -> bool {
        self.queue.front().is_some_and(|next| match self.answers.allowance {
            Allowance::Unlimited => true,
            Allowance::Bytes(bytes) => next.size <= bytes,
            Allowance::Packets(packets) => packets > 0,
        })
    }

    fn obey(&mut self, now: Time, update: Update) {
        self.answers.take(update);
        if let Some(discard) = self.answers.discard.take() {
            // An application also asks its encoder for a key frame here.
            let too_old = |waiting: &Waiting| {
                discard.older_than.is_none_or(|age| now.saturating_since(waiting.queued.0) > age)
            };
            self.queue.retain(|waiting| !too_old(waiting));
            let told = self.controller.on_send_queue(now, &self.queue_state(now, Bytes::ZERO));
            self.answers.take(told);
        }
    }

    fn queue_state(&self, now: Time, newest_frame: Bytes) -> SendQueueState {
        SendQueueState {
            stream: STREAM,
            bytes: self.queue.iter().map(|waiting| waiting.size).sum(),
            packets: self.queue.len() as u64,
            oldest: self.queue.front().map(|oldest| now.saturating_since(oldest.queued.0)),
            newest_frame,
            greedy: false,
        }
    }
}
