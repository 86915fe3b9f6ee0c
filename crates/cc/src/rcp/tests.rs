//! The pace under routers' rates, absurd ones among them, and without any.

use super::*;
use crate::window::drive::{ACK, Flow, SIZE, close, lost, one_step};
use crate::{Controller, FlowSetup, Pacing, Recovery, Report};
use paceline_units::{Bytes, Ecn, Feedback};

fn fresh() -> Flow<Avoidance<RcpRule>> {
    Flow::new(Rcp::new(&Params::default(), &FlowSetup::new(Bytes::new(SIZE))))
}

fn answer(flow: &mut Flow<Avoidance<RcpRule>>, rate: Option<f64>) {
    let _ = flow.sender.on_report(flow.now, &Report::Congestion(rate));
}

/// A window of 100 packets in avoidance over 100 ms, after an acknowledgement of this rate.
fn after(rate: Option<f64>) -> Flow<Avoidance<RcpRule>> {
    let mut flow = fresh().avoiding(100);
    answer(&mut flow, rate);
    flow.ack(0..1, Ecn::NotEct);
    flow
}

/// The pace in bytes per second after another answer.
fn pace(flow: &mut Flow<Avoidance<RcpRule>>, rate: Option<f64>) -> Option<f64> {
    match flow.sender.on_report(flow.now, &Report::Congestion(rate)).pacing {
        Some(Pacing::Rate(rate)) => Some(rate.as_bps_f64() / 8.0),
        _ => None,
    }
}

#[test]
fn packets_leave_at_the_routers_rate_in_a_window_of_two_round_trips() {
    for (rate, window) in [(1e6, 200.0), (50_000.0, 10.0), (5_000.0, 1.0), (5e6, 1_000.0)] {
        let mut flow = after(Some(rate));
        close(flow.cwnd(), window);
        close(pace(&mut flow, Some(rate)).expect("paced"), rate);
    }
}

/// Rates do not add up as changes of rates do, and hold for acknowledgements that bring none.
#[test]
fn the_newest_rate_counts() {
    let mut flow = fresh().avoiding(100);
    for rate in [3e6, 1e6] {
        answer(&mut flow, Some(rate));
    }
    flow.ack(0..1, Ecn::NotEct);
    close(flow.cwnd(), 200.0);
    flow.ack(1..2, Ecn::NotEct);
    close(flow.cwnd(), 200.0);
}

#[test]
fn absurd_rates_are_bounded() {
    // From a hundredth of a packet in a round trip of 100 ms to 10 Gbit/s.
    for (rate, expected) in [(0.0, 100.0), (1e-30, 100.0), (1e30, 1.25e9), (f64::MAX, 1.25e9)] {
        close(pace(&mut after(Some(rate)), Some(rate)).expect("paced"), expected);
    }
    // No number, and a rate below zero, are no rate.
    for rate in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e30] {
        close(after(Some(rate)).cwnd(), 100.01);
    }
}

#[test]
fn without_a_router_it_is_reno() {
    let mut flow = after(None);
    close(flow.cwnd(), 100.01);
    assert_eq!(pace(&mut flow, None), None, "never spaced");
    let (grown, left) = one_step(|| fresh().avoiding(40));
    close(grown, 1.0);
    close(left, 0.5);
}

#[test]
fn a_router_that_falls_silent_leaves_reno_s_window_spaced() {
    let mut flow = after(Some(1e6));
    answer(&mut flow, None);
    flow.ack(1..2, Ecn::NotEct);
    close(flow.cwnd(), 200.0);
    close(pace(&mut flow, None).expect("paced"), 4e6);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 100.0);
}

/// A loss leaves a rate that routers gave.
#[test]
fn losses_change_nothing_where_a_router_speaks() {
    let mut flow = after(Some(1e6));
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 200.0);
    flow.tell(Recovery::Left);
    flow.tell(Recovery::TimedOut);
    close(flow.cwnd(), 1.0);
    flow.ack(3..4, Ecn::NotEct);
    close(flow.cwnd(), 200.0);
}

#[test]
fn the_header_asks_for_a_rate_and_says_the_round_trip() {
    let header = after(None).sender.congestion_header().expect("it has one");
    close(header.rtt.into(), 0.1);
    assert_eq!((header.kind, header.feedback), (Feedback::Rate, f32::INFINITY));
    assert_eq!(fresh().sender.congestion_header().expect("it has one").rtt, 0.0);
}

#[test]
fn the_highest_rate_holds_where_the_lowest_would_be_more() {
    // A packet in 100 ms are 10,000 B/s.
    let params = Params { max_rate: Bitrate::from_kbps(1), packets_min: 1.0, ..Params::default() };
    let mut flow = Flow::new(Rcp::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(100);
    answer(&mut flow, Some(1e6));
    flow.ack(0..1, Ecn::NotEct);
    close(pace(&mut flow, Some(1e6)).expect("paced"), 125.0);
}

#[test]
fn a_rate_is_no_window_before_a_round_trip() {
    let mut flow = fresh().avoiding(100);
    let mut rule = flow.sender.parts().0.rule().clone();
    rule.on_congestion_header(Some(1e6));
    let ack = Ack { now: flow.now, ..ACK };
    let window = flow.sender.parts().1;
    rule.on_ack(window, &ack);
    assert_eq!((rule.rate, window.packets()), (None, 100.0));
}
