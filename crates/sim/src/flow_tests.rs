//! Probes in the simulator: their padding crosses links and is reported on, and is counted nowhere.

use super::{Flow, FlowWiring};
use crate::edge::Edge;
use crate::net::Net;
use crate::transports::Ends;
use paceline_cc::{
    AnyReceiverHalf, Assigned, Controller, Probe, Report, SentPacket, Snapshot, Status, TimeoutReason, Update,
};
use paceline_ends::SendingEnd;
use paceline_metrics::Facts;
use paceline_rtp::{RtpFeedback, RtpPacket, RtpReceiver, RtpSender};
use paceline_scenario::transports::EndsParts;
use paceline_scenario::{Loader, Origin, load};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

const DELAY: TimeDelta = TimeDelta::from_millis(10);
const FIRST_PROBE: Time = Time::from_nanos(1_000_000_000);

/// Asks once for 10 kB at 8 Mbit/s, and writes down what it hears of that.
#[derive(Clone, Default)]
struct Prober {
    asked: bool,
    sent: Vec<(u64, u64)>,
    reported: u64,
}

impl Controller for Prober {
    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        if packet.probe == Some(7) {
            self.sent.push((packet.sequence, packet.size.as_u64()));
        }
        Update::none()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        let received =
            report.packets.iter().filter(|packet| matches!(packet.status, Status::Received { .. }));
        let probed = received.filter(|packet| self.sent.contains(&(packet.sequence, packet.size.as_u64())));
        self.reported += probed.map(|packet| packet.size.as_u64()).sum::<u64>();
        Update::none()
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        (!self.asked).then_some((FIRST_PROBE, TimeoutReason::Probe))
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        self.asked = true;
        let probe = Probe { id: 7, rate: Bitrate::from_mbps(8), bytes: Bytes::new(10_000) };
        Update { probe: Some(probe), ..Update::none() }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}

enum Probed {}

impl Ends for Probed {
    type Data = RtpPacket;
    type Returning = RtpFeedback;
    type Sender = RtpSender<Prober>;
    type Receiver = RtpReceiver<AnyReceiverHalf>;
}

/// 1 Mbit/s of media for 3 s, in 150 frames of 2500 B, each of three packets.
const CALL: &str = r#"
    duration = "3s"
    [links.none]
    rate = "100Mbps"
    queue = { kind = "droptail", packets = 100 }
    [flows.call]
    controller = { kind = "fixed", rate = "1Mbps" }
    source = { kind = "cbr", rate = "1Mbps", fps = 50 }
    path = ["none"]
"#;

#[test]
fn the_padding_of_a_probe_is_reported_on_and_counted_nowhere() {
    let origin = Origin { text: CALL, file: "probe.toml", sets: &[] };
    let loaded = load(&origin, &Loader::default()).unwrap_or_else(|error| panic!("{error}"));
    let parts = &loaded.parts.flows[0];
    let EndsParts::Rtp(rtp) = &parts.ends else { panic!("a call") };
    let sender = RtpSender::new(Prober::default(), &rtp.sender, rtp.streams.clone());
    let receiver = RtpReceiver::with_half(rtp.feedback.clone(), 1, rtp.playout, None);
    let recorder = loaded.scenario.flow_recorder(&loaded.scenario.flows[0], Facts::ALL);
    let wiring = FlowWiring {
        index: 0,
        overhead: 0,
        data_out: (0, DELAY),
        data_in: 0,
        reports_out: (1, DELAY),
        reports_in: 1,
        ticker: recorder.ticker(),
        recorder,
        watch: None,
    };
    let mut net = Net::new(Vec::new(), vec![Edge::new(), Edge::new()]);
    let mut flow = Flow::<Probed>::new(sender, receiver, parts.plan(), wiring);
    for window in 1..=301 {
        flow.advance_receiver(Time::ZERO + DELAY * window, &mut net);
        flow.advance_sender(Time::ZERO + DELAY * window, &mut net);
    }
    let heard = flow.sender.end().controller();
    let probed: u64 = heard.sent.iter().map(|(_, size)| size).sum();
    // The probe begins with the frame of its instant: three packets, 2536 B.
    assert!((10_000..10_267).contains(&probed) && heard.sent.len() == 3 + 28, "{:?}", heard.sent);
    assert_eq!(heard.reported, probed, "all of it is reported on, once");
    let (packets, figures) = (flow.packets, flow.wiring.recorder.summary());
    assert_eq!((packets, figures.packets_sent, figures.packets_received), (450, Some(450), Some(450)));
    assert_eq!(
        (figures.loss_ratio, figures.frames.incomplete, figures.frames.displayed),
        (Some(0.0), Some(0), Some(150))
    );
    let goodput = figures.goodput_mbps.expect("a goodput");
    assert!((goodput - 150.0 * 2500.0 * 8.0 / 3e6).abs() < 1e-9, "{goodput}");
}
