//! Attacks of unknown peers on a DCCP connection through a relay: Requests before it begins, and in its pauses, when another
//! sender could follow.

use crate::call::{anywhere, flow, loaded};
use crate::ends::{Ends, run};
use crate::lateness::judge_on_time;
use paceline_net::NetOutput;
use paceline_wire::dccp::encode_in_udp;
use paceline_wire::dccp::{Body, Packet, Ports, SequenceNumber};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// An unknown peer's Requests: of the ports that senders have, twice, or of any.
fn request_as_unknown(relay: SocketAddr, ports: impl Iterator<Item = u16>) {
    let socket = UdpSocket::bind(anywhere()).expect("a socket");
    for (number, source) in ports.enumerate() {
        let body = Body::Request { service: "SC:call".parse().expect("a code") };
        let number = SequenceNumber::new(0x1234_5678_9abc + number as u64);
        let mut bytes = Vec::new();
        encode_in_udp(&Packet::new(Ports { source, destination: 5004 }, number, body), &mut bytes)
            .expect("it can be written");
        let _ = socket.send_to(&bytes, relay);
    }
}

/// A call of 2 Mbit/s that pauses for longer than a relay waits for a silent sender.
#[test]
fn requests_of_unknown_peers_do_not_cut_a_connection_that_pauses() {
    judge_on_time(beside_requests, |ends| {
        for output in [&ends.sender, &ends.receiver] {
            // Rows of 50 ms: the pause, and what came after it.
            let rows = output.flows.rows();
            assert!(busy(output, rows / 4, rows * 3 / 4) < 8, "{}", busy(output, rows / 4, rows * 3 / 4));
            assert!(busy(output, rows * 7 / 8, rows) > 8, "{} of {rows}", busy(output, rows * 7 / 8, rows));
        }
        assert!(flow(&ends.sender).packets_received > Some(400), "{:?}", flow(&ends.sender));
    });
}

/// Rows of a flow between two of them in which it was carried.
fn busy(output: &NetOutput, from: usize, to: usize) -> usize {
    let column = output.flows.float("throughput_mbps").expect("a column");
    (from..to).filter(|row| column.value(*row).is_some_and(|mbps| mbps > 0.5)).count()
}

/// However late the machine is, the connection goes on after its pause.
fn beside_requests() -> Ends {
    let loaded = loaded(
        "duration = \"8500ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = { packets = 100 }\n[flows.f]\n\
         transport = \"dccp\"\ncontroller = \"ccid2\"\npacket_size = \"1016B\"\nsource = { kind = \"cbr\", rate = \
         \"2Mbps\", fps = 250 }\ndccp = { service = \"SC:call\" }\npath = [\"l\"]\npause = [[\"1s\", \"7s\"]]\n",
    );
    let ends = run(&loaded, |relay, _, _| {
        // Heard twice before the sender, or beside it, whoever comes first.
        request_as_unknown(relay, [5001, 5001].into_iter());
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(3300));
            request_as_unknown(relay, [5001, 5001, 6000].into_iter());
            request_as_unknown(relay, 1000..1600);
        }
    });
    for output in [&ends.sender, &ends.receiver] {
        // No feedback in a pause is all that may be said.
        let odd = output.warnings.iter().any(|said| !said.starts_with("no feedback from"));
        assert!(!odd, "{:?}", output.warnings);
        let rows = output.flows.rows();
        assert!(busy(output, rows * 7 / 8, rows) > 0, "nothing is carried after the pause");
    }
    assert!(ends.relay.counters.unknown_peers > 600, "{:?}", ends.relay.counters);
    ends
}
