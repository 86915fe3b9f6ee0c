//! Feedback at the sender endpoint: reports are completed from what was sent, judged, and told to the controller.

use super::plausible::{PlausibleTimes, Told};
use super::sender::RtpSender;
use super::streams::Streams;
use super::transport_wide::TransportHistory;
use paceline_cc::{Controller, PacketResult, PacketsReport, ReceiverReport, Report, Status};
use paceline_units::{Time, TimeDelta};
use paceline_wire::TRANSPORT_WIDE;
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock, PacketFeedback};

/// The last report, and what reports of one flow can tell.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    results: Vec<PacketResult>,
    plausible: PlausibleTimes,
    clock_step: TimeDelta,
    /// When the first and the last packet left; before any did, the end of time and its beginning.
    sent_between: (Time, Time),
    unknown: u64,
    impossible_times: u64,
}

impl Reported {
    /// Of a receiver whose clock has this step: nothing yet.
    pub(super) fn new(clock_step: TimeDelta) -> Reported {
        Reported {
            results: Vec::new(),
            plausible: PlausibleTimes::new(clock_step),
            clock_step,
            sent_between: (Time::MAX, Time::ZERO),
            unknown: 0,
            impossible_times: 0,
        }
    }

    /// The results of the last report.
    #[inline]
    pub(super) fn results(&self) -> &[PacketResult] {
        &self.results
    }

    /// The receiver's clock at `now`, as far as is known.
    pub(super) fn receiver_time(&self, now: Time) -> Option<Time> {
        self.plausible.receiver_time(now)
    }

    /// Packets and messages that nothing was known of ([`super::SenderCounters::unknown_reports`]).
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Times that cannot be ([`super::SenderCounters::impossible_times`]).
    pub(super) fn impossible_times(&self) -> u64 {
        self.impossible_times
    }

    pub(super) fn count_unknown(&mut self, count: u64) {
        self.unknown += count;
    }

    /// Packets leave, the last at `now`.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        self.sent_between = (self.sent_between.0.min(now), now);
    }

    /// The time since the first packet left.
    pub(super) fn elapsed(&self, now: Time) -> TimeDelta {
        now.saturating_since(self.sent_between.0)
    }

    /// Whether something may have been sent at the time that a receiver half echoes, if it echoes one.
    fn is_send_time(&self, now: Time, report: &ReceiverReport) -> bool {
        let (first, last) = self.sent_between;
        match report {
            ReceiverReport::Tfrc { newest_sent: Some(sent), .. } => first <= *sent && *sent <= last.min(now),
            ReceiverReport::Tfrc { .. } | ReceiverReport::Remb { .. } => true,
        }
    }

    /// Completes a report on several packets.
    #[inline(always)]
    fn complete(
        &mut self,
        now: Time,
        feedback: &Feedback,
        streams: &mut Streams,
        transport: Option<&TransportHistory>,
    ) {
        let mut rest = &feedback.arrivals[..];
        for block in &feedback.blocks {
            let (entries, others) = rest.split_at(rest.len().min(block.count as usize));
            rest = others;
            if block.stream != TRANSPORT_WIDE {
                self.complete_block(streams, block, entries);
            } else if let Some(history) = transport {
                let known = |result| self.results.push(result);
                self.unknown += history.complete(streams, (block, entries), known);
            } else {
                self.unknown += entries.len() as u64;
            }
        }
        self.impossible_times += self.plausible.judge(now, feedback.written, &mut self.results);
    }

    /// Adds size and send time to what a report says of the packets of a block.
    #[inline]
    fn complete_block(&mut self, streams: &mut Streams, block: &FeedbackBlock, entries: &[ArrivalReport]) {
        let Some(stream) = streams.by_id_mut(block.stream) else {
            self.unknown += entries.len() as u64;
            return;
        };
        let history = stream.history();
        let known = history.reported(block.begin, entries.len());
        self.unknown += (entries.len() - known.len()) as u64;
        let first = block.begin.saturating_add(known.start as u64);
        self.results.extend(history.results((block.stream, first), &entries[known]));
    }

    /// Completes a report on one packet. False if that was never sent, or too long ago.
    #[inline(always)]
    fn complete_packet(&mut self, now: Time, report: &PacketFeedback, streams: &mut Streams) -> bool {
        let packet = (report.stream, report.sequence);
        let known = streams.by_id_mut(report.stream);
        let Some(result) = known.and_then(|known| known.history().complete(packet, report.arrival())) else {
            self.unknown += 1;
            return false;
        };
        let arrived = match self.plausible.doubts(now, report.written, &result) {
            None => Some(report.arrived),
            Some(told) => self.judge_packet(told, result),
        };
        self.results.push(PacketResult { status: Status::Received { arrived, ecn: report.ecn }, ..result });
        true
    }

    /// Weighs a report on one packet that says something new of the receiver's clock. Returns the packet's arrival, by the sender's
    /// knowledge of that clock afterwards.
    ///
    /// Only the arrival is returned, since it fits in registers: the caller then writes the whole result once, in its place.
    #[inline(never)]
    fn judge_packet(&mut self, told: Told, mut result: PacketResult) -> Option<Time> {
        self.impossible_times += self.plausible.weigh(told, std::slice::from_mut(&mut result));
        match result.status {
            Status::Received { arrived, .. } => arrived,
            Status::Missing => None,
        }
    }
}

impl<C: Controller> RtpSender<C> {
    /// A report on several packets came. Apart from that on one, whose path is short.
    #[inline(never)]
    pub(super) fn handle_report(&mut self, now: Time, feedback: &Feedback) {
        self.begin_results(now);
        self.reported.complete(now, feedback, &mut self.streams, self.transport.as_deref());
        if !self.reported.results.is_empty() {
            self.tell_results(now);
        }
    }

    /// A report on one packet came. Apart from what calls it, so that its state has registers enough.
    #[inline(never)]
    pub(super) fn handle_packet_report(&mut self, now: Time, report: &PacketFeedback) {
        self.begin_results(now);
        if self.reported.complete_packet(now, report, &mut self.streams) {
            self.tell_results(now);
        }
    }

    /// A report came: nothing of it is known yet.
    #[inline(always)]
    fn begin_results(&mut self, now: Time) {
        if self.streams.has_gone(now) {
            self.let_go(now);
        }
        self.reported.results.clear();
    }

    /// A report tells of packets that were sent.
    #[inline(always)]
    fn tell_results(&mut self, now: Time) {
        let Reported { results, clock_step, .. } = &self.reported;
        if let Some(delays) = &mut self.delays {
            delays.on_packets(now, results);
        }
        let report = PacketsReport { packets: results, clock_step: *clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.apply(now, update);
        if self.breaker.is_some() || self.ecn.is_checked() {
            self.tell_breaker(now);
            self.tell_ecn(now);
        }
    }

    /// The receiver half reported. The send time that it echoes must be one at which something was sent.
    pub(super) fn handle_receiver_report(&mut self, now: Time, report: ReceiverReport) {
        if !self.reported.is_send_time(now, &report) {
            self.reported.count_unknown(1);
            return;
        }
        let update = self.controller.on_report(now, &Report::Receiver(report));
        self.apply(now, update);
        self.tell_breaker_heard();
    }
}
