//! The two windows.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{ACK, Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn, TimeDelta};

fn make(packets: u64) -> Flow<Avoidance<CompoundRule>> {
    let params = Params::profile("draft").expect("a profile");
    Flow::new(Compound::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

/// Windows and delay windows after each of some rounds of 100 ms and a wait.
fn rounds(packets: u64, waited: i64, count: usize) -> (f64, f64, Flow<Avoidance<CompoundRule>>) {
    let mut flow = make(packets);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    (0..count).for_each(|_| flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct));
    let dwnd = flow.sender.parts().0.rule().dwnd;
    (flow.cwnd(), dwnd, flow)
}

#[test]
fn without_a_queue_the_sum_grows_by_an_eighth_of_its_power_of_three_quarters() {
    let (before, _, mut flow) = rounds(256, 0, 3);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    // 256^0.75 / 8 is 8: seven of them the delay window's, one Reno's.
    let expected = 0.125 * before.powf(0.75);
    let grown = flow.cwnd() - before;
    assert!((expected - 0.1..expected + 0.6).contains(&grown), "{grown}, not {expected}");
}

/// Growth in a round trip by a trace of ns-2.35 without a queue: 1 packet below 41, 2 from there, 3 from 72 on, 5 from 144 on.
#[test]
fn linux_grows_by_whole_packets_from_41_on() {
    for (packets, expected) in [(30, 1.0), (50, 2.0), (66, 2.0), (75, 3.0), (99, 3.0), (150, 5.0), (195, 6.0)]
    {
        let params = Params::profile("linux").expect("a profile");
        let mut flow = Flow::new(Compound::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets);
        let (rule, window) = flow.sender.parts();
        rule.rule().rounds.least = 0.1;
        rule.rule().end_round(window, &ACK, 0.1);
        close(flow.cwnd() - packets as f64 + 1.0, expected);
    }
}

#[test]
fn a_window_below_16_packets_is_reno_s() {
    let (window, dwnd, _) = rounds(10, 0, 4);
    assert_eq!(dwnd, 0.0);
    assert!((14.0..=15.2).contains(&window), "{window}");
}

#[test]
fn with_30_packets_in_the_queue_the_delay_window_shrinks_by_them() {
    let (_, grown, mut flow) = rounds(200, 0, 6);
    assert!(grown > 30.0, "{grown}");
    for _ in 0..2 {
        flow.round(TimeDelta::from_millis(117), Ecn::NotEct);
    }
    let before = flow.sender.parts().0.rule().dwnd;
    let w = flow.cwnd();
    flow.round(TimeDelta::from_millis(117), Ecn::NotEct);
    let rule = flow.sender.parts().0.rule();
    let taken = before - rule.dwnd;
    assert!((30.0..=w * 0.15 + 1.0).contains(&taken) || rule.dwnd == 0.0, "{taken} of {before}, window {w}");
}

#[test]
fn a_loss_leaves_half_of_the_sum() {
    let (window, dwnd, mut flow) = rounds(200, 0, 6);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), window / 2.0);
    close(flow.sender.parts().0.rule().dwnd, dwnd / 2.0);
}

/// ns-2.35's: 137 packets become 76, 70 become 39 or 40.
#[test]
fn linux_leaves_nine_sixteenths() {
    let params = Params::profile("linux").expect("a profile");
    let mut flow = Flow::new(Compound::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(137);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 77.0625);
}

#[test]
fn a_timeout_ends_the_delay_window() {
    let (_, dwnd, mut flow) = rounds(200, 0, 6);
    flow.tell(Recovery::TimedOut);
    assert!(dwnd > 0.0);
    flow.fill();
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    assert_eq!(flow.sender.parts().0.rule().dwnd, 0.0);
}
