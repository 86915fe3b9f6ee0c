//! NewReno (RFC 5681, RFC 6582) on the contract: a window law under a transport that detects and repairs losses.

use super::path::{Path, Run, SIZE, ms};
use super::reliable::Reliable;
use paceline_cc::{
    Assigned, Controller, Recovery, Report, SentPacket, Snapshot, Status, TimeoutReason, Update,
};
use paceline_units::{Bytes, Time, TimeDelta};

const MSS: u64 = SIZE.as_u64();

/// The window law alone. `assign` overwrites window and threshold.
pub struct NewReno {
    cwnd: u64,
    ssthresh: u64,
    pipe: u64,
    grown: u64,
    recovering: bool,
    app_limited: bool,
    before: Option<(u64, u64)>,
}

impl NewReno {
    pub fn new(segments: u64) -> NewReno {
        NewReno {
            cwnd: segments * MSS,
            ssthresh: u64::MAX,
            pipe: 0,
            grown: 0,
            recovering: false,
            app_limited: false,
            before: None,
        }
    }

    fn answer(&self) -> Update {
        Update::allow(Bytes::new(self.cwnd.saturating_sub(self.pipe)))
    }

    /// RFC 5681 section 3.1.
    fn grow(&mut self, delivered: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += delivered.min(MSS);
            return;
        }
        self.grown += delivered;
        if self.grown >= self.cwnd {
            self.grown -= self.cwnd;
            self.cwnd += MSS;
        }
    }

    /// RFC 5681 equation 4, what it overwrites kept for the case that it was not called for.
    fn reduce(&mut self, to_one: bool) {
        if !self.recovering {
            self.before = Some((self.cwnd, self.ssthresh));
            self.ssthresh = (self.pipe / 2).max(2 * MSS);
        }
        self.cwnd = if to_one { MSS } else { self.ssthresh };
        (self.recovering, self.grown) = (true, 0);
    }
}

impl Controller for NewReno {
    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        self.pipe += packet.size.as_u64();
        self.app_limited = packet.app_limited;
        self.answer()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        for packet in report.packets {
            if let Status::Received { .. } = packet.status {
                self.pipe = self.pipe.saturating_sub(packet.size.as_u64());
                if !self.recovering && !self.app_limited {
                    self.grow(packet.size.as_u64());
                }
            }
        }
        self.answer()
    }

    fn on_recovery(&mut self, _now: Time, recovery: Recovery) -> Update {
        match recovery {
            Recovery::Entered { lost } => {
                self.reduce(false);
                self.pipe = self.pipe.saturating_sub(lost.as_u64());
            }
            Recovery::Lost { lost } => self.pipe = self.pipe.saturating_sub(lost.as_u64()),
            Recovery::Found { found } => self.pipe += found.as_u64(),
            Recovery::Left => self.recovering = false,
            Recovery::SynLost => self.cwnd = MSS,
            Recovery::TimedOut => {
                self.reduce(true);
                // Outstanding data is sent again from one segment on, in slow start.
                (self.pipe, self.recovering) = (0, false);
            }
            Recovery::Spurious => {
                if let Some((cwnd, ssthresh)) = self.before.take() {
                    (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
                }
            }
        }
        self.answer()
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Window(window) = assigned {
            self.cwnd = window.as_u64().max(MSS);
            self.ssthresh = self.cwnd;
        }
        self.answer()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        None
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        Update::none()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(Bytes::new(self.cwnd)),
            in_flight: Some(Bytes::new(self.pipe)),
            ..Snapshot::default()
        }
    }
}

/// The windows of a run over a path with 100 ms round trips, and the transport afterwards.
fn run(drops: fn(u64) -> bool, until: Time) -> (Vec<u64>, Reliable) {
    let (mut reno, mut near) = (NewReno::new(10), Reliable::default());
    let path = Path { drops, ..Path::clean(TimeDelta::from_millis(50)) };
    let mut run = Run::new(&mut reno, &mut near, path);
    run.windows.push((Time::ZERO, Bytes::new(10 * MSS)));
    for step in 1..=until.as_nanos() / 1_000_000 {
        run.until(ms(step));
        let counted = run.controller.snapshot().in_flight.expect("a window law counts");
        // The answers are applied in the loop, the scoreboard in the transport: both must agree at every step.
        assert!(counted.as_u64() <= run.sent * MSS);
    }
    let windows = run.windows.iter().map(|(_, window)| window.as_u64() / MSS).collect();
    let pipe = run.controller.snapshot().in_flight;
    assert_eq!(pipe, Some(near.pipe()), "the controller's count is the scoreboard's pipe");
    (windows, near)
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one_segment_a_round_trip() {
    let (windows, _) = run(|_| false, ms(310));
    assert_eq!(windows.last(), Some(&80), "10, 20, 40, 80 after three round trips");
    let (windows, near) = run(|n| n == 60, ms(1450));
    let low = windows.iter().position(|window| windows[0] < *window && *window < 60).expect("it starts");
    assert!(low > 0 && near.recoveries == 1, "{windows:?}");
    let reduced = windows.windows(2).find(|pair| pair[1] < pair[0]).expect("one reduction");
    let rest: Vec<_> = windows.iter().skip_while(|window| **window != reduced[1]).collect();
    assert!((5..=12).contains(&(*windows.last().unwrap() - reduced[1])), "a segment a round trip: {rest:?}");
}

#[test]
fn many_losses_of_one_window_halve_it_once_and_everything_arrives() {
    let (windows, near) = run(|n| (60..84).contains(&n) && n % 3 == 0, ms(2000));
    let reductions: Vec<_> = windows.windows(2).filter(|pair| pair[1] < pair[0]).collect();
    assert_eq!((reductions.len(), near.recoveries, near.timeouts), (1, 1, 0), "{reductions:?}");
    let factor = reductions[0][1] as f64 / reductions[0][0] as f64;
    assert!((0.45..=0.55).contains(&factor), "{reductions:?}");
    assert!(near.later_losses > 0, "some were declared lost during recovery");
    assert!(near.delivered_in_order() > 200, "retransmissions repaired the holes");
}

#[test]
fn a_timeout_leaves_one_segment_and_slow_start_comes_back() {
    let (windows, near) = run(|n| (60..133).contains(&n), ms(6000));
    assert!(near.timeouts >= 1 && windows.contains(&1), "{windows:?}");
    assert!(*windows.last().unwrap() > 10 && near.delivered_in_order() > 300, "{windows:?}");
}

#[test]
fn a_spurious_reduction_is_undone_and_a_late_packet_leaves_the_flight_once() {
    let (mut reno, mut near) = (NewReno::new(10), Reliable::default());
    let mut seen = Vec::new();
    {
        let mut run = Run::new(&mut reno, &mut near, Path::clean(TimeDelta::from_millis(50)));
        run.until(ms(0));
    }
    // Segment 0 is overtaken by three: declared lost, and found before it is sent again.
    for sequence in [1, 2, 3, 0] {
        let mut told = Vec::new();
        super::path::Near::on_ack(&mut near, ms(100), sequence, ms(50), &mut |event| told.push(event));
        seen.extend(super::reliable::tell(&mut reno, &told));
        assert_eq!(reno.snapshot().in_flight, Some(near.pipe()), "after {sequence}");
    }
    assert!(matches!(seen[0], Recovery::Entered { .. }), "{seen:?}");
    assert!(matches!(seen[1], Recovery::Found { .. }), "{seen:?}");
    assert!(reno.snapshot().window < Some(Bytes::new(8 * MSS)), "reduced: {:?}", reno.snapshot());
    let _ = reno.on_recovery(ms(101), Recovery::Spurious);
    assert!(reno.snapshot().window >= Some(Bytes::new(13 * MSS)), "{:?}", reno.snapshot());
}

#[test]
fn coupling_may_raise_a_window() {
    let mut reno = NewReno::new(2);
    assert_eq!(reno.share(), Some(Assigned::Window(Bytes::new(2 * MSS))));
    let update = reno.assign(ms(0), Assigned::Window(Bytes::new(20 * MSS)));
    assert_eq!(update, Update::allow(Bytes::new(20 * MSS)));
}
