//! Probes, limits and their padding, under a controller that says by hand what it wants.

use super::*;
use paceline_cc::{
    Allowance, Assigned, Controller, Limits, Probe, Report, SentPacket, Snapshot, StreamId, TimeoutReason,
    Update,
};
use paceline_ends::{PathFacts, Reason, Received, ReceivingEnd, SendingEnd, Transmit};
use paceline_media::{Frame, PlayoutConfig, Source};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

const STREAM: StreamId = StreamId(0);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Lets nothing leave but probes: two of 3000 B, at 8 Mbit/s and at 4 Mbit/s, asked for at 100 ms.
#[derive(Clone, Default)]
struct Prober {
    asked: u64,
    sent: Vec<SentPacket>,
}

impl Controller for Prober {
    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        self.sent.push(*packet);
        Update::none()
    }

    fn on_report(&mut self, _now: Time, _report: &Report<'_>) -> Update {
        Update::none()
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        Update::none().with_target(limits.max)
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        (self.asked < 2).then_some((ms(100), TimeoutReason::Probe))
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        self.asked += 1;
        let rate = Bitrate::from_mbps(if self.asked == 1 { 8 } else { 4 });
        let probe = Some(Probe { id: self.asked, rate, bytes: Bytes::new(3000) });
        Update { probe, ..Update::allow(Bytes::ZERO) }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}

/// A sender with two packets of 1000 B on the link in its queue.
fn sender() -> RtpSender<Prober> {
    let config =
        SenderConfig { ecn: Ecn::Ect1, clock_step: TimeDelta::ZERO, ..SenderConfig::new(Bytes::new(988)) };
    let stream = StreamConfig::new(Source::External, Bitrate::from_mbps(1));
    let mut sender = RtpSender::new(Prober::default(), &config, vec![stream]);
    sender.start(ms(0));
    let nothing = Update { allowance: Some(Allowance::Bytes(Bytes::ZERO)), ..Update::none() };
    sender.apply(ms(0), nothing);
    let frame = Frame { id: 0, captured: ms(100), payload: Bytes::new(2 * 988), key: false };
    sender.offer_frame(ms(100), STREAM, &frame);
    sender
}

/// Packets that leave until `end`, and when.
fn drain(sender: &mut RtpSender<Prober>, end: Time) -> Vec<(Time, Transmit<RtpPacket>)> {
    let mut sent = Vec::new();
    while let Some((now, _)) = sender.next_timeout().filter(|(due, _)| *due < end) {
        sender.handle_timeout(now);
        sent.extend(std::iter::from_fn(|| sender.poll_transmit(now)).map(|out| (now, out)));
    }
    sent
}

#[test]
fn a_probe_leaves_at_its_own_rate_media_first_and_padding_for_the_rest() {
    let mut sender = sender();
    assert_eq!(sender.next_timeout(), Some((ms(100), Reason::Controller(TimeoutReason::Probe))));
    assert!(sender.poll_transmit(ms(99)).is_none(), "nothing is allowed");
    let sent = drain(&mut sender, ms(1000));
    // 1000 B are 1 ms at 8 Mbit/s: two packets of media, then 1000 B of padding, 267 B in a packet at most.
    let times: Vec<_> = sent.iter().map(|(at, _)| (*at - ms(100)).as_nanos() / 1000).collect();
    assert_eq!(times[..6], [0, 1000, 2000, 2267, 2534, 2801]);
    let padding: Vec<_> = sent.iter().map(|(_, out)| (out.packet.padding, out.size.as_u64())).collect();
    assert_eq!(padding[..6], [(0, 1000), (0, 1000), (255, 267), (255, 267), (255, 267), (187, 199)]);
    let bytes = |probe| -> u64 {
        let of = sender.controller().sent.iter().filter(|packet| packet.probe == Some(probe));
        of.map(|packet| packet.size.as_u64()).sum()
    };
    assert_eq!((bytes(1), bytes(2)), (3000, 3000), "each packet says to the controller which probe it is of");
    // The second probe follows at 4 Mbit/s and is all padding: 199 B are 398 us, 267 B are 534 us.
    assert_eq!(times[6..8], [3199, 3733]);
    assert_eq!(sent.len(), 6 + 12);
    assert!(sent[2..].iter().all(|(_, out)| out.packet.is_padding() && out.ecn == Ecn::Ect1));
    let sequences: Vec<_> = sent.iter().map(|(_, out)| out.packet.sequence).collect();
    assert_eq!(sequences, (0..18).collect::<Vec<_>>());
    let next = sender.next_timeout().map(|(_, why)| why);
    assert_eq!(next, Some(Reason::Expiry), "the rest waits for an allowance, until it is discarded");
}

#[test]
fn padding_is_reported_on_but_neither_payload_nor_frame() {
    let mut sender = sender();
    let mut receiver = RtpReceiver::new(FeedbackConfig::default(), 1, PlayoutConfig::default());
    let mut payload = Bytes::ZERO;
    for (at, out) in drain(&mut sender, ms(1000)) {
        // The wire does not say which packet is a frame's first.
        let packet = RtpPacket { first: None, ..out.packet };
        let Received { payload: new, .. } = receiver.receive(at, packet, Ecn::NotEct, PathFacts::default());
        payload += new;
    }
    assert_eq!(payload, Bytes::new(2 * 988));
    assert_eq!(receiver.poll_displayed().map(|(_, frame)| frame.bytes), Some(Bytes::new(2 * 988)));
    let RtpFeedback::Packets(report) = receiver.poll_transmit(ms(1000)).expect("it is due").packet else {
        unreachable!("there is no half")
    };
    assert_eq!(report.arrivals.len(), 18);
    // The frame behind the padding is shown although nothing says where it starts.
    let next = RtpPacket {
        stream: STREAM,
        sequence: 18,
        captured: ms(1000),
        payload: Bytes::new(10),
        padding: 0,
        header: Header::RTP,
        transport: 0,
        first: None,
        marker: true,
        key: None,
        annotation: None,
    };
    receiver.receive(ms(1010), next, Ecn::NotEct, PathFacts::default());
    assert_eq!(receiver.poll_displayed().map(|(_, frame)| frame.captured), Some(ms(1000)));
}

#[test]
fn a_stop_ends_probes() {
    let mut sender = sender();
    sender.handle_timeout(ms(100));
    assert!(sender.poll_transmit(ms(100)).is_some());
    sender.stop(ms(100));
    assert!(sender.poll_transmit(ms(200)).is_none());
    sender.handle_timeout(ms(200));
    assert!(sender.poll_transmit(ms(200)).is_none(), "one that is asked for later does not begin");
}

#[test]
fn an_encoder_is_told_no_target_outside_the_limits() {
    let mut sender = sender();
    assert_eq!(sender.target(STREAM), Some(Bitrate::from_mbps(1)));
    let limits =
        |min, max| Limits { stream: STREAM, min: Bitrate::from_mbps(min), max: Bitrate::from_mbps(max) };
    sender.set_limits(ms(1), &limits(2, 3));
    assert_eq!(sender.target(STREAM), Some(Bitrate::from_mbps(3)), "the controller heard of it");
    sender.apply(ms(2), Update::none().with_target(Bitrate::from_mbps(1)));
    assert_eq!(sender.target(STREAM), Some(Bitrate::from_mbps(2)));
    sender.apply(ms(2), Update::none().with_target(Bitrate::from_mbps(9)));
    assert_eq!(sender.target(STREAM), Some(Bitrate::from_mbps(3)));
}
