//! Coupling: a flow state exchange (RFC 8699, active algorithm 1) between controllers that know nothing of it.

use super::path::{Datagrams, Path, Run, SIZE, ms};
use super::tfrc_sender::TfrcSender;
use paceline_cc::FlowSetup;
use paceline_cc::scream::{Params, Scream};
use paceline_cc::{
    Allowance, AnyCoupling, Assigned, Controller, Coupling, CouplingParams, FlowId, FlowUpdate, Priority,
    ReceiverReport, Report, StreamId, TargetChange,
};
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, TimeDelta};

fn update(controller: &dyn Controller, who: usize) -> FlowUpdate {
    let own = controller.share().expect("it steers something");
    let flow = FlowId(who as u32);
    FlowUpdate { flow, own, taken: None, desired: None, rtt: None, priority: Priority::ONE }
}

/// A host's steps after an update: it hands the group the flow's share and passes the assignments on.
fn exchange(group: &mut AnyCoupling, flows: &mut [&mut dyn Controller], who: usize) {
    let update = update(flows[who], who);
    for assignment in group.update(ms(0), &update) {
        let told = flows[assignment.flow.0 as usize].assign(ms(0), assignment.assigned);
        assert_ne!(told.target, TargetChange::None, "an assignment is answered like any change");
    }
}

fn target(controller: &dyn Controller) -> u64 {
    controller.snapshot().target.map_or(0, Bitrate::as_bps)
}

#[test]
fn an_update_of_one_flow_raises_the_other() {
    let (mut tfrc, mut other) = (TfrcSender::default(), TfrcSender::default());
    let mut scream = Scream::new(&Params::profile("reference-2022").expect("known"), &FlowSetup::new(SIZE));
    let mut group = AnyCoupling::new(&CouplingParams::of("active").expect("known"));
    let flows: &mut [&mut dyn Controller] = &mut [&mut tfrc, &mut scream, &mut other];
    for (who, flow) in flows.iter().enumerate() {
        assert!(group.join(ms(0), &update(*flow, who)).is_empty(), "who joins is given nothing yet");
    }
    exchange(&mut group, flows, 1);
    let before: Vec<u64> = flows.iter().map(|flow| target(*flow)).collect();
    assert_eq!(before[1], 338_666, "8 + 1000 + 8 kbit/s shared equally");
    let report = ReceiverReport::Tfrc {
        loss_event_rate: 0.0001,
        receive_rate: Bitrate::from_mbps(50),
        newest_sent: Some(ms(0)),
        delay: TimeDelta::ZERO,
    };
    let _ = flows[0].on_report(ms(100), &Report::Receiver(report));
    let own = target(flows[0]);
    assert!(own > 9_000_000, "the equation at p = 0.0001: {own}");
    exchange(&mut group, flows, 0);
    let after: Vec<u64> = flows.iter().map(|flow| target(*flow)).collect();
    for n in 0..3 {
        assert!(after[n].abs_diff((own + 2 * before[1]) / 3) <= 2, "flow {n}: {before:?} to {after:?}");
    }
    assert_eq!(flows[1].target_bitrate(StreamId(0)).map(Bitrate::as_bps), Some(after[1]));
    assert!(group.leave(ms(200), FlowId(0)).is_empty());
    exchange(&mut group, flows, 1);
    let inherited = (own + 2 * before[1]) / 2;
    assert!(target(flows[2]).abs_diff(inherited) <= 4, "who leaves leaves its rate behind");
}

#[test]
fn an_assignment_raises_window_and_target_of_a_window_based_flow() {
    let params = Params::profile("reference-2022").expect("known");
    let (mut scream, mut near) = (Scream::new(&params, &FlowSetup::new(SIZE)), Datagrams::default());
    Run::new(&mut scream, &mut near, Path::clean(TimeDelta::from_millis(50))).until(ms(300));
    let window = scream.snapshot().window.expect("it has one");
    let wanted = Bytes::new(window.as_u64() + 50_000);
    let update = scream.assign(ms(300), Assigned::Window(wanted));
    assert!(scream.snapshot().window.is_some_and(|window| window.as_u64().abs_diff(wanted.as_u64()) <= 1));
    assert!(
        matches!(update.allowance, Some(Allowance::Bytes(bytes)) if bytes >= Bytes::new(50_000)),
        "{update:?}"
    );
    let rate = wanted.as_bits_f64() / 0.1;
    assert!((0.95..1.05).contains(&(target(&scream) as f64 / rate)), "window over round trip");
}

/// It was found by a random world that never ended: each rate above the limit multiplied the window, until it admitted anything.
#[test]
fn rates_above_a_limit_do_not_raise_the_window_again_and_again() {
    let mut params = Params::profile("reference-2022").expect("known");
    params.target_bitrate_max = Bitrate::from_bps(3_600_000);
    let (mut scream, mut near) = (Scream::new(&params, &FlowSetup::new(SIZE)), Datagrams::default());
    Run::new(&mut scream, &mut near, Path::clean(TimeDelta::from_millis(50))).until(ms(2000));
    let mut assigned = || {
        let update = scream.assign(ms(2000), Assigned::Rate(Bitrate::from_bps(9_000_000)));
        (scream.snapshot().window.expect("it has one"), update.allowance)
    };
    let first = assigned();
    for _ in 0..100 {
        assert_eq!(assigned(), first);
    }
}
