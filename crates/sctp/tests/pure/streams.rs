//! Streams that do not wait for each other, and messages that are given up.

use super::net::{Net, at, bulk, config, messages, ms};
use paceline_cc::StreamId;
use paceline_ends::SendingEnd;
use paceline_sctp::{Forward, Order, SctpConfig};
use paceline_units::TimeDelta;

/// The longest delay of the frames of each of two streams, of which the first loses its chunk number 40.
fn delays(order: Order) -> [f64; 2] {
    let config = SctpConfig { order, ..config() };
    let mut net = Net::new(&config, vec![messages(300), messages(300)]);
    // Chunks of the two streams take turns: an even number is the first's.
    net = net.dropping(&[40]);
    let mut net = net.started();
    net.run(at(5_000));
    assert_eq!(net.sender.counters().retransmissions, 1);
    [0, 1].map(|stream| {
        let of_stream = net.displayed.iter().filter(|(_, id, _)| *id == StreamId(stream));
        of_stream.map(|(at, _, frame)| (*at - frame.captured).as_secs_f64()).fold(0.0, f64::max)
    })
}

/// RFC 9260 section 6.5: a loss in one stream delays nothing of another, unless both are one as over TCP.
#[test]
fn a_loss_in_one_stream_delays_nothing_of_another() {
    let [own, other] = delays(Order::Streams);
    assert!(own > 0.15, "{own}");
    assert_eq!(other, 0.05, "the path's delay");
    let [own, other] = delays(Order::Association);
    assert!(own > 0.15 && other > 0.13, "{own} {other}");
}

/// Section 6.6: of unordered messages only the one that was lost is late.
#[test]
fn unordered_messages_wait_for_none() {
    let late = |order| {
        let config = SctpConfig { order, ..config() };
        let mut net = Net::new(&config, vec![messages(300)]).dropping(&[40]).started();
        net.run(at(5_000));
        net.displayed.iter().filter(|(at, _, frame)| *at - frame.captured > ms(51)).count()
    };
    assert_eq!(late(Order::None), 1);
    assert!(late(Order::Streams) > 4, "{}", late(Order::Streams));
}

/// Section 6.9: large messages are cut into chunks and put together again, and order is kept with and without streams.
#[test]
fn messages_of_many_chunks_arrive_whole_and_in_order() {
    for order in [Order::Streams, Order::Association, Order::None] {
        let config = SctpConfig { order, initial_tsn: u32::MAX - 20, ..config() };
        let lost = [3, 17, 18, 40].map(|number: u32| config.initial_tsn.wrapping_add(number));
        let mut net = Net::new(&config, vec![messages(3500), messages(1200), bulk(Some(50_000))])
            .dropping(&lost)
            .started();
        net.run(at(4_900));
        net.sender.stop(net.now);
        net.run(at(60_000));
        for (stream, size) in [(0, 3500), (1, 1200)] {
            let frames: Vec<_> = net.displayed.iter().filter(|(_, id, _)| *id == StreamId(stream)).collect();
            assert!(frames.len() >= 100, "{order:?} {stream}: {}", frames.len());
            assert!(frames.iter().all(|(_, _, frame)| frame.bytes.as_u64() == size));
            let in_order = frames.windows(2).all(|pair| pair[0].2.captured < pair[1].2.captured);
            assert!(in_order || order == Order::None, "{order:?} {stream}");
        }
        assert_eq!(net.receiver.held().as_u64(), 0);
    }
}

/// RFC 3758: what is older than its lifetime is not sent again, the receiver goes on, and nothing else is lost.
#[test]
fn a_message_whose_time_is_over_is_given_up() {
    for (lifetime, order) in
        [(60, Order::Streams), (60, Order::None), (60, Order::Association), (1000, Order::Streams)]
    {
        let config = SctpConfig { order, lifetime: Some(ms(lifetime)), ..config() };
        let mut net = Net::new(&config, vec![messages(300), messages(1500)]);
        // A message given up leaves its bytes in the controller's flight until the receiver goes on.
        net.counts = false;
        let mut net = net.dropping(&[40, 61, 80, 81, 82]).started();
        net.run(at(4_990));
        net.sender.stop(net.now);
        net.run(at(20_000));
        let again = net.sender.counters().retransmissions;
        let forwards = net.sent.iter().filter(|(_, packet)| matches!(packet, Forward::ForwardTsn(_))).count();
        let displayed = net.displayed.len() as u64;
        if lifetime == 1000 {
            assert_eq!((again, forwards, displayed), (5, 0, 500));
        } else {
            let given_up = net.sender.counters().abandoned;
            assert_eq!(again, 0, "each loss takes a round trip to notice");
            assert!(forwards > 0 && given_up >= 3);
            let discarded = net.sender.frames().discarded;
            assert!(
                displayed + discarded == 500 && discarded >= given_up,
                "{order:?}: {displayed} {discarded}"
            );
            let worst = net.displayed.iter().map(|(at, _, frame)| *at - frame.captured).max();
            let waits = if order == Order::None { ms(120) } else { ms(260) };
            assert!(worst.is_some_and(|worst| worst < waits), "{order:?}: {worst:?}");
        }
        assert_eq!(net.receiver.held().as_u64(), 0);
        assert_eq!(net.sender.in_flight().as_u64(), 0);
    }
}

/// A file of which messages were given up was not sent whole, and each of its messages counts as captured.
#[test]
fn a_file_of_which_parts_were_given_up_is_not_complete() {
    for (lifetime, is_whole) in [(60, false), (1000, true)] {
        let config = SctpConfig { lifetime: Some(ms(lifetime)), ..config() };
        let mut net = Net::new(&config, vec![bulk(Some(100_000))]);
        net.counts = false;
        let mut net = net.dropping(&[40, 61, 80, 81, 82]).started();
        net.run(at(20_000));
        assert_eq!(net.sender.in_flight().as_u64(), 0);
        let (frames, completed) = (net.sender.frames(), net.sender.poll_completed());
        assert_eq!(completed.is_some(), is_whole, "{frames:?}");
        assert_eq!((frames.captured, frames.discarded), (100, net.sender.counters().abandoned));
        assert_eq!(frames.discarded == 0, is_whole, "{frames:?}");
    }
}

/// A queue that a slow path lets grow is emptied from its old end.
#[test]
fn messages_that_never_left_are_dropped_when_their_time_is_over() {
    let config =
        SctpConfig { lifetime: Some(ms(100)), receive_window: paceline_units::Bytes::new(1500), ..config() };
    let mut net = Net::new(&config, vec![messages(1000)]);
    net.counts = false;
    let mut net = net.started();
    net.run(at(10_000));
    let frames = net.sender.frames();
    assert!(frames.discarded > 300 && net.sender.counters().abandoned == 0, "{frames:?}");
    let age = net.sender.send_queue_age(net.now, StreamId(0));
    assert!(age <= ms(120), "{age:?}");
    assert!(net.displayed.iter().all(|(at, _, frame)| *at - frame.captured <= TimeDelta::from_millis(160)));
}

/// A stream that leaves is silent, and what was begun is sent to its end.
#[test]
fn streams_come_and_go() {
    let mut net = Net::new(&config(), vec![messages(300), messages(5000)]);
    net.sender.set_presence(at(0), StreamId(1), false);
    let mut net = net.started();
    net.run(at(1_000));
    assert!(net.displayed.iter().all(|(_, stream, _)| *stream == StreamId(0)));
    net.sender.set_presence(net.now, StreamId(1), true);
    net.run(at(2_000));
    net.sender.set_presence(net.now, StreamId(1), false);
    net.run(at(4_000));
    let of_second = net.displayed.iter().filter(|(_, stream, _)| *stream == StreamId(1)).count();
    assert!((20..=51).contains(&of_second), "{of_second}");
    assert_eq!(net.receiver.held().as_u64(), 0);
}
