//! The one-way delays of a flow, summarised for shared-bottleneck detection (RFC 8382): at the receiver of its packets, or
//! at their sender from RFC 8888's reports.
//!
//! A function that is called for each packet or report is marked cold: few flows summarise their delays, and the others keep this code
//! out of their path.

use super::sender::RtpSender;
use paceline_cc::one_way_delay::OneWayDelay;
use paceline_cc::shared_bottleneck::{DelayStatistics, DelaySummary, Params, SummaryEnd};
use paceline_cc::{Controller, PacketResult, Status, StreamId};
use paceline_units::{Time, TimeDelta};
use paceline_wire::delays::DelaySummaryPacket;

/// The summary of a flow's delays as its receiver sends it, once an interval (RFC 8382 section 3.1.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayReport {
    /// A stream of the flow that it is of.
    pub stream: StreamId,
    /// The interval over which delays are averaged, T, as both ends agreed.
    pub interval: TimeDelta,
    /// Statistics of the delays.
    pub summary: DelaySummary,
}

impl DelayReport {
    /// The report as an RTCP packet, of the stream with this SSRC.
    pub fn to_packet(&self, sender_ssrc: u32, ssrc: u32) -> DelaySummaryPacket {
        let DelaySummary { intervals, skewness, variability, frequency, loss, bottleneck } = self.summary;
        DelaySummaryPacket {
            sender_ssrc,
            ssrc,
            interval: self.interval,
            intervals: u32::try_from(intervals).unwrap_or(u32::MAX),
            bottleneck,
            skewness,
            variability,
            frequency,
            loss,
        }
    }

    /// An RTCP packet's summary of the flow to which `stream` belongs.
    pub fn of_packet(packet: &DelaySummaryPacket, stream: StreamId) -> DelayReport {
        let &DelaySummaryPacket { interval, bottleneck, skewness, variability, frequency, loss, .. } = packet;
        let intervals = packet.intervals.into();
        let summary = DelaySummary { intervals, skewness, variability, frequency, loss, bottleneck };
        DelayReport { stream, interval, summary }
    }
}

/// Packets that are missing so far, as a sequence of numbers shows: those expected less those that came. A late packet
/// takes back a loss that was counted before.
#[derive(Clone, Copy, Debug, Default)]
struct Missing(i64);

impl Missing {
    fn expect(&mut self, packets: u64) {
        self.0 = self.0.saturating_add_unsigned(packets);
    }

    fn came(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    /// Losses that are to be counted now.
    fn take(&mut self) -> u64 {
        let lost = self.0.max(0);
        self.0 -= lost;
        lost.unsigned_abs()
    }
}

/// A number further ahead is no gap but a new beginning.
const LONGEST_GAP: u64 = 16_384;
/// For so long after numbers went on elsewhere, a gap may be the way back.
const UNSETTLED: TimeDelta = TimeDelta::from_secs(1);

/// Summarises the delays of the packets that arrive at a receiver.
#[derive(Clone, Debug)]
pub(super) struct ArrivalDelays {
    statistics: DelayStatistics,
    interval: TimeDelta,
    /// One above the highest sequence number of each stream; absent before its first packet.
    ends: Vec<Option<u64>>,
    missing: Missing,
    /// When the numbers of a stream went on elsewhere.
    jumped: Option<Time>,
    /// The summary of an interval that has ended, and since when it waits to be sent.
    ready: Option<(Time, DelaySummary)>,
}

impl ArrivalDelays {
    pub(super) fn new(params: &Params, streams: usize) -> ArrivalDelays {
        ArrivalDelays {
            statistics: DelayStatistics::new(params),
            interval: params.interval,
            ends: vec![None; streams],
            missing: Missing::default(),
            jumped: None,
            ready: None,
        }
    }

    /// A packet arrived that had not arrived before: `arrived` by the receiver's clock, and sent at `sent` by the sender's
    /// if the packet says it.
    #[cold]
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        (stream, sequence): (StreamId, u64),
        arrived: Time,
        sent: Option<Time>,
    ) {
        self.pass(now);
        let Some(end) = self.ends.get_mut(usize::from(stream.0)) else { return };
        let next = sequence.saturating_add(1);
        let settled = self.jumped.is_none_or(|jumped| now.saturating_since(jumped) >= UNSETTLED);
        match *end {
            Some(known) if next <= known => {}
            Some(known) if next - known <= LONGEST_GAP && settled => {
                self.missing.expect(next - known);
                *end = Some(next);
            }
            _ => {
                self.missing.expect(1);
                *end = Some(next);
            }
        }
        self.missing.came();
        if let Some(sent) = sent {
            self.statistics.on_delay(arrived - sent);
        }
    }

    /// The numbers of a stream went on elsewhere: which of them are missing, nobody can tell.
    pub(super) fn resynchronise(&mut self, now: Time, stream: StreamId) {
        if let Some(end) = self.ends.get_mut(usize::from(stream.0)) {
            *end = None;
        }
        (self.missing, self.jumped) = (Missing::default(), Some(now));
    }

    fn pass(&mut self, now: Time) {
        if self.statistics.next_timeout().is_some_and(|end| end <= now) {
            self.statistics.on_lost(self.missing.take());
        }
        if let Some(summary) = self.statistics.pass(now) {
            self.ready = Some((now, *summary));
        }
    }

    /// When the next summary is sent; absent before the first packet.
    #[cold]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.ready.map(|(since, _)| since).or(self.statistics.next_timeout())
    }

    /// The report that is due at `now`.
    #[cold]
    pub(super) fn poll(&mut self, now: Time) -> Option<DelayReport> {
        if self.statistics.next_timeout().is_some_and(|end| end <= now) {
            self.pass(now);
        }
        let (_, summary) = self.ready.take()?;
        Some(DelayReport { stream: StreamId(0), interval: self.interval, summary })
    }
}

/// The sender's record of its flow's delays.
#[derive(Clone, Debug)]
pub(super) struct SentDelays {
    interval: TimeDelta,
    newest: Option<DelaySummary>,
    /// Where the sender itself summarises.
    reported: Option<ReportedDelays>,
}

impl SentDelays {
    pub(super) fn new(params: &Params, streams: usize) -> SentDelays {
        let reported = (params.at == SummaryEnd::Sender).then(|| ReportedDelays::new(params, streams));
        SentDelays { interval: params.interval, newest: None, reported }
    }

    pub(super) fn newest(&self) -> Option<&DelaySummary> {
        self.newest.as_ref()
    }

    /// The receiver's summary came, `elapsed` after the first packet of a flow of `streams` streams left. Answers whether
    /// it changed anything: it must be of this flow, of the agreed interval, newer than the last, of no more intervals
    /// than there can have been, and possible.
    pub(super) fn on_report(&mut self, report: &DelayReport, streams: usize, elapsed: TimeDelta) -> bool {
        let DelayReport { stream, interval, summary } = report;
        let passed =
            elapsed.as_nanos().max(0).unsigned_abs() / self.interval.as_nanos().max(1).unsigned_abs();
        // The receiver's clock may run fast by a percent.
        let most = passed + passed / 100;
        let newer = self.newest.is_none_or(|known| known.intervals < summary.intervals);
        let taken = self.reported.is_none()
            && usize::from(stream.0) < streams
            && *interval == self.interval
            && newer
            && summary.intervals <= most
            && summary.is_possible();
        if taken {
            self.newest = Some(*summary);
        }
        taken
    }

    /// RFC 8888's report came and says this of single packets.
    #[cold]
    pub(super) fn on_packets(&mut self, now: Time, results: &[PacketResult]) {
        let Some(reported) = &mut self.reported else { return };
        if let Some(summary) = reported.on_packets(now, results) {
            self.newest = Some(*summary);
        }
    }
}

impl<C: Controller> RtpSender<C> {
    /// Keeps the summary of its packets' delays: the receiver's, or its own, as the parameters say.
    pub fn summarise_delays(&mut self, params: &Params) {
        self.delays = Some(Box::new(SentDelays::new(params, self.streams.len())));
    }

    /// The receiver's summary of delays came.
    #[cold]
    pub(super) fn handle_delays(&mut self, now: Time, report: &DelayReport) {
        let elapsed = self.reported.elapsed(now);
        let streams = self.streams.len();
        let taken = self.delays.as_mut().is_some_and(|delays| delays.on_report(report, streams, elapsed));
        self.reported.count_unknown(u64::from(!taken));
    }
}

/// Summarises delays from RFC 8888's reports, each packet once, however many reports cover it (RFC 8382 section 3.1.1).
#[derive(Clone, Debug)]
struct ReportedDelays {
    statistics: DelayStatistics,
    /// Takes steps of the receiver's clock out of the delays. A skew stays: what is learned of it would show as a jump.
    clocks: OneWayDelay,
    missing: Missing,
    streams: Vec<ReportedStream>,
}

impl ReportedDelays {
    fn new(params: &Params, streams: usize) -> ReportedDelays {
        ReportedDelays {
            statistics: DelayStatistics::new(params),
            clocks: OneWayDelay::new(true),
            missing: Missing::default(),
            streams: (0..streams).map(|_| ReportedStream::new()).collect(),
        }
    }

    fn on_packets(&mut self, now: Time, results: &[PacketResult]) -> Option<&DelaySummary> {
        let ends = self.statistics.next_timeout().is_some_and(|end| end <= now);
        if ends {
            self.statistics.on_lost(self.missing.take());
        }
        let _ = self.statistics.pass(now);
        for packet in results {
            let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { continue };
            let received = matches!(packet.status, Status::Received { .. });
            let (first, came) = stream.note(packet.sequence, received);
            self.missing.expect(u64::from(first));
            if came {
                self.missing.came();
            }
            if let (true, Status::Received { arrived: Some(arrived), .. }) = (came, packet.status) {
                let _ = self.clocks.on_arrival(now, packet.sent, arrived);
                self.statistics.on_delay(arrived - packet.sent - self.clocks.stepped());
            }
        }
        ends.then(|| self.statistics.summary())
    }
}

/// The reported state of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Nothing,
    Missing,
    Received,
}

/// The reported states of the last packets of one stream.
#[derive(Clone, Debug)]
struct ReportedStream {
    told: Vec<Told>,
    /// One above the highest sequence number that a report covered.
    end: u64,
}

/// Packets of a stream that reports may cover again: as many as one block has.
const REMEMBERED: u64 = 16_384;

impl ReportedStream {
    fn new() -> ReportedStream {
        ReportedStream { told: vec![Told::Nothing; REMEMBERED as usize], end: 0 }
    }

    /// A report covers a packet: whether it is the first that does, and the first that says it came.
    fn note(&mut self, sequence: u64, received: bool) -> (bool, bool) {
        let place = |sequence: u64| (sequence % REMEMBERED) as usize;
        if sequence >= self.end {
            let from = self.end.max(sequence.saturating_sub(REMEMBERED));
            (from..=sequence).for_each(|sequence| self.told[place(sequence)] = Told::Nothing);
            self.end = sequence.saturating_add(1);
        } else if self.end - sequence > REMEMBERED {
            return (false, false);
        }
        let told = &mut self.told[place(sequence)];
        let (first, came) = (*told == Told::Nothing, received && *told != Told::Received);
        *told = if received || *told == Told::Received { Told::Received } else { Told::Missing };
        (first, came)
    }
}

#[cfg(test)]
#[path = "delays_tests.rs"]
mod tests;
