//! One end against a peer that the test plays: errors, hostile feedback, and stopping.

use crate::call::{anywhere, flow, loaded};
use crate::lateness::judge_on_time;
use paceline_cc::StreamId;
use paceline_net::{
    Control, NetError, NetOutput, Progress, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions,
    Sender, receive,
};
use paceline_scenario::Loaded;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::{ccfb, rtp};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn send(loaded: &Loaded, options: &SendOptions, control: &Control<'_>) -> Result<NetOutput, NetError> {
    Sender::bind(loaded, options)?.run(control)
}

fn probe(duration: &str) -> Loaded {
    loaded(&format!(
        "duration = \"{duration}\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n[flows.probe]\n\
         controller = {{ kind = \"fixed\", rate = \"2Mbps\" }}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n"
    ))
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    socket
}

/// A report on the packets `begin..begin + count`, all received, of the stream with this SSRC.
fn report(written: Time, begin: u64, count: u32, ssrc: u32) -> Vec<u8> {
    let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count }];
    let arrivals = vec![ArrivalReport::Received { at: Some(written), ecn: Ecn::NotEct }; count as usize];
    let mut out = Vec::new();
    ccfb::encode(&Feedback { written, blocks, arrivals }, 1, |_| ssrc, &mut out).expect("encoded");
    out
}

#[test]
fn hostile_feedback_is_counted_and_changes_nothing() {
    judge_on_time(beside_hostile_feedback, |output| {
        let figures = flow(output);
        assert!((1.0..2.1).contains(&figures.throughput_mbps.expect("packets")), "{figures:?}");
        assert!(figures.packets_received > Some(60), "{figures:?}");
    });
}

/// However late the machine is, each forgery is counted, and nothing is taken for lost.
fn beside_hostile_feedback() -> NetOutput {
    let loaded = probe("1s");
    let (peer, unknown) = (socket(), socket());
    let address = peer.local_addr().expect("address");
    let sender = Sender::bind(&loaded, &SendOptions { ssrc: Some(100), ..SendOptions::to(address) })
        .expect("a sender");
    let source = sender.address().expect("an address");
    let over = &AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut buffer, began) = ([0; 2000], Instant::now());
            while !over.load(Ordering::Relaxed) {
                let Ok((length, _)) = peer.recv_from(&mut buffer) else { continue };
                let header = rtp::decode(&buffer[..length]).expect("RTP").header;
                assert_eq!(header.ssrc, 100);
                let now = Time::from_nanos(1_000_000_000 + began.elapsed().as_nanos() as u64);
                let received = u64::from(header.sequence);
                let truncated = report(now, received, 1, 100)[..17].to_vec();
                let answers = [
                    report(now, received, 1, 100),
                    report(now, received + 20_000, 3, 100),
                    report(now, received, 2, 7),
                    truncated,
                    vec![0x80, 200, 0, 0],
                    vec![0xff; 40],
                    Vec::new(),
                ];
                answers.iter().for_each(|bytes| drop(peer.send_to(bytes, source)));
                let _ = unknown.send_to(&report(now, received, 4, 100), source);
            }
        });
        let output = sender.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () });
        over.store(true, Ordering::Relaxed);
        output.expect("an output")
    });
    let (figures, counters) = (flow(&output), output.counters);
    assert_eq!(figures.loss_ratio, Some(0.0), "{figures:?}");
    let reports = figures.packets_received.expect("known");
    assert!(reports > 0, "{figures:?}");
    let about = |count: u64, each: u64| count.abs_diff(each * reports) <= each * 20;
    assert!(about(counters.unknown_reports, 3), "{counters:?}");
    assert!(about(counters.unknown_ssrc, 1), "{counters:?}");
    assert!(about(counters.unknown_peers, 1), "{counters:?}");
    assert!(about(counters.other_rtcp, 1), "{counters:?}");
    assert!(about(counters.malformed, 2), "{counters:?}");
    output
}

#[test]
fn a_sender_that_nobody_answers_says_so() {
    let silent = socket();
    let address = silent.local_addr().expect("address");
    let options = SendOptions { patience: TimeDelta::from_millis(300), ..SendOptions::to(address) };
    let control = Control { stop: &AtomicBool::new(false), progress: &|_| () };
    let error = send(&probe("60s"), &options, &control).expect_err("nobody answers");
    assert!(matches!(error, NetError::NothingAnswered { .. }));
    assert!(error.to_string().contains(&format!("nothing answered at {address}")), "{error}");
    // A run that is over before the patience is.
    let short = send(&probe("200ms"), &SendOptions::to(address), &control).expect_err("nobody answers");
    assert!(short.to_string().contains(&format!("nothing answered at {address} within 0.")), "{short}");
    let stopped = Control { stop: &AtomicBool::new(true), ..control };
    assert!(send(&probe("200ms"), &SendOptions::to(address), &stopped).is_ok(), "who stops it knows");
    let nowhere = SendOptions::to(anywhere());
    assert!(matches!(send(&probe("1s"), &nowhere, &control), Err(NetError::NoPort { .. })));
    let nowhere = RelayOptions::between(anywhere(), anywhere());
    assert!(matches!(Relay::bind(&probe("1s"), &nowhere), Err(NetError::NoPort { .. })));
    let options = SendOptions { flow: Some("probes".into()), ..options };
    let error = send(&probe("60s"), &options, &control).expect_err("no such flow").to_string();
    assert_eq!(error, "flow: found \"probes\", expected one of probe; did you mean probe?");
}

/// RFC 8083 section 4.1, by default over sockets: 15 s after the last report the call is over.
#[test]
fn a_receiver_that_falls_silent_for_good_ends_the_call() {
    let (loaded, peer) = (probe("60s"), socket());
    let address = peer.local_addr().expect("address");
    let sender = Sender::bind(&loaded, &SendOptions { ssrc: Some(100), ..SendOptions::to(address) })
        .expect("a sender");
    let source = sender.address().expect("an address");
    let began = Instant::now();
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        while began.elapsed() < Duration::from_secs(1) {
            let Ok((length, _)) = peer.recv_from(&mut buffer) else { continue };
            let received = rtp::decode(&buffer[..length]).expect("RTP").header.sequence;
            let now = Time::from_nanos(1_000_000_000 + began.elapsed().as_nanos() as u64);
            let _ = peer.send_to(&report(now, received.into(), 1, 100), source);
        }
        std::thread::sleep(Duration::from_secs(30));
    });
    let output =
        sender.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () }).expect("an output");
    let seconds = began.elapsed().as_secs_f64();
    assert!((15.5..60.0).contains(&seconds), "{seconds} s");
    assert_eq!(output.counters.circuit_breakers, 1);
    let said = output.warnings.iter().find(|said| said.starts_with("a circuit breaker ended the call at "));
    assert!(said.is_some_and(|said| said.contains("no report for 15 s")), "{:?}", output.warnings);
}

#[test]
fn a_receiver_ends_when_it_is_told_and_when_it_is_left() {
    let control = Control { stop: &AtomicBool::new(true), progress: &|_| () };
    let output = receive(None, &ReceiveOptions::on(anywhere()), &control).expect("an output");
    assert_eq!((flow(&output).controller, flow(&output).throughput_mbps), ("unknown", None));
    let patience = Some(TimeDelta::from_millis(100));
    let options = ReceiveOptions { patience, ..ReceiveOptions::on(anywhere()) };
    let control = Control { stop: &AtomicBool::new(false), progress: &|_| () };
    let error = receive(None, &options, &control).expect_err("nobody sends");
    assert!(matches!(error, NetError::NothingArrived { .. }));
    let loaded = probe("60s");
    let options = ReceiveOptions { silence: Some(TimeDelta::from_millis(200)), ..options };
    let receiver = Receiver::bind(&loaded, &options).expect("a receiver");
    leave_after_two_packets(receiver.address().expect("an address"));
    let output = receiver.run(&control).expect("an output");
    assert_eq!((output.summary.packets, output.counters.sent), (Some(2), 2));
    // Nothing is known of a sender that does not say when it sent.
    assert_eq!((flow(&output).one_way_delay_ms.mean, flow(&output).frame_delay_ms.mean), (None, None));
}

/// Two frames of one packet each, without times in the payload; the receiver's socket keeps them until it runs.
#[test]
fn a_receiver_says_that_its_sender_fell_silent() {
    let loaded = probe("60s");
    let silence = Some(TimeDelta::from_millis(5500));
    let receiver = Receiver::bind(&loaded, &ReceiveOptions { silence, ..ReceiveOptions::on(anywhere()) })
        .expect("a receiver");
    leave_after_two_packets(receiver.address().expect("an address"));
    let output =
        receiver.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () }).expect("an output");
    let span = |said: &String| -> Option<f64> {
        let (_, span) = said.strip_prefix("nothing arrived from 0.")?.split_once(" s on, for ")?;
        span.strip_suffix(" s")?.parse().ok()
    };
    let said = output.warnings.iter().find_map(span);
    // Longer where the receiver was late to look.
    assert!(said.is_some_and(|seconds| (5.5..60.0).contains(&seconds)), "{:?}", output.warnings);
}

fn leave_after_two_packets(target: SocketAddr) {
    let sender = socket();
    for sequence in 0..2u8 {
        let header = [0x80, 0x80 | 98, 0, sequence, 0, 0, 0, sequence, 0, 0, 0, 42];
        sender.send_to(&[&header[..], &[0; 100]].concat(), target).expect("sent");
    }
}

/// Pictures are encoded in a simulation only; a TFRC flow, whose receiver reports in a format of its own, is carried.
#[test]
fn a_flow_that_cannot_be_carried_is_refused() {
    let flow = |controller: &str, source: &str| {
        let scenario = loaded(&format!(
            "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
             controller = \"{controller}\"\nsource = {source}\npath = [\"l\"]\n"
        ));
        let to = SocketAddr::from(([127, 0, 0, 1], 9));
        Sender::bind(&scenario, &SendOptions::to(to)).err().map(|error| error.to_string())
    };
    assert_eq!(flow("tfrc", "{ kind = \"bulk\" }"), None);
    let message = flow("scream", "{ kind = \"codec\", generator = \"newsreader\" }").expect("refused");
    assert!(message.contains("source") && message.contains("simulation"), "{message}");
}

/// A sender that is late when it is stopped, and a relay that is late at the end, have a row of every interval.
#[test]
fn an_end_that_is_late_at_its_end_has_every_row() {
    let loaded = loaded(
        "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.probe]\n\
         controller = { kind = \"fixed\", rate = \"1Mbps\" }\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n\
         stop = \"500ms\"\n",
    );
    let peer = socket();
    let to = peer.local_addr().expect("an address");
    let relay = Relay::bind(&loaded, &RelayOptions::between(anywhere(), to)).expect("a relay");
    let middle = relay.address().expect("an address");
    let last = Time::from_nanos(950_000_000);
    let (stop, go_on) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let late = |told: Progress<'_>| {
        if told.reached() >= Some(last) {
            std::thread::sleep(Duration::from_millis(150));
        }
    };
    let stopped = |told: Progress<'_>| {
        late(told);
        stop.fetch_or(told.reached() >= Some(last), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay.run(&Control { stop: go_on, progress: &late }));
        let sent = send(&loaded, &SendOptions::to(middle), &Control { stop, progress: &stopped });
        let relayed = relay.join().expect("no panic").expect("an output");
        let sent = sent.expect("stopped");
        let rows = [sent.flows.rows(), relayed.flows.rows(), relayed.links.rows()];
        assert_eq!(rows, [20; 3]);
    });
}

/// A sender that did not run for 40 ms says how late its packets were then, and that most were not.
#[test]
fn a_sender_says_how_late_its_packets_left() {
    judge_on_time(sleeping, |[median, p95]| assert!(*median < 10.0 && p95 >= median, "{median} {p95}"));
}

/// The median lateness, and that of nineteen of twenty packets; whatever else the machine does, the longest is that of the sleep.
fn sleeping() -> [f64; 2] {
    let loaded = loaded(
        "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.probe]\n\
         controller = { kind = \"fixed\", rate = \"2Mbps\" }\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n",
    );
    let peer = socket();
    let options = SendOptions::to(peer.local_addr().expect("an address"));
    let stop = &AtomicBool::new(false);
    let sleeps = |told: Progress<'_>| {
        if told.reached() == Some(Time::from_nanos(500_000_000)) {
            std::thread::sleep(Duration::from_millis(40));
        }
        stop.fetch_or(told.reached() >= Some(Time::from_nanos(950_000_000)), Ordering::Relaxed);
    };
    let counters = send(&loaded, &options, &Control { stop, progress: &sleeps }).expect("stopped").counters;
    let of = |figure: Option<f64>| figure.expect("packets left");
    let [median, most] = [counters.late_p50_ms, counters.late_max_ms].map(of);
    assert!(most >= 35.0, "{most}");
    assert_eq!(counters.late_share, None);
    [median, of(counters.late_p95_ms)]
}
