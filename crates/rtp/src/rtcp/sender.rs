//! A media sender's reports on its streams, and the receiver's word on them.

use super::clock::{middle, ticks_of};
use super::outbox::{Events, Outbox};
use super::reception::round_trip;
use super::{CHANGES_APART, LARGEST, PICTURES_APART, RtcpConfig};
use paceline_cc::StreamId;
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::rtcp::ecn::EcnCounts;
use paceline_wire::rtcp::report::{ReportBlock, SenderInfo};
use paceline_wire::rtcp::{report, sdes};
use paceline_wire::unwrap_sequence;
use std::collections::VecDeque;

/// Number of our sender reports that may be repeated to us.
const REMEMBERED_REPORTS: usize = 8;
/// For so long after its SSRC changed, or it left, what is said of the old one is about the stream: as long as the endpoint reads reports
/// on a stream that left.
const LINGER: TimeDelta = TimeDelta::from_secs(3);
/// After so many reports without a packet a stream says nothing of itself (RFC 3550 section 6.4).
const IDLE_REPORTS: u8 = 2;

/// The receiver's last report on a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heard {
    /// When the report came.
    pub at: Time,
    /// Packets lost of those expected since the report before, 0 to 1.
    pub fraction_lost: f64,
    /// Packets expected less packets received.
    pub cumulative_lost: i32,
    /// Interarrival jitter (RFC 3550 section 6.4.1).
    pub jitter: TimeDelta,
    /// Round-trip time, the last that a report told.
    pub round_trip: Option<TimeDelta>,
    /// Packets by their ECN field, of a receiver that tells them (RFC 6679 section 5.2).
    pub ecn: Option<EcnCounts>,
}

/// Events of the session for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtcpEvent {
    /// A participant with this SSRC ends (BYE).
    Ended {
        /// SSRC of the participant.
        ssrc: u32,
    },
    /// Another participant has the SSRC of a stream, which therefore has another from now on (RFC 3550 section 8.2).
    SsrcChanged {
        /// The stream whose SSRC changed.
        stream: StreamId,
        /// SSRC until now.
        from: u32,
        /// SSRC from now on.
        to: u32,
    },
}

/// Counts of a sender's RTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtcpCounters {
    /// Datagrams that were written.
    pub sent: u64,
    /// RTCP packets that were read.
    pub received: u64,
    /// Datagrams that are no RTCP, or not the compound packet that was agreed on, and packets that contradict themselves.
    pub malformed: u64,
    /// Packets of a type that nothing is done with.
    pub other: u64,
    /// Reports on streams that there are not.
    pub unknown_ssrc: u64,
    /// Reports that cannot be: on packets or sender reports that were never sent, or that waited for longer than they were away.
    pub impossible: u64,
    /// Times that another participant had the SSRC of a stream.
    pub collisions: u64,
    /// Pictures that were asked for (PLI and FIR).
    pub pictures: u64,
    /// Pictures that were asked for again before the first could be there: nothing was done.
    pub pictures_too_soon: u64,
    /// Events that the application did not take in time.
    pub events_untaken: u64,
}

/// One stream of a sender, to RTCP.
#[derive(Clone, Debug)]
struct Reporting {
    ssrc: u32,
    clock_rate: u32,
    present: bool,
    packets: u32,
    octets: u32,
    /// Timestamp of the newest packet, and when its media was offered.
    newest: Option<(u32, Time)>,
    /// Packets when the last report was written, and for how many reports it has been so.
    reported: (u32, u8),
    heard: Option<Heard>,
    /// SSRC that it had, until then.
    former: Option<(u32, Time)>,
    changed: Option<Time>,
    /// When a picture was last asked for, and the number of the last FIR.
    picture: Option<Time>,
    request: Option<u8>,
}

impl Reporting {
    fn new(ssrc: u32, clock_rate: u32) -> Reporting {
        Reporting {
            ssrc,
            clock_rate,
            present: true,
            packets: 0,
            octets: 0,
            newest: None,
            reported: (0, IDLE_REPORTS),
            heard: None,
            former: None,
            changed: None,
            picture: None,
            request: None,
        }
    }
}

/// The session of a sender: it is told of the packets that leave and of reports that come, and writes what goes with them.
/// `MediaSender` of `paceline-endpoint` has one; who numbers packets otherwise may have one beside.
#[derive(Clone, Debug)]
pub struct SenderSession {
    outbox: Outbox,
    streams: Vec<Reporting>,
    /// The last sender reports: what they are repeated by, and when they left.
    sent: VecDeque<(u32, Time)>,
    events: Events<RtcpEvent>,
    counters: RtcpCounters,
}

impl SenderSession {
    /// A session without streams.
    pub fn new(config: RtcpConfig) -> SenderSession {
        SenderSession {
            outbox: Outbox::new(config, "rtcp.sender"),
            streams: Vec::new(),
            sent: VecDeque::with_capacity(REMEMBERED_REPORTS),
            events: Events::new(),
            counters: RtcpCounters::default(),
        }
    }

    /// The first report is due some time after the session began.
    pub fn start(&mut self, now: Time) {
        self.outbox.start(now);
    }

    /// The session has this bandwidth from the next report on: media whose rate follows the path has no other.
    pub fn set_bandwidth(&mut self, session: Bitrate) {
        self.outbox.interval.set_bandwidth(session);
    }

    /// A stream joins, whose timestamps count so many ticks in a second.
    pub fn join(&mut self, id: usize, ssrc: u32, clock_rate: u32) {
        while self.streams.len() <= id {
            let gone = Reporting { present: false, ..Reporting::new(0, 1) };
            self.streams.push(gone);
        }
        self.streams[id] = Reporting::new(ssrc, clock_rate);
    }

    /// A stream ends: it says so at once (RFC 3550 section 6.3.7, of few participants).
    pub fn leave(&mut self, now: Time, id: usize) {
        let Some(stream) = self.streams.get_mut(id).filter(|stream| stream.present) else { return };
        stream.present = false;
        stream.former = Some((stream.ssrc, now + LINGER));
        if stream.packets > 0 {
            self.outbox.end(stream.ssrc);
        }
    }

    /// A packet of a stream left: the timestamp of its media and when that was offered, where it has any, and its bytes.
    #[inline]
    pub fn on_sent(&mut self, id: usize, media: Option<(u32, Time)>, octets: usize) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.packets = stream.packets.wrapping_add(1);
        stream.octets = stream.octets.wrapping_add(octets as u32);
        stream.newest = media.or(stream.newest);
    }

    /// When to call [`SenderSession::poll`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.outbox.next_timeout()
    }

    /// The next event. Call until there is nothing.
    pub fn poll_event(&mut self) -> Option<RtcpEvent> {
        self.events.pop()
    }

    /// The receiver's last report on a stream.
    pub fn heard(&self, id: usize) -> Option<Heard> {
        self.streams.get(id)?.heard
    }

    /// Counts so far.
    pub fn counters(&self) -> RtcpCounters {
        RtcpCounters { sent: self.outbox.sent(), events_untaken: self.events.untaken(), ..self.counters }
    }

    /// The counts of what comes, for whoever reads it: packets that were read, refused, or are nothing to the session.
    pub fn counters_mut(&mut self) -> &mut RtcpCounters {
        &mut self.counters
    }

    /// Whether feedback may come without a report before it (RFC 5506).
    pub fn is_reduced_size(&self) -> bool {
        self.outbox.config.reduced_size
    }

    /// Appends the next datagram that is due to `out`. Call until there is none.
    pub fn poll(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        if !self.outbox.write_goodbye(out) {
            let round = self.outbox.round(now);
            let next = round.and_then(|first| self.write_reports(now, first, out));
            self.outbox.go_on(next);
        }
        self.outbox.finish(start, out)
    }

    /// Reports on as many streams as a datagram holds, from this one on. Answers the stream that the next begins with.
    fn write_reports(&mut self, now: Time, first: usize, out: &mut Vec<u8>) -> Option<usize> {
        let (ntp, start) = (self.outbox.config.clock.at(now), out.len());
        let mut more = None;
        for id in first..self.streams.len() {
            if !self.streams[id].present {
                continue;
            }
            let before = out.len();
            self.write_report(now, ntp, id, out);
            if out.len() - start > LARGEST {
                out.truncate(before);
                more = Some(id);
                break;
            }
            self.streams[id].note_reported();
        }
        if out.len() > start && self.sent.back().is_none_or(|(known, _)| *known != middle(ntp)) {
            if self.sent.len() == REMEMBERED_REPORTS {
                self.sent.pop_front();
            }
            self.sent.push_back((middle(ntp), now));
        }
        more
    }

    fn write_report(&self, now: Time, ntp: u64, id: usize, out: &mut Vec<u8>) {
        let stream = &self.streams[id];
        let info = stream.newest.filter(|_| stream.is_active()).map(|(timestamp, offered)| {
            let since = ticks_of(now, stream.clock_rate).wrapping_sub(ticks_of(offered, stream.clock_rate));
            let rtp_timestamp = timestamp.wrapping_add(since);
            SenderInfo { ntp, rtp_timestamp, packets: stream.packets, octets: stream.octets }
        });
        let _ = report::encode(stream.ssrc, info.as_ref(), &[], out);
        let _ = sdes::encode_cname(stream.ssrc, self.outbox.config.name(), out);
    }

    /// The stream that is there and has this SSRC, or had it a moment ago.
    pub fn stream_of(&self, now: Time, ssrc: u32) -> Option<usize> {
        let present = self.streams.iter().position(|stream| stream.present && stream.ssrc == ssrc);
        let former =
            |stream: &Reporting| stream.former.is_some_and(|(old, until)| old == ssrc && now <= until);
        present.or_else(|| self.streams.iter().position(former))
    }

    /// A datagram of so many bytes came that RTCP is made of.
    pub fn on_datagram(&mut self, bytes: usize) {
        self.outbox.interval.on_packet(bytes);
    }

    /// A report came; `next` is the number of a stream's next packet. Whether it is on one of our streams, and can be.
    pub fn on_report(
        &mut self,
        now: Time,
        report: &report::Report<'_>,
        next: impl Fn(usize) -> Option<u64>,
    ) -> bool {
        let mut heard = false;
        for block in report.blocks() {
            let Some(id) = self.stream_of(now, block.ssrc) else {
                self.counters.unknown_ssrc += 1;
                continue;
            };
            let newest = next(id).and_then(|next| next.checked_sub(1));
            // Turns are those that the receiver saw.
            let reached = newest.and_then(|newest| unwrap_sequence(newest, block.highest_sequence as u16));
            let was_sent = self.streams[id].newest.is_some() && reached <= newest;
            match round_trip(now, &block, self.sent.iter().copied()) {
                Ok(round_trip) if was_sent => {
                    self.streams[id].on_block(now, &block, round_trip);
                    heard = true;
                }
                _ => self.counters.impossible += 1,
            }
        }
        heard
    }

    /// The receiver counts a stream's packets by their ECN field, beside a report on it.
    pub fn on_ecn_counts(&mut self, now: Time, ssrc: u32, counts: EcnCounts) {
        match self.stream_of(now, ssrc).map(|id| &mut self.streams[id].heard) {
            Some(Some(heard)) => heard.ecn = Some(counts),
            // Reports on it cannot be, and neither can this.
            Some(None) => {}
            None => self.counters.unknown_ssrc += 1,
        }
    }

    /// A picture was asked for, by a FIR with this number or a PLI: whether the encoder is to make it.
    pub fn on_picture(&mut self, now: Time, id: usize, request: Option<u8>) -> bool {
        self.counters.pictures += 1;
        let Some(stream) = self.streams.get_mut(id) else { return false };
        let round_trip = stream.heard.and_then(|heard| heard.round_trip).unwrap_or_default();
        let apart = PICTURES_APART.max(round_trip);
        // RFC 5104 section 4.3.1.2: the same number is the same request.
        let repeated = request.is_some() && request == stream.request;
        if repeated || stream.picture.is_some_and(|last| now.saturating_since(last) < apart) {
            self.counters.pictures_too_soon += 1;
            return false;
        }
        stream.request = request.or(stream.request);
        stream.picture = Some(now);
        true
    }

    /// A participant said goodbye.
    pub fn on_ended(&mut self, ssrc: u32) {
        self.events.push(RtcpEvent::Ended { ssrc });
    }

    /// Another participant has this SSRC, which is one of ours: the stream that has it is given another that `is_free`, and it
    /// says goodbye as the old one (RFC 3550 section 8.2).
    pub fn on_collision(
        &mut self,
        now: Time,
        ssrc: u32,
        is_free: impl Fn(u32) -> bool,
    ) -> Option<(usize, u32)> {
        self.counters.collisions += 1;
        let ours = |stream: &Reporting| stream.present && stream.ssrc == ssrc;
        let id = self.streams.iter().position(ours)?;
        let changed = self.streams[id].changed;
        if changed.is_some_and(|changed| now.saturating_since(changed) < CHANGES_APART) {
            return None;
        }
        let to = self.outbox.interval.draws_of_ssrc().find(|ssrc| is_free(*ssrc))?;
        self.rename(now, id, to);
        self.streams[id].changed = Some(now);
        self.events.push(RtcpEvent::SsrcChanged { stream: StreamId(id as u8), from: ssrc, to });
        Some((id, to))
    }

    /// A stream has another SSRC from now on; its counts begin anew (RFC 3550 section 6.4.1).
    pub fn rename(&mut self, now: Time, id: usize, ssrc: u32) {
        let Some(stream) = self.streams.get_mut(id).filter(|stream| stream.present) else { return };
        if stream.packets > 0 {
            self.outbox.end(stream.ssrc);
        }
        stream.former = Some((stream.ssrc, now + LINGER));
        (stream.ssrc, stream.packets, stream.octets) = (ssrc, 0, 0);
        stream.reported = (0, IDLE_REPORTS);
    }
}

impl Reporting {
    /// Whether it has sent of late.
    fn is_active(&self) -> bool {
        self.packets != self.reported.0 || self.reported.1 < IDLE_REPORTS
    }

    fn note_reported(&mut self) {
        let (packets, idle) = self.reported;
        let idle = if packets == self.packets { idle.saturating_add(1) } else { 0 };
        self.reported = (self.packets, idle);
    }

    fn on_block(&mut self, now: Time, block: &ReportBlock, round_trip: Option<TimeDelta>) {
        let rate = f64::from(self.clock_rate.max(1));
        self.heard = Some(Heard {
            at: now,
            fraction_lost: f64::from(block.fraction_lost) / 256.0,
            cumulative_lost: block.cumulative_lost,
            jitter: TimeDelta::from_secs_f64(f64::from(block.jitter) / rate),
            round_trip: round_trip.or(self.heard.and_then(|heard| heard.round_trip)),
            ecn: self.heard.and_then(|heard| heard.ecn),
        });
    }
}
