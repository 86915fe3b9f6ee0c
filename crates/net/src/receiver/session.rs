//! One sender's packets, from the first that it was admitted with: RTP, or the datagrams of a connection.

use super::codec::{Data, Extended, PacketKind, SessionPacket};
use super::seen::{Seen, SeenPackets};
use super::times::{CaptureTimes, plausible_timing};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::control::{Progress, Told};
use crate::losses::{LOST_AFTER, MissingPackets};
use crate::output::NetCounters;
use crate::record::FlowRecord;
use crate::silence::{Awaited, PlannedSilence, Silences};
use crate::socket::Datagram;
use paceline_cc::{Annotation, AnyReceiverHalf, StreamId};
use paceline_ends::{PathFacts, ReceivingEnd, Transmit};
use paceline_metrics::{Facts, ReceivedPacket, Tick};
use paceline_rtp::{Header, RtpFeedback, RtpPacket, RtpReceiver};
use paceline_scenario::transports::ReceivingParts;
use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::{rtp, tfrc};

/// The parts of a session's end.
pub(crate) type SessionParts<'a> = ReceivingParts<'a, AnyReceiverHalf>;

/// The header of a packet with TFRC's extension.
const STAMPED: Header = Header::of_bytes((rtp::HEADER + tfrc::EXTENSION) as u8);

/// A stream's record so far.
#[derive(Default)]
struct Stream {
    seen: Option<SeenPackets>,
    /// When its numbers went on elsewhere the last time. For a second before and after nothing is held to be lost: of gaps at
    /// such a time nobody can tell whether they are the stream's.
    jumped: Option<Time>,
    captures: CaptureTimes,
}

/// A session with one sender.
pub(crate) struct Session<'a> {
    pub clock: DriverClock,
    /// When anything was heard last.
    pub heard: Time,
    silences: Silences,
    /// Messages for people, to be told now.
    said: Vec<String>,
    record: FlowRecord<'a>,
    /// Added to each packet's size, as on a link.
    overhead: Bytes,
    endpoint: RtpReceiver<AnyReceiverHalf>,
    streams: Vec<Stream>,
    missing: MissingPackets,
    /// Whether the sender's clock is ours.
    shared_clock: bool,
    /// The last known one-way delay, for packets that are too small to say theirs.
    delay: TimeDelta,
}

impl<'a> Session<'a> {
    /// A session that a data packet with `payload` opens; it has still to be taken.
    pub fn open(
        flow: ChosenFlow<'a>,
        parts: SessionParts<'a>,
        payload: &[u8],
        datagram: &Datagram<'_>,
    ) -> Session<'a> {
        // Media of connections is below its RTP header, which has no times.
        let timing = plausible_timing(payload, datagram.arrived);
        let streams = parts.streams;
        let first = timing.map_or(datagram.arrived, |(captured, _)| captured);
        let facts = if timing.is_some() { Facts::RECEIVER.and(Facts::CLOCKS) } else { Facts::RECEIVER };
        Session {
            clock: DriverClock::with_start(first, flow.parts.start),
            heard: flow.parts.start,
            silences: Silences::new(Awaited::Packets, PlannedSilence::of(&flow)),
            said: Vec::new(),
            record: FlowRecord::new(flow.flow, facts),
            overhead: flow.parts.overhead,
            endpoint: parts.end(),
            streams: std::iter::repeat_with(Stream::default).take(streams).collect(),
            missing: MissingPackets::default(),
            shared_clock: timing.is_some(),
            delay: TimeDelta::ZERO,
        }
    }

    /// Takes a packet of the session's sender, which came in `datagram`.
    pub fn take(&mut self, datagram: &Datagram<'_>, packet: &SessionPacket<'_>, counters: &mut NetCounters) {
        if let (PacketKind::Unannounced { ssrc, marker }, Some(data)) = (packet.kind, packet.data) {
            let now = self.heard.max(self.clock.time_of(datagram.arrived));
            let size = Bytes::new(datagram.bytes.len() as u64);
            self.endpoint.note_unannounced(now, (ssrc, data.transport), size, marker);
            return;
        }
        // Arrival times of a socket are in order but for the reading of two clocks.
        self.heard = self.heard.max(self.clock.time_of(datagram.arrived));
        self.said.extend(self.silences.on_heard(self.heard));
        let Some(seen) = self.note(packet) else {
            counters.out_of_sequence += 1;
            self.refuse(packet.data.as_ref());
            return;
        };
        let Some(data) = packet.data else { return };
        let now = self.heard;
        let timing = plausible_timing(data.payload, datagram.arrived).filter(|_| self.shared_clock);
        let sent = timing.map(|(_, sent)| self.clock.time_of(sent));
        let payload = Bytes::new(data.payload.len() as u64);
        if let Some((Extended { number: sequence, jumped }, header)) = data.rtp {
            let (stream, marker) = (packet.stream, header.marker);
            if jumped {
                self.endpoint.resynchronise(now, stream, sequence);
                self.streams[usize::from(stream.0)].captures.resynchronise();
            }
            let known = || timing.map_or(now, |(captured, _)| self.clock.time_of(captured));
            let captures = &mut self.streams[usize::from(stream.0)].captures;
            let idle = data.is_padding() || packet.kind == PacketKind::Repairs;
            let captured =
                if idle { Some(now) } else { captures.captured(now, sequence, header.timestamp, known) };
            let Some(captured) = captured else {
                counters.out_of_time += 1;
                self.refuse(Some(&data));
                return;
            };
            // A half knows sizes with their headers, and the times of the sender's clock, whatever its zero.
            let header = if data.stamp.is_some() { STAMPED } else { Header::RTP };
            let annotation = data.stamp.and_then(|stamp| stamp.rtt).map(Annotation::Rtt);
            let stamped = data.stamp.map(|stamp| stamp.sent.low());
            let said = if self.endpoint.receiver_half().is_some() { stamped } else { sent };
            let (first, transport) = (None, data.transport);
            let (payload, padding) =
                if idle { (Bytes::ZERO, data.padding.max(1)) } else { (payload, data.padding) };
            let arrived = RtpPacket {
                stream,
                sequence,
                captured,
                payload,
                padding,
                header,
                transport,
                first,
                marker,
                key: None,
                annotation,
            };
            match packet.kind {
                PacketKind::Restored => self.endpoint.restore(now, &arrived),
                PacketKind::Original | PacketKind::Repairs => {
                    self.endpoint.receive(now, arrived, datagram.ecn, PathFacts { sent: said, wait: None });
                }
                PacketKind::Unannounced { .. } => {}
            }
            if idle {
                // As in the simulator: reported on, and counted nowhere.
                return;
            }
        }
        self.delay = sent.map_or(self.delay, |sent| now - sent);
        let duplicate = seen == Seen::Duplicate;
        counters.duplicates += u64::from(duplicate);
        self.record.received(&ReceivedPacket {
            now,
            stream: packet.stream,
            size: Bytes::new(datagram.bytes.len() as u64) + self.overhead,
            payload,
            sent: now - self.delay,
            queue_delay: TimeDelta::ZERO,
            delay_noise: TimeDelta::ZERO,
            ecn: datagram.ecn,
            duplicate,
        });
    }

    /// A packet that its stream refuses arrived all the same, and transport-wide numbers tell of it.
    fn refuse(&mut self, data: Option<&Data<'_>>) {
        if let Some(data) = data {
            self.endpoint.note_refused(self.heard, data.transport);
        }
    }

    /// Notes the number of a packet, and those that it shows to be missing; none if it is too old to tell, or refused.
    fn note(&mut self, packet: &SessionPacket<'_>) -> Option<Seen> {
        let (stream, number) = (packet.stream, packet.number?);
        let of = self.streams.get_mut(usize::from(stream.0))?;
        let packets = of.seen.get_or_insert_with(|| SeenPackets::starting_at(number));
        if packet.resynchronised {
            packets.resynchronise(number);
            of.jumped = Some(self.heard);
            self.missing.forget(stream);
            return Some(Seen::New(0..0));
        }
        let seen = packets.note(number);
        let settled = of.jumped.is_none_or(|jumped| self.heard.saturating_since(jumped) >= LOST_AFTER);
        match &seen {
            Seen::New(missing) if settled && packet.kind != PacketKind::Repairs => {
                missing.clone().for_each(|missing| self.missing.note(self.heard, stream, missing));
            }
            Seen::New(_) | Seen::Duplicate => {}
            Seen::Old => return None,
        }
        Some(seen)
    }

    /// Displays and settles what is due at `now`, and hands over the reports that are.
    pub fn handle_timeout(&mut self, now: Time, take: impl FnMut(&RtpFeedback)) {
        self.endpoint.handle_timeout(now);
        loop {
            while let Some((stream, frame)) = self.endpoint.poll_given_up() {
                self.record.recorder.given_up(stream, &frame);
            }
            let Some((stream, frame)) = self.endpoint.poll_displayed() else { break };
            self.record.recorder.displayed(stream, &frame);
        }
        while let Some((stream, number)) = self.missing.settle(now) {
            if self.is_missing(stream, number) {
                self.record.recorder.lost(now, stream, now - LOST_AFTER - self.delay);
            }
        }
        self.report(now, take);
    }

    /// Hands over the reports that are due at `now`.
    pub fn report(&mut self, now: Time, mut take: impl FnMut(&RtpFeedback)) {
        while let Some(Transmit { packet, .. }) = self.endpoint.poll_transmit(now) {
            take(&packet);
            self.endpoint.recycle(packet);
        }
    }

    fn is_missing(&self, stream: StreamId, number: u64) -> bool {
        let stream = self.streams.get(usize::from(stream.0));
        stream.and_then(|stream| stream.seen.as_ref()).is_some_and(|seen| !seen.contains(number))
    }

    /// The statistics end: frames that still lack packets are not shown.
    fn give_up_waiting(&mut self) {
        let recorder = &mut self.record.recorder;
        self.endpoint.waiting(&mut |stream, frame| recorder.given_up(stream, frame));
    }

    /// Does what is due in the record, and tells of silences.
    pub fn tick(&mut self, now: Time, progress: &Told<'_>) {
        loop {
            if self.record.pending().is_some_and(|tick| matches!(tick, Tick::End(at) if at <= now)) {
                self.give_up_waiting();
            }
            if self.record.tick(now, self.endpoint.playout(), progress).is_none() {
                break;
            }
        }
        self.said.extend(self.silences.check(now));
        self.said.drain(..).for_each(|said| progress(Progress::Warned(&said)));
    }

    /// How long its sender has been silent at `now`, beyond what is planned.
    pub fn silent(&self, now: Time) -> TimeDelta {
        self.silences.unplanned(now)
    }

    /// When it wants to be called again.
    pub fn next(&self) -> Moment {
        let due = [self.endpoint.next_timeout().map(|(due, _)| due), self.record.pending().map(Tick::at)];
        self.clock.moment_of(due.into_iter().flatten().min().unwrap_or(Time::MAX))
    }

    /// The record of a session that ended at `now`, and what is to be said of its silences.
    pub fn finish(mut self, now: Time) -> (FlowRecord<'a>, Vec<String>) {
        if self.record.pending().is_some() {
            self.give_up_waiting();
        }
        self.record.stop(now, self.endpoint.playout());
        (self.record, self.silences.finish(now))
    }
}
