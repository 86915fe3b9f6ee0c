//! Sequence and acknowledgement numbers: RFC 4340 section 7.

use super::net::{Action, Pair, To, only};
use paceline_dccp::{DccpConfig, Event, FeatureId, Location, SEQUENCE_WINDOW_MAX, State};
use paceline_units::{Ecn, TimeDelta};
use paceline_wire::dccp::{Body, DccpOption, PacketType, Payload, SequenceNumber};

fn config() -> DccpConfig {
    DccpConfig::default()
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

/// Long after the last packet, so that Syncs are checked leniently.
fn idle() -> Pair {
    let mut pair = Pair::open(&config(), &config());
    pair.run(secs(10));
    pair
}

#[test]
fn section_7_5_1_the_window_is_a_quarter_behind_and_three_quarters_ahead() {
    // W = 100: GSR - 24 to GSR + 75.
    for (steps, valid) in [(75, true), (76, false), (1000, false), (-2_000, false)] {
        let mut pair = idle();
        let packet = pair.forged(To::Server, steps, PacketType::DataAck);
        let answers = pair.answers(To::Server, packet.clone());
        let syncs = answers.iter().filter(|p| p.packet_type() == PacketType::Sync).count();
        assert_eq!((syncs == 0, pair.delivered(To::Server).len() == 1), (valid, valid), "{steps}");
        if !valid {
            assert_eq!(only(answers).body, Body::Sync { acknowledgment: packet.sequence });
        }
    }
    let mut pair = idle();
    (0..60).for_each(|_| {
        pair.send(To::Client, 10);
        pair.run(secs(1));
    });
    for (steps, valid) in [(-24, true), (-25, false)] {
        let mut packet = pair.forged(To::Server, steps, PacketType::Ack);
        packet.options = vec![DccpOption::SlowReceiver].into();
        assert_eq!(pair.answers(To::Server, packet).is_empty(), valid, "{steps}");
    }
}

#[test]
fn section_7_5_1_acknowledgement_numbers_have_a_window_too() {
    for (steps, valid) in [(0, true), (1, false), (-1_000, false)] {
        let mut pair = idle();
        let mut packet = pair.forged(To::Server, 1, PacketType::DataAck);
        packet.body = Body::DataAck { acknowledgment: pair.newest(To::Client).plus(steps) };
        pair.answers(To::Server, packet);
        assert_eq!(pair.delivered(To::Server).len() == 1, valid, "{steps}");
    }
}

#[test]
fn section_7_5_3_what_ends_a_connection_must_be_new() {
    for kind in [PacketType::CloseReq, PacketType::Close, PacketType::Reset] {
        for steps in [0, -1, 76] {
            let mut pair = idle();
            let packet = pair.forged(To::Client, steps, kind);
            let answer = only(pair.answers(To::Client, packet.clone()));
            // A Reset's Sync acknowledges GSR (section 7.5.4).
            let expected = if kind == PacketType::Reset { pair.newest(To::Client) } else { packet.sequence };
            assert_eq!(answer.body, Body::Sync { acknowledgment: expected }, "{kind:?} {steps}");
            assert_eq!(pair.client.state(), State::Open);
        }
        let mut pair = idle();
        let mut packet = pair.forged(To::Client, 1, kind);
        packet.body = match kind {
            PacketType::CloseReq => Body::CloseReq { acknowledgment: pair.newest(To::Server).plus(-2) },
            PacketType::Close => Body::Close { acknowledgment: pair.newest(To::Server).plus(-2) },
            _ => {
                let Body::Reset { reason, .. } = packet.body else { panic!() };
                Body::Reset { acknowledgment: pair.newest(To::Server).plus(-2), reason }
            }
        };
        assert_eq!(
            only(pair.answers(To::Client, packet)).packet_type(),
            PacketType::Sync,
            "{kind:?} below GAR"
        );
        assert_eq!(pair.client.state(), State::Open);
    }
}

#[test]
fn section_7_5_4_invalid_syncs_are_ignored() {
    for kind in [PacketType::Sync, PacketType::SyncAck] {
        let mut pair = idle();
        let mut packet = pair.forged(To::Server, 1, kind);
        let acknowledgment = pair.newest(To::Client).plus(1);
        packet.body = match kind {
            PacketType::Sync => Body::Sync { acknowledgment },
            _ => Body::SyncAck { acknowledgment },
        };
        assert_eq!(pair.answers(To::Server, packet), [], "{kind:?} of what was not sent");
        let packet = pair.forged(To::Server, -40, kind);
        assert_eq!(pair.answers(To::Server, packet), [], "{kind:?} before the window");
    }
}

#[test]
fn section_7_5_3_syncs_are_checked_strictly_while_packets_arrive() {
    let mut pair = idle();
    let far = pair.forged(To::Server, 1_000_000, PacketType::Sync);
    let answer = only(pair.answers(To::Server, far.clone()));
    assert_eq!(answer.body, Body::SyncAck { acknowledgment: far.sequence }, "nothing arrived for long");
    let mut pair = idle();
    pair.send(To::Client, 10);
    pair.run(TimeDelta::from_millis(60));
    let far = pair.forged(To::Server, 1_000_000, PacketType::Sync);
    assert_eq!(pair.answers(To::Server, far), [], "something did");
}

#[test]
fn section_7_5_4_not_more_than_eight_syncs_a_second() {
    let mut pair = idle();
    let mut syncs = 0;
    for step in 0..1000 {
        let packet = pair.forged(To::Server, 100_000 + step * 1000, PacketType::Data);
        syncs += pair.answers(To::Server, packet).len();
    }
    assert_eq!(syncs, 8);
    assert_eq!(pair.server().counters().limited, 992);
    pair.run(secs(2));
    let packet = pair.forged(To::Server, 100_000, PacketType::Data);
    assert_eq!(pair.answers(To::Server, packet).len(), 1);
}

#[test]
fn section_7_5_6_a_burst_of_loss_beyond_the_window_is_recovered_from() {
    // Packets of one side are lost until its numbers are out of the other's window.
    let mut pair = idle();
    let wide = pair.client.feature(Location::Local, FeatureId::SequenceWindow) as usize;
    pair.set_rule(|_, to, _| if to == To::Server { Action::Lose } else { Action::Deliver });
    for _ in 0..wide + 20 {
        pair.send(To::Client, 10);
        pair.run(secs(2));
    }
    assert_eq!(pair.delivered(To::Server), []);
    pair.set_rule(|_, _, _| Action::Deliver);
    let first = pair.log.len();
    for _ in 0..5 {
        pair.send(To::Client, 20);
        pair.run(secs(2));
    }
    assert_eq!(pair.types(To::Client, first)[0], PacketType::Sync);
    assert!(pair.types(To::Server, first).contains(&PacketType::SyncAck));
    assert!(pair.delivered(To::Server).len() >= 4, "{:?}", pair.delivered(To::Server));
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn section_7_5_6_a_blind_attack_changes_nothing() {
    let mut pair = idle();
    let attack = pair.forged(To::Server, 1_000_000, PacketType::Data);
    let sync = only(pair.answers(To::Server, attack));
    assert_eq!(pair.answers(To::Client, sync), [], "the acknowledgement number is out of range");
    pair.send(To::Client, 10);
    pair.run(secs(1));
    assert_eq!(pair.delivered(To::Server), [10]);
}

#[test]
fn section_7_5_4_a_valid_sync_moves_the_window_and_is_answered() {
    let mut pair = idle();
    let sync = pair.forged(To::Server, 500, PacketType::Sync);
    let answer = only(pair.answers(To::Server, sync.clone()));
    assert_eq!(answer.body, Body::SyncAck { acknowledgment: sync.sequence });
    let mut data = pair.forged(To::Server, 510, PacketType::Data);
    data.payload = Payload::Bytes(vec![1; 3]);
    pair.answers(To::Server, data);
    assert_eq!(pair.delivered(To::Server), [3], "510 is valid now");
}

#[test]
fn section_7_numbers_wrap() {
    // The client begins three below 2^48.
    let mut pair = Pair::open(&config(), &config());
    for _ in 0..100 {
        pair.send(To::Client, 10);
        pair.run(TimeDelta::from_millis(20));
    }
    pair.run(secs(1));
    assert_eq!(pair.delivered(To::Server).len(), 100);
    assert!(pair.newest(To::Server).as_u64() < 1000 && pair.log[0].2.sequence.as_u64() > 1 << 47);
}

#[test]
fn section_7_6_1_short_numbers_only_where_they_are_allowed() {
    let short = DccpConfig { short_numbers: true, ..config() };
    for (accept, expected) in [(true, 1), (false, 0)] {
        let mut pair = Pair::open(&short, &DccpConfig { accept_short_numbers: accept, ..config() });
        assert_eq!(pair.client.feature(Location::Local, FeatureId::AllowShortSeqnos), expected);
        let first = pair.log.len();
        for _ in 0..300 {
            pair.send(To::Client, 10);
            pair.run(TimeDelta::from_millis(10));
        }
        pair.run(secs(1));
        assert_eq!(pair.delivered(To::Server).len(), 300);
        for (_, to, packet) in &pair.log[first..] {
            assert_eq!(packet.short, *to == To::Server && accept, "{packet:?}");
        }
    }
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Server, 1, PacketType::DataAck);
    packet.short = true;
    assert_eq!(pair.answers(To::Server, packet), []);
    assert_eq!(pair.delivered(To::Server), [], "ignored");
}

#[test]
fn section_5_1_other_types_must_not_be_short() {
    let mut pair = Pair::open(&DccpConfig { short_numbers: true, ..config() }, &config());
    for kind in PacketType::ALL.into_iter().filter(|kind| !kind.may_be_short()) {
        let mut packet = pair.forged(To::Server, 1, kind);
        packet.short = true;
        assert_eq!(pair.answers(To::Server, packet), [], "{kind:?}");
        assert_eq!(pair.server().state(), State::Open);
    }
}

#[test]
fn section_7_7_ndp_counts_tell_lost_data_from_lost_acknowledgements() {
    let ndp = DccpConfig { ndp_count: true, ..config() };
    let mut pair = Pair::open(&ndp, &config());
    assert_eq!(pair.server().feature(Location::Local, FeatureId::SendNdpCount), 1);
    // The server sends nothing but acknowledgements, which are lost, then data.
    let before = pair.client.counters().data_gaps;
    pair.set_rule(|_, to, _| if to == To::Client { Action::Lose } else { Action::Deliver });
    for _ in 0..6 {
        pair.send(To::Client, 10);
        pair.run(TimeDelta::from_millis(300));
    }
    pair.set_rule(|_, _, _| Action::Deliver);
    pair.send(To::Server, 20);
    pair.run(secs(1));
    let count = |packet: &paceline_wire::dccp::Packet| {
        packet.options.iter().find_map(|option| match option {
            DccpOption::NdpCount(count) => Some(*count),
            _ => None,
        })
    };
    let counts: Vec<_> =
        pair.log.iter().filter(|(_, to, _)| *to == To::Client).map(|(_, _, p)| count(p)).collect();
    assert!(counts.iter().flatten().any(|count| *count >= 6), "{counts:?}");
    assert_eq!(pair.client.counters().data_gaps, before, "no data was lost");
    pair.set_rule(|_, _, packet| if packet.payload.len() == 33 { Action::Lose } else { Action::Deliver });
    pair.send(To::Server, 33);
    pair.send(To::Server, 20);
    pair.run(secs(1));
    assert_eq!(pair.client.counters().data_gaps, before + 1);
}

#[test]
fn section_11_duplicates_of_data_are_delivered_once() {
    let mut pair = Pair::open(&config(), &config());
    pair.set_rule(|_, _, _| Action::Twice);
    (0..20).for_each(|_| pair.send(To::Client, 5));
    pair.run(secs(3));
    assert_eq!(pair.delivered(To::Server).len(), 20);
    assert!(pair.server().counters().duplicates >= 20);
}

#[test]
fn section_5_4_a_datagram_of_no_bytes_is_one_and_padding_of_an_ack_is_none() {
    let mut pair = Pair::open(&config(), &config());
    pair.send(To::Client, 0);
    pair.run(secs(1));
    assert_eq!(pair.delivered(To::Server), [0]);
    for kind in [PacketType::Ack, PacketType::Sync, PacketType::SyncAck] {
        let mut packet = pair.forged(To::Server, 1, kind);
        packet.payload = Payload::Bytes(vec![1; 8]);
        pair.answers(To::Server, packet);
    }
    let received = |event: &&Event| matches!(event, Event::Received { .. });
    assert_eq!(pair.server_events.iter().filter(received).count(), 1);
    let packet = pair.forged(To::Server, 9, PacketType::Data);
    pair.inject(To::Server, packet, Ecn::NotEct);
    assert_ne!(pair.newest(To::Server), SequenceNumber::ZERO);
}

#[test]
fn section_7_5_3_what_ends_a_connection_may_acknowledge_anything_from_gar_on() {
    for kind in [PacketType::Close, PacketType::Reset] {
        let mut pair = idle();
        let gar = pair.newest(To::Client);
        pair.set_rule(|_, to, _| if to == To::Client { Action::Lose } else { Action::Deliver });
        // Syncs that get lost move the window of acknowledgements on: 100 numbers.
        for second in 0..16 {
            for step in 0..8 {
                let packet = pair.forged(To::Server, 100_000 + (second * 8 + step) * 1000, PacketType::Data);
                pair.answers(To::Server, packet);
            }
            pair.run(secs(2));
        }
        assert!(pair.newest(To::Client).since(gar) > 100);
        let mut packet = pair.forged(To::Server, 1, kind);
        packet.body = match packet.body {
            Body::Reset { reason, .. } => Body::Reset { acknowledgment: gar, reason },
            _ => Body::Close { acknowledgment: gar },
        };
        pair.answers(To::Server, packet);
        let expected = if kind == PacketType::Close { State::Closed } else { State::TimeWait };
        assert_eq!(pair.server().state(), expected);
    }
}

#[test]
fn section_7_5_2_a_window_of_any_width_and_all_of_its_leaps_are_survived() {
    let wide = DccpConfig { sequence_window: SEQUENCE_WINDOW_MAX, ..config() };
    let mut pair = Pair::open(&wide, &config());
    let leap = (3 * SEQUENCE_WINDOW_MAX / 4) as i64;
    let mut packet = pair.forged(To::Server, 0, PacketType::Data);
    let now = pair.now;
    // More than 2^63 numbers in all.
    for _ in 0..200_000 {
        packet.sequence = packet.sequence.plus(leap);
        pair.server().on_packet(now, packet.clone(), Ecn::NotEct);
    }
    assert_eq!(pair.server().state(), State::Open);
    assert!(pair.server().counters().ignored > 0, "nobody gets so far by sending");
}

#[test]
fn section_7_5_2_the_window_grows_with_what_is_in_flight() {
    let mut pair = Pair::open(&config(), &config());
    (0..1000).for_each(|_| pair.send(To::Client, 10));
    pair.run(secs(30));
    assert_eq!(pair.delivered(To::Server).len(), 1000);
    let flight = pair.client.sender().map_or(0, |sender| sender.most_under_way) as u64;
    let window = pair.server().feature(Location::Remote, FeatureId::SequenceWindow);
    assert!(flight > 20 && (4 * flight..=10 * flight).contains(&window), "{window} for {flight}");
}

#[test]
fn section_7_6_2_wide_windows_have_long_numbers() {
    for (window, short) in [(1000, true), (1 << 30, false)] {
        let wide = DccpConfig { short_numbers: true, sequence_window: window, ..config() };
        let mut pair = Pair::open(&wide, &config());
        assert_eq!(pair.client.feature(Location::Local, FeatureId::AllowShortSeqnos), 1);
        let from = pair.log.len();
        pair.send(To::Client, 10);
        pair.run(secs(1));
        let data = pair.log[from..].iter().find(|(_, to, _)| *to == To::Server).expect("it was sent");
        assert_eq!(data.2.short, short, "{window}");
    }
}
