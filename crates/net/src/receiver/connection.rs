//! One sender's packets over DCCP, from its first data on: bulk data, or media in RTP (RFC 5762 section 4.1).

use super::record::ReceiverRecord;
use super::seen::{Seen, SeenPackets};
use super::times::{CaptureTimes, plausible_timing};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::dccp::{Arrival, is_bulk};
use crate::losses::{LOST_AFTER, MissingPackets};
use paceline_cc::StreamId;
use paceline_media::{ArrivedPacket, Playout, PlayoutCounters};
use paceline_scenario::build::DccpParts;
use paceline_scenario::recorder::ReceivedPacket;
use paceline_transport::ReceivingEnd;
use paceline_transport::dccp::{Packet, SequenceNumber};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::SequenceUnwrapper;
use paceline_wire::rtp::{self, RtpView};

const STREAM: StreamId = StreamId(0);

/// Numbers of a connection's packets, which do not wrap, and which of them have arrived.
#[derive(Default)]
pub(super) struct Numbers {
    newest: Option<SequenceNumber>,
    /// Counts from the first packet.
    count: i64,
    seen: Option<SeenPackets>,
}

impl Numbers {
    /// A packet that the connection accepted: its number, and which are missing before it.
    pub fn note(&mut self, packet: &PacketNumber) -> std::ops::Range<u64> {
        let newest = *self.newest.get_or_insert(packet.number);
        let number =
            if packet.short { SequenceNumber::extend(packet.number.low(), newest) } else { packet.number };
        let ahead = number.since(newest);
        let Ok(count) = u64::try_from(self.count + ahead) else { return 0..0 };
        if ahead > 0 {
            (self.newest, self.count) = (Some(number), self.count + ahead);
        }
        let seen = self.seen.get_or_insert_with(|| SeenPackets::starting_at(count));
        match seen.note(count) {
            Seen::New(missing) => missing,
            _ => 0..0,
        }
    }

    fn is_missing(&self, number: u64) -> bool {
        self.seen.as_ref().is_some_and(|seen| !seen.contains(number))
    }
}

/// A packet's number as it came.
#[derive(Clone, Copy)]
pub(super) struct PacketNumber {
    number: SequenceNumber,
    short: bool,
}

impl PacketNumber {
    pub fn of(packet: &Packet) -> PacketNumber {
        PacketNumber { number: packet.sequence, short: packet.short }
    }
}

/// What is written down of a sender whose data has arrived.
pub(super) struct Session<'a> {
    pub clock: DriverClock,
    pub record: ReceiverRecord<'a>,
    /// When anything was heard last.
    pub heard: Time,
    missing: MissingPackets,
    /// Whether the sender's clock is ours.
    shared_clock: bool,
    /// The last known one-way delay, for packets that are too small to say theirs.
    delay: TimeDelta,
    media: Media,
}

/// Frames, if that is what the flow carries.
struct Media {
    /// None of bulk data, and of media whose RTP header has another length than RTP's.
    sequences: Option<SequenceUnwrapper>,
    /// What is added to RTP's numbers so that packets before the first have one, too: 0 if the sender began at 0.
    lift: Option<u64>,
    captures: CaptureTimes,
    playout: Playout,
}

/// A sender whose first packet has a higher number did not begin at 0.
const FIRST_NUMBERS: u64 = 100;

impl Media {
    fn new(parts: &DccpParts) -> Media {
        let framed = !is_bulk(parts) && parts.carried.rtp_header == Bytes::new(rtp::HEADER as u64);
        Media {
            sequences: framed.then(SequenceUnwrapper::default),
            lift: None,
            captures: CaptureTimes::default(),
            playout: Playout::new(parts.playout),
        }
    }

    /// The RTP packet in a datagram, if there should be one.
    fn view<'p>(&self, payload: &'p [u8]) -> Option<RtpView<'p>> {
        self.sequences.as_ref().and_then(|_| rtp::decode(payload).ok())
    }

    /// A packet arrived at `now`, sent at `sent`; it was captured at `captured` if it is the first.
    fn take(&mut self, now: Time, view: &RtpView<'_>, sent: Option<Time>, captured: Time) {
        let Some(sequence) = self.sequences.as_mut().and_then(|all| all.unwrap(view.header.sequence)) else {
            return;
        };
        let lift = *self.lift.get_or_insert(if sequence < FIRST_NUMBERS { 0 } else { 1 << 16 });
        let Some(captured) = self.captures.captured(view.header.timestamp, || captured) else { return };
        self.playout.on_packet(
            now,
            &ArrivedPacket {
                sequence: sequence + lift,
                captured,
                payload: Bytes::new(view.payload.len() as u64),
                first: None,
                marker: view.header.marker,
                sent,
                wait: None,
            },
        );
    }
}

impl ReceivingEnd for Media {
    fn playout(&self) -> PlayoutCounters {
        *self.playout.counters()
    }
}

/// What the application got of a packet, and how the packet came.
#[derive(Clone, Copy)]
pub(super) struct Came {
    pub arrived: Moment,
    pub length: u64,
    pub ecn: Ecn,
}

impl Came {
    pub fn of(arrival: &Arrival) -> Came {
        Came { arrived: arrival.arrived, length: arrival.length, ecn: arrival.ecn }
    }
}

impl<'a> Session<'a> {
    /// A session that a first datagram opens; it has still to be taken.
    pub fn open(flow: ChosenFlow<'a>, parts: &DccpParts, came: Came, payload: &[u8]) -> Session<'a> {
        let media = Media::new(parts);
        let timed = media.view(payload).map_or(payload, |view| view.payload);
        let timing = plausible_timing(timed, came.arrived);
        let first = timing.map_or(came.arrived, |(captured, _)| captured);
        Session {
            clock: DriverClock::with_start(first, flow.parts.start),
            record: ReceiverRecord::new(flow, timing.is_some()),
            heard: flow.parts.start,
            missing: MissingPackets::default(),
            shared_clock: timing.is_some(),
            delay: TimeDelta::ZERO,
            media,
        }
    }

    /// A packet of any type was accepted; those between were not.
    pub fn heard(&mut self, arrived: Moment, missing: std::ops::Range<u64>) {
        // Arrival times of a socket are in order but for the reading of two clocks.
        self.heard = self.heard.max(self.clock.time_of(arrived));
        missing.for_each(|missing| self.missing.note(self.heard, STREAM, missing));
    }

    /// A data packet was accepted, of which the application got `payload`, if it got it.
    pub fn take(&mut self, came: Came, payload: Option<&[u8]>) {
        let now = self.heard;
        let view = payload.and_then(|payload| self.media.view(payload));
        let used = view.map_or(payload.unwrap_or_default(), |view| view.payload);
        let timing = plausible_timing(used, came.arrived).filter(|_| self.shared_clock);
        let sent = timing.map(|(_, sent)| self.clock.time_of(sent));
        self.delay = sent.map_or(self.delay, |sent| now - sent);
        if let Some(view) = &view {
            let captured = timing.map_or(now, |(captured, _)| self.clock.time_of(captured));
            self.media.take(now, view, sent, captured);
        }
        self.record.received(ReceivedPacket {
            now,
            stream: STREAM,
            size: Bytes::new(came.length),
            payload: Bytes::new(used.len() as u64),
            sent: now - self.delay,
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
            ecn: came.ecn,
            duplicate: false,
        });
    }

    /// Displays and settles what is due at `now`, and does what is due in the record.
    pub fn advance(&mut self, now: Time, numbers: &Numbers, progress: &dyn Fn(Time)) {
        self.media.playout.handle_timeout(now);
        while let Some(frame) = self.media.playout.poll() {
            self.record.displayed(&frame);
        }
        while let Some((_, number)) = self.missing.settle(now) {
            if numbers.is_missing(number) {
                self.record.lost(now, STREAM, now - LOST_AFTER - self.delay);
            }
        }
        self.record.tick(now, &self.media, progress);
    }

    /// When it wants to be called again.
    pub fn next(&self) -> Moment {
        let due = [self.record.next_tick(), self.media.playout.next_timeout()];
        self.clock.moment_of(due.into_iter().flatten().min().unwrap_or(Time::MAX))
    }

    /// Ends the record.
    pub fn finish(self, now: Time, counters: crate::NetCounters) -> crate::NetOutput {
        self.record.finish(now, &self.media, counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_short_ones_are_completed() {
        let mut numbers = Numbers::default();
        let note = |numbers: &mut Numbers, ahead: i64, short: bool| {
            let number = SequenceNumber::new(u64::MAX).plus(ahead);
            let number = if short { SequenceNumber::new(number.low().into()) } else { number };
            numbers.note(&PacketNumber { number, short })
        };
        assert_eq!(note(&mut numbers, 0, false), 0..0);
        assert_eq!(note(&mut numbers, 3, true), 1..3);
        assert_eq!(note(&mut numbers, 2, true), 0..0);
        assert_eq!(note(&mut numbers, -5, false), 0..0, "before the first");
        assert_eq!(note(&mut numbers, 6, false), 4..6);
        assert!(numbers.is_missing(1) && !numbers.is_missing(2) && numbers.is_missing(5));
    }
}
