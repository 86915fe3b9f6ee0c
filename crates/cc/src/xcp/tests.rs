//! The window under routers' answers, absurd ones among them, and without any.

use super::*;
use crate::window::drive::{Flow, SIZE, close, lost, one_step};
use crate::{Controller, FlowSetup, Recovery, Report};
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};

fn with(max_rate: Bitrate) -> Flow<Avoidance<XcpRule>> {
    let params = Params { max_rate, ..Params::default() };
    Flow::new(Xcp::new(&params, &FlowSetup::new(Bytes::new(SIZE))))
}

/// A window in avoidance with a round trip of 100 ms.
fn make(packets: u64) -> Flow<Avoidance<XcpRule>> {
    let mut flow = with(Params::default().max_rate).avoiding(packets);
    answer(&mut flow, Some(0.0));
    flow.ack(0..1, Ecn::NotEct);
    flow.fill();
    flow
}

fn answer(flow: &mut Flow<Avoidance<XcpRule>>, feedback: Option<f64>) {
    let _ = flow.sender.on_report(flow.now, &Report::Congestion(feedback));
}

/// The window of 100 packets after an acknowledgement with this answer.
fn after(feedback: Option<f64>) -> f64 {
    let mut flow = make(100);
    answer(&mut flow, feedback);
    flow.ack(1..2, Ecn::NotEct);
    flow.cwnd()
}

#[test]
fn the_window_moves_by_the_change_of_rate_over_a_round_trip() {
    for (feedback, expected) in
        [(0.0, 100.0), (50_000.0, 105.0), (-50_000.0, 95.0), (1e6, 200.0), (-1e6, 1.0), (-2e6, 1.0)]
    {
        close(after(Some(feedback)), expected);
    }
}

#[test]
fn absurd_answers_are_bounded() {
    // 10 Gbit/s over 100 ms are 125,000 packets of 1000 B; nothing takes more than all but one packet away.
    for (feedback, expected) in
        [(1e30, 125_000.0), (f64::MAX, 125_000.0), (-1e30, 1.0), (f64::MIN, 1.0), (f64::MIN_POSITIVE, 100.0)]
    {
        close(after(Some(feedback)), expected);
    }
    // No number is no answer.
    for feedback in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        close(after(Some(feedback)), 100.01);
    }
    let mut flow = with(Bitrate::from_mbps(4)).avoiding(100);
    answer(&mut flow, Some(1e9));
    flow.ack(0..1, Ecn::NotEct);
    close(flow.cwnd(), 100.0);
}

#[test]
fn without_an_answer_it_is_reno() {
    close(after(None), 100.01);
    let (grown, left) = one_step(|| with(Params::default().max_rate).avoiding(40));
    close(grown, 1.0);
    close(left, 0.5);
    let mut flow = with(Params::default().max_rate);
    flow.fill();
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    close(flow.cwnd(), 20.0);
}

#[test]
fn a_router_ends_slow_start_and_losses_halve_whatever_it_says() {
    let mut flow = with(Params::default().max_rate);
    flow.fill();
    answer(&mut flow, Some(10_000.0));
    flow.ack(0..1, Ecn::NotEct);
    close(flow.cwnd(), 11.0);
    close(flow.ssthresh(), 11.0);
    let mut flow = make(100);
    flow.tell(Recovery::Entered { lost: lost(1) });
    answer(&mut flow, Some(1e6));
    flow.ack(2..3, Ecn::NotEct);
    close(flow.cwnd(), 50.0);
    answer(&mut flow, Some(-1e5));
    flow.ack(3..4, Ecn::NotEct);
    close(flow.cwnd(), 40.0);
}

/// Answers of acknowledgements that deliver nothing are not lost.
#[test]
fn answers_add_up() {
    let mut flow = make(100);
    answer(&mut flow, Some(20_000.0));
    answer(&mut flow, None);
    answer(&mut flow, Some(30_000.0));
    flow.ack(1..2, Ecn::NotEct);
    close(flow.cwnd(), 105.0);
}

#[test]
fn the_header_says_round_trip_and_spacing() {
    let header = |packets| make(packets).sender.congestion_header().expect("it has one");
    close(header(100).rtt.into(), 0.1);
    close(header(100).spacing.into(), 0.001);
    let large = header(200_000);
    assert!((large.spacing - 5e-7).abs() < 1e-12 && large.feedback.is_infinite(), "{large:?}");
    // More than a sender counts: no round trip is heard of the first packets.
    assert_eq!(header(1_000_000).rtt, 0.0);
    let unknown = with(Params::default().max_rate).sender.congestion_header().expect("it has one");
    assert_eq!((unknown.rtt, unknown.spacing), (0.0, 0.0));
}
