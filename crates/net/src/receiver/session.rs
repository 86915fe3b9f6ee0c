//! One sender's packets, from the first that it was admitted with.

use super::record::ReceiverRecord;
use super::seen::{Seen, SeenPackets};
use super::times::{CaptureTimes, plausible_timing};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::losses::MissingPackets;
use crate::output::NetCounters;
use crate::socket::{Datagram, UdpPort};
use crate::ssrc::Ssrcs;
use paceline_cc::StreamId;
use paceline_scenario::build::RtpParts;
use paceline_scenario::recorder::ReceivedPacket;
use paceline_transport::rtp::{Feedback, Header, PathFacts, RtpPacket, RtpReceiver};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::rtp::RtpView;
use paceline_wire::{SequenceUnwrapper, ccfb, rtcp};
use std::net::SocketAddr;

/// SSRC of the receiver in its reports; nothing is ever sent under it.
const OWN_SSRC: u32 = 1;
/// A sender whose first packet has a higher number did not begin at 0: that packet is taken for its first.
const FIRST_NUMBERS: u64 = 100;
/// No report is larger (RFC 8888 section 3.1 asks to stay within the path's MTU).
const LARGEST_REPORT: Bytes = Bytes::new(1200);

/// What one stream has shown so far.
#[derive(Default)]
struct Intake {
    sequences: SequenceUnwrapper,
    /// What is added to the sequence numbers so that packets before the first have one, too.
    lift: u64,
    seen: Option<SeenPackets>,
    captures: CaptureTimes,
}

/// A session with one sender.
pub(super) struct Session<'a> {
    pub clock: DriverClock,
    pub record: ReceiverRecord<'a>,
    /// When anything was heard last.
    pub heard: Time,
    peer: SocketAddr,
    ssrcs: Ssrcs,
    endpoint: RtpReceiver,
    streams: Vec<Intake>,
    missing: MissingPackets,
    /// Whether the sender's clock is ours.
    shared_clock: bool,
    /// The last known one-way delay, for packets that are too small to say theirs.
    delay: TimeDelta,
    feedback: Feedback,
    bytes: Vec<u8>,
}

impl<'a> Session<'a> {
    /// A session that `datagram` opens; it has still to be taken.
    pub fn open(
        flow: ChosenFlow<'a>,
        rtp: &RtpParts,
        ssrcs: Ssrcs,
        datagram: &Datagram<'_>,
        view: &RtpView<'_>,
    ) -> Session<'a> {
        let timing = plausible_timing(view.payload, datagram.arrived);
        let parts = flow.parts;
        let streams = rtp.streams.len().clamp(1, 255);
        let first = timing.map_or(datagram.arrived, |(captured, _)| captured);
        Session {
            clock: DriverClock::with_start(first, parts.start),
            record: ReceiverRecord::new(flow, timing.is_some()),
            heard: parts.start,
            peer: datagram.from,
            ssrcs,
            endpoint: RtpReceiver::new(rtp.feedback, streams as u8, rtp.playout),
            streams: std::iter::repeat_with(Intake::default).take(streams).collect(),
            missing: MissingPackets::default(),
            shared_clock: timing.is_some(),
            delay: TimeDelta::ZERO,
            feedback: Feedback::default(),
            bytes: Vec::with_capacity(LARGEST_REPORT.as_u64() as usize),
        }
    }

    /// Takes a packet of the session's sender.
    pub fn take(&mut self, datagram: &Datagram<'_>, view: &RtpView<'_>, counters: &mut NetCounters) {
        let Some(stream) = self.ssrcs.stream(view.header.ssrc) else {
            counters.unknown_ssrc += 1;
            return;
        };
        let Some(intake) = self.streams.get_mut(usize::from(stream.0)) else { return };
        // Arrival times of a socket are in order but for the reading of two clocks.
        self.heard = self.heard.max(self.clock.time_of(datagram.arrived));
        let arrived = self.heard;
        let Some((sequence, seen)) = intake.number(view.header.sequence) else {
            counters.out_of_sequence += 1;
            return;
        };
        let timing = plausible_timing(view.payload, datagram.arrived).filter(|_| self.shared_clock);
        let clock = self.clock;
        let known = || timing.map_or(arrived, |(captured, _)| clock.time_of(captured));
        let Some(captured) = intake.captures.captured(view.header.timestamp, known) else {
            counters.out_of_sequence += 1;
            return;
        };
        let sent = timing.map(|(_, sent)| clock.time_of(sent));
        self.delay = sent.map_or(self.delay, |sent| arrived - sent);
        let packet = RtpPacket {
            stream,
            sequence,
            captured,
            payload: Bytes::new(view.payload.len() as u64),
            header: Header::RTP,
            marker: view.header.marker,
            annotation: None,
        };
        let duplicate = seen == Seen::Duplicate;
        counters.duplicates += u64::from(duplicate);
        if let Seen::New(missing) = seen {
            missing.for_each(|missing| self.missing.note(arrived, stream, missing));
        }
        let size = Bytes::new(datagram.bytes.len() as u64);
        self.record.received(ReceivedPacket {
            now: arrived,
            stream,
            size,
            payload: packet.payload,
            sent: arrived - self.delay,
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
            ecn: datagram.ecn,
            duplicate,
        });
        let facts = PathFacts { sent, wait: None, first: None };
        self.endpoint.on_packet(arrived, &packet, datagram.ecn, facts);
    }

    /// Displays, reports and settles what is due at `now`.
    pub fn advance(&mut self, now: Time, port: &UdpPort, counters: &mut NetCounters) {
        self.endpoint.handle_playout(now);
        while let Some((_, frame)) = self.endpoint.poll_displayed() {
            self.record.displayed(&frame);
        }
        while let Some((stream, sequence)) = self.missing.settle(now) {
            let seen = self.streams.get(usize::from(stream.0)).and_then(|intake| intake.seen.as_ref());
            if seen.is_some_and(|seen| !seen.contains(sequence)) {
                self.record.lost(now, stream, now - crate::losses::LOST_AFTER - self.delay);
            }
        }
        while self.endpoint.poll_feedback(now, &mut self.feedback) {
            self.report(port, counters);
        }
    }

    /// Does what is due in the record.
    pub fn tick(&mut self, now: Time, progress: &dyn Fn(Time)) {
        self.record.tick(now, &self.endpoint, progress);
    }

    /// When it wants to be called again.
    pub fn next(&self) -> Moment {
        let due = [self.endpoint.next_report(), self.endpoint.next_playout(), self.record.next_tick()];
        self.clock.moment_of(due.into_iter().flatten().min().unwrap_or(Time::MAX))
    }

    /// Ends the record.
    pub fn finish(self, now: Time, counters: NetCounters) -> crate::NetOutput {
        self.record.finish(now, &self.endpoint, counters)
    }

    fn report(&mut self, port: &UdpPort, counters: &mut NetCounters) {
        self.bytes.clear();
        let ssrcs = self.ssrcs;
        let encoded = ccfb::encode_split(
            &self.feedback,
            OWN_SSRC,
            |stream: StreamId| ssrcs.of(stream),
            LARGEST_REPORT,
            &mut self.bytes,
        );
        debug_assert!(encoded.is_ok(), "the endpoint's reports add up");
        for packet in rtcp::packets(&self.bytes).flatten() {
            match port.send(packet.bytes, self.peer, Ecn::NotEct) {
                Ok(()) => counters.sent += 1,
                Err(_) => counters.unsendable += 1,
            }
        }
    }
}

impl Intake {
    /// The extended number of a packet, and whether it is new; none if it is too far from the others.
    fn number(&mut self, sequence: u16) -> Option<(u64, Seen)> {
        let number = self.sequences.unwrap(sequence)?;
        let seen = self.seen.get_or_insert_with(|| {
            let begins_at_zero = number < FIRST_NUMBERS;
            self.lift = if begins_at_zero { 0 } else { 1 << 16 };
            SeenPackets::starting_at(if begins_at_zero { 0 } else { number + self.lift })
        });
        let number = number + self.lift;
        match seen.note(number) {
            Seen::Old => None,
            seen => Some((number, seen)),
        }
    }
}
