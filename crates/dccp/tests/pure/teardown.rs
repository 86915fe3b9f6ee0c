//! Closing a connection: RFC 4340 section 8.3.

use super::net::{Action, PORTS, Pair, SERVICE, To, only, reset};
use super::standin::StandIns;
use paceline_dccp::{Connection, DccpConfig, SendError, State};
use paceline_units::{Ecn, TimeDelta};
use paceline_wire::dccp::{Body, PacketType, Payload, ResetCode, ResetReason, SequenceNumber};

fn config() -> DccpConfig {
    DccpConfig::default()
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

fn close(pair: &mut Pair, whom: To) {
    let now = pair.now;
    match whom {
        To::Client => pair.client.close(now),
        To::Server => pair.server().close(now),
    }
}

#[test]
fn section_8_3_the_client_closes() {
    let mut pair = Pair::open(&config(), &config());
    let before = pair.log.len();
    close(&mut pair, To::Client);
    pair.run(secs(1));
    assert_eq!(pair.types(To::Server, before), [PacketType::Close]);
    assert_eq!(pair.types(To::Client, before), [PacketType::Reset]);
    assert_eq!((pair.client.state(), pair.server().state()), (State::TimeWait, State::Closed));
    pair.run(secs(238));
    assert_eq!(pair.client.state(), State::TimeWait, "2 MSL are 4 minutes");
    pair.run(secs(2));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.closed(To::Client), Some((ResetCode::CLOSED, true)));
    assert_eq!(pair.closed(To::Server), Some((ResetCode::CLOSED, false)));
}

#[test]
fn section_8_3_the_server_closes_and_the_client_holds_timewait() {
    let mut pair = Pair::open(&config(), &config());
    let before = pair.log.len();
    close(&mut pair, To::Server);
    pair.run(secs(1));
    assert_eq!(pair.types(To::Client, before), [PacketType::CloseReq, PacketType::Reset]);
    assert_eq!(pair.types(To::Server, before), [PacketType::Close]);
    assert_eq!((pair.client.state(), pair.server().state()), (State::TimeWait, State::Closed));
}

#[test]
fn section_8_3_the_server_closes_and_holds_timewait_itself() {
    let mut pair = Pair::open(&config(), &DccpConfig { hold_timewait: true, ..config() });
    let before = pair.log.len();
    close(&mut pair, To::Server);
    pair.run(secs(1));
    assert_eq!(pair.types(To::Client, before), [PacketType::Close]);
    assert_eq!((pair.client.state(), pair.server().state()), (State::Closed, State::TimeWait));
}

#[test]
fn section_8_3_both_close_at_once() {
    for hold_timewait in [true, false] {
        let mut pair = Pair::open(&config(), &DccpConfig { hold_timewait, ..config() });
        close(&mut pair, To::Server);
        close(&mut pair, To::Client);
        pair.run(secs(300));
        assert_eq!((pair.client.state(), pair.server().state()), (State::Closed, State::Closed));
        assert!(pair.closed(To::Client).is_some() && pair.closed(To::Server).is_some());
        assert!(pair.log.len() < 20, "and nobody answers for ever: {}", pair.log.len());
    }
}

#[test]
fn section_8_3_any_packet_of_the_teardown_may_be_lost() {
    for whom in [To::Client, To::Server] {
        for lost in 0..6 {
            let mut pair = Pair::open(&config(), &config());
            let first = pair.log.len();
            pair.set_rule(
                move |count, _, _| if count == first + lost { Action::Lose } else { Action::Deliver },
            );
            close(&mut pair, whom);
            pair.run(secs(300));
            assert_eq!(
                (pair.client.state(), pair.server().state()),
                (State::Closed, State::Closed),
                "{whom:?} {lost}"
            );
            // Of a lost Reset's connection nothing is left: No Connection ends it as well.
            let ends = [Some(ResetCode::CLOSED), Some(ResetCode::NO_CONNECTION)];
            assert!(ends.contains(&pair.closed(To::Client).map(|(code, _)| code)), "{whom:?} {lost}");
        }
    }
}

#[test]
fn section_8_3_closes_back_off_from_two_round_trips() {
    for whom in [To::Client, To::Server] {
        let mut pair = Pair::open(&config(), &config());
        let (first, begin) = (pair.log.len(), pair.now.as_nanos());
        let rtt = match whom {
            To::Client => pair.client.srtt(),
            To::Server => pair.server().srtt(),
        };
        let rtt = rtt.expect("it was measured").as_nanos() as u64 / 1_000_000;
        assert!((100..=110).contains(&rtt), "{rtt} ms");
        pair.set_rule(|_, _, _| Action::Lose);
        close(&mut pair, whom);
        pair.run(secs(700));
        let at: Vec<u64> =
            pair.log[first..].iter().map(|(at, _, _)| (at.as_nanos() - begin) / 1_000_000).collect();
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(at[0], 0);
        for (n, gap) in gaps.iter().take(8).enumerate() {
            let expected = (2 * rtt) << n;
            assert!(gap.abs_diff(expected) <= expected / 20, "{whom:?}: {gaps:?}");
        }
        assert_eq!(gaps.iter().max(), Some(&64_000), "not less than once in 64 s: {gaps:?}");
        // After 4 MSL the half-dead peer is given up.
        let closed = if whom == To::Client { pair.client.state() } else { pair.server().state() };
        assert_eq!(closed, State::Closed);
        assert_eq!(pair.closed(whom), Some((ResetCode::ABORTED, false)));
    }
}

#[test]
fn section_8_3_what_waits_is_sent_before_the_close() {
    let mut pair = Pair::open(&config(), &config());
    (0..50).for_each(|_| pair.send(To::Client, 100));
    close(&mut pair, To::Client);
    let now = pair.now;
    assert_eq!(pair.client.send(now, Payload::EMPTY), Err(SendError::Closed));
    pair.run(secs(5));
    assert_eq!(pair.delivered(To::Server).len(), 50);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn section_8_3_a_closereq_at_the_server_is_answered_with_a_sync() {
    let mut pair = Pair::open(&config(), &config());
    let packet = pair.forged(To::Server, 1, PacketType::CloseReq);
    let answer = only(pair.answers(To::Server, packet.clone()));
    assert_eq!(answer.body, Body::Sync { acknowledgment: packet.sequence });
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn section_8_3_1_without_a_connection_the_numbers_are_the_packets() {
    let mut pair = Pair::open(&config(), &config());
    let now = pair.now;
    pair.server().abort(now);
    pair.run(TimeDelta::ZERO);
    for kind in PacketType::ALL {
        let packet = pair.forged(To::Server, 1000, kind);
        let answers = pair.answers(To::Server, packet.clone());
        if kind == PacketType::Reset {
            assert_eq!(answers, [], "no reset answers a reset");
            continue;
        }
        let answer = only(answers);
        let reason = ResetReason::new(ResetCode::NO_CONNECTION);
        assert_eq!(answer.body, Body::Reset { acknowledgment: packet.sequence, reason });
        let expected = packet.body.acknowledgment().map_or(SequenceNumber::ZERO, |number| number.plus(1));
        assert_eq!(answer.sequence, expected);
    }
}

#[test]
fn section_8_3_1_of_short_numbers_the_upper_bits_are_zero() {
    let mut pair = Pair::open(&config(), &config());
    let mut packet = pair.forged(To::Client, 1, PacketType::Ack);
    packet.short = true;
    let answer =
        packet.reset_without_connection(ResetReason::new(ResetCode::NO_CONNECTION)).expect("a reset");
    assert!(answer.sequence.as_u64() < 1 << 24);
    assert_eq!(answer.body.acknowledgment().map(SequenceNumber::as_u64), Some(packet.sequence.low().into()));
    assert!(!answer.short);
    pair.run(secs(1));
}

#[test]
fn section_8_5_step_2_timewait_answers_no_connection() {
    let mut pair = Pair::open(&config(), &config());
    close(&mut pair, To::Client);
    pair.run(secs(1));
    let packet = pair.forged(To::Client, 1, PacketType::Data);
    assert_eq!(reset(pair.answers(To::Client, packet)).code, ResetCode::NO_CONNECTION);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn section_5_6_a_reset_ends_any_state() {
    for by in [To::Client, To::Server] {
        let mut pair = Pair::open(&config(), &config());
        let now = pair.now;
        match by {
            To::Client => pair.client.abort(now),
            To::Server => pair.server().abort(now),
        }
        pair.run(secs(1));
        let (other, state) = match by {
            To::Client => (To::Server, pair.server().state()),
            To::Server => (To::Client, pair.client.state()),
        };
        assert_eq!(state, State::TimeWait);
        assert_eq!(pair.closed(other), Some((ResetCode::ABORTED, true)));
        assert_eq!(pair.closed(by), Some((ResetCode::ABORTED, false)));
    }
}

#[test]
fn half_dead_peers_are_noticed_with_an_idle_timeout() {
    let patient = DccpConfig { idle_timeout: Some(secs(10)), ..config() };
    let mut pair = Pair::open(&patient, &patient);
    pair.run(secs(100));
    assert_eq!(
        (pair.client.state(), pair.server().state()),
        (State::Open, State::Open),
        "Syncs keep it alive"
    );
    let first = pair.log.len();
    pair.set_rule(|_, to, _| if to == To::Server { Action::Lose } else { Action::Deliver });
    pair.run(secs(30));
    assert_eq!(pair.closed(To::Server), Some((ResetCode::ABORTED, false)));
    assert!(pair.types(To::Client, first).contains(&PacketType::Sync));
    assert_eq!(pair.closed(To::Client), Some((ResetCode::ABORTED, true)));
}

#[test]
fn section_7_5_6_a_half_open_connection_is_cleaned_up() {
    // The client crashes and asks anew from the same port.
    let mut pair = Pair::open(&config(), &config());
    let iss = SequenceNumber::new(400);
    pair.client = Connection::connect(pair.now, &config(), StandIns, PORTS, SERVICE, iss, Payload::EMPTY);
    let first = pair.log.len();
    pair.run(secs(2));
    let kinds: Vec<PacketType> =
        pair.log[first..].iter().map(|(_, _, packet)| packet.packet_type()).collect();
    // The first Reset's number is out of the server's window: its second Sync says where that is (section 7.5.4).
    let expected =
        [PacketType::Request, PacketType::Sync, PacketType::Reset, PacketType::Sync, PacketType::Reset];
    assert_eq!(kinds[..5], expected, "{kinds:?}");
    assert_eq!(pair.closed(To::Server), Some((ResetCode::PACKET_ERROR, true)));
    let marked = pair.marks.iter().filter(|mark| **mark != Ecn::NotEct).count();
    assert_eq!(marked, 0);
}
