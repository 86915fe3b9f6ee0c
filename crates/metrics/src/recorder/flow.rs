//! What happens to one flow.
//!
//! Sender and receiver are recorded apart, since a driver may let one run ahead of the other, or run only one of them;
//! their rows are joined at the end, by the times of the samples.

use super::receiver::ReceiverHalf;
use super::rows::Rows;
use super::sender::SenderHalf;
use super::transfers::TransferRecord;
use super::{RunTimes, Ticker, Window};
use crate::summary::{Distribution, FlowSummary, FrameCounts, FrameDelayMeans, ratio};
use paceline_cc::{Controller, StateVariable, StreamId};
use paceline_media::{DisplayedFrame, PlayoutCounters};
use paceline_transport::{SendingEnd, Transfer};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::BTreeMap;

/// A data packet that reached the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedPacket {
    /// When it arrived.
    pub now: Time,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Size on the link, transport header and the flow's overhead in.
    pub size: Bytes,
    /// Payload, header out.
    pub payload: Bytes,
    /// When it was sent.
    pub sent: Time,
    /// What it waited in queues, summed over links, own serialisation out.
    pub wait: TimeDelta,
    /// What delay noise added.
    pub noise: TimeDelta,
    /// Its mark on arrival.
    pub ecn: Ecn,
    /// Whether its payload had arrived before.
    pub duplicate: bool,
}

/// What a recorder is to know of its flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// The flow's name.
    pub name: String,
    /// The names of its streams.
    pub streams: Vec<String>,
    /// The kind of its controller.
    pub controller: &'static str,
    /// The profile of the controller's parameters.
    pub profile: String,
    /// What the controller shows of its inner state.
    pub states: &'static [StateVariable],
    /// The names of the states that are recorded.
    pub recorded: Vec<String>,
    /// When the flow begins.
    pub start: TimeDelta,
    /// When it ends.
    pub stop: TimeDelta,
    /// The times of the run.
    pub times: RunTimes,
}

/// Records one flow, over all of its streams.
#[derive(Clone, Debug)]
pub struct FlowRecorder {
    pub(super) config: FlowConfig,
    window: Window,
    /// The names of the columns of recorded states.
    states: Vec<String>,
    sender: SenderHalf,
    receiver: ReceiverHalf,
    transfers: TransferRecord,
}

impl FlowRecorder {
    /// The columns of every flow after time, flow and stream.
    pub const COLUMNS: [&'static str; 13] = [
        "target_bitrate_mbps",
        "throughput_mbps",
        "send_rate_mbps",
        "cwnd_bytes",
        "bytes_in_flight",
        "srtt_ms",
        "queue_delay_estimate_ms",
        "queue_delay_ms",
        "send_queue_delay_ms",
        "send_queue_bytes",
        "frame_bytes",
        "ce_ratio",
        "loss_ratio",
    ];

    /// A recorder whose statistics begin at warm-up or the flow's start, whichever is later, and end at its stop.
    pub fn new(config: FlowConfig) -> FlowRecorder {
        let states = config.states;
        let place = |name: &String| states.iter().position(|state| state.name == name);
        let recorded: Vec<usize> = config.recorded.iter().filter_map(place).collect();
        let (times, streams) = (config.times, config.streams.len());
        let window = Window::new(times.warmup.max(config.start), config.stop);
        let there = Window::new(config.start, config.stop);
        FlowRecorder {
            window,
            states: recorded.iter().map(|place| format!("state.{}", states[*place].name)).collect(),
            sender: SenderHalf::new((window, there), streams, recorded, states.len()),
            receiver: ReceiverHalf::new(window, streams, times.sample, times.duration),
            transfers: TransferRecord::new(window),
            config,
        }
    }

    /// When it is to look at the flow's ends.
    pub fn ticker(&self) -> Ticker {
        self.config.times.ticker(&self.window)
    }

    /// A data packet was handed to the network after it waited in the send queue.
    #[inline]
    pub fn sent(&mut self, now: Time, stream: StreamId, size: Bytes, send_queue_delay: TimeDelta) {
        self.sender.sent(now, stream, size, send_queue_delay);
    }

    /// The controller took a report, or a timeout that changed something.
    #[inline]
    pub fn reported<C: Controller>(&mut self, now: Time, controller: &C) {
        self.sender.observe(now, &controller.snapshot());
    }

    /// A file has been sent whole.
    #[cold]
    pub fn transferred(&mut self, transfer: &Transfer) {
        self.transfers.completed(transfer);
    }

    /// A data packet reached the receiver.
    #[inline]
    pub fn received(&mut self, packet: &ReceivedPacket) {
        self.receiver.received(packet);
    }

    /// A data packet that was sent at `sent` was dropped or lost: it will never arrive. The row of the sample that covers
    /// `at` counts it, even if it is told later; best when it would have arrived at the earliest.
    pub fn lost(&mut self, at: Time, stream: StreamId, sent: Time) {
        self.receiver.lost(at, stream, sent);
    }

    /// A frame is on the display.
    #[inline]
    pub fn displayed(&mut self, frame: &DisplayedFrame) {
        self.receiver.displayed(frame);
    }

    /// The window begins at the sender.
    pub fn begin_sender(&mut self, at: Time, sender: &impl SendingEnd) {
        self.sender.begin(at, sender);
        self.transfers.begin(sender);
    }

    /// Appends the sender's part of a row for each stream: the interval since its last sample ends at `at`.
    pub fn sample_sender(&mut self, at: Time, sender: &impl SendingEnd) {
        self.sender.sample(at, sender);
    }

    /// The window, or the run, ends at the sender.
    pub fn end_sender(&mut self, at: Time, sender: &impl SendingEnd) {
        self.sender.end(at, sender);
        self.transfers.end(sender);
    }

    /// The window begins at the receiver.
    pub fn begin_receiver(&mut self, playout: PlayoutCounters) {
        self.receiver.begin(playout);
    }

    /// Appends the receiver's part of a row for each stream: the interval since its last sample ends at `at`.
    pub fn sample_receiver(&mut self, at: Time) {
        self.receiver.sample(at);
    }

    /// The window, or the run, ends at the receiver.
    pub fn end_receiver(&mut self, at: Time, playout: PlayoutCounters) {
        self.receiver.end(at, playout);
    }

    /// The columns of the rows, those of recorded states in.
    pub(super) fn column_names(&self) -> impl Iterator<Item = &str> {
        Self::COLUMNS.into_iter().chain(self.states.iter().map(String::as_str))
    }

    /// The rows of both halves, joined by time and stream.
    pub(super) fn rows(&self) -> Rows {
        let (sent, received) = (&self.sender.rows, &self.receiver.rows);
        let mut rows = Rows::new(Self::COLUMNS.len() + self.states.len());
        let (mut i, mut j) = (0, 0);
        loop {
            let key = match (sent.key(i), received.key(j)) {
                (Some(one), Some(other)) => one.min(other),
                (Some(key), None) | (None, Some(key)) => key,
                (None, None) => return rows,
            };
            let at_sender = (sent.key(i) == Some(key)).then(|| sent.row(i));
            let at_receiver = (received.key(j) == Some(key)).then(|| received.row(j));
            i += usize::from(at_sender.is_some());
            j += usize::from(at_receiver.is_some());
            let lost = self.receiver.losses_until(key.0, key.1);
            rows.push(key.0, key.1, joined(at_sender, at_receiver, f64::from(lost)));
        }
    }

    /// The figures. To be asked for when the window has ended at every half that was driven.
    pub fn summary(&self) -> FlowSummary {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let seconds = receiver.ended.map_or(0.0, |ended| self.window.overlap(Time::ZERO, ended) as f64 / 1e9);
        let mbps = |bytes: u64| ratio(bytes as f64 * 8.0 / 1e6, seconds);
        let [send_queue, link_queue, path, dejitter] = receiver.frame_parts.map(|mean| mean.millis());
        FlowSummary {
            controller: self.config.controller,
            profile: self.config.profile.clone(),
            throughput_mbps: mbps(receiver.bytes),
            goodput_mbps: mbps(receiver.goodput_bytes),
            target_bitrate_mbps: sender.target_mbps(),
            queue_delay_ms: Distribution::from(&receiver.queue_delay),
            delay_noise_ms: Distribution::from(&receiver.noise),
            one_way_delay_ms: Distribution::from(&receiver.one_way_delay),
            delay_variation_ms: Distribution::from(&receiver.variation.differences),
            jitter_ms: Distribution::from(&receiver.variation.jitter),
            srtt_ms: Distribution::from(&sender.srtt),
            send_queue_delay_ms: Distribution::from(&sender.send_queue_delay),
            frame_delay_ms: Distribution::from(&receiver.frame_delay),
            frame_delay_parts_ms: FrameDelayMeans { send_queue, link_queue, path, dejitter },
            loss_ratio: ratio(receiver.lost as f64, (receiver.lost + receiver.arrived) as f64),
            ce_ratio: ratio(receiver.ce as f64, receiver.packets as f64),
            packets_sent: sender.packets,
            packets_received: receiver.packets,
            frames: self.frames(),
            transfers: self.transfers.summary(),
            sampled: self.sampled(),
        }
    }

    fn frames(&self) -> FrameCounts {
        FrameCounts {
            captured: self.sender.captured,
            discarded: self.sender.discarded,
            displayed: self.receiver.displayed,
            late: self.receiver.late,
            incomplete: self.receiver.incomplete,
            freezes: self.receiver.freezes,
        }
    }

    fn sampled(&self) -> BTreeMap<String, Option<f64>> {
        let means = self.rows().means(|at| self.window.covers_sample(at));
        self.column_names().map(String::from).zip(means).collect()
    }
}

/// A row in the order of [`FlowRecorder::COLUMNS`], then the states; NaN where absent.
fn joined(sender: Option<&[f64]>, receiver: Option<&[f64]>, lost: f64) -> impl Iterator<Item = Option<f64>> {
    let present = |cell: f64| cell.is_finite().then_some(cell);
    let sent = move |place: usize| sender.and_then(|row| row.get(place).copied()).and_then(present);
    let received = move |place: usize| receiver.and_then(|row| row.get(place).copied()).and_then(present);
    let loss_ratio = received(3).and_then(|packets| ratio(lost, lost + packets));
    let cells = [
        sent(0),
        received(0),
        sent(1),
        sent(2),
        sent(3),
        sent(4),
        sent(5),
        received(1),
        sent(6),
        sent(7),
        sent(8),
        received(2),
        loss_ratio,
    ];
    let states = sender.map_or(&[][..], |row| &row[SenderHalf::COLUMNS.len()..]);
    cells.into_iter().chain(states.iter().copied().map(present))
}
