//! Two flows that share by a coupling, sent by one process through one relay, on loopback.

use crate::call::two_flows::{after, camera_and_slides, on_two_ports};
use crate::call::{self, anywhere, loaded};
use crate::lateness::judge_on_time;
use paceline_cc::StreamId;
use paceline_metrics::TimeSeries;
use paceline_net::{
    Control, NetError, NetOutput, Progress, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions,
    Sender,
};
use paceline_scenario::Loaded;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{self, ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::delays::{self, DelaySummaryPacket};
use paceline_wire::rtp;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The times, in seconds, and the values of a column in the rows of a flow from one time on to another.
fn values(
    series: &TimeSeries,
    flow: &str,
    column: &str,
    from: f64,
    until: f64,
) -> impl Iterator<Item = (f64, f64)> {
    let (times, names) = (series.float("time_s").expect("times"), series.text("flow").expect("names"));
    let values = series.float(column).expect("a column");
    let rows = (0..series.rows()).filter(move |row| names.value(*row) == Some(flow));
    let found = rows.filter_map(|row| Some((times.value(row)?, values.value(row)?)));
    found.filter(move |(at, _)| from < *at && *at <= until)
}

/// Mean of a column over the rows of a flow from one time on to another, in seconds.
fn mean(series: &TimeSeries, flow: &str, column: &str, from: f64, until: f64) -> f64 {
    let found: Vec<f64> = values(series, flow, column, from, until).map(|(_, value)| value).collect();
    assert!(!found.is_empty(), "nothing in {column} of {flow} from {from} s to {until} s");
    found.iter().sum::<f64>() / found.len() as f64
}

/// Means of the rates in Mbit/s that a group gave two flows while both shared: on a late machine, a flow that hears nothing leaves.
fn given_together(series: &TimeSeries, flows: [&str; 2], from: f64, until: f64) -> [f64; 2] {
    let [first, second] =
        flows.map(|flow| values(series, flow, "coupled_rate_mbps", from, until).collect::<Vec<(f64, f64)>>());
    let pairs = first.iter().filter_map(|(at, rate)| {
        second.iter().find(|(other, _)| other == at).map(|(_, other)| [*rate, *other])
    });
    let sums = pairs.fold([0.0, 0.0, 0.0], |[a, b, rows], [one, other]| [a + one, b + other, rows + 1.0]);
    assert!(sums[2] > 0.0, "no row in which both share");
    [sums[0] / sums[2], sums[1] / sums[2]]
}

/// Runs relay and sender until the sender is done.
fn send_through(
    loaded: &Loaded,
    receivers: SocketAddr,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> [NetOutput; 2] {
    let relay = on_two_ports(|listen| Relay::bind(loaded, &RelayOptions::between(listen, receivers)));
    let to = relay.address().expect("an address");
    let sender = Sender::bind(loaded, &SendOptions::to(to)).expect("a sender");
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|_| () }));
        let sent = sender.run(&Control { stop: &AtomicBool::new(false), progress });
        stop.store(sent.is_err(), Ordering::Relaxed);
        [sent.expect("sent"), relay.join().expect("no panic").expect("relayed")]
    })
}

/// Runs sender, relay and receiver until the sender is done.
fn run_all(loaded: &Loaded) -> [NetOutput; 3] {
    let receiver = on_two_ports(|listen| Receiver::bind(loaded, &ReceiveOptions::on(listen)));
    let (to, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let [sent, relayed] = send_through(loaded, to, stop, &|_| ());
        [sent, relayed, receiver.join().expect("no panic").expect("received")]
    })
}

#[test]
fn coupled_flows_of_one_process_share_by_priority() {
    judge_on_time(coupled, |outputs| {
        assert!(outputs[1].warnings.is_empty(), "{:?}", outputs[1].warnings);
        for output in outputs {
            let rate = |name: &str| output.summary.flows[name].throughput_mbps.expect("a throughput");
            let (camera, slides) = (rate("camera"), rate("slides"));
            assert!((1.6..2.4).contains(&(camera / slides)), "camera {camera}, slides {slides} Mbit/s");
            assert!((3.0..6.1).contains(&(camera + slides)), "camera {camera}, slides {slides} Mbit/s");
        }
        for name in ["camera", "slides"] {
            let coupling = outputs[0].summary.flows[name].coupling.expect("it is coupled");
            assert!(coupling.assignments > 100, "{name}: {coupling:?}");
        }
    });
}

/// Two coupled flows: their assignments hold however late the machine is.
fn coupled() -> [NetOutput; 3] {
    let [sent, relayed, received] = run_all(&camera_and_slides(8, ""));
    for output in [&sent, &relayed, &received] {
        let rate = |name: &str| output.summary.flows[name].throughput_mbps.expect("a throughput");
        assert!((0.0..6.1).contains(&(rate("camera") + rate("slides"))), "{:?}", output.summary.flows);
    }
    let [camera, slides] = given_together(&sent.flows, ["camera", "slides"], 2.0, 7.9);
    assert!((1.99..2.01).contains(&(camera / slides)), "they take what the group gives");
    for name in ["camera", "slides"] {
        let coupling = sent.summary.flows[name].coupling.expect("it is coupled");
        assert!(coupling.assignments > 0 && coupling.ignored_updates == 0, "{name}: {coupling:?}");
        assert_eq!(received.summary.flows[name].coupling, None, "a receiver knows nothing of it");
    }
    let is_of_lateness = |said: &String| said.starts_with("not to be trusted");
    let warned = (&sent.warnings, &relayed.warnings);
    assert!(warned.0.is_empty() && warned.1.iter().all(is_of_lateness), "{warned:?}");
    [sent, relayed, received]
}

/// Two flows over RTP or DCCP by these controllers, of which the first has twice the priority.
fn pair(controllers: [&str; 2]) -> Loaded {
    let mut text =
        "duration = \"8s\"\nwarmup = \"3s\"\n[links.bottleneck]\nrate = \"6Mbps\"\ndelay = \"10ms\"\n\
                    queue = { packets = 40 }\n"
            .to_string();
    for (name, controller, priority) in [("first", controllers[0], 2), ("second", controllers[1], 1)] {
        let transport = if controller == "ccid3" { "dccp" } else { "rtp" };
        text.push_str(&format!(
            "[flows.{name}]\ntransport = \"{transport}\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\n\
             path = [\"bottleneck\"]\npriority = {priority}\n"
        ));
    }
    text.push_str("[coupling.all]\nkind = \"conservative\"\nflows = [\"first\", \"second\"]\n");
    loaded(&text)
}

/// RAP over RTP, TFRC over RTP and as DCCP's CCID 3.
#[test]
fn rap_and_tfrc_share_by_priority_over_sockets() {
    let pairs = [["rap", "rap"], ["tfrc", "rap"], ["ccid3", "ccid3"], ["ccid3", "tfrc"]];
    std::thread::scope(|scope| {
        for controllers in pairs {
            scope.spawn(move || share_by_priority(controllers));
        }
    });
}

fn share_by_priority(controllers: [&str; 2]) {
    let run = || {
        let [sent, relayed, received] = run_all(&pair(controllers));
        let [first, second] = given_together(&sent.flows, ["first", "second"], 3.0, 7.9);
        assert!((1.99..2.01).contains(&(first / second)), "{controllers:?} are given {first} and {second}");
        [sent, relayed, received]
    };
    judge_on_time(run, |[sent, relayed, received]| {
        let column = |column| ["first", "second"].map(|name| mean(&sent.flows, name, column, 3.0, 7.9));
        let [first, second] = column("send_rate_mbps");
        assert!((1.7..2.3).contains(&(first / second)), "{controllers:?} send {first} and {second} Mbit/s");
        for output in [relayed, received] {
            let rate = |name: &str| output.summary.flows[name].throughput_mbps.expect("a throughput");
            let (first, second) = (rate("first"), rate("second"));
            let found = format!("{controllers:?}: {first} and {second} Mbit/s");
            assert!(
                (1.6..2.4).contains(&(first / second)) && (3.0..6.1).contains(&(first + second)),
                "{found}"
            );
        }
    });
}

#[test]
fn when_one_receiver_vanishes_the_other_flow_takes_its_rate() {
    judge_on_time(one_receiver_vanishes, |[_, relayed]| {
        let rate = |name: &str, from, until| mean(&relayed.flows, name, "throughput_mbps", from, until);
        let (camera, slides) = (rate("camera", 2.0, GONE), rate("slides", 2.0, GONE));
        let taken = rate("camera", 9.0, 13.0);
        assert!((1.6..2.4).contains(&(camera / slides)), "camera {camera}, slides {slides} Mbit/s");
        assert!(
            taken > camera + 0.5 * slides,
            "camera {camera}, then {taken} Mbit/s; slides {slides} Mbit/s"
        );
    });
}

/// The receiver of the slides ends at this time, in seconds.
const GONE: f64 = 5.0;

/// However late the machine is, the flow that is left has the rate of both.
fn one_receiver_vanishes() -> [NetOutput; 2] {
    let loaded = &camera_and_slides(13, "");
    let one = |flow: &str, listen| {
        Receiver::bind(loaded, &ReceiveOptions { flow: Some(flow.into()), ..ReceiveOptions::on(listen) })
    };
    let (slides, camera) =
        on_two_ports(|listen| Ok::<_, NetError>((one("slides", listen)?, one("camera", after(listen))?)));
    let to = slides.address().expect("an address");
    let (stop, gone) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let progress = |told: Progress<'_>| {
        gone.fetch_or(told.reached().is_some_and(|now| now.as_secs_f64() >= GONE), Ordering::Relaxed);
    };
    let [sent, relayed] = std::thread::scope(|scope| {
        let slides = scope.spawn(move || slides.run(&Control { stop: gone, progress: &|_| () }));
        let camera = scope.spawn(move || camera.run(&Control { stop, progress: &|_| () }));
        let outputs = send_through(loaded, to, stop, &progress);
        gone.store(true, Ordering::Relaxed);
        for receiver in [slides, camera] {
            receiver.join().expect("no panic").expect("received");
        }
        outputs
    });
    // Two seconds without an answer: the group is one flow's.
    let sum = mean(&sent.flows, "camera", "coupled_sum_mbps", 8.0, 12.9);
    let given = mean(&sent.flows, "camera", "coupled_rate_mbps", 8.0, 12.9);
    assert!((given / sum - 1.0).abs() < 1e-6, "given {given} of {sum} Mbit/s");
    let said = &sent.warnings;
    assert!(said.iter().any(|said| said.starts_with("flow slides: no feedback from ")), "{said:?}");
    [sent, relayed]
}

/// Which thresholds serve is the simulator's to say: these take nearly any two flows for one group, once they have summaries. No
/// losses are believed: on a busy machine one flow alone may have some, which parts it from the other at any `p_d`. Thresholds that leave a
/// flow only where none allows it: a flow whose queue empties in all intervals, or whose delays do not vary at all.
pub const ANY: &str = "T = \"50ms\", N = 12, M = 12, F = 6, c_s = 1.0, c_h = 1.0, p_l = 1.0, \
                   p_f = 1.0, p_mad = 1.0, p_s = 2.0, p_d = 1.0, stable = 0.5";

#[test]
fn groups_follow_from_the_delays_that_reports_tell() {
    groups_follow_from_delays("sender");
}

#[test]
fn groups_follow_from_the_summaries_that_receivers_send() {
    groups_follow_from_delays("receiver");
}

fn groups_follow_from_delays(at: &str) {
    judge_on_time(
        || grouped(at),
        |sent| {
            let together = 1.0 - mean(&sent.flows, "camera", "coupled_group", 3.5, 5.9);
            assert!(together > 0.5, "they are one group for {together:.2} of the time: {:?}", sent.counters);
        },
    );
}

/// However late the machine is, nothing is known at first, a group has the name of its first flow, and no report is
/// refused.
fn grouped(at: &str) -> NetOutput {
    let loaded = &camera_and_slides(6, &format!("detection = {{ at = \"{at}\", {ANY} }}"));
    let receiver = on_two_ports(|listen| Receiver::bind(loaded, &ReceiveOptions::on(listen)));
    let (to, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    let [sent, _] = std::thread::scope(|scope| {
        scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        send_through(loaded, to, stop, &|_| ())
    });
    let group = |name: &str, from, until| mean(&sent.flows, name, "coupled_group", from, until);
    assert_eq!((group("slides", 0.0, 0.3), group("camera", 0.0, 0.3)), (0.0, 1.0), "nothing is known yet");
    assert_eq!(group("slides", 3.5, 5.9), 0.0, "a group has the name of its first flow");
    let counters = sent.counters;
    assert_eq!(
        (counters.malformed, counters.unknown_reports, counters.other_rtcp),
        (0, 0, 0),
        "{counters:?}"
    );
    sent
}

/// A peer's summary of the delays after so many intervals.
fn summary(interval_ms: i64, intervals: u64, ssrc: u32) -> Vec<u8> {
    let (interval, intervals) = (TimeDelta::from_millis(interval_ms), u32::try_from(intervals).expect("few"));
    let (skewness, variability, frequency, loss) = (-0.5, TimeDelta::from_millis(5), 0.5, 0.0);
    let (sender_ssrc, bottleneck) = (1, true);
    let summary = DelaySummaryPacket {
        sender_ssrc,
        ssrc,
        interval,
        intervals,
        bottleneck,
        skewness,
        variability,
        frequency,
        loss,
    };
    let mut bytes = Vec::new();
    delays::encode(&summary, &mut bytes);
    bytes
}

/// Plays the receiver of one flow until it is told to stop: reports on each packet, and says `more` of the interval of 50 ms
/// that has ended.
fn answer(peer: &UdpSocket, over: &AtomicBool, more: impl Fn(u64) -> Vec<Vec<u8>>) {
    peer.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let (mut buffer, began) = ([0; 2000], std::cell::OnceCell::new());
    while !over.load(Ordering::Relaxed) {
        let Ok((length, from)) = peer.recv_from(&mut buffer) else { continue };
        let elapsed = began.get_or_init(Instant::now).elapsed();
        let begin = rtp::decode(&buffer[..length]).expect("RTP").header.sequence.into();
        let written = Time::from_nanos(1_000_000_000 + elapsed.as_nanos() as u64);
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count: 1 }];
        let arrivals = vec![ArrivalReport::Received { at: Some(written), ecn: Ecn::NotEct }];
        let mut report = Vec::new();
        ccfb::encode(&Feedback { written, blocks, arrivals }, 1, |_| 100, &mut report).expect("encoded");
        for bytes in std::iter::once(report).chain(more(elapsed.as_millis() as u64 / 50)) {
            let _ = peer.send_to(&bytes, from);
        }
    }
}

/// The sender of two flows whose receivers say `more` of delays.
fn answered(more: impl Fn(u64) -> Vec<Vec<u8>> + Sync) -> NetOutput {
    let loaded = &camera_and_slides(3, &format!("detection = {{ at = \"receiver\", {ANY} }}"));
    let (slides, camera) = on_two_ports(|listen| {
        UdpSocket::bind(listen).and_then(|first| Ok((first, UdpSocket::bind(after(listen))?)))
    });
    let to = slides.local_addr().expect("an address");
    let sender =
        Sender::bind(loaded, &SendOptions { ssrc: Some(100), ..SendOptions::to(to) }).expect("a sender");
    let address = sender.address().expect("an address");
    let (over, more) = (&AtomicBool::new(false), &more);
    std::thread::scope(|scope| {
        for peer in [&slides, &camera] {
            scope.spawn(move || answer(peer, over, more));
        }
        scope.spawn(move || {
            // Somebody else, who knows what would be believed of a receiver.
            let stranger = UdpSocket::bind(anywhere()).expect("a socket");
            while !over.load(Ordering::Relaxed) {
                let _ = stranger.send_to(&summary(50, 1, 100), address);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let sent = sender.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () });
        over.store(true, Ordering::Relaxed);
        sent.expect("sent")
    })
}

#[test]
fn hostile_summaries_of_delays_are_counted_and_change_nothing() {
    judge_on_time(honest_and_hostile, |[honest, hostile]| {
        let group = |name: &str| mean(&honest.flows, name, "coupled_group", 2.0, 2.9);
        assert_eq!((group("slides"), group("camera")), (0.0, 0.0), "{:?}", honest.counters);
        let counters = hostile.counters;
        assert!(counters.unknown_peers > 20 && counters.unknown_ssrc > 100, "{counters:?}");
    });
}

/// Summaries of honest receivers, and of others, which are counted and part the flows however late the machine is.
fn honest_and_hostile() -> [NetOutput; 2] {
    let honest = answered(|intervals| vec![summary(50, intervals, 100)]);
    let hostile = answered(|intervals| {
        vec![
            summary(49, intervals, 100),
            summary(50, 2 * intervals + 1_000_000, 100),
            summary(50, intervals, 7),
            summary(50, intervals, 100)[..32].to_vec(),
        ]
    });
    let group = |name: &str| mean(&hostile.flows, name, "coupled_group", 2.0, 2.9);
    let counters = hostile.counters;
    assert_eq!((group("slides"), group("camera")), (0.0, 1.0), "{counters:?}");
    assert!(counters.unknown_peers > 0 && counters.unknown_ssrc > 0, "{counters:?}");
    assert!(counters.unknown_reports.abs_diff(2 * counters.unknown_ssrc) <= 4, "{counters:?}");
    assert!(counters.malformed.abs_diff(counters.unknown_ssrc) <= 4, "{counters:?}");
    [honest, hostile]
}

#[test]
fn flows_of_a_coupling_need_one_path_and_a_port_each() {
    let loaded = camera_and_slides(3, "");
    let options = SendOptions::to(SocketAddr::from(([127, 0, 0, 1], u16::MAX)));
    let error = Sender::bind(&loaded, &options).err().expect("one port too few").to_string();
    assert!(error.contains("2 flows need as many ports from 127.0.0.1:65535 on"), "{error}");
    assert!(
        Sender::bind(&loaded, &SendOptions { flow: Some("slides".into()), ..options }).is_ok(),
        "one alone"
    );
    let text = "duration = \"1s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n\
                [links.m]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n\
                [flows.a]\ncontroller = \"scream\"\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n\
                [flows.b]\ncontroller = \"scream\"\nsource = { kind = \"bulk\" }\npath = [\"m\"]\n\
                [coupling.c]\nkind = \"active\"\nflows = [\"a\", \"b\"]\n";
    let error = Receiver::bind(&call::loaded(text), &ReceiveOptions::on(anywhere())).err();
    let error = error.expect("two ways").to_string();
    assert!(error.contains("the flows a and b of coupling c have different paths"), "{error}");
}
