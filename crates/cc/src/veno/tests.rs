//! The two answers to a loss.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{ACK, Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<VenoRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Veno::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

use paceline_units::TimeDelta;

/// Of 20 packets `20 d / (100 + d)` wait.
fn with_queue(waited: i64) -> Flow<Avoidance<VenoRule>> {
    let mut flow = make("2003", 20);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    for _ in 0..3 {
        let _ = crate::Controller::assign(&mut flow.sender, flow.now, crate::Assigned::Window(lost(20)));
        flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct);
    }
    let _ = crate::Controller::assign(&mut flow.sender, flow.now, crate::Assigned::Window(lost(20)));
    flow
}

#[test]
fn with_less_than_three_packets_in_the_queue_a_loss_is_random() {
    for (waited, grown, left) in [(0, 1.0, 0.8), (15, 1.0, 0.8), (20, 0.5, 0.5), (100, 0.5, 0.5)] {
        let mut flow = with_queue(waited);
        let (rule, window) = flow.sender.parts();
        let before = window.packets();
        let ack = Ack { now: flow.now, ..ACK };
        assert_eq!(rule.rule().increase(window, &ack), grown, "{waited} ms");
        flow.tell(Recovery::Entered { lost: lost(1) });
        close(flow.cwnd() / before, left);
    }
}
