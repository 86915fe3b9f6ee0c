//! The controllers themselves, CCID 2 and CCID 3, over a pipe that loses both ways.

use super::net::{Action, Pair, To};
use paceline_cc::ccid::ccid2::{self, Ccid2};
use paceline_cc::ccid::ccid3::{self, Ccid3, Ccid3Receiver};
use paceline_cc::{Controller, FlowSetup, Snapshot};
use paceline_dccp::{CCID_2, CCID_3, Ccid, Ccids, DccpConfig, FeatureId, Location, State};
use paceline_units::{Bytes, RandomStream, TimeDelta};
use paceline_wire::dccp::{DccpOption, Packet, PacketType, Payload, ResetCode, option_type};

/// Largest packet on the link.
const PACKET: Bytes = Bytes::new(1016);
const PAYLOAD: u32 = 1000;

#[derive(Clone, Copy)]
struct Two;

impl Ccids for Two {
    type Sender = Ccid2;
    type Receiver = Ccid3Receiver;

    fn sender(&self, ccid: Ccid) -> Option<Ccid2> {
        (ccid == CCID_2).then(|| Ccid2::new(&ccid2::Params::default(), &FlowSetup::new(PACKET)))
    }

    fn receiver(&self, _ccid: Ccid) -> Option<Ccid3Receiver> {
        None
    }
}

#[derive(Clone, Copy)]
struct Three;

impl Ccids for Three {
    type Sender = Ccid3;
    type Receiver = Ccid3Receiver;

    fn sender(&self, ccid: Ccid) -> Option<Ccid3> {
        (ccid == CCID_3).then(|| Ccid3::new(&ccid3::Params::default(), &FlowSetup::new(PACKET)))
    }

    fn receiver(&self, ccid: Ccid) -> Option<Ccid3Receiver> {
        (ccid == CCID_3).then(|| Ccid3Receiver::new(&ccid3::Params::default()))
    }
}

fn config(ccid: Ccid) -> DccpConfig {
    let ccids = vec![ccid];
    DccpConfig {
        send_ccids: ccids.clone(),
        receive_ccids: ccids,
        sequence_window: 10_000,
        send_queue: 100_000,
        ..DccpConfig::default()
    }
}

/// Loses so much of what goes to the server, and of what goes to the client.
fn lossy(seed: u64, to_server: f64, to_client: f64) -> impl FnMut(usize, To, &Packet) -> Action {
    let mut random = RandomStream::new(seed, "path");
    move |_, to, _| {
        let ratio = if to == To::Server { to_server } else { to_client };
        if random.uniform() < ratio { Action::Lose } else { Action::Deliver }
    }
}

struct Bulk<F: Ccids> {
    pair: Pair<F>,
    delivered: u64,
}

/// The client keeps its queue filled for `span`; at most 20 Mbit/s reach the server.
fn bulk<F: Ccids + Clone>(
    ccids: F,
    ccid: Ccid,
    span: TimeDelta,
    rule: impl FnMut(usize, To, &Packet) -> Action + 'static,
) -> Bulk<F> {
    let config = config(ccid);
    let pair = Pair::with_ccids(ccids, &config, &config, Payload::EMPTY, rule);
    let mut bulk = Bulk { pair, delivered: 0 };
    bulk.run(span);
    bulk
}

impl<F: Ccids + Clone> Bulk<F> {
    /// Goes on for so long, with always something to send.
    fn run(&mut self, span: TimeDelta) {
        let end = self.pair.now + span;
        while self.pair.now < end {
            while self.pair.client.queued() < 200 {
                self.pair.send(To::Client, PAYLOAD);
            }
            self.pair.run(TimeDelta::from_millis(20));
        }
        self.delivered = self.pair.server().counters().delivered;
    }
}

fn secs(secs: i64) -> TimeDelta {
    TimeDelta::from_secs(secs)
}

/// The equation of RFC 5348 section 3.1, packets per second.
fn equation(p: f64, rtt: f64) -> f64 {
    let f = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * f)
}

#[test]
fn ccid_2_sends_what_its_window_lets_through_losses_both_ways() {
    for (seed, loss) in [(1, 0.01), (2, 0.01), (3, 0.1), (4, 0.1)] {
        let found = bulk(Two, CCID_2, secs(120), lossy(seed, loss, loss));
        let rate = found.delivered as f64 / 120.0;
        let expected = equation(loss, 0.1);
        assert_eq!(found.pair.client.state(), State::Open);
        assert!((0.4..1.6).contains(&(rate / expected)), "{loss}: {rate} packets/s, equation {expected}");
    }
}

#[test]
fn ccid_3_sends_what_the_equation_says_through_losses_both_ways() {
    for (seed, loss) in [(1, 0.01), (2, 0.01), (3, 0.1), (4, 0.1)] {
        let found = bulk(Three, CCID_3, secs(120), lossy(seed, loss, loss));
        let rate = found.delivered as f64 / 120.0;
        let expected = equation(loss, 0.1);
        assert_eq!(found.pair.client.state(), State::Open);
        assert!((0.5..1.6).contains(&(rate / expected)), "{loss}: {rate} packets/s, equation {expected}");
    }
}

#[test]
fn without_losses_both_double_until_the_first() {
    // Slow start from four packets in 100 ms: after 1 s no more than 4 * 2^10, and far more than 4 per round trip.
    for (delivered, snapshot) in [without_losses(Two, CCID_2), without_losses(Three, CCID_3)] {
        assert!((200..8192).contains(&delivered), "{delivered}");
        let srtt = snapshot.srtt.expect("measured").as_millis_f64();
        assert!((99.0..115.0).contains(&srtt), "{srtt}");
    }
}

fn without_losses<F: Ccids + Clone>(ccids: F, ccid: Ccid) -> (u64, Snapshot) {
    let config = config(ccid);
    let mut pair = Pair::with_ccids(ccids, &config, &config, Payload::EMPTY, |_, _, _| Action::Deliver);
    (0..8192).for_each(|_| pair.send(To::Client, PAYLOAD));
    pair.run(secs(1));
    let delivered = pair.server().counters().delivered;
    let snapshot = pair.client.sender().expect("open").snapshot();
    (delivered, snapshot)
}

#[test]
fn rfc_4341_section_6_1_lost_acknowledgements_raise_the_ack_ratio() {
    let acks = |found: &Bulk<Two>| {
        let acks = found.pair.log.iter().filter(|(_, to, _)| *to == To::Client).count();
        found.delivered as f64 / acks as f64
    };
    // 1 % of data is lost either way, so that windows are alike.
    let clean = bulk(Two, CCID_2, secs(60), lossy(1, 0.001, 0.0));
    let mut bad = bulk(Two, CCID_2, secs(60), lossy(1, 0.001, 0.2));
    assert!((1.7..2.2).contains(&acks(&clean)), "{}", acks(&clean));
    let ratio = |bad: &mut Bulk<Two>| bad.pair.server().feature(Location::Remote, FeatureId::AckRatio);
    let highest = ratio(&mut bad);
    assert!(highest > 2 && acks(&bad) > 1.3 * acks(&clean), "{highest}, {} per ack", acks(&bad));
    // The receiver hears of a window that a timeout has made small some round trips later.
    let mut windows = vec![];
    for _ in 0..60 {
        bad.run(TimeDelta::from_millis(50));
        windows.push(bad.pair.client.sender().expect("open").cwnd());
        let lately = windows.iter().rev().take(10).max().expect("the newest");
        let ratio = ratio(&mut bad);
        assert!(
            windows.len() < 10 || ratio <= *lately,
            "an acknowledgement in each window: {ratio} of {lately}"
        );
    }
}

#[test]
fn rfc_4342_section_6_feedback_comes_once_a_round_trip_with_intervals() {
    let found = bulk(Three, CCID_3, secs(60), lossy(1, 0.01, 0.0));
    let feedback: Vec<&Packet> = found
        .pair
        .log
        .iter()
        .filter(|(_, to, packet)| *to == To::Client && packet.packet_type() == PacketType::Ack)
        .map(|(_, _, packet)| packet)
        .collect();
    // 600 round trips and some 400 losses.
    assert!((500..1500).contains(&feedback.len()), "{}", feedback.len());
    let has = |packet: &Packet, wanted: u8| {
        packet
            .options
            .iter()
            .any(|option| matches!(option, DccpOption::Other { kind, .. } if *kind == wanted))
    };
    let full = feedback.iter().filter(|packet| {
        [option_type::LOSS_EVENT_RATE, option_type::RECEIVE_RATE, option_type::LOSS_INTERVALS]
            .iter()
            .all(|kind| has(packet, *kind))
    });
    assert!(full.count() + 10 > feedback.len());
    assert!(found.pair.log.iter().all(|(_, _, packet)| packet.size() <= Bytes::new(1480)));
}

#[test]
fn section_8_1_a_lost_packet_of_the_handshake_delays_and_does_not_kill() {
    fn opens<F: Ccids + Clone>(ccids: F, ccid: Ccid, lost: usize) -> u64 {
        let rule = move |n, _, _: &Packet| if n == lost { Action::Lose } else { Action::Deliver };
        let mut found = bulk(ccids, ccid, secs(5), rule);
        assert_eq!(found.pair.server().state(), State::Open, "packet {lost} lost");
        found.delivered
    }
    for lost in 0..6 {
        assert!(opens(Two, CCID_2, lost) > 500, "CCID 2, {lost}");
        assert!(opens(Three, CCID_3, lost) > 500, "CCID 3, {lost}");
    }
}

#[test]
fn section_8_3_the_end_comes_after_what_waits_though_packets_are_lost() {
    fn ends<F: Ccids + Clone>(ccids: F, ccid: Ccid) {
        for seed in 1..4 {
            let mut found = bulk(ccids.clone(), ccid, secs(3), lossy(seed, 0.1, 0.1));
            let now = found.pair.now;
            found.pair.client.close(now);
            found.pair.run(secs(400));
            assert_eq!(found.pair.client.queued(), 0);
            assert_eq!(found.pair.closed(To::Server).map(|(code, _)| code), Some(ResetCode::CLOSED));
            assert_eq!(found.pair.client.state(), State::Closed, "after TIMEWAIT");
        }
    }
    ends(Two, CCID_2);
    ends(Three, CCID_3);
}
