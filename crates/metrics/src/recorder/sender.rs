//! The sender's half of a flow's record.

use super::Window;
use super::measures::Level;
use super::rows::Rows;
use crate::histogram::Histogram;
use crate::summary::ratio;
use paceline_cc::{Controller, Snapshot, StreamId};
use paceline_transport::{FrameCounters, SendingEnd};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Sums of one stream over the interval of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    bytes: u64,
    packets: u64,
    waited: u64,
}

/// What is seen at the sender.
#[derive(Clone, Debug)]
pub(super) struct SenderHalf {
    pub(super) rows: Rows,
    pub(super) packets: u64,
    pub(super) send_queue_delay: Histogram,
    pub(super) srtt: Histogram,
    /// Frames captured and discarded in the window.
    pub(super) captured: u64,
    pub(super) discarded: u64,
    window: Window,
    /// When the flow is there.
    there: Window,
    intervals: Vec<Interval>,
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
    /// The columns before those of recorded states.
    pub(super) const COLUMNS: [&'static str; 9] = [
        "target_bitrate_mbps",
        "send_rate_mbps",
        "cwnd_bytes",
        "bytes_in_flight",
        "srtt_ms",
        "queue_delay_estimate_ms",
        "send_queue_delay_ms",
        "send_queue_bytes",
        "frame_bytes",
    ];

    /// A half whose statistics cover `window`, of a flow that is there in `there`.
    pub(super) fn new(
        (window, there): (Window, Window),
        streams: usize,
        recorded: Vec<usize>,
        states: usize,
    ) -> SenderHalf {
        SenderHalf {
            rows: Rows::new(Self::COLUMNS.len() + recorded.len()),
            packets: 0,
            send_queue_delay: Histogram::new(),
            srtt: Histogram::new(),
            captured: 0,
            discarded: 0,
            window,
            there,
            intervals: vec![Interval::default(); streams],
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
    pub(super) fn sent(&mut self, now: Time, stream: StreamId, size: Bytes, waited: TimeDelta) {
        if let Some(interval) = self.intervals.get_mut(usize::from(stream.0)) {
            interval.bytes += size.as_u64();
            interval.packets += 1;
            interval.waited += waited.as_nanos().max(0) as u64;
        }
        if self.window.contains(now) {
            self.packets += 1;
            self.send_queue_delay.record(waited);
        }
    }

    /// The controller's figures are these from now on.
    #[inline]
    pub(super) fn observe(&mut self, now: Time, snapshot: &Snapshot) {
        if let Some((srtt, since)) = self.srtt_level.change(now, snapshot.srtt) {
            let nanos = self.window.overlap(since, now);
            if nanos > 0 {
                self.srtt.record_weighted(srtt, nanos);
            }
        }
        if let Some((target, since)) = self.target_level.change(now, snapshot.target) {
            let nanos = self.window.overlap(since, now);
            self.target_bits += u128::from(target.as_bps()) * u128::from(nanos);
            self.target_nanos += nanos;
        }
    }

    /// Time average of the target, absent where none was known.
    pub(super) fn target_mbps(&self) -> Option<f64> {
        ratio(self.target_bits as f64 / 1e6, self.target_nanos as f64)
    }

    pub(super) fn begin(&mut self, at: Time, sender: &impl SendingEnd) {
        self.observe(at, &sender.snapshot());
        self.begin = Some(sender.frames());
    }

    pub(super) fn end(&mut self, at: Time, sender: &impl SendingEnd) {
        // What held until now is over: nothing is known after the end.
        self.observe(at, &Snapshot::default());
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
            let interval = std::mem::take(interval);
            let stream = StreamId(index as u8);
            let millis = |span: Option<TimeDelta>| span.map(TimeDelta::as_millis_f64);
            let cells: [_; Self::COLUMNS.len()] = [
                sender.target(stream).filter(|_| shows).map(Bitrate::as_mbps_f64),
                ratio(interval.bytes as f64 * 8.0 / 1e6, seconds),
                snapshot.window.map(Bytes::as_f64),
                snapshot.in_flight.map(Bytes::as_f64),
                millis(snapshot.srtt),
                millis(snapshot.queue_delay),
                ratio(interval.waited as f64 / 1e6, interval.packets as f64),
                shows.then(|| sender.send_queue_bytes(stream).as_f64()),
                sender.newest_frame(stream).filter(|_| shows).map(Bytes::as_f64),
            ];
            let states = self.recorded.iter().map(|place| self.states.get(*place).copied().flatten());
            self.rows.push(at, stream.0, cells.into_iter().chain(states));
        }
    }
}
