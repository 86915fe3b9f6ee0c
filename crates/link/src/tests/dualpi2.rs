//! DualPI2 against RFC 9332 appendix A: coupling, native marks, overload, schedulers.

use super::drive::{Log, drive, merged, packet, plain, steady};
use super::*;
use crate::queue::dualpi2::{Base, Recurrence, laqm};
use crate::{DualPi2Config, Scheduler};

fn dualpi2(change: impl Fn(&mut DualPi2Config)) -> QueueConfig {
    let mut config = DualPi2Config { limit: QueueLimit::Unlimited, ..DualPi2Config::default() };
    change(&mut config);
    QueueConfig::DualPi2(config)
}

fn marked(log: &Log, flow: u64, from: u64) -> f64 {
    let (all, marked) = log.of(flow, from).fold((0.0, 0.0), |(all, marked), departure| {
        (all + 1.0, marked + f64::from(u8::from(departure.packet.ecn.is_ce())))
    });
    marked / all
}

#[test]
fn chances_follow_from_the_base_chance_and_it_from_the_delay() {
    let mut base = Base::new(&DualPi2Config::default());
    // alpha = 0.1 x 15 ms / (100 ms)^2 = 0.15 and beta = 0.3 / 100 ms = 3, per second.
    base.update(0.040);
    let p = 0.15 * 0.025 + 3.0 * 0.040;
    assert!((base.p - p).abs() < 1e-15, "{}", base.p);
    base.update(0.030);
    let p = p + 0.15 * 0.015 - 3.0 * 0.010;
    assert!(
        (base.p - p).abs() < 1e-15 && (base.p_c - p * p).abs() < 1e-15 && (base.p_cl - 2.0 * p).abs() < 1e-15
    );
    base.update(10.0);
    assert_eq!((base.p, base.p_c, base.p_cl), (1.0, 1.0, 2.0));
    base.update(0.0);
    assert_eq!((base.p, base.p_c, base.p_cl), (0.0, 0.0, 0.0));
}

#[test]
fn the_native_ramp_is_linear_and_may_be_a_step() {
    let config = DualPi2Config::default();
    for (wait, expected) in
        [(0, 0.0), (800_000, 0.0), (900_000, 0.25), (1_100_000, 0.75), (1_200_000, 1.0), (9_000_000, 1.0)]
    {
        assert_eq!(laqm(&config, wait), expected, "{wait} ns");
    }
    let step = DualPi2Config { range: TimeDelta::ZERO, ..config };
    assert_eq!([laqm(&step, 799_999), laqm(&step, 800_000), laqm(&step, 800_001)], [0.0, 1.0, 1.0]);
}

#[test]
fn marks_are_spread_evenly() {
    let signals = |likelihood: f64| {
        let mut side = Recurrence::default();
        (1..=40).filter(|_| side.recur(likelihood)).collect::<Vec<u32>>()
    };
    // The count must exceed 1: with quarters the fifth, then every fourth.
    assert_eq!(signals(0.25), [5, 9, 13, 17, 21, 25, 29, 33, 37]);
    assert_eq!(signals(0.0), []);
    assert_eq!(signals(1.0).len(), 40);
}

#[test]
fn in_the_link_the_native_ramp_marks_every_fourth_packet_of_a_wait_of_a_quarter() {
    // 1000 B take 0.1 ms at 80 Mbit/s; 9 wait ahead of every packet: 0.9 ms, a quarter of the way from 0.8 to 1.2 ms.
    let first = (0..9u64).map(|n| (0, packet(n, 0, 1000, Ecn::Ect1)));
    let rest = (0..400u64).map(|n| (n * 100_000, packet(9 + n, 0, 1000, Ecn::Ect1)));
    let log = drive(plain(mbps(80), dualpi2(|_| ())), first.chain(rest), millis(40));
    let marks: Vec<_> =
        log.departures.iter().skip(20).map(|departure| departure.packet.ecn.is_ce()).collect();
    let places: Vec<_> = (0..marks.len()).filter(|&n| marks[n]).collect();
    assert!(places.len() > 80 && places.windows(2).all(|pair| pair[1] - pair[0] == 4), "{places:?}");
    assert_eq!(log.counters.dropped, 0);
}

#[test]
fn a_single_packet_that_waits_is_not_marked_for_its_own_queue() {
    // 1500 B take 12 ms at 1 Mbit/s, ten times the ramp. One waits, or two.
    let run = |more: u64| {
        let first = (0..=more).map(|n| (0, packet(n, 0, 1500, Ecn::Ect1)));
        let rest = (1..80u64).map(|n| (n * 12_000_000 - 11_000_000, packet(100 + n, 0, 1500, Ecn::Ect1)));
        let queue = dualpi2(|config| config.target = TimeDelta::from_millis(100));
        marked(&drive(plain(mbps(1), queue), first.chain(rest), millis(960)), 0, 100)
    };
    assert_eq!(run(0), 0.0);
    assert_eq!(run(1), 1.0);
}

/// An unresponsive Classic load of `c` Mbit/s and an L4S load of `l` over 8 Mbit/s.
fn loaded(c: (Ecn, f64), l: f64, change: impl Fn(&mut DualPi2Config)) -> Log {
    let all = merged([steady(0, c.0, 1000, c.1, 0, 40_000), steady(1, Ecn::Ect1, 200, l, 1, 40_000)]);
    drive(plain(mbps(8), dualpi2(change)), all, millis(40_000))
}

#[test]
fn l4s_is_marked_with_k_times_the_root_of_what_classic_loses() {
    for (k, c) in [(2.0, 7.6), (2.0, 8.0), (1.5, 8.4), (3.0, 7.6)] {
        let log = loaded((Ecn::NotEct, c), 0.8, |config| config.k = k);
        let p_c = log.drops(0, 20_000) as f64 / (c * 1e6 / 8000.0 * 20.0);
        // 0.8 of 8 Mbit/s are L4S's, which has no queue of its own: Classic loses what is above 7.2.
        assert!((p_c - (c - 7.2) / c).abs() < 0.004, "{p_c} of {c} Mbit/s");
        let (p_cl, expected) = (marked(&log, 1, 20_000), k * p_c.sqrt());
        assert!((p_cl - expected).abs() < 0.06 * expected, "k {k}: {p_cl}, expected {expected}");
        let waits: Vec<_> = log.of(0, 20_000).map(|departure| departure.wait.as_millis_f64()).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((13.0..17.0).contains(&mean), "the target of 15 ms: {mean} ms");
        assert_eq!(log.drops(1, 0), 0);
        let longest = log.of(1, 0).map(|departure| departure.wait.as_millis_f64()).fold(0.0, f64::max);
        assert!(longest < 2.5, "L4S waits {longest} ms");
    }
}

#[test]
fn classic_ecn_is_marked_until_overload_and_dropped_beyond() {
    let run = |c, ecn| loaded((Ecn::Ect0, c), 0.8, |config| config.ecn = ecn).counters;
    let dropped = run(7.6, false);
    assert!(dropped.dropped > 1000, "{dropped:?}");
    // 8 of 10.8 Mbit/s pass. That is above p_Cmax = 0.25: ECN is of no use any more, and L4S is dropped alike.
    let log = loaded((Ecn::Ect0, 10.0), 0.8, |_| ());
    let (classic, l4s) = (log.drops(0, 20_000) as f64 / 25_000.0, log.drops(1, 20_000) as f64 / 10_000.0);
    assert!((0.255..0.264).contains(&classic) && (0.255..0.264).contains(&l4s), "{classic} and {l4s}");
    assert!(log.of(0, 0).any(|departure| departure.packet.ecn.is_ce()), "on the way up it was marked");
    // With p_cmax = 1 nothing is dropped before the chance is 1.
    let marks = loaded((Ecn::Ect0, 7.6), 0.8, |config| config.p_cmax = Some(1.0));
    let late = marks.drops(0, 0) as f64;
    assert!(late < 1200.0 && marks.counters.marked > 10_000, "{:?}", marks.counters);
}

#[test]
fn l4s_that_answers_to_nothing_is_dropped_to_the_classic_target() {
    let arrivals = steady(1, Ecn::Ect1, 1000, 16.0, 0, 30_000);
    let log = drive(plain(mbps(8), dualpi2(|_| ())), arrivals, millis(30_000));
    let share = log.discarded.iter().filter(|(at, _)| *at >= millis(10_000)).count() as f64 / 40_000.0;
    assert!((0.49..0.51).contains(&share), "half of it must go: {share}");
    assert_eq!(marked(&log, 1, 10_000), 1.0, "what is left is marked");
    let wait = log.mean_wait(10_000);
    assert!((13.0..17.0).contains(&wait), "{wait} ms");
}

#[test]
fn weights_decide_while_both_queues_wait_and_only_then() {
    // Both ask for more than there is, and the base chance is held at 0.
    let run = |weight| {
        let all =
            merged([steady(0, Ecn::NotEct, 1500, 8.0, 0, 4000), steady(1, Ecn::Ect1, 500, 9.0, 0, 4000)]);
        let queue = dualpi2(|config| {
            config.c_weight = weight;
            (config.alpha, config.beta) = (Some(0.0), Some(0.0));
        });
        let log = drive(plain(mbps(8), queue), all, millis(4000));
        let bytes = |flow| log.of(flow, 1000).map(|departure| departure.packet.size).sum::<u64>() as f64;
        bytes(0) / (bytes(0) + bytes(1))
    };
    for weight in [1.0 / 16.0, 0.25, 0.5] {
        let share = run(weight);
        assert!((share - weight).abs() < 0.01, "{share}, expected {weight}");
    }
    let alone =
        drive(plain(mbps(8), dualpi2(|_| ())), steady(0, Ecn::NotEct, 1000, 7.9, 0, 2000), millis(2000));
    assert!(alone.counters.dropped == 0 && alone.counters.departed > 1970, "a queue alone has it all");
}

#[test]
fn a_queue_alone_runs_up_no_debt() {
    // L4S alone waits for a second; what it sent meanwhile is not owed to the Classic queue that comes then.
    let all =
        merged([steady(0, Ecn::NotEct, 1000, 8.0, 1000, 2000), steady(1, Ecn::Ect1, 1000, 12.0, 0, 2000)]);
    let queue = dualpi2(|config| (config.alpha, config.beta) = (Some(0.0), Some(0.0)));
    let log = drive(plain(mbps(8), queue), all, millis(1100));
    let classic = log.of(0, 1000).count();
    assert!((5..=8).contains(&classic), "{classic} of 100 packets, a sixteenth is 6");
}

#[test]
fn an_idle_link_forgets_whose_turn_it_was() {
    // One in service, and one of each kind; the second time after the Classic queue was owed for the first.
    let burst = |at: u64| {
        [
            (at, packet(at, 1, 1000, Ecn::Ect1)),
            (at, packet(at + 1, 0, 1000, Ecn::NotEct)),
            (at, packet(at + 2, 1, 1000, Ecn::Ect1)),
        ]
    };
    let log =
        drive(plain(mbps(8), dualpi2(|_| ())), burst(0).into_iter().chain(burst(10_000_000)), millis(20));
    let flows: Vec<_> = log.departures.iter().map(|departure| departure.packet.flow()).collect();
    assert_eq!(flows, [1, 1, 0, 1, 1, 0]);
}

#[test]
fn a_time_shifted_fifo_lets_classic_wait_no_more_than_its_shift_longer() {
    let queue = dualpi2(|config| {
        (config.scheduler, config.tshift) = (Scheduler::TsFifo, TimeDelta::from_millis(20));
        (config.alpha, config.beta) = (Some(0.0), Some(0.0));
    });
    // L4S alone has more than the link; Classic comes beside it.
    let all = merged([steady(0, Ecn::NotEct, 1000, 0.8, 0, 3000), steady(1, Ecn::Ect1, 1000, 9.0, 0, 3000)]);
    let log = drive(plain(mbps(8), queue), all, millis(3000));
    let mean = |flow| {
        let waits: Vec<_> = log.of(flow, 1000).map(|departure| departure.wait.as_millis_f64()).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    let longer = mean(0) - mean(1);
    assert!((17.0..23.0).contains(&longer), "{longer} ms");
}

#[test]
fn below_two_mtus_classic_asks_for_nothing() {
    // Packets of 1000 B that never wait two at once, with a base chance driven up before by a burst.
    let burst = (0..400u64).map(|n| (0, packet(n, 0, 1000, Ecn::NotEct)));
    let after = (0..500u64).map(|n| (600_000_000 + n * 1_000_000, packet(1000 + n, 0, 1000, Ecn::NotEct)));
    let log = drive(plain(mbps(8), dualpi2(|_| ())), burst.chain(after), millis(1200));
    assert!(log.drops(0, 0) > 20, "the burst does cost: {}", log.drops(0, 0));
    assert_eq!(log.drops(0, 600), 0);
    // With an MTU of nothing the rule never holds.
    let burst = (0..400u64).map(|n| (0, packet(n, 0, 1000, Ecn::NotEct)));
    let after = (0..500u64).map(|n| (410_000_000 + n * 1_000_000, packet(1000 + n, 0, 1000, Ecn::NotEct)));
    let log =
        drive(plain(mbps(8), dualpi2(|config| config.mtu = Bytes::ZERO)), burst.chain(after), millis(1200));
    assert!(log.drops(0, 410) > 0);
}

#[test]
fn the_limit_keeps_room_for_an_mtu() {
    let queue = dualpi2(|config| config.limit = QueueLimit::Bytes(Bytes::new(4500)));
    let burst =
        (0..10u64).map(|n| (0, packet(n, n % 2, 1000, if n % 2 == 0 { Ecn::Ect0 } else { Ecn::Ect1 })));
    let log = drive(plain(mbps(8), queue), burst, Time::from_nanos(1));
    // One in service; 0, 1000, 2000, 3000 B wait when the next four come, and 3000 + 1500 = 4500 is no more than the limit.
    assert_eq!((log.counters.queue_packets, log.refused.len()), (4, 5));
}
