//! The draft's example test cases (its appendix) on a path in the test: a bottleneck with a queue, that drops, slows down and
//! gathers acknowledgements as the case says. Those that need a transport are in `crates/sim/tests/bbr3.rs`.

use super::cycle::AckPhase;
use super::*;
use crate::FlowSetup;
use crate::window::Law;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{Assigned, Controller, Recovery, SentPacket, StreamId};
use alloc::collections::VecDeque;
use paceline_units::{Bitrate, Bytes, Ecn};

/// A rate sample of nothing.
pub(super) fn sample() -> Sample {
    Sample {
        now: Time::ZERO,
        delivery_rate: 0.0,
        delivered: 0.0,
        prior_delivered: 0,
        app_limited: false,
        tx_in_flight: 0.0,
        lost: 0.0,
        rtt: None,
        newly_acked: 0.0,
        flight_before: 0.0,
    }
}

/// Of a packet sent with so much in flight, before anything was lost.
fn note(tx_in_flight: u64) -> Note {
    let mut note = Note::default();
    note.extra = Sending { tx_in_flight, lost: 0 };
    note
}

fn make() -> Flow<Bbr3Law> {
    with(Params::default())
}

fn with(params: Params) -> Flow<Bbr3Law> {
    Flow::new(Bbr3::new(&params, &FlowSetup::new(Bytes::new(SIZE))))
}

const STEP: TimeDelta = TimeDelta::from_nanos(250_000);

/// A paced flow over a bottleneck and 100 ms. Time goes by in quarters of a millisecond.
struct Path {
    flow: Flow<Bbr3Law>,
    /// Packets of 1000 B in a second.
    rate: f64,
    /// Packets that the bottleneck has begun, and its fraction of the next.
    served: f64,
    waiting: VecDeque<u64>,
    queue: usize,
    /// When acknowledgements arrive.
    back: VecDeque<(Time, u64)>,
    /// Packets that were dropped and not declared lost.
    dropped: VecDeque<u64>,
    recovery_end: Option<u64>,
    next_send: Time,
    /// The application has data.
    greedy: bool,
    /// One packet in so many is dropped on the way.
    lose_every: u64,
    /// Acknowledgements leave the receiver in such intervals, if they are gathered.
    gather: TimeDelta,
}

impl Path {
    fn new(rate: f64, queue: usize) -> Path {
        Path {
            flow: make(),
            rate,
            served: 0.0,
            waiting: VecDeque::new(),
            queue,
            back: VecDeque::new(),
            dropped: VecDeque::new(),
            recovery_end: None,
            next_send: Time::ZERO,
            greedy: true,
            lose_every: u64::MAX,
            gather: TimeDelta::ZERO,
        }
    }

    fn law(&mut self) -> &mut Bbr3Law {
        self.flow.sender.parts().0
    }

    fn phase(&mut self) -> Phase {
        self.law().phase
    }

    fn pipe(&mut self) -> f64 {
        self.flow.sender.parts().1.pipe as f64
    }

    /// A packet leaves, the last of what there is if `last`.
    fn send(&mut self, last: bool) {
        let sequence = self.flow.next;
        let size = Bytes::new(SIZE);
        let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: last };
        let _ = self.flow.sender.on_sent(self.flow.now, &packet);
        self.flow.next += 1;
        if self.waiting.len() >= self.queue || (sequence + 1).is_multiple_of(self.lose_every) {
            self.dropped.push_back(sequence);
        } else {
            self.waiting.push_back(sequence);
        }
    }

    fn fill(&mut self) {
        let now = self.flow.now;
        loop {
            let (law, window) = self.flow.sender.parts();
            if !self.greedy || window.bytes() < window.pipe + SIZE || self.next_send > now {
                return;
            }
            let pace = law.pacing_rate(window).unwrap();
            self.next_send = self.next_send.max(now - STEP) + pace.time_for(Bytes::new(SIZE));
            self.send(false);
        }
    }

    fn step(&mut self) {
        self.flow.now += STEP;
        let now = self.flow.now;
        self.served =
            if self.waiting.is_empty() { 0.0 } else { self.served + self.rate * STEP.as_secs_f64() };
        while self.served >= 1.0
            && let Some(sequence) = self.waiting.pop_front()
        {
            self.served -= 1.0;
            let mut arrives = now + TimeDelta::from_millis(100);
            if self.gather > TimeDelta::ZERO {
                let slot = self.gather.as_nanos() as u64;
                arrives = Time::from_nanos(arrives.as_nanos().div_ceil(slot) * slot);
            }
            self.back.push_back((arrives, sequence));
        }
        while let Some((_, sequence)) = self.back.pop_front_if(|(arrives, _)| *arrives <= now) {
            self.acknowledge(sequence);
        }
        self.fill();
    }

    fn acknowledge(&mut self, sequence: u64) {
        self.flow.ack(sequence..sequence + 1, Ecn::NotEct);
        let mut declared = 0;
        while self.dropped.pop_front_if(|dropped| *dropped + 3 <= sequence).is_some() {
            declared += 1;
        }
        if self.recovery_end.is_some_and(|end| sequence >= end) {
            self.recovery_end = None;
            self.flow.tell(Recovery::Left);
        }
        if declared > 0 {
            let lost = lost(declared);
            match self.recovery_end {
                Some(_) => self.flow.tell(Recovery::Lost { lost }),
                None => {
                    self.recovery_end = Some(self.flow.next);
                    self.flow.tell(Recovery::Entered { lost });
                }
            }
        }
    }

    fn run(&mut self, seconds: f64) {
        self.until(seconds, |_| false);
    }

    /// Until the condition holds; fails if it does not within so many seconds.
    #[track_caller]
    fn wait(&mut self, seconds: f64, condition: impl FnMut(&mut Path) -> bool) {
        assert!(self.until(seconds, condition), "it did not come within {seconds} s");
    }

    fn until(&mut self, seconds: f64, mut condition: impl FnMut(&mut Path) -> bool) -> bool {
        let end = self.flow.now + TimeDelta::from_secs_f64(seconds);
        while self.flow.now < end {
            self.step();
            if condition(self) {
                return true;
            }
        }
        false
    }

    /// The same without ProbeRTT, where that would come between.
    #[track_caller]
    fn undisturbed(rate: f64, queue: usize, phase: Phase) -> Path {
        let long = TimeDelta::from_secs(100);
        let params = Params { probe_rtt_interval: long, min_rtt_filter_len: long, ..Params::default() };
        let mut path = Path { flow: with(params), ..Path::new(rate, queue) };
        path.wait(20.0, |path| path.phase() == phase);
        path
    }

    /// One that has come into a phase.
    #[track_caller]
    fn in_phase(rate: f64, queue: usize, phase: Phase) -> Path {
        let mut path = Path::new(rate, queue);
        path.wait(20.0, |path| path.phase() == phase);
        path
    }
}

/// Section "Pacing Rate": 2.77 first windows in a millisecond, and then in the round trip.
#[test]
fn the_first_window_leaves_at_2_77_times_itself_per_millisecond() {
    let mut flow = make();
    let (law, window) = flow.sender.parts();
    assert_eq!(law.pacing_rate(window), Some(Bitrate::from_bps(221_600_000)));
    assert_eq!((law.phase, law.pacing_gain(), law.cwnd_gain()), (Phase::Startup, 2.77, 2.0));
    flow.fill();
    flow.now += TimeDelta::from_millis(100);
    flow.ack(0..1, Ecn::NotEct);
    let (law, window) = flow.sender.parts();
    assert_eq!(law.pacing_rate(window), Some(Bitrate::from_bps(2_216_000)), "10 kB x 2.77 in 100 ms");
}

/// "Exiting STARTUP on Bandwidth Plateau", "Exiting DRAIN Based on Inflight".
#[test]
fn startup_ends_on_a_plateau_and_drain_when_the_queue_is_gone() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Drain);
    let max_bw = path.law().max_bw.get();
    assert!((max_bw / 1e6 - 1.0).abs() < 0.02, "{max_bw}");
    assert!(path.law().full_pipe.now && path.law().full_pipe.reached);
    assert_eq!((path.law().pacing_gain(), path.law().cwnd_gain()), (0.5, 2.0));
    assert!(path.law().rounds.count < 14, "log2 of 100 packets over 10, and three rounds");
    path.wait(0.5, |path| path.phase() != Phase::Drain);
    assert!(path.phase().is_probe_bw());
    assert!((95_000.0..=103_000.0).contains(&path.pipe()), "the BDP: {}", path.pipe());
}

/// "Exiting STARTUP on Loss When Application-Limited".
#[test]
fn startup_ends_on_losses_though_the_application_limits() {
    let mut path = Path::new(1000.0, 10_000);
    path.greedy = false;
    let mut ended = None;
    for tick in 0..1600 {
        path.lose_every = if tick > 400 { 10 } else { u64::MAX };
        // Four packets in 5 ms, each the last there is.
        for _ in 0..4 {
            path.send(true);
        }
        path.run(0.005);
        if tick == 400 {
            assert_eq!(path.phase(), Phase::Startup, "limited by the application, and nothing lost");
        }
        if path.phase() != Phase::Startup {
            ended =
                ended.or(Some((tick, path.phase(), path.law().full_pipe.now, path.law().full_pipe.reached)));
        }
    }
    let (tick, phase, now, reached) = ended.expect("losses end it");
    assert!((420..=500).contains(&tick), "about two round trips after the first loss: {tick}");
    assert_eq!((phase, now, reached), (Phase::Drain, true, true));
    assert!(path.law().long_term.is_set());
}

/// Section "Exiting Startup Based on Packet Loss": fewer than six holes, or fewer than 2 %, are noise.
#[test]
fn a_few_holes_do_not_end_startup() {
    for (every, ends) in [(70, false), (20, true)] {
        let mut path = Path::new(4000.0, 100_000);
        path.lose_every = every;
        path.wait(10.0, |path| path.law().full_pipe.reached);
        assert_eq!(path.law().long_term.is_set(), ends, "one in {every}");
    }
}

/// The same section: without selective acknowledgements any loss in recovery ends it.
#[test]
fn without_selective_acknowledgements_a_loss_ends_startup() {
    let mut path = Path::new(4000.0, 100_000);
    path.flow = with(Params { has_selective_acks: false, ..Params::default() });
    path.lose_every = 100;
    path.wait(10.0, |path| path.law().full_pipe.reached);
    assert!(path.law().long_term.is_set() && path.flow.next < 300, "{} packets", path.flow.next);
}

/// "Exiting DRAIN Based on Time".
#[test]
fn drain_ends_after_three_rounds_in_any_case() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Drain);
    let began = path.law().rounds.count;
    path.rate = 300.0;
    path.wait(3.0, |path| path.phase() != Phase::Drain);
    assert_eq!((path.phase(), path.law().rounds.count), (Phase::ProbeBwDown, began + 4));
    assert!(path.pipe() > 101_000.0, "not by the flight: {}", path.pipe());
}

/// The cycle and its gains (section "Summary of Control Behavior in the State Machine").
#[test]
fn the_cycle_goes_down_cruises_refills_and_goes_up() {
    let mut path = Path::undisturbed(1000.0, 10_000, Phase::ProbeBwCruise);
    for (phase, pacing, cwnd) in [
        (Phase::ProbeBwCruise, 1.0, 2.0),
        (Phase::ProbeBwRefill, 1.0, 2.0),
        (Phase::ProbeBwUp, 1.25, 2.25),
        (Phase::ProbeBwDown, 0.9, 2.0),
        (Phase::ProbeBwCruise, 1.0, 2.0),
    ] {
        assert_eq!((path.phase(), path.law().pacing_gain(), path.law().cwnd_gain()), (phase, pacing, cwnd));
        path.wait(4.0, |path| path.phase() != phase);
    }
}

/// "Exiting PROBE_UP on Bandwidth Plateau".
#[test]
fn a_probe_without_losses_ends_after_three_flat_rounds() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    let began = path.law().rounds.count;
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwUp);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert_eq!(path.law().rounds.count, began + 3);
    assert!(path.law().full_pipe.now && !path.law().long_term.is_set());
}

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
#[test]
fn what_the_application_limits_ends_neither_probe_nor_startup() {
    for phase in [Phase::Startup, Phase::ProbeBwUp] {
        let mut path = Path::undisturbed(1000.0, 10_000, phase);
        path.greedy = false;
        for _ in 0..400 {
            path.send(true);
            path.run(0.01);
            assert_eq!(path.phase(), phase);
        }
    }
}

/// "Exiting PROBE_UP on Loss When Application-Limited", and that such a loss sets no bound ("HandleInflightTooHigh").
#[test]
fn losses_end_a_probe_though_the_application_limits() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.greedy = false;
    for _ in 0..40 {
        path.send(true);
        path.run(0.01);
    }
    assert_eq!(path.phase(), Phase::ProbeBwUp);
    path.lose_every = 10;
    for _ in 0..60 {
        path.send(true);
        path.run(0.01);
    }
    assert_ne!(path.phase(), Phase::ProbeBwUp);
    assert!(path.law().cycle.prev_probe_too_high && !path.law().long_term.is_set());
}

/// "Handling Loss During PROBE_UP After inflight_longterm is Set": HandleLostPacket, worked out by hand.
#[test]
fn a_loss_beyond_two_percent_bounds_the_flight_and_ends_the_probe() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.11);
    let window = *path.flow.sender.parts().1;
    let now = path.flow.now;
    let law = path.law();
    assert_eq!(law.phase, Phase::ProbeBwUp);
    assert!(law.cycle.is_bw_probe_sample);
    law.long_term.inflight = 400_000.0;
    let tx_in_flight = 200_000;
    let lost = |law: &mut Bbr3Law, sequence| {
        let note = note(tx_in_flight);
        law.on_packet_lost(
            &window,
            now,
            sequence,
            &crate::window::Sent { at: now, size: 1000, again: false, note },
        );
    };
    for sequence in 0..4 {
        lost(law, sequence);
        assert_eq!((law.phase, law.long_term.inflight), (Phase::ProbeBwUp, 400_000.0), "2 % are tolerated");
    }
    lost(law, 4);
    // (0.02 x 199,000 - 4000) / 0.98 = -20.4 B: the threshold was crossed with this packet.
    assert!((law.long_term.inflight - (199_000.0 - 20.0 / 0.98)).abs() < 1e-6, "{}", law.long_term.inflight);
    assert_eq!((law.phase, law.undo.phase), (Phase::ProbeBwDown, Some(Phase::ProbeBwUp)));
    assert!(law.cycle.prev_probe_too_high && !law.cycle.is_bw_probe_sample);
    let bound = law.long_term.inflight;
    lost(law, 5);
    assert_eq!(law.long_term.inflight, bound, "once for a probe");
}

/// Beta bounds the answer: not below 0.7 of what is wanted in flight.
#[test]
fn a_loss_takes_no_more_than_three_tenths_of_the_target() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    let window = *path.flow.sender.parts().1;
    let now = path.flow.now;
    let law = path.law();
    let note = note(5000);
    law.on_packet_lost(&window, now, 0, &crate::window::Sent { at: now, size: 1000, again: false, note });
    assert!((law.long_term.inflight - 0.7 * law.bdp()).abs() < 1e-6 && law.bdp() > 90_000.0);
}

/// Section "Precautionary Bandwidth Probing": after a probe that lost too much the next ends at the bound, and one that is safe
/// is followed by another at once.
#[test]
fn after_a_loss_the_next_probe_is_brief_and_then_goes_on() {
    let mut path = Path::undisturbed(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    assert!(path.law().cycle.prev_probe_too_high && path.law().long_term.is_set());
    path.queue = 10_000;
    path.wait(4.0, |path| path.phase() == Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() != Phase::ProbeBwUp);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert!(path.law().cycle.prev_probe_precautionary && !path.law().cycle.prev_probe_too_high);
    assert!(path.pipe() > path.law().long_term.inflight - 3000.0);
    let bound = path.law().long_term.inflight;
    path.wait(0.5, |path| path.phase() == Phase::ProbeBwRefill);
    path.wait(0.5, |path| path.phase() == Phase::ProbeBwUp);
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwUp);
    assert!(path.law().long_term.inflight > bound, "it raised the bound");
}

/// "Exiting PROBE_DOWN on Inflight".
#[test]
fn down_ends_with_headroom_and_without_a_queue() {
    let mut path = Path::in_phase(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwDown);
    assert_eq!(path.phase(), Phase::ProbeBwCruise);
    let (law, window) = path.flow.sender.parts();
    let headroom = law.long_term.with_headroom(&law.params, window.mss);
    assert!(headroom < law.long_term.inflight && window.pipe as f64 <= headroom + 1000.0);
    assert!(window.pipe as f64 <= law.inflight(window, law.max_bw.get(), 1.0) + 1000.0);
}

/// "Exiting PROBE_DOWN After Max Time".
#[test]
fn down_ends_in_a_probe_when_the_flight_does_not_fall() {
    let mut path = Path::undisturbed(1000.0, 10_000, Phase::ProbeBwDown);
    path.rate = 400.0;
    let began = path.flow.now;
    path.wait(4.0, |path| path.phase() != Phase::ProbeBwDown);
    assert_eq!(path.phase(), Phase::ProbeBwRefill);
    let waited = path.flow.now.saturating_since(began).as_secs_f64();
    assert!((2.0..=3.3).contains(&waited), "{waited}");
}

/// "Entering and Exiting PROBE_RTT".
#[test]
fn probe_rtt_comes_after_five_seconds_and_halves_the_flight_for_200_ms() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeRtt);
    let (entered, before) = (path.flow.now, path.law().bdp());
    assert_eq!((path.law().pacing_gain(), path.law().cwnd_gain()), (1.0, 0.5));
    assert!((5.0..=5.6).contains(&entered.as_secs_f64()), "{entered:?}");
    path.wait(1.0, |path| path.law().probe_rtt != ProbeRtt::default());
    assert!((path.pipe() / before - 0.5).abs() < 0.02, "{} of {before}", path.pipe());
    path.wait(1.0, |path| path.phase() != Phase::ProbeRtt);
    assert_eq!(path.phase(), Phase::ProbeBwCruise);
    let lasted = path.flow.now.saturating_since(entered).as_millis_f64();
    assert!((250.0..=420.0).contains(&lasted), "half a flight, and 200 ms with a round trip: {lasted}");
    let left = path.flow.now;
    path.wait(7.0, |path| path.phase() == Phase::ProbeRtt);
    let period = path.flow.now.saturating_since(left).as_secs_f64();
    assert!((5.0..=5.2).contains(&period), "{period}");
}

/// "Entering and Exiting PROBE_RTT During STARTUP".
#[test]
fn probe_rtt_in_startup_goes_back_there() {
    let mut path = Path::new(1000.0, 10_000);
    path.greedy = false;
    for _ in 0..560 {
        path.send(true);
        path.run(0.01);
        if path.phase() == Phase::ProbeRtt {
            break;
        }
        assert_eq!(path.phase(), Phase::Startup);
    }
    assert_eq!(path.phase(), Phase::ProbeRtt);
    path.greedy = true;
    path.wait(1.0, |path| path.phase() != Phase::ProbeRtt);
    assert_eq!(path.phase(), Phase::Startup);
    path.wait(3.0, |path| path.phase() == Phase::Drain);
}

/// "Skipping PROBE_RTT Due to Application-Limited Sending", and section "Restarting From Idle".
#[test]
fn a_pause_is_no_reason_for_probe_rtt() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    path.greedy = false;
    path.send(true);
    path.run(6.0);
    assert_eq!(path.pipe(), 0.0);
    path.greedy = true;
    path.fill();
    assert!(path.law().idle_restart);
    let (pace, bw) = (path.law().pacing_rate.unwrap(), path.law().bw);
    assert!((pace / bw - 0.99).abs() < 1e-9, "exactly the bandwidth, less the margin: {pace} of {bw}");
    assert!(!path.until(3.0, |path| path.phase() == Phase::ProbeRtt));
    assert!(!path.law().idle_restart);
}

/// "Handling Application-Limited Sending During PROBE_REFILL".
#[test]
fn a_pause_while_refilling_leaves_the_bandwidth() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwRefill);
    let before = path.law().max_bw.get();
    path.greedy = false;
    for _ in 0..30 {
        path.send(true);
        path.run(0.02);
    }
    assert_eq!((path.phase(), path.law().max_bw.get()), (Phase::ProbeBwUp, before));
}

/// "Achieving Expected STARTUP Bandwidth on a Link With Aggregation", and the same in cruise.
#[test]
fn gathered_acknowledgements_widen_the_window() {
    let mut path = Path::new(1000.0, 10_000);
    path.gather = TimeDelta::from_millis(60);
    path.wait(5.0, |path| path.phase() == Phase::Drain);
    let max_bw = path.law().max_bw.get();
    assert!(
        (0.95..=1.1).contains(&(max_bw / 1e6)),
        "the bandwidth is found, capped by the send rate: {max_bw}"
    );
    path.wait(5.0, |path| path.phase() == Phase::ProbeBwCruise);
    path.run(1.0);
    let (law, window) = path.flow.sender.parts();
    let extra = law.extra_acked.get();
    assert!((45_000.0..=75_000.0).contains(&extra), "60 ms at the bandwidth: {extra}");
    let without = law.params.default_cwnd_gain * law.bdp();
    assert!((law.max_inflight(window) - without - extra).abs() < 1.0, "beyond two BDPs by as much");
}

/// "Correctly Managing Sub-Packet BDPs".
#[test]
fn a_tiny_path_keeps_the_least_window() {
    // Three bursts of two packets are more than MinPipeCwnd.
    for (offload_quanta, packets) in [(3, 6.0), (0, 4.0)] {
        let mut flow = with(Params { offload_quanta, ..Params::default() });
        flow.send(1);
        flow.ack(0..1, Ecn::NotEct);
        let (law, window) = flow.sender.parts();
        (law.bw, law.pacing_rate) = (5000.0, Some(5000.0));
        law.min_rtt.min_rtt = Some(TimeDelta::from_millis(10));
        assert_eq!((law.bdp(), law.max_inflight(window)), (50.0, 1000.0 * packets));
    }
    let mut path = Path::new(5.0, 100);
    path.wait(60.0, |path| path.phase() == Phase::ProbeBwCruise);
    path.run(60.0);
    let (max_bw, pace) = (path.law().max_bw.get(), path.law().pacing_rate.unwrap());
    assert!((max_bw / 5000.0 - 1.0).abs() < 0.05 && pace < 1.3 * 5000.0, "{max_bw}, {pace}");
    assert!(path.flow.cwnd() >= 4.0, "{}", path.flow.cwnd());
}

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached", and 10x less again.
#[test]
fn ten_times_more_and_ten_times_less_are_found() {
    let mut path = Path::in_phase(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    assert!(path.law().long_term.is_set());
    (path.rate, path.queue) = (10_000.0, 400);
    path.wait(12.0, |path| path.law().max_bw.get() > 9.8e6);
    path.run(1.0);
    (path.rate, path.queue) = (1000.0, 40);
    path.wait(1.0, |path| path.law().short_term.bw < 5e6);
    path.wait(12.0, |path| path.law().max_bw.get() < 1.3e6);
}

/// Section "When not Probing for Bandwidth": losses in cruise lower the short-term model to what is delivered.
#[test]
fn losses_in_cruise_lower_the_short_term_model() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    path.lose_every = 10;
    path.wait(1.0, |path| path.law().short_term.bw < f64::INFINITY);
    let law = path.law();
    assert_eq!(law.phase, Phase::ProbeBwCruise);
    assert!((0.7e6..=0.95e6).contains(&law.short_term.bw), "{}", law.short_term.bw);
    assert!(law.bw == law.short_term.bw && law.max_bw.get() > 0.97e6 && !law.long_term.is_set());
    path.wait(4.0, |path| path.phase() == Phase::ProbeBwRefill);
    assert_eq!(path.law().short_term, ShortTerm::UNLIMITED);
}

/// "Handling Spurious Fast Recovery" and "Handling Spurious RTO Recovery".
#[test]
fn what_a_spurious_recovery_took_comes_back() {
    for timeout in [false, true] {
        let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
        let before = path.flow.cwnd();
        if timeout {
            path.flow.tell(Recovery::TimedOut);
            assert_eq!(path.flow.cwnd(), 1.0);
            assert!(path.law().losses.lost >= 80_000, "all in flight counts as lost");
        } else {
            path.flow.tell(Recovery::Entered { lost: lost(20) });
            assert_eq!(path.law().losses.lost, 20_000);
        }
        assert!(path.law().signals.is_loss_in_round);
        path.law().short_term = ShortTerm { bw: 1.0, inflight: 5000.0 };
        path.law().long_term.inflight = 5000.0;
        path.flow.tell(Recovery::Spurious);
        assert_eq!(path.flow.cwnd(), before);
        assert_eq!((path.law().short_term, path.law().long_term.is_set()), (ShortTerm::UNLIMITED, false));
        assert!(!path.law().signals.is_loss_in_round);
    }
}

/// The same: a phase that the losses ended goes on.
#[test]
fn a_spurious_recovery_goes_back_to_startup_or_to_a_probe() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.11);
    path.flow.tell(Recovery::Entered { lost: lost(20) });
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    path.flow.tell(Recovery::Spurious);
    assert_eq!((path.phase(), path.law().cycle.ack_phase), (Phase::ProbeBwRefill, AckPhase::Refilling));
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Startup);
    path.run(0.2);
    path.flow.tell(Recovery::Entered { lost: lost(1) });
    path.law().undo.phase = Some(Phase::Startup);
    (path.law().phase, path.law().full_pipe.reached) = (Phase::Drain, true);
    path.flow.tell(Recovery::Spurious);
    assert_eq!((path.phase(), path.law().full_pipe.reached), (Phase::Startup, false));
}

/// Section "Modulating cwnd in Loss Recovery".
#[test]
fn after_a_recovery_the_window_is_back() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    let before = path.flow.cwnd();
    path.flow.tell(Recovery::Entered { lost: lost(1) });
    path.flow.sender.parts().1.set(10_000.0);
    path.flow.tell(Recovery::Left);
    assert_eq!(path.flow.cwnd(), before);
}

/// Section "ECN": marks are congestion, and count as losses do.
#[test]
fn marks_count_as_losses() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.15);
    let first = path.flow.first();
    path.flow.ack(first..first + 5, Ecn::Ce);
    assert_eq!(path.law().losses.lost, 5000);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert!(path.law().long_term.is_set());
}

#[test]
fn an_assignment_is_the_bandwidth() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    let min_rtt = path.law().min_rtt.min_rtt.unwrap().as_secs_f64();
    let _ = path.flow.sender.assign(path.flow.now, Assigned::Rate(Bitrate::from_mbps(4)));
    let (law, window) = path.flow.sender.parts();
    assert_eq!(law.max_bw.get(), 500_000.0);
    let expected = 2.0 * 500_000.0 * min_rtt + law.extra_acked.get();
    assert!((window.cwnd - expected).abs() < 1.0, "{}", window.cwnd);
}
