//! Feature negotiation: RFC 4340 section 6.

use super::net::{Action, Pair, To, only, reset};
use paceline_dccp::{
    CCID_2, CCID_3, DccpConfig, Event, FeatureChange, FeatureId, Location, NegotiationState, State,
};
use paceline_units::TimeDelta;
use paceline_wire::dccp::{DccpOption, FeatureOption, Packet, PacketType, ResetCode};

fn config() -> DccpConfig {
    DccpConfig::default()
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

fn said(feature: u8, values: &[u8]) -> FeatureOption {
    FeatureOption { feature, values: values.to_vec() }
}

fn answers(options: Vec<DccpOption>) -> (Pair, Vec<Packet>) {
    let mut pair = Pair::open(&config(), &config());
    pair.run(secs(5));
    let mut packet = pair.forged(To::Server, 1, PacketType::Ack);
    packet.options = options.into();
    let answers = pair.answers(To::Server, packet);
    (pair, answers)
}

fn confirms(packet: &Packet) -> Vec<DccpOption> {
    let confirm = |option: &&DccpOption| matches!(option, DccpOption::ConfirmL(_) | DccpOption::ConfirmR(_));
    packet.options.iter().filter(confirm).cloned().collect()
}

#[test]
fn section_6_3_1_ccids_are_chosen_by_the_servers_priority() {
    // (client sends, server receives, chosen).
    for (client, server, chosen) in [
        (vec![CCID_2], vec![CCID_2], CCID_2),
        (vec![CCID_3, CCID_2], vec![CCID_2, CCID_3], CCID_2),
        (vec![CCID_3, CCID_2], vec![CCID_3, CCID_2], CCID_3),
        (vec![CCID_3], vec![CCID_2, CCID_3], CCID_3),
        (vec![CCID_2, CCID_3], vec![CCID_3], CCID_3),
        // 77 is nobody's: it is never offered.
        (vec![77, CCID_3, CCID_2], vec![77, CCID_3, CCID_2], CCID_3),
    ] {
        let mut pair = Pair::open(
            &DccpConfig { send_ccids: client.clone(), ..config() },
            &DccpConfig { receive_ccids: server.clone(), ..config() },
        );
        assert_eq!(
            pair.client.feature(Location::Local, FeatureId::Ccid),
            u64::from(chosen),
            "{client:?} {server:?}"
        );
        assert_eq!(pair.server().feature(Location::Remote, FeatureId::Ccid), u64::from(chosen));
        assert_eq!(pair.client.negotiation(Location::Local, FeatureId::Ccid), NegotiationState::Stable);
        (0..20).for_each(|_| pair.send(To::Client, 100));
        pair.run(secs(5));
        assert_eq!(pair.delivered(To::Server).len(), 20, "{client:?} {server:?}");
    }
}

#[test]
fn section_10_ends_without_a_common_ccid_do_not_connect() {
    let mut pair = Pair::new(
        &DccpConfig { send_ccids: vec![CCID_3], ..config() },
        &DccpConfig { receive_ccids: vec![CCID_2], ..config() },
    );
    pair.run(secs(2));
    assert_eq!(pair.closed(To::Client), Some((ResetCode::MANDATORY_ERROR, true)));
    assert_eq!(pair.closed(To::Server), Some((ResetCode::MANDATORY_ERROR, false)));
}

#[test]
fn rfc_4341_section_4_ccid_2_asks_for_ack_vectors() {
    let mut pair = Pair::open(&config(), &config());
    for location in [Location::Local, Location::Remote] {
        assert_eq!(pair.client.feature(location, FeatureId::SendAckVector), 1);
        assert_eq!(pair.server().feature(location, FeatureId::SendAckVector), 1);
    }
    let tfrc = DccpConfig { send_ccids: vec![CCID_3], receive_ccids: vec![CCID_3], ..config() };
    let pair = Pair::open(&tfrc, &tfrc);
    assert_eq!(pair.client.feature(Location::Remote, FeatureId::SendAckVector), 0);
    assert_eq!(pair.client.feature(Location::Remote, FeatureId::SendLossEventRate), 1);
}

#[test]
fn section_6_3_2_a_non_negotiable_feature_is_what_its_location_says() {
    let wide = DccpConfig { sequence_window: 5000, ..config() };
    let mut pair = Pair::open(&wide, &config());
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::SequenceWindow), 5000);
    assert_eq!(pair.client.feature(Location::Local, FeatureId::SequenceWindow), 5000);
    pair.client.announce(FeatureId::SequenceWindow, 31);
    pair.client.announce(FeatureId::SequenceWindow, 1 << 46);
    pair.client.announce(FeatureId::AckRatio, 4);
    pair.run(secs(1));
    assert_eq!(
        pair.client.feature(Location::Local, FeatureId::SequenceWindow),
        5000,
        "31 and 2^46 are never valid"
    );
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 4);
    let change = FeatureChange { feature: FeatureId::AckRatio, location: Location::Remote, value: 4 };
    assert!(pair.server_events.contains(&Event::Feature(change)));
}

#[test]
fn section_6_6_7_unknown_features_get_an_empty_confirm() {
    let (mut pair, packets) =
        answers(vec![DccpOption::ChangeL(said(99, &[1])), DccpOption::ChangeR(said(98, &[1, 2]))]);
    let expected = [DccpOption::ConfirmR(said(99, &[])), DccpOption::ConfirmL(said(98, &[]))];
    assert_eq!(confirms(&only(packets)), expected);
    assert_eq!(pair.server().state(), State::Open);
    let (mut pair, packets) = answers(vec![DccpOption::ConfirmL(said(99, &[1]))]);
    assert_eq!((packets, pair.server().state()), (vec![], State::Open), "unknown Confirms are ignored");
}

#[test]
fn section_6_6_7_an_empty_confirm_leaves_the_value_unless_the_feature_is_required() {
    for (feature, code) in [(FeatureId::SendNdpCount, None), (FeatureId::Ccid, Some(ResetCode::OPTION_ERROR))]
    {
        let mut pair = Pair::open(&config(), &config());
        pair.set_rule(|_, _, _| Action::Lose);
        pair.server().prefer(Location::Remote, feature, &[3, 1]);
        pair.run(TimeDelta::from_millis(10));
        assert_eq!(pair.server().negotiation(Location::Remote, feature), NegotiationState::Changing);
        let mut packet = pair.forged(To::Server, 1, PacketType::Ack);
        packet.options = vec![DccpOption::ConfirmL(said(feature as u8, &[]))].into();
        let answers = pair.answers(To::Server, packet);
        match code {
            Some(code) => assert_eq!(reset(answers).code, code),
            None => assert_eq!(
                (
                    pair.server().feature(Location::Remote, feature),
                    pair.server().negotiation(Location::Remote, feature)
                ),
                (0, NegotiationState::Stable)
            ),
        }
    }
}

#[test]
fn section_6_6_8_invalid_changes_get_an_empty_confirm() {
    for (option, expected) in [
        (DccpOption::ChangeL(said(5, &[0, 0])), DccpOption::ConfirmR(said(5, &[]))),
        (DccpOption::ChangeL(said(5, &[1])), DccpOption::ConfirmR(said(5, &[]))),
        (DccpOption::ChangeL(said(3, &[0, 0, 0, 0, 0, 31])), DccpOption::ConfirmR(said(3, &[]))),
        (DccpOption::ChangeL(said(3, &[0x40, 0, 0, 0, 0, 0])), DccpOption::ConfirmR(said(3, &[]))),
        (DccpOption::ChangeL(said(1, &[])), DccpOption::ConfirmR(said(1, &[]))),
        // Change R must not be sent for a non-negotiable feature (section 6.3.2).
        (DccpOption::ChangeR(said(5, &[0, 2])), DccpOption::ConfirmL(said(5, &[]))),
    ] {
        let (mut pair, packets) = answers(vec![option.clone()]);
        assert_eq!(confirms(&only(packets)), [expected]);
        assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 2);
        let (_, packets) = answers(vec![DccpOption::Mandatory, option.clone()]);
        assert_eq!(reset(packets).code, ResetCode::MANDATORY_ERROR, "section 6.6.9: {option:?}");
    }
}

#[test]
fn section_6_6_8_an_invalid_confirm_resets() {
    // The server wants 1; the client's list says that 0 is right, and it confirms 1, or the other way round.
    for (values, valid) in [
        (vec![1, 1], true),
        (vec![1], true),
        (vec![0, 0], true),
        (vec![1, 0], false),
        (vec![0, 1], false),
        (vec![7], false),
    ] {
        let mut pair = Pair::open(&config(), &config());
        pair.set_rule(|_, _, _| Action::Lose);
        pair.server().prefer(Location::Remote, FeatureId::SendNdpCount, &[1]);
        pair.run(TimeDelta::from_millis(10));
        let mut packet = pair.forged(To::Server, 1, PacketType::Ack);
        packet.options = vec![DccpOption::ConfirmL(said(7, &values))].into();
        let answers = pair.answers(To::Server, packet);
        if valid {
            assert_eq!(
                pair.server().feature(Location::Remote, FeatureId::SendNdpCount),
                u64::from(values[0])
            );
        } else {
            let reason = reset(answers);
            assert_eq!(
                (reason.code, reason.data),
                (ResetCode::OPTION_ERROR, [33, 7, values[0]]),
                "{values:?}"
            );
        }
    }
}

#[test]
fn section_6_6_8_a_confirm_that_nobody_waits_for_is_ignored() {
    let (mut pair, packets) =
        answers(vec![DccpOption::ConfirmL(said(7, &[1, 1])), DccpOption::ConfirmL(said(5, &[0, 9]))]);
    assert_eq!((packets, pair.server().state()), (vec![], State::Open));
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::SendNdpCount), 0);
}

#[test]
fn section_6_6_9_mandatory_without_a_shared_value_resets() {
    let change = DccpOption::ChangeL(said(1, &[77, 78]));
    let (mut pair, packets) = answers(vec![change.clone()]);
    assert_eq!(confirms(&only(packets)), [DccpOption::ConfirmR(said(1, &[2, 2]))], "the value stays");
    assert_eq!(pair.server().state(), State::Open);
    let (_, packets) = answers(vec![DccpOption::Mandatory, change]);
    let reason = reset(packets);
    assert_eq!((reason.code, reason.data), (ResetCode::MANDATORY_ERROR, [32, 1, 77]));
    let (_, packets) = answers(vec![DccpOption::Mandatory, DccpOption::ChangeL(said(99, &[1]))]);
    assert_eq!(reset(packets).code, ResetCode::MANDATORY_ERROR, "nor is an unknown feature understood");
}

#[test]
fn section_6_6_4_options_that_come_late_are_ignored() {
    let (mut pair, _) = answers(vec![DccpOption::ChangeL(said(5, &[0, 9]))]);
    let mut late = pair.forged(To::Server, 1, PacketType::DataAck);
    late.options = vec![DccpOption::ChangeL(said(5, &[0, 3]))].into();
    let mut later = pair.forged(To::Server, 2, PacketType::Ack);
    later.options = vec![DccpOption::ChangeL(said(5, &[0, 4]))].into();
    pair.run(secs(1));
    assert_eq!(confirms(&only(pair.answers(To::Server, later))), [DccpOption::ConfirmR(said(5, &[0, 4]))]);
    pair.answers(To::Server, late);
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 4);
}

#[test]
fn section_6_6_4_a_confirm_of_an_older_change_is_ignored() {
    let mut pair = Pair::open(&config(), &config());
    pair.set_rule(|_, _, _| Action::Lose);
    pair.client.announce(FeatureId::AckRatio, 3);
    pair.run(TimeDelta::from_millis(10));
    // Section 6.6.5: a new preference before the answer; what answers the old one counts no more.
    let mut confirm = pair.forged(To::Client, 1, PacketType::Ack);
    confirm.options = vec![DccpOption::ConfirmR(said(5, &[0, 3]))].into();
    pair.client.announce(FeatureId::AckRatio, 5);
    assert_eq!(pair.client.negotiation(Location::Local, FeatureId::AckRatio), NegotiationState::Unstable);
    pair.client.on_packet(pair.now, confirm.clone(), paceline_units::Ecn::NotEct);
    assert_eq!(pair.client.negotiation(Location::Local, FeatureId::AckRatio), NegotiationState::Unstable);
    // Not more than one packet in a round trip is for options alone.
    pair.run(TimeDelta::from_millis(150));
    assert_eq!(pair.client.negotiation(Location::Local, FeatureId::AckRatio), NegotiationState::Changing);
    confirm.sequence = confirm.sequence.plus(1);
    pair.answers(To::Client, confirm);
    assert_eq!(
        pair.client.feature(Location::Local, FeatureId::AckRatio),
        2,
        "it acknowledges the older Change"
    );
    pair.set_rule(|_, _, _| Action::Deliver);
    pair.run(secs(10));
    assert_eq!(pair.client.feature(Location::Local, FeatureId::AckRatio), 5);
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 5);
}

#[test]
fn section_6_6_6_both_may_begin_at_once() {
    for _ in 0..2 {
        let mut pair = Pair::open(&config(), &config());
        pair.client.prefer(Location::Remote, FeatureId::Ccid, &[3, 2]);
        pair.server().prefer(Location::Local, FeatureId::Ccid, &[2, 3]);
        pair.run(secs(3));
        let values = (
            pair.client.feature(Location::Remote, FeatureId::Ccid),
            pair.server().feature(Location::Local, FeatureId::Ccid),
        );
        assert_eq!(values, (2, 2), "the server's first");
        for (state, whose) in [
            (pair.client.negotiation(Location::Remote, FeatureId::Ccid), "client"),
            (pair.server().negotiation(Location::Local, FeatureId::Ccid), "server"),
        ] {
            assert_eq!(state, NegotiationState::Stable, "{whose}");
        }
    }
}

#[test]
fn section_6_6_3_changes_go_again_and_back_off_until_they_are_answered() {
    let mut pair = Pair::open(&config(), &config());
    let (first, begin) = (pair.log.len(), pair.now.as_nanos());
    pair.set_rule(|_, to, _| if to == To::Server { Action::Lose } else { Action::Deliver });
    pair.client.announce(FeatureId::AckRatio, 7);
    pair.run(secs(200));
    let at: Vec<u64> =
        pair.log[first..].iter().map(|(at, _, _)| (at.as_nanos() - begin) / 1_000_000).collect();
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps[0] >= 100 && gaps[0] < 120, "not less than a round trip: {gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0]) && gaps.last() == Some(&64_000), "{gaps:?}");
    let options = |n: usize| {
        pair.log[first + n].2.options.iter().find(|o| matches!(o, DccpOption::ChangeL(_))).cloned()
    };
    assert_eq!(options(0), options(5), "exactly the same");
    assert!(options(0).is_some());
    pair.set_rule(|_, _, _| Action::Deliver);
    pair.run(secs(70));
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 7);
}

#[test]
fn section_6_6_2_agreement_is_reached_over_any_loss() {
    for lost in 0..40 {
        let mut pair = Pair::open(&config(), &config());
        let first = pair.log.len();
        pair.set_rule(move |count, _, _| {
            if (count - first) % 5 == lost % 5 || count - first < lost / 5 {
                Action::Lose
            } else {
                Action::Deliver
            }
        });
        pair.client.prefer(Location::Local, FeatureId::Ccid, &[3, 2]);
        pair.server().prefer(Location::Remote, FeatureId::Ccid, &[2, 3]);
        pair.client.announce(FeatureId::SequenceWindow, 1000);
        pair.run(TimeDelta::from_millis(30 * i64::from(lost as u8)));
        pair.server().prefer(Location::Remote, FeatureId::Ccid, &[3, 2]);
        pair.run(secs(400));
        let client = pair.client.feature(Location::Local, FeatureId::Ccid);
        assert_eq!(client, pair.server().feature(Location::Remote, FeatureId::Ccid), "{lost}");
        assert_eq!(client, 3, "{lost}");
        assert_eq!(pair.server().feature(Location::Remote, FeatureId::SequenceWindow), 1000, "{lost}");
    }
}

#[test]
fn section_10_a_server_that_cannot_do_with_ccid_2_says_so_after_a_change_for_it() {
    let tfrc = DccpConfig { receive_ccids: vec![CCID_3], ..config() };
    let mut pair = Pair::new(&config(), &tfrc);
    pair.client.prefer(Location::Local, FeatureId::Ccid, &[CCID_2]);
    pair.run(secs(2));
    assert_eq!(pair.closed(To::Client), Some((ResetCode::MANDATORY_ERROR, false)));
    assert_eq!(pair.closed(To::Server), Some((ResetCode::MANDATORY_ERROR, true)));
}

#[test]
fn section_6_6_1_one_packet_in_a_round_trip_is_for_options_alone() {
    let mut pair = Pair::open(&config(), &config());
    pair.run(secs(5));
    let mut answers = Vec::new();
    for step in 1..=10 {
        let mut packet = pair.forged(To::Server, step, PacketType::Ack);
        packet.options = vec![DccpOption::ChangeL(said(5, &[0, step as u8]))].into();
        answers.extend(pair.answers(To::Server, packet));
    }
    assert_eq!(confirms(&only(answers)), [DccpOption::ConfirmR(said(5, &[0, 1]))]);
    let (from, first) = (pair.log.len(), pair.now);
    pair.run(secs(1));
    let later: Vec<_> = pair.log[from..].iter().flat_map(|(_, _, packet)| confirms(packet)).collect();
    assert_eq!(later, [DccpOption::ConfirmR(said(5, &[0, 10]))]);
    let second = pair.log[from..].iter().find(|(_, _, packet)| !confirms(packet).is_empty()).expect("one");
    let waited = second.0.saturating_since(first);
    assert!(waited >= TimeDelta::from_millis(100), "{waited:?}");
}

#[test]
fn section_6_6_4_what_waits_goes_again_with_what_is_new() {
    let mut pair = Pair::open(&config(), &config());
    pair.set_rule(|_, to, _| if to == To::Client { Action::Lose } else { Action::Deliver });
    pair.client.announce(FeatureId::AckRatio, 7);
    // It goes again after a round trip, and again after two more.
    pair.run(TimeDelta::from_millis(150));
    let from = pair.log.len();
    pair.client.announce(FeatureId::SequenceWindow, 500);
    pair.run(TimeDelta::from_millis(150));
    let numbers: Vec<u8> = pair.log[from..]
        .iter()
        .find(|(_, to, _)| *to == To::Server)
        .expect("a packet for them")
        .2
        .options
        .iter()
        .filter_map(|option| match option {
            DccpOption::ChangeL(said) => Some(said.feature),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [3, 5]);
    pair.set_rule(|_, _, _| Action::Deliver);
    pair.run(secs(2));
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), 7);
    assert_eq!(pair.server().feature(Location::Remote, FeatureId::SequenceWindow), 500);
}
