//! RTP circuit breakers (RFC 8083): a call whose reports stay away, whose media does not arrive, or that sends far more than TCP
//! would on the same path, ends.
//!
//! The RFC counts regular RTCP reports. RFC 8888 reports come with every frame, so those of 5 s count here as one report: the
//! minimum interval of RFC 3550 section 6.2, which is also the longest that RFC 8083 allows.
//!
//! The timeout of section 4.1 runs while packets are sent, or wait to be: of a pause one interval counts, and two end it, since who
//! sent nothing for so long is no sender (RFC 3550 section 6.3.5).

use super::seen::Seen;
use super::sender::RtpSender;
use paceline_cc::{Controller, PacketResult, Status};
use paceline_units::{Bytes, Time, TimeDelta, names};
use std::collections::VecDeque;

names! {
    /// Which circuit breakers guard a flow.
    #[derive(Default)]
    pub enum CircuitBreakers {
        /// No circuit breaker.
        Off = "off",
        /// The breakers of reports that stay away and of media that does not arrive (RFC 8083 sections 4.1 and 4.2).
        #[default]
        Timeouts = "timeouts",
        /// The breaker of congestion (section 4.3) as well.
        Full = "full",
    }
}

/// The cause that broke the circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// Packets were sent, and no report came for three times the reporting interval (RFC 8083 section 4.1).
    NoReports,
    /// Reports came that told of no new arrival (section 4.2).
    NoMedia,
    /// Ten times the rate of TCP was sent at this loss ratio and round trip (section 4.3).
    Congestion,
}

impl Broken {
    /// The event, for people.
    pub const fn what(self) -> &'static str {
        match self {
            Broken::NoReports => "no report for 15 s (RFC 8083 section 4.1)",
            Broken::NoMedia => "reports tell of no arrival (RFC 8083 section 4.2)",
            Broken::Congestion => "losses at more than ten times the rate of TCP (RFC 8083 section 4.3)",
        }
    }
}

/// Td, with the fixed minimum that section 4.1 wants.
const TD: TimeDelta = TimeDelta::from_secs(5);
/// Tdr: reports of so long count as one.
const TDR: TimeDelta = TD;
/// k: reports without progress.
const K: f64 = 5.0;
/// "More than 10 * X".
const TIMES_TCP: f64 = 10.0;
/// CB_INTERVAL is at most max(15 s, 3 Td) over Tdr.
const MOST_REPORTS: usize = 3;

/// The reports of one interval together, in place of an RTCP report.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    seconds: f64,
    /// Packets that were reported on for the first time, and that were reported as received for the first time.
    covered: u64,
    received: u64,
    /// Packets and bytes sent, headers in.
    packets: u64,
    bytes: u64,
    /// Longest time between two packets sent: Tf at most.
    gap: TimeDelta,
    /// Shortest round trip.
    rtt: Option<TimeDelta>,
}

impl Interval {
    /// The fraction lost, as RFC 3550 appendix A.3 has it: what arrives late makes up for what was missing before.
    fn lost(&self) -> f64 {
        if self.covered == 0 { 0.0 } else { 1.0 - (self.received as f64 / self.covered as f64).min(1.0) }
    }
}

/// The breakers of one flow.
#[derive(Clone, Debug)]
pub(super) struct CircuitBreaker {
    /// Since when packets that were sent wait for a report, pauses out; absent while none does.
    waiting: Option<Time>,
    /// Whether nothing was sent for an interval when the timeout was due: it runs again when there is media.
    pauses: bool,
    last_sent: Time,
    /// Of each stream, the packets reported on and received.
    seen: Vec<(Seen, Seen)>,
    began: Option<Time>,
    present: Interval,
    /// The newest last.
    past: VecDeque<Interval>,
    /// Round-trip time that RTCP told, in seconds (RFC 8083: `Tr`).
    rtt: Option<f64>,
    /// Reports in a row that told of no arrival, and how many are too many.
    unmoved: u64,
    media_timeout: f64,
    /// Whether congestion ends the flow.
    full: bool,
    broken: Option<(Time, Broken)>,
}

impl CircuitBreaker {
    fn new(streams: usize, full: bool) -> CircuitBreaker {
        CircuitBreaker {
            waiting: None,
            pauses: false,
            last_sent: Time::ZERO,
            seen: vec![(Seen::new(), Seen::new()); streams],
            began: None,
            present: Interval::default(),
            past: VecDeque::with_capacity(MOST_REPORTS + 1),
            rtt: None,
            unmoved: 0,
            media_timeout: K,
            full,
            broken: None,
        }
    }

    /// Media was offered: in a pause the timeout runs from then on, whether the controller lets it leave or not.
    #[inline]
    pub(super) fn on_offered(&mut self, now: Time) {
        if self.pauses {
            self.resume(now, now);
            self.last_sent = now;
        }
    }

    /// Nothing was to be sent before `queued`.
    #[inline]
    fn resume(&mut self, now: Time, queued: Time) {
        let paused = queued.saturating_since(self.last_sent);
        match &mut self.waiting {
            Some(since) if paused < TD * 2 => *since += (paused - TD).max(TimeDelta::ZERO),
            waiting => *waiting = Some(now),
        }
        self.pauses = false;
    }

    /// A packet leaves that has waited since `queued`.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes, queued: Time) {
        self.resume(now, queued);
        if self.began.is_some() {
            self.present.gap = self.present.gap.max(now.saturating_since(self.last_sent));
        }
        self.last_sent = now;
        self.began.get_or_insert(now);
        self.present.packets += 1;
        self.present.bytes += size.as_u64();
    }

    /// A report on packets that were sent.
    fn on_report(&mut self, now: Time, results: &[PacketResult]) {
        self.waiting = None;
        let mut newest = None;
        for packet in results {
            let id = usize::from(packet.stream.0);
            if self.seen.len() <= id {
                self.seen.resize_with(id + 1, || (Seen::new(), Seen::new()));
            }
            let (covered, received) = &mut self.seen[id];
            self.present.covered += u64::from(covered.insert(packet.sequence));
            if packet.status != Status::Missing {
                self.present.received += u64::from(received.insert(packet.sequence));
                newest = newest.max(Some(packet.sent));
            }
        }
        if let Some(newest) = newest {
            let rtt = now.saturating_since(newest);
            self.present.rtt = Some(self.present.rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(began) = self.began.filter(|began| now.saturating_since(*began) >= TDR) {
            self.close_interval(now, (now - began).as_secs_f64());
        }
    }

    /// The reports so far count as one.
    fn close_interval(&mut self, now: Time, seconds: f64) {
        let interval = Interval { seconds, ..core::mem::take(&mut self.present) };
        self.began = Some(now);
        if let Some(rtt) = interval.rtt {
            let rtt = rtt.as_secs_f64();
            self.rtt = Some(self.rtt.map_or(rtt, |smoothed| 0.8 * smoothed + 0.2 * rtt));
        }
        if self.past.len() > MOST_REPORTS {
            self.past.pop_front();
        }
        self.past.push_back(interval);
        if self.is_media_lost(&interval) {
            self.broken = Some((now, Broken::NoMedia));
        } else if self.full && self.is_congested() {
            self.broken = Some((now, Broken::Congestion));
        }
    }

    /// The longest time between packets of the last intervals, in seconds.
    fn framing(&self) -> f64 {
        self.past.iter().map(|interval| interval.gap).fold(TimeDelta::ZERO, TimeDelta::max).as_secs_f64()
    }

    /// Section 4.2: the timeout is reconsidered at each report, and grows alone while nothing arrives.
    fn is_media_lost(&mut self, interval: &Interval) -> bool {
        let tdr = TDR.as_secs_f64();
        let timeout = (K * self.framing().max(self.rtt.unwrap_or(0.0)).max(tdr) / tdr).ceil();
        if interval.received > 0 || interval.packets == 0 {
            (self.unmoved, self.media_timeout) = (0, timeout);
            return false;
        }
        self.unmoved += 1;
        self.media_timeout = self.media_timeout.max(timeout);
        self.unmoved as f64 >= self.media_timeout
    }

    /// Section 4.3, with the simplified equation of TCP.
    fn is_congested(&self) -> bool {
        let (tdr, td) = (TDR.as_secs_f64(), TD.as_secs_f64());
        let Some(rtt) = self.rtt.filter(|rtt| *rtt > 0.0) else { return false };
        let span = (10.0 * self.framing()).max(10.0 * rtt).max(3.0 * tdr).min((3.0 * td).max(15.0));
        let count = ((3.0 * span / (3.0 * tdr)).ceil() as usize).clamp(1, MOST_REPORTS);
        if self.past.len() <= count {
            return false;
        }
        let last = || self.past.iter().rev().take(count);
        let seconds: f64 = last().map(|interval| interval.seconds).sum();
        let lost = last().map(|interval| interval.lost() * interval.seconds).sum::<f64>() / seconds;
        let (packets, bytes) =
            last().fold((0, 0), |sum, interval| (sum.0 + interval.packets, sum.1 + interval.bytes));
        if lost <= 0.0 || (packets as f64) * tdr.max(rtt) < seconds {
            return false;
        }
        let size = bytes as f64 / packets as f64;
        let tcp = size / (rtt * (2.0 * lost / 3.0).sqrt());
        bytes as f64 / seconds > TIMES_TCP * tcp
    }

    /// When the flow ends unless a report comes.
    #[inline]
    pub(super) fn due(&self) -> Time {
        match self.waiting {
            Some(since) if self.broken.is_none() && !self.pauses => since + TD * 3,
            _ => Time::MAX,
        }
    }

    /// Section 4.1, where packets are sent still, or wait to be, the first of them since `queued`.
    fn on_timeout(&mut self, now: Time, queued: Option<Time>) {
        if now < self.due() {
            return;
        }
        // A program that asks so late was suspended, and reports wait in its socket: it has Td to read them.
        if now >= self.due() + TD {
            self.waiting = Some(now - TD * 2);
            return;
        }
        // A program that sends nothing need not ask either: the pause shows when there is media again.
        if let Some(queued) = queued.filter(|queued| queued.saturating_since(self.last_sent) >= TD) {
            self.pauses = true;
            self.on_offered(queued);
            return self.on_timeout(now, Some(queued));
        }
        if queued.is_some() || now.saturating_since(self.last_sent) < TD {
            self.broken = Some((now, Broken::NoReports));
        }
        self.pauses = true;
    }
}

impl<C: Controller> RtpSender<C> {
    /// Ends the flow where RFC 8083 wants that: as [`paceline_ends::SendingEnd::stop`] does, and nothing starts it again. Before
    /// anything is sent.
    pub fn guard(&mut self, by: CircuitBreakers) {
        let breaker = |full| Some(Box::new(CircuitBreaker::new(self.streams.len(), full)));
        self.breaker = match by {
            CircuitBreakers::Off => None,
            CircuitBreakers::Timeouts => breaker(false),
            CircuitBreakers::Full => breaker(true),
        };
    }

    /// When and why a circuit breaker ended the flow.
    pub fn broken(&self) -> Option<(Time, Broken)> {
        self.breaker.as_ref()?.broken
    }

    /// The receiver hears, though it tells of no single packets: the controller's half at the receiver reported, or RTCP did.
    pub fn tell_breaker_heard(&mut self) {
        if let Some(breaker) = &mut self.breaker {
            breaker.waiting = None;
        }
    }

    /// The receiver reported on `results`.
    pub(super) fn tell_breaker(&mut self, now: Time) {
        if let Some(breaker) = self.breaker.as_mut().filter(|breaker| breaker.broken.is_none()) {
            breaker.on_report(now, self.reported.results());
            self.obey_breaker(now);
        }
    }

    /// No report came in time.
    #[cold]
    pub(super) fn time_breaker_out(&mut self, now: Time) {
        let queued = self.streams.iter().filter_map(|stream| stream.queue().oldest()).min();
        if let Some(breaker) = &mut self.breaker {
            breaker.on_timeout(now, queued);
            self.obey_breaker(now);
        }
    }

    fn obey_breaker(&mut self, now: Time) {
        if self.broken().is_some() {
            paceline_ends::SendingEnd::stop(self, now);
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
