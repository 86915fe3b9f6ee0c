//! Probes over sockets: a controller's padding goes over the wire under the probe's number and is counted nowhere, as in the
//! simulator.

use super::driver::SendingDriver;
use super::{SendOptions, local_for};
use crate::choice::ChosenFlow;
use crate::port::Port;
use crate::record::joined;
use crate::socket::UdpPort;
use crate::transports::Over;
use crate::transports::rtp::RtpSendingCodec;
use crate::{Control, NetOutput, ReceiveOptions, Receiver, parse_address};
use paceline_cc::{Assigned, Controller, Probe, Report, SentPacket, Snapshot, Status, TimeoutReason, Update};
use paceline_metrics::Facts;
use paceline_rtp::Ssrcs;
use paceline_rtp::{RTP_HEADER, RtpSender};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_units::{Bitrate, Bytes, Time};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const PROBE: u64 = 7;
const PROBE_BYTES: u64 = 10_000;
/// The largest packet of padding.
const MOST: u64 = RTP_HEADER.as_u64() + 255;

/// Sizes of the probe's packets, by sequence number, and how much of them was reported as received.
#[derive(Default)]
struct Heard {
    sent: Vec<(u64, u64)>,
    reported: u64,
}

/// Asks once for 10 kB at 8 Mbit/s, and writes down what it hears of that.
struct Prober {
    asked: bool,
    heard: Arc<Mutex<Heard>>,
}

impl Controller for Prober {
    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        if packet.probe == Some(PROBE) {
            self.heard.lock().expect("no panic").sent.push((packet.sequence, packet.size.as_u64()));
        }
        Update::none()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        let mut heard = self.heard.lock().expect("no panic");
        for packet in report.packets.iter().filter(|packet| matches!(packet.status, Status::Received { .. }))
        {
            let facts = (packet.sequence, packet.size.as_u64());
            heard.reported += if heard.sent.contains(&facts) { facts.1 } else { 0 };
        }
        Update::none()
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        (!self.asked).then_some((Time::from_nanos(500_000_000), TimeoutReason::Probe))
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        self.asked = true;
        let probe = Probe { id: PROBE, rate: Bitrate::from_mbps(8), bytes: Bytes::new(PROBE_BYTES) };
        Update { probe: Some(probe), ..Update::none() }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}

/// 50 frames a second, each of two whole packets: larger than any packet of padding.
const CALL: &str = r#"
    duration = "2500ms"
    [links.none]
    rate = "100Mbps"
    queue = { kind = "droptail", packets = 100 }
    [flows.call]
    controller = { kind = "fixed", rate = "1Mbps" }
    source = { kind = "cbr", rate = "960kbps", fps = 50 }
    path = ["none"]
    stop = "1s"
"#;

/// Runs the call from a sender under `prober` to a receiver, on loopback.
fn run(loaded: &Loaded, prober: Prober) -> (NetOutput, NetOutput) {
    let anywhere = parse_address("localhost:0").expect("an address");
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere)).expect("a receiver");
    let options = SendOptions::to(receiver.address().expect("an address"));
    let flow = ChosenFlow::of(loaded, None).expect("the only flow");
    let Over::Rtp(parts) = flow.over else { panic!("a call") };
    let port = UdpPort::bind(local_for(options.to)).and_then(|port| Port::new(port, None)).expect("a port");
    let end = RtpSender::new(prober, &parts.sender, parts.streams.clone());
    let codec =
        RtpSendingCodec::new((Ssrcs::new(100, 1), 0), parts.streams.len(), parts.feedback.format, false);
    let sender = SendingDriver::new(port, flow, Facts::RTP_SENDER, end, codec, options.to, options.patience);
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let sent = sender.run(&Control { stop, progress: &|_| () }).expect("an output");
        let sent = joined(vec![sent], Vec::new()).expect("answered");
        (sent, receiver.join().expect("no panic").expect("an output"))
    })
}

#[test]
#[ignore = "in real time"]
fn a_probe_goes_over_the_wire_as_padding_and_is_counted_nowhere() {
    let origin = Origin { text: CALL, file: "probe.toml", sets: &[] };
    let loaded = load(&origin, &Loader::default()).unwrap_or_else(|error| panic!("{error}"));
    let heard = Arc::new(Mutex::new(Heard::default()));
    let (sender, receiver) = run(&loaded, Prober { asked: false, heard: heard.clone() });
    let heard = heard.lock().expect("no panic");
    let sizes: Vec<u64> = heard.sent.iter().map(|(_, size)| *size).collect();
    let probed: u64 = sizes.iter().sum();
    let padded = sizes.iter().filter(|size| **size <= MOST).count() as u64;
    // Media goes first in a probe: how much of it waits depends on how late a busy machine wakes the sender.
    assert!((PROBE_BYTES..PROBE_BYTES + MOST).contains(&probed) && padded > 0, "{sizes:?}");
    assert_eq!(heard.reported, probed, "all of it arrived and is reported on");

    let [sent, received] = [&sender, &receiver].map(|output| &output.summary.flows["call"]);
    let media = sent.packets_sent.expect("a sender knows");
    assert_eq!(sender.counters.sent, media + padded, "padding is on the wire and in no figure");
    assert_eq!((receiver.counters.received, receiver.counters.malformed), (media + padded, 0));
    assert_eq!((sent.packets_received, received.packets_received), (Some(media), Some(media)));
    assert_eq!((sent.loss_ratio, received.loss_ratio), (Some(0.0), Some(0.0)));
    let frames = &received.frames;
    assert_eq!((frames.displayed, frames.incomplete), (sent.frames.captured, Some(0)));
    let goodput = received.goodput_mbps.expect("a receiver knows");
    let with_headers = goodput * (1200.0 + RTP_HEADER.as_u64() as f64) / 1200.0;
    let throughput = received.throughput_mbps.expect("a receiver knows");
    assert!((throughput - with_headers).abs() < 1e-9, "{throughput} and {with_headers}");
}
