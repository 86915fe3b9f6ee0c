//! TFRC's sender half (RFC 5348 section 4): the allowed rate from the throughput equation and what the receiver says.

use super::path::SIZE;
use paceline_cc::{
    Allowance, Annotation, Assigned, Controller, Offered, Pacing, ReceiverReport, Report, SendQueueState,
    SentPacket, Snapshot, StreamId, TargetChange, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Longest back-off, seconds.
const T_MBI: f64 = 64.0;

/// Section 3.1, bytes per second: segment size, round trip in seconds, loss event rate; b = 1, t_RTO = 4 R.
pub fn throughput(size: Bytes, rtt: f64, p: f64) -> f64 {
    let timeouts = 4.0 * rtt * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    size.as_f64() / (rtt * (2.0 * p / 3.0).sqrt() + timeouts)
}

/// `assign` overwrites X, not the loss history, which is the receiver's.
pub struct TfrcSender {
    /// X, bytes per second.
    pub rate: f64,
    rtt: Option<f64>,
    loss: f64,
    doubled: Time,
    /// X_recv_set: when, and bytes per second.
    received: Vec<(Time, f64)>,
    no_feedback: Option<Time>,
}

impl Default for TfrcSender {
    fn default() -> TfrcSender {
        // Section 4.2: one packet per second, the timer at two seconds.
        let rate = SIZE.as_f64();
        TfrcSender {
            rate,
            rtt: None,
            loss: 0.0,
            doubled: Time::ZERO,
            received: Vec::new(),
            no_feedback: None,
        }
    }
}

impl TfrcSender {
    fn answer(&self) -> Update {
        let rate = Bitrate::from_bps_f64(self.rate * 8.0);
        Update {
            allowance: Some(Allowance::Unlimited),
            pacing: Some(Pacing::Rate(rate)),
            target: TargetChange::Total(rate),
            ..Update::none()
        }
    }

    fn initial_rate(&self) -> f64 {
        let window = (4.0 * SIZE.as_f64()).min((2.0 * SIZE.as_f64()).max(4380.0));
        self.rtt.map_or(SIZE.as_f64(), |rtt| window / rtt)
    }

    fn restart_timer(&mut self, now: Time) {
        let span = self.rtt.map_or(2.0, |rtt| (4.0 * rtt).max(2.0 * SIZE.as_f64() / self.rate));
        self.no_feedback = Some(now + TimeDelta::from_secs_f64(span));
    }

    /// Section 4.3 without the data-limited case: this sender always has something to send.
    fn on_feedback(&mut self, now: Time, loss: f64, received: Bitrate, sample: f64) {
        let first = self.rtt.is_none();
        let rtt = self.rtt.map_or(sample, |rtt| 0.9 * rtt + 0.1 * sample);
        self.rtt = Some(rtt);
        if received > Bitrate::ZERO {
            self.received.retain(|(at, _)| (now - *at).as_secs_f64() <= 2.0 * rtt);
            self.received.push((now, received.as_bps_f64() / 8.0));
        }
        let most = self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let limit = if self.received.is_empty() { f64::INFINITY } else { 2.0 * most };
        self.loss = loss;
        if loss > 0.0 {
            self.rate = throughput(SIZE, rtt, loss).min(limit).max(SIZE.as_f64() / T_MBI);
        } else if first {
            (self.rate, self.doubled) = (self.initial_rate(), now);
        } else if (now - self.doubled).as_secs_f64() >= rtt {
            (self.rate, self.doubled) = ((2.0 * self.rate).min(limit).max(self.initial_rate()), now);
        }
        self.restart_timer(now);
    }
}

impl Controller for TfrcSender {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.answer()
    }

    fn on_sent(&mut self, now: Time, _packet: &SentPacket) -> Update {
        if self.no_feedback.is_none() {
            self.restart_timer(now);
        }
        Update::none()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Receiver(ReceiverReport::Tfrc {
            loss_event_rate,
            receive_rate,
            newest_sent: Some(newest_sent),
            delay,
        }) = report
        else {
            return Update::none();
        };
        let sample = (now - *newest_sent - *delay).as_secs_f64().max(1e-6);
        self.on_feedback(now, loss_event_rate.clamp(0.0, 1.0), *receive_rate, sample);
        self.answer()
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Rate(rate) = assigned {
            self.rate = rate.as_bps_f64() / 8.0;
        }
        self.answer()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.no_feedback.map(|due| (due, TimeoutReason::NoFeedback))
    }

    /// Section 4.4: the rate is halved, and what the receiver said may at most be doubled again.
    fn on_timeout(&mut self, now: Time) -> Update {
        self.rate = (self.rate / 2.0).max(SIZE.as_f64() / T_MBI);
        self.received = vec![(now, self.rate / 2.0)];
        self.restart_timer(now);
        self.answer()
    }

    fn annotation(&self, _now: Time, _stream: StreamId) -> Option<Annotation> {
        self.rtt.map(|rtt| Annotation::Rtt(TimeDelta::from_secs_f64(rtt)))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            target: Some(Bitrate::from_bps_f64(self.rate * 8.0)),
            srtt: self.rtt.map(TimeDelta::from_secs_f64),
            ..Snapshot::default()
        }
    }
}

#[test]
fn the_equation_gives_the_known_rates() {
    for (size, rtt, p, expected) in [
        (1000, 0.1, 0.001, 383_843.6),
        (1000, 0.1, 0.01, 112_332.2),
        (1000, 0.1, 0.1, 17_701.0),
        (1460, 0.05, 0.02, 213_887.0),
        (1000, 0.04, 0.05, 92_147.1),
    ] {
        let found = throughput(Bytes::new(size), rtt, p);
        assert!((found - expected).abs() < 0.1, "s {size}, R {rtt}, p {p}: {found}, expected {expected}");
    }
}
