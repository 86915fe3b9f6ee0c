//! Reduction and increase of the window, by the sections of draft-ietf-ccwg-rfc8298bis-screamv2-01.

use super::*;
use crate::Acked;
use crate::scream_v2::queue_delay::Sample;

const MSS: f64 = 1000.0;
const SRTT: TimeDelta = TimeDelta::from_millis(25);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A window of 50 kB whose flights fill it, over an empty queue and a round trip of VIRTUAL_RTT.
struct World {
    params: Params,
    wnd: RefWnd,
    delay: QueueDelay,
    losses: Losses,
    flight: Flight,
}

impl World {
    fn new(params: Params) -> World {
        let mut flight = Flight::default();
        flight.on_sent(60_000);
        flight.on_report(at(0), SRTT, 60_000);
        let mut wnd = RefWnd::new(&params, MSS);
        wnd.set(&params, 50_000.0, MSS);
        World { delay: QueueDelay::new(&params), losses: Losses::default(), wnd, flight, params }
    }

    /// A queue of so many milliseconds, for long.
    fn queue(mut self, millis: u64) -> World {
        for (n, queue) in [0].into_iter().chain([millis; 100]).enumerate() {
            let now = n as u64 * 25;
            let (sent, arrived, none) = (at(now), at(now + queue), TimeDelta::ZERO);
            let sample = Sample { sent, arrived, above: none, below: none };
            self.delay.on_sample(&self.params, at(now), 0.06, &sample);
            self.delay.update(&self.params, at(now), SRTT);
        }
        self
    }

    fn input(&self, now: u64) -> Input<'_> {
        Input {
            now: at(now),
            srtt: SRTT,
            loop_time: SRTT.as_secs_f64(),
            acked: (0.0, 0.0),
            loss: false,
            marked: false,
            alpha: None,
            target: 0.06,
            delay: &self.delay,
            losses: &self.losses,
            flight: &self.flight,
            mss: MSS,
            most: None,
            undershoots: false,
        }
    }

    /// The window after a report, with what `change` says of it.
    fn after(&mut self, now: u64, change: impl FnOnce(&mut Input<'_>)) -> f64 {
        let mut wnd = self.wnd.clone();
        let mut input = self.input(now);
        change(&mut input);
        let _ = wnd.update(&self.params, &input);
        self.wnd = wnd;
        self.wnd.ref_wnd
    }
}

/// Section 4.2.2.1.
#[test]
fn losses_and_classic_marks_reduce_by_their_factors_once_a_round_trip() {
    let mut world = World::new(Params::draft());
    let mut lost = |now| libm::round(world.after(now, |input| input.loss = true));
    assert_eq!([lost(100), lost(124), lost(125)], [35_000.0, 35_000.0, 24_500.0], "0.7 each 25 ms");
    let mut world = World::new(Params::draft());
    assert_eq!(world.after(100, |input| input.marked = true), 40_000.0, "0.8");
    let mut world = World::new(Params::draft());
    let both = |input: &mut Input<'_>| (input.loss, input.marked) = (true, true);
    assert_eq!(world.after(100, both), 35_000.0, "the loss alone");
    let mut world = World::new(Params { min_ref_wnd_packets: 40.0, ..Params::draft() });
    assert_eq!(world.after(100, |input| input.loss = true), 40_000.0, "never below the smallest");
}

/// "since last_reaction_to_congestion_time": news that come too early wait.
#[test]
fn a_loss_within_the_interval_acts_when_that_is_over() {
    let mut world = World::new(Params::draft());
    world.after(100, |input| input.marked = true);
    assert_eq!(world.after(110, |input| input.loss = true), 40_000.0);
    assert_eq!(libm::round(world.after(125, |_| ())), 28_000.0);
}

#[test]
fn in_ericssons_program_a_loss_within_a_round_trip_is_ignored() {
    let mut world = World::new(Params { conditional_loss_backoff: false, ..Params::ericsson() });
    let lost = |world: &mut World, now: u64| {
        let loss = |input: &mut Input<'_>| (input.srtt, input.loss) = (TimeDelta::from_millis(60), true);
        libm::round(world.after(now, loss))
    };
    assert_eq!([lost(&mut world, 100), lost(&mut world, 160)], [35_000.0, 35_000.0]);
    assert_eq!(world.after(200, |_| ()), 35_000.0, "nor does it wait");
    assert_eq!(lost(&mut world, 201), 24_500.0);
}

#[test]
fn marks_of_l4s_reduce_by_half_of_their_fraction() {
    let half = |world: &mut World, srtt: i64| {
        let ce = |input: &mut Input<'_>| {
            (input.marked, input.alpha, input.srtt) = (true, Some(0.5), TimeDelta::from_millis(srtt));
        };
        libm::round(world.after(5000, ce))
    };
    let after_a_reduction = |srtt| {
        // A large queue: nothing scales the reduction down. The reduction just before leaves no rest.
        let mut world = World::new(Params::draft()).queue(20);
        world.after(4900, |input| (input.marked, input.alpha) = (true, Some(0.0)));
        half(&mut world, srtt)
    };
    assert_eq!(after_a_reduction(25), 37_500.0, "1 - 0.5/2");
    assert_eq!(after_a_reduction(50), 43_750.0, "half as much where there are two in a round trip");
    let mut calm = World::new(Params::draft());
    calm.after(4900, |input| (input.marked, input.alpha) = (true, Some(0.0)));
    assert_eq!(half(&mut calm, 25), 46_875.0, "a quarter of it near ref_wnd_i over a small queue");
    let mut libwebrtc = World::new(Params::libwebrtc());
    let classic = |input: &mut Input<'_>| (input.marked, input.alpha) = (true, None);
    assert_eq!(World::new(Params::draft()).after(1, classic), 40_000.0);
    libwebrtc.flight = Flight::default();
    assert!(libwebrtc.after(1, |input| (input.marked, input.alpha) = (true, Some(1.0))) < 50_000.0);
}

#[test]
fn the_first_mark_after_long_takes_the_window_to_the_last_flight() {
    let rested = |now: u64| {
        let mut world = World::new(Params::draft()).queue(20);
        world.after(4900, |input| (input.marked, input.alpha) = (true, Some(0.0)));
        world.flight = Flight::default();
        world.flight.on_report(at(5000), SRTT, 30_000);
        world.after(now, |input| (input.marked, input.alpha) = (true, Some(0.0)))
    };
    assert_eq!(rested(4900 + 2500), 50_000.0, "100 round trips are not over");
    assert_eq!(rested(4900 + 2501), 30_000.0);
}

/// l4s_alpha_v is 0 at half of the target and 1 at the target.
#[test]
fn a_queue_delay_above_half_of_its_target_counts_as_marks() {
    let after = |params: Params, queue: u64, srtt: i64, undershoots: bool| {
        let mut world = World::new(params).queue(queue);
        let change = |input: &mut Input<'_>| {
            (input.srtt, input.undershoots) = (TimeDelta::from_millis(srtt), undershoots);
        };
        libm::round(world.after(5000, change) / 10.0)
    };
    let draft = Params::draft;
    assert_eq!(
        [30, 45, 60, 100].map(|queue| after(draft(), queue, 25, false)),
        [5000.0, 3750.0, 2500.0, 2500.0]
    );
    assert_eq!(after(draft(), 60, 50, false), 3750.0, "half of it where there are two in a round trip");
    let ericsson = Params { mss: paceline_units::Bytes::new(1000), ..Params::ericsson() };
    assert_eq!(after(ericsson.clone(), 60, 60, false), 4375.0, "a quarter");
    assert_eq!(after(ericsson, 60, 25, true), 4375.0, "section 4.5.3");
    assert_eq!(after(draft(), 60, 25, true), 2500.0, "which is optional");
}

/// Section 4.2.2.2: a packet in a round trip, and 2 % of the window once congestion is long gone.
#[test]
fn the_window_grows_by_a_packet_and_a_part_of_itself() {
    let grown = |world: &mut World, now: u64| {
        let before = world.wnd.ref_wnd;
        world.after(now, |input| input.acked = (before, 0.0)) - before
    };
    let mut world = World::new(Params::draft());
    assert!((grown(&mut world, 100) - 2000.0).abs() < 1e-6, "1000 x (1 + 0.02 x 50)");
    // A reduction for nothing: the window is at ref_wnd_i, and congestion was detected.
    let mut world = World::new(Params::draft());
    world.after(1000, |input| (input.marked, input.alpha) = (true, Some(0.0)));
    assert!((grown(&mut world, 1000) - 250.0).abs() < 1e-6, "a quarter near ref_wnd_i");
    world.wnd.ref_wnd = 70_000.0;
    world.flight.on_sent(200_000);
    assert!((grown(&mut world, 1000) - 1000.0).abs() < 1e-6, "away from it, just after congestion");
    world.wnd.ref_wnd = 70_000.0;
    assert!((grown(&mut world, 1000 + 1250) - 1700.0).abs() < 1e-6, "half of 100 round trips later");
    world.wnd.ref_wnd = 70_000.0;
    assert!((grown(&mut world, 1000 + 2500) - 2400.0).abs() < 1e-6, "100 round trips later");
}

#[test]
fn marked_bytes_short_round_trips_and_small_flights_hold_growth() {
    let with = |params: Params, change: &dyn Fn(&mut Input<'_>)| {
        let mut world = World::new(params);
        let grown = world.after(100, |input| {
            input.acked = (50_000.0, 0.0);
            change(input);
        });
        libm::round(grown - 50_000.0)
    };
    let draft = Params::draft;
    assert_eq!(with(draft(), &|input| input.acked = (50_000.0, 20_000.0)), 1200.0);
    assert_eq!(with(draft(), &|input| input.loop_time = 0.005), 400.0, "a fifth of VIRTUAL_RTT");
    let libwebrtc = Params { virtual_rtt_power: 2.0, ..draft() };
    assert_eq!(with(libwebrtc, &|input| input.loop_time = 0.005), 80.0, "libwebrtc: squared");
    assert_eq!(with(draft(), &|input| input.most = Some(1e9)), 0.0, "the target is the highest");
    let small = Flight::default();
    let mut world = World::new(draft());
    world.flight = small;
    world.flight.on_sent(33_000);
    assert_eq!(
        world.after(100, |input| input.acked = (50_000.0, 0.0)),
        50_000.0,
        "1000 + 1.5 x 33 kB is less"
    );
    world.flight.on_sent(34_000);
    assert!(world.after(101, |input| input.acked = (50_000.0, 0.0)) > 50_000.0);
}

#[test]
fn the_inflection_point_is_the_window_before_the_first_reduction_after_a_growth() {
    let mut world = World::new(Params::draft());
    world.after(100, |input| input.loss = true);
    world.after(200, |input| input.loss = true);
    assert_eq!(world.wnd.ref_wnd_i, 50_000.0);
    let grown = world.after(210, |input| input.acked = (24_500.0, 0.0));
    world.after(300, |input| input.loss = true);
    assert_eq!(world.wnd.ref_wnd_i, grown);
}

#[test]
fn libwebrtc_grows_with_no_report_that_tells_of_congestion_but_for_one_that_reduced() {
    let marked = |input: &mut Input<'_>| {
        (input.acked, input.marked, input.alpha) = ((50_000.0, 0.0), true, Some(0.0));
    };
    let mut world = World::new(Params::libwebrtc());
    let reduced = world.after(100, marked);
    assert!(reduced > 50_000.0);
    assert_eq!(world.after(110, marked), reduced);
    let mut draft = World::new(Params::draft());
    let reduced = draft.after(100, marked);
    assert!(draft.after(110, marked) > reduced);
}

/// Section 4.5.2.
#[test]
fn a_policer_limits_the_window_for_long() {
    let mut world = World::new(Params { rate_policer: true, ..Params::draft() });
    let acked = Acked { lost: 100, delivered_packets: 0, ..Acked::default() };
    (0..10).for_each(|n| world.losses.on_report(&world.params.clone(), at(n), SRTT, &acked, 0.02));
    assert_eq!(world.after(100, |input| input.loss = true), 35_000.0);
    world.losses = Losses::default();
    world.wnd.ref_wnd = 60_000.0;
    assert!(
        (world.after(200, |_| ()) - 45_000.0 * 1.001 * 1.001).abs() < 1.0,
        "0.9 of 50 kB, and 0.1 % a round trip"
    );
}
