//! The flow state exchange over real sockets: senders that share through it, its restart, and processes that mean no good.

use crate::call::two_flows::{after, camera_and_slides, on_two_ports};
use crate::coupled::ANY;
use crate::folder::Folder;
use crate::lateness::judge_on_time;
use paceline_cc::Assigned;
use paceline_metrics::TimeSeries;
use paceline_net::{
    Control, ExchangeCounters, ExchangeLimits, ExchangeOptions, ExchangeServer, GroupBy, NetOutput, Progress,
    ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender,
};
use paceline_scenario::Loaded;
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::exchange::{Reply, Request, State, decode_request, encode_reply};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, listen, recv, send, socket,
};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// An exchange that listens at `path`.
fn exchange(path: &Path) -> ExchangeServer {
    ExchangeServer::bind(path, &ExchangeLimits::default()).expect("a free path")
}

/// Serves until it is stopped.
fn serve(server: ExchangeServer, stop: &AtomicBool) -> ExchangeCounters {
    server.run(stop, &|_| ()).expect("served")
}

/// Two senders of one flow each, the camera's and the slides', over one link. Each shares over the exchange at `path`, and
/// tells `progress` how far it is.
fn two_senders(loaded: &Loaded, path: &Path, progress: &(dyn Fn(Progress<'_>) + Sync)) -> [NetOutput; 2] {
    let receiver = on_two_ports(|listen| Receiver::bind(loaded, &ReceiveOptions::on(listen)));
    let target = receiver.address().expect("an address");
    let relay = on_two_ports(|listen| Relay::bind(loaded, &RelayOptions::between(listen, target)));
    let slides = relay.address().expect("an address");
    let exchange =
        Some(ExchangeOptions { path: path.to_path_buf(), by: GroupBy::Name, group: None, kind: None });
    let sender = |flow: &str, to| {
        let options =
            SendOptions { flow: Some(flow.into()), exchange: exchange.clone(), ..SendOptions::to(to) };
        Sender::bind(loaded, &options).expect("a sender")
    };
    let (camera, slides) = (sender("camera", after(slides)), sender("slides", slides));
    let (stop, go_on) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let around = [
            scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () })),
            scope.spawn(move || relay.run(&Control { stop, progress: &|_| () })),
        ];
        let camera = scope.spawn(move || camera.run(&Control { stop: go_on, progress: &|_| () }));
        let slides = slides.run(&Control { stop: go_on, progress });
        let camera = camera.join().expect("no panic");
        stop.store(slides.is_err() || camera.is_err(), Ordering::Relaxed);
        around.into_iter().for_each(|end| drop(end.join().expect("no panic").expect("an output")));
        [camera.expect("sent"), slides.expect("sent")]
    })
}

/// Two senders and the exchange over which they share, from their beginning to their end.
fn over_one_exchange(loaded: &Loaded, path: &Path) -> ([NetOutput; 2], ExchangeCounters) {
    let (server, stop) = (exchange(path), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(server, stop));
        let outputs = two_senders(loaded, path, &|_| ());
        stop.store(true, Ordering::Relaxed);
        (outputs, server.join().expect("no panic"))
    })
}

/// Mean of a column of the only flow from one time on to another, in seconds; absent values left out.
fn mean(series: &TimeSeries, column: &str, from: f64, until: f64) -> Option<f64> {
    let (times, values) = (series.float("time_s")?, series.float(column)?);
    let rows = (0..series.rows()).filter(|row| times.value(*row).is_some_and(|at| from < at && at <= until));
    let found: Vec<f64> = rows.filter_map(|row| values.value(row)).collect();
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

#[test]
fn flows_of_two_senders_share_by_priority() {
    judge_on_time(two_share, |(outputs, counters)| {
        // A flow that is silent for long has left, and comes again.
        assert_eq!((counters.joined, counters.left, counters.vanished), (2, 2, 0), "{counters:?}");
        assert!(counters.messages > 200 && counters.refused == 0, "{counters:?}");
        let warned: Vec<_> = outputs.iter().flat_map(|sent| &sent.warnings).collect();
        assert!(!warned.iter().any(|said| said.contains("refused")), "{warned:?}");
        let given = outputs
            .each_ref()
            .map(|sent| mean(&sent.flows, "coupled_rate_mbps", 2.0, 7.9).expect("it shares"));
        assert!((1.9..2.1).contains(&(given[0] / given[1])), "camera and slides are given {given:?} Mbit/s");
        let sent =
            outputs.each_ref().map(|sent| mean(&sent.flows, "throughput_mbps", 2.0, 7.9).expect("packets"));
        assert!((1.2..3.5).contains(&(sent[0] / sent[1])), "camera and slides send {sent:?} Mbit/s");
        assert!((3.0..6.2).contains(&(sent[0] + sent[1])), "camera and slides send {sent:?} Mbit/s");
    });
}

/// Two flows share: that both joined, and that each message was understood, holds however late the machine is.
fn two_share() -> ([NetOutput; 2], ExchangeCounters) {
    let folder = Folder::new("priority");
    let path = folder.socket();
    let (outputs, counters) = over_one_exchange(&camera_and_slides(8, ""), &path);
    assert!(counters.joined >= 2, "{counters:?}");
    assert_eq!((counters.malformed, counters.held_back), (0, 0), "{counters:?}");
    assert!(!path.exists(), "an exchange that ends takes its file away");
    (outputs, counters)
}

/// Two processes whose receivers summarise delays: until these are known each has a group of its own, and then they are found to share.
#[test]
fn senders_whose_delays_are_alike_share() {
    judge_on_time(detected, |(parts, counters)| {
        assert!(counters.regrouped >= 1, "{counters:?}");
        assert_eq!((counters.joined, counters.vanished), (2, 0), "{counters:?}");
        let parts = parts.map(|part| part.expect("it shares"));
        // By themselves they have all of their sums, together two thirds and one.
        assert!(parts[0] < 0.85 && parts[1] < 0.65, "parts of their groups' sums: {parts:?}");
    });
}

/// However late the machine is, nothing is known at first, and no message is refused. A flow that hears nothing shares nothing.
fn detected() -> ([Option<f64>; 2], ExchangeCounters) {
    let folder = Folder::new("detection");
    let loaded = &camera_and_slides(8, &format!("detection = {{ at = \"receiver\", {ANY} }}"));
    let (outputs, counters) = over_one_exchange(loaded, &folder.socket());
    let part = |sent: &NetOutput, from, until| {
        let column = |column| mean(&sent.flows, column, from, until);
        Some(column("coupled_rate_mbps")? / column("coupled_sum_mbps")?)
    };
    for sent in &outputs {
        assert!(part(sent, 0.0, 0.5).is_none_or(|part| (part - 1.0).abs() < 1e-3), "nothing is known yet");
        assert!(!sent.warnings.iter().any(|said| said.contains("refused")), "{:?}", sent.warnings);
    }
    assert_eq!((counters.malformed, counters.refused, counters.held_back), (0, 0, 0), "{counters:?}");
    (outputs.each_ref().map(|sent| part(sent, 4.0, 7.9)), counters)
}

/// The exchange is killed at 3 s and there again at 5 s.
#[test]
fn flows_go_on_without_the_exchange_and_join_the_next_one() {
    judge_on_time(restarted, |(outputs, counters)| {
        for output in outputs {
            let away = mean(&output.flows, "throughput_mbps", 3.0, 5.0).expect("packets");
            assert!(away > 0.3, "it sends on by itself: {away} Mbit/s");
            let (sum, rows) =
                (output.flows.float("coupled_sum_mbps").expect("a column"), output.flows.rows());
            assert!((rows - 40..rows - 1).all(|row| sum.value(row).is_some()), "it shares again");
            let said = output.warnings.iter().any(|said| said.contains("away 1 time,"));
            assert!(said, "{:?}", output.warnings);
        }
        let given = outputs
            .each_ref()
            .map(|sent| mean(&sent.flows, "coupled_rate_mbps", 8.0, 10.9).expect("it shares"));
        assert!((1.9..2.1).contains(&(given[0] / given[1])), "camera and slides are given {given:?} Mbit/s");
        assert_eq!(counters.map(|counters| counters.joined), [2, 2]);
    });
}

/// However late the machine is, both send without an exchange, share with the next one, and say so.
fn restarted() -> ([NetOutput; 2], [ExchangeCounters; 2]) {
    let (folder, loaded) = (Folder::new("restart"), &camera_and_slides(11, ""));
    let path = folder.socket();
    let [killed, again, stop] = &[false; 3].map(AtomicBool::new);
    let reached = |told: Progress<'_>| {
        let at = told.reached().map_or(0.0, Time::as_secs_f64);
        killed.fetch_or(at >= 3.0, Ordering::Relaxed);
        again.fetch_or(at >= 5.0, Ordering::Relaxed);
    };
    let first = exchange(&path);
    let (outputs, counters) = std::thread::scope(|scope| {
        let servers = scope.spawn(|| {
            let first = serve(first, killed);
            while !again.load(Ordering::Relaxed) {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            [first, serve(exchange(&path), stop)]
        });
        let outputs = two_senders(loaded, &path, &reached);
        stop.store(true, Ordering::Relaxed);
        (outputs, servers.join().expect("no panic"))
    });
    for output in &outputs {
        assert!(mean(&output.flows, "throughput_mbps", 3.0, 5.0).is_some_and(|mbps| mbps > 0.0));
        let sum = output.flows.float("coupled_sum_mbps").expect("a column");
        assert!((60..120).any(|row| sum.value(row).is_none()), "nobody to share with between 3 s and 6 s");
        assert!(mean(&output.flows, "coupled_sum_mbps", 8.0, 10.9).is_some(), "it shares again");
        assert!(output.warnings.iter().any(|said| said.contains("away ")), "{:?}", output.warnings);
    }
    assert!(counters.iter().all(|counters| counters.joined >= 2), "{counters:?}");
    (outputs, counters)
}

/// An exchange that gives every flow 1 Tbit/s over 6 Mbit/s.
#[test]
fn an_exchange_that_assigns_anything_is_not_believed() {
    judge_on_time(misled, |outputs| {
        for output in outputs {
            let flow = output.summary.flows.values().next().expect("a flow");
            let lost = flow.loss_ratio.expect("packets were sent");
            assert!(lost < 0.2, "{lost} of the packets are lost");
            let rate = flow.throughput_mbps.expect("packets");
            assert!(rate > 1.5, "{rate} Mbit/s");
            let said = output.warnings.iter().any(|said| said.contains("more than arrives of what is sent"));
            assert!(said, "{:?}", output.warnings);
        }
    });
}

fn misled() -> [NetOutput; 2] {
    let (folder, loaded) = (Folder::new("misled"), &camera_and_slides(12, ""));
    let path = folder.socket();
    std::thread::scope(|scope| {
        let listener = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
        bind(&listener, &SocketAddrUnix::new(&path).expect("short")).expect("bound");
        listen(&listener, 8).expect("it listens");
        scope.spawn(move || {
            for process in [(); 2].map(|()| accept(&listener).expect("a process")) {
                scope.spawn(move || assign_anything(&process));
            }
        });
        two_senders(loaded, &path, &|_| ())
    })
}

/// Answers each request of a process with the same assignment, until it is gone.
fn assign_anything(process: &OwnedFd) {
    let say = |reply: &Reply| {
        let mut bytes = Vec::new();
        encode_reply(reply, &mut bytes);
        send(process, &bytes, SendFlags::NOSIGNAL).is_ok()
    };
    let mut buffer = [0; 1000];
    let mut goes_on = say(&Reply::Welcome { expiry: TimeDelta::from_secs(5) });
    while goes_on {
        let Ok((length @ 1.., _)) = recv(process, &mut buffer[..], RecvFlags::empty()) else { return };
        let update = match decode_request(&buffer[..length]).expect("a request") {
            Request::Join(join) => join.update,
            Request::Update(update) => update,
            Request::Alive { echo } => {
                goes_on = say(&Reply::Alive { echo });
                continue;
            }
            Request::Leave { .. } | Request::Delays { .. } => continue,
        };
        let sum = Bitrate::from_bps(1_000_000_000_000);
        let assigned = match update.flow.own {
            Assigned::Rate(_) => Assigned::Rate(sum),
            Assigned::Window(_) => Assigned::Window(sum.bytes_in(TimeDelta::from_secs(1))),
        };
        goes_on = say(&Reply::State(State {
            flow: update.flow.flow.0,
            number: update.number,
            assigned: Some(assigned),
            members: 2,
            sum,
            rate: sum,
        }));
    }
}

#[test]
fn without_an_exchange_a_sender_says_so_once_and_sends() {
    let folder = Folder::new("absent");
    let outputs = two_senders(&camera_and_slides(3, ""), &folder.socket(), &|_| ());
    for output in &outputs {
        assert!(mean(&output.flows, "throughput_mbps", 1.0, 3.0).expect("packets") > 0.1);
        let said: Vec<_> = output.warnings.iter().filter(|said| said.contains("exchange")).collect();
        assert!(said.len() == 1 && said[0].contains("not there"), "{said:?}");
    }
}
