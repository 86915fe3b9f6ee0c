//! What a receiver of media reports of the streams that it hears.

use super::interval::ReportInterval;
use super::reception::Reception;
use super::{LARGEST, MOST_EVENTS, RtcpConfig};
use paceline_units::{Ecn, Time};
use paceline_wire::rtcp::{self, RtcpPacket, bye, ecn, report, sdes};
use paceline_wire::rtp::RtpHeaderFields;
use std::collections::VecDeque;

/// The most streams of a receiver.
const MOST_STREAMS: usize = 256;

/// A stream that a receiver expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncomingStream {
    /// SSRC of the stream.
    pub ssrc: u32,
    /// Ticks of its timestamps in a second.
    pub clock_rate: u32,
}

/// What the application should know of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverEvent {
    /// A stream ends (BYE): nothing more of it is expected.
    Ended {
        /// SSRC of the stream.
        ssrc: u32,
    },
    /// Another participant has our SSRC: we have another from now on (RFC 3550 section 8.2).
    SsrcChanged {
        /// SSRC until now.
        from: u32,
        /// SSRC from now on.
        to: u32,
    },
}

/// Counts of a receiver's RTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Datagrams that were written.
    pub sent: u64,
    /// RTCP packets that were read.
    pub received: u64,
    /// Datagrams that are no RTCP, or not the compound packet that was agreed on, and packets that contradict themselves.
    pub malformed: u64,
    /// Packets of a type that nothing is done with.
    pub other: u64,
    /// Packets of, and about, streams that are not expected.
    pub unknown_ssrc: u64,
    /// RTP packets whose number is far from the others.
    pub out_of_sequence: u64,
    /// Times that another participant had our SSRC.
    pub collisions: u64,
    /// Events that the application did not take in time.
    pub events_untaken: u64,
}

#[derive(Clone, Debug)]
struct Incoming {
    config: IncomingStream,
    reception: Reception,
    /// Packets when the last report was written: of a silent stream nothing is said (RFC 3550 section 6.4).
    reported: u64,
    packets: u64,
}

/// The session of a receiver: it is told of RTP packets and of RTCP that comes, and writes what goes back.
#[derive(Clone, Debug)]
pub struct ReceiverSession {
    config: RtcpConfig,
    ssrc: u32,
    changed: Option<Time>,
    /// Whether reports have an ECN summary (RFC 6679 section 5.2).
    tells_ecn: bool,
    interval: ReportInterval,
    due: Option<Time>,
    streams: Vec<Incoming>,
    /// The stream that the next datagram of this report begins with.
    cursor: Option<usize>,
    /// SSRCs of ours that end.
    ended: Vec<u32>,
    events: VecDeque<ReceiverEvent>,
    counters: ReceiverCounters,
    blocks: Vec<report::ReportBlock>,
}

impl ReceiverSession {
    /// A participant of this SSRC that expects no stream yet.
    pub fn new(config: RtcpConfig, ssrc: u32) -> ReceiverSession {
        ReceiverSession {
            interval: ReportInterval::new(&config, "rtcp.receiver"),
            config,
            ssrc,
            changed: None,
            tells_ecn: false,
            due: None,
            streams: Vec::new(),
            cursor: None,
            ended: Vec::new(),
            events: VecDeque::new(),
            counters: ReceiverCounters::default(),
            blocks: Vec::new(),
        }
    }

    /// Adds the ECN summary of RFC 6679 section 5.2 to each report, as both sides agreed on.
    pub fn tell_ecn(&mut self) {
        self.tells_ecn = true;
    }

    /// SSRC of the receiver.
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Counts so far.
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// A stream is expected. False if it is already, or 256 are.
    pub fn add_stream(&mut self, config: IncomingStream) -> bool {
        let known = self.streams.iter().any(|stream| stream.config.ssrc == config.ssrc);
        if known || self.streams.len() >= MOST_STREAMS || config.ssrc == self.ssrc {
            return false;
        }
        let reception = Reception::new(config.clock_rate);
        self.streams.push(Incoming { config, reception, reported: 0, packets: 0 });
        true
    }

    /// A stream is expected no more. False if it was not.
    pub fn remove_stream(&mut self, ssrc: u32) -> bool {
        let before = self.streams.len();
        self.streams.retain(|stream| stream.config.ssrc != ssrc);
        // Who comes behind it may be reported on twice or not at all, once.
        before != self.streams.len()
    }

    /// Figures of a stream.
    pub fn reception(&self, ssrc: u32) -> Option<&Reception> {
        self.find(ssrc).map(|place| &self.streams[place].reception)
    }

    fn find(&self, ssrc: u32) -> Option<usize> {
        self.streams.iter().position(|stream| stream.config.ssrc == ssrc)
    }

    /// An RTP packet came. Answers its number, extended so that it does not wrap, and whether it is here for the first time; none
    /// of what is not expected.
    pub fn on_rtp(&mut self, now: Time, header: &RtpHeaderFields, ecn: Ecn) -> Option<(u64, bool)> {
        if header.ssrc == self.ssrc {
            self.on_collision(now);
            return None;
        }
        let Some(place) = self.find(header.ssrc) else {
            self.counters.unknown_ssrc += 1;
            return None;
        };
        if self.due.is_none() {
            self.due = Some(self.interval.next(now));
        }
        let stream = &mut self.streams[place];
        let Some(came) = stream.reception.on_packet(now, (header.sequence, header.timestamp), ecn) else {
            self.counters.out_of_sequence += 1;
            return None;
        };
        stream.packets += 1;
        Some(came)
    }

    /// RTCP of the sender came.
    pub fn on_rtcp(&mut self, now: Time, datagram: &[u8]) {
        if !self.config.reduced_size && rtcp::expect_compound(datagram).is_err() {
            self.counters.malformed += 1;
            return;
        }
        self.interval.on_packet(datagram.len());
        for packet in rtcp::packets(datagram) {
            let Ok(packet) = packet else {
                self.counters.malformed += 1;
                return;
            };
            self.counters.received += 1;
            self.counters.malformed += u64::from(self.read(now, &packet).is_err());
        }
    }

    fn read(&mut self, now: Time, packet: &RtcpPacket<'_>) -> Result<(), paceline_wire::WireError> {
        match packet.packet_type {
            report::SENDER_REPORT | report::RECEIVER_REPORT => {
                let report = report::decode(packet)?;
                match (self.find(report.ssrc), report.sender) {
                    _ if report.ssrc == self.ssrc => self.on_collision(now),
                    (Some(place), Some(info)) => {
                        self.streams[place].reception.on_sender_report(now, info);
                    }
                    (Some(_), None) => {}
                    (None, _) => self.counters.unknown_ssrc += 1,
                }
            }
            sdes::PACKET_TYPE => drop(sdes::decode(packet)?),
            bye::PACKET_TYPE => {
                for ssrc in bye::decode(packet)?.sources() {
                    match self.remove_stream(ssrc) {
                        true => self.tell(ReceiverEvent::Ended { ssrc }),
                        false => self.counters.unknown_ssrc += 1,
                    }
                }
            }
            _ => self.counters.other += 1,
        }
        Ok(())
    }

    /// Another participant has our SSRC: we say goodbye and take another (RFC 3550 section 8.2).
    fn on_collision(&mut self, now: Time) {
        self.counters.collisions += 1;
        let apart = super::CHANGES_APART;
        if self.changed.is_some_and(|changed| now.saturating_since(changed) < apart) {
            return;
        }
        let from = self.ssrc;
        let mut draws = self.interval.draws_of_ssrc();
        let Some(to) = draws.find(|ssrc| *ssrc != from && self.find(*ssrc).is_none()) else { return };
        (self.ssrc, self.changed) = (to, Some(now));
        self.leave_as(from);
        self.tell(ReceiverEvent::SsrcChanged { from, to });
    }

    fn leave_as(&mut self, ssrc: u32) {
        if self.ended.len() < bye::MOST_SOURCES && self.counters.sent > 0 {
            self.ended.push(ssrc);
        }
    }

    /// The receiver ends: it says so (RFC 3550 section 6.6), and reports no more.
    pub fn leave(&mut self) {
        self.leave_as(self.ssrc);
        self.streams.clear();
        (self.due, self.cursor) = (None, None);
    }

    /// What happened. Call until there is nothing.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    #[cfg(test)]
    pub(super) fn events_waiting(&self) -> usize {
        self.events.len()
    }

    fn tell(&mut self, event: ReceiverEvent) {
        if self.events.len() >= MOST_EVENTS {
            self.events.pop_front();
            self.counters.events_untaken += 1;
        }
        self.events.push_back(event);
    }

    /// When to call [`ReceiverSession::poll_transmit`].
    pub fn next_timeout(&self) -> Option<Time> {
        let at_once = self.cursor.is_some() || !self.ended.is_empty();
        if at_once { Some(Time::ZERO) } else { self.due }
    }

    /// Appends the next datagram that is due to `out`. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        if let Some(&ssrc) = self.ended.first() {
            let _ = report::encode(ssrc, None, &[], out);
            let _ = sdes::encode_cname(ssrc, self.config.name(), out);
            let _ = bye::encode(&self.ended, None, out);
            self.ended.clear();
        } else {
            if self.due.is_some_and(|due| due <= now) {
                self.due = Some(self.interval.next(now));
                self.cursor = Some(0);
            }
            if let Some(first) = self.cursor {
                self.cursor = self.write_report(now, first, out);
            }
        }
        let size = out.len() - start;
        if size == 0 {
            return false;
        }
        self.interval.on_packet(size);
        self.counters.sent += 1;
        true
    }

    /// A report on as many streams as a datagram holds, from this one on. Answers the stream that the next begins with.
    fn write_report(&mut self, now: Time, first: usize, out: &mut Vec<u8>) -> Option<usize> {
        // What a report has without blocks, and what each block adds.
        let name = self.config.name().len() + 16;
        let (fixed, each) = match self.tells_ecn {
            true => (8 + name + 12, report::BLOCK + ecn::SUMMARY_ENTRY),
            false => (8 + name, report::BLOCK),
        };
        let room = (LARGEST.saturating_sub(fixed) / each).clamp(1, report::MOST_BLOCKS);
        self.blocks.clear();
        let mut place = first;
        while place < self.streams.len() && self.blocks.len() < room {
            let stream = &mut self.streams[place];
            if stream.packets != stream.reported {
                stream.reported = stream.packets;
                self.blocks.push(stream.reception.block(now, stream.config.ssrc));
            }
            place += 1;
        }
        let more = place < self.streams.len();
        // Without anything to say a participant still reports that it is there.
        if first == 0 || !self.blocks.is_empty() {
            let _ = report::encode(self.ssrc, None, &self.blocks, out);
            let _ = sdes::encode_cname(self.ssrc, self.config.name(), out);
            if self.tells_ecn {
                let counts = |block: &report::ReportBlock| {
                    let counts = self.reception(block.ssrc).map(Reception::ecn_counts);
                    (block.ssrc, counts.unwrap_or_default())
                };
                let _ = ecn::encode_summary(self.ssrc, self.blocks.iter().map(counts), out);
            }
        }
        more.then_some(place)
    }
}
