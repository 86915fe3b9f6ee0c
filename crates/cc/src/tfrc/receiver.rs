//! The receiver half (RFC 5348 sections 5 and 6): when to report, and what.

use super::Params;
use super::equation::Equation;
use super::loss_history::LossHistory;
use super::receive_rate::ReceiveRate;
use super::reception::{Arrived, LostRun, Reception};
use super::segment::SegmentSize;
use crate::{Annotation, Arrival, ReceiverHalf, ReceiverReport};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// A sender's round-trip time below is not believed: reports would follow each other without end.
const SHORTEST_RTT: TimeDelta = TimeDelta::from_micros(1);
const LONGEST_RTT: TimeDelta = TimeDelta::from_secs(60);

/// TFRC's receiver: finds loss events, measures the rate that arrives, and reports once a round trip.
#[derive(Clone, Debug)]
pub struct TfrcReceiver {
    equation: Equation,
    ndupack: u64,
    rtt_unknown: TimeDelta,
    feedback_per_rtt: i64,
    /// By stream; a stream's place is known from its first packet on.
    streams: Vec<Option<Reception>>,
    history: LossHistory,
    received: ReceiveRate,
    segment: SegmentSize,
    /// `R_m`: the round-trip time in the packet with the highest number; absent before one says it.
    rtt: Option<TimeDelta>,
    /// `R_(m-1)`: the same when the feedback timer was set.
    timer_rtt: Option<TimeDelta>,
    /// When the feedback timer expires; absent before the first report.
    timer: Option<Time>,
    /// p as it was calculated last.
    p: f64,
    /// The largest `X_recv` so far, bytes per second.
    x_recv_max: f64,
    /// Whether data arrived since the last report.
    any_new: bool,
    /// Send time and arrival of the last data packet that says when it was sent.
    newest: Option<(Time, Time)>,
}

impl TfrcReceiver {
    /// A receiver that has heard nothing.
    pub fn new(params: &Params) -> TfrcReceiver {
        TfrcReceiver {
            equation: Equation::new(params),
            ndupack: params.ndupack,
            rtt_unknown: params.rtt_unknown,
            feedback_per_rtt: params.feedback_per_rtt as i64,
            streams: Vec::new(),
            history: LossHistory::new(params),
            received: ReceiveRate::new(),
            segment: SegmentSize::new(Bytes::new(1000)),
            rtt: None,
            timer_rtt: None,
            timer: None,
            p: 0.0,
            x_recv_max: 0.0,
            any_new: false,
            newest: None,
        }
    }

    /// p (section 5): 0 before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate(self.count())
    }

    /// How many packets of all streams were sent up to the highest that arrived.
    fn count(&self) -> u64 {
        self.streams.iter().flatten().fold(0, |sum, stream| sum.saturating_add(stream.count()))
    }

    fn rtt(&self) -> TimeDelta {
        self.rtt.unwrap_or(self.rtt_unknown)
    }

    /// The interval over which `X_recv` is measured, in seconds: `R_(m-1)`.
    fn measured_over(&self) -> f64 {
        self.timer_rtt.unwrap_or(self.rtt()).as_secs_f64()
    }

    /// Section 6.3.1: the interval at which the equation gives the largest rate so far, at least half a packet per
    /// round trip.
    fn first_interval(&self, now: Time) -> f64 {
        let (s, r) = (self.segment.bytes(), self.rtt().as_secs_f64());
        let received = self.received.rate(now, self.measured_over());
        let x_target = self.x_recv_max.max(received).max(0.5 * s / r);
        1.0 / self.equation.loss_event_rate(s, r, x_target)
    }

    /// Adds the packet to the packet history (section 6.1, step 1). Whether it is new, and whether loss events came
    /// or went.
    #[inline]
    fn note(&mut self, now: Time, arrival: &Arrival) -> (Arrived, bool) {
        let id = usize::from(arrival.stream.0);
        let others = match &self.streams[..] {
            [_] => 0,
            streams => {
                let counts = streams.iter().enumerate().filter(|(other, _)| *other != id);
                counts
                    .filter_map(|(_, stream)| stream.as_ref())
                    .fold(0_u64, |sum, stream| sum.saturating_add(stream.count()))
            }
        };
        let Some(Some(stream)) = self.streams.get_mut(id) else {
            self.begin_stream(now, arrival);
            return (Arrived::New, arrival.ecn.is_ce() && self.mark(now, arrival, others));
        };
        let arrived = stream.on_arrival(arrival.sequence, now.as_nanos(), others);
        let marked = arrival.ecn.is_ce();
        let first = stream.lost(marked.then_some(arrival.sequence));
        match (arrived, first) {
            (Arrived::New, None) if !marked => (Arrived::New, false),
            (Arrived::Known, _) => self.late(now, arrival, others),
            (Arrived::New, first) => (Arrived::New, self.lose(now, arrival, first, others)),
        }
    }

    fn begin_stream(&mut self, now: Time, arrival: &Arrival) {
        let id = usize::from(arrival.stream.0);
        if self.streams.len() <= id {
            self.streams.resize(id + 1, None);
        }
        let stream = Reception::new(self.ndupack, arrival.stream.0, arrival.sequence, now.as_nanos());
        self.streams[id] = Some(stream);
    }

    /// Holes became losses, or the packet is marked.
    fn lose(&mut self, now: Time, arrival: &Arrival, first: Option<LostRun>, others: u64) -> bool {
        let (marked, r) = (arrival.ecn.is_ce(), self.rtt().as_nanos() as u64);
        let (mut next, mut any) = (first, false);
        while let Some(run) = next {
            let first_interval = if self.history.any() { 0.0 } else { self.first_interval(now) };
            any |= self.history.add(run, r, first_interval);
            let stream = self.streams.get_mut(usize::from(arrival.stream.0)).and_then(Option::as_mut);
            next = stream.and_then(|stream| stream.lost(marked.then_some(arrival.sequence)));
        }
        if marked {
            any |= self.mark(now, arrival, others);
        }
        any
    }

    fn mark(&mut self, now: Time, arrival: &Arrival, others: u64) -> bool {
        let id = usize::from(arrival.stream.0);
        let Some(Some(stream)) = self.streams.get(id) else { return false };
        let offset = stream.offset(others);
        let run = LostRun::marked(arrival.stream.0, arrival.sequence, now.as_nanos(), offset);
        let first_interval = if self.history.any() { 0.0 } else { self.first_interval(now) };
        self.history.add(run, self.rtt().as_nanos() as u64, first_interval)
    }

    /// A packet below the highest that was in no hole: a lost one turns up, or a duplicate.
    fn late(&mut self, now: Time, arrival: &Arrival, others: u64) -> (Arrived, bool) {
        let r = self.rtt().as_nanos() as u64;
        match self.history.take_back(arrival.stream.0, arrival.sequence, r) {
            None => (Arrived::Known, false),
            Some(gone) => {
                let marked = arrival.ecn.is_ce() && self.mark(now, arrival, others);
                (Arrived::New, gone || marked)
            }
        }
    }

    /// Whether the feedback timer expired and no feedback packet was sent then, for want of data (section 6.1).
    #[inline]
    fn is_overdue(&self, now: Time) -> bool {
        self.timer.is_none_or(|timer| now >= timer)
    }
}

impl ReceiverHalf for TfrcReceiver {
    #[inline]
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        let (arrived, events_changed) = self.note(now, arrival);
        if arrived == Arrived::Known {
            return false;
        }
        let stream = self.streams.get(usize::from(arrival.stream.0)).and_then(Option::as_ref);
        let highest = stream.is_some_and(|stream| stream.next() == arrival.sequence.saturating_add(1));
        if let (Some(Annotation::Rtt(rtt)), true) = (arrival.annotation, highest) {
            self.rtt = Some(rtt.max(SHORTEST_RTT).min(LONGEST_RTT));
        }
        self.received.on_packet(arrival.size);
        self.segment.on_packet(arrival.size, self.p);
        self.any_new = true;
        if let Some(sent) = arrival.sent {
            self.newest = Some((sent, now));
        }
        // Section 6.1, steps 2 to 4, and section 6: at once for a higher p, and when a loss event went.
        if events_changed {
            let before = self.p;
            self.p = self.loss_event_rate();
            if self.p != before {
                return true;
            }
        }
        // Section 6.3: every packet until one says the round-trip time.
        self.timer_rtt.is_none() || self.is_overdue(now)
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.timer.filter(|_| self.any_new)
    }

    /// Section 6.2. Nothing to say before a packet has told when it was sent, and without data since the last report.
    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        let (newest_sent, arrived) = self.newest.filter(|_| self.any_new)?;
        self.p = self.loss_event_rate();
        let r = self.measured_over();
        let x_recv = self.received.rate(now, r);
        self.x_recv_max = self.x_recv_max.max(x_recv);
        self.received.expire(now, r);
        self.any_new = false;
        self.timer_rtt = self.rtt;
        let span = self.rtt() / self.feedback_per_rtt.max(1);
        self.timer = Some(now + span.max(SHORTEST_RTT));
        Some(ReceiverReport::Tfrc {
            loss_event_rate: self.p,
            receive_rate: Bitrate::from_bps_f64(x_recv * 8.0),
            newest_sent: Some(newest_sent),
            delay: now.saturating_since(arrived),
        })
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
