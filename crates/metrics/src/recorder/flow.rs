//! The record of one flow.
//!
//! Sender and receiver are recorded apart, since a driver may let one run ahead of the other, or run only one of them;
//! their rows are joined at the end, by the times of the samples.

use super::measures::{per_time, ratio};
use super::receiver::ReceiverHalf;
use super::rows::Rows;
use super::sender::SenderHalf;
use super::transfers::TransferRecord;
use super::{RunTimes, Tick, Ticker, Window};
use crate::figure::{Cell, Facts, Figure};
use crate::table::FlowSummary;
use paceline_cc::{StateVariable, StreamId};
use paceline_ends::{Coupled, SendingEnd, Transfer};
use paceline_media::{DisplayedFrame, IncompleteFrame, PlayoutCounters, QualityModel};
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
    /// Its wait in link queues, summed over links, own serialisation out.
    pub queue_delay: TimeDelta,
    /// Delay that noise added.
    pub delay_noise: TimeDelta,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// Whether the packet's payload had arrived before.
    pub duplicate: bool,
}

impl ReceivedPacket {
    /// How long it was under way; negative where the clocks of the two ends disagree.
    #[inline]
    pub(super) fn delay(&self) -> TimeDelta {
        self.now.wrapping_since(self.sent)
    }
}

/// The facts of a flow that its recorder needs.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// The flow's name.
    pub name: String,
    /// The names of its streams.
    pub streams: Vec<String>,
    /// The model that judges the frames of each stream, where a model does.
    pub quality: Vec<Option<QualityModel>>,
    /// The kind of its controller.
    pub controller: &'static str,
    /// The profile of the controller's parameters.
    pub profile: String,
    /// The visible variables of the controller's state.
    pub states: &'static [StateVariable],
    /// The names of the states that are recorded.
    pub recorded: Vec<String>,
    /// When the flow begins.
    pub start: TimeDelta,
    /// When it ends.
    pub stop: TimeDelta,
    /// The times of the run.
    pub times: RunTimes,
    /// The facts that this end can know; every figure that needs others is absent.
    pub facts: Facts,
}

/// Records one flow, over all of its streams.
#[derive(Clone, Debug)]
pub struct FlowRecorder {
    pub(crate) config: FlowConfig,
    window: Window,
    /// The recorded states, with the names of their columns.
    states: Vec<(String, StateVariable)>,
    pub(crate) sender: SenderHalf,
    pub(crate) receiver: ReceiverHalf,
    pub(crate) transfers: TransferRecord,
}

/// The columns of every flow after time, flow and stream.
fn columns() -> impl Iterator<Item = (&'static Figure, Cell)> {
    let figures = FlowSummary::FIGURES.iter().filter_map(|figure| Some((figure, figure.cell?)));
    figures.filter(|(_, cell)| !matches!(cell, Cell::Key))
}

impl FlowRecorder {
    /// A recorder whose statistics begin at warm-up or the flow's start, whichever is later, and end at its stop.
    pub fn new(config: FlowConfig) -> FlowRecorder {
        let states = config.states;
        let place = |name: &String| states.iter().position(|state| state.name == name);
        let recorded: Vec<usize> = config.recorded.iter().filter_map(place).collect();
        let (times, streams) = (config.times, config.streams.len());
        let window = Window::new(times.warmup.max(config.start), config.stop);
        let there = Window::new(config.start, config.stop);
        let mut quality = config.quality.clone();
        quality.iter_mut().flatten().for_each(|model| model.begin(Time::ZERO + config.start));
        FlowRecorder {
            window,
            states: recorded
                .iter()
                .map(|place| (format!("state.{}", states[*place].name), states[*place]))
                .collect(),
            sender: SenderHalf::new((window, there), streams, recorded, states.len()),
            receiver: ReceiverHalf::new(window, quality, streams, times),
            transfers: TransferRecord::new(window),
            config,
        }
    }

    /// When it is to look at the flow's ends.
    pub fn ticker(&self) -> Ticker {
        self.config.times.ticker(&self.window)
    }

    /// Whether this end knows `facts`.
    pub fn knows(&self, facts: Facts) -> bool {
        self.config.facts.covers(facts)
    }

    /// A data packet was handed to the network after it waited in the send queue.
    #[inline]
    pub fn sent(&mut self, now: Time, stream: StreamId, size: Bytes, send_queue_delay: TimeDelta) {
        self.sender.sent(now, stream, size, send_queue_delay);
    }

    /// The controller took a report, or a timeout that changed something.
    #[inline]
    pub fn reported(&mut self, now: Time, sender: &impl SendingEnd) {
        self.sender.observe(now, sender.srtt_and_target());
    }

    /// A file has been sent whole.
    #[cold]
    pub fn transferred(&mut self, transfer: &Transfer) {
        self.transfers.completed(transfer);
    }

    /// Data packets reached the receiver, in this order.
    pub fn received(&mut self, packets: &[ReceivedPacket]) {
        self.receiver.received(packets);
    }

    /// A data packet that was sent at `sent` was dropped or lost: it will never arrive. The row of the sample that covers
    /// `at` counts it, even if it is told later; best when it would have arrived at the earliest.
    pub fn lost(&mut self, at: Time, stream: StreamId, sent: Time) {
        self.receiver.lost(at, stream, sent);
    }

    /// A frame is on the display.
    #[inline]
    pub fn displayed(&mut self, stream: StreamId, frame: &DisplayedFrame) {
        self.receiver.displayed(stream, frame);
    }

    /// A frame was given up although some of its packets arrived.
    #[cold]
    pub fn given_up(&mut self, stream: StreamId, frame: &IncompleteFrame) {
        self.receiver.given_up(stream, frame);
    }

    /// Takes the share of a flow in its group. To be told before each of the sender's ticks.
    pub fn coupled(&mut self, coupled: Coupled) {
        self.sender.coupling.observe(coupled);
    }

    /// The sender's part of a tick: the window begins or ends there, or a row for each stream is appended.
    pub fn tick_sender(&mut self, tick: Tick, sender: &impl SendingEnd) {
        match tick {
            Tick::Begin(at) => {
                self.sender.begin(at, sender);
                self.transfers.begin(sender);
            }
            Tick::Sample(at) => self.sender.sample(at, sender),
            Tick::End(at) => {
                self.sender.end(at, sender);
                self.transfers.end(sender);
            }
        }
    }

    /// The receiver's part of a tick, whose playout has counted `playout` so far.
    pub fn tick_receiver(&mut self, tick: Tick, playout: PlayoutCounters) {
        match tick {
            Tick::Begin(_) => self.receiver.begin(playout),
            Tick::Sample(at) => self.receiver.sample(at),
            Tick::End(at) => self.receiver.end(at, playout),
        }
    }

    /// Name, unit and definition of the columns of the rows, those of recorded states in.
    pub(super) fn headings(&self) -> impl Iterator<Item = (&str, &'static str, &'static str)> {
        let states = self.states.iter().map(|(name, state)| (name.as_str(), state.unit, state.help));
        columns().map(|(figure, _)| figure.heading()).chain(states)
    }

    /// The rows of both halves, joined by time and stream.
    pub(super) fn rows(&self) -> Rows {
        let (sent, received) = (&self.sender.rows, &self.receiver.rows);
        // Of each column how it is made, and whether this end can know it.
        let columns: Vec<(Cell, bool)> =
            columns().map(|(figure, cell)| (cell, self.knows(figure.needs))).collect();
        let mut rows = Rows::new(columns.len() + self.states.len());
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
            rows.push(key.0, key.1, self.joined(&columns, at_sender, at_receiver, f64::from(lost)));
        }
    }

    /// A row in the order of the columns; absent is what this end cannot know.
    fn joined(
        &self,
        columns: &[(Cell, bool)],
        sender: Option<&[f64]>,
        receiver: Option<&[f64]>,
        lost: f64,
    ) -> impl Iterator<Item = Option<f64>> {
        let sender = sender.unwrap_or_default();
        let (mut sent, mut received) = (sender.iter().copied(), receiver.unwrap_or_default().iter().copied());
        let present = |cell: f64| Some(cell).filter(|cell| cell.is_finite());
        let figures = columns.iter().map(move |(cell, is_known)| {
            let value = match cell {
                Cell::Sender(_) => sent.next(),
                Cell::Receiver(_) => received.next(),
                Cell::Losses => received.next().and_then(|packets| ratio(lost, lost + packets)),
                Cell::Key | Cell::Link(_) => None,
            };
            value.and_then(present).filter(|_| *is_known)
        });
        let states = &sender[sender.len().saturating_sub(self.states.len())..];
        figures.chain(states.iter().copied().map(present))
    }

    /// The figures. To be asked for when the window has ended at every half that was driven.
    pub fn summary(&self) -> FlowSummary {
        FlowSummary::of(self, self.config.facts)
    }

    /// `bytes` over the time of the window that has passed at the receiver.
    pub(crate) fn mbps(&self, bytes: u64) -> Option<f64> {
        let ended = self.receiver.ended?;
        per_time(bytes, self.window.overlap(Time::ZERO, ended) as f64 / 1e9)
    }

    /// Packets that left; where that is not seen, those that arrived or are known to be lost.
    pub(crate) fn packets_sent(&self) -> Option<u64> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let arrived_or_lost = || self.knows(Facts::ARRIVALS).then_some(receiver.arrived + receiver.lost);
        self.knows(Facts::DEPARTURES).then_some(sender.packets).or_else(arrived_or_lost)
    }

    pub(crate) fn sampled(&self) -> BTreeMap<String, Option<f64>> {
        let means = self.rows().means(|at| self.window.covers_sample(at));
        self.headings().map(|(name, ..)| name.to_string()).zip(means).collect()
    }
}
