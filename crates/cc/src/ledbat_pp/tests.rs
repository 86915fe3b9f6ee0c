//! The rules of the window as vectors.

use super::*;
use crate::window::drive::{Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::{Bytes, Ecn};

fn flow(params: &Params) -> Flow<LedbatPpLaw> {
    Flow::new(LedbatPp::new(params, &FlowSetup::new(Bytes::new(SIZE))))
}

/// By how many packets a window of 40 moves in a round trip of `base` and so much more, without slowdowns.
fn moved(base: i64, waited: i64) -> f64 {
    let params = Params { slowdown: 0.0, ..Params::default() };
    let mut flow = flow(&params).avoiding(40);
    flow.ack(0..1, Ecn::NotEct);
    flow.fill();
    // The first acknowledgement came after 100 ms: the base is told to it directly.
    let (law, window) = flow.sender.parts();
    (law.base, law.newest) = (Extreme::NEW, VecDeque::new());
    law.sample(flow.now, TimeDelta::from_millis(base));
    (0..4).for_each(|_| law.sample(flow.now, TimeDelta::from_millis(base + waited)));
    window.set(40_000.0);
    let (gain, wait) = law.delays().map(|(base, wait)| (law.gain(base), wait)).unwrap();
    let ack = Ack {
        now: flow.now,
        delivered: SIZE,
        marked: 0,
        newest: 0,
        rtt: None,
        flight_before: 40_000,
        may_grow: true,
    };
    law.avoid(window, &ack, gain, wait);
    (flow.cwnd() - 40.0) * 40.0
}

#[test]
fn growth_is_one_over_twice_the_target_over_the_base_delay() {
    for (base, expected) in
        [(200, 1.0), (120, 1.0), (100, 0.5), (50, 1.0 / 3.0), (20, 1.0 / 6.0), (1, 1.0 / 16.0)]
    {
        close(moved(base, 0), expected);
    }
}

#[test]
fn above_the_target_the_window_shrinks_by_its_excess_and_at_most_by_half() {
    // 40 packets and a gain of a half.
    for (waited, expected) in
        [(30, 0.5), (60, 0.5), (66, 0.5 - 4.0), (75, 0.5 - 10.0), (120, -20.0), (600, -20.0)]
    {
        close(moved(100, waited), expected);
    }
}

#[test]
fn three_quarters_of_the_target_end_slow_start_and_two_round_trips_later_it_slows_down() {
    let mut flow = flow(&Params::default());
    assert_eq!(flow.cwnd(), 2.0);
    flow.fill();
    for _ in 0..6 {
        flow.round(TimeDelta::from_millis(120), Ecn::NotEct);
    }
    // With a gain of one the window doubles.
    assert_eq!(flow.cwnd(), 128.0);
    for _ in 0..2 {
        flow.round(TimeDelta::from_millis(170), Ecn::NotEct);
    }
    assert!(flow.ssthresh().is_finite(), "50 ms are more than 45 ms");
    for _ in 0..2 {
        flow.round(TimeDelta::from_millis(170), Ecn::NotEct);
    }
    assert!(flow.sender.parts().0.is_frozen(), "{:?}", flow.sender.parts().0.phase);
    assert_eq!(flow.cwnd(), 2.0);
    let ssthresh = flow.ssthresh();
    let mut rounds = 0;
    while flow.cwnd() < ssthresh && rounds < 20 {
        flow.round(TimeDelta::from_millis(120), Ecn::NotEct);
        rounds += 1;
    }
    // Two or three rounds at two packets, and seven or eight doublings.
    assert!((8..=12).contains(&rounds), "{rounds}");
    flow.round(TimeDelta::from_millis(120), Ecn::NotEct);
    let Phase::Until(at) = flow.sender.parts().0.phase else { panic!("{:?}", flow.sender.parts().0.phase) };
    let next = at.saturating_since(flow.now).as_secs_f64();
    assert!((9.0 * 0.12 * 8.0..9.0 * 0.18 * 13.0).contains(&next), "{next} s");
}

#[test]
fn a_loss_halves_and_a_timeout_leaves_one_packet() {
    let mut flow = flow(&Params::default()).avoiding(20);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!((flow.cwnd(), flow.ssthresh()), (10.0, 10.0));
    flow.tell(Recovery::TimedOut);
    assert_eq!(flow.cwnd(), 1.0);
}

#[test]
fn the_present_delay_is_the_smallest_of_four_round_trips() {
    let (mut flow, at) = (flow(&Params::default()), |seconds: u64| Time::from_nanos(seconds * 1_000_000_000));
    let law = flow.sender.parts().0;
    law.sample(at(1), TimeDelta::from_millis(40));
    for (rtt, expected) in [(100, 0.0), (90, 0.0), (120, 0.0), (110, 0.05), (110, 0.05), (110, 0.07)] {
        law.sample(at(2), TimeDelta::from_millis(rtt));
        close(law.delays().expect("a round trip").1, expected);
    }
    law.sample(at(601), TimeDelta::from_millis(110));
    close(law.delays().expect("a round trip").0, 0.04);
    law.sample(at(700), TimeDelta::from_millis(110));
    close(law.delays().expect("a round trip").0, 0.11);
}
