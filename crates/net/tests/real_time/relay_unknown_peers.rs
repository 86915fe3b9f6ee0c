//! Packets that come to a relay and are not its sender's media: they neither take the sender's place nor are they recorded.

use crate::call::{StopAtEnd, anywhere, flow, loaded};
use paceline_net::{Control, NetOutput, Relay, RelayOptions};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const CALL: &str = r#"
    duration = "60s"
    [links.l]
    rate = "10Mbps"
    queue = { packets = 100 }
    [flows.probe]
    controller = { kind = "fixed", rate = "2Mbps" }
    source = { kind = "bulk" }
    path = ["l"]
"#;
/// A sender report without anything in it.
const RTCP: [u8; 4] = [0x80, 200, 0, 0];

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    socket
}

fn packet(payload_type: u8, ssrc: u8, sequence: u8) -> Vec<u8> {
    [&[0x80, payload_type, 0, sequence, 0, 0, 0, sequence, 0, 0, 0, ssrc][..], &[0; 100]].concat()
}

/// The output of a relay beside `sender`, and the packets that it passed on.
fn relayed(sender: impl FnOnce(SocketAddr) + Send) -> (NetOutput, Vec<Vec<u8>>) {
    let (loaded, far) = (loaded(CALL), socket());
    let options = RelayOptions::between(anywhere(), far.local_addr().expect("an address"));
    let relay = Relay::bind(&loaded, &options).expect("a relay");
    let (target, stop) = (relay.address().expect("an address"), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|_| () }));
        let stops = StopAtEnd(stop);
        sender(target);
        let (mut buffer, mut passed) = ([0; 2000], Vec::new());
        while let Ok(length) = far.recv(&mut buffer) {
            passed.push(buffer[..length].to_vec());
        }
        drop(stops);
        (relay.join().expect("no panic").expect("an output"), passed)
    })
}

#[test]
fn unknown_peers_before_the_sender_do_not_take_its_place() {
    let (output, passed) = relayed(|relay| {
        let (unknown, sender) = (socket(), socket());
        for datagram in [packet(0, 1, 0), packet(0, 2, 0), RTCP.to_vec(), RTCP.to_vec(), packet(98, 3, 0)] {
            unknown.send_to(&datagram, relay).expect("sent");
        }
        // The last of them has a run of its own for a while.
        std::thread::sleep(Duration::from_millis(300));
        (0..10).for_each(|sequence| drop(sender.send_to(&packet(98, 100, sequence), relay)));
    });
    let media: Vec<_> = passed.into_iter().filter(|datagram| datagram.get(11) != Some(&3)).collect();
    assert_eq!(media, (0..10).map(|sequence| packet(98, 100, sequence)).collect::<Vec<_>>());
    let counters = output.counters;
    assert_eq!((counters.malformed, counters.unknown_peers), (2, 3), "{counters:?}");
    assert_eq!(flow(&output).packets_sent, Some(10), "the unknown peer is not recorded");
    assert_eq!(output.summary.links["l"].offered, 10);
}

#[test]
fn noise_does_not_keep_the_sender_out() {
    let (output, passed) = relayed(|relay| {
        let (noise, sender) = (socket(), socket());
        for sequence in 0..50 {
            for datagram in [packet(0, 1, sequence), RTCP.to_vec(), packet(98, 200 + sequence, 0)] {
                noise.send_to(&datagram, relay).expect("sent");
            }
            sender.send_to(&packet(98, 100, sequence), relay).expect("sent");
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    // All but the first, in which nobody could have known the sender yet.
    let ours = passed
        .iter()
        .filter(|datagram| datagram.get(1) == Some(&98) && datagram.get(11) == Some(&100))
        .count();
    assert!(ours >= 49, "{ours}");
    assert_eq!(flow(&output).packets_sent, Some(49));
    let counters = output.counters;
    assert_eq!((counters.malformed, counters.unknown_peers), (50, 101), "{counters:?}");
}

#[test]
fn rtcp_of_the_sender_passes() {
    let (output, passed) = relayed(|relay| {
        let sender = socket();
        for datagram in [RTCP.to_vec(), packet(98, 100, 0), RTCP.to_vec(), packet(98, 100, 1)] {
            sender.send_to(&datagram, relay).expect("sent");
        }
    });
    assert_eq!(passed, [packet(98, 100, 0), RTCP.to_vec(), packet(98, 100, 1)]);
    assert_eq!(output.counters.unknown_peers, 1, "RTCP opens nothing");
}
