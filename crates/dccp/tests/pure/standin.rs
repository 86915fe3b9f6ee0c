//! Congestion control for the tests of the transport: a window that grows and is halved, and a receiver that reports.
//!
//! It needs only the crates below and the standard library, so that the fuzz target `dccp_connection` takes this very
//! file in by its path.

use paceline_cc::ccid::{CcidReceiver, CcidReport, DroppedPacket, LossIntervals};
use paceline_cc::{
    Allowance, Annotation, Arrival, Assigned, Controller, Offered, ReceiverHalf, ReceiverReport, Report,
    SendQueueState, SentPacket, Snapshot, Status, StreamId, TimeoutReason, Update,
};
use paceline_dccp::{CCID_2, CCID_3, Ccid, Ccids};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::collections::BTreeMap;

const TIMEOUT: TimeDelta = TimeDelta::from_secs(1);
const NUMDUPACK: usize = 3;

/// A window in packets: one more per window, half of it after a loss or a mark, one after a timeout.
#[derive(Clone, Debug)]
pub struct StandIn {
    window: f64,
    /// Packets under way: number to size.
    under_way: BTreeMap<u64, Bytes>,
    /// Packets up to here belong to the last reduction.
    reduced: u64,
    newest: u64,
    progress: Time,
    /// Packets that were heard of.
    pub received: u64,
    /// Packets inferred lost.
    pub lost: u64,
    /// Packets that came back marked.
    pub marked: u64,
    /// Reports of a receiver half.
    pub reports: Vec<ReceiverReport>,
    /// How many loss intervals each report told.
    pub intervals: Vec<usize>,
    /// The most packets that were under way.
    pub most_under_way: usize,
    /// Acknowledgements that were lost.
    pub acknowledgments_lost: u64,
    /// Packets that the other end dropped.
    pub dropped: Vec<DroppedPacket>,
    /// How often the receiver was slow.
    pub slow: u32,
    /// The Ack Ratio that the receiver is asked for, if any.
    pub ack_ratio: Option<u16>,
}

impl StandIn {
    fn new() -> StandIn {
        StandIn {
            window: 4.0,
            under_way: BTreeMap::new(),
            reduced: 0,
            newest: 0,
            progress: Time::ZERO,
            received: 0,
            lost: 0,
            marked: 0,
            reports: Vec::new(),
            intervals: Vec::new(),
            most_under_way: 0,
            acknowledgments_lost: 0,
            dropped: Vec::new(),
            slow: 0,
            ack_ratio: None,
        }
    }

    fn answer(&self) -> Update {
        let left = (self.window as u64).saturating_sub(self.under_way.len() as u64);
        let receiver = self.ack_ratio.map(paceline_cc::ReceiverRequest::PacketsPerReport);
        Update { allowance: Some(Allowance::Packets(left)), receiver, ..Update::none() }
    }

    fn reduce(&mut self, sequence: u64) {
        if sequence >= self.reduced {
            self.window = (self.window / 2.0).max(1.0);
            self.reduced = self.newest + 1;
        }
    }
}

impl Controller for StandIn {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.answer()
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if self.under_way.is_empty() {
            self.progress = now;
        }
        assert!(packet.sequence >= self.newest, "numbers rise");
        self.newest = packet.sequence;
        self.under_way.insert(packet.sequence, packet.size);
        self.most_under_way = self.most_under_way.max(self.under_way.len());
        self.answer()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let packets = match report {
            Report::Packets(report) => report.packets,
            Report::Receiver(report) => {
                self.reports.push(*report);
                self.reports.truncate(1000);
                self.under_way.clear();
                return self.answer();
            }
            Report::Congestion(_) => return self.answer(),
            Report::Ccid(CcidReport::LossIntervals(report)) => {
                self.intervals.push(report.intervals.len());
                self.intervals.truncate(1000);
                return self.answer();
            }
            Report::Ccid(CcidReport::AckPath(report)) => {
                self.acknowledgments_lost = self.acknowledgments_lost.saturating_add(report.lost);
                return Update::none();
            }
            Report::Ccid(CcidReport::DataDropped(dropped)) => {
                assert!(dropped.is_sorted_by_key(|drop| drop.sequence), "in order");
                self.dropped.extend_from_slice(dropped);
                self.dropped.truncate(1000);
                return Update::none();
            }
            Report::Ccid(CcidReport::SlowReceiver) => {
                self.slow = self.slow.saturating_add(1);
                return Update::none();
            }
        };
        assert!(packets.is_sorted_by_key(|packet| packet.sequence), "in order");
        for packet in packets {
            let Status::Received { ecn, .. } = packet.status else { continue };
            let Some(size) = self.under_way.remove(&packet.sequence) else {
                // Without data, or marked after it was told unmarked.
                continue;
            };
            assert_eq!(size, packet.size);
            (self.received, self.progress) = (self.received + 1, now);
            if ecn.is_ce() {
                self.marked += 1;
                self.reduce(packet.sequence);
            } else {
                self.window = (self.window + 1.0 / self.window).min(1000.0);
            }
        }
        let later = |sequence: u64| {
            packets.iter().filter(|p| p.sequence > sequence && p.status != Status::Missing).count()
        };
        let lost: Vec<u64> = self.under_way.keys().copied().filter(|n| later(*n) >= NUMDUPACK).collect();
        for sequence in lost {
            self.under_way.remove(&sequence);
            self.lost += 1;
            self.reduce(sequence);
        }
        self.answer()
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        (!self.under_way.is_empty()).then_some((self.progress + TIMEOUT, TimeoutReason::Stalled))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        (self.window, self.progress) = (1.0, now);
        self.lost += self.under_way.len() as u64;
        self.under_way.clear();
        self.answer()
    }

    fn annotation(&self, now: Time, _stream: StreamId) -> Option<Annotation> {
        Some(Annotation::Counter((now.as_nanos() / 10_000_000) as u8 & 15))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}

/// Reports after 50 ms, or at once if a packet is missing.
#[derive(Clone, Debug, Default)]
pub struct Reporter {
    due: Option<Time>,
    since: Time,
    bytes: u64,
    newest: Option<u64>,
    lost: u64,
    packets: u64,
}

impl ReceiverHalf for Reporter {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        let next = self.newest.map_or(arrival.sequence, |newest| newest + 1);
        let missing = arrival.sequence.saturating_sub(next);
        self.newest = self.newest.max(Some(arrival.sequence));
        self.lost += missing;
        assert!(matches!(arrival.annotation, Some(Annotation::Counter(0..=15))));
        self.packets += 1;
        self.bytes += arrival.size.as_u64();
        self.due.get_or_insert(now + TimeDelta::from_millis(50));
        missing > 0
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        self.due = None;
        let span = now.saturating_since(self.since).max(TimeDelta::from_millis(1));
        let receive_rate = Bitrate::from_bps_f64(self.bytes as f64 * 8.0 / span.as_secs_f64());
        let loss_event_rate =
            if self.lost == 0 { 0.0 } else { self.lost as f64 / (self.lost + self.packets) as f64 };
        (self.bytes, self.since) = (0, now);
        Some(ReceiverReport::Tfrc {
            loss_event_rate,
            receive_rate,
            newest_sent: None,
            delay: TimeDelta::ZERO,
        })
    }
}

impl CcidReceiver for Reporter {
    fn on_non_data(&mut self, _now: Time, sequence: u64) -> bool {
        let next = self.newest.map_or(sequence, |newest| newest + 1);
        self.lost += sequence.saturating_sub(next);
        self.newest = self.newest.max(Some(sequence));
        false
    }

    fn loss_intervals(&self) -> LossIntervals<'_> {
        LossIntervals::default()
    }
}

/// Both CCIDs with the stand-ins.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandIns;

impl Ccids for StandIns {
    type Sender = StandIn;
    type Receiver = Reporter;

    fn sender(&self, ccid: Ccid) -> Option<StandIn> {
        matches!(ccid, CCID_2 | CCID_3).then(StandIn::new)
    }

    fn receiver(&self, ccid: Ccid) -> Option<Reporter> {
        (ccid == CCID_3).then(Reporter::default)
    }
}
