//! A relay of any UDP: several programs talk through it, both ways, over queues of each direction.

use crate::call::{StopAtEnd, anywhere, flow, loaded};
use paceline_net::{Control, NetError, NetOutput, OpaqueRelay, RelayOptions};
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const PATH: &str = r#"
    duration = "60s"
    [links.there]
    rate = "10Mbps"
    delay = "20ms"
    queue = { packets = 100 }
    [links.back]
    rate = "10Mbps"
    delay = "10ms"
    queue = { packets = 100 }
    [flows.bulk]
    transport = "tcp"
    controller = "reno"
    source = { kind = "bulk" }
    path = ["there"]
    return_path = ["back"]
"#;

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    socket
}

fn address(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().expect("an address")
}

/// The output of a relay after `programs` talked through it, told where it listens, and who listens behind it.
fn relayed(programs: impl FnOnce(SocketAddr, &UdpSocket)) -> NetOutput {
    let (loaded, behind, stop) = (loaded(PATH), socket(), AtomicBool::new(false));
    let options = RelayOptions::between(anywhere(), address(&behind));
    let relay = OpaqueRelay::bind(&loaded, &options).expect("a relay");
    let front = relay.address().expect("an address");
    std::thread::scope(|scope| {
        let stop = &stop;
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|_| () }));
        let stops = StopAtEnd(stop);
        programs(front, &behind);
        drop(stops);
        relay.join().expect("no panic").expect("an output")
    })
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 70_000];
    let (length, from) = socket.recv_from(&mut buffer).expect("a datagram");
    (buffer[..length].to_vec(), from)
}

#[test]
fn answers_find_back_to_whom_they_are_for_and_each_way_has_its_delay() {
    let output = relayed(|front, behind| {
        let clients = [socket(), socket(), socket()];
        let begun = Instant::now();
        let said = |number: usize| vec![number as u8; 1000 + number];
        for (number, client) in clients.iter().enumerate() {
            client.send_to(&said(number), front).expect("sent");
        }
        for number in 0..clients.len() {
            let (bytes, from) = receive(behind);
            assert_eq!(bytes, said(number));
            behind.send_to(&[bytes, b"!".to_vec()].concat(), from).expect("answered");
        }
        for (number, client) in clients.iter().enumerate() {
            let (bytes, from) = receive(client);
            assert_eq!((bytes, from), ([said(number), b"!".to_vec()].concat(), front));
        }
        assert!(begun.elapsed() >= Duration::from_millis(30), "{:?}", begun.elapsed());
    });
    let links = &output.summary.links;
    assert_eq!((links["there"].offered, links["back"].offered), (3, 3));
    assert_eq!((output.counters.received, output.counters.sent), (6, 6));
    let passed = flow(&output);
    assert_eq!((passed.packets_sent, passed.packets_received), (Some(3), Some(3)));
    let (late, share) = (output.counters.late_p95_ms, output.counters.late_share);
    assert!(
        late.is_some() && output.warnings.is_empty() == (share <= Some(0.1)),
        "{share:?} {:?}",
        output.warnings
    );
}

#[test]
fn a_stranger_behind_the_relay_reaches_nobody() {
    let output = relayed(|front, behind| {
        let (client, stranger) = (socket(), socket());
        client.send_to(b"hello", front).expect("sent");
        let (_, from) = receive(behind);
        stranger.send_to(b"not yours", from).expect("sent");
        behind.send_to(b"yours", from).expect("sent");
        assert_eq!(receive(&client).0, b"yours");
    });
    assert_eq!(output.counters.unknown_peers, 1);
}

#[test]
fn a_flood_of_addresses_takes_a_bounded_number_of_sockets_and_nobodys_place() {
    let output = relayed(|front, behind| {
        let client = socket();
        client.send_to(b"first", front).expect("sent");
        let (_, from) = receive(behind);
        let flood: Vec<_> = (0..200).map(|_| socket()).collect();
        for stranger in &flood {
            stranger.send_to(b"flood", front).expect("sent");
        }
        // Behind the flood, and through all the same. Datagrams that leave by several sockets arrive in any order.
        client.send_to(b"second", front).expect("sent");
        let (mut sources, mut arrived) = (BTreeSet::from([from]), false);
        while !arrived || sources.len() < 64 {
            let (bytes, source) = receive(behind);
            sources.insert(source);
            if bytes == b"second" {
                assert_eq!(source, from);
                arrived = true;
            }
        }
    });
    assert_eq!(output.counters.sent, 65, "the first, those that found room, and the second");
    assert_eq!(output.counters.unknown_peers, 200 - 63, "{:?}", output.counters);
    assert!(output.warnings.iter().any(|warning| warning.contains("64 addresses")), "{:?}", output.warnings);
}

#[test]
fn datagrams_of_every_size_pass_and_marks_are_kept() {
    let output = relayed(|front, behind| {
        let client = socket();
        for size in [0, 1, 1472, 1473, 60_000] {
            client.send_to(&vec![7; size], front).expect("sent");
            assert_eq!(receive(behind).0.len(), size);
        }
    });
    assert_eq!(output.counters.overflowed + output.counters.unsendable, 0);
}

#[test]
fn a_link_of_both_ways_is_refused_by_name() {
    let text = PATH.replace("return_path = [\"back\"]", "return_path = [\"there\"]");
    let loaded = loaded(&text);
    let options = RelayOptions::between(anywhere(), "127.0.0.1:9".parse().expect("an address"));
    let error = OpaqueRelay::bind(&loaded, &options).err().expect("refused");
    assert!(matches!(error, NetError::Unsupported { .. }));
    assert!(error.to_string().contains("link there in path and return_path"), "{error}");
}
