//! Data both ways over a bad path, and what acknowledgements say of it: RFC 4340 section 11.

use super::net::{Action, Pair, To};
use paceline_cc::ReceiverReport;
use paceline_dccp::{CCID_3, DccpConfig, FeatureId, Location, State};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, TimeDelta};
use paceline_wire::dccp::{DccpOption, PacketType};

fn config() -> DccpConfig {
    DccpConfig { sequence_window: 2000, ..DccpConfig::default() }
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

/// Loses, doubles, delays and marks at random.
fn bad(seed: u64) -> impl FnMut(usize, To, &paceline_wire::dccp::Packet) -> Action {
    let mut random = RandomStream::new(seed, "path");
    move |_, _, _| match (random.uniform() * 100.0) as u32 {
        0..5 => Action::Lose,
        5..8 => Action::Twice,
        8..16 => Action::Late(TimeDelta::from_millis((random.uniform() * 80.0) as i64)),
        16..18 => Action::Mark,
        _ => Action::Deliver,
    }
}

fn exchange(client: &DccpConfig, server: &DccpConfig, seed: u64) -> Pair {
    let mut pair = Pair::with_rule(client, server, bad(seed));
    for round in 0..200 {
        if pair.client.state() == State::Open && pair.server().state() == State::Open {
            (0..3).for_each(|_| pair.send(To::Client, 700 + round));
            (0..2).for_each(|_| pair.send(To::Server, 500 + round));
        }
        pair.run(TimeDelta::from_millis(200));
    }
    pair.run(secs(30));
    pair
}

#[test]
fn data_flows_both_ways_over_a_bad_path() {
    for seed in 1..6 {
        let ect =
            DccpConfig { ect: Ecn::Ect0, timestamps: true, data_checksum: true, ndp_count: true, ..config() };
        let short = DccpConfig { short_numbers: true, ..config() };
        for (client, server) in [(config(), config()), (ect, short)] {
            let mut pair = exchange(&client, &server, seed);
            assert_eq!(
                (pair.client.state(), pair.server().state()),
                (State::Open, State::Open),
                "seed {seed}"
            );
            for (to, counters, other) in [
                (To::Server, *pair.client.counters(), *pair.server().counters()),
                (To::Client, *pair.server().counters(), *pair.client.counters()),
            ] {
                let delivered = pair.delivered(to).len() as f64;
                let sent = counters.data_sent as f64;
                assert_eq!(other.delivered as f64, delivered);
                // Of the path's 5 %: Syncs recover what is out of sync.
                assert!(
                    (0.88..0.99).contains(&(delivered / sent)),
                    "seed {seed} {to:?}: {delivered} of {sent}"
                );
            }
            assert_eq!(pair.client.queued() + pair.server().queued(), 0, "everything left");
            let (received, lost) =
                pair.client.sender().map_or((0, 0), |sender| (sender.received, sender.lost));
            assert!(received > 300 && lost > 5, "{received} {lost}");
            let marked = pair.client.sender().map_or(0, |sender| sender.marked);
            assert!(marked > 0, "marks come back");
        }
    }
}

#[test]
fn what_a_controller_hears_is_what_happened() {
    // Losses and marks one way only, nothing late: the Ack Vectors must tell exactly that.
    let (mut lost, mut marked) = (0, 0);
    let mut count = 0u64;
    let mut pair = Pair::open(&config(), &config());
    pair.set_rule(move |_, to, packet| {
        if to != To::Server || !matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) {
            return Action::Deliver;
        }
        count += 1;
        match count {
            100 | 200 | 201 | 350 => Action::Lose,
            150 | 300 => Action::Mark,
            _ => Action::Deliver,
        }
    });
    for _ in 0..500 {
        pair.send(To::Client, 100);
        pair.run(TimeDelta::from_millis(20));
    }
    pair.run(secs(2));
    if let Some(sender) = pair.client.sender() {
        (lost, marked) = (sender.lost, sender.marked);
        assert_eq!(sender.received, 496);
    }
    assert_eq!((lost, marked), (4, 2));
    assert_eq!(pair.delivered(To::Server).len(), 496);
}

#[test]
fn section_11_3_the_ack_ratio_is_kept() {
    for ratio in [1, 2, 5] {
        let mut pair = Pair::open(&config(), &config());
        pair.client.announce(FeatureId::AckRatio, ratio);
        pair.run(secs(1));
        assert_eq!(pair.server().feature(Location::Remote, FeatureId::AckRatio), ratio);
        let first = pair.log.len();
        for _ in 0..200 {
            pair.send(To::Client, 100);
            pair.run(TimeDelta::from_millis(10));
        }
        pair.run(secs(1));
        let acks = pair.types(To::Client, first).len() as u64;
        assert!((200 / ratio..=200 / ratio + 10).contains(&acks), "{ratio}: {acks}");
    }
}

#[test]
fn section_11_3_a_single_packet_is_acknowledged_after_the_delay() {
    let mut pair = Pair::open(&config(), &config());
    let (first, begin) = (pair.log.len(), pair.now);
    pair.send(To::Client, 100);
    pair.run(secs(1));
    let (at, _, packet) = pair.log[first..].iter().find(|(_, to, _)| *to == To::Client).expect("an Ack");
    assert_eq!((*at - begin, packet.packet_type()), (TimeDelta::from_millis(250), PacketType::Ack));
}

#[test]
fn section_11_1_acknowledgements_are_acknowledged_and_vectors_stay_short() {
    let mut pair = Pair::open(&config(), &config());
    for _ in 0..3000 {
        pair.send(To::Client, 100);
        pair.run(TimeDelta::from_millis(5));
    }
    let longest = pair
        .log
        .iter()
        .flat_map(|(_, _, packet)| &packet.options)
        .filter_map(|option| match option {
            DccpOption::AckVector { vector, .. } => {
                Some(vector.iter().map(|byte| u32::from(byte & 63) + 1).sum::<u32>())
            }
            _ => None,
        })
        .max();
    // A round trip is 20 packets; the client acknowledges once a round trip.
    assert!(longest.is_some_and(|packets| (20..100).contains(&packets)), "{longest:?}");
    let data_acks = pair.types(To::Server, 0).iter().filter(|kind| **kind == PacketType::DataAck).count();
    assert!((100..400).contains(&data_acks), "not every packet: {data_acks}");
}

#[test]
fn rfc_4341_section_6_2_1_who_is_silent_and_was_heard_is_quiescent() {
    let ms = TimeDelta::from_millis;
    let mut pair = Pair::open(&config(), &config());
    let quiescent = |pair: &mut Pair| {
        let now = pair.now;
        (pair.client.is_peer_quiescent(now), pair.server().is_peer_quiescent(now))
    };
    assert_eq!(quiescent(&mut pair), (true, true), "without data there is no sender");
    for _ in 0..100 {
        pair.send(To::Client, 100);
        pair.run(ms(10));
    }
    assert_eq!(quiescent(&mut pair), (true, false));
    // The last acknowledgements are never acknowledged: nobody sends anything.
    pair.run(secs(5));
    assert_eq!(quiescent(&mut pair), (true, false));
    pair.send(To::Client, 100);
    pair.run(ms(60));
    pair.send(To::Server, 100);
    pair.run(ms(60));
    // The client's last data is 60 ms old at the server, and so is the server's at the client; a round trip is 0.1 s.
    assert_eq!(quiescent(&mut pair), (false, false));
    pair.run(ms(600));
    assert_eq!(
        quiescent(&mut pair),
        (false, true),
        "the client acknowledged the vector that came with the data"
    );
}

#[test]
fn section_11_1_while_both_send_acknowledgements_of_data_do_for_those_of_acknowledgements() {
    let acknowledgements = |server_sends: bool| {
        let mut pair = Pair::open(&config(), &config());
        for round in 0..1000 {
            pair.send(To::Client, 100);
            // Never silent for long, and acknowledged by one packet in 0.2 s.
            if server_sends && round % 15 == 0 {
                pair.send(To::Server, 100);
            }
            pair.run(TimeDelta::from_millis(10));
        }
        let types = pair.types(To::Server, 0);
        types.iter().filter(|kind| matches!(kind, PacketType::Ack | PacketType::DataAck)).count()
    };
    // Ten seconds: once a round trip of 0.1 s, or for each of 67 packets and nothing besides.
    let (alone, both) = (acknowledgements(false), acknowledgements(true));
    assert!((60..110).contains(&alone), "{alone}");
    assert!((60..80).contains(&both), "{both}");
}

#[test]
fn section_11_2_what_does_not_fit_beside_data_goes_alone() {
    let mut pair = Pair::open(&config(), &config());
    let first = pair.log.len();
    for _ in 0..50 {
        pair.send(To::Client, 1464);
        pair.send(To::Server, 1464);
        pair.run(TimeDelta::from_millis(30));
    }
    pair.run(secs(3));
    assert_eq!((pair.delivered(To::Server).len(), pair.delivered(To::Client).len()), (50, 50));
    assert!(pair.log.iter().all(|(_, _, packet)| packet.size().as_u64() <= 1480));
    assert!(pair.types(To::Server, first).contains(&PacketType::Ack));
}

#[test]
fn section_8_2_small_data_carries_acknowledgements() {
    let mut pair = Pair::open(&config(), &config());
    let first = pair.log.len();
    for _ in 0..50 {
        pair.send(To::Client, 100);
        pair.send(To::Server, 100);
        pair.run(TimeDelta::from_millis(30));
    }
    let kinds = pair.types(To::Server, first);
    let acks = kinds.iter().filter(|kind| **kind == PacketType::Ack).count();
    assert!(kinds.contains(&PacketType::DataAck) && acks < 10, "{acks}");
}

#[test]
fn rfc_4342_section_6_ccid_3_reports_travel_as_options() {
    let tfrc = DccpConfig { send_ccids: vec![CCID_3], receive_ccids: vec![CCID_3], ..config() };
    let mut sent = 0;
    let mut pair = Pair::open(&tfrc, &tfrc);
    pair.set_rule(move |_, to, packet| {
        sent += usize::from(to == To::Server && packet.packet_type().is_data());
        if to == To::Server && sent == 150 { Action::Lose } else { Action::Deliver }
    });
    for _ in 0..300 {
        pair.send(To::Client, 984);
        pair.run(TimeDelta::from_millis(10));
    }
    // Two packets in 50 ms, or four in a round trip: the stand-in's window is four packets.
    pair.run(secs(20));
    let sender = pair.client.sender().expect("open");
    let reports: Vec<(f64, Bitrate, TimeDelta)> = sender
        .reports
        .iter()
        .map(|report| match report {
            ReceiverReport::Tfrc { loss_event_rate, receive_rate, delay, .. } => {
                (*loss_event_rate, *receive_rate, *delay)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert!((60..120).contains(&reports.len()), "{}", reports.len());
    assert_eq!(reports[5].0, 0.0, "without losses");
    let (rate, received, delay) = reports[reports.len() - 1];
    assert!((0.002..0.02).contains(&rate), "{rate}");
    assert!((Bitrate::from_kbps(100)..Bitrate::from_kbps(400)).contains(&received), "{received:?}");
    assert!(delay < TimeDelta::from_millis(60), "{delay:?}");
    let counters: Vec<u8> =
        pair.log.iter().filter(|(_, _, p)| p.payload.len() == 984).map(|(_, _, p)| p.ccval).collect();
    assert!((0..16).all(|counter| counters.contains(&counter)), "the window counter is in CCVal");
    assert_eq!(pair.delivered(To::Server).len(), 299);
}

#[test]
fn rfc_4341_section_6_1_1_lost_acknowledgements_are_counted() {
    let mut pair = Pair::open(&config(), &config());
    let mut acks = 0;
    pair.set_rule(move |_, to, _| {
        acks += usize::from(to == To::Client);
        if to == To::Client && acks % 10 == 5 { Action::Lose } else { Action::Deliver }
    });
    for _ in 0..400 {
        pair.send(To::Client, 100);
        pair.run(TimeDelta::from_millis(20));
    }
    let lost = pair.client.sender().map_or(0, |sender| sender.acknowledgments_lost);
    let sent = pair.server().counters().sent;
    assert!((sent / 10 - 3..=sent / 10 + 1).contains(&lost), "{lost} of {sent}");
}

#[test]
fn the_send_queue_is_discarded_where_the_controller_asks_no_more() {
    let mut pair = Pair::open(&config(), &config());
    pair.set_rule(|_, to, _| if to == To::Server { Action::Lose } else { Action::Deliver });
    (0..500).for_each(|_| pair.send(To::Client, 100));
    pair.run(secs(20));
    assert!(pair.client.queued() > 400, "a dead path takes a packet per timeout");
    let now = pair.now;
    pair.client.abort(now);
    assert_eq!((pair.client.queued(), pair.client.queued_bytes().as_u64()), (0, 0));
}

#[test]
fn section_11_3_a_hole_is_acknowledged_at_once_unless_only_the_ack_ratio_counts() {
    for (ack_at_once, expected) in [(true, 50), (false, 250)] {
        let server = DccpConfig { ack_at_once, ..config() };
        let mut pair = Pair::open(&config(), &server);
        pair.client.announce(FeatureId::AckRatio, 5);
        pair.run(secs(1));
        let (first, begin) = (pair.log.len(), pair.now);
        let mut lost = false;
        pair.set_rule(
            move |_, _, _| {
                if std::mem::replace(&mut lost, true) { Action::Deliver } else { Action::Lose }
            },
        );
        (0..2).for_each(|_| pair.send(To::Client, 100));
        pair.run(secs(1));
        let ack = pair.log[first..].iter().find(|(_, to, _)| *to == To::Client);
        let waited = ack.map(|(at, ..)| *at - begin);
        assert_eq!(waited, Some(TimeDelta::from_millis(expected)), "{ack_at_once}");
    }
}

#[test]
fn section_8_1_data_opens_a_server_that_acknowledges_by_the_ack_ratio_alone() {
    for (ack_at_once, expected) in [(true, 0), (false, 200)] {
        let server = DccpConfig { ack_at_once, ..config() };
        let mut pair = Pair::new(&config(), &server);
        // The Response arrives after a round trip, and with it the data leaves.
        pair.run(TimeDelta::from_millis(99));
        pair.send(To::Client, 100);
        pair.run(secs(2));
        assert_eq!(pair.delivered(To::Server).len(), 1);
        let (arrives, first) = (super::net::ms(150), pair.types(To::Client, 0).len());
        assert!(first >= 2, "a Response and an Ack");
        let ack = pair
            .log
            .iter()
            .find(|(_, to, packet)| *to == To::Client && packet.packet_type() == PacketType::Ack);
        let waited = ack.map(|(at, ..)| *at - arrives);
        assert_eq!(waited, Some(TimeDelta::from_millis(expected)), "{ack_at_once}");
        assert_eq!(pair.client.state(), State::Open);
    }
}

#[test]
fn a_counted_header_replaces_that_of_data_and_leaves_acknowledgements_their_options() {
    let counted = DccpConfig { counted_header: Some(Bytes::new(32)), ..config() };
    let mut pair = Pair::open(&counted, &counted);
    pair.send(To::Client, 500);
    pair.run(secs(1));
    let last = |kinds: [PacketType; 2]| {
        let found = pair.log.iter().rev().find(|(_, _, packet)| kinds.contains(&packet.packet_type()));
        &found.expect("there is one").2
    };
    let data = last([PacketType::Data, PacketType::DataAck]);
    assert_eq!(pair.client.size_of(data), Bytes::new(532));
    let ack = last([PacketType::Ack, PacketType::Ack]);
    assert!(!ack.options.is_empty());
    assert_eq!(pair.client.size_of(ack), ack.size() + Bytes::new(16), "as much longer as data is");
}
