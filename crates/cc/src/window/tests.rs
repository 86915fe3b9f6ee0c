//! The bounds that all window laws may have, through Reno's law: HyStart++ as a whole, and the vectors of
//! draft-ietf-ccwg-ratelimited-increase-10.

use super::drive::{Flow, SIZE};
use super::{HyStartParams, SlowStartExit, WindowGrowth, WindowPacing};
use crate::reno::{Params, Reno, RenoLaw};
use crate::{FlowSetup, Recovery};
use alloc::vec;
use paceline_units::{Bytes, Ecn, TimeDelta};

fn flow(growth: WindowGrowth, pacing: WindowPacing) -> Flow<RenoLaw> {
    let params = Params { growth, pacing, ..Params::default() };
    Flow::new(Reno::new(&params, &FlowSetup::new(Bytes::new(SIZE))))
}

fn hystart(pacing: bool) -> Flow<RenoLaw> {
    let hystart = HyStartParams { hystart: SlowStartExit::HyStartPlusPlus, ..HyStartParams::default() };
    let growth = WindowGrowth { hystart, ..WindowGrowth::default() };
    flow(growth, WindowPacing { pacing, ..WindowPacing::default() })
}

fn rate_limited(rate_limited_increase: bool) -> Flow<RenoLaw> {
    let growth = WindowGrowth { rate_limited_increase, ..WindowGrowth::default() };
    flow(growth, WindowPacing::default())
}

/// All that is under way is acknowledged, a packet at a time, and nothing new leaves.
fn acknowledge(flow: &mut Flow<RenoLaw>) {
    for sequence in flow.first()..flow.next {
        flow.ack(sequence..sequence + 1, Ecn::NotEct);
    }
}

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

#[test]
fn a_longer_round_trip_slows_slow_start_down_and_five_rounds_of_it_end_it() {
    let mut flow = hystart(false);
    flow.fill();
    // Rounds of 10 and 20 packets at 100 ms: it doubles (RFC 9406 section 4.2).
    flow.round(ms(100), Ecn::NotEct);
    flow.round(ms(100), Ecn::NotEct);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (40.0, f64::INFINITY));
    // At 130 ms the first acknowledgement ends a round and eight more tell: of 40, nine add a packet and 31 a quarter.
    flow.round(ms(130), Ecn::NotEct);
    assert_eq!(flow.cwnd(), 56.75);
    let mut rounds = 1;
    while flow.ssthresh().is_infinite() {
        let before = flow.cwnd();
        flow.round(ms(130), Ecn::NotEct);
        rounds += 1;
        let factor = flow.cwnd() / before;
        assert!(flow.ssthresh().is_finite() || (1.24..1.26).contains(&factor), "{factor}");
        assert!(rounds < 8, "it never ends");
    }
    assert_eq!(rounds, 6, "the round in which it began is the first of five, and ends with the next");
    let end = flow.ssthresh();
    flow.round(ms(130), Ecn::NotEct);
    assert!((0.9..=2.0).contains(&(flow.cwnd() - end)), "avoidance: {} after {end}", flow.cwnd());
}

#[test]
fn the_second_slow_start_is_not_watched() {
    let mut flow = hystart(false);
    flow.fill();
    flow.tell(Recovery::TimedOut);
    let ssthresh = flow.ssthresh();
    acknowledge(&mut flow);
    (0..8).for_each(|round| flow.round(ms(100 + 50 * round), Ecn::NotEct));
    assert_eq!(
        flow.ssthresh(),
        ssthresh,
        "RFC 9406 section 4.3: only while the threshold is arbitrarily high"
    );
}

#[test]
fn one_acknowledgement_adds_eight_packets_or_all_if_packets_are_paced() {
    for (paced, expected) in [(false, 18.0), (true, 20.0)] {
        let mut flow = hystart(paced);
        flow.fill();
        flow.ack(0..10, Ecn::NotEct);
        assert_eq!(flow.cwnd(), expected);
    }
}

#[test]
fn the_draft_s_four_rounds() {
    // Appendix "An Example Using cwnd Represented in Bytes": packets sent, window after.
    let mut flow = rate_limited(true);
    for (sent, window) in [(4, 14.0), (8, 20.0), (4, 20.0), (20, 40.0)] {
        flow.send(sent);
        acknowledge(&mut flow);
        assert_eq!(flow.cwnd(), window, "after {sent}");
    }
    // Without the rule an unused window does not grow, and one that is half used grows to three times the flight.
    let mut flow = rate_limited(false);
    for (sent, window) in [(4, 10.0), (8, 18.0), (4, 18.0), (8, 18.0), (9, 27.0)] {
        flow.send(sent);
        acknowledge(&mut flow);
        assert_eq!(flow.cwnd(), window, "after {sent}");
    }
}

#[test]
fn in_avoidance_the_window_is_a_packet_above_the_largest_flight() {
    let mut flow = rate_limited(true).avoiding(20);
    acknowledge(&mut flow);
    let grown = flow.cwnd();
    assert!((20.9..=21.0).contains(&grown), "{grown}");
    // Rounds of ten packets: no more than a packet above the flight of 20.
    for _ in 0..30 {
        flow.send(10);
        acknowledge(&mut flow);
        assert!((grown..=21.0).contains(&flow.cwnd()), "{}", flow.cwnd());
    }
}

#[test]
fn a_reduction_forgets_the_largest_flight() {
    let mut flow = rate_limited(true).avoiding(40);
    flow.tell(Recovery::Entered { lost: Bytes::ZERO });
    flow.tell(Recovery::Left);
    assert_eq!(flow.cwnd(), 20.0);
    acknowledge(&mut flow);
    let after = flow.cwnd();
    flow.tell(Recovery::Entered { lost: Bytes::ZERO });
    flow.tell(Recovery::Left);
    let reduced = flow.cwnd();
    for _ in 0..100 {
        flow.send(2);
        acknowledge(&mut flow);
    }
    // Not to 41, which the first flight would have allowed.
    assert!((2.0..=3.0).contains(&flow.cwnd()), "{after}, {reduced}, then {}", flow.cwnd());
}

/// Deliveries that no longer double end slow start, and the window goes back by those of two first round trips: 800 packets.
#[test]
fn search_ends_slow_start_on_a_link_that_is_full() {
    let hystart = HyStartParams { hystart: SlowStartExit::Search, ..HyStartParams::default() };
    let growth = WindowGrowth { hystart, ..WindowGrowth::default() };
    let mut flow = flow(growth, WindowPacing::default());
    let (mut sent, mut before) = (vec![0; 10], 0.0);
    while flow.ssthresh().is_infinite() {
        flow.fill();
        sent.push(flow.next);
        before = flow.cwnd();
        assert!(sent.len() < 1000, "it never ends");
        // 40 packets each 10 ms, 100 ms after they were sent.
        flow.now += ms(10);
        for sequence in flow.first()..(flow.first() + 40).min(sent[sent.len() - 10]) {
            flow.ack(sequence..sequence + 1, Ecn::NotEct);
        }
    }
    let (back, grown) = (before - flow.ssthresh(), flow.cwnd() - flow.ssthresh());
    assert!((700.0..=800.0).contains(&back) && grown < 1.0, "{before}, back by {back}, then {grown} more");
}
