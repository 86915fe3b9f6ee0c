//! Two flows that share by a coupling, sent by one process through one relay, on loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the ends run side by side, and ports that are free are looked for"
)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod call;

use call::{anywhere, loaded};
use paceline_metrics::TimeSeries;
use paceline_net::{
    Control, NetError, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender,
};
use paceline_scenario::Loaded;
use paceline_units::Time;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

/// A camera that weighs twice as much as slides.
fn scenario(seconds: u32, detection: &str) -> Loaded {
    let flow = |name: &str, more: &str| {
        format!(
            "[flows.{name}]\ncontroller = {{ kind = \"scream\", profile = \"reference-2022\", target_bitrate_start = \"2Mbps\", \
             target_bitrate_max = \"20Mbps\" }}\nsource = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
             path = [\"bottleneck\"]\n{more}\n"
        )
    };
    let link = "[links.bottleneck]\nrate = \"6Mbps\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = \"200ms\" }\n";
    let coupling =
        format!("[coupling.call]\nkind = \"active\"\nflows = [\"slides\", \"camera\"]\n{detection}\n");
    let (camera, slides) = (flow("camera", "priority = 2"), flow("slides", ""));
    loaded(&format!("duration = \"{seconds}s\"\nwarmup = \"2s\"\n{link}{camera}{slides}{coupling}"))
}

/// What binds to an address and, of several flows, to the port after it, too.
fn on_two_ports<T>(bind: impl Fn(SocketAddr) -> Result<T, NetError>) -> T {
    let port = || UdpSocket::bind(anywhere()).expect("a socket").local_addr().expect("an address");
    let bound = std::iter::repeat_with(port).take(50).find_map(|address| bind(address).ok());
    bound.expect("two free ports in a row")
}

/// Where the second of two flows goes if the first goes to `first`.
fn after(first: SocketAddr) -> SocketAddr {
    SocketAddr::new(first.ip(), first.port() + 1)
}

/// Mean of a column over the rows of a flow from one time on to another, in seconds.
fn mean(series: &TimeSeries, flow: &str, column: &str, from: f64, until: f64) -> f64 {
    let (times, names) = (series.float("time_s").expect("times"), series.text("flow").expect("names"));
    let values = series.float(column).expect("a column");
    let rows = (0..series.rows()).filter(|row| names.value(*row) == Some(flow));
    let rows = rows.filter(|row| times.value(*row).is_some_and(|at| from < at && at <= until));
    let found: Vec<f64> = rows.filter_map(|row| values.value(row)).collect();
    assert!(!found.is_empty(), "nothing in {column} of {flow} from {from} s to {until} s");
    found.iter().sum::<f64>() / found.len() as f64
}

/// Runs relay and sender until the sender is done.
fn send_through(
    loaded: &Loaded,
    receivers: SocketAddr,
    stop: &AtomicBool,
    progress: &dyn Fn(Time),
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

#[test]
fn coupled_flows_of_one_process_share_by_priority() {
    let loaded = &scenario(8, "");
    let receiver = on_two_ports(|listen| Receiver::bind(loaded, &ReceiveOptions::on(listen)));
    let (to, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    let [sent, relayed, received] = std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let [sent, relayed] = send_through(loaded, to, stop, &|_| ());
        [sent, relayed, receiver.join().expect("no panic").expect("received")]
    });
    for output in [&sent, &relayed, &received] {
        let rate = |name: &str| output.summary.flows[name].throughput_mbps.expect("a throughput");
        let (camera, slides) = (rate("camera"), rate("slides"));
        assert!((1.6..2.4).contains(&(camera / slides)), "camera {camera}, slides {slides} Mbit/s");
        assert!((3.0..6.1).contains(&(camera + slides)), "camera {camera}, slides {slides} Mbit/s");
    }
    let given = |name: &str| mean(&sent.flows, name, "coupled_rate_mbps", 2.0, 7.9);
    assert!((1.99..2.01).contains(&(given("camera") / given("slides"))), "they take what the group gives");
    for name in ["camera", "slides"] {
        let coupling = sent.summary.flows[name].coupling.expect("it is coupled");
        assert!(coupling.assignments > 100 && coupling.ignored_updates == 0, "{name}: {coupling:?}");
        assert_eq!(received.summary.flows[name].coupling, None, "a receiver knows nothing of it");
    }
    assert!(
        sent.warnings.is_empty() && relayed.warnings.is_empty(),
        "{:?}",
        (sent.warnings, relayed.warnings)
    );
}

#[test]
fn when_one_receiver_vanishes_the_other_flow_takes_its_rate() {
    const GONE: f64 = 5.0;
    let loaded = &scenario(13, "");
    let one = |flow: &str, listen| {
        Receiver::bind(loaded, &ReceiveOptions { flow: Some(flow.into()), ..ReceiveOptions::on(listen) })
    };
    let (slides, camera) = on_two_ports(|listen| Ok((one("slides", listen)?, one("camera", after(listen))?)));
    let to = slides.address().expect("an address");
    let (stop, gone) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let progress = |now: Time| gone.store(now.as_secs_f64() >= GONE, Ordering::Relaxed);
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
    let rate = |name: &str, from, until| mean(&relayed.flows, name, "throughput_mbps", from, until);
    let (camera, slides) = (rate("camera", 2.0, GONE), rate("slides", 2.0, GONE));
    let taken = rate("camera", 9.0, 13.0);
    assert!((1.6..2.4).contains(&(camera / slides)), "camera {camera}, slides {slides} Mbit/s");
    assert!(taken > camera + 0.5 * slides, "camera {camera}, then {taken} Mbit/s; slides {slides} Mbit/s");
    // Two seconds without an answer: the group is one flow's.
    let sum = mean(&sent.flows, "camera", "coupled_sum_mbps", 8.0, 12.9);
    let given = mean(&sent.flows, "camera", "coupled_rate_mbps", 8.0, 12.9);
    assert!((given / sum - 1.0).abs() < 1e-6, "given {given} of {sum} Mbit/s");
    let said = &sent.warnings;
    assert!(said.iter().any(|said| said.starts_with("flow slides: no feedback from ")), "{said:?}");
}

/// Which thresholds serve is the simulator's to say: here they take any two flows for one group, once they have summaries.
#[test]
fn groups_follow_from_the_delays_that_reports_tell() {
    const ANY: &str = "T = \"50ms\", N = 10, M = 8, F = 6, c_s = 1.0, c_h = 1.0, p_f = 1.0, p_mad = 1.0, p_s = 2.0, p_d = 1.0";
    let loaded = &scenario(6, &format!("detection = {{ at = \"sender\", {ANY} }}"));
    let receiver = on_two_ports(|listen| Receiver::bind(loaded, &ReceiveOptions::on(listen)));
    let (to, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    let [sent, _] = std::thread::scope(|scope| {
        scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        send_through(loaded, to, stop, &|_| ())
    });
    let group = |name: &str, from, until| mean(&sent.flows, name, "coupled_group", from, until);
    assert_eq!((group("slides", 0.0, 0.3), group("camera", 0.0, 0.3)), (0.0, 1.0), "nothing is known yet");
    assert_eq!((group("slides", 5.0, 5.9), group("camera", 5.0, 5.9)), (0.0, 0.0));
    let (receivers, options) =
        (scenario(6, "detection = { at = \"receiver\" }"), ReceiveOptions::on(anywhere()));
    let error = Receiver::bind(&receivers, &options).err().expect("no format").to_string();
    assert!(
        error.contains("coupling call: a receiver's summary of delays has no format on the wire"),
        "{error}"
    );
}

#[test]
fn flows_of_a_coupling_need_one_path_and_a_port_each() {
    let loaded = scenario(3, "");
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
