use super::*;
use crate::FlowSetup;
use crate::rap::Params;
use crate::{Pacing, PacketResult, PacketsReport, ReceiverRequest, StreamId};
use alloc::vec::Vec;
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, Ecn};

const SIZE: Bytes = Bytes::new(1000);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn rap(profile: &str) -> Rap {
    let params = Params::profile(profile).expect("a profile");
    Rap::new(&params, &FlowSetup::new(SIZE))
}

fn send(rap: &mut Rap, at: u64, sequence: u64) -> Update {
    let packet = SentPacket { stream: StreamId(0), sequence, size: SIZE, probe: None, app_limited: false };
    rap.on_sent(ms(at), &packet)
}

fn acknowledge(rap: &mut Rap, at: u64, sequence: u64, sent: u64) -> Update {
    let status = Status::Received { arrived: None, ecn: Ecn::NotEct };
    let packet = PacketResult { stream: StreamId(0), sequence, size: SIZE, sent: ms(sent), status };
    let report =
        PacketsReport { packets: &[packet], clock_step: TimeDelta::from_millis(1), ambiguous: false };
    rap.on_report(ms(at), &Report::Packets(report))
}

/// After the first packet and its acknowledgement: gap and round-trip time are 100 ms, the next step is at 200 ms. Where the first gap
/// follows the round trip it is a rate until the next packet leaves.
fn started(profile: &str) -> Rap {
    let mut rap = rap(profile);
    let pacing = |millis: i64| match rap.params.first_gap_follows {
        true => Some(Pacing::Rate(Bitrate::from_bps_f64(SIZE.as_bits_f64() * 1e3 / millis as f64))),
        false => Some(Pacing::Gap(TimeDelta::from_millis(millis))),
    };
    let (first, second) = (pacing(2000), pacing(100));
    let update = send(&mut rap, 0, 0);
    assert_eq!(update.pacing, first);
    assert_eq!(update.receiver, Some(ReceiverRequest::PacketsPerReport(1)));
    let update = acknowledge(&mut rap, 100, 0, 0);
    assert_eq!(update.pacing, second);
    assert_eq!(rap.next_timeout(), Some((ms(200), TimeoutReason::MediaRate)));
    rap
}

#[test]
fn a_gap_is_given_to_packets_once_the_round_trip_is_known() {
    let mut rap = started("rap1999");
    let update = send(&mut rap, 100, 1);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(100))));
}

/// As long as the rate is of the packet that left last.
#[test]
fn a_packet_without_size_ends_no_pace() {
    let mut rap = rap("rap1999");
    let packet =
        SentPacket { stream: StreamId(0), sequence: 0, size: Bytes::ZERO, probe: None, app_limited: false };
    let update = rap.on_sent(ms(0), &packet);
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_bps(1))));
}

fn step(rap: &mut Rap) -> f64 {
    let (due, _) = rap.next_timeout().expect("a step");
    let _ = rap.on_timeout(due);
    rap.ipg * 1e3
}

#[test]
fn a_round_trip_brings_a_packet_more() {
    let mut rap = started("ns2");
    rap.ipg = 0.02;
    (1..=5).for_each(|n| drop_update(send(&mut rap, 100 + n, n)));
    // FACTS 12's vector: 20 ms at 100 ms become 16.667 ms.
    let ipg = step(&mut rap);
    assert!((ipg - 20.0 * 100.0 / 120.0).abs() < 1e-9, "{ipg} ms");
}

#[test]
fn the_start_doubles_or_adds() {
    for (profile, expected) in [("rap1999", 50.0), ("ns2", 50.0)] {
        let mut rap = started(profile);
        drop_update(send(&mut rap, 150, 1));
        assert!((step(&mut rap) - expected).abs() < 1e-9, "one packet per round trip becomes two either way");
        (2..=3).for_each(|n| drop_update(send(&mut rap, 210 + n, n)));
        let third = if profile == "rap1999" { 25.0 } else { 100.0 / 3.0 };
        let ipg = step(&mut rap);
        assert!((ipg - third).abs() < 1e-9, "{profile}: {ipg} ms");
    }
}

#[test]
fn who_sends_less_than_half_of_what_is_due_stays() {
    for (packets, expected) in [(2, 20.0), (3, 20.0 / 1.2)] {
        let mut rap = started("ns2");
        rap.ipg = 0.02;
        (1..=packets).for_each(|n| drop_update(send(&mut rap, 100 + n, n)));
        assert!((step(&mut rap) - expected).abs() < 1e-9, "{packets} of 5");
    }
}

#[test]
fn a_loss_event_doubles_the_gap_once_and_restarts_the_step() {
    let mut rap = started("ns2");
    (1..=9).for_each(|n| drop_update(send(&mut rap, 100 + n, n)));
    assert_eq!(acknowledge(&mut rap, 203, 3, 103), Update::none());
    let update = acknowledge(&mut rap, 204, 4, 104);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(200))), "1 is three below 4");
    assert_eq!(rap.next_timeout().map(|(due, _)| due), Some(ms(304)));
    assert_eq!(acknowledge(&mut rap, 209, 9, 109), Update::none(), "5 and 6 were outstanding then");
    (10..=14).for_each(|n| drop_update(send(&mut rap, 200 + n, n)));
    let update = acknowledge(&mut rap, 314, 14, 214);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(400))), "10 and 11 are news");
}

#[test]
fn silence_is_a_loss_after_the_timeout() {
    let mut rap = started("ns2");
    drop_update(send(&mut rap, 150, 1));
    // 1.2 x 100 ms + 4 x 50 ms.
    assert_eq!(send(&mut rap, 469, 2), Update::none());
    let update = send(&mut rap, 470, 3);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(200))));
    assert_eq!(send(&mut rap, 900, 4), Update::none(), "2 and 3 were outstanding then");
}

#[test]
fn fine_grain_stretches_the_gap_with_the_queue() {
    let params = Params { fine_grain: true, slow_start: false, ..Params::default() };
    let mut rap = Rap::new(&params, &FlowSetup::new(SIZE));
    drop_update(send(&mut rap, 0, 0));
    drop_update(acknowledge(&mut rap, 100, 0, 0));
    drop_update(send(&mut rap, 100, 1));
    let update = acknowledge(&mut rap, 300, 1, 100);
    let expected = TimeDelta::from_secs_f64(0.1 * 0.19 / 0.101);
    assert_eq!(update.pacing, Some(Pacing::Gap(expected)));
}

#[test]
fn an_idle_sender_asks_for_no_steps() {
    let mut rap = started("ns2");
    step(&mut rap);
    assert_eq!(rap.next_timeout(), None);
    drop_update(send(&mut rap, 5000, 1));
    assert_eq!(rap.next_timeout().map(|(due, _)| due), Some(ms(5100)));
}

#[test]
fn assigning_a_rate_sets_the_gap_by_the_packet_size() {
    let mut rap = started("ns2");
    let update = rap.assign(ms(300), Assigned::Rate(Bitrate::from_mbps(1)));
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(8))));
    let update = rap.assign(ms(300), Assigned::Window(Bytes::new(10_000)));
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(10))));
}

#[test]
fn what_a_group_is_told_does_not_move_with_the_size_of_packets() {
    let mut rap = started("ns2");
    drop_update(rap.assign(ms(300), Assigned::Rate(Bitrate::from_mbps(1))));
    let told = rap.share();
    for sequence in 1..10 {
        let (stream, size) = (StreamId(0), Bytes::new(100));
        let packet = SentPacket { stream, sequence, size, probe: None, app_limited: false };
        drop_update(rap.on_sent(ms(300 + sequence), &packet));
    }
    assert_eq!(rap.share(), told);
    assert_eq!(told, Some(Assigned::Rate(Bitrate::from_mbps(1))));
}

/// Packets every 2 ms, of which one in `every` is acknowledged after 100 ms, without a loss that RAP sees: the highest rate that it
/// comes to, in packets per second.
fn fastest(every: u64) -> f64 {
    let mut rap =
        Rap::new(&Params { reorder: u64::MAX, mu: 100.0, ..Params::default() }, &FlowSetup::new(SIZE));
    drop_update(send(&mut rap, 0, 0));
    drop_update(acknowledge(&mut rap, 100, 0, 0));
    let mut most = 0.0;
    for n in 1..1000 {
        let at = 100 + 2 * n;
        drop_update(send(&mut rap, at, n));
        if n > 50 && n % every == 0 {
            drop_update(acknowledge(&mut rap, at, n - 50, at - 100));
        }
        drop_update(rap.on_timeout(ms(at)));
        most = f64::max(most, 1.0 / rap.ipg);
    }
    most
}

/// RFC 5348 section 4.3; ten packets per round trip are never too many.
#[test]
fn no_more_is_sent_than_twice_what_arrives() {
    for (every, least, most) in [(1, 900.0, 1025.0), (2, 450.0, 525.0), (25, 99.0, 101.0)] {
        let found = fastest(every);
        assert!((least..=most).contains(&found), "one in {every}: {found} packets per second");
    }
}

/// 100 packets per round trip of 100 ms, then nothing is acknowledged from 1000 ms to 3000 ms.
#[test]
fn after_a_silence_the_rate_is_soon_that_of_one_loss_event() {
    let mut rap = started("rap1999");
    (rap.in_slow_start, rap.ipg) = (false, 0.001);
    let mut pacing = Pacing::Gap(TimeDelta::from_millis(1));
    let (mut sent, mut next) = (Vec::new(), ms(100));
    for at in 100..4000 {
        let mut told = Vec::new();
        while next <= ms(at) {
            sent.push(at);
            told.push(send(&mut rap, at, sent.len() as u64));
            next = ms(at) + rap.gap();
        }
        let heard = sent.iter().position(|sent| sent + 100 == at).filter(|_| !(1000..3000).contains(&at));
        if let Some(heard) = heard {
            told.push(acknowledge(&mut rap, at, heard as u64 + 1, at - 100));
        }
        if rap.next_timeout().is_some_and(|(due, _)| due <= ms(at)) {
            told.push(rap.on_timeout(ms(at)));
        }
        pacing = told.iter().filter_map(|update| update.pacing).next_back().unwrap_or(pacing);
        if let Pacing::Rate(rate) = pacing {
            // A rate holds for the packet that left last.
            next = next.min(ms(sent[sent.len() - 1]) + rate.time_for(SIZE));
        }
        match at {
            2900 => assert_eq!(rap.gap(), TimeDelta::from_millis(500), "silence_gap"),
            3900 => assert!((0.001..0.004).contains(&rap.ipg), "{} s", rap.ipg),
            _ => {}
        }
    }
}

fn drop_update(update: Update) {
    let _ = update;
}
