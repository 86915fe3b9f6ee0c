//! The parts of Tempo by what a person can count: each of these a wrong constant or a rule left out changes.

use super::law::{Law, Phase};
use super::losses::{Losses, Verdict};
use super::marks::Marks;
use super::others::Others;
use super::path::{Counts, Path};
use super::policer::Policer;
use super::signals::Signals;
use super::trains::Trains;
use super::*;
use crate::{Acked, Controller, PacketResult, Report, SentPacket, Status, StreamId};
use alloc::vec::Vec;
use paceline_units::{Bytes, Ecn};

const SIZE: Bytes = Bytes::new(1250);
/// Between packets of 1 Mbit/s.
const GAP: i64 = 10;

fn at(millis: i64) -> Time {
    Time::from_nanos(millis as u64 * 1_000_000)
}

fn signals(millis: i64) -> Signals {
    Signals {
        now: at(millis),
        response: 0.1,
        rtt: 0.05,
        in_flight: 0.0,
        packet: 1e4,
        l4s: false,
        held_back: false,
    }
}

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
                let _ = self.path.on_arrivals(now, &[packet], &Silence::new(0.0));
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
    assert!((world.law.others.floor() - 0.06).abs() < 1e-9);
    (0..4).for_each(|_| world.law.others.on_drained(0.0));
    assert_eq!(world.law.others.floor(), 0.0, "four drains are remembered");
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

fn lost(of: f64, lost: f64) -> Counts {
    Counts { delivered: of - lost, lost, ..Counts::NONE }
}

/// Judges counts of 100 packets, a second apart.
fn verdicts(losses: &mut Losses, counts: &[(f64, bool)]) -> Vec<Verdict> {
    let params = Params::default();
    let judge = |(n, &(part, stood)): (usize, &(f64, bool))| {
        losses.count(&params, &signals(1000 * (n as i64 + 1)), &lost(100.0, part), stood)
    };
    counts.iter().enumerate().map(judge).collect()
}

#[test]
fn losses_that_stay_when_less_is_sent_twice_are_usual_and_others_lower_the_rate() {
    let mut losses = Losses::NONE;
    let judged =
        verdicts(&mut losses, &[(4.0, false), (10.0, false), (8.0, false), (12.0, false), (10.0, false)]);
    assert_eq!(judged[0], Verdict::Usual, "4 of 100 may be chance");
    assert!(matches!(judged[1..3], [Verdict::Congestion(_), Verdict::Congestion(_)]), "{judged:?}");
    assert_eq!(judged[3..], [Verdict::NotForRate, Verdict::Usual]);
    assert!((losses.usual - 0.1).abs() < 1e-3, "of the two trials together: {}", losses.usual);
    let mut losses = Losses::NONE;
    let judged = verdicts(&mut losses, &[(30.0, false), (3.0, false)]);
    assert!(matches!(judged[0], Verdict::Congestion(_)));
    assert_eq!((judged[1], losses.trials()), (Verdict::Usual, 0), "less was lost");
    assert!(losses.usual < 0.01);
}

#[test]
fn losses_behind_a_queue_are_never_usual() {
    let mut losses = Losses::NONE;
    let judged = verdicts(&mut losses, &[(10.0, true); 20]);
    assert!(judged.iter().all(|verdict| *verdict == Verdict::Congestion(0.1)), "{judged:?}");
    assert_eq!(losses.usual, 0.0);
    verdicts(&mut losses, &[(1.0, true); 20]);
    assert_eq!(losses.usual, 0.0, "nor by and by");
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
fn alpha_is_the_average_part_of_marks_and_begins_at_all() {
    let params = Params::default();
    let mut marks = Marks::NONE;
    let counts = |marked: f64| Counts { delivered: 10.0, marked, ..Counts::NONE };
    assert!(!marks.count(&params, &signals(1000), &counts(0.0)));
    assert_eq!(marks.alpha, 0.0);
    assert!(marks.count(&params, &signals(1050), &counts(10.0)));
    assert_eq!(marks.alpha, 1.0);
    assert!(!marks.count(&params, &signals(1075), &counts(0.0)), "once a round trip");
    assert!(!marks.count(&params, &signals(1100), &counts(0.0)));
    assert_eq!(marks.alpha, 1.0 - 0.0625);
}

#[test]
fn the_noise_is_what_the_queue_falls_by_while_the_rate_grows() {
    let (params, span) = (Params::default(), TimeDelta::from_millis(100));
    let mut others = Others::NONE;
    for n in 0..400 {
        others.look(&params, at(100 * n), span, if n % 2 == 0 { 0.0 } else { 0.02 }, true);
    }
    // It falls by 20 ms in every second span.
    assert!((0.018..0.022).contains(&others.noise), "{}", others.noise);
    assert_eq!(others.margin(&params), params.noise_gain * others.noise);
    let noise = others.noise;
    others.look(&params, at(50_000), span, 0.0, false);
    assert_eq!(others.noise, noise, "while a queue drains it is to fall");
}

#[test]
fn a_queue_that_others_left_is_forgotten_where_none_stands_for_seconds() {
    let (params, span) = (Params::default(), TimeDelta::from_millis(100));
    let left = |queue: f64| {
        let mut others = Others::NONE;
        others.look(&params, at(0), span, queue, true);
        others.on_drained(queue);
        others
    };
    let floor_after = |seen: f64| {
        let mut others = left(0.3);
        for n in 4..70 {
            others.look(&params, at(100 * n), span, if n % 20 == 0 { seen } else { 0.0 }, true);
        }
        others.floor()
    };
    assert_eq!(floor_after(0.01), 0.0, "none stood for seven seconds");
    assert_eq!(floor_after(0.1), 0.3, "each two seconds one stood: of a flow that comes and goes");
    for (after, floor) in [(100, 0.0), (400, 0.3)] {
        let mut others = left(0.3);
        others.look(&params, at(after), span, 0.0, true);
        assert_eq!(others.floor(), floor, "{after} ms: no queue drains faster than time passes");
    }
    let mut others = left(0.1);
    others.look(&params, at(1), span, 0.0, true);
    assert_eq!(others.floor(), 0.1, "noise moves a queue by a tenth of a second");
    let mut others = left(0.3);
    for _ in 0..3 {
        others.on_drained(0.1);
        assert_eq!(others.floor(), 0.3, "less, for once");
    }
    others.on_drained(0.1);
    assert_eq!(others.floor(), 0.1, "of four drains the longest");
    others.on_drained(0.0);
    assert_eq!(others.floor(), 0.0, "nothing stands where less is sent");
}

#[test]
fn trains_that_arrive_as_they_left_show_room_and_stretched_ones_that_there_is_none() {
    let judged = |sent: i64, arrives: i64| {
        let mut trains = Trains::NONE;
        trains.judge(1e6, 1e4, 1.02);
        (0..12).for_each(|n| trains.on_arrival(at(sent * n), at(100 + arrives * n), 1e4));
        // Late packets and ones of a slower stream are of no train.
        trains.on_arrival(at(0), at(5000), 1e4);
        trains.judge(1e6, 1e4, 1.02);
        (trains.room, trains.stretched)
    };
    let (room, stretched) = judged(8, 8);
    assert!((room.unwrap_or(0.0) - 1.25e6).abs() < 1.0 && !stretched, "{room:?}");
    assert_eq!(judged(8, 9), (None, false), "more arrives than the rate, and later than it left");
    assert_eq!(judged(8, 12), (None, true), "less arrives than the rate");
    assert_eq!(judged(8, 4), (None, false), "they were held up before");
    assert_eq!(judged(12, 12), (None, false), "they left more slowly than the rate");
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
fn room_beyond_what_passes_a_policer_is_not_believed() {
    let params = Params::default();
    let mut policer = Policer::NONE;
    policer.on_lost(2e6);
    assert_eq!(policer.believed(4e6), 4e6, "losses once may be a burst's");
    policer.on_lost(3e6);
    assert_eq!(policer.believed(4e6), 4e6, "another rate passed");
    policer.on_lost(2.8e6);
    assert_eq!((policer.believed(4e6), policer.believed(2e6)), (2.8e6, 2e6));
    policer.look(&params, 4.1e6);
    assert_eq!(policer.believed(4e6), 2.8e6);
    policer.look(&params, 4.3e6);
    assert_eq!(policer.believed(8e6), 8e6, "at one and a half times the limit nothing was lost");
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

/// Through the calls of a controller: reports of what arrives marked, of all and of some packets.
#[test]
fn marks_lower_the_rate_by_a_part_or_in_proportion() {
    let rate_left = |l4s: bool, every: u64| {
        let mut tempo = Tempo::new(&Params::default(), &FlowSetup { l4s, ..FlowSetup::new(SIZE) });
        tempo.law.rate = 1e6;
        tempo.law.phase = Phase::Growth;
        for n in 0..200u64 {
            let sent = at(1000 + 10 * n as i64);
            let packet =
                SentPacket { stream: StreamId(0), sequence: n, size: SIZE, probe: None, app_limited: false };
            let _ = tempo.on_sent(sent, &packet);
            let ecn = if n % every == 0 { Ecn::Ce } else { Ecn::Ect1 };
            let arrived = Some(sent + TimeDelta::from_millis(20));
            let status = Status::Received { arrived, ecn };
            let packets = [PacketResult { stream: StreamId(0), sequence: n, size: SIZE, sent, status }];
            let report = PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous: false };
            let _ = tempo.on_report(sent + TimeDelta::from_millis(40), &Report::Packets(report));
        }
        tempo.law.rate / 1e6
    };
    let (all, few) = (rate_left(true, 1), rate_left(true, 50));
    assert!(all < 0.1 && few > 3.0 * all, "in proportion: {all} of all marked, {few} of few");
    assert!(rate_left(false, 1) < 0.5, "a classic mark counts once in a response time");
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
        assert!((world.law.others.floor() - floor).abs() < 1e-9, "{assigned}: {}", world.law.others.floor());
    }
}

#[test]
fn the_usual_part_of_losses_rises_slowly_and_not_beyond_a_fifth() {
    let params = Params::default();
    let mut losses = Losses::NONE;
    assert_eq!(verdicts(&mut losses, &[(60.0, false); 3])[2], Verdict::NotForRate);
    assert_eq!(losses.usual, params.usual_loss_most);
    let mut losses = Losses::NONE;
    let judged = losses.count(&params, &signals(1000), &lost(19.0, 15.0), false);
    assert_eq!(judged, Verdict::Usual, "of so few nothing is known");
    let mut losses = Losses::NONE;
    let judged = losses.count(&params, &signals(1000), &lost(25.0, 4.0), false);
    assert_eq!(judged, Verdict::Usual, "it may be chance");
    assert!((losses.usual - 0.1 * params.loss_margin / 4.0).abs() < 1e-12, "{}", losses.usual);
    for (response, millis) in [(1.0, 1900), (0.1, 1250)] {
        let (mut losses, soon) = (losses, Signals { response, ..signals(millis) });
        let judged = losses.count(&params, &soon, &lost(100.0, 60.0), false);
        assert_eq!(judged, Verdict::Usual, "not a response time yet, or three tenths of a second");
    }
}

#[test]
fn no_noise_hides_a_queue_for_more_than_a_second_and_a_half() {
    let params = Params::default();
    let mut others = Others::NONE;
    for (noise, span) in [(0.01, params.noise_span * 0.01), (10.0, 1.5)] {
        others.noise = noise;
        assert_eq!(others.span(&params), span);
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

#[test]
fn packets_leave_at_the_rate_while_a_queue_drains_and_faster_otherwise() {
    let mut tempo = Tempo::new(&Params::default(), &FlowSetup::new(SIZE));
    for (phase, pace) in [(Phase::Start, 2.5e6), (Phase::Growth, 1.2e6), (Phase::Drain, 1e6)] {
        (tempo.law.phase, tempo.law.rate) = (phase, 1e6);
        assert_eq!(tempo.rates().1, Bitrate::from_bps_f64(pace), "{phase:?}");
    }
}

/// A packet that left at 1 s is reported at this time. Answers the flow afterwards.
fn reported_at(millis: i64) -> Tempo {
    let mut tempo = Tempo::new(&Params::default(), &FlowSetup::new(SIZE));
    let packet = SentPacket { stream: StreamId(0), sequence: 0, size: SIZE, probe: None, app_limited: false };
    let _ = tempo.on_sent(at(1000), &packet);
    let status = Status::Received { arrived: None, ecn: Ecn::Ect1 };
    let packets = [PacketResult { stream: StreamId(0), sequence: 0, size: SIZE, sent: at(1000), status }];
    let report = PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous: false };
    let _ = tempo.on_report(at(millis), &Report::Packets(report));
    tempo
}

#[test]
fn a_report_before_its_packet_left_is_no_round_trip() {
    for (millis, rtt) in [(1050, Some(TimeDelta::from_millis(50))), (950, None)] {
        assert_eq!(reported_at(millis).snapshot().srtt, rtt, "{millis}");
    }
}

#[test]
fn a_flow_of_which_nothing_is_heard_shares_nothing() {
    let mut tempo = reported_at(1050);
    assert!(tempo.share().is_some());
    let packet = SentPacket { stream: StreamId(0), sequence: 1, size: SIZE, probe: None, app_limited: false };
    let _ = tempo.on_sent(at(1060), &packet);
    let (due, _) = tempo.next_timeout().expect("a packet is under way");
    let _ = tempo.on_timeout(due);
    assert!(tempo.usable() < tempo.law.rate && tempo.share().is_none());
}

#[test]
fn a_lost_packet_that_turns_up_is_none() {
    let mut path = Path::new(&Params::default());
    path.on_acked(&Acked { lost: 3, ..Acked::default() }, Bytes::ZERO, true);
    path.on_acked(&Acked { spurious: 1, delivered_packets: 1, ..Acked::default() }, Bytes::ZERO, true);
    assert_eq!(path.take_counts().lost, 2.0);
}
