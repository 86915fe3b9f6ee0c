//! Rates, round trips, thresholds, and the states that follow from them.

use super::*;
use crate::window::drive::{ACK, Flow, SIZE, close};
use crate::{Controller, FlowSetup, Recovery};
use paceline_units::{Bytes, Ecn};

/// 10 Mbit/s in bytes per second.
const MBPS_10: f64 = 1_250_000.0;

fn flow(params: &Params) -> Flow<C4Law> {
    Flow::new(C4::new(params, &FlowSetup::new(Bytes::new(SIZE))))
}

/// A law in a state at 10 Mbit/s over 100 ms, whose era ends with packet 50.
fn at(params: &Params, state: State, alpha: f64, alpha_before: f64) -> Flow<C4Law> {
    let mut flow = flow(params);
    flow.send(10);
    let (law, window) = flow.sender.parts();
    window.round_trip.sample(TimeDelta::from_millis(100));
    window.next = 100;
    (law.state, law.alpha, law.alpha_before, law.era) = (state, alpha, alpha_before, 50);
    (law.nominal, law.grows_from) = (MBPS_10, (MBPS_10, alpha));
    law.trips.sample(params, 0.1, (0.1, 1.0));
    flow
}

/// The era ends.
fn end(flow: &mut Flow<C4Law>) -> &mut C4Law {
    let (law, window) = flow.sender.parts();
    let newest = law.era;
    law.on_progress(window, &Ack { newest, ..ACK });
    law
}

/// A round trip in ms.
fn delay(flow: &mut Flow<C4Law>, ms: i64) -> &mut C4Law {
    let (law, window) = flow.sender.parts();
    law.heed_delay(window, TimeDelta::from_millis(ms));
    law
}

#[test]
fn sensitivity_rises_from_50_kb_to_10_mb_a_second() {
    let params = Params::default();
    for (rate, expected) in
        [(0.0, 0.0), (50e3, 0.0), (525e3, 0.47), (1e6, 0.94), (5.5e6, 0.97), (10e6, 1.0), (1e9, 1.0)]
    {
        close(sensitivity(&params, rate), expected);
    }
    close(sensitivity(&Params::draft(), 1e6), 0.92);
}

#[test]
fn the_nominal_maximum_follows_longer_round_trips_at_once_and_shorter_ones_by_eighths() {
    let params = Params::default();
    let mut trips = RoundTrips::NEW;
    let mut era = |rtts: &[f64]| {
        rtts.iter().for_each(|rtt| trips.sample(&params, *rtt, (0.1, 0.025)));
        trips.end_calm_era(&params);
        trips.begin_era();
        trips
    };
    close(era(&[0.1]).nominal_max, 0.1);
    close(era(&[0.1, 0.2]).nominal_max, 0.2);
    close(era(&[0.1]).nominal_max, (7.0 * 0.2 + 0.1) / 8.0);
    // Not more than 250 ms above the least.
    close(era(&[0.1, 2.0]).nominal_max, 0.35);
    close(era(&[0.3]).running_min, (7.0 * 0.1 + 0.3) / 8.0);
    close(era(&[0.0001]).nominal_max, (7.0 * (7.0 * 0.35 + 0.3) / 8.0 + 0.0001) / 8.0);
    let mut short = RoundTrips::NEW;
    short.sample(&params, 1e-5, (0.1, 0.025));
    close(short.nominal_max, 1e-3);
}

#[test]
fn a_delay_is_excessive_beyond_a_part_of_the_nominal_maximum_and_25_ms() {
    // At 10 Mbit/s a flow has 0.942 of sensitivity, and a threshold of 7.3 % of 100 ms.
    for (ms, excessive) in [(107, false), (108, true)] {
        let mut flow = at(&Params::default(), State::Probing, 1.0625, 1.0625);
        let law = delay(&mut flow, ms);
        assert_eq!(law.state == State::Recovery, excessive, "{ms}");
        assert_eq!(
            (law.nominal, law.congested),
            (MBPS_10, excessive),
            "a probe's congestion reduces nothing"
        );
    }
    let mut flow = at(&Params::default(), State::Probing, 1.0625, 1.0625);
    flow.sender.parts().0.trips.nominal_max = 1.0;
    assert_eq!(delay(&mut flow, 1024).state, State::Probing);
    assert_eq!(delay(&mut flow, 1026).state, State::Recovery);
}

#[test]
fn delays_after_a_calm_era_are_no_signal_to_the_program_and_one_to_the_draft() {
    let mut flow = at(&Params::default(), State::Cruising, 1.0, 0.9375);
    let law = delay(&mut flow, 300);
    assert_eq!((law.state, law.nominal), (State::Cruising, MBPS_10));
    let mut flow = at(&Params::draft(), State::Cruising, 1.0, 0.9375);
    let law = delay(&mut flow, 300);
    assert_eq!(law.state, State::Recovery);
    close(law.nominal, 0.75 * MBPS_10);
    // In proportion to the excess over the threshold.
    let mut flow = at(&Params::draft(), State::Cruising, 1.0, 0.9375);
    let part = delay(&mut flow, 109).nominal / MBPS_10;
    assert!((0.75..0.9).contains(&part), "{part}");
}

#[test]
fn the_smoothed_loss_rate_counts_packets_between_losses() {
    let params = Params::default();
    let mut losses = LossRate::default();
    losses.on_lost(&params, 16);
    close(losses.rate, 1.0 / 16.0);
    losses.on_lost(&params, 17);
    let then = 1.0 / 16.0 * 15.0 / 16.0;
    close(losses.rate, then + (1.0 - then) / 16.0);
    losses.on_lost(&params, 5);
    close(losses.rate, then + (1.0 - then) / 16.0);
    losses.on_lost(&params, 10_000);
    close(losses.rate, 1.0 / 16.0);
}

#[test]
fn a_loss_while_cruising_takes_a_quarter_of_rate_and_round_trip() {
    let lose = |params: &Params| {
        let mut flow = at(params, State::Cruising, 1.0, 0.9375);
        let (law, window) = flow.sender.parts();
        let sent = Sent { at: Time::ZERO, size: SIZE, again: false, note: Default::default() };
        law.on_packet_lost(window, Time::ZERO, 60, &sent);
        law.clone()
    };
    let draft = lose(&Params::draft());
    assert_eq!((draft.state, draft.alpha), (State::Recovery, 0.9375));
    close(draft.nominal, 0.75 * MBPS_10);
    close(draft.trips.nominal_max, 0.075);
    // The program takes less of a slow flow: at 10 Mbit/s 0.97 of it.
    close(lose(&Params::default()).nominal, (1.0 - 0.25 * (0.5 + 0.5 * 0.9417)) * MBPS_10);
    // One loss is below the threshold of a slow flow.
    let slow = Params { loss_insensitive: 0.5, sensitivity_at_mid: 0.1, ..Params::default() };
    assert_eq!(lose(&slow).state, State::Cruising);
}

#[test]
fn losses_that_a_timer_found_are_no_signal() {
    let mut flow = at(&Params::default(), State::Cruising, 1.0, 0.9375);
    flow.tell(Recovery::TimedOut);
    let (law, _) = flow.sender.parts();
    assert_eq!((law.state, law.nominal, law.losses.rate), (State::Cruising, MBPS_10, 0.0));
    assert_eq!(flow.cwnd(), 1.0);
}

#[test]
fn marks_count_by_their_ratio_above_a_tenth_to_a_fifth() {
    let mark = |marked: u64, of: u64| {
        let mut flow = at(&Params::default(), State::Cruising, 1.0, 0.9375);
        let (law, window) = flow.sender.parts();
        law.heed_marks(window, &Ack { marked, delivered: of, ..ACK });
        law.clone()
    };
    // From half on a ratio is taken as it is; below it moves by a sixteenth.
    assert_eq!(mark(500, 1000).state, State::Recovery);
    assert_eq!(mark(499, 1000).state, State::Cruising);
    let half = mark(500, 1000);
    close(half.marks.ratio, 0.5);
    close(half.nominal, 0.75 * MBPS_10);
    assert!(half.after_marks && half.congested);
    let mut flow = at(&Params::default(), State::Probing, 1.0625, 1.0625);
    let (law, window) = flow.sender.parts();
    law.on_signal(window, Signal::Mark, 0.1);
    let law = end(&mut flow);
    assert_eq!((law.state, law.cruise_left), (State::Cruising, 1));
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha), (State::Probing, 1.03125), "smaller after marks");
}

#[test]
fn cruising_lasts_two_eras_a_probe_one_and_a_recovery_one() {
    let mut flow = at(&Params::default(), State::Recovery, 0.9375, 1.0625);
    assert_eq!(end(&mut flow).state, State::Cruising);
    assert_eq!(end(&mut flow).state, State::Cruising);
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha, law.alpha_before), (State::Probing, 1.0625, 1.0625));
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha, law.alpha_before), (State::Recovery, 0.9375, 1.0625));
    assert_eq!(end(&mut flow).state, State::Cruising, "the probe brought nothing");
}

#[test]
fn no_probe_follows_where_the_application_has_less() {
    let mut flow = at(&Params::default(), State::Cruising, 1.0, 1.0);
    flow.sender.parts().0.limited_at = Some(Time::from_nanos(1));
    for _ in 0..5 {
        assert_eq!(end(&mut flow).state, State::Cruising);
    }
    flow.sender.parts().0.newest = Time::from_nanos(2);
    assert_eq!(end(&mut flow).state, State::Probing);
}

#[test]
fn a_probe_that_brought_more_is_followed_by_pushes_and_those_by_the_initial_state() {
    let mut flow = at(&Params::default(), State::Recovery, 0.9375, 1.0625);
    let grow = |flow: &mut Flow<C4Law>, part: f64| flow.sender.parts().0.nominal *= part;
    flow.sender.parts().0.grows_from.1 = 1.0625;
    grow(&mut flow, 1.01);
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha), (State::Pushing, 1.2265625));
    // Three quarters of what was expected: pushing goes on.
    grow(&mut flow, 1.0 + 0.76 * 0.2265625);
    assert_eq!(end(&mut flow).state, State::Pushing);
    grow(&mut flow, 1.0 + 0.5 * 0.2265625);
    assert_eq!(end(&mut flow).state, State::Recovery);
    assert_eq!(end(&mut flow).state, State::Pushing, "a quarter was growth");
    grow(&mut flow, 1.0 + 0.3 * 0.2265625);
    assert_eq!(end(&mut flow).state, State::Recovery);
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha), (State::Initial, 2.0));
}

#[test]
fn the_draft_pushes_for_two_eras_at_a_quarter_more_and_drains_after_them() {
    let mut flow = at(&Params::draft(), State::Recovery, 0.9375, 1.0625);
    let law = flow.sender.parts().0;
    (law.grows_from.1, law.nominal) = (1.0625, 1.01 * MBPS_10);
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha), (State::Pushing, 1.25));
    assert_eq!(end(&mut flow).state, State::Pushing);
    let law = end(&mut flow);
    assert_eq!((law.state, law.alpha), (State::Recovery, 0.875));
}

#[test]
fn congestion_in_two_recoveries_makes_the_recent_maximum_the_rate() {
    let mut flow = at(&Params::default(), State::Recovery, 0.9375, 1.0625);
    for (number, expected) in [(1, MBPS_10), (2, 1e6)] {
        let (law, window) = flow.sender.parts();
        (law.state, law.recent) = (State::Recovery, 1e6);
        law.on_signal(window, Signal::Delay, 0.25);
        assert_eq!(law.alpha, 0.875, "congestion in recovery");
        close(end(&mut flow).nominal, expected);
        assert_eq!(flow.sender.parts().0.congestions, number);
        flow.sender.parts().0.alpha = 0.9375;
    }
}

#[test]
fn the_draft_trims_half_of_what_a_used_probe_did_not_bring() {
    let mut flow = at(&Params::draft(), State::Recovery, 0.9375, 1.0625);
    let law = flow.sender.parts().0;
    (law.recent, law.used) = (1e6, true);
    close(end(&mut flow).nominal, (1e6 + MBPS_10) / 2.0);
}

#[test]
fn high_jitter_makes_a_slow_flow_initial_once() {
    let jitter = |rate: f64, least: f64, most: f64| {
        let mut flow = at(&Params::default(), State::Cruising, 1.0, 1.0625);
        let law = flow.sender.parts().0;
        (law.nominal, law.trips.running_min, law.trips.nominal_max) = (rate, least, most);
        let law = end(&mut flow);
        (law.state == State::Initial, law.restarts)
    };
    assert_eq!(jitter(0.9e6, 0.039, 0.1), (true, 0));
    assert_eq!(jitter(0.9e6, 0.041, 0.1), (false, 1));
    assert_eq!(jitter(1.1e6, 0.039, 0.1), (false, 1));
    assert_eq!(jitter(0.9e6, 0.01, 0.049), (false, 1));
}

#[test]
fn the_window_is_the_pace_in_the_nominal_maximum_and_a_margin() {
    let window = |state, alpha| {
        let mut flow = at(&Params::default(), state, alpha, 1.0);
        let (law, window) = flow.sender.parts();
        (law.window(window), law.pace().unwrap())
    };
    let (cruising, pace) = window(State::Cruising, 1.0);
    close(cruising, 0.115 * MBPS_10);
    close(pace, MBPS_10);
    let (recovery, pace) = window(State::Recovery, 0.9375);
    close(recovery, 0.115 * 0.9375 * MBPS_10);
    close(pace, 0.9375 * MBPS_10);
    let mut flow = at(&Params::default(), State::Probing, 1.0625, 1.0625);
    let (law, window) = flow.sender.parts();
    law.nominal = 50_000.0;
    // A probe of 312 B becomes one of a packet.
    close(law.window(window), 0.115 * 1.0625 * 50_000.0 + SIZE as f64 - 0.0625 * 5_000.0);
}

#[test]
fn the_start_doubles_until_three_eras_without_growth() {
    let mut flow = flow(&Params::default());
    let (law, window) = flow.sender.parts();
    assert_eq!((law.pace(), law.window(window)), (None, 10.0 * SIZE as f64));
    flow.fill();
    for _ in 0..10 {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    }
    let law = flow.sender.parts().0;
    assert_eq!(law.state, State::Initial);
    assert!(flow.cwnd() > 500.0, "{}", flow.cwnd());
    let law = end(&mut flow);
    law.flat_eras = 0;
    for flat in 0..3 {
        let law = flow.sender.parts().0;
        law.used = true;
        assert_eq!((law.state, law.flat_eras), (State::Initial, flat));
        end(&mut flow);
    }
    let law = flow.sender.parts().0;
    assert_eq!((law.state, law.alpha), (State::Recovery, 0.9375));
    close(law.trips.nominal_max, 0.5 * law.initial_cwnd / law.nominal);
}

#[test]
fn the_nominal_rate_leaves_16_bytes_of_each_packet_out() {
    let mut flow = flow(&Params::default());
    flow.fill();
    flow.ack(0..10, Ecn::NotEct);
    let nominal = flow.sender.parts().0.nominal;
    close(nominal, 100_000.0 * (1.0 - 16.0 / SIZE as f64));
}

#[test]
fn an_assignment_is_the_nominal_rate_until_packets_that_left_at_it_bring_more() {
    let mut flow = flow(&Params::default());
    flow.fill();
    for _ in 0..6 {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    }
    let before = flow.sender.parts().0.nominal;
    let half = Bitrate::from_bps_f64(4.0 * before);
    let _ = flow.sender.assign(flow.now, Assigned::Rate(half));
    close(flow.sender.parts().0.nominal, before / 2.0);
    let first = flow.first();
    flow.now += TimeDelta::from_millis(100);
    flow.ack(first..first + 50, Ecn::NotEct);
    let nominal = flow.sender.parts().0.nominal;
    assert!(nominal < 0.6 * before, "{nominal} of {before}");
}
