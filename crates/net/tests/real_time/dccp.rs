//! DCCP over real sockets: the ends against each other, alone and through a relay; how connections end.

use crate::call::{anywhere, flow, loaded};
use crate::dccp_ends::{connect, direct, is_of_lateness, scenario};
use crate::ends::{Ends, run};
use crate::lateness::{judge_on_time, wait_until};
use paceline_net::{Control, NetError, NetOutput, Progress, ReceiveOptions, Receiver, SendOptions, Sender};
use paceline_units::{Time, TimeDelta};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};

/// Part of a connection that is some hundred packets, on a busy machine too.
const LONG_ENOUGH: Time = Time::from_nanos(600_000_000);

/// Waits until `carries` is set, which a receiver's progress does.
fn wait_for(carries: &AtomicBool) {
    wait_until("packets", || carries.load(Ordering::Relaxed));
}

#[test]
fn a_connection_opens_carries_and_closes() {
    judge_on_time(opened_and_closed, |outputs| {
        assert!(outputs.iter().all(|output| output.warnings.is_empty()), "{outputs:?}");
        for figures in outputs.each_ref().map(flow) {
            assert!(figures.throughput_mbps.expect("packets") > 2.0, "{figures:?}");
            assert!(figures.loss_ratio.expect("packets") < 0.5, "{figures:?}");
        }
        assert!(flow(&outputs[0]).packets_received > Some(100), "{:?}", flow(&outputs[0]));
    });
}

fn opened_and_closed() -> [NetOutput; 2] {
    let loaded = scenario("1s", "ccid2", "ecn = \"classic\"\ndccp = { short_numbers = true }");
    let (sent, received) = direct(&loaded);
    assert!(
        sent.warnings.iter().chain(&received.warnings).all(|said| is_of_lateness(said)),
        "{sent:?} {received:?}"
    );
    let (at_sender, at_receiver) = (flow(&sent), flow(&received));
    for figures in [at_sender, at_receiver] {
        assert_eq!(figures.ce_ratio, Some(0.0));
    }
    // Whatever was acknowledged had arrived.
    assert!(at_receiver.packets_received >= at_sender.packets_received, "{at_sender:?} {at_receiver:?}");
    assert!(at_sender.packets_sent >= at_receiver.packets_received && at_sender.packets_received > Some(10));
    assert!(at_sender.srtt_ms.mean.is_some() && at_receiver.one_way_delay_ms.mean.is_some());
    assert_eq!((at_sender.queue_delay_ms.mean, at_receiver.queue_delay_ms.mean), (None, None));
    for counters in [sent.counters, received.counters] {
        assert_eq!(
            (counters.malformed, counters.unknown_peers, counters.duplicates),
            (0, 0, 0),
            "{counters:?}"
        );
    }
    assert_eq!((sent.flows.rows(), received.flows.rows()), (20, 20));
    [sent, received]
}

#[test]
fn media_and_ccid3_without_ack_vectors() {
    judge_on_time(media, |[sent, received]| {
        // 30 frames in 0.6 s of speech.
        let (captured, shown) = (flow(sent).frames.captured, flow(received).frames.displayed);
        assert!((Some(20)..=Some(32)).contains(&captured), "{:?}", flow(sent).frames);
        assert!((Some(15)..=captured).contains(&shown), "{:?}", flow(received));
        assert!(flow(received).throughput_mbps.expect("packets") > 0.02, "{:?}", flow(received));
        assert!(flow(received).frame_delay_ms.p50.is_some_and(|delay| delay < 100.0), "{:?}", flow(received));
    });
}

fn media() -> [NetOutput; 2] {
    let loaded = loaded(
        "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\n\
         transport = \"dccp\"\ncontroller = \"ccid3\"\nsource = { kind = \"cbr\", rate = \"2Mbps\", \
         fps = 50 }\npath = [\"l\"]\nstart = \"100ms\"\nstop = \"900ms\"\n\
         pause = [[\"300ms\", \"500ms\"]]\n",
    );
    let (sent, received) = direct(&loaded);
    assert_eq!((flow(&sent).throughput_mbps, flow(&sent).loss_ratio), (None, None));
    assert!(sent.warnings.iter().any(|said| said.contains("dccp.ack_vector = true")), "{:?}", sent.warnings);
    assert_eq!(sent.warnings.len(), 1);
    assert!(received.warnings.is_empty(), "{:?}", received.warnings);
    // Media is RTP in its datagrams: frames are put together and shown.
    let shown = flow(&received).frames.displayed;
    assert!((Some(1)..=flow(&sent).frames.captured).contains(&shown), "{:?}", flow(&received));
    [sent, received]
}

/// Through the relay: the link is full, marks are seen at both ends, and the connection closes through it.
#[test]
fn a_relay_applies_the_link_and_lets_the_connection_close() {
    judge_on_time(relayed, |ends| {
        let relayed = flow(&ends.relay);
        for figures in [flow(&ends.sender), relayed, flow(&ends.receiver)] {
            assert!((2.0..5.2).contains(&figures.throughput_mbps.expect("packets")), "{figures:?}");
            let marked = figures.ce_ratio.expect("packets");
            assert!((0.0005..0.7).contains(&marked), "{figures:?}");
        }
        let link = ends.relay.summary.links["l"];
        assert!(link.utilisation.is_some_and(|used| used > 0.4), "{link:?}");
        assert!(relayed.packets_sent > Some(300), "{relayed:?}");
        assert!(ends.sender.warnings.is_empty(), "{:?}", ends.sender.warnings);
        assert!(ends.receiver.warnings.is_empty(), "{:?}", ends.receiver.warnings);
    });
}

fn relayed() -> Ends {
    let loaded = loaded(
        "duration = \"2s\"\nwarmup = \"500ms\"\n[links.l]\nrate = \"5Mbps\"\ndelay = \"10ms\"\n\
         queue = { kind = \"droptail\", limit = \"100ms\" }\nmark = { kind = \"classic\", at = \"20ms\", for = \
         \"10ms\" }\n[flows.f]\ntransport = \"dccp\"\ncontroller = \"ccid2\"\necn = \"classic\"\n\
         source = { kind = \"bulk\" }\npath = [\"l\"]\n",
    );
    let ends = run(&loaded, |_, _, _| ());
    let (sent, relayed) = (flow(&ends.sender), flow(&ends.relay));
    assert!(relayed.throughput_mbps.is_some_and(|mbps| mbps < 5.2), "{relayed:?}");
    assert!(sent.srtt_ms.p50.expect("acknowledgements") >= 20.0, "{sent:?}");
    let link = ends.relay.summary.links["l"];
    assert!(link.marked > 0, "{link:?}");
    // The link had more than media: what was negotiated, and acknowledgements of acknowledgements.
    assert!(
        Some(link.offered) >= relayed.packets_sent && relayed.packets_sent > Some(10),
        "{link:?} {relayed:?}"
    );
    let warned = [&ends.sender.warnings, &ends.receiver.warnings];
    assert!(warned.into_iter().flatten().all(|said| is_of_lateness(said)), "{warned:?}");
    assert_eq!(ends.relay.counters.unknown_peers + ends.relay.counters.malformed, 0);
    ends
}

#[test]
fn who_asks_for_another_service_is_told_so() {
    let here = scenario("60s", "ccid2", "dccp = { service = \"SC:call\" }");
    let there = scenario("60s", "ccid2", "dccp = { service = \"SC:film\" }");
    let (error, received) = connect(&there, &here);
    let message = error.expect_err("refused").to_string();
    assert!(message.contains("does not offer the service SC:film"), "{message}");
    assert!(message.contains("dccp.service"), "{message}");
    assert_eq!(flow(&received.expect("an output")).packets_received, Some(0));
}

#[test]
fn ends_with_different_controllers_are_told_so() {
    let (error, _) = connect(&scenario("60s", "ccid3", ""), &scenario("60s", "ccid2", ""));
    let error = error.expect_err("no agreement");
    assert!(matches!(error, NetError::NoConnection { .. }), "{error}");
    assert!(error.to_string().contains("same controller"), "{error}");
}

#[test]
fn a_second_sender_is_told_that_the_receiver_is_busy() {
    let loaded = scenario("60s", "ccid2", "");
    let (stop, carries) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let control = || Control { stop, progress: &|_| () };
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let to = receiver.address().expect("an address");
    let [first, second] = [0, 1].map(|_| Sender::bind(&loaded, &SendOptions::to(to)).expect("a sender"));
    let progress = &|told: Progress<'_>| {
        carries.fetch_or(told.reached().is_some_and(|at| at >= LONG_ENOUGH), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress }));
        let first = scope.spawn(move || first.run(&control()));
        wait_for(carries);
        let error = second.run(&control()).expect_err("busy").to_string();
        assert!(error.contains("has a sender already"), "{error}");
        stop.store(true, Ordering::Relaxed);
        // Both are stopped at the same time: each has its figures, whoever closed first.
        for end in [first, receiver] {
            let output = end.join().expect("no panic").expect("an output");
            assert!(output.summary.packets > Some(10) && output.summary.duration_s < 50.0);
        }
    });
}

#[test]
fn a_receiver_that_is_stopped_closes_and_the_sender_keeps_its_figures() {
    let loaded = scenario("60s", "ccid2", "");
    let [stop, go_on, carries] = &[false; 3].map(AtomicBool::new);
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let sender = Sender::bind(&loaded, &SendOptions::to(receiver.address().expect("an address")));
    let sender = sender.expect("a sender");
    let progress = &|told: Progress<'_>| {
        carries.fetch_or(told.reached().is_some_and(|at| at >= LONG_ENOUGH), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress }));
        let sender = scope.spawn(move || sender.run(&Control { stop: go_on, progress: &|_| () }));
        wait_for(carries);
        stop.store(true, Ordering::Relaxed);
        let sent = sender.join().expect("no panic").expect("an output");
        assert!(sent.warnings.iter().any(|said| said.contains("the receiver closed")), "{:?}", sent.warnings);
        assert!(flow(&sent).packets_received > Some(10) && sent.summary.duration_s < 50.0);
        let received = receiver.join().expect("no panic").expect("an output");
        assert!(received.warnings.iter().all(|said| is_of_lateness(said)), "{:?}", received.warnings);
    });
}

#[test]
fn a_sender_that_nobody_answers_says_so() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = silent.local_addr().expect("an address");
    let control = Control { stop: &AtomicBool::new(false), progress: &|_| () };
    let options = SendOptions { patience: TimeDelta::from_millis(200), ..SendOptions::to(to) };
    for (duration, options) in [("60s", options), ("200ms", SendOptions::to(to))] {
        let sender =
            Sender::bind(&scenario(duration, "ccid2", ""), &options).expect("a sender").run(&control);
        let message = sender.expect_err("nobody answers").to_string();
        assert!(message.contains(&format!("nothing answered at {to} within 0.")), "{message}");
    }
    // A caller that stops it knows.
    let stopped = Control { stop: &AtomicBool::new(true), ..control };
    let loaded = scenario("60s", "ccid2", "");
    assert!(Sender::bind(&loaded, &SendOptions::to(to)).expect("a sender").run(&stopped).is_ok());
}

#[test]
fn what_does_not_fit_and_what_nobody_offers() {
    // Loopback's largest datagram of IPv4 is of 65,507 bytes.
    let (sent, received) = direct(&scenario("2s", "ccid2", "packet_size = \"65520B\""));
    assert!(
        sent.warnings.iter().any(|said| said.contains("packet_size of 65520 B") && said.contains("65507 B")),
        "{:?}",
        sent.warnings
    );
    assert!(
        sent.counters.unsendable == 0 && flow(&received).packets_received > Some(0),
        "{:?}",
        sent.counters
    );
    let (sent, _) = direct(&scenario("2s", "ccid2", "dccp = { handshake = false }"));
    assert!(sent.warnings.iter().any(|said| said.contains("dccp.handshake = false")), "{:?}", sent.warnings);
    let two = loaded(
        "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\n\
         transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncount = 2\n",
    );
    let error = Receiver::bind(&two, &ReceiveOptions::on(anywhere())).err().expect("which?").to_string();
    assert_eq!(error, "flow: found 2 flows and none named, expected one of f-1, f-2");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a socket").local_addr().expect("an address");
    let holder = UdpSocket::bind(taken).expect("the same again");
    let error = Receiver::bind(&scenario("1s", "ccid2", ""), &ReceiveOptions::on(taken)).err();
    assert!(error.expect("taken").to_string().contains("another program uses it"));
    drop(holder);
    let path = "no-such-folder/there.pcap";
    let options = ReceiveOptions { capture: Some(path.into()), ..ReceiveOptions::on(anywhere()) };
    let sound = scenario("1s", "ccid2", "");
    let receiver = Receiver::bind(&sound, &options).expect("a receiver");
    let control = Control { stop: &AtomicBool::new(true), progress: &|_| () };
    let error = receiver.run(&control).expect_err("no folder").to_string();
    assert!(error.contains(path) && error.contains("cannot be written"), "{error}");
}
