//! RFC 9260 (no text at hand): SACKs, fast retransmission, T3-rtx, HEARTBEATs and the end of an association.

use super::net::{Action, Net, at, bulk, config, messages, ms};
use paceline_cc::Assigned;
use paceline_ends::SendingEnd;
use paceline_sctp::{Backward, Forward, Sack, SctpConfig};
use paceline_units::{Bytes, Time};

fn sacks(net: &Net) -> Vec<(Time, &Sack)> {
    net.back
        .iter()
        .filter_map(|(at, packet)| match packet {
            Backward::Sack(sack) => Some((*at, sack)),
            Backward::HeartbeatAck(_) => None,
        })
        .collect()
}

/// Section 7.2.1 with packets of 1048 B: four at first, and the window lets a part of a packet more than it go (section 6.1 B).
#[test]
fn the_first_window_and_its_sacks() {
    let mut net = Net::new(&config(), vec![bulk(Some(100_000))]).started();
    net.run(at(60));
    assert_eq!(net.sent.iter().filter(|(left, _)| *left == at(0)).count(), 4, "min(4 x 1048, 4404)");
    let told: Vec<_> = sacks(&net).iter().map(|(at, sack)| (*at, sack.cumulative)).collect();
    assert_eq!(told, [(at(50), 1), (at(50), 3)], "a SACK for each second packet (section 6.2)");
    net.run(at(60_000));
    assert_eq!(net.received, 100_000);
    let whole = net.sender.poll_completed().expect("completed");
    assert_eq!((whole.size, whole.begun), (Bytes::new(100_000), at(0)));
}

/// Section 6.2: what is not the second packet waits for 200 ms.
#[test]
fn a_single_packet_is_told_of_after_200_ms() {
    let mut net = Net::new(&config(), vec![bulk(Some(900))]).started();
    net.run(at(1000));
    let told: Vec<_> = sacks(&net).iter().map(|(at, _)| *at).collect();
    assert_eq!(told, [at(250)]);
}

/// Section 7.2.4: three SACKs that miss a chunk let it go again at once, and the window is halved once.
#[test]
fn three_sacks_that_miss_a_chunk_let_it_go_again() {
    for missing_reports in [3, 4] {
        let config = SctpConfig { missing_reports, max_burst: 100, ..config() };
        let mut net = Net::new(&config, vec![bulk(None)]);
        net.sender.assign(at(0), Assigned::Window(Bytes::new(20 * 1048)));
        let mut net = net.started();
        for sack in 1..=6u32 {
            net.tell_sack(u32::MAX, &[(2, 1 + sack as u16)]);
            let again = u32::from(sack >= missing_reports);
            assert_eq!(net.times_of(0).len() as u32, 1 + again, "{sack} of {missing_reports}");
            assert_eq!(net.window(), if again == 1 { 10.0 } else { 20.0 });
        }
        assert_eq!((net.sender.counters().recoveries, net.sender.counters().retransmissions), (1, 1));
    }
}

/// Section 7.2.4: a fast retransmission that is lost too waits for T3-rtx, which leaves one packet.
#[test]
fn a_chunk_is_sent_again_fast_only_once() {
    let mut net = Net::new(&config(), vec![bulk(Some(60_000))]).dropping(&[20, 20]).started();
    net.run(at(20_000));
    let again = net.times_of(20);
    assert_eq!((again.len(), net.sender.counters().timeouts, net.received), (3, 1, 60_000));
    assert!(again[2] - again[1] >= ms(1000), "RTO.Min: {again:?}");
}

/// Sections 6.3.1 and 6.3.3: 1 s before there is a round trip, then twice as long each time, 60 s at most.
#[test]
fn t3_rtx_backs_off_and_the_association_fails_after_ten_in_a_row() {
    let mut net = Net::new(&config(), vec![bulk(None)]);
    net.data_rule = Box::new(|_, _| Action::Dropped);
    let mut net = net.started();
    net.run(at(3_600_000));
    let first: Vec<_> = net.times_of(0).iter().map(|left| (*left - at(0)).as_secs_f64()).collect();
    assert_eq!(first, [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 123.0, 183.0, 243.0, 303.0]);
    assert!(net.sender.is_over() && net.sender.has_failed());
    assert_eq!(net.sender.next_timeout(), None);
}

/// Sections 8.1 and 8.3: an idle path is asked a timeout after 30 s, and an association whose peer is gone fails.
#[test]
fn an_idle_path_is_asked_whether_it_is_there() {
    let beats = |net: &Net| -> Vec<f64> {
        let beats = net.sent.iter().filter(|(_, packet)| matches!(packet, Forward::Heartbeat(_)));
        beats.map(|(left, _)| (*left - at(0)).as_secs_f64()).collect()
    };
    let mut net = Net::new(&config(), vec![bulk(Some(900))]).started();
    net.run(at(100_000));
    assert_eq!(
        beats(&net),
        [31.0, 62.0, 93.0],
        "the round trip of the first chunk took 300 ms: RTO.Min holds"
    );
    assert!(net.back.iter().filter(|(_, packet)| matches!(packet, Backward::HeartbeatAck(_))).count() == 3);
    net.back_rule = Box::new(|_, _| Action::Dropped);
    net.run(at(3_600_000));
    assert!(net.sender.has_failed());
    assert_eq!(net.sender.counters().heartbeats, 3 + 11);
    // Data is an answer that counts.
    let mut net = Net::new(&config(), vec![messages(300)]).started();
    net.run(at(100_000));
    assert!(beats(&net).is_empty() && !net.sender.has_failed());
}

/// Section 6.1 D: four new packets after an event, though the window would let more go.
#[test]
fn a_burst_has_four_packets() {
    for max_burst in [4, 8] {
        let mut net = Net::new(&SctpConfig { max_burst, ..config() }, vec![bulk(None)]);
        net.sender.assign(at(0), Assigned::Window(Bytes::new(100 * 1048)));
        let mut net = net.started();
        assert_eq!(net.sent.len() as u64, max_burst);
        net.tell_sack(1, &[]);
        assert_eq!(net.sent.len() as u64, 2 * max_burst);
    }
}

/// Section 6.2 (a_rwnd): no more is under way than the receiver has room for, and one chunk always is.
#[test]
fn a_receiver_without_room_gets_one_chunk_at_a_time() {
    let config = SctpConfig { receive_window: Bytes::new(3000), ..config() };
    let mut net = Net::new(&config, vec![bulk(Some(30_000))]).started();
    net.run(at(60_000));
    assert_eq!(net.received, 30_000);
    let most = net.sent.iter().filter(|(left, _)| *left == at(0)).count();
    assert_eq!(most, 3);
    let mut net =
        Net::new(&SctpConfig { receive_window: Bytes::new(500), ..config }, vec![bulk(Some(5_000))])
            .started();
    net.run(at(60_000));
    assert_eq!(net.received, 5_000);
}

/// Paths of 20 us and of 20 s carry a file, without a retransmission once the round trip is known.
#[test]
fn the_shortest_and_the_longest_paths() {
    for (delay, most) in [(paceline_units::TimeDelta::from_micros(5), 0), (ms(5000), 40)] {
        let mut net = Net::new(&config(), vec![bulk(Some(300_000))]);
        net.delay = delay;
        let mut net = net.started();
        net.run(at(3_600_000));
        assert_eq!(net.received, 300_000);
        assert!(net.sender.counters().retransmissions <= most, "{:?}", net.sender.counters());
        assert!(!net.sender.has_failed());
    }
}
