use super::*;
use crate::FlowSetup;
use crate::rap::Params;
use crate::{Pacing, PacketResult, PacketsReport, ReceiverRequest, StreamId};
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

/// After the first packet and its acknowledgement: gap and round-trip time are 100 ms, the next step is at 200 ms.
fn started(profile: &str) -> Rap {
    let mut rap = rap(profile);
    let update = send(&mut rap, 0, 0);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_secs(2))));
    assert_eq!(update.receiver, Some(ReceiverRequest::PacketsPerReport(1)));
    let update = acknowledge(&mut rap, 100, 0, 0);
    assert_eq!(update.pacing, Some(Pacing::Gap(TimeDelta::from_millis(100))));
    assert_eq!(rap.next_timeout(), Some((ms(200), TimeoutReason::MediaRate)));
    rap
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

fn drop_update(update: Update) {
    let _ = update;
}
