//! Sections 2.3 to 2.5 and 3.3 of draft-briscoe-iccrg-prague-congestion-control-04 as vectors.

use super::*;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{Controller, FlowSetup, PacketResult, PacketsReport, Recovery, Report, Status, StreamId};
use alloc::vec::Vec;
use paceline_units::{Bytes, Ecn, TimeDelta};

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

fn made(params: &Params, l4s: bool) -> Flow<PragueLaw> {
    Flow::new(Prague::new(params, &FlowSetup { l4s, ..FlowSetup::new(Bytes::new(SIZE)) }))
}

/// A law that is past slow start, with this alpha and round trips of `rtt` from now on.
fn avoiding(params: &Params, packets: u64, alpha: f64, rtt: TimeDelta) -> Flow<PragueLaw> {
    let mut flow = made(params, true).avoiding(packets);
    flow.sender.parts().0.alpha.value = alpha;
    flow.round(rtt, Ecn::Ect1);
    for _ in 0..100 {
        // Growth meanwhile is taken back.
        flow.round(rtt, Ecn::Ect1);
        flow.sender.parts().1.set((packets * SIZE) as f64);
    }
    flow
}

/// Section 2.3.2, and nothing before the first mark.
#[test]
fn alpha_moves_a_sixteenth_of_the_way_with_each_round_from_the_first_mark_on() {
    let mut flow = made(&Params::default(), true).avoiding(10);
    flow.round(ms(100), Ecn::Ect1);
    assert_eq!(flow.sender.parts().0.alpha.value, 1.0, "no mark yet");
    let first = flow.first();
    flow.now += ms(100);
    flow.ack(first..first + 1, Ecn::Ce);
    let expected = 1.0 + (1.0 / 11.0 - 1.0) / 16.0;
    let alpha = flow.sender.parts().0.alpha.value;
    // The round that the mark ends had ten packets without.
    assert!((alpha - expected).abs() < 1e-3, "{alpha}");
    let mut flow = made(&Params { alpha_waits: false, ..Params::default() }, true).avoiding(10);
    flow.round(ms(100), Ecn::Ect1);
    assert!(flow.sender.parts().0.alpha.value < 1.0);
}

/// Sections 2.4.2 and 2.4.3.
#[test]
fn a_round_is_reduced_once_by_half_of_alpha_and_grows_by_what_is_unmarked() {
    let mut flow = avoiding(&Params::default(), 20, 0.25, ms(100));
    let first = flow.first();
    flow.now += ms(100);
    flow.ack(first..first + 1, Ecn::Ce);
    let alpha = flow.sender.parts().0.alpha.value;
    let reduced = 20.0 * (1.0 - alpha / 2.0);
    assert!((flow.cwnd() - reduced).abs() < 1e-9, "{} {reduced}", flow.cwnd());
    assert_eq!(flow.ssthresh(), flow.cwnd());
    flow.ack(first + 1..first + 11, Ecn::Ect1);
    let grown = reduced + 10.0 / reduced;
    assert!((flow.cwnd() - grown).abs() < 1e-9, "{} {grown}", flow.cwnd());
    flow.ack(first + 11..first + 19, Ecn::Ce);
    assert!((flow.cwnd() - grown).abs() < 1e-9, "the same round: {}", flow.cwnd());
}

/// Section 2.4.3: of an acknowledgement that tells of both, what is unmarked counts, though marks reduce the window.
#[test]
fn growth_goes_on_beside_marks() {
    let mut flow = avoiding(&Params::default(), 20, 0.25, ms(100));
    flow.now += ms(100);
    let (first, size, sent) = (flow.first(), Bytes::new(SIZE), Time::ZERO);
    let told = |sequence: u64, ecn| {
        let status = Status::Received { arrived: None, ecn };
        PacketResult { stream: StreamId(0), sequence, size, sent, status }
    };
    let packets = [told(first, Ecn::Ect1), told(first + 1, Ecn::Ect1), told(first + 2, Ecn::Ce)];
    let report = PacketsReport { packets: &packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
    let _ = flow.sender.on_report(flow.now, &Report::Packets(report));
    let reduced = flow.ssthresh();
    assert!(reduced < 20.0);
    assert!((flow.cwnd() - (reduced + 2.0 / reduced)).abs() < 1e-9, "{} {reduced}", flow.cwnd());
}

/// Section 2.4.4: growth by the square of the real over the virtual round trip, and no reduction before a virtual one is over.
#[test]
fn short_round_trips_count_as_25_ms_after_500_of_them() {
    let (young, old) = (Params::default(), Params { rtt_transition: 50, ..Params::default() });
    let growth = |params: &Params| {
        let mut flow = avoiding(params, 20, 0.1, ms(10));
        let before = flow.cwnd();
        flow.round(ms(10), Ecn::Ect1);
        flow.cwnd() - before
    };
    assert!((growth(&young) - 1.0).abs() < 0.05, "{}", growth(&young));
    assert!((growth(&old) - 0.16).abs() < 0.01, "{}", growth(&old));
    let reductions = |params: &Params| {
        let mut flow = avoiding(params, 100, 0.1, ms(10));
        let mut times = Vec::new();
        for round in 0..12 {
            let before = flow.cwnd();
            flow.round(ms(10), Ecn::Ce);
            if flow.cwnd() < before {
                times.push(round);
            }
        }
        times
    };
    assert_eq!(reductions(&young), (0..12).collect::<Vec<_>>());
    assert_eq!(reductions(&old), [0, 3, 6, 9], "30 ms is the first round trip not below 25");
    let long = |params: &Params| {
        let mut flow = avoiding(params, 20, 0.1, ms(50));
        let before = flow.cwnd();
        flow.round(ms(50), Ecn::Ect1);
        flow.cwnd() - before
    };
    assert_eq!(long(&young), long(&old), "a long round trip is its own");
}

/// Section 2.4.1, and RFC 9331 section 4.3: a loss is answered as Reno does, whatever marks did before.
#[test]
fn a_loss_halves_even_after_marks_and_a_timeout_leaves_a_packet() {
    let mut flow = avoiding(&Params::default(), 20, 0.1, ms(100));
    let first = flow.first();
    flow.now += ms(100);
    flow.ack(first..first + 1, Ecn::Ce);
    let before = flow.cwnd();
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert!((flow.cwnd() - before / 2.0).abs() < 1e-9);
    flow.tell(Recovery::Left);
    flow.tell(Recovery::TimedOut);
    assert_eq!(flow.cwnd(), 1.0);
    flow.send(1);
    flow.now += ms(200);
    flow.ack(flow.next - 1..flow.next, Ecn::Ce);
    assert_eq!(flow.cwnd(), 1.0, "a mark raises no window");
}

#[test]
fn the_first_mark_ends_slow_start_and_two_packets_stay() {
    let mut flow = made(&Params::default(), true);
    flow.fill();
    flow.round(ms(100), Ecn::Ect1);
    assert_eq!(flow.cwnd(), 20.0);
    flow.round(ms(100), Ecn::Ce);
    assert!((10.0..11.0).contains(&flow.cwnd()), "half of it: {}", flow.cwnd());
    assert!(!flow.sender.parts().1.in_slow_start());
    for _ in 0..50 {
        flow.round(ms(100), Ecn::Ce);
    }
    assert_eq!(flow.cwnd(), 2.0);
}

/// RFC 9331 sections 4.2 and 4.3: without ECT(1) a mark is a loss.
#[test]
fn without_l4s_it_is_reno() {
    let mut flow = made(&Params::default(), false).avoiding(20);
    flow.ack(0..1, Ecn::Ce);
    assert_eq!(flow.cwnd(), 10.0);
    flow.ack(1..20, Ecn::Ce);
    assert_eq!(flow.cwnd(), 10.0, "once per window");
    // The connection may find out that the other end knows no accurate feedback.
    let mut flow = avoiding(&Params::default(), 20, 0.1, ms(10));
    let _ = flow.sender.on_marking(flow.now, Marking::Classic);
    let first = flow.first();
    flow.ack(first..first + 1, Ecn::Ce);
    assert_eq!(flow.cwnd(), 10.0);
}

/// Section 2.5.1.
#[test]
fn packets_are_spaced_over_the_round_trip() {
    let mut flow = avoiding(&Params::default(), 20, 0.1, ms(100));
    let (law, window) = flow.sender.parts();
    let bps = |packets: f64| Bitrate::from_bps_f64(packets * SIZE as f64 * 8.0 / window.round_trip.seconds());
    assert_eq!(law.pacing_rate(window), Some(bps(window.packets())));
    window.ssthresh = f64::INFINITY;
    assert_eq!(law.pacing_rate(window), Some(bps(2.0 * window.packets())), "it doubles in a round trip");
}

#[test]
fn the_first_window_is_spaced_by_the_round_trip_of_the_handshake() {
    let mut flow = made(&Params::default(), true);
    let update = flow.sender.on_opened(flow.now, ms(100));
    let rate = Bitrate::from_bps_f64(2.0 * 10.0 * SIZE as f64 * 8.0 / 0.1);
    assert_eq!(update.pacing, Some(crate::Pacing::Rate(rate)), "ten packets, in half of it");
}

/// A pace of a window in a round trip leaves the flight below the window where round trips get shorter: it is used all the same.
#[test]
fn half_a_window_in_flight_is_its_use() {
    let mut flow = avoiding(&Params::default(), 20, 0.1, ms(100));
    let grown = |flow: &mut Flow<PragueLaw>, packets: u64| {
        let first = flow.first();
        flow.now += ms(100);
        flow.ack(first..flow.next, Ecn::Ect1);
        flow.send(packets);
        flow.now += ms(100);
        let before = flow.cwnd();
        flow.ack(flow.next - packets..flow.next, Ecn::Ect1);
        flow.cwnd() > before
    };
    assert!(grown(&mut flow, 12));
    assert!(!grown(&mut flow, 5));
}

/// Briscoe and Ahmed 2019: a queue that varies by more than V0 and is deeper than D0 moves the score up, one that does neither
/// moves it down, and the answer to a mark follows from half to classic_alpha within 1.
#[test]
fn a_queue_that_varies_as_a_classic_one_does_is_answered_as_one() {
    let params = Params { classic_ecn_fallback: true, ..Params::default() };
    let score = |step: i64, rounds: usize| {
        let mut flow = avoiding(&params, 20, 0.02, ms(20));
        let (law, window) = flow.sender.parts();
        law.classic_aqm.adapt(window);
        for round in 0..rounds {
            let rtt = ms(20) + TimeDelta::from_micros(step * (round as i64 % 20));
            flow.round(rtt, if round % 7 == 0 { Ecn::Ce } else { Ecn::Ect1 });
            let (law, window) = flow.sender.parts();
            window.set(20.0 * SIZE as f64);
            law.alpha.value = 0.02;
        }
        let (law, window) = flow.sender.parts();
        let before = window.packets();
        let score = law.classic_aqm.score;
        for _ in 0..3 {
            flow.round(ms(40), Ecn::Ce);
        }
        (score, flow.cwnd() / before)
    };
    assert_eq!(score(20, 300).0, 0.0, "0.4 ms of queue");
    let (classic, left) = score(1000, 300);
    assert_eq!(classic, 17.0, "a saw of 20 ms");
    let part: f64 = 1.0 - 0.625 / 2.0;
    assert!((left - part.powi(3)).abs() < 0.01, "three marks: {left}");
}

/// The program udp_prague: no slow start, and growth by 1 ms of queue once seven virtual round trips and one for each 15.36 Mbit/s
/// were without marks.
#[test]
fn the_other_profile_grows_faster_after_a_while() {
    let params = Params::udp_prague();
    let mut flow = made(&params, true);
    flow.fill();
    assert!(!flow.sender.parts().1.in_slow_start());
    let mut growth = Vec::new();
    for _ in 0..12 {
        flow.sender.parts().1.set(1000.0 * SIZE as f64);
        flow.fill();
        let before = flow.cwnd();
        flow.round(ms(100), Ecn::Ect1);
        growth.push(flow.cwnd() - before);
    }
    // 80 Mbit/s for 1 ms are ten packets.
    assert!(growth[2..6].iter().all(|more| (0.9..1.1).contains(more)), "{growth:?}");
    assert!(growth[9..].iter().all(|more| (9.0..11.0).contains(more)), "{growth:?}");
    let first = flow.first();
    flow.ack(first..first + 1, Ecn::Ce);
    let before = flow.cwnd();
    flow.round(ms(100), Ecn::Ect1);
    assert!(flow.cwnd() - before < 1.1, "a mark begins the wait anew");
}

#[test]
fn the_pace_swings_about_a_window_in_a_round_trip() {
    let params = Params { rtt_transition: 0, ..Params::udp_prague() };
    let mut flow = made(&params, true);
    flow.fill();
    flow.round(ms(100), Ecn::Ect1);
    let rate = |flow: &mut Flow<PragueLaw>| {
        let (law, window) = flow.sender.parts();
        let pace = law.pacing_rate(window).expect("it is paced").as_bps_f64();
        pace / (8.0 * window.cwnd / window.round_trip.seconds())
    };
    assert!((rate(&mut flow) - 1.03).abs() < 1e-3, "{}", rate(&mut flow));
    flow.now += ms(60);
    let first = flow.first();
    flow.ack(first..first + 1, Ecn::Ect1);
    assert!((rate(&mut flow) - 1.0 / 1.03).abs() < 1e-3, "{}", rate(&mut flow));
}
