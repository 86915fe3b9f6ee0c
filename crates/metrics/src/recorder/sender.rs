//! The sender's half of a flow's record.

use super::Window;
use super::coupling::CouplingRecord;
use super::measures::{Level, ratio};
use super::rows::Rows;
use crate::figure::Cell;
use crate::histogram::Histogram;
use crate::table::{EcnSummary, FlowSummary};
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Controller, Snapshot, StreamId};
use paceline_ends::{CoupledShare, EcnCounters, EcnState, FrameCounters, SendingEnd};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Sums over the packets that one stream sent in the interval of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentSums {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// Nanoseconds that they waited in the send queue.
    pub(crate) send_queue_delay: u64,
}

/// A stream's sample at its sender at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderSample {
    pub(crate) sums: SentSums,
    /// Length of the interval.
    pub(crate) seconds: f64,
    /// Figures of the controller; none where the flow is not there.
    pub(crate) snapshot: Snapshot,
    pub(crate) target: Option<Bitrate>,
    /// Bytes in the send queue.
    pub(crate) queue: Option<Bytes>,
    /// Size of the newest frame.
    pub(crate) frame: Option<Bytes>,
    /// Group of flows that it shares in, counted from 0, and by what.
    pub(crate) group: Option<usize>,
    pub(crate) share: Option<CoupledShare>,
    /// Summary of the delays of the flow's packets.
    pub(crate) delays: Option<DelaySummary>,
}

impl SenderSample {
    /// A rate of its share, in Mbit/s.
    pub(crate) fn shared(&self, rate: fn(&CoupledShare) -> Option<Bitrate>) -> Option<f64> {
        self.share.as_ref().and_then(rate).map(Bitrate::as_mbps_f64)
    }
}

/// The columns that are sampled at the sender.
fn columns() -> impl Iterator<Item = fn(&SenderSample) -> Option<f64>> {
    FlowSummary::FIGURES.iter().filter_map(|figure| match figure.cell {
        Some(Cell::Sender(cell)) => Some(cell),
        _ => None,
    })
}

/// The sender's half of the record.
#[derive(Clone, Debug)]
pub(crate) struct SenderHalf {
    pub(super) rows: Rows,
    pub(crate) packets: u64,
    pub(crate) send_queue_delay: Histogram,
    pub(crate) srtt: Histogram,
    /// Frames captured and discarded in the window.
    pub(crate) captured: u64,
    pub(crate) discarded: u64,
    pub(crate) coupling: CouplingRecord,
    ecn: Option<(EcnState, EcnCounters)>,
    window: Window,
    /// When the flow is there.
    there: Window,
    intervals: Vec<SentSums>,
    last_sample: Time,
    /// The counters when the window began; none if it has not.
    begin: Option<FrameCounters>,
    srtt_level: Level<TimeDelta>,
    target_level: Level<Bitrate>,
    target_bits: u128,
    target_nanos: u64,
    /// Which of the controller's states are recorded, and room for all of them.
    recorded: Vec<usize>,
    states: Vec<Option<f64>>,
}

impl SenderHalf {
    /// A half whose statistics cover `window`, of a flow that is there in `there`.
    pub(super) fn new(
        (window, there): (Window, Window),
        streams: usize,
        recorded: Vec<usize>,
        states: usize,
    ) -> SenderHalf {
        SenderHalf {
            rows: Rows::new(columns().count() + recorded.len()),
            packets: 0,
            send_queue_delay: Histogram::new(),
            srtt: Histogram::new(),
            captured: 0,
            discarded: 0,
            coupling: CouplingRecord::default(),
            ecn: None,
            window,
            there,
            intervals: vec![SentSums::default(); streams],
            last_sample: Time::ZERO,
            begin: None,
            srtt_level: Level::UNKNOWN,
            target_level: Level::UNKNOWN,
            target_bits: 0,
            target_nanos: 0,
            states: vec![None; if recorded.is_empty() { 0 } else { states }],
            recorded,
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, now: Time, stream: StreamId, size: Bytes, send_queue_delay: TimeDelta) {
        if let Some(interval) = self.intervals.get_mut(usize::from(stream.0)) {
            interval.bytes += size.as_u64();
            interval.packets += 1;
            interval.send_queue_delay += send_queue_delay.as_nanos().max(0) as u64;
        }
        if self.window.contains(now) {
            self.packets += 1;
            self.send_queue_delay.record(send_queue_delay);
        }
    }

    /// The controller's figures are these from now on. Asked after each report, where most often neither changed.
    #[inline(always)]
    pub(super) fn observe(&mut self, now: Time, (srtt, target): (Option<TimeDelta>, Option<Bitrate>)) {
        if !self.srtt_level.is(srtt) {
            self.change_srtt(now, srtt);
        }
        if !self.target_level.is(target) {
            self.change_target(now, target);
        }
    }

    #[inline(never)]
    fn change_srtt(&mut self, now: Time, srtt: Option<TimeDelta>) {
        let Some((srtt, since)) = self.srtt_level.change(now, srtt) else { return };
        let nanos = self.window.overlap(since, now);
        if nanos > 0 {
            self.srtt.record_weighted(srtt, nanos);
        }
    }

    #[inline(never)]
    fn change_target(&mut self, now: Time, target: Option<Bitrate>) {
        let Some((target, since)) = self.target_level.change(now, target) else { return };
        let nanos = self.window.overlap(since, now);
        self.target_bits += u128::from(target.as_bps()) * u128::from(nanos);
        self.target_nanos += nanos;
    }

    /// Time average of the target, absent where none was known.
    pub(crate) fn target_mbps(&self) -> Option<f64> {
        ratio(self.target_bits as f64 / 1e6, self.target_nanos as f64)
    }

    /// The state of ECN on the path at the end.
    pub(crate) fn ecn(&self) -> Option<EcnSummary> {
        self.ecn.map(|(state, counters)| EcnSummary {
            state: state.name(),
            capable: counters.capable,
            failures: counters.failures,
            classic: counters.classic,
        })
    }

    pub(super) fn begin(&mut self, at: Time, sender: &impl SendingEnd) {
        self.observe(at, sender.srtt_and_target());
        self.begin = Some(sender.frames());
        self.coupling.begin();
    }

    pub(super) fn end(&mut self, at: Time, sender: &impl SendingEnd) {
        // The path known until now is over: nothing is known after the end.
        self.observe(at, (None, None));
        self.coupling.end();
        self.ecn = sender.ecn();
        // A window that ends before it begins holds nothing.
        let Some(before) = self.begin else { return };
        let now = sender.frames();
        self.captured = now.captured.saturating_sub(before.captured);
        self.discarded = now.discarded.saturating_sub(before.discarded);
    }

    pub(super) fn sample(&mut self, at: Time, sender: &impl SendingEnd) {
        let seconds = (at - self.last_sample).as_secs_f64();
        self.last_sample = at;
        // Before its start and after its stop a flow has no state, though its controller does.
        let shows = self.there.shows(at);
        let snapshot = if shows { sender.snapshot() } else { Snapshot::default() };
        self.states.fill(None);
        if shows && !self.recorded.is_empty() {
            sender.controller().state(&mut self.states);
        }
        for (index, interval) in self.intervals.iter_mut().enumerate() {
            let stream = StreamId(index as u8);
            let sample = SenderSample {
                sums: std::mem::take(interval),
                seconds,
                snapshot,
                target: sender.target(stream).filter(|_| shows),
                queue: shows.then(|| sender.send_queue_bytes(stream)),
                frame: sender.newest_frame(stream).filter(|_| shows),
                group: self.coupling.group().filter(|_| shows),
                share: self.coupling.share().filter(|_| shows),
                delays: sender.delay_summary().copied().filter(|_| shows),
            };
            let states = self.recorded.iter().map(|place| self.states.get(*place).copied().flatten());
            self.rows.push(at, stream.0, columns().map(|cell| cell(&sample)).chain(states));
        }
    }
}
