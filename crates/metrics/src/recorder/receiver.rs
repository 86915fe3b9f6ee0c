//! The receiver's half of a flow's record, and what never reached it.

use super::measures::{Mean, ratio};
use super::rows::Rows;
use super::variation::Variation;
use super::{ReceivedPacket, RunTimes, Window};
use crate::figure::Cell;
use crate::histogram::Histogram;
use crate::table::FlowSummary;
use paceline_cc::StreamId;
use paceline_media::{DisplayedFrame, IncompleteFrame, Judged, PlayoutCounters, QualityModel};
use paceline_units::{Time, TimeDelta};

/// Sums over the packets of one stream that arrived in the interval of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedSums {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// Nanoseconds that they waited in link queues.
    pub(crate) queue_delay: u64,
    /// Nanoseconds from their sending to their arrival.
    pub(crate) one_way_delay: u64,
    /// How many were marked CE.
    pub(crate) ce: u64,
    /// Frames that were displayed, and nanoseconds from their capture to their display.
    pub(crate) frames: u64,
    pub(crate) frame_delay: u64,
    /// Frames that a model judged.
    pub(crate) judged: Judged,
}

impl ReceivedSums {
    /// Adds those of more packets; frames are added when they are displayed.
    fn add(&mut self, more: &ReceivedSums) {
        self.bytes += more.bytes;
        self.packets += more.packets;
        self.queue_delay += more.queue_delay;
        self.one_way_delay += more.one_way_delay;
        self.ce += more.ce;
    }
}

/// Sums over packets of all streams that arrived.
#[derive(Clone, Copy, Debug, Default)]
struct ArrivedSums {
    packets: u64,
    bytes: u64,
    /// Bytes of payload that had not arrived before.
    payload: u64,
    ce: u64,
}

/// A stream's sample at its receiver at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverSample {
    pub(crate) sums: ReceivedSums,
    /// Length of the interval.
    pub(crate) seconds: f64,
}

impl ReceiverSample {
    /// The mean in milliseconds of what adds up to `nanos` over the packets.
    pub(crate) fn mean_millis(&self, nanos: u64) -> Option<f64> {
        ratio(nanos as f64 / 1e6, self.sums.packets as f64)
    }
}

/// The columns that are sampled at the receiver. In the column of losses the row holds the number of packets that arrived.
fn columns() -> impl Iterator<Item = fn(&ReceiverSample) -> Option<f64>> {
    FlowSummary::FIGURES.iter().filter_map(|figure| match figure.cell {
        Some(Cell::Receiver(cell)) => Some(cell),
        Some(Cell::Losses) => Some((|sample| Some(sample.sums.packets as f64)) as fn(&ReceiverSample) -> _),
        _ => None,
    })
}

/// Nanoseconds of a time that is added up; of a negative one none.
#[inline]
fn nanos(span: TimeDelta) -> u64 {
    span.as_nanos().max(0) as u64
}

/// The receiver's half of the record.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverHalf {
    pub(super) rows: Rows,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) goodput_bytes: u64,
    pub(crate) ce: u64,
    /// Of packets sent in the window: how many arrived, and how many never will.
    pub(crate) arrived: u64,
    pub(crate) lost: u64,
    pub(crate) queue_delay: Histogram,
    pub(crate) delay_noise: Histogram,
    pub(crate) one_way_delay: Histogram,
    pub(crate) variation: Variation,
    pub(crate) frame_delay: Histogram,
    pub(crate) frame_parts: [Mean; 4],
    pub(crate) displayed: u64,
    pub(crate) late: u64,
    pub(crate) incomplete: u64,
    pub(crate) freezes: u64,
    /// When its statistics ended; none if it was never told.
    pub(super) ended: Option<Time>,
    window: Window,
    /// The model that judges the frames of each stream, and the frames judged in the window.
    quality: Vec<Option<QualityModel>>,
    pub(crate) judged: Judged,
    sample: TimeDelta,
    /// The end of the run: what is missed later has no row.
    run_end: Time,
    intervals: Vec<ReceivedSums>,
    /// Losses by sample and stream: they are told apart from the samples, by the time of the loss.
    losses: Vec<u32>,
    last_sample: Time,
    /// Playout's counts when the window began; none if it has not.
    begin: Option<PlayoutCounters>,
}

impl ReceiverHalf {
    pub(super) fn new(
        window: Window,
        quality: Vec<Option<QualityModel>>,
        streams: usize,
        times: RunTimes,
    ) -> ReceiverHalf {
        ReceiverHalf {
            rows: Rows::new(columns().count()),
            packets: 0,
            bytes: 0,
            goodput_bytes: 0,
            ce: 0,
            arrived: 0,
            lost: 0,
            queue_delay: Histogram::new(),
            delay_noise: Histogram::new(),
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
            quality,
            judged: Judged::default(),
            sample: times.sample,
            run_end: Time::ZERO + times.duration,
            intervals: vec![ReceivedSums::default(); streams],
            losses: Vec::new(),
            last_sample: Time::ZERO,
            begin: None,
        }
    }

    /// Packets that reached the receiver, in the order in which they arrived.
    pub(super) fn received(&mut self, packets: &[ReceivedPacket]) {
        let [before, counted, after] = self.window.parts(packets, |packet| packet.now);
        self.add_up(before);
        let sums = self.add_up(counted);
        self.packets += sums.packets;
        self.bytes += sums.bytes;
        self.goodput_bytes += sums.payload;
        self.ce += sums.ce;
        self.record_delays(counted);
        self.add_up(after);
    }

    /// Adds packets to the sums of their streams' intervals; answers the sums of all of them.
    fn add_up(&mut self, packets: &[ReceivedPacket]) -> ArrivedSums {
        let (mut all, mut rest) = (ArrivedSums::default(), packets);
        while let Some(first) = rest.first() {
            // Packets of one stream, which mostly are all: their sums stay in registers.
            let (mut sums, mut count) = (ReceivedSums::default(), 0);
            for packet in rest.iter().take_while(|packet| packet.stream == first.stream) {
                count += 1;
                sums.bytes += packet.size.as_u64();
                sums.queue_delay += nanos(packet.queue_delay);
                sums.one_way_delay += nanos(packet.delay());
                sums.ce += u64::from(packet.ecn.is_ce());
                all.payload += if packet.duplicate { 0 } else { packet.payload.as_u64() };
                self.arrived += u64::from(!packet.duplicate && self.window.contains(packet.sent));
            }
            sums.packets = count as u64;
            all.packets += sums.packets;
            all.bytes += sums.bytes;
            all.ce += sums.ce;
            if let Some(interval) = self.intervals.get_mut(usize::from(first.stream.0)) {
                interval.add(&sums);
            }
            rest = &rest[count..];
        }
        all
    }

    /// Counts what packets of the window waited and were under way. Apart, so that little is at hand in the loop.
    #[inline(never)]
    fn record_delays(&mut self, packets: &[ReceivedPacket]) {
        for packet in packets {
            self.queue_delay.record(packet.queue_delay);
            self.delay_noise.record(packet.delay_noise);
            self.one_way_delay.record(packet.delay());
            if !packet.duplicate {
                self.variation.record(packet.delay());
            }
        }
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

    pub(super) fn displayed(&mut self, stream: StreamId, frame: &DisplayedFrame) {
        self.judge(stream, frame.displayed, |model| model.on_displayed(frame));
        if let Some(interval) = self.intervals.get_mut(usize::from(stream.0)) {
            interval.frames += 1;
            interval.frame_delay += (frame.displayed - frame.captured).as_nanos().max(0) as u64;
        }
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

    pub(super) fn given_up(&mut self, stream: StreamId, frame: &IncompleteFrame) {
        self.judge(stream, frame.captured, |model| model.on_incomplete(frame));
    }

    /// Frames of a stream are judged, if a model does that, and count in the window if `at` lies there.
    fn judge(&mut self, stream: StreamId, at: Time, judge: impl FnOnce(&mut QualityModel) -> Judged) {
        let Some(Some(model)) = self.quality.get_mut(usize::from(stream.0)) else { return };
        let judged = judge(model);
        if let Some(interval) = self.intervals.get_mut(usize::from(stream.0)) {
            interval.judged += judged;
        }
        if self.window.contains(at) {
            self.judged += judged;
        }
    }

    pub(super) fn begin(&mut self, playout: PlayoutCounters) {
        self.begin = Some(playout);
    }

    pub(super) fn end(&mut self, at: Time, playout: PlayoutCounters) {
        self.ended = Some(at);
        self.quality.iter_mut().flatten().for_each(|model| self.judged += model.finish(at));
        // A window that ends before it begins holds nothing.
        let Some(before) = self.begin else { return };
        self.incomplete = playout.incomplete.saturating_sub(before.incomplete);
        self.freezes = playout.freezes.saturating_sub(before.freezes);
    }

    pub(super) fn sample(&mut self, at: Time) {
        let seconds = (at - self.last_sample).as_secs_f64();
        self.last_sample = at;
        for (index, interval) in self.intervals.iter_mut().enumerate() {
            let sample = ReceiverSample { sums: std::mem::take(interval), seconds };
            self.rows.push(at, index as u8, columns().map(|cell| cell(&sample)));
        }
    }

    /// Of the packets sent in the window whose fate is known, those that never arrive.
    pub(crate) fn loss_ratio(&self) -> Option<f64> {
        ratio(self.lost as f64, (self.lost + self.arrived) as f64)
    }
}
