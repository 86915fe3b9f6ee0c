//! RFC 8257 section 3.3 as vectors.

use super::*;
use crate::FlowSetup;
use crate::Recovery;
use crate::window::drive::{Flow, SIZE, lost};
use paceline_units::{Bytes, Ecn, TimeDelta};

fn make() -> Flow<DctcpLaw> {
    Flow::new(Dctcp::new(&Params::default(), &FlowSetup::new(Bytes::new(SIZE))))
}

#[test]
fn alpha_moves_a_sixteenth_of_the_way_with_each_window() {
    let mut flow = make().avoiding(10);
    flow.ack(0..1, Ecn::Ect1);
    assert_eq!(flow.sender.parts().0.alpha, 1.0 - 1.0 / 16.0, "the first window ends with its first packet");
    flow.ack(1..5, Ecn::Ce);
    flow.ack(5..10, Ecn::Ect1);
    assert_eq!(flow.sender.parts().0.alpha, 0.9375, "the window is not over");
    flow.send(1);
    flow.ack(10..11, Ecn::Ect1);
    let expected = 0.9375 + (4.0 / 10.0 - 0.9375) / 16.0;
    let alpha = flow.sender.parts().0.alpha;
    assert!((alpha - expected).abs() < 1e-12, "4 of 10: {alpha}");
}

#[test]
fn a_window_with_marks_is_reduced_once_by_half_of_alpha() {
    let mut flow = make().avoiding(20);
    flow.sender.parts().0.alpha = 0.25;
    flow.ack(0..1, Ecn::Ce);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (17.5, 17.5));
    flow.ack(1..20, Ecn::Ce);
    assert_eq!(flow.cwnd(), 17.5, "the same window of data, all marked: no growth either");
    flow.fill();
    flow.ack(20..21, Ecn::Ce);
    assert!((10.0..17.0).contains(&flow.cwnd()), "the next: {}", flow.cwnd());
}

#[test]
fn a_loss_halves_even_after_marks() {
    let mut flow = make().avoiding(20);
    flow.sender.parts().0.alpha = 0.1;
    flow.ack(0..1, Ecn::Ce);
    assert_eq!(flow.cwnd(), 19.0);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 9.5, "section 3.5");
}

#[test]
fn the_first_mark_ends_slow_start() {
    let mut flow = make();
    flow.fill();
    flow.round(TimeDelta::from_millis(100), Ecn::Ect1);
    assert_eq!(flow.cwnd(), 20.0);
    flow.round(TimeDelta::from_millis(100), Ecn::Ce);
    let (law, window) = flow.sender.parts();
    assert!(!window.in_slow_start() && window.packets() < 12.0 && law.alpha > 0.8, "{window:?}");
}
