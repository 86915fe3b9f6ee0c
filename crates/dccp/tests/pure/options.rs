//! Options: RFC 4340 sections 5.8, 9, 11.6, 11.7, 12.1 and 13.

use super::net::{Action, Pair, To, only, reset};
use paceline_cc::ccid::{DropCode, LossIntervals};
use paceline_dccp::{CCID_3, DccpConfig, Event, FeatureId, Location, NegotiationState, SendError, State};
use paceline_units::{Bytes, Ecn, TimeDelta};
use paceline_wire::dccp::{
    Body, DccpOption, FeatureOption, Packet, PacketType, Payload, ResetCode, crc32c, loss_intervals_option,
    option_type,
};

fn config() -> DccpConfig {
    DccpConfig::default()
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

/// An OPEN server's immediate answer to the client's next packet of a type with these options.
fn answers(kind: PacketType, options: Vec<DccpOption>) -> (Pair, Vec<Packet>) {
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Server, 1, kind);
    packet.options = options.into();
    let answers = pair.answers(To::Server, packet);
    (pair, answers)
}

fn unknown() -> DccpOption {
    DccpOption::Other { kind: 99, data: vec![7, 8, 9] }
}

#[test]
fn section_5_8_unknown_options_and_wrong_lengths_are_ignored() {
    let wrong = DccpOption::Other { kind: 44, data: vec![1, 2] };
    let (mut pair, answers) =
        answers(PacketType::Ack, vec![unknown(), wrong, DccpOption::Other { kind: 9, data: vec![] }]);
    assert_eq!((answers, pair.server().state()), (vec![], State::Open));
}

#[test]
fn section_5_8_2_a_mandatory_option_that_is_not_understood_resets() {
    let wrong = DccpOption::Other { kind: 44, data: vec![1] };
    for (option, data) in [(unknown(), [99, 7, 8]), (wrong, [44, 1, 0])] {
        let (_, answers) = answers(PacketType::Ack, vec![DccpOption::Mandatory, option]);
        let reason = reset(answers);
        assert_eq!((reason.code, reason.data), (ResetCode::MANDATORY_ERROR, data));
    }
    let (mut pair, answers) =
        answers(PacketType::Ack, vec![DccpOption::Mandatory, DccpOption::SlowReceiver, unknown()]);
    assert_eq!((answers, pair.server().state()), (vec![], State::Open), "it speaks of the next option alone");
}

#[test]
fn section_5_8_2_mandatory_before_nothing_or_mandatory_is_an_option_error() {
    for options in [vec![DccpOption::Mandatory], vec![DccpOption::Mandatory; 2]] {
        let (_, answers) = answers(PacketType::Ack, options);
        assert_eq!(reset(answers).code, ResetCode::OPTION_ERROR);
    }
}

#[test]
fn section_5_8_2_on_data_packets_mandatory_is_ignored() {
    for options in [vec![DccpOption::Mandatory], vec![DccpOption::Mandatory, unknown()]] {
        let (mut pair, _) = answers(PacketType::Data, options);
        assert_eq!(pair.server().state(), State::Open);
        assert_eq!(pair.delivered(To::Server).len(), 1);
    }
}

#[test]
fn section_5_8_options_that_must_not_be_on_data_are_ignored_there() {
    let change = DccpOption::ChangeL(FeatureOption { feature: 99, values: vec![1] });
    let confirm = DccpOption::ConfirmL(FeatureOption { feature: 1, values: vec![9] });
    let vector = DccpOption::AckVector { nonce: false, vector: vec![63; 200].into() };
    let (mut pair, answers) =
        answers(PacketType::Data, vec![change, confirm, vector, DccpOption::ElapsedTime(u32::MAX)]);
    assert_eq!(pair.server().state(), State::Open);
    assert!(
        answers.iter().all(|packet| packet.options.iter().all(|o| !matches!(o, DccpOption::ConfirmR(_))))
    );
}

#[test]
fn section_5_6_options_of_a_reset_are_processed_first() {
    let (pair, answers) = answers(PacketType::Reset, vec![DccpOption::Mandatory, unknown()]);
    assert_eq!(reset(answers).code, ResetCode::MANDATORY_ERROR);
    assert_eq!(pair.closed(To::Server), Some((ResetCode::MANDATORY_ERROR, false)));
}

#[test]
fn section_9_2_1_data_with_too_little_coverage_is_dropped_and_reported() {
    for (minimum, coverage, delivered) in
        [(0, 0, true), (0, 1, false), (1, 1, true), (1, 9, true), (4, 3, false), (4, 4, true), (4, 0, true)]
    {
        let wanting = DccpConfig { coverage: 15, ..config() };
        let mut pair = Pair::open(&wanting, &DccpConfig { minimum_coverage: minimum, ..config() });
        let wanted = DccpConfig { coverage: minimum, ..config() };
        if minimum > 0 {
            pair = Pair::open(&wanted, &DccpConfig { minimum_coverage: minimum, ..config() });
        }
        assert_eq!(pair.server().feature(Location::Local, FeatureId::MinimumCoverage), u64::from(minimum));
        let mut packet = pair.forged(To::Server, 1, PacketType::DataAck);
        (packet.coverage, packet.payload) = (coverage, Payload::Bytes(vec![1; 64]));
        pair.answers(To::Server, packet);
        pair.run(secs(1));
        assert_eq!(pair.delivered(To::Server).len() == 1, delivered, "{minimum} {coverage}");
        assert_eq!(
            reported(&pair, To::Client, DropCode::ProtocolConstraints),
            !delivered,
            "{minimum} {coverage}"
        );
    }
}

/// Whether an acknowledgement to `to` reports this drop code.
fn reported(pair: &Pair, to: To, code: DropCode) -> bool {
    pair.log.iter().filter(|(_, whom, _)| *whom == to).any(|(_, _, packet)| {
        packet.options.iter().any(|option| match option {
            DccpOption::DataDropped(blocks) => {
                blocks.iter().any(|block| block >> 7 == 1 && block >> 4 & 7 == code as u8)
            }
            _ => false,
        })
    })
}

#[test]
fn section_9_2_a_sender_uses_partial_coverage_only_where_it_is_accepted() {
    for (minimum, expected) in [(0, 0), (2, 2), (3, 0)] {
        let mut pair = Pair::open(
            &DccpConfig { coverage: 2, ..config() },
            &DccpConfig { minimum_coverage: minimum, ..config() },
        );
        for size in [100, 3] {
            pair.send(To::Client, size);
        }
        pair.run(secs(1));
        let coverage =
            |size: usize| pair.log.iter().find(|(_, _, p)| p.payload.len() == size).expect("sent").2.coverage;
        assert_eq!((coverage(100), coverage(3)), (expected, 0), "{minimum}");
    }
}

#[test]
fn section_9_3_data_whose_checksum_is_wrong_is_dropped_or_noted() {
    for (deliver_corrupt, code) in [(false, DropCode::Corrupt), (true, DropCode::DeliveredCorrupt)] {
        let mut pair = Pair::open(&config(), &DccpConfig { deliver_corrupt, ..config() });
        for (steps, checksum) in [(1, crc32c(b"data")), (2, 1)] {
            let mut packet = pair.forged(To::Server, steps, PacketType::Data);
            packet.payload = Payload::Bytes(b"data".to_vec());
            packet.options = vec![DccpOption::DataChecksum(checksum)].into();
            pair.inject(To::Server, packet, Ecn::NotEct);
        }
        pair.run(secs(1));
        let notes: Vec<bool> = pair
            .server_events
            .iter()
            .filter_map(|event| match event {
                Event::Received { corrupt, .. } => Some(*corrupt),
                _ => None,
            })
            .collect();
        assert_eq!(notes, if deliver_corrupt { vec![false, true] } else { vec![false] });
        assert!(reported(&pair, To::Client, code));
    }
}

#[test]
fn section_9_3_a_wrong_checksum_on_an_acknowledgement_is_reported_too() {
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Server, 1, PacketType::Ack);
    (packet.payload, packet.options) = (Payload::Bytes(vec![1]), [DccpOption::DataChecksum(0)].into());
    pair.answers(To::Server, packet);
    let mut packet = pair.forged(To::Server, 2, PacketType::DataAck);
    packet.payload = Payload::Bytes(vec![1]);
    pair.answers(To::Server, packet);
    pair.run(secs(1));
    assert!(reported(&pair, To::Client, DropCode::Corrupt));
}

#[test]
fn section_9_3_1_whoever_sends_checksums_requires_that_they_are_checked() {
    let mut pair = Pair::open(&DccpConfig { data_checksum: true, ..config() }, &config());
    assert_eq!(pair.server().feature(Location::Local, FeatureId::CheckDataChecksum), 1);
    pair.send(To::Client, 32);
    pair.run(secs(1));
    let (_, _, packet) = pair.log.iter().find(|(_, _, packet)| packet.payload.len() == 32).expect("sent");
    assert!(packet.options.contains(&DccpOption::DataChecksum(0x8a91_36aa)));
    assert_eq!(pair.delivered(To::Server), [32]);
}

#[test]
fn section_11_6_a_slow_receiver_says_so_and_is_heard_for_a_round_trip() {
    let mut pair = Pair::open(&config(), &config());
    pair.server().set_slow(true);
    pair.send(To::Client, 10);
    pair.run(TimeDelta::from_millis(310));
    let now = pair.now;
    assert!(pair.client.is_peer_slow(now));
    pair.run(secs(1));
    let now = pair.now;
    assert!(!pair.client.is_peer_slow(now));
}

/// The option may be on any packet (section 5.8): data without an acknowledgement too.
#[test]
fn section_11_6_a_slow_receiver_may_say_so_on_data() {
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Client, 1, PacketType::Data);
    packet.options = [DccpOption::SlowReceiver].into();
    pair.inject(To::Client, packet, Ecn::NotEct);
    let now = pair.now;
    assert!(pair.client.is_peer_slow(now));
}

#[test]
fn section_11_7_2_no_room_is_drop_code_2() {
    let mut pair = Pair::open(&config(), &DccpConfig { receive_queue: 3, ..config() });
    // Fetch nothing: the events of the server stay where they are.
    for step in 1..=5 {
        let packet = pair.forged(To::Server, step, PacketType::Data);
        pair.server().on_packet(paceline_units::Time::from_nanos(1_000_000_000), packet, Ecn::NotEct);
    }
    assert_eq!(pair.server().counters().data_dropped, 2);
    pair.run(secs(1));
    assert!(reported(&pair, To::Client, DropCode::ReceiveBuffer));
    assert_eq!(pair.delivered(To::Server).len(), 3);
}

#[test]
fn section_11_7_2_drops_reach_congestion_control() {
    let mut pair = Pair::open(&config(), &config());
    pair.send(To::Client, 10);
    pair.run(TimeDelta::from_millis(60));
    let Some(Event::Received { sequence, .. }) = pair.server_events.last().cloned() else {
        panic!("a datagram")
    };
    pair.server().report_dropped(sequence, DropCode::ReceiveBuffer);
    pair.run(secs(1));
    let sender = pair.client.sender().expect("open");
    let dropped: Vec<_> = sender.dropped.iter().map(|drop| drop.code).collect();
    assert_eq!((sender.marked, dropped), (0, vec![paceline_cc::ccid::DropCode::ReceiveBuffer]));
}

#[test]
fn section_11_7_2_when_nobody_listens_nothing_more_is_sent() {
    let mut pair = Pair::open(&config(), &config());
    pair.server().stop_listening();
    (0..30).for_each(|_| pair.send(To::Client, 10));
    pair.run(secs(2));
    assert_eq!(pair.delivered(To::Server), []);
    assert!(reported(&pair, To::Client, DropCode::NotListening));
    assert!(pair.client_events.contains(&Event::NotListening));
    let now = pair.now;
    assert_eq!(pair.client.send(now, Payload::EMPTY), Err(SendError::NotListening));
    assert!(pair.client.counters().data_sent < 30 && pair.client.queued() == 0);
    pair.send(To::Server, 7);
    pair.run(secs(1));
    assert_eq!(pair.delivered(To::Client), [7], "the other way goes on");
}

#[test]
fn section_12_1_an_ecn_incapable_end_gets_no_marks_and_takes_no_data_before_that() {
    let ect = DccpConfig { ect: Ecn::Ect0, ..config() };
    let incapable = DccpConfig { ecn_incapable: true, ..ect.clone() };
    let mut pair = Pair::open(&ect, &incapable);
    assert_eq!(pair.client.feature(Location::Remote, FeatureId::EcnIncapable), 1);
    let from = pair.log.len();
    pair.send(To::Client, 10);
    pair.send(To::Server, 10);
    pair.run(secs(1));
    for (n, (_, to, packet)) in pair.log.iter().enumerate().skip(from) {
        let expected = if *to == To::Server { Ecn::NotEct } else { Ecn::Ect0 };
        assert_eq!(pair.marks[n], expected, "{packet:?}");
    }
    // The Confirm is kept from the server: it drops data for protocol constraints.
    let mut pair = Pair::new(&ect, &incapable);
    pair.set_rule(|count, _, _| if count < 3 { Action::Deliver } else { Action::Lose });
    pair.run(TimeDelta::from_millis(60));
    let mut packet = pair.forged(To::Server, 1, PacketType::DataAck);
    packet.payload = Payload::Bytes(vec![1]);
    pair.inject(To::Server, packet, Ecn::NotEct);
    pair.run(TimeDelta::from_millis(10));
    assert_eq!((pair.server().state(), pair.delivered(To::Server)), (State::Open, vec![]));
    assert!(reported(&pair, To::Client, DropCode::ProtocolConstraints));
}

#[test]
fn section_13_timestamps_are_echoed_with_the_time_that_passed() {
    let mut pair = Pair::open(&DccpConfig { timestamps: true, ..config() }, &config());
    pair.send(To::Client, 10);
    pair.run(secs(1));
    let echoes: Vec<(u32, u32)> = pair
        .log
        .iter()
        .flat_map(|(_, _, packet)| &packet.options)
        .filter_map(|option| match option {
            DccpOption::TimestampEcho { echo, elapsed } => Some((*echo, *elapsed)),
            _ => None,
        })
        .collect();
    // One datagram is acknowledged after the delay of 200 ms: 20,000 steps of 10 us.
    assert_eq!(echoes, [(100_000, 20_000)], "sent at 1 s");
    let rtt = pair.client.srtt().expect("measured");
    assert!((rtt - TimeDelta::from_millis(100)).as_nanos().abs() < 2_000_000, "{rtt:?}");
}

#[test]
fn section_13_2_delayed_acknowledgements_say_how_long() {
    let mut pair = Pair::open(&config(), &config());
    let from = pair.log.len();
    pair.send(To::Client, 10);
    pair.run(secs(1));
    let ack = pair.log[from..].iter().find(|(_, to, _)| *to == To::Client).expect("acknowledged");
    assert!(ack.2.options.contains(&DccpOption::ElapsedTime(20_000)), "{ack:?}");
}

#[test]
fn section_14_datagrams_that_do_not_fit_are_refused() {
    let mut pair = Pair::open(&config(), &config());
    let max = pair.client.max_datagram();
    assert_eq!(max, Bytes::new(1480 - 16));
    let (now, found) = (pair.now, Bytes::new(1465));
    let error = pair.client.send(now, Payload::dummy(1465, now)).expect_err("one byte too many");
    assert_eq!(error, SendError::TooLarge { found, max });
    assert_eq!(error.to_string(), "datagram: found 1465 bytes, expected at most 1464");
    pair.send(To::Client, 1464);
    pair.send(To::Server, 1464);
    pair.run(secs(1));
    assert_eq!((pair.delivered(To::Server), pair.delivered(To::Client)), (vec![1464], vec![1464]));
    assert!(pair.log.iter().all(|(_, _, packet)| packet.size() <= Bytes::new(1480)));
    let ccmps = DccpConfig { ccmps: Some(Bytes::new(1000)), ..config() };
    assert_eq!(Pair::open(&ccmps, &config()).client.max_datagram(), Bytes::new(1000));
}

#[test]
fn section_14_the_send_queue_is_bounded() {
    let mut pair = Pair::new(&DccpConfig { send_queue: 3, ..config() }, &config());
    (0..3).for_each(|_| pair.send(To::Client, 10));
    let now = pair.now;
    let error = pair.client.send(now, Payload::EMPTY).expect_err("full");
    assert_eq!(error.to_string(), "send queue: found 3 datagrams, expected fewer");
}

#[test]
fn section_14_1_only_a_router_that_saw_our_packet_lowers_the_size() {
    use paceline_dccp::TooBig;
    let mut pair = Pair::open(&config(), &config());
    (0..10).for_each(|_| pair.send(To::Client, 1400));
    pair.run(TimeDelta::ZERO);
    let (now, ours) = (pair.now, pair.newest(To::Server));
    let size = Bytes::new(1000);
    assert_eq!(pair.client.on_too_big(now, None, size), TooBig::NotOurs);
    assert_eq!(pair.client.on_too_big(now, Some(ours.plus(1)), size), TooBig::NotOurs);
    assert_eq!(pair.client.on_too_big(now, Some(ours.plus(-5000)), size), TooBig::NotOurs);
    assert_eq!(pair.client.on_too_big(now, Some(ours), Bytes::new(9000)), TooBig::NotSmaller);
    assert_eq!(pair.client.max_datagram(), Bytes::new(1464));
    assert_eq!(pair.client.on_too_big(now, Some(ours), size), TooBig::Lowered);
    assert_eq!(pair.client.max_datagram(), Bytes::new(984));
    assert_eq!(
        (pair.client.queued(), pair.client.counters().discarded),
        (0, 6),
        "four left, six were too large"
    );
    let from = pair.log.len();
    pair.run(secs(2));
    assert!(pair.log[from..].iter().all(|(_, _, packet)| packet.size() <= size));
}

#[test]
fn section_14_1_padded_syncs_find_a_larger_path() {
    let probing = DccpConfig { mtu: Bytes::new(1200), probe_mtu: Some(Bytes::new(9000)), ..config() };
    let mut pair = Pair::with_rule(&probing, &config(), |_, _, packet| {
        if packet.size() > Bytes::new(1480) { Action::Lose } else { Action::Deliver }
    });
    pair.run(secs(60));
    let found = pair.client.max_datagram().as_u64() + 16;
    assert!((1472..=1480).contains(&found), "{found}");
    let probes =
        pair.log.iter().filter(|(_, _, p)| p.packet_type() == PacketType::Sync && !p.payload.is_empty());
    assert!((3..60).contains(&probes.count()));
    assert_eq!(pair.delivered(To::Server), [], "no data was risked");
    assert!(pair.client_events.iter().any(|event| matches!(event, Event::MaxDatagram(_))));
}

#[test]
fn section_8_5_step_15_each_sync_gets_its_syncack() {
    let (_, answers) = answers(PacketType::Sync, vec![]);
    assert_eq!(only(answers).packet_type(), PacketType::SyncAck);
    let (mut pair, answers) = answers_close();
    assert!(matches!(only(answers).body, Body::Reset { .. }));
    assert_eq!(pair.server().state(), State::Closed);
}

fn answers_close() -> (Pair, Vec<Packet>) {
    answers(PacketType::Close, vec![])
}

#[test]
fn section_5_8_2_a_mandatory_option_whose_data_is_invalid_resets() {
    // Sections 11.4 and 11.7: of packets before the first.
    let vector = DccpOption::AckVector { nonce: false, vector: vec![63; 4].into() };
    let drops = DccpOption::DataDropped(vec![127; 2]);
    for (option, data) in [(vector.clone(), [38, 63, 63]), (drops, [40, 127, 127])] {
        let (mut pair, ignored) = answers(PacketType::Ack, vec![option.clone()]);
        assert_eq!((ignored, pair.server().state()), (vec![], State::Open));
        let (_, answers) = answers(PacketType::Ack, vec![DccpOption::Mandatory, option]);
        let reason = reset(answers);
        assert_eq!((reason.code, reason.data), (ResetCode::MANDATORY_ERROR, data));
    }
    let (mut pair, answers) = answers(
        PacketType::Ack,
        vec![DccpOption::Mandatory, DccpOption::AckVector { nonce: false, vector: vec![0].into() }],
    );
    assert_eq!((answers, pair.server().state()), (vec![], State::Open));
}

#[test]
fn section_12_1_an_empty_confirm_lets_no_data_in() {
    let mut pair = Pair::new(&config(), &DccpConfig { ecn_incapable: true, ..config() });
    pair.set_rule(|count, _, _| if count < 2 { Action::Deliver } else { Action::Lose });
    pair.run(TimeDelta::from_millis(110));
    let mut packet = pair.forged(To::Server, 1, PacketType::DataAck);
    packet.options = vec![DccpOption::ConfirmR(FeatureOption { feature: 4, values: vec![] })].into();
    packet.payload = Payload::Bytes(vec![1]);
    pair.inject(To::Server, packet, Ecn::NotEct);
    pair.run(TimeDelta::from_millis(10));
    assert_eq!(pair.server().state(), State::Open);
    assert_eq!(pair.server().negotiation(Location::Local, FeatureId::EcnIncapable), NegotiationState::Stable);
    assert_eq!(pair.delivered(To::Server), []);
    assert!(reported(&pair, To::Client, DropCode::ProtocolConstraints));
}

#[test]
fn section_11_7_without_ack_vectors_drops_reach_congestion_control_too() {
    let tfrc = DccpConfig { send_ccids: vec![CCID_3], receive_ccids: vec![CCID_3], ..config() };
    let mut pair = Pair::open(&tfrc, &tfrc);
    (0..4).for_each(|_| pair.send(To::Client, 10));
    pair.run(TimeDelta::from_millis(60));
    let Some(Event::Received { sequence, .. }) =
        pair.server_events.iter().find(|event| matches!(event, Event::Received { .. })).cloned()
    else {
        panic!("a datagram")
    };
    pair.server().report_dropped(sequence, DropCode::ReceiveBuffer);
    pair.run(secs(1));
    let sender = pair.client.sender().expect("open");
    let dropped: Vec<_> = sender.dropped.iter().map(|drop| drop.code).collect();
    assert_eq!(dropped, [paceline_cc::ccid::DropCode::ReceiveBuffer], "the first of four");
}

/// Events of a CCID 3 sender on an acknowledgement with these options: reports, and intervals of others.
fn heard(options: Vec<DccpOption>) -> (usize, Vec<usize>) {
    let tfrc = DccpConfig { send_ccids: vec![CCID_3], receive_ccids: vec![CCID_3], ..config() };
    let mut pair = Pair::open(&tfrc, &tfrc);
    let mut packet = pair.forged(To::Client, 1, PacketType::Ack);
    packet.options = options.into();
    pair.answers(To::Client, packet);
    let sender = pair.client.sender().expect("open");
    (sender.reports.len(), sender.intervals.clone())
}

#[test]
fn rfc_4342_section_6_a_feedback_packet_says_how_long_it_was_held() {
    let number = |kind, value: u32| DccpOption::Other { kind, data: value.to_be_bytes().to_vec() };
    let rates = vec![number(option_type::LOSS_EVENT_RATE, 100), number(option_type::RECEIVE_RATE, 1000)];
    assert_eq!(heard(rates.clone()), (0, vec![]));
    for elapsed in [DccpOption::ElapsedTime(5), DccpOption::TimestampEcho { echo: 0, elapsed: 5 }] {
        let mut options = rates.clone();
        options.push(elapsed);
        assert_eq!(heard(options), (1, vec![]));
    }
}

#[test]
fn rfc_4342_section_8_6_1_a_second_loss_intervals_option_goes_on() {
    let intervals = |skip, count| {
        let interval =
            paceline_cc::ccid::LossInterval { lossless_length: 9, loss_length: 1, data_length: 10 };
        loss_intervals_option(&LossIntervals { skip_length: skip, intervals: &vec![interval; count] })
    };
    let rate = DccpOption::Other { kind: option_type::RECEIVE_RATE, data: vec![0, 0, 1, 0] };
    for (first, second, told) in [((2, 3), (0, 2), 5), ((0, 3), (1, 2), 3)] {
        let options = vec![
            rate.clone(),
            DccpOption::ElapsedTime(5),
            intervals(first.0, first.1),
            intervals(second.0, second.1),
        ];
        assert_eq!(heard(options), (0, vec![told]), "a second that skips is ignored");
    }
}

#[test]
fn section_13_3_a_late_packets_timestamp_is_older() {
    let mut pair = Pair::open(&config(), &config());
    for (step, value) in [(2, 9), (1, 5)] {
        let mut packet = pair.forged(To::Server, step, PacketType::Data);
        packet.options = vec![DccpOption::Timestamp(value)].into();
        let now = pair.now;
        pair.server().on_packet(now, packet, Ecn::NotEct);
    }
    let from = pair.log.len();
    pair.run(secs(1));
    let echoes =
        pair.log[from..].iter().flat_map(|(_, _, packet)| &packet.options).filter_map(
            |option| match option {
                DccpOption::TimestampEcho { echo, .. } => Some(*echo),
                _ => None,
            },
        );
    assert_eq!(echoes.collect::<Vec<_>>(), [9]);
}

#[test]
fn section_14_nothing_but_a_handshake_is_larger_than_the_path() {
    let fits = |pair: &Pair, mtu: u64| {
        for (_, _, packet) in &pair.log {
            let handshake = matches!(packet.packet_type(), PacketType::Request | PacketType::Response);
            assert!(handshake || packet.size().as_u64() <= mtu, "{mtu}: {packet:?}");
        }
    };
    // A slow receiver's own data, of the largest size.
    let mut pair = Pair::open(&config(), &config());
    let max = pair.client.max_datagram().as_u64() as u32;
    pair.client.set_slow(true);
    (0..5).for_each(|_| pair.send(To::Client, max));
    pair.run(secs(2));
    assert_eq!(pair.delivered(To::Server).len(), 5);
    fits(&pair, 1480);
    // NDP counts are asked for after a datagram without room for them was queued.
    let mut pair = Pair::new(&config(), &DccpConfig { ndp_count: true, ..config() });
    (0..3).for_each(|_| pair.send(To::Client, max));
    pair.run(secs(2));
    assert_eq!(pair.client.feature(Location::Local, FeatureId::SendNdpCount), 1);
    fits(&pair, 1480);
    // Short numbers are agreed on, but with a window that wide they are not sent (section 7.6.2).
    let short = DccpConfig { short_numbers: true, accept_short_numbers: true, ..config() };
    let wide = DccpConfig { sequence_window: 1 << 23, ..short.clone() };
    let mut pair = Pair::new(&short, &wide);
    pair.run(secs(1));
    assert_eq!(pair.client.feature(Location::Local, FeatureId::AllowShortSeqnos), 1);
    assert_eq!(pair.client.feature(Location::Remote, FeatureId::SequenceWindow), 1 << 23);
    let max = pair.client.max_datagram().as_u64() as u32;
    (0..5).for_each(|_| pair.send(To::Client, max));
    pair.run(secs(2));
    assert_eq!(pair.delivered(To::Server).len(), 5);
    fits(&pair, 1480);
    // Vectors of many holes over a narrow path.
    let narrow = DccpConfig { mtu: Bytes::new(120), sequence_window: 1000, ..config() };
    let mut pair = Pair::open(&narrow, &narrow);
    pair.set_rule(|_, to, _| if to == To::Client { Action::Lose } else { Action::Deliver });
    for step in 1..=200 {
        let packet = pair.forged(To::Server, 2 * step, PacketType::Data);
        pair.inject(To::Server, packet, Ecn::NotEct);
    }
    pair.run(secs(1));
    fits(&pair, 120);
    let told = pair
        .log
        .iter()
        .flat_map(|(_, _, packet)| &packet.options)
        .any(|option| matches!(option, DccpOption::AckVector { vector, .. } if vector.len() > 20));
    assert!(told, "what there is room for is told");
}
