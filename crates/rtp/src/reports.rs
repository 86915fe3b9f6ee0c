//! Which packets of a flow arrived, when that is reported, and how (RFC 8888, or by transport-wide numbers).

use super::concealing::say_all_came;
use super::feedback::FeedbackConfig;
use super::packet::RtpFeedback;
use super::received::{LONGEST_BLOCK, Noted, ReceivedPackets};
use super::report_rate::ReportRate;
use super::transport_received::{CURRENT, TransportPackets};
use paceline_cc::StreamId;
use paceline_ends::Follows;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::FeedbackFormat;
use paceline_wire::ccfb::{Feedback, PacketFeedback};
use std::ops::Range;

/// The arrivals of a flow's streams, and the reports on them: for receivers that read packets themselves ([`RtpReceiver`](super::RtpReceiver)
/// has one).
#[derive(Clone, Debug)]
pub struct PacketReports {
    pub(super) config: FeedbackConfig,
    /// A tick of the receiver's clock, where that shows the run's time but for its step.
    tick: Option<TimeDelta>,
    streams: Vec<ReceivedPackets>,
    /// The packets of all streams by their transport-wide numbers, where reports tell of those.
    transport: Option<Box<TransportPackets>>,
    unreported: u32,
    /// Times, and what reports say for each of them.
    read: (Range<Time>, Time),
    /// When the next report is due.
    pub(super) due: Option<Time>,
    rate: ReportRate,
    /// Reports whose way is over: their memory is used again.
    #[allow(clippy::vec_box, reason = "reports come and go in their boxes")]
    spare: Vec<Box<Feedback>>,
    /// The ECN field of the last packet that was not marked; before it that of packets when they leave.
    unmarked: Ecn,
    /// Entries of the next report on streams whose numbers went on elsewhere before it was written.
    held: Option<Box<Feedback>>,
}

impl PacketReports {
    /// A packet of a stream that was added says for so long where the transport-wide numbers are.
    pub const CURRENT: TimeDelta = CURRENT;

    /// Of no stream yet.
    pub fn new(config: FeedbackConfig) -> PacketReports {
        let packets = ReceivedPackets::new(config.overlap, config.reorder_time);
        let transport = config.format.is_transport_wide().then(|| Box::new(TransportPackets::new(packets)));
        let is_true = config.skew == 0.0 && config.clock_steps.is_empty() && config.start == TimeDelta::ZERO;
        PacketReports {
            tick: is_true.then(|| config.clock.step()),
            config: FeedbackConfig { packets: config.packets.max(1), ..config },
            streams: Vec::new(),
            transport,
            unreported: 0,
            read: (Time::ZERO..Time::ZERO, Time::ZERO),
            due: None,
            rate: ReportRate::new(),
            spare: Vec::new(),
            unmarked: Ecn::NotEct,
            held: None,
        }
    }

    /// Packets leave with this ECN field: marked ones are said to have come so by a receiver that conceals marks, before one without a
    /// mark has come.
    pub fn expect_ecn(&mut self, ecn: Ecn) {
        self.unmarked = ecn;
    }

    /// The ECN field with which a packet is said to have come, now and whenever this is asked again.
    #[inline]
    pub(super) fn shown(&mut self, ecn: Ecn) -> Ecn {
        if !self.config.conceals.marks() {
            return ecn;
        }
        if !ecn.is_ce() {
            self.unmarked = ecn;
        }
        self.unmarked
    }

    /// One more stream.
    pub fn add_stream(&mut self) {
        self.streams.push(ReceivedPackets::new(self.config.overlap, self.config.reorder_time));
    }

    /// When the next report is due.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// No report is due any more: the receiver ends.
    pub fn end(&mut self) {
        self.due = None;
    }

    /// The format of the reports.
    pub fn format(&self) -> FeedbackFormat {
        self.config.format
    }

    /// Whether packets of a stream came that a report is still to tell of under its name.
    pub fn any_new(&self, id: StreamId) -> bool {
        let new = || self.streams.get(usize::from(id.0)).is_some_and(ReceivedPackets::any_new);
        self.transport.is_none() && new()
    }

    /// As [`RtpReceiver::resynchronise`](super::RtpReceiver::resynchronise); what was not reported yet is still reported if it is
    /// to be `kept`.
    #[cold]
    pub fn resynchronise(&mut self, id: StreamId, sequence: u64, kept: bool) {
        let Some(packets) = self.streams.get_mut(usize::from(id.0)) else { return };
        if packets.any_new() && kept && self.transport.is_none() {
            let held = self.held.get_or_insert_with(|| emptied(&mut self.spare));
            // A packet that does not fit into a report any more is told by none.
            if held.arrivals.len() < LONGEST_BLOCK as usize {
                packets.report(id, self.config.overlap, held);
            }
        }
        packets.resynchronise(sequence);
    }

    /// Notes the arrival of a packet; `transport` is its transport-wide number, where it has one. Nothing is known of a stream that
    /// was not added.
    #[inline(always)]
    pub fn note(
        &mut self,
        now: Time,
        (id, sequence): (StreamId, u64),
        transport: Option<u16>,
        ecn: Ecn,
    ) -> Noted {
        let at = self.read(now);
        let ecn = self.shown(ecn);
        let Some(packets) = self.streams.get_mut(usize::from(id.0)) else { return Noted::TooOld };
        let noted = packets.note(sequence, at, ecn);
        if let (Some(own), Some(number), true) = (&mut self.transport, transport, noted != Noted::TooOld) {
            own.note(number, at);
        }
        noted
    }

    /// The time that reports give for `now`, which often is the last one.
    #[inline(always)]
    fn read(&mut self, now: Time) -> Time {
        let (times, shown) = &self.read;
        if times.contains(&now) { *shown } else { self.read_anew(now) }
    }

    #[inline(never)]
    fn read_anew(&mut self, now: Time) -> Time {
        let shown = self.config.read(now);
        // Rounded down to a nanosecond, it is the beginning of the tick, or just before.
        let until = self.tick.map_or(now + TimeDelta::from_nanos(1), |tick| shown + tick);
        self.read = (now..until, shown);
        shown
    }

    /// A packet with this transport-wide number arrived that its stream refuses; a report is due on it if it is to be `told`.
    #[cold]
    pub fn note_refused(&mut self, now: Time, number: u16, told: bool) {
        let at = self.read(now);
        let Some(transport) = &mut self.transport else { return };
        transport.note(number, at);
        if transport.any_new() && told {
            let due = if self.config.by_rate { self.rate.due(now) } else { now + self.config.time };
            self.due.get_or_insert(due);
        }
    }

    /// A packet with this SSRC, transport-wide number and size arrived of a stream that nobody announced. Answers whether a report tells
    /// of it.
    #[cold]
    pub fn note_unannounced(
        &mut self,
        now: Time,
        (ssrc, number): (u32, u16),
        size: Bytes,
        marker: bool,
    ) -> bool {
        let at = self.read(now);
        let believed =
            self.transport.as_mut().is_some_and(|transport| transport.note_unannounced(ssrc, number, at));
        if believed {
            self.schedule(now, || size, marker);
        }
        believed
    }

    /// Notes when the next report is due, now that a packet of this size has arrived; answers what follows.
    #[inline]
    pub fn schedule(&mut self, now: Time, size: impl FnOnce() -> Bytes, marker: bool) -> Follows {
        let due_before = self.due;
        let due = if self.config.by_rate {
            self.rate.on_packet(now, size());
            *self.due.get_or_insert_with(|| self.rate.due(now))
        } else {
            self.unreported += 1;
            if self.unreported >= self.config.packets || (marker && self.config.marker) {
                self.due = Some(now);
                return Follows::Answer(Time::MAX);
            }
            *self.due.get_or_insert_with(|| now + self.config.time)
        };
        if due_before.is_none() { Follows::Timeout(due) } else { Follows::Nothing }
    }

    /// A report is written now: answers the time that it says.
    #[inline]
    fn begin(&mut self, now: Time) -> Time {
        (self.due, self.unreported) = (None, 0);
        self.rate.on_report(now);
        self.read(now)
    }

    /// Writes the report that is due.
    pub fn write(&mut self, now: Time) -> Box<Feedback> {
        let written = self.begin(now);
        self.write_blocks(written)
    }

    /// Writes the report that is due in the form that is handed on.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, now: Time) -> RtpFeedback {
        let written = self.begin(now);
        match self.take_only_arrival() {
            Some((sequence, arrived, ecn)) => {
                RtpFeedback::Packet(PacketFeedback { written, arrived, sequence, stream: StreamId(0), ecn })
            }
            None => RtpFeedback::Packets(self.write_blocks(written)),
        }
    }

    /// The packet that the next report tells of, where there is one stream and a report is due for each of its packets; it counts as
    /// reported then.
    #[inline(always)]
    fn take_only_arrival(&mut self) -> Option<(u64, Time, Ecn)> {
        let [packets] = &mut self.streams[..] else { return None };
        if self.held.is_some() || self.transport.is_some() {
            return None;
        }
        packets.take_only_arrival(self.config.overlap)
    }

    /// The report that is due, with a block for each stream of which packets came.
    #[inline(never)]
    fn write_blocks(&mut self, written: Time) -> Box<Feedback> {
        let mut feedback = match self.held.take() {
            Some(held) => held,
            None => emptied(&mut self.spare),
        };
        feedback.written = written;
        if let Some(transport) = &mut self.transport {
            self.streams.iter_mut().for_each(ReceivedPackets::take_as_reported);
            transport.report(self.config.overlap, &mut feedback);
        } else {
            for (id, packets) in self.streams.iter_mut().enumerate() {
                if packets.any_new() {
                    packets.report(StreamId(id as u8), self.config.overlap, &mut feedback);
                }
            }
        }
        if self.config.conceals.losses() {
            say_all_came(&mut feedback);
        }
        feedback
    }

    /// The way of a report is over.
    #[inline]
    pub fn recycle(&mut self, feedback: Box<Feedback>) {
        self.spare.push(feedback);
    }
}

/// An empty report, in the memory of an earlier one if there is one to spare.
#[inline]
#[allow(clippy::vec_box, reason = "reports come and go in their boxes")]
fn emptied(spare: &mut Vec<Box<Feedback>>) -> Box<Feedback> {
    let mut feedback = spare.pop().unwrap_or_default();
    feedback.clear();
    feedback
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReceiverClock;
    use proptest::prelude::*;

    proptest! {
        /// Times that mostly rise, by less than a tick or by many.
        #[test]
        fn what_was_read_last_is_said_again_only_while_the_clock_shows_it(
            steps in prop::collection::vec((-2..20i64, 0..100_000_000i64), 1..100),
            (ticks, skew, start) in (1..=1_000_000_000u32, prop::sample::select(vec![0.0, 100.0]), 0..2i64),
            exact in any::<bool>(),
        ) {
            let ticks = if exact { 1024 } else { ticks };
            let clock = ReceiverClock::new(ticks).expect("in range");
            let start = TimeDelta::from_secs(start);
            let config = FeedbackConfig { clock, skew, start, ..FeedbackConfig::default() };
            let mut reports = PacketReports::new(config.clone());
            let (mut now, tick) = (Time::ZERO, clock.step().as_nanos());
            for (parts, more) in steps {
                now += TimeDelta::from_nanos(tick * parts / 8 + more % 3);
                prop_assert_eq!(reports.read(now), config.read(now), "at {:?}", now);
                // To the tick, and around it.
                let until = reports.read.0.end;
                for at in [until - TimeDelta::from_nanos(1), until, until + TimeDelta::from_nanos(1)] {
                    prop_assert_eq!(reports.read(at), config.read(at), "at {:?}", at);
                }
            }
        }

        /// Packets that come in some order, late or twice: what is handed over says what is written.
        #[test]
        fn a_report_on_one_packet_says_what_a_report_with_blocks_does(
            arrivals in prop::collection::vec((-3..5i64, 0..4u8, 0..60u64), 1..60),
            (packets, overlap, streams) in (1..3u32, 0..3u32, 1..3u8),
        ) {
            let config = FeedbackConfig { packets, overlap, marker: false, ..FeedbackConfig::default() };
            let mut handed = PacketReports::new(config);
            (0..streams).for_each(|_| handed.add_stream());
            let (mut written, mut single) = (handed.clone(), Feedback::default());
            let (mut now, mut sequence) = (Time::ZERO, 100);
            for (n, (step, ecn, millis)) in arrivals.into_iter().enumerate() {
                now += TimeDelta::from_millis(millis as i64);
                sequence = (sequence as i64 + step) as u64;
                for reports in [&mut handed, &mut written] {
                    let id = StreamId(n as u8 % streams);
                    if reports.note(now, (id, sequence), None, Ecn::from_bits(ecn)) != Noted::TooOld {
                        reports.schedule(now, || Bytes::new(1000), false);
                    }
                }
                prop_assert_eq!(handed.due, written.due);
                if handed.due.is_some_and(|due| due <= now) {
                    let (report, whole) = (handed.hand_over(now), written.write(now));
                    prop_assert_eq!(report.on_packets(&mut single), Some(&*whole));
                    prop_assert_eq!(report.size(FeedbackConfig::default().format), FeedbackConfig::default().format.size(&whole));
                }
            }
        }
    }
}
