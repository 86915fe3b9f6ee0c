//! BBR's phases as vectors: a path of 100 ms that delivers a packet per millisecond.

use super::*;
use crate::FlowSetup;
use crate::window::Law;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{Assigned, Controller, Recovery, SentPacket, StreamId};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};

/// As published: without a margin, so that a queue stays and round trips do not come down to the least by themselves.
fn published() -> Params {
    Params { pacing_margin_percent: 0.0, ..Params::default() }
}

fn make(params: &Params) -> Flow<BbrLaw> {
    Flow::new(Bbr::new(params, &FlowSetup::new(Bytes::new(SIZE))))
}

/// A paced flow on the path, and when its packets were sent.
struct Path {
    flow: Flow<BbrLaw>,
    sent: Vec<Time>,
    next_send: Time,
}

impl Path {
    fn warm() -> Path {
        Path::of(&published())
    }

    fn of(params: &Params) -> Path {
        let mut path = Path { flow: make(params), sent: Vec::new(), next_send: Time::ZERO };
        path.fill();
        path.deliver(3000);
        path
    }

    fn fill(&mut self) {
        let now = self.flow.now;
        loop {
            let (law, window) = self.flow.sender.parts();
            if window.bytes() < window.pipe + SIZE || self.next_send > now {
                return;
            }
            let pace = law.pacing_rate(window).unwrap();
            self.flow.send(1);
            self.sent.push(now);
            let burst = now - TimeDelta::from_millis(2);
            self.next_send = self.next_send.max(burst) + pace.time_for(Bytes::new(SIZE));
        }
    }

    /// Each packet 100 ms after it was sent at least, and a millisecond after the one before.
    fn deliver(&mut self, packets: u64) {
        for _ in 0..packets {
            let first = self.flow.first();
            if first == self.flow.next {
                self.flow.now += TimeDelta::from_millis(1);
                self.fill();
                continue;
            }
            let arrives = self.sent[first as usize] + TimeDelta::from_millis(100);
            self.flow.now = arrives.max(self.flow.now + TimeDelta::from_millis(1));
            self.flow.ack(first..first + 1, Ecn::NotEct);
            self.fill();
        }
    }

    fn law(&mut self) -> &mut BbrLaw {
        self.flow.sender.parts().0
    }
}

#[test]
fn the_first_window_leaves_at_2_89_times_itself_per_millisecond() {
    let mut flow = make(&published());
    let (law, window) = flow.sender.parts();
    assert_eq!(law.pacing_rate(window), Some(Bitrate::from_bps(231_200_000)));
    assert_eq!((law.phase, law.pacing_gain, law.cwnd_gain), (Phase::Startup, 2.89, 2.89));
}

#[test]
fn startup_finds_the_bandwidth_and_the_cycle_has_its_eight_gains() {
    let mut path = Path::warm();
    let law = path.law();
    assert!((law.model.bw() / 1e6 - 1.0).abs() < 0.02, "{}", law.model.bw());
    assert_eq!((law.phase, law.filled, law.cwnd_gain), (Phase::ProbeBw, true, 2.0));
    assert_eq!(law.model.rtprop, Some(TimeDelta::from_millis(100)));
    let mut gains = Vec::new();
    for _ in 0..3000 {
        path.deliver(1);
        let gain = (path.law().cycle, path.law().pacing_gain);
        if gains.last() != Some(&gain) {
            gains.push(gain);
        }
    }
    assert!(gains.len() >= 9, "{gains:?}");
    assert!(gains.windows(2).all(|pair| pair[1].0 == (pair[0].0 + 1) % 8), "{gains:?}");
    for (cycle, gain) in gains {
        assert_eq!(gain, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][cycle]);
    }
}

#[test]
fn probe_rtt_comes_after_ten_seconds_lasts_200_ms_and_gives_the_window_back() {
    let mut path = Path::warm();
    let before = path.flow.cwnd();
    let (mut entered, mut left) = (None, None);
    for _ in 0..20_000 {
        path.deliver(1);
        let (now, cwnd) = (path.flow.now, path.flow.cwnd());
        match (entered, left, path.law().phase == Phase::ProbeRtt) {
            (None, _, true) => entered = Some(now),
            (Some(_), None, true) => assert!(cwnd <= 4.0),
            (Some(_), None, false) => {
                left = Some(now);
                assert!(cwnd > 0.8 * before, "{cwnd} of {before}");
            }
            _ => {}
        }
    }
    let probed = left.expect("it ended").saturating_since(entered.expect("it came")).as_millis_f64();
    assert!((200.0..=700.0).contains(&probed), "{probed} ms");
}

#[test]
fn linux_paces_a_percent_below_the_bandwidth() {
    let mut path = Path::of(&Params::default());
    let law = path.law();
    let pace = law.pacing_rate.expect("a bandwidth is known") / (law.pacing_gain * law.model.bw());
    assert!((pace - 0.99).abs() < 1e-9, "{pace}");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_the_window_is_back() {
    let mut path = Path::warm();
    let before = path.flow.cwnd();
    let pipe = path.flow.sender.parts().1.pipe / SIZE;
    path.flow.tell(Recovery::Entered { lost: lost(20) });
    assert_eq!(path.flow.cwnd(), (pipe - 20 + 1) as f64, "what is in flight, and a packet");
    path.deliver(10);
    assert!(path.flow.cwnd() <= (pipe - 20 + 3) as f64, "{} after ten deliveries", path.flow.cwnd());
    path.flow.tell(Recovery::Left);
    assert_eq!(path.flow.cwnd(), before);
    path.flow.tell(Recovery::TimedOut);
    assert_eq!(path.flow.cwnd(), 1.0);
    path.flow.tell(Recovery::Spurious);
    assert_eq!(path.flow.cwnd(), before);
}

#[test]
fn what_the_application_limits_is_no_bandwidth() {
    let mut path = Path::warm();
    let before = path.law().model.bw();
    let (first, next) = (path.flow.first(), path.flow.next);
    path.flow.now += TimeDelta::from_millis(100);
    path.flow.ack(first..next, Ecn::NotEct);
    for sequence in next..next + 50 {
        let size = Bytes::new(SIZE);
        let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: true };
        let _ = path.flow.sender.on_sent(path.flow.now, &packet);
        path.flow.now += TimeDelta::from_millis(100);
        path.flow.ack(sequence..sequence + 1, Ecn::NotEct);
    }
    assert!(path.law().model.bw() >= before, "a packet per round trip, for fifty of them");
}

#[test]
fn an_assignment_is_the_bandwidth() {
    let mut path = Path::warm();
    let _ = path.flow.sender.assign(path.flow.now, Assigned::Rate(Bitrate::from_mbps(4)));
    let (law, window) = path.flow.sender.parts();
    assert_eq!(law.model.bw(), 500_000.0);
    assert!((window.cwnd - (2.0 * 50_000.0 + 6_000.0)).abs() < 1.0, "{}", window.cwnd);
}
