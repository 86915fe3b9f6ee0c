//! Feedback at the sender endpoint: reports are completed from what was sent, judged, and told to the controller.

use super::plausible::Told;
use super::sender::RtpSender;
use paceline_cc::{Controller, PacketResult, PacketsReport, ReceiverReport, Report, Status};
use paceline_units::Time;
use paceline_wire::TRANSPORT_WIDE;
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock, PacketFeedback};

impl<C: Controller> RtpSender<C> {
    /// A report on several packets came. Apart from that on one, whose path is short.
    #[inline(never)]
    pub(super) fn handle_report(&mut self, now: Time, feedback: &Feedback) {
        self.begin_results(now);
        let mut rest = &feedback.arrivals[..];
        for block in &feedback.blocks {
            let (entries, others) = rest.split_at(rest.len().min(block.count as usize));
            rest = others;
            if block.stream == TRANSPORT_WIDE {
                self.complete_transport(block, entries);
            } else {
                self.complete(block, entries);
            }
        }
        self.counters.impossible_times += self.plausible.judge(now, feedback.written, &mut self.results);
        if !self.results.is_empty() {
            self.tell_results(now);
        }
    }

    /// A report on one packet came. Apart from what calls it, so that its state has registers enough.
    #[inline(never)]
    pub(super) fn handle_packet_report(&mut self, now: Time, report: &PacketFeedback) {
        self.begin_results(now);
        let packet = (report.stream, report.sequence);
        let known = self.streams.get_mut(usize::from(report.stream.0));
        let Some(result) = known.and_then(|known| known.history.complete(packet, report.arrival())) else {
            self.counters.unknown_reports += 1;
            return;
        };
        let arrived = match self.plausible.doubts(now, report.written, &result) {
            None => Some(report.arrived),
            Some(told) => self.judge_packet(told, result),
        };
        self.results.push(PacketResult { status: Status::Received { arrived, ecn: report.ecn }, ..result });
        self.tell_results(now);
    }

    /// Weighs a report on one packet that says something new of the receiver's clock. Returns the packet's arrival, by the sender's
    /// knowledge of that clock afterwards.
    ///
    /// Only the arrival is returned, since it fits in registers: the caller then writes the whole result once, in its place.
    #[inline(never)]
    fn judge_packet(&mut self, told: Told, mut result: PacketResult) -> Option<Time> {
        self.counters.impossible_times += self.plausible.weigh(told, std::slice::from_mut(&mut result));
        match result.status {
            Status::Received { arrived, .. } => arrived,
            Status::Missing => None,
        }
    }

    /// A report came: nothing of it is known yet.
    #[inline(always)]
    fn begin_results(&mut self, now: Time) {
        if self.leaving.is_some_and(|due| due <= now) {
            self.let_go(now);
        }
        self.results.clear();
    }

    /// A report tells of packets that were sent.
    #[inline(always)]
    fn tell_results(&mut self, now: Time) {
        if let Some(delays) = &mut self.delays {
            delays.on_packets(now, &self.results);
        }
        let report = PacketsReport { packets: &self.results, clock_step: self.clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.apply(now, update);
        if self.breaker.is_some() || self.ecn_check.is_some() {
            self.tell_breaker(now);
            self.tell_ecn(now);
        }
    }

    /// The receiver half reported. The send time that it echoes must be one at which something was sent.
    pub(super) fn handle_receiver_report(&mut self, now: Time, report: ReceiverReport) {
        let newest_sent = match report {
            ReceiverReport::Tfrc { newest_sent, .. } => newest_sent,
            ReceiverReport::Remb { .. } => None,
        };
        if let Some(newest_sent) = newest_sent {
            let (first, last) = self.sent_between;
            if newest_sent < first || last.min(now) < newest_sent {
                self.counters.unknown_reports += 1;
                return;
            }
        }
        let update = self.controller.on_report(now, &Report::Receiver(report));
        self.apply(now, update);
        self.tell_breaker_heard();
    }

    /// Adds size and send time to what a report says of the packets of a block.
    #[inline]
    fn complete(&mut self, block: &FeedbackBlock, entries: &[ArrivalReport]) {
        let Some(stream) = self.streams.get_mut(usize::from(block.stream.0)) else {
            self.counters.unknown_reports += entries.len() as u64;
            return;
        };
        let known = stream.history.reported(block.begin, entries.len());
        self.counters.unknown_reports += (entries.len() - known.len()) as u64;
        let first = block.begin.saturating_add(known.start as u64);
        for (sequence, arrival) in (first..).zip(&entries[known]) {
            self.results.push(stream.history.result((block.stream, sequence), *arrival));
        }
    }
}
