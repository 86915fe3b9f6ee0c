//! Opening a connection: RFC 4340 section 8.1.

use super::net::{Action, PORTS, Pair, SERVICE, To, ms, only, reset};
use paceline_dccp::{DccpConfig, Event, State};
use paceline_units::{Ecn, TimeDelta};
use paceline_wire::dccp::{Body, DccpOption, PacketType, Payload, ResetCode, SequenceNumber, ServiceCode};

fn config() -> DccpConfig {
    DccpConfig::default()
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

#[test]
fn section_8_1_three_packets_and_an_acknowledgement() {
    let mut pair = Pair::new(&config(), &config());
    pair.run(TimeDelta::from_millis(120));
    assert_eq!((pair.client.state(), pair.server().state()), (State::PartOpen, State::Respond));
    pair.run(secs(10));
    assert_eq!((pair.client.state(), pair.server().state()), (State::Open, State::Open));
    assert_eq!(pair.types(To::Server, 0)[..2], [PacketType::Request, PacketType::Ack]);
    assert_eq!(pair.types(To::Client, 0)[..2], [PacketType::Response, PacketType::Ack]);
    assert!(pair.log.len() <= 6, "an idle connection is silent: {:?}", pair.log);
    let connected = |events: &[Event]| events.iter().filter(|event| **event == Event::Connected).count();
    assert_eq!((connected(&pair.client_events), connected(&pair.server_events)), (1, 1));
}

#[test]
fn section_8_1_any_one_packet_of_the_handshake_may_be_lost_delayed_or_doubled() {
    for action in
        [Action::Lose, Action::Twice, Action::Late(secs(1)), Action::Late(TimeDelta::from_millis(130))]
    {
        for lost in 0..12 {
            let mut pair =
                Pair::with_rule(
                    &config(),
                    &config(),
                    move |count, _, _| {
                        if count == lost { action } else { Action::Deliver }
                    },
                );
            pair.run(secs(4));
            assert_eq!(
                (pair.client.state(), pair.server().state()),
                (State::Open, State::Open),
                "{action:?} {lost}"
            );
            (1..=10).for_each(|size| pair.send(To::Client, size));
            (1..=10).for_each(|size| pair.send(To::Server, size));
            pair.run(secs(4));
            for to in [To::Server, To::Client] {
                let got = pair.delivered(to).len();
                assert!(got == 10 || got == 9 && action == Action::Lose, "{action:?} {lost} {to:?}: {got}");
            }
            let now = pair.now;
            pair.client.close(now);
            pair.run(secs(300));
            assert_eq!(
                pair.closed(To::Server).map(|(code, _)| code),
                Some(ResetCode::CLOSED),
                "{action:?} {lost}"
            );
            assert_eq!((pair.client.state(), pair.server().state()), (State::Closed, State::Closed));
        }
    }
}

#[test]
fn section_8_1_1_requests_back_off_and_are_given_up() {
    let mut pair = Pair::with_rule(&config(), &config(), |_, _, _| Action::Lose);
    pair.run(secs(200));
    let at: Vec<u64> = pair.log.iter().map(|(at, _, _)| at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 63, 127, 180]);
    for (n, (_, _, packet)) in pair.log.iter().enumerate() {
        assert_eq!(packet.sequence, pair.log[0].2.sequence.plus(n as i64), "each has the next number");
    }
    let Body::Reset { acknowledgment, reason } = pair.log[8].2.body else { panic!("a reset at last") };
    assert_eq!((acknowledgment, reason.code), (SequenceNumber::ZERO, ResetCode::ABORTED));
    assert_eq!(pair.closed(To::Client), Some((ResetCode::ABORTED, false)));
}

#[test]
fn section_8_1_1_every_request_carries_the_same_data_and_service() {
    let early = Payload::Bytes(b"hello".to_vec());
    let mut pair = Pair::with_early(&config(), &config(), early.clone(), |_, _, _| Action::Lose);
    pair.run(secs(10));
    for (_, _, packet) in &pair.log {
        assert_eq!((packet.body, &packet.payload), (Body::Request { service: SERVICE }, &early));
    }
}

#[test]
fn section_8_1_3_a_requests_data_is_taken_once() {
    // The first Response is lost, so that the Request comes again with its data.
    let early = Payload::Bytes(b"hello".to_vec());
    let mut pair = Pair::with_early(&config(), &config(), early, |_, to, packet| {
        let first = packet.packet_type() == PacketType::Response && packet.sequence.as_u64() == 1 << 24;
        if to == To::Client && first { Action::Lose } else { Action::Deliver }
    });
    pair.run(secs(5));
    assert_eq!(pair.delivered(To::Server), [5]);
    let responses: Vec<_> =
        pair.log.iter().filter(|(_, _, packet)| packet.packet_type() == PacketType::Response).collect();
    assert_eq!(responses.len(), 2);
    // The newest was dropped for protocol constraints, the one before was delivered.
    let dropped = |packet: &&paceline_wire::dccp::Packet| {
        packet.options.iter().any(|option| *option == DccpOption::DataDropped(vec![0x80]))
    };
    assert!(!dropped(&&responses[0].2) && dropped(&&responses[1].2), "{responses:?}");
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn section_8_1_3_each_valid_request_gets_a_response_with_the_next_number() {
    let mut pair = Pair::with_rule(&config(), &config(), |_, to, _| match to {
        To::Server => Action::Deliver,
        To::Client => Action::Lose,
    });
    pair.run(secs(8));
    let responses: Vec<_> =
        pair.log.iter().filter(|(_, to, _)| *to == To::Client).map(|(_, _, p)| p).collect();
    assert_eq!(responses.len(), 4, "Requests at 0, 1, 3, 7 s");
    for (n, response) in responses.iter().enumerate() {
        assert_eq!(response.sequence, responses[0].sequence.plus(n as i64));
        assert_eq!(response.body.acknowledgment(), Some(pair.log[2 * n].2.sequence));
    }
}

#[test]
fn section_8_1_3_a_server_in_respond_gives_up_after_four_lifetimes() {
    let mut pair =
        Pair::with_rule(
            &config(),
            &config(),
            |count, _, _| if count == 0 { Action::Deliver } else { Action::Lose },
        );
    pair.run(secs(479));
    assert_eq!(pair.server().state(), State::Respond);
    pair.run(secs(2));
    assert_eq!(pair.closed(To::Server), Some((ResetCode::ABORTED, false)));
}

#[test]
fn section_8_1_5_without_the_third_packet_data_opens_the_server() {
    let mut pair = Pair::with_rule(&config(), &config(), |_, _, packet| {
        if packet.packet_type() == PacketType::Ack { Action::Lose } else { Action::Deliver }
    });
    pair.run(TimeDelta::from_millis(110));
    assert_eq!((pair.client.state(), pair.server().state()), (State::PartOpen, State::Respond));
    pair.send(To::Client, 100);
    pair.run(TimeDelta::from_millis(60));
    assert_eq!(pair.server().state(), State::Open);
    assert_eq!(pair.delivered(To::Server), [100]);
    assert!(!pair.types(To::Server, 0).contains(&PacketType::Data), "no Data in PARTOPEN");
}

#[test]
fn section_8_1_5_partopen_acknowledges_again_and_gives_up() {
    let patient = DccpConfig { maximum_segment_lifetime: secs(1000), ..config() };
    let mut pair = Pair::with_rule(&config(), &patient, |_, to, packet| {
        let late = packet.packet_type() == PacketType::Ack && to == To::Server;
        if late { Action::Lose } else { Action::Deliver }
    });
    pair.run(secs(3));
    let at: Vec<u64> = pair
        .log
        .iter()
        .filter(|(_, to, packet)| *to == To::Server && packet.packet_type() == PacketType::Ack)
        .map(|(at, _, _)| at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(at, [100, 300, 700, 1500], "200 ms, then twice as long each time");
    pair.run(secs(500));
    assert_eq!(pair.closed(To::Client), Some((ResetCode::ABORTED, false)));
}

#[test]
fn section_8_1_5_a_lost_packet_from_open_is_sent_again_for_partopen() {
    // The server's Ack out of OPEN is lost twice: the client's Acks make it come again.
    let mut lost = 0;
    let mut pair = Pair::with_rule(&config(), &config(), move |_, to, packet| {
        let acks = to == To::Client && packet.packet_type() == PacketType::Ack;
        lost += usize::from(acks);
        if acks && lost <= 2 { Action::Lose } else { Action::Deliver }
    });
    pair.run(secs(3));
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn section_8_5_step_12_a_sync_does_not_end_partopen() {
    // The server probes the path with Syncs, and its Ack out of OPEN is lost.
    let probing = DccpConfig { probe_mtu: Some(paceline_units::Bytes::new(3000)), ..config() };
    let mut lost = false;
    let mut pair = Pair::with_rule(&config(), &probing, move |_, to, packet| {
        let first = to == To::Client && packet.packet_type() == PacketType::Ack && !lost;
        lost |= first;
        if first { Action::Lose } else { Action::Deliver }
    });
    pair.run(secs(3));
    assert!(pair.types(To::Client, 0)[..3].contains(&PacketType::Sync));
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn section_8_5_step_4_in_request_only_response_and_reset_are_valid() {
    for kind in PacketType::ALL {
        let mut pair = Pair::with_rule(&config(), &config(), |_, _, _| Action::Lose);
        pair.run(TimeDelta::from_millis(10));
        let acknowledgment = pair.newest(To::Server);
        let mut packet = pair.forged_to_client(kind, acknowledgment);
        packet.sequence = SequenceNumber::new(777);
        let answers = pair.answers(To::Client, packet);
        match kind {
            PacketType::Response => assert_eq!(pair.client.state(), State::PartOpen),
            PacketType::Reset => assert_eq!(pair.client.state(), State::TimeWait),
            _ => {
                let answer = only(answers);
                let Body::Reset { acknowledgment, reason } = answer.body else { panic!("{answer:?}") };
                assert_eq!((reason.code, reason.data), (ResetCode::PACKET_ERROR, [kind as u8, 0, 0]));
                assert_eq!(acknowledgment, SequenceNumber::new(777));
                assert_eq!(pair.client.state(), State::Request, "it goes on asking");
            }
        }
    }
}

#[test]
fn section_8_5_step_4_a_response_must_acknowledge_a_request() {
    let mut pair = Pair::with_rule(&config(), &config(), |_, _, _| Action::Lose);
    pair.run(TimeDelta::from_millis(10));
    for (steps, kind) in [(1, PacketType::Response), (-5, PacketType::Response)] {
        let packet = pair.forged_to_client(kind, pair.newest(To::Server).plus(steps));
        assert_eq!(reset(pair.answers(To::Client, packet)).code, ResetCode::PACKET_ERROR);
        assert_eq!(pair.client.state(), State::Request);
    }
    let packet = pair.forged_to_client(PacketType::Reset, pair.newest(To::Server).plus(5));
    assert_eq!(pair.answers(To::Client, packet), [], "no reset answers a reset");
    assert_eq!(pair.client.state(), State::Request);
}

#[test]
fn section_5_3_a_response_for_another_service_is_refused() {
    let mut pair = Pair::with_rule(&config(), &config(), |_, _, _| Action::Lose);
    pair.run(TimeDelta::from_millis(10));
    let acknowledgment = pair.newest(To::Server);
    let mut packet = pair.forged_to_client(PacketType::Response, acknowledgment);
    packet.body = Body::Response { acknowledgment, service: ServiceCode(43) };
    assert_eq!(reset(pair.answers(To::Client, packet)).code, ResetCode::BAD_SERVICE_CODE);
}

#[test]
fn section_8_5_step_7_data_in_respond_is_answered_with_a_sync() {
    let mut pair =
        Pair::with_rule(
            &config(),
            &config(),
            |count, _, _| if count == 0 { Action::Deliver } else { Action::Lose },
        );
    pair.run(TimeDelta::from_millis(60));
    let data = pair.forged(To::Server, 1, PacketType::Data);
    let answer = only(pair.answers(To::Server, data.clone()));
    assert_eq!(answer.body, Body::Sync { acknowledgment: data.sequence });
    assert_eq!(pair.server().state(), State::Respond);
}

#[test]
fn section_8_5_step_11_a_duplicated_request_changes_nothing_in_open() {
    let mut pair = Pair::open(&config(), &config());
    let mut request = pair.log[0].2.clone();
    assert_eq!(pair.answers(To::Server, request.clone()), [], "an old one");
    request.sequence = pair.newest(To::Server).plus(1);
    let answer = only(pair.answers(To::Server, request.clone()));
    assert_eq!(answer.body, Body::Sync { acknowledgment: request.sequence }, "a new one: step 7");
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn ports_that_are_not_ours_are_ignored() {
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Server, 1, PacketType::Close);
    packet.ports.source += 1;
    assert_eq!(pair.answers(To::Server, packet), []);
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn section_14_2_the_handshake_may_be_fragmented_and_is_not_marked() {
    let ect = DccpConfig { ect: Ecn::Ect0, ..config() };
    let mut pair = Pair::new(&ect, &ect);
    let first = pair.client.poll_transmit(ms(0)).expect("a Request");
    assert!(first.packet.packet_type().may_be_fragmented() && first.ecn == Ecn::NotEct);
    let mut pair = Pair::open(&ect, &ect);
    pair.send(To::Client, 10);
    let now = pair.now;
    let data = pair.client.poll_transmit(now).expect("data");
    assert!(
        !data.packet.packet_type().may_be_fragmented() && data.ecn == Ecn::Ect0 && data.packet.ports == PORTS
    );
}
