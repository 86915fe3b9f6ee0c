//! TFRC's receiver half (RFC 5348 sections 5 and 6): loss events, eight weighted intervals, reports once a round trip.

use super::path::{SIZE, ms};
use super::tfrc_sender::throughput;
use paceline_cc::{Annotation, Arrival, ReceiverHalf, ReceiverReport, StreamId};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::{BTreeMap, VecDeque};

const INTERVALS: usize = 8;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Later packets that make a hole a loss.
const DUPLICATES: usize = 3;

#[derive(Default)]
pub struct TfrcReceiver {
    /// Packets above the highest decided number, with their arrival.
    pending: BTreeMap<u64, Time>,
    /// Everything below is decided; when the last below arrived.
    decided: (u64, Time),
    /// First number and time of the present loss event.
    event: Option<(u64, Time)>,
    /// Closed loss intervals in packets, the newest first.
    intervals: VecDeque<f64>,
    highest: u64,
    rtt: TimeDelta,
    bytes: Bytes,
    last_report: Option<Time>,
    newest: Option<(Time, Time)>,
    reported: f64,
}

impl TfrcReceiver {
    /// Section 5.4: the weighted mean of the intervals, the open one in if that makes it longer.
    pub fn loss_event_rate(&self) -> f64 {
        let Some((start, _)) = self.event else { return 0.0 };
        let open = (self.highest + 1 - start) as f64;
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let (sum, weights) =
                intervals.zip(WEIGHTS).fold((0.0, 0.0), |(sum, weights), (interval, weight)| {
                    (sum + interval * weight, weights + weight)
                });
            if weights > 0.0 { sum / weights } else { 0.0 }
        };
        let closed = mean(&mut self.intervals.iter().copied());
        let with_open = mean(&mut std::iter::once(open).chain(self.intervals.iter().copied()));
        1.0 / closed.max(with_open).max(1.0)
    }

    /// Decides the holes that three later packets confirm.
    fn decide(&mut self, now: Time) {
        while let Some((&next, &arrived)) = self.pending.first_key_value() {
            if next > self.decided.0 {
                if self.pending.len() < DUPLICATES {
                    return;
                }
                self.lose(now, next, arrived);
            }
            self.pending.remove(&next);
            self.decided = (next + 1, arrived);
        }
    }

    /// Section 5.2: everything from the first undecided up to `next` is lost; times lie between the neighbours'.
    fn lose(&mut self, now: Time, next: u64, arrived: Time) {
        let (first, before) = self.decided;
        let gap = (arrived - before).as_secs_f64() / (next + 1 - first) as f64;
        for lost in first..next {
            let at = before + TimeDelta::from_secs_f64(gap * (lost + 1 - first) as f64);
            match self.event {
                Some((_, start)) if at <= start + self.rtt => {}
                Some((start, _)) => {
                    self.intervals.push_front((lost - start) as f64);
                    self.intervals.truncate(INTERVALS);
                    self.event = Some((lost, at));
                }
                None => {
                    self.intervals.push_front(self.synthetic(now));
                    self.event = Some((lost, at));
                }
            }
        }
    }

    /// Section 6.3.1: the first interval is what the equation gives at the rate received so far.
    fn synthetic(&self, now: Time) -> f64 {
        let (rate, rtt) = (self.rate(now).as_bps_f64() / 8.0, self.rtt.as_secs_f64());
        let (mut low, mut high) = (1e-8_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if throughput(SIZE, rtt, middle) > rate { low = middle } else { high = middle }
        }
        1.0 / high
    }

    fn rate(&self, now: Time) -> Bitrate {
        let span = self.last_report.map_or(self.rtt, |last| (now - last).max(self.rtt));
        Bitrate::from_bps_f64(self.bytes.as_bits_f64() / span.as_secs_f64().max(1e-3))
    }
}

impl ReceiverHalf for TfrcReceiver {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        if let Some(Annotation::Rtt(rtt)) = arrival.annotation {
            self.rtt = rtt;
        }
        if arrival.sequence < self.decided.0 || self.pending.contains_key(&arrival.sequence) {
            return false;
        }
        self.bytes += arrival.size;
        self.highest = self.highest.max(arrival.sequence);
        self.pending.insert(arrival.sequence, now);
        let sent = arrival.sent.unwrap_or(now);
        if self.newest.is_none_or(|(newest, _)| sent >= newest) {
            self.newest = Some((sent, now));
        }
        self.decide(now);
        self.last_report.is_none() || self.loss_event_rate() > self.reported
    }

    fn next_timeout(&self) -> Option<Time> {
        self.last_report
            .filter(|_| self.bytes > Bytes::ZERO)
            .map(|last| last + self.rtt.max(TimeDelta::from_millis(1)))
    }

    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        let (newest_sent, arrived) = self.newest?;
        let newest_sent = Some(newest_sent);
        let receive_rate = if self.last_report.is_some() { self.rate(now) } else { Bitrate::ZERO };
        self.reported = self.loss_event_rate();
        (self.last_report, self.bytes) = (Some(now), Bytes::ZERO);
        let (loss_event_rate, delay) = (self.reported, now - arrived);
        Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay })
    }
}

fn arrival(sequence: u64, sent: Time) -> Arrival {
    let annotation = Some(Annotation::Rtt(TimeDelta::from_millis(100)));
    Arrival { stream: StreamId(0), sequence, size: SIZE, sent: Some(sent), ecn: Ecn::NotEct, annotation }
}

/// One packet every 10 ms without those that `lost` names.
fn hear(count: u64, lost: impl Fn(u64) -> bool) -> TfrcReceiver {
    let mut receiver = TfrcReceiver::default();
    for n in (0..count).filter(|n| !lost(*n)) {
        if receiver.on_arrival(ms(n * 10 + 50), &arrival(n, ms(n * 10))) {
            let _ = receiver.report(ms(n * 10 + 50));
        }
    }
    receiver
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    assert_eq!(hear(500, |_| false).loss_event_rate(), 0.0);
    let rate = hear(3000, |n| n % 100 == 99).loss_event_rate();
    assert!((rate - 0.01).abs() < 1e-9, "{rate}");
    let bursts = hear(3000, |n| (90..95).contains(&(n % 100))).loss_event_rate();
    assert!((bursts - 0.01).abs() < 1e-9, "5 losses in 50 ms are one event: {bursts}");
    let apart = hear(3000, |n| n % 50 == 49).loss_event_rate();
    assert!((apart - 0.02).abs() < 1e-9, "{apart}");
}

#[test]
fn a_hole_filled_before_three_later_packets_is_no_loss() {
    let mut receiver = hear(20, |_| false);
    for n in [21, 22, 20, 23, 24] {
        receiver.on_arrival(ms(n * 10 + 50), &arrival(n, ms(n * 10)));
    }
    assert_eq!(receiver.loss_event_rate(), 0.0);
    for n in [26, 27, 28] {
        receiver.on_arrival(ms(n * 10 + 50), &arrival(n, ms(n * 10)));
    }
    assert!(receiver.loss_event_rate() > 0.0);
}

#[test]
fn a_report_says_when_the_newest_packet_was_sent_and_how_long_it_waited() {
    let mut receiver = hear(20, |_| false);
    assert_eq!(receiver.next_timeout(), Some(ms(50 + 100)), "a round trip after the first report");
    let Some(ReceiverReport::Tfrc { newest_sent, delay, receive_rate, .. }) = receiver.report(ms(260)) else {
        panic!("there is something to say");
    };
    assert_eq!((newest_sent, delay), (Some(ms(190)), TimeDelta::from_millis(20)));
    assert_eq!(receive_rate.as_bps(), 19 * 8000 * 1000 / 210, "19 packets since the first report");
}
