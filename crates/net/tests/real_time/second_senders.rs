//! The choice among several senders: a sender that falls silent gives way, a steady second one is refused, and it is said.

use crate::call::{anywhere, loaded};
use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CALL: &str = "duration = \"60s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.probe]\n\
    controller = { kind = \"fixed\", rate = \"2Mbps\" }\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n";

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

fn packet(ssrc: u8, sequence: u8) -> Vec<u8> {
    [&[0x80, 98, 0, sequence, 0, 0, 0, sequence, 0, 0, 0, ssrc][..], &[0; 100]].concat()
}

/// The output of a receiver that hears `senders`.
fn received(senders: impl FnOnce(SocketAddr)) -> NetOutput {
    let loaded = loaded(CALL);
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let (target, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        senders(target);
        // A receiver that gets no processor for long reads the last ones by then.
        std::thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        receiver.join().expect("no panic").expect("an output")
    })
}

/// A sender that was there first and fell silent, and the call.
fn one_after_the_other(target: SocketAddr) {
    let (first, second) = (socket(), socket());
    for sequence in 0..5 {
        first.send_to(&packet(7, sequence), target).expect("sent");
    }
    std::thread::sleep(Duration::from_millis(1100));
    for sequence in 0..20 {
        second.send_to(&packet(9, sequence), target).expect("sent");
    }
}

#[test]
fn a_sender_that_fell_silent_gives_way_at_the_receiver() {
    let output = received(one_after_the_other);
    assert_eq!(output.summary.packets, Some(19), "all but the first, which might have been a stray one");
    assert!(output.warnings.iter().any(|said| said.contains("fell silent")), "{:?}", output.warnings);
    assert_eq!(output.summary.sockets.map(|sockets| sockets.second_senders), Some(0));
}

#[test]
fn a_sender_that_fell_silent_gives_way_at_the_relay() {
    let (loaded, far) = (loaded(CALL), socket());
    far.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let options = RelayOptions::between(anywhere(), far.local_addr().expect("an address"));
    let relay = Relay::bind(&loaded, &options).expect("a relay");
    let (target, stop) = (relay.address().expect("an address"), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|_| () }));
        one_after_the_other(target);
        let mut buffer = [0; 200];
        let passed = std::iter::from_fn(|| far.recv(&mut buffer).ok().map(|_| buffer[11]));
        let passed: Vec<_> = passed.collect();
        stop.store(true, Ordering::Relaxed);
        let output = relay.join().expect("no panic").expect("an output");
        assert_eq!(passed, [vec![7; 5], vec![9; 19]].concat());
        assert!(output.warnings.iter().any(|said| said.contains("fell silent")), "{:?}", output.warnings);
    });
}

#[test]
fn a_steady_second_sender_is_refused_and_the_receiver_says_so_once() {
    let output = received(|target| {
        let (first, second) = (socket(), socket());
        for sequence in 0..130 {
            first.send_to(&packet(7, sequence), target).expect("sent");
            if sequence > 1 {
                second.send_to(&packet(9, sequence), target).expect("sent");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    assert_eq!(output.summary.packets, Some(130));
    let sockets = output.summary.sockets.expect("over sockets");
    assert_eq!((sockets.second_senders, sockets.unknown_peers), (1, 128));
    let said =
        output.warnings.iter().filter(|said| said.contains("second sender") && said.contains("SSRC 9"));
    assert_eq!(said.count(), 1, "{:?}", output.warnings);
}
