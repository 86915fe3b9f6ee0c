//! The receiver's half of a flow's record, and what never reached it.

use super::measures::Mean;
use super::rows::Rows;
use super::variation::Variation;
use super::{ReceivedPacket, Window};
use crate::histogram::Histogram;
use crate::summary::ratio;
use paceline_cc::StreamId;
use paceline_media::{DisplayedFrame, PlayoutCounters};
use paceline_units::{Time, TimeDelta};

/// Sums of one stream over the interval of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    bytes: u64,
    packets: u64,
    waited: u64,
    ce: u64,
}

/// What is seen at the receiver.
#[derive(Clone, Debug)]
pub(super) struct ReceiverHalf {
    pub(super) rows: Rows,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) goodput_bytes: u64,
    pub(super) ce: u64,
    /// Of packets sent in the window: how many arrived, and how many never will.
    pub(super) arrived: u64,
    pub(super) lost: u64,
    pub(super) queue_delay: Histogram,
    pub(super) noise: Histogram,
    pub(super) one_way_delay: Histogram,
    pub(super) variation: Variation,
    pub(super) frame_delay: Histogram,
    pub(super) frame_parts: [Mean; 4],
    pub(super) displayed: u64,
    pub(super) late: u64,
    pub(super) incomplete: u64,
    pub(super) freezes: u64,
    /// When its statistics ended; none if it was never told.
    pub(super) ended: Option<Time>,
    window: Window,
    sample: TimeDelta,
    /// The end of the run: what is missed later has no row.
    run_end: Time,
    intervals: Vec<Interval>,
    /// Losses by sample and stream: they are told apart from the samples, by the time of the loss.
    losses: Vec<u32>,
    last_sample: Time,
    /// What playout had counted when the window began; none if it has not.
    begin: Option<PlayoutCounters>,
}

impl ReceiverHalf {
    /// The columns. The loss ratio is made of the last one and of [`ReceiverHalf::losses_until`].
    pub(super) const COLUMNS: [&'static str; 4] =
        ["throughput_mbps", "queue_delay_ms", "ce_ratio", "packets_received"];

    pub(super) fn new(
        window: Window,
        streams: usize,
        sample: TimeDelta,
        duration: TimeDelta,
    ) -> ReceiverHalf {
        ReceiverHalf {
            rows: Rows::new(Self::COLUMNS.len()),
            packets: 0,
            bytes: 0,
            goodput_bytes: 0,
            ce: 0,
            arrived: 0,
            lost: 0,
            queue_delay: Histogram::new(),
            noise: Histogram::new(),
            one_way_delay: Histogram::new(),
            variation: Variation::default(),
            frame_delay: Histogram::new(),
            frame_parts: [Mean::default(); 4],
            displayed: 0,
            late: 0,
            incomplete: 0,
            freezes: 0,
            ended: None,
            window,
            sample,
            run_end: Time::ZERO + duration,
            intervals: vec![Interval::default(); streams],
            losses: Vec::new(),
            last_sample: Time::ZERO,
            begin: None,
        }
    }

    #[inline]
    pub(super) fn received(&mut self, packet: &ReceivedPacket) {
        let ce = u64::from(packet.ecn.is_ce());
        if let Some(interval) = self.intervals.get_mut(usize::from(packet.stream.0)) {
            interval.bytes += packet.size.as_u64();
            interval.packets += 1;
            interval.waited += packet.wait.as_nanos().max(0) as u64;
            interval.ce += ce;
        }
        if self.window.contains(packet.now) {
            self.packets += 1;
            self.bytes += packet.size.as_u64();
            self.goodput_bytes += if packet.duplicate { 0 } else { packet.payload.as_u64() };
            self.ce += ce;
            self.queue_delay.record(packet.wait);
            self.noise.record(packet.noise);
            self.one_way_delay.record(packet.now - packet.sent);
            if !packet.duplicate {
                self.variation.record(packet.now - packet.sent);
            }
        }
        self.arrived += u64::from(!packet.duplicate && self.window.contains(packet.sent));
    }

    pub(super) fn lost(&mut self, at: Time, stream: StreamId, sent: Time) {
        self.lost += u64::from(self.window.contains(sent));
        if at > self.run_end || usize::from(stream.0) >= self.intervals.len() {
            return;
        }
        // A sample covers what happens up to and including its time.
        let sample = at.as_nanos().saturating_sub(1) / self.sample.as_nanos().max(1) as u64;
        let place = sample as usize * self.intervals.len() + usize::from(stream.0);
        if self.losses.len() <= place {
            self.losses.resize(place + 1, 0);
        }
        self.losses[place] += 1;
    }

    /// How many packets of a stream were lost in the interval of the sample at `at`.
    pub(super) fn losses_until(&self, at: Time, stream: u8) -> u32 {
        let sample = at.as_nanos().saturating_sub(1) / self.sample.as_nanos().max(1) as u64;
        let place = sample as usize * self.intervals.len() + usize::from(stream);
        self.losses.get(place).copied().unwrap_or(0)
    }

    pub(super) fn displayed(&mut self, frame: &DisplayedFrame) {
        if !self.window.contains(frame.displayed) {
            return;
        }
        self.displayed += 1;
        self.late += u64::from(frame.late);
        self.frame_delay.record(frame.displayed - frame.captured);
        let parts = &frame.parts;
        let spans = [parts.send_queue, parts.link_queue, Some(parts.path), Some(parts.dejitter)];
        for (mean, span) in self.frame_parts.iter_mut().zip(spans) {
            span.into_iter().for_each(|span| mean.add(span));
        }
    }

    pub(super) fn begin(&mut self, playout: PlayoutCounters) {
        self.begin = Some(playout);
    }

    pub(super) fn end(&mut self, at: Time, playout: PlayoutCounters) {
        self.ended = Some(at);
        // A window that ends before it begins holds nothing.
        let Some(before) = self.begin else { return };
        self.incomplete = playout.incomplete.saturating_sub(before.incomplete);
        self.freezes = playout.freezes.saturating_sub(before.freezes);
    }

    pub(super) fn sample(&mut self, at: Time) {
        let seconds = (at - self.last_sample).as_secs_f64();
        self.last_sample = at;
        for (index, interval) in self.intervals.iter_mut().enumerate() {
            let interval = std::mem::take(interval);
            let packets = interval.packets as f64;
            let cells: [_; Self::COLUMNS.len()] = [
                ratio(interval.bytes as f64 * 8.0 / 1e6, seconds),
                ratio(interval.waited as f64 / 1e6, packets),
                ratio(interval.ce as f64, packets),
                Some(packets),
            ];
            self.rows.push(at, index as u8, cells);
        }
    }
}
