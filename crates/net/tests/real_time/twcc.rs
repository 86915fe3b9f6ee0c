//! `feedback.format = "twcc"` over sockets. `pure/twcc.rs` has it simulated.

use crate::call::formats::scenario;
use crate::call::{StopAtEnd, anywhere, flow, loaded};
use crate::ends::{self, Ends};
use crate::lateness::{judge_on_time, wait_until};
use paceline_net::{Control, ReceiveOptions, Receiver};
use paceline_scenario::Loaded;
use paceline_wire::rtp::RtpHeaderFields;
use paceline_wire::{rtcp, rtp, twcc};
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn over_sockets_every_packet_is_numbered_and_reported_on() {
    for streams in [1, 2] {
        let loaded = loaded(&scenario("twcc", streams, 6, ""));
        let judge = |ends: &Ends| {
            let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
            let (packets, arrived) =
                (sent.packets_sent.expect("packets"), received.packets_received.expect("packets"));
            // Probes fill the queue of 50 packets: simulated, the same call of GCC loses 3 % in its first seconds.
            assert!(
                arrived >= 250 && 20 * (packets - arrived) < packets,
                "{streams} streams: {packets} and {arrived} packets"
            );
            assert!(sent.srtt_ms.p50.is_some_and(|srtt| (35.0..120.0).contains(&srtt)), "{:?}", sent.srtt_ms);
        };
        judge_on_time(|| reported_on(&loaded), judge);
    }
}

fn reported_on(loaded: &Loaded) -> Ends {
    let ends = ends::run(loaded, |_, _, _| ());
    assert!(flow(&ends.receiver).packets_received > Some(20), "{:?}", flow(&ends.receiver));
    assert_eq!(ends.receiver.counters.malformed, 0, "each has its number");
    let counters = &ends.sender.counters;
    assert_eq!(
        (counters.malformed, counters.unknown_reports, counters.other_rtcp),
        (0, 0, 0),
        "{counters:?}"
    );
    assert!(flow(&ends.sender).srtt_ms.p50.is_some_and(|srtt| srtt >= 35.0), "{:?}", flow(&ends.sender));
    ends
}

/// Numbers that the reports of a datagram say have arrived, and those that they say are missing.
fn told(datagram: &[u8], arrived: &mut BTreeSet<u16>, missing: &mut BTreeSet<u16>) {
    for packet in rtcp::packets(datagram).map(|packet| packet.expect("sound")).filter(twcc::is_twcc) {
        let mut report = twcc::TransportFeedback::default();
        twcc::decode_packet(&packet, &mut report).expect("sound");
        for (more, delta) in (0..).zip(&report.deltas) {
            let of = if delta.is_some() { &mut *arrived } else { &mut *missing };
            of.insert(report.base.wrapping_add(more));
        }
    }
}

/// Half of a sender's packets are of a stream that the receiver does not listen to: transport-wide reports tell of them too. A datagram
/// from another address is none of the transport.
#[test]
fn over_sockets_reports_are_about_the_transport() {
    let loaded = loaded(&scenario("twcc", 1, 60, ""));
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let (target, stop) = (receiver.address().expect("an address"), &AtomicBool::new(false));
    let [sender, stranger] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    sender.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    let send = |from: &UdpSocket, ssrc: u32, number: u16| {
        let mut datagram = Vec::new();
        let sequence = number;
        let header = RtpHeaderFields { payload_type: 98, ssrc, sequence, timestamp: 0, marker: false };
        rtp::encode_extended(&header, &twcc::extension(5, number), 100, 0, &mut datagram).expect("sound");
        from.send_to(&datagram, target).expect("sent");
    };
    let (mut arrived, mut missing) = (BTreeSet::new(), BTreeSet::new());
    let output = std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let _stops = StopAtEnd(stop);
        let mut buffer = [0; 1500];
        for number in 0..400u16 {
            send(&sender, if number % 2 == 0 { 7 } else { 9 }, number);
            if number >= 4 {
                send(&stranger, 11, number + 1);
            }
            while let Ok(length) = sender.recv(&mut buffer) {
                told(&buffer[..length], &mut arrived, &mut missing);
            }
        }
        wait_until("report on the last packet", || {
            if let Ok(length) = sender.recv(&mut buffer) {
                told(&buffer[..length], &mut arrived, &mut missing);
            }
            arrived.contains(&399)
        });
        stop.store(true, Ordering::Relaxed);
        receiver.join().expect("no panic").expect("an output")
    });
    // The first packets are heard before it is known whose receiver this is.
    let unreported: Vec<_> = (4..400).filter(|number| !arrived.contains(number)).collect();
    assert_eq!((unreported, arrived.contains(&400)), (vec![], false));
    let counters = output.counters;
    assert!(counters.unknown_ssrc >= 190 && counters.unknown_peers >= 390, "{counters:?}");
    assert!((190..=200).contains(&output.summary.packets.expect("known")), "{:?}", output.summary.packets);
}
