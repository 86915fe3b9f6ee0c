//! The receiver half (RFC 4342 sections 6, 8 and 10): loss intervals by the window counter, when to report, and what.

use super::Params;
use super::window_counter::{CounterClock, MODULUS};
use crate::ccid::{CcidReceiver, LossInterval, LossIntervals, quiescent_after};
use crate::tfrc::equation::Equation;
use crate::tfrc::loss_history::LossHistory;
use crate::tfrc::receive_rate::ReceiveRate;
use crate::tfrc::reception::{Arrived, LostRun, Reception};
use crate::tfrc::segment::SegmentSize;
use crate::{Annotation, Arrival, ReceiverHalf, ReceiverReport};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// RFC 4342 section 8.6.1: no more than NDUPACK of the highest numbers are in no interval.
const MOST_SKIPPED: u64 = 3;

/// CCID 3's receiver: one stream of packets, whose numbers data and other packets share.
#[derive(Clone, Debug)]
pub struct Ccid3Receiver {
    equation: Equation,
    p_tolerance: f64,
    ndupack: u64,
    rtt_unknown: TimeDelta,
    /// Steps of the window counter between loss events, and between feedback packets.
    steps: u64,
    counter_modulo: bool,
    feedback_timer: bool,
    /// Arrivals; absent before the first packet.
    packets: Option<Reception>,
    history: LossHistory,
    clock: CounterClock,
    received: ReceiveRate,
    segment: SegmentSize,
    /// Packets without data that arrived.
    non_data: u64,
    /// `last_counter`, unwrapped; absent before the first report.
    last_counter: Option<u64>,
    /// Time of the last report.
    reported: Option<Time>,
    /// p as it was calculated last.
    p: f64,
    /// The largest `X_recv` so far, bytes per second.
    x_recv_max: f64,
    /// Whether data arrived since the last report.
    any_new: bool,
    /// Send time, where it says one, and arrival of the packet with the highest number.
    newest: Option<(Option<Time>, Time)>,
    last_data: Option<Time>,
    skip_length: u8,
    /// Loss intervals as of the last report.
    intervals: Vec<LossInterval>,
}

impl Ccid3Receiver {
    /// A receiver that has heard nothing.
    pub fn new(params: &Params) -> Ccid3Receiver {
        let tfrc = &params.tfrc;
        Ccid3Receiver {
            equation: Equation::new(tfrc),
            p_tolerance: params.p_tolerance,
            ndupack: tfrc.ndupack,
            rtt_unknown: tfrc.rtt_unknown,
            steps: params.counter_steps,
            counter_modulo: params.counter_modulo,
            feedback_timer: params.feedback_timer,
            packets: None,
            history: LossHistory::new(tfrc).counting_absent_as_zero(params.absent_are_zero),
            clock: CounterClock::new(params.counter_steps, params.rtt_from_last),
            received: ReceiveRate::new(),
            segment: SegmentSize::new(Bytes::new(1000)),
            non_data: 0,
            last_counter: None,
            reported: None,
            p: 0.0,
            x_recv_max: 0.0,
            any_new: false,
            newest: None,
            last_data: None,
            skip_length: 0,
            intervals: Vec::with_capacity(LossInterval::MOST),
        }
    }

    /// p (RFC 5348 section 5): 0 before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate(self.data_count())
    }

    /// Whether no data came for so long that the sender counts as quiescent (section 6.4).
    pub fn is_quiescent(&self, now: Time) -> bool {
        let after = quiescent_after(Some(self.rtt()));
        self.last_data.is_some_and(|last| now.saturating_since(last) >= after)
    }

    /// Data packets, received or lost, up to the highest that arrived.
    fn data_count(&self) -> u64 {
        let count = self.packets.as_ref().map_or(0, Reception::count);
        count.saturating_sub(self.non_data)
    }

    fn rtt(&self) -> TimeDelta {
        self.clock.rtt.unwrap_or(self.rtt_unknown)
    }

    /// RFC 5348 section 6.3.1: the interval at which the equation gives the largest rate so far, at least half a packet
    /// per round trip.
    #[cold]
    fn first_interval(&self, now: Time) -> f64 {
        let (s, r) = (self.segment.bytes(), self.rtt().as_secs_f64());
        let x_target = self.x_recv_max.max(self.received.rate(now, r)).max(0.5 * s / r);
        1.0 / self.equation.loss_event_rate_within(s, r, x_target, self.p_tolerance)
    }

    /// The difference of numbers and places in the loss history: packets without data have none.
    fn others(&self) -> u64 {
        0_u64.wrapping_sub(self.non_data)
    }

    /// Adds a packet to the history. Whether it is new, and whether loss events came or went. `before` is the counter
    /// of the packet before it.
    #[inline]
    fn note(&mut self, now: Time, sequence: u64, marked: bool, before: u64) -> (Arrived, bool) {
        let (stamp, others) = (self.clock.greatest, self.others());
        let Some(packets) = &mut self.packets else {
            self.packets = Some(Reception::new(self.ndupack, 0, sequence, stamp));
            return (Arrived::New, marked && self.mark(now, sequence, before));
        };
        let arrived = packets.on_arrival(sequence, stamp, others);
        let first = packets.lost(marked.then_some(sequence));
        match (arrived, first) {
            (Arrived::New, None) if !marked => (Arrived::New, false),
            (Arrived::Known, _) => self.late(now, sequence, marked, before),
            (Arrived::New, first) => (Arrived::New, self.lose(now, sequence, marked, before, first)),
        }
    }

    /// Holes became losses, or the packet is marked.
    #[cold]
    fn lose(&mut self, now: Time, sequence: u64, marked: bool, before: u64, first: Option<LostRun>) -> bool {
        let (mut next, mut any) = (first, false);
        while let Some(run) = next {
            any |= self.add(now, at_one_counter(run));
            next = self.packets.as_mut().and_then(|packets| packets.lost(marked.then_some(sequence)));
        }
        any | (marked && self.mark(now, sequence, before))
    }

    fn mark(&mut self, now: Time, sequence: u64, before: u64) -> bool {
        let others = self.others();
        let offset = self.packets.as_ref().map_or(0, |packets| packets.offset(others));
        self.add(now, LostRun::marked(0, sequence, before, offset))
    }

    fn add(&mut self, now: Time, run: LostRun) -> bool {
        let first_interval = if self.history.any() { 0.0 } else { self.first_interval(now) };
        let same_by_modulus = |stamp: u64| {
            let distance = run.before.1.saturating_sub(stamp);
            self.counter_modulo && distance % MODULUS <= self.steps
        };
        let span = match self.history.newest_stamp() {
            Some(stamp) if same_by_modulus(stamp) => u64::MAX,
            _ => self.steps,
        };
        self.history.add(run, span, first_interval)
    }

    /// A packet below the highest that was in no hole: a lost one turns up, or a duplicate.
    #[cold]
    fn late(&mut self, now: Time, sequence: u64, marked: bool, before: u64) -> (Arrived, bool) {
        match self.history.take_back(0, sequence, self.steps) {
            None => (Arrived::Known, false),
            Some(gone) => (Arrived::New, (marked && self.mark(now, sequence, before)) | gone),
        }
    }

    /// RFC 5348 section 6: at once for a higher p, and when a loss event went.
    fn changed(&mut self, events_changed: bool) -> bool {
        let before = self.p;
        if events_changed {
            self.p = self.loss_event_rate();
        }
        self.p != before
    }

    /// Writes the loss intervals of a report (section 8.6.1).
    fn write_intervals(&mut self) {
        self.intervals.clear();
        let Some(packets) = &self.packets else { return };
        let skipped = packets.undecided().min(MOST_SKIPPED);
        self.skip_length = skipped as u8;
        // One above the last number and the last place of the interval.
        let mut end = packets.next().saturating_sub(skipped);
        let mut end_place = packets.count().saturating_sub(self.non_data).saturating_sub(skipped);
        for event in self.history.events().take(LossInterval::MOST) {
            let length = end.saturating_sub(event.first).max(1);
            let loss = event.last.saturating_sub(event.first).saturating_add(1).min(length);
            let lossless_length = capped(length - loss, LossInterval::LONGEST);
            let loss_length = capped(loss, LossInterval::LONGEST_LOSS);
            let most = (lossless_length + loss_length).min(LossInterval::LONGEST);
            let data = end_place.saturating_sub(event.start).max(1);
            let data_length = capped(data, most);
            self.intervals.push(LossInterval { lossless_length, loss_length, data_length });
            (end, end_place) = (event.first, event.start);
        }
        let first = self.history.first_interval();
        if (first.is_some() || !self.history.any()) && self.intervals.len() < LossInterval::MOST {
            self.intervals.push(LossInterval {
                lossless_length: capped(end.saturating_sub(packets.first()), LossInterval::LONGEST),
                loss_length: 0,
                data_length: capped(first.unwrap_or(0.0) as u64, LossInterval::LONGEST),
            });
        }
    }
}

fn capped(length: u64, most: u32) -> u32 {
    length.min(u64::from(most)) as u32
}

/// Section 10.2 compares the counters of the packets before the losses: a series of losses has one, and is one event.
fn at_one_counter(run: LostRun) -> LostRun {
    let counter = run.before.1;
    let before = (run.first.saturating_sub(1), counter);
    LostRun { before, after: (run.last.saturating_add(1), counter), ..run }
}

impl ReceiverHalf for Ccid3Receiver {
    #[inline]
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        if arrival.stream.0 != 0 {
            return false;
        }
        let sequence = arrival.sequence;
        let newest = self.packets.as_ref().is_none_or(|packets| packets.next() <= sequence);
        let before = self.clock.greatest;
        if let (Some(Annotation::Counter(value)), true) = (arrival.annotation, newest) {
            self.clock.on_newest(now, value);
        }
        let before = if self.packets.is_none() { self.clock.greatest } else { before };
        let (arrived, events_changed) = self.note(now, sequence, arrival.ecn.is_ce(), before);
        if arrived == Arrived::Known {
            return false;
        }
        if newest {
            self.newest = Some((arrival.sent, now));
        }
        self.received.on_packet(arrival.size);
        self.segment.on_packet(arrival.size, self.p);
        (self.any_new, self.last_data) = (true, Some(now));
        // Section 10.3.
        let due = self.last_counter.is_none_or(|last| self.clock.greatest >= last.saturating_add(self.steps));
        self.changed(events_changed) | due
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let reported = self.reported.filter(|_| self.feedback_timer && self.any_new)?;
        Some(reported + self.rtt())
    }

    /// Nothing to say without data since the last report.
    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        let (newest_sent, arrived) = self.newest.filter(|_| self.any_new)?;
        self.p = self.loss_event_rate();
        let r = self.rtt().as_secs_f64();
        let x_recv = self.received.rate(now, r);
        self.x_recv_max = self.x_recv_max.max(x_recv);
        self.received.expire(now, r);
        self.any_new = false;
        self.last_counter = Some(self.clock.greatest);
        self.reported = Some(now);
        self.write_intervals();
        Some(ReceiverReport::Tfrc {
            loss_event_rate: self.p,
            receive_rate: Bitrate::from_bps_f64(x_recv * 8.0),
            newest_sent,
            delay: now.saturating_since(arrived),
        })
    }
}

impl CcidReceiver for Ccid3Receiver {
    fn on_non_data(&mut self, now: Time, sequence: u64) -> bool {
        let newest = self.packets.as_ref().is_none_or(|packets| packets.next() <= sequence);
        let (arrived, events_changed) = self.note(now, sequence, false, self.clock.greatest);
        if arrived == Arrived::Known {
            return false;
        }
        self.non_data = self.non_data.saturating_add(1);
        if newest {
            self.newest = Some((None, now));
        }
        self.changed(events_changed) && self.any_new
    }

    fn loss_intervals(&self) -> LossIntervals<'_> {
        LossIntervals { skip_length: self.skip_length, intervals: &self.intervals }
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
