//! Vegas's decisions as vectors.

use super::*;
use crate::FlowSetup;
use crate::Recovery;
use crate::window::drive::{Flow, SIZE, lost};
use paceline_units::{Bytes, Ecn};

const BASE: TimeDelta = TimeDelta::from_millis(100);

fn make() -> Flow<VegasLaw> {
    Flow::new(Vegas::new(&Params::default(), &FlowSetup::new(Bytes::new(SIZE))))
}

/// By how much a window of about 20 packets moves when a round ends whose packets waited so long.
fn moved(waited: i64) -> f64 {
    let mut flow = make().avoiding(20);
    flow.round(BASE, Ecn::NotEct);
    // A round ends with the first packet that was sent in it: the waiting ones end with the third.
    (0..2).for_each(|_| flow.round(BASE + TimeDelta::from_millis(waited), Ecn::NotEct));
    let before = flow.cwnd();
    flow.round(BASE + TimeDelta::from_millis(waited), Ecn::NotEct);
    flow.cwnd() - before
}

#[test]
fn once_per_round_the_window_moves_a_packet_towards_two_to_four_in_the_queue() {
    // Of 20 packets 20 d/(100 + d) wait.
    for (waited, expected) in [(0, 1.0), (5, 1.0), (16, 0.0), (40, -1.0), (200, -1.0)] {
        assert_eq!(moved(waited), expected, "{waited} ms");
    }
}

#[test]
fn slow_start_doubles_every_other_round_and_ends_with_gamma_packets_in_the_queue() {
    let mut flow = make();
    flow.fill();
    let windows: [f64; 6] = core::array::from_fn(|_| {
        flow.round(BASE, Ecn::NotEct);
        flow.cwnd()
    });
    let doublings = windows.windows(2).filter(|pair| pair[1] > 1.5 * pair[0]).count();
    assert!((2..=3).contains(&doublings) && windows[5] <= 90.0, "{windows:?}");
    let before = flow.cwnd();
    (0..3).for_each(|_| flow.round(BASE * 2, Ecn::NotEct));
    let window = flow.sender.parts().1;
    assert!(!window.in_slow_start(), "half of the window waits");
    assert!((0.4..=1.1).contains(&(window.packets() / before)), "{} of {before}", window.packets());
}

#[test]
fn a_loss_halves_as_reno_does() {
    let mut flow = make().avoiding(20);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!((flow.cwnd(), flow.ssthresh()), (10.0, 10.0));
    flow.tell(Recovery::TimedOut);
    assert_eq!(flow.cwnd(), 1.0);
}

#[test]
fn a_round_that_doubles_is_not_judged_by_the_queue_it_makes() {
    let mut flow = make();
    flow.fill();
    flow.ack(0..1, Ecn::NotEct);
    // The first round ended with its first packet; the fixed one that follows saw nothing wait.
    flow.round(TimeDelta::ZERO, Ecn::NotEct);
    flow.round(BASE, Ecn::NotEct);
    let doubling = flow.sender.parts().0.doubling;
    assert!(doubling, "the third round doubles");
    let (first, next) = (flow.first(), flow.next);
    flow.now += BASE * 2;
    (first + 1..next).for_each(|sequence| flow.ack(sequence..sequence + 1, Ecn::NotEct));
    assert!(!flow.sender.parts().0.doubling, "it is over");
    assert!(flow.sender.parts().1.in_slow_start(), "half of the window waited, in a round that doubled");
}
