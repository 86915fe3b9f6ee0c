//! The law of the rate in a small world: what it does where a queue stands, drains or stays, and where packets are lost.

use super::super::law::{Law, Phase};
use super::*;

/// Between packets of 1 Mbit/s.
const GAP: i64 = 10;

/// A path on which a packet of 10,000 bit arrived each 10 ms until `until`, 20 ms after it left and so much later as `queue` says, in ms.
struct World {
    params: Params,
    path: Path,
    law: Law,
    millis: i64,
    in_flight: f64,
    l4s: bool,
    /// Whether packets arrive marked.
    marked: bool,
    response: f64,
}

impl World {
    fn new(rate: f64) -> World {
        let params = Params::default();
        World {
            path: Path::new(&params),
            law: Law::new(rate),
            params,
            millis: 0,
            in_flight: 0.0,
            l4s: false,
            marked: false,
            response: 0.1,
        }
    }

    fn growing(rate: f64) -> World {
        let mut world = World::new(rate);
        world.law.phase = Phase::Growth;
        world
    }

    fn run(&mut self, millis: i64, queue: impl Fn(i64) -> i64, lost: impl Fn(i64) -> bool) {
        for _ in 0..millis / GAP {
            self.millis += GAP;
            let (sent, arrived) = (at(1000 + self.millis), at(1020 + self.millis + queue(self.millis)));
            let now = arrived + TimeDelta::from_millis(20);
            let lost = u32::from(lost(self.millis));
            if lost == 0 {
                let status = Status::Received { arrived: Some(arrived), ecn: Ecn::NotEct };
                let sequence = self.millis as u64;
                let packet = PacketResult { stream: StreamId(0), sequence, size: SIZE, sent, status };
                let _ = self.path.on_arrivals(now, &[packet], Bytes::ZERO, &Silence::new(0.0));
            }
            let delivered_ce_packets = u32::from(self.marked && lost == 0);
            let acked = Acked { delivered_packets: 1 - lost, delivered_ce_packets, lost, ..Acked::default() };
            self.path.on_acked(&acked, Bytes::ZERO, true);
            let World { in_flight, l4s, response, .. } = *self;
            let signals = Signals { now, in_flight, l4s, response, ..signals(0) };
            self.law.update(&self.params, &signals, &mut self.path);
        }
    }
}

/// A world of 1.2 Mbit/s on a path of 1 Mbit/s, in which a queue of 60 ms has just begun to drain.
fn draining() -> World {
    let mut world = World::growing(1.2e6);
    world.run(1000, |_| 0, |_| false);
    while world.law.phase == Phase::Growth {
        world.run(GAP, |_| 60, |_| false);
        assert!(world.millis < 10_000, "a queue of 60 ms is congestion");
    }
    world
}

#[test]
fn the_start_doubles_in_a_response_time_up_to_twice_what_arrives() {
    let mut world = World::new(0.25e6);
    // Nothing is known in the first 50 ms.
    world.run(160, |_| 0, |_| false);
    let doubled = world.law.rate / 0.25e6;
    assert!((1.7..2.1).contains(&doubled), "{doubled}");
    world.run(2000, |_| 0, |_| false);
    assert!((world.law.rate / 2e6 - 1.0).abs() < 0.01, "1 Mbit/s arrives: {}", world.law.rate);
}

#[test]
fn growth_is_in_proportion_to_the_root_of_the_rate_and_faster_after_a_while() {
    let mut world = World::growing(1e6);
    world.law.lower(at(1000));
    world.run(1200, |_| 0, |_| false);
    let grown = world.law.rate / 1e6;
    // 0.1 a second for 1.06 s.
    assert!((1.08..1.13).contains(&grown), "{grown}");
    world.run(6000, |_| 0, |_| false);
    assert!((world.law.rate / 1.5e6 - 1.0).abs() < 0.02, "head room over what arrives: {}", world.law.rate);
}

#[test]
fn a_standing_queue_is_drained_and_what_was_carried_comes_back_less_a_part() {
    let mut world = World::growing(1.2e6);
    world.run(1000, |_| 0, |_| false);
    // A queue of 60 ms stands from 1.2 s on.
    world.run(300, |_| 60, |_| false);
    assert_eq!(world.law.phase, Phase::Drain);
    let rate = world.law.rate;
    assert!(rate < 0.9e6, "less than the 1 Mbit/s that arrives: {rate}");
    world.run(400, |_| 0, |_| false);
    assert_eq!(world.law.phase, Phase::Growth);
    assert!((0.8e6..1.1e6).contains(&world.law.rate), "{}", world.law.rate);
}

#[test]
fn a_burst_is_no_standing_queue() {
    let mut world = World::growing(1.2e6);
    world.run(1000, |_| 0, |_| false);
    // Of each 60 ms the first packet waits for nothing.
    world.run(3000, |millis| (millis % 60) * 2, |_| false);
    assert_eq!(world.law.phase, Phase::Growth);
}

#[test]
fn a_drain_is_deeper_by_the_queue_that_is_on_its_way() {
    let cut = |rate: f64, in_flight: f64, ahead: f64| {
        let mut world = World::growing(rate);
        (world.params.drain_ahead, world.params.growth, world.params.train_growth) = (ahead, 0.0, 0.0);
        world.run(1000, |_| 0, |_| false);
        world.in_flight = in_flight;
        while world.law.phase == Phase::Growth {
            world.run(GAP, |_| 30, |_| false);
            assert!(world.millis < 10_000, "a queue of 30 ms is congestion");
        }
        world.law.rate / 1e6
    };
    // 1 - 30/150 of what arrived.
    let shown = cut(2e6, 0.0, 1.0);
    let arrived = shown / 0.8;
    assert!((cut(2e6, 1e6, 0.0) - shown).abs() < 1e-9, "switched off");
    for rate in [2.0, 4.0] {
        // The least where a second is on its way, the less the more the path fell.
        let coming = cut(rate * 1e6, 1e6, 1.0);
        assert!(
            (coming / (0.3 * arrived * arrived / rate) - 1.0).abs() < 1e-9,
            "{rate}: {coming} of {arrived}"
        );
    }
}

#[test]
fn a_queue_that_no_drain_ends_is_none_of_ours() {
    let mut world = World::growing(1.2e6);
    world.run(1000, |_| 0, |_| false);
    world.run(2000, |_| 60, |_| false);
    assert_eq!(world.law.phase, Phase::Growth, "the drain was given up");
    assert!(world.law.rate > 1.1e6, "{}", world.law.rate);
    assert!((world.law.others.floor - 0.06).abs() < 1e-9);
    (0..4).for_each(|_| world.law.others.on_drained(0.0));
    assert_eq!(world.law.others.floor, 0.0, "four drains are remembered");
}

#[test]
fn a_queue_that_goes_before_less_could_arrive_is_noise() {
    let mut world = draining();
    let before = world.law.rate;
    assert!(before < 0.9e6, "{before}");
    world.run(20, |_| 0, |_| false);
    assert_eq!(world.law.phase, Phase::Growth);
    assert!(world.law.rate > 1.2e6, "the rate is what it was: {}", world.law.rate);
}

#[test]
fn a_queue_that_grows_in_a_drain_is_drained_at_less() {
    let drained = |slope: i64, millis: i64| {
        let mut world = World::growing(1.2e6);
        world.run(1000, |_| 0, |_| false);
        let start = world.millis;
        world.run(millis, |millis| (millis - start) / slope, |_| false);
        assert_eq!(world.law.phase, Phase::Drain);
        world.law.rate
    };
    let (fast, slow) = (drained(2, 400), drained(20, 700));
    assert!(fast < 0.5e6, "half of the time: the path carries less than arrived: {fast}");
    assert!(slow > 0.7e6, "a twentieth of the time: somebody else's: {slow}");
}

#[test]
fn losses_while_noise_passed_for_a_queue_count() {
    let lowest = |part: i64| {
        let mut world = World::growing(1.2e6);
        world.params.usual_loss_most = 0.0;
        world.run(1000, |_| 0, |_| false);
        // Each 300 ms a queue stands for long enough to be seen, and goes before less could arrive.
        world.run(1400, |millis| if millis % 300 < 130 { 60 } else { 0 }, |millis| millis % 300 < part);
        world.law.rate
    };
    assert!(lowest(0) > 1.1e6, "{}", lowest(0));
    assert!(lowest(90) < 1e6, "{}", lowest(90));
}

#[test]
fn the_rate_grows_soon_to_nine_tenths_of_what_passes_at_once() {
    let grown = |train_stretch: f64| {
        let mut world = World::growing(0.5e6);
        world.params.train_stretch = train_stretch;
        world.run(900, |_| 0, |_| false);
        world.law.rate
    };
    assert!((0.85e6..0.95e6).contains(&grown(1.02)), "{}", grown(1.02));
    assert!(grown(0.0) < 0.65e6, "{}", grown(0.0));
}

#[test]
fn losses_without_a_queue_leave_no_more_than_arrived() {
    let after_losses = |queue: i64| {
        let mut world = World::growing(3e6);
        world.params.usual_loss_most = 0.0;
        world.params.queue_limit = TimeDelta::from_secs(1);
        world.run(500, |_| 0, |_| false);
        world.run(500, |_| queue, |_| false);
        let rate = world.law.rate;
        while world.law.rate >= rate {
            world.run(GAP, |_| queue, |millis| millis % 50 == 0);
        }
        world.law.rate / rate
    };
    assert!((0.6..0.8).contains(&after_losses(400)), "less by the part that was lost: {}", after_losses(400));
    assert!(after_losses(0) < 0.35, "a third of the rate arrived: {}", after_losses(0));
}

#[test]
fn a_queue_is_seen_sooner_where_trains_are_stretched() {
    let seen_after = |stretched_part: f64| {
        let mut world = World::growing(0.95e6);
        world.params.stretched_part = stretched_part;
        let queue = |millis: i64| (millis - 2000).max(0) * 3 / 10;
        world.run(2000, queue, |_| false);
        world.law.rate = 0.9e6;
        while world.law.phase != Phase::Drain {
            world.run(GAP, queue, |_| false);
        }
        world.millis - 2000
    };
    let (half, whole) = (seen_after(0.5), seen_after(1.0));
    assert!(half < whole * 4 / 5, "{half} and {whole} ms");
}

#[test]
fn a_report_after_a_pause_brings_the_growth_of_a_response_time() {
    let mut world = World::growing(1e6);
    world.run(500, |_| 0, |_| false);
    let before = world.law.rate;
    world.millis += 900;
    world.run(GAP, |_| 0, |_| false);
    let grown = world.law.rate / before - 1.0;
    assert!((0.005..0.02).contains(&grown), "a tenth a second for 0.1 s: {grown}");
}

#[test]
fn a_queue_shorter_than_half_a_packet_is_none() {
    for (rate, phase) in [(0.1e6, Phase::Growth), (1e6, Phase::Drain)] {
        let mut world = World::growing(rate);
        world.run(1000, |_| 0, |_| false);
        world.law.rate = rate;
        // A packet takes 100 ms at 0.1 Mbit/s.
        world.run(300, |_| 40, |_| false);
        assert_eq!(world.law.phase, phase, "{rate}");
    }
}

#[test]
fn trains_show_room_while_no_marks_tell_of_it() {
    for (l4s, alpha) in [(false, 0.0), (false, 0.5), (true, 0.0)] {
        let mut world = World::growing(0.5e6);
        (world.l4s, world.law.marks.alpha) = (l4s, alpha);
        world.run(900, |_| 0, |_| false);
        assert!((0.85e6..0.95e6).contains(&world.law.rate), "{l4s}, {alpha}: {}", world.law.rate);
    }
}

#[test]
fn under_marks_in_proportion_growth_is_that_of_a_prague_flow() {
    let grown = |alpha: f64| {
        let mut world = World::growing(0.5e6);
        (world.l4s, world.params.train_stretch, world.law.marks.alpha) = (true, 0.0, alpha);
        world.run(900, |_| 0, |_| false);
        world.law.rate
    };
    // 10,000 bit in 25 ms and in each round trip of 50 ms, no more than a fifth in a response time.
    assert!(grown(0.0) < 0.65e6 && grown(0.5) > 1.2e6, "{} {}", grown(0.0), grown(0.5));
}

#[test]
fn losses_leave_the_part_of_the_rate_that_is_asked_for() {
    let left = |loss_back_off: f64| {
        let mut world = World::growing(1e6);
        world.params.loss_back_off = loss_back_off;
        world.run(1000, |_| 0, |_| false);
        loop {
            let before = world.law.rate;
            world.run(GAP, |_| 0, |millis| millis % 50 == 0);
            if world.law.rate < before {
                return world.law.rate / before;
            }
            assert!(world.millis < 10_000, "a fifth is lost");
        }
    };
    assert!((left(0.85) / left(0.5) - 1.7).abs() < 1e-9);
    assert!((0.6..0.8).contains(&left(0.85)), "as much less as is lost: {}", left(0.85));
}

#[test]
fn a_flow_in_a_drain_shares_the_rate_that_it_goes_on_with() {
    let mut world = World::growing(1.2e6);
    world.run(1000, |_| 0, |_| false);
    while world.law.phase == Phase::Growth {
        world.run(GAP, |millis| (millis - 1000) / 20, |_| false);
    }
    // 0.95 Mbit/s arrive while the queue grows by a twentieth of the time.
    let (rate, shared) = (world.law.rate, world.law.shared(&world.params));
    assert!((shared / 0.95e6 - world.params.back_off).abs() < 0.02, "{shared}");
    world.law.assign(&world.params, shared / 2.0);
    let halves = [world.law.rate / rate, world.law.shared(&world.params) / shared];
    assert!(halves.iter().all(|half| (half - 0.5).abs() < 1e-9), "{halves:?}");
}

/// Flows that share a bottleneck know each other, and the queue is theirs.
#[test]
fn a_queue_that_stays_in_a_group_is_its_own() {
    for (assigned, floor) in [(true, 0.0), (false, 0.06)] {
        let mut world = draining();
        if assigned {
            world.law.assign(&world.params, 0.8e6);
        }
        while world.law.phase == Phase::Drain {
            world.run(GAP, |_| 60, |_| false);
        }
        assert!((world.law.others.floor - floor).abs() < 1e-9, "{assigned}: {}", world.law.others.floor);
    }
}

#[test]
fn a_queue_of_which_half_a_limit_drained_is_ours() {
    for (stays, ours) in [(45, true), (57, false)] {
        let mut world = draining();
        while world.law.phase == Phase::Drain {
            world.run(GAP, |_| stays, |_| false);
        }
        assert_eq!(world.law.rate < 1.05e6, ours, "{stays} ms of 60 stay: {}", world.law.rate);
    }
}

#[test]
fn a_drain_in_vain_ends_at_the_rate_before_with_head_room_over_what_arrives() {
    let mut world = World::growing(4e6);
    world.run(1000, |_| 0, |_| false);
    world.run(2000, |_| 60, |_| false);
    assert_eq!(world.law.phase, Phase::Growth, "the drain was given up");
    assert!((1.2e6..2e6).contains(&world.law.rate), "{}", world.law.rate);
}

#[test]
fn growth_is_slower_where_its_queue_is_seen_late() {
    let mut world = World::growing(1e6);
    world.response = 2.0;
    world.run(5000, |_| 0, |_| false);
    let grown = world.law.rate / 1e6;
    assert!((1.03..1.1).contains(&grown), "50 ms of queue in the square of 2 s, for 5 s: {grown}");
}

#[test]
fn a_queue_that_drains_is_no_noise() {
    let mut world = draining();
    for queue in [60, 50, 40, 30] {
        world.run(100, |_| queue, |_| false);
    }
    assert_eq!((world.law.phase, world.law.others.noise), (Phase::Drain, 0.0));
}

#[test]
fn nothing_grows_before_the_last_reduction_shows() {
    let mut world = World::growing(1e6);
    world.response = 1.0;
    world.law.lower(at(1000));
    world.run(900, |_| 0, |_| false);
    assert_eq!(world.law.rate, 1e6);
    world.run(500, |_| 0, |_| false);
    assert!(world.law.rate > 1e6);
}

#[test]
fn faster_growth_waits_for_ten_response_times() {
    let mut world = World::growing(1e6);
    (world.response, world.params.growth) = (1.0, 0.001);
    world.law.lower(at(1000));
    world.run(9000, |_| 0, |_| false);
    assert!(world.law.rate < 1.02e6, "{}", world.law.rate);
    world.run(4000, |_| 0, |_| false);
    assert!(world.law.rate > 1.1e6, "{}", world.law.rate);
}

#[test]
fn faster_growth_waits_after_the_last_mark_of_l4s() {
    let mut world = World::growing(1e6);
    (world.l4s, world.params.growth, world.params.train_growth) = (true, 0.001, 0.0);
    world.params.l4s_growth_interval = TimeDelta::from_secs(10);
    for marked in [true, false, true, false] {
        world.marked = marked;
        world.run(if marked { 100 } else { 2900 }, |_| 0, |_| false);
    }
    let before = world.law.rate;
    world.run(2000, |_| 0, |_| false);
    assert!(world.law.rate > 1.1 * before, "{before} {}", world.law.rate);
    assert!(before < 0.95e6, "three seconds after the last mark, and six after the first: {before}");
}
