//! Which packets of a flow arrived, when that is reported, and how (RFC 8888, or by transport-wide numbers).

use super::received::{LONGEST_BLOCK, Noted, ReceivedPackets, TransportPackets};
use super::receiver::FeedbackConfig;
use super::report_rate::ReportRate;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::ccfb::Feedback;

/// The arrivals of a flow's streams, and the reports on them.
#[derive(Clone, Debug)]
pub(super) struct PacketReports {
    pub(super) config: FeedbackConfig,
    streams: Vec<ReceivedPackets>,
    /// The packets of all streams by their transport-wide numbers, where reports tell of those.
    transport: Option<Box<TransportPackets>>,
    unreported: u32,
    /// When the next report is due.
    pub(super) due: Option<Time>,
    rate: ReportRate,
    /// Reports whose way is over: their memory is used again.
    #[allow(clippy::vec_box, reason = "reports come and go in their boxes")]
    spare: Vec<Box<Feedback>>,
    /// What the next report says of streams whose numbers went on elsewhere before it was written.
    held: Option<Box<Feedback>>,
}

impl PacketReports {
    /// Of no stream yet.
    pub(super) fn new(config: FeedbackConfig) -> PacketReports {
        let packets = ReceivedPackets::new(config.overlap, config.reorder_time);
        let transport = config.format.is_transport_wide().then(|| Box::new(TransportPackets::new(packets)));
        PacketReports {
            config: FeedbackConfig { packets: config.packets.max(1), ..config },
            streams: Vec::new(),
            transport,
            unreported: 0,
            due: None,
            rate: ReportRate::new(),
            spare: Vec::new(),
            held: None,
        }
    }

    /// One more stream.
    pub(super) fn add_stream(&mut self) {
        self.streams.push(ReceivedPackets::new(self.config.overlap, self.config.reorder_time));
    }

    /// Whether packets of a stream came that a report is still to tell of under its name.
    pub(super) fn any_new(&self, id: StreamId) -> bool {
        let new = || self.streams.get(usize::from(id.0)).is_some_and(ReceivedPackets::any_new);
        self.transport.is_none() && new()
    }

    /// As [`RtpReceiver::resynchronise`](super::RtpReceiver::resynchronise); what was not reported yet is still reported if it is
    /// to be `kept`.
    #[cold]
    pub(super) fn resynchronise(&mut self, id: StreamId, sequence: u64, kept: bool) {
        let Some(packets) = self.streams.get_mut(usize::from(id.0)) else { return };
        if packets.any_new() && kept && self.transport.is_none() {
            let held = self.held.get_or_insert_with(|| emptied(&mut self.spare));
            // What does not fit into a report any more is told by none.
            if held.arrivals.len() < LONGEST_BLOCK as usize {
                packets.report(id, self.config.overlap, held);
            }
        }
        packets.resynchronise(sequence);
    }

    /// Notes the arrival of a packet; `transport` is its transport-wide number, where it has one. Nothing is known of a stream that
    /// was not added.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        now: Time,
        (id, sequence): (StreamId, u64),
        transport: Option<u16>,
        ecn: Ecn,
    ) -> Noted {
        let Some(packets) = self.streams.get_mut(usize::from(id.0)) else { return Noted::TooOld };
        let noted = packets.note(sequence, self.config.read(now), ecn);
        if let (Some(own), Some(number), true) = (&mut self.transport, transport, noted != Noted::TooOld) {
            own.note(number, self.config.read(now));
        }
        noted
    }

    /// A packet with this transport-wide number arrived that its stream refuses; a report is due on it if it is to be `told`.
    #[cold]
    pub(super) fn note_refused(&mut self, now: Time, number: u16, told: bool) {
        let Some(transport) = &mut self.transport else { return };
        transport.note(number, self.config.read(now));
        if transport.any_new() && told {
            let due = if self.config.by_rate { self.rate.due(now) } else { now + self.config.time };
            self.due.get_or_insert(due);
        }
    }

    /// Notes when the next report is due, now that a packet of this size has arrived.
    #[inline]
    pub(super) fn schedule(&mut self, now: Time, size: Bytes, marker: bool) {
        if self.config.by_rate {
            self.rate.on_packet(now, size);
            self.due.get_or_insert(self.rate.due(now));
            return;
        }
        self.unreported += 1;
        if self.due.is_none() {
            self.due = Some(now + self.config.time);
        }
        if self.unreported >= self.config.packets || (marker && self.config.marker) {
            self.due = Some(now);
        }
    }

    /// Writes the report that is due.
    #[inline]
    pub(super) fn write(&mut self, now: Time) -> Box<Feedback> {
        (self.due, self.unreported) = (None, 0);
        self.rate.on_report(now);
        let mut feedback = match self.held.take() {
            Some(held) => held,
            None => emptied(&mut self.spare),
        };
        feedback.written = self.config.read(now);
        if let Some(transport) = &mut self.transport {
            self.streams.iter_mut().for_each(ReceivedPackets::take_as_reported);
            transport.report(self.config.overlap, &mut feedback);
            return feedback;
        }
        for (id, packets) in self.streams.iter_mut().enumerate() {
            if packets.any_new() {
                packets.report(StreamId(id as u8), self.config.overlap, &mut feedback);
            }
        }
        feedback
    }

    /// The way of a report is over.
    #[inline]
    pub(super) fn recycle(&mut self, feedback: Box<Feedback>) {
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
