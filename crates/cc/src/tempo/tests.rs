//! The parts of Tempo by what a person can count: each of these a wrong constant or a rule left out changes.

mod law;

use super::law::Phase;
use super::losses::{Losses, Verdict};
use super::marks::Marks;
use super::others::Others;
use super::path::{Counts, Path};
use super::policer::Policer;
use super::signals::Signals;
use super::trains::Trains;
use super::*;
use crate::{Acked, Controller, PacketResult, Report, SentPacket, Status, StreamId};
use alloc::vec::Vec;
use paceline_units::{Bytes, Ecn};

const SIZE: Bytes = Bytes::new(1250);

fn at(millis: i64) -> Time {
    Time::from_nanos(millis as u64 * 1_000_000)
}

fn signals(millis: i64) -> Signals {
    Signals {
        now: at(millis),
        response: 0.1,
        rtt: 0.05,
        in_flight: 0.0,
        packet: 1e4,
        l4s: false,
        held_back: false,
    }
}

fn lost(of: f64, lost: f64) -> Counts {
    Counts { delivered: of - lost, lost, ..Counts::NONE }
}

/// Judges counts of 100 packets, a second apart.
fn verdicts(losses: &mut Losses, counts: &[(f64, bool)]) -> Vec<Verdict> {
    let params = Params::default();
    let judge = |(n, &(part, stood)): (usize, &(f64, bool))| {
        losses.count(&params, &signals(1000 * (n as i64 + 1)), &lost(100.0, part), stood)
    };
    counts.iter().enumerate().map(judge).collect()
}

#[test]
fn losses_that_stay_when_less_is_sent_twice_are_usual_and_others_lower_the_rate() {
    let mut losses = Losses::NONE;
    let judged =
        verdicts(&mut losses, &[(4.0, false), (10.0, false), (8.0, false), (12.0, false), (10.0, false)]);
    assert_eq!(judged[0], Verdict::Usual, "4 of 100 may be chance");
    assert!(matches!(judged[1..3], [Verdict::Congestion(_), Verdict::Congestion(_)]), "{judged:?}");
    assert_eq!(judged[3..], [Verdict::NotForRate, Verdict::Usual]);
    assert!((losses.usual - 0.1).abs() < 1e-3, "of the two trials together: {}", losses.usual);
    let mut losses = Losses::NONE;
    let judged = verdicts(&mut losses, &[(30.0, false), (3.0, false)]);
    assert!(matches!(judged[0], Verdict::Congestion(_)));
    assert_eq!((judged[1], losses.trials()), (Verdict::Usual, 0), "less was lost");
    assert!(losses.usual < 0.01);
}

#[test]
fn losses_behind_a_queue_are_never_usual() {
    let mut losses = Losses::NONE;
    let judged = verdicts(&mut losses, &[(10.0, true); 20]);
    assert!(judged.iter().all(|verdict| *verdict == Verdict::Congestion(0.1)), "{judged:?}");
    assert_eq!(losses.usual, 0.0);
    verdicts(&mut losses, &[(1.0, true); 20]);
    assert_eq!(losses.usual, 0.0, "nor by and by");
}

#[test]
fn alpha_is_the_average_part_of_marks_and_begins_at_all() {
    let params = Params::default();
    let mut marks = Marks::NONE;
    let counts = |marked: f64| Counts { delivered: 10.0, marked, ..Counts::NONE };
    assert!(!marks.count(&params, &signals(1000), &counts(0.0)));
    assert_eq!(marks.alpha, 0.0);
    assert!(marks.count(&params, &signals(1050), &counts(10.0)));
    assert_eq!(marks.alpha, 1.0);
    assert!(!marks.count(&params, &signals(1075), &counts(0.0)), "once a round trip");
    assert!(!marks.count(&params, &signals(1100), &counts(0.0)));
    assert_eq!(marks.alpha, 1.0 - 0.0625);
}

#[test]
fn the_noise_is_what_the_queue_falls_by_while_the_rate_grows() {
    let (params, span) = (Params::default(), TimeDelta::from_millis(100));
    let mut others = Others::NONE;
    for n in 0..400 {
        others.look(&params, at(100 * n), span, if n % 2 == 0 { 0.0 } else { 0.02 }, true);
    }
    // It falls by 20 ms in every second span.
    assert!((0.018..0.022).contains(&others.noise), "{}", others.noise);
    assert_eq!(others.margin(&params), params.noise_gain * others.noise);
    let noise = others.noise;
    others.look(&params, at(50_000), span, 0.0, false);
    assert_eq!(others.noise, noise, "while a queue drains it is to fall");
}

#[test]
fn a_queue_that_others_left_is_forgotten_where_none_stands_for_seconds() {
    let (params, span) = (Params::default(), TimeDelta::from_millis(100));
    let left = |queue: f64| {
        let mut others = Others::NONE;
        others.look(&params, at(0), span, queue, true);
        others.on_drained(queue);
        others
    };
    let floor_after = |seen: f64| {
        let mut others = left(0.3);
        for n in 4..70 {
            others.look(&params, at(100 * n), span, if n % 20 == 0 { seen } else { 0.0 }, true);
        }
        others.floor
    };
    assert_eq!(floor_after(0.01), 0.0, "none stood for seven seconds");
    assert_eq!(floor_after(0.1), 0.3, "each two seconds one stood: of a flow that comes and goes");
    for (after, floor) in [(100, 0.0), (400, 0.3)] {
        let mut others = left(0.3);
        others.look(&params, at(after), span, 0.0, true);
        assert_eq!(others.floor, floor, "{after} ms: no queue drains faster than time passes");
    }
    let mut others = left(0.1);
    others.look(&params, at(1), span, 0.0, true);
    assert_eq!(others.floor, 0.1, "noise moves a queue by a tenth of a second");
    let mut others = left(0.3);
    for _ in 0..3 {
        others.on_drained(0.1);
        assert_eq!(others.floor, 0.3, "less, for once");
    }
    others.on_drained(0.1);
    assert_eq!(others.floor, 0.1, "of four drains the longest");
    others.on_drained(0.0);
    assert_eq!(others.floor, 0.0, "nothing stands where less is sent");
}

#[test]
fn trains_that_arrive_as_they_left_show_room_and_stretched_ones_that_there_is_none() {
    let judged = |sent: i64, arrives: i64| {
        let mut trains = Trains::NONE;
        trains.judge(1e6, 1e4, 1.02);
        (0..12).for_each(|n| trains.on_arrival(at(sent * n), at(100 + arrives * n), 1e4));
        // Late packets and ones of a slower stream are of no train.
        trains.on_arrival(at(0), at(5000), 1e4);
        trains.judge(1e6, 1e4, 1.02);
        (trains.room, trains.stretched)
    };
    let (room, stretched) = judged(8, 8);
    assert!((room.unwrap_or(0.0) - 1.25e6).abs() < 1.0 && !stretched, "{room:?}");
    assert_eq!(judged(8, 9), (None, false), "more arrives than the rate, and later than it left");
    assert_eq!(judged(8, 12), (None, true), "less arrives than the rate");
    assert_eq!(judged(8, 4), (None, false), "they were held up before");
    assert_eq!(judged(12, 12), (None, false), "they left more slowly than the rate");
}

#[test]
fn room_beyond_what_passes_a_policer_is_not_believed() {
    let params = Params::default();
    let mut policer = Policer::NONE;
    policer.on_lost(2e6);
    assert_eq!(policer.believed(4e6), 4e6, "losses once may be a burst's");
    policer.on_lost(3e6);
    assert_eq!(policer.believed(4e6), 4e6, "another rate passed");
    policer.on_lost(2.8e6);
    assert_eq!((policer.believed(4e6), policer.believed(2e6)), (2.8e6, 2e6));
    policer.look(&params, 4.1e6);
    assert_eq!(policer.believed(4e6), 2.8e6);
    policer.look(&params, 4.3e6);
    assert_eq!(policer.believed(8e6), 8e6, "at one and a half times the limit nothing was lost");
}

/// Through the calls of a controller: reports of what arrives marked, of all and of some packets.
#[test]
fn marks_lower_the_rate_by_a_part_or_in_proportion() {
    let rate_left = |l4s: bool, every: u64| {
        let mut tempo = Tempo::new(&Params::default(), &FlowSetup { l4s, ..FlowSetup::new(SIZE) });
        tempo.law.rate = 1e6;
        tempo.law.phase = Phase::Growth;
        for n in 0..200u64 {
            let sent = at(1000 + 10 * n as i64);
            let packet =
                SentPacket { stream: StreamId(0), sequence: n, size: SIZE, probe: None, app_limited: false };
            let _ = tempo.on_sent(sent, &packet);
            let ecn = if n % every == 0 { Ecn::Ce } else { Ecn::Ect1 };
            let arrived = Some(sent + TimeDelta::from_millis(20));
            let status = Status::Received { arrived, ecn };
            let packets = [PacketResult { stream: StreamId(0), sequence: n, size: SIZE, sent, status }];
            let report = PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous: false };
            let _ = tempo.on_report(sent + TimeDelta::from_millis(40), &Report::Packets(report));
        }
        tempo.law.rate / 1e6
    };
    let (all, few) = (rate_left(true, 1), rate_left(true, 50));
    assert!(all < 0.1 && few > 3.0 * all, "in proportion: {all} of all marked, {few} of few");
    assert!(rate_left(false, 1) < 0.5, "a classic mark counts once in a response time");
}

#[test]
fn the_usual_part_of_losses_rises_slowly_and_not_beyond_a_fifth() {
    let params = Params::default();
    let mut losses = Losses::NONE;
    assert_eq!(verdicts(&mut losses, &[(60.0, false); 3])[2], Verdict::NotForRate);
    assert_eq!(losses.usual, params.usual_loss_most);
    let mut losses = Losses::NONE;
    let judged = losses.count(&params, &signals(1000), &lost(19.0, 15.0), false);
    assert_eq!(judged, Verdict::Usual, "of so few nothing is known");
    let mut losses = Losses::NONE;
    let judged = losses.count(&params, &signals(1000), &lost(25.0, 4.0), false);
    assert_eq!(judged, Verdict::Usual, "it may be chance");
    assert!((losses.usual - 0.1 * params.loss_margin / 4.0).abs() < 1e-12, "{}", losses.usual);
    for (response, millis) in [(1.0, 1900), (0.1, 1250)] {
        let (mut losses, soon) = (losses, Signals { response, ..signals(millis) });
        let judged = losses.count(&params, &soon, &lost(100.0, 60.0), false);
        assert_eq!(judged, Verdict::Usual, "not a response time yet, or three tenths of a second");
    }
}

#[test]
fn no_noise_hides_a_queue_for_more_than_a_second_and_a_half() {
    let params = Params::default();
    let mut others = Others::NONE;
    for (noise, span) in [(0.01, params.noise_span * 0.01), (10.0, 1.5)] {
        others.noise = noise;
        assert_eq!(others.span(&params), span);
    }
}

#[test]
fn packets_leave_at_the_rate_while_a_queue_drains_and_faster_otherwise() {
    let mut tempo = Tempo::new(&Params::default(), &FlowSetup::new(SIZE));
    for (phase, pace) in [(Phase::Start, 2.5e6), (Phase::Growth, 1.2e6), (Phase::Drain, 1e6)] {
        (tempo.law.phase, tempo.law.rate) = (phase, 1e6);
        assert_eq!(tempo.rates().1, Bitrate::from_bps_f64(pace), "{phase:?}");
    }
}

/// A packet that left at 1 s is reported at this time. Answers the flow afterwards.
fn reported_at(millis: i64) -> Tempo {
    let mut tempo = Tempo::new(&Params::default(), &FlowSetup::new(SIZE));
    let packet = SentPacket { stream: StreamId(0), sequence: 0, size: SIZE, probe: None, app_limited: false };
    let _ = tempo.on_sent(at(1000), &packet);
    let status = Status::Received { arrived: None, ecn: Ecn::Ect1 };
    let packets = [PacketResult { stream: StreamId(0), sequence: 0, size: SIZE, sent: at(1000), status }];
    let report = PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous: false };
    let _ = tempo.on_report(at(millis), &Report::Packets(report));
    tempo
}

#[test]
fn a_report_before_its_packet_left_is_no_round_trip() {
    for (millis, rtt) in [(1050, Some(TimeDelta::from_millis(50))), (950, None)] {
        assert_eq!(reported_at(millis).snapshot().srtt, rtt, "{millis}");
    }
}

#[test]
fn a_flow_of_which_nothing_is_heard_shares_nothing() {
    let mut tempo = reported_at(1050);
    assert!(tempo.share().is_some());
    let packet = SentPacket { stream: StreamId(0), sequence: 1, size: SIZE, probe: None, app_limited: false };
    let _ = tempo.on_sent(at(1060), &packet);
    let (due, _) = tempo.next_timeout().expect("a packet is under way");
    let _ = tempo.on_timeout(due);
    assert!(tempo.usable() < tempo.law.rate && tempo.share().is_none());
}

#[test]
fn a_lost_packet_that_turns_up_is_none() {
    let mut path = Path::new(&Params::default());
    path.on_acked(&Acked { lost: 3, ..Acked::default() }, Bytes::ZERO, true);
    path.on_acked(&Acked { spurious: 1, delivered_packets: 1, ..Acked::default() }, Bytes::ZERO, true);
    assert_eq!(path.take_counts().lost, 2.0);
}
