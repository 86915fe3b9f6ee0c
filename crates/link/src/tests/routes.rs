//! Delays that change: steps, ramps and recordings, in order or overtaking.

use super::drive::{drive, packet};
use super::*;
use crate::trace::Column;
use crate::{DelayChanges, DelayOverTime, OverTime, Recording};
use alloc::boxed::Box;
use paceline_units::param::FileName;
use proptest::prelude::*;

fn ms(millis: u64) -> TimeDelta {
    TimeDelta::from_millis(millis as i64)
}

fn points(points: &[(u64, u64)]) -> Vec<(TimeDelta, TimeDelta)> {
    points.iter().map(|&(at, delay)| (ms(at), ms(delay))).collect()
}

fn steps(steps: &[(u64, u64)]) -> DelayOverTime {
    DelayOverTime::Changes(Box::new(DelayChanges { steps: points(steps), ..DelayChanges::default() }))
}

fn ramp(ramp: &[(u64, u64)]) -> DelayOverTime {
    DelayOverTime::Changes(Box::new(DelayChanges { ramp: points(ramp), ..DelayChanges::default() }))
}

fn recorded(text: &str, recording: Recording) -> DelayOverTime {
    let changes =
        DelayChanges { file: Some(FileName("delays.csv".into())), recording, ..DelayChanges::default() };
    let mut delay = DelayOverTime::Changes(Box::new(changes));
    delay.read(text.as_bytes()).expect("a recording");
    delay
}

/// Milliseconds after which packets arrive that come at these, over a link that takes no time to serve them.
fn delays(delay: &DelayOverTime, overtake: bool, at: &[u64]) -> (Vec<f64>, u64) {
    let config = LinkConfig { delay: delay.clone(), overtake, ..unlimited(mbps(1_000_000)) };
    let arrivals = at.iter().enumerate().map(|(n, at)| (at * 1_000_000, packet(n as u64, 0, 1, Ecn::NotEct)));
    let log = drive(config, arrivals, millis(100_000));
    let late = |one: &Departure<Packet>| (one.arrives - one.departed).as_millis_f64();
    (log.departures.iter().map(late).collect(), log.counters.overtaking)
}

#[test]
fn a_step_holds_from_its_time_on() {
    let route = steps(&[(0, 100), (1000, 20), (2000, 70)]);
    let at = [0, 999, 1100, 1999, 2000, 9000];
    assert_eq!(delays(&route, false, &at).0, [100.0, 100.0, 20.0, 20.0, 70.0, 70.0]);
}

/// A packet that left 10 ms before the step arrives 90 ms after it: until then the short route only catches up.
#[test]
fn a_shorter_route_overtakes_only_if_asked() {
    let (route, at) = (steps(&[(0, 100), (1000, 20)]), [990, 1000, 1040, 1069, 1070, 1080]);
    assert_eq!(delays(&route, false, &at), (vec![100.0, 90.0, 50.0, 21.0, 20.0, 20.0], 0));
    assert_eq!(delays(&route, true, &at), (vec![100.0, 20.0, 20.0, 20.0, 20.0, 20.0], 3));
}

#[test]
fn a_ramp_changes_evenly_and_then_holds() {
    let route = ramp(&[(0, 10), (1000, 110), (1100, 60)]);
    assert_eq!(delays(&route, false, &[0, 250, 500, 2000]).0, [10.0, 35.0, 60.0, 60.0]);
}

#[test]
fn steps_and_ramps_start_over() {
    let every = |delay, seconds| match delay {
        DelayOverTime::Changes(keys) => {
            let every = Some(TimeDelta::from_secs(seconds));
            DelayOverTime::Changes(Box::new(DelayChanges { every, ..*keys }))
        }
        constant => constant,
    };
    let at = [0, 1000, 1500, 2000, 3000, 3500, 4000];
    let stairs = every(steps(&[(0, 10), (1000, 20)]), 2);
    assert_eq!(delays(&stairs, true, &at).0, [10.0, 20.0, 20.0, 10.0, 20.0, 20.0, 10.0]);
    let teeth = every(ramp(&[(0, 10), (1000, 20)]), 2);
    assert_eq!(delays(&teeth, true, &at).0, [10.0, 20.0, 20.0, 10.0, 20.0, 20.0, 10.0]);
    let slow = every(ramp(&[(0, 10), (1500, 40)]), 2);
    assert_eq!(delays(&slow, true, &at).0, [10.0, 30.0, 40.0, 10.0, 30.0, 40.0, 10.0]);
}

#[test]
fn a_recording_is_played_from_its_offset_scaled_and_again() {
    let text = "t,rtt (s)\n0,0.010\n1,0.020\n2,0.030\n";
    let at = [0, 1000, 2000, 3000, 4000];
    let held = Recording::default();
    assert_eq!(delays(&recorded(text, held.clone()), false, &at).0, [10.0, 20.0, 30.0, 30.0, 30.0]);
    let half = Recording { scale: 0.5, offset: ms(1000), repeat: true, ..held.clone() };
    assert_eq!(delays(&recorded(text, half), false, &at).0, [10.0, 15.0, 5.0, 10.0, 15.0]);
    let column = Recording { column: Some(Column::Index(0)), interval: Some(ms(1000)), ..held.clone() };
    assert_eq!(delays(&recorded("5\n7\n", column), false, &[0, 1000]).0, [5.0, 7.0]);
    let json = "[{\"duration_ms\": 1000, \"bandwidth_kbps\": 9, \"latency_ms\": 40}, \
                {\"duration_ms\": 1000, \"bandwidth_kbps\": 9, \"latency_ms\": 50}]";
    assert_eq!(delays(&recorded(json, held), false, &[0, 1000]).0, [40.0, 50.0]);
}

#[test]
fn the_least_delay_is_the_look_ahead() {
    let link =
        |delay| Link::<Packet>::new(LinkConfig { delay, ..unlimited(mbps(1)) }, 1, "l").expect("valid");
    assert_eq!(link(steps(&[(0, 100), (1, 20)])).delay(), ms(20));
    assert_eq!(link(ramp(&[(0, 30), (1, 50)])).delay(), ms(30));
    assert_eq!(link(recorded("0 9\n1 5\n", Recording::default())).delay(), ms(5));
    let in_order = |overtake| {
        let config = LinkConfig { delay: steps(&[(0, 9), (1, 2)]), overtake, ..unlimited(mbps(1)) };
        Link::<Packet>::new(config, 1, "l").expect("valid").keeps_order()
    };
    assert!(in_order(false) && !in_order(true));
}

#[test]
fn delays_that_cannot_be_are_refused() {
    let key = |delay| {
        let config = LinkConfig { delay, ..unlimited(mbps(1)) };
        config.validate().expect_err("refused").name
    };
    assert_eq!(key(steps(&[(1, 5)])), "delay.steps[0][0]");
    assert_eq!(key(steps(&[(0, 5), (9, 5), (9, 6)])), "delay.steps[2][0]");
    assert_eq!(key(ramp(&[(0, 5), (9, 5), (8, 6)])), "delay.ramp[2][0]");
    assert_eq!(key(steps(&[])), "delay");
    let early =
        DelayChanges { every: Some(ms(9)), steps: points(&[(0, 5), (9, 5)]), ..DelayChanges::default() };
    assert_eq!(key(DelayOverTime::Changes(Box::new(early))), "delay.every");
    let past = Recording { offset: ms(2000), ..Recording::default() };
    assert_eq!(key(recorded("0 9\n1 5\n", past)), "delay.offset");
    let large = Recording { scale: 1e9, ..Recording::default() };
    assert_eq!(key(recorded("0 9000\n1 5\n", large)), "delay.scale");
    let unread = DelayChanges { file: Some(FileName("x".into())), ..DelayChanges::default() };
    assert_eq!(key(DelayOverTime::Changes(Box::new(unread))), "delay.trace");
}

proptest! {
    /// Over any route, no packet comes before the one that left before it, none sooner than the least delay, and where packets may
    /// overtake each has the delay of its own departure.
    #[test]
    fn packets_keep_their_order_over_any_route(
        changes in prop::collection::vec((1u64..500, 0u64..300), 1..9),
        gaps in prop::collection::vec(0u64..40, 2..200),
        is_ramp: bool,
    ) {
        let mut at = 0;
        let points: Vec<_> = changes.iter().enumerate().map(|(n, &(gap, delay))| {
            at += if n == 0 { 0 } else { gap };
            (at, delay)
        }).collect();
        let route = if is_ramp { ramp(&points) } else { steps(&points) };
        let least = points.iter().map(|point| point.1).min().expect("one at least") as f64;
        let mut now = 0;
        let times: Vec<_> = gaps.iter().map(|gap| { now += gap; now }).collect();
        let (kept, overtaking) = delays(&route, false, &times);
        let arrivals: Vec<_> = times.iter().zip(&kept).map(|(at, delay)| *at as f64 + delay).collect();
        prop_assert!(arrivals.windows(2).all(|pair| pair[0] <= pair[1] + 1e-3) && overtaking == 0);
        let (free, overtaking) = delays(&route, true, &times);
        prop_assert!(free.iter().zip(&kept).all(|(free, kept)| *free >= least - 1e-3 && *free <= kept + 1e-3));
        let overtook = free.iter().zip(&kept).filter(|(free, kept)| *free + 1e-3 < **kept).count();
        prop_assert_eq!(overtaking, overtook as u64);
    }
}
