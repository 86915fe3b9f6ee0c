//! Calls as applications make them, through the classes that embed: datagrams of media and RTCP between [`MediaSender`] and
//! [`MediaReceiver`] over one bottleneck. `applications` of `sim` asks the same of scenarios.

use crate::members::{self, CONSTANT, COUNTS_LONG, Member, PACE, REFERENCE};
use paceline_cc::{Steers, StreamId};
use paceline_endpoint::{MediaPacket, MediaReceiver, MediaSender, SentDatagram};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::VecDeque;
use std::sync::Arc;

const SECONDS: u64 = 100;
/// The seconds before are not judged: the slowest ramp takes so long.
const WARMUP: u64 = 60;
const DELAY: TimeDelta = TimeDelta::from_millis(25);
const STEP: TimeDelta = TimeDelta::from_millis(1);
const MBPS: f64 = 3.0;
/// Payload of a packet.
const PAYLOAD: usize = 1100;

/// The encoder of a stream.
#[derive(Clone, Copy)]
struct Source {
    fps: u64,
    /// Its own rate; where it has none it follows its target.
    kbps: Option<f64>,
    settings: &'static [(&'static str, &'static str)],
    /// Seconds in which it makes nothing.
    pause: (u64, u64),
}

const CAMERA: Source = Source { fps: 30, kbps: None, settings: &[], pause: (0, 0) };

/// Of one stream: what was sent and what arrived in each second, in Mbit/s.
#[derive(Clone, Default)]
struct Rates {
    sent: Vec<f64>,
    arrived: Vec<f64>,
}

struct Outcome {
    streams: Vec<Rates>,
    /// The longest that a packet waited in the sender before it left.
    oldest: TimeDelta,
}

impl Outcome {
    /// Mbit/s that arrive of a stream from one second to another.
    fn rate(&self, stream: usize, (from, to): (u64, u64)) -> f64 {
        let rates = &self.streams[stream].arrived[from as usize..to as usize];
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    /// The same of the seconds that are judged.
    fn late(&self, stream: usize) -> f64 {
        self.rate(stream, (WARMUP, SECONDS))
    }
}

type Sender = MediaSender<paceline_cc::AnyController, Arc<[u8]>>;

/// Kind and profile.
struct Controller {
    kind: &'static str,
    profile: &'static str,
}

impl Controller {
    /// A call over a link of which `mbps` says the rate in each second.
    fn call(&self, sources: &[Source], mbps: impl Fn(u64) -> f64) -> Outcome {
        let mut sender = Sender::configured(self.kind, Some(self.profile), []).expect("it carries media");
        let mut receiver = MediaReceiver::configured([]).expect("sound");
        for (ssrc, source) in (1000u32..).zip(sources) {
            let ssrc = ssrc.to_string();
            receiver.add_configured([("ssrc", &ssrc[..])]).expect("there is room");
            let own = source.settings.iter().copied().chain([("ssrc", &ssrc[..])]);
            sender.add_configured(Time::ZERO, own).expect("there is room");
        }
        sender.start(Time::ZERO);
        let mut outcome = Outcome { streams: vec![Rates::default(); sources.len()], oldest: TimeDelta::ZERO };
        let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
        let (mut free, mut bytes) = (Time::ZERO, Vec::new());
        for millis in 0..SECONDS * 1000 {
            let now = Time::ZERO + STEP * millis as i64;
            let second = millis / 1000;
            if millis % 1000 == 0 {
                for stream in &mut outcome.streams {
                    stream.sent.push(0.0);
                    stream.arrived.push(0.0);
                }
            }
            for (id, source) in (0u8..).map(StreamId).zip(sources) {
                let frame = millis * source.fps / 1000;
                if (millis + 1) * source.fps / 1000 > frame
                    && !(source.pause.0..source.pause.1).contains(&second)
                {
                    offer(&mut sender, now, id, source, frame);
                }
            }
            sender.handle_timeout(now);
            while let Some(sent) = sender.poll_datagram(now, &mut bytes) {
                if let SentDatagram::Rtp(packet) = sent {
                    outcome.oldest = outcome.oldest.max(now - packet.queued);
                    outcome.streams[usize::from(packet.stream.0)].sent[second as usize] +=
                        packet.size.as_u64() as f64 * 8e-6;
                }
                let begins = free.max(now);
                // A queue of 300 ms.
                if begins - now <= TimeDelta::from_millis(300) {
                    free = begins
                        + Bitrate::from_kbps((mbps(second) * 1000.0) as u64)
                            .time_for(Bytes::new(bytes.len() as u64));
                    there.push_back((free + DELAY, bytes.clone()));
                }
                bytes.clear();
            }
            while sender.poll_event().is_some() {}
            while there.front().is_some_and(|(at, _)| *at <= now) {
                let (_, datagram) = there.pop_front().expect("it is there");
                if let Some(came) = receiver.receive(now, &datagram, Ecn::NotEct) {
                    let stream = came.packet.header.ssrc as usize - 1000;
                    outcome.streams[stream].arrived[second as usize] += datagram.len() as f64 * 8e-6;
                }
            }
            while receiver.poll_transmit(now, &mut bytes) {
                back.push_back((now + DELAY, std::mem::take(&mut bytes)));
            }
            while back.front().is_some_and(|(at, _)| *at <= now) {
                let (_, datagram) = back.pop_front().expect("it is there");
                sender.receive_rtcp(now, &datagram, Ecn::NotEct);
            }
        }
        outcome
    }

    fn usual(&self, sources: &[Source]) -> Outcome {
        self.call(sources, |_| MBPS)
    }
}

/// A frame of a stream. The sizes of an encoder that follows vary.
fn offer(sender: &mut Sender, now: Time, id: StreamId, source: &Source, frame: u64) {
    let target = sender.target(id).unwrap_or_default().as_bps_f64();
    let varied = if source.kbps.is_none() { [0.9, 1.1, 1.0, 1.05, 0.95][frame as usize % 5] } else { 1.0 };
    let size = source.kbps.map_or(target, |kbps| kbps * 1000.0) * varied / 8.0 / source.fps as f64;
    let size = (size as usize).max(1);
    for at in (0..size).step_by(PAYLOAD) {
        let payload: Arc<[u8]> = vec![0; (size - at).min(PAYLOAD)].into();
        let fields = (96, (frame * 90_000 / source.fps) as u32, at + PAYLOAD >= size);
        sender.offer(now, id, MediaPacket::payload(frame, fields, payload).expect("sound"));
    }
}

/// Member, test and the reason.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("um paper", "bound", CONSTANT),
    ("um paper", "twice", COUNTS_LONG),
    ("gcc libwebrtc", "twice", PACE),
    ("scream reference-2022", "priority", REFERENCE),
    ("gcc draft", "fps", BURSTS),
    ("scream-v2 libwebrtc", "little", UNEVEN),
    ("sprout nsdi13", "fps", BETWEEN),
    ("sprout nsdi13", "bound", CAUTION),
];
const BETWEEN: &str = "ticks between frames tell it nothing, so that its forecast becomes more cautious";
const CAUTION: &str = "it sends what arrives with 95 % probability: 0.93 of 3 Mbit/s after the dip";
const UNEVEN: &str =
    "a packet each second besides makes its flights uneven: the camera has 2.82 instead of 2.99 Mbit/s";
const BURSTS: &str =
    "a frame of 200 ms is a burst of 200 ms of the link, which its detector takes for a queue";

/// Fails with all that is wrong, one line a fault, and with those that are exempt and need not be.
fn judge(test: &str, what: impl Fn(&Controller) -> Vec<(bool, String)>) {
    let mut faults = Vec::new();
    for Member { name, profile, params } in members::untuned() {
        let kind = params.kind();
        let follows = matches!(params.steers(), Steers::Media | Steers::Datagrams) && kind != "fixed";
        // A receiver half has messages of its own, which RTCP does not carry.
        if !follows || Sender::configured(kind, Some(profile), []).is_err() {
            assert!(!follows || paceline_cc::AnyController::needs_receiver_half(kind), "{name}");
            continue;
        }
        let found = what(&Controller { kind, profile }).into_iter().filter(|(right, _)| !right);
        faults.extend(found.map(|(_, why)| (name.clone(), why)));
    }
    let wrong = members::wrong_in(test, &faults, EXEMPT);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_stream_that_wants_little_leaves_the_rest_to_the_others() {
    judge("little", |controller| {
        let alone = controller.usual(&[CAMERA]).late(0);
        let beside = |kbps: f64, fps: u64| {
            let speech = Source { fps, kbps: Some(kbps), ..CAMERA };
            let outcome = controller.usual(&[CAMERA, speech]);
            let (camera, speech) = (outcome.late(0), outcome.late(1));
            let least = 0.95 * (alone - speech);
            [
                (camera >= least, format!("camera {camera:.3} beside {kbps} kbit/s, {alone:.3} alone")),
                (speech >= 0.95 * kbps / 1000.0, format!("speech has {speech:.4} of {kbps} kbit/s")),
            ]
        };
        [beside(40.0, 50), beside(1.0, 1)].concat()
    });
}

#[test]
fn limits_of_a_stream_hold() {
    judge("limits", |controller| {
        let settings = &[("target_min", "16kbps"), ("target_start", "48kbps"), ("target_max", "64kbps")];
        let speech = Source { fps: 50, settings, ..CAMERA };
        let outcome = controller.usual(&[CAMERA, speech]);
        let speech = outcome.late(1);
        // Frames have headers of 12 B each, and a target holds for all that leaves.
        vec![((0.05..0.072).contains(&speech), format!("speech has {speech:.4} Mbit/s of 0.064"))]
    });
}

#[test]
fn greedy_streams_share_by_priority() {
    judge("priority", |controller| {
        let of = |settings| Source { settings, ..CAMERA };
        let outcome = controller.usual(&[of(&[("priority", "2")]), of(&[("priority", "1")])]);
        let (camera, screen) = (outcome.late(0), outcome.late(1));
        vec![((1.7..2.4).contains(&(camera / screen)), format!("{camera:.3} and {screen:.3} by 2 to 1"))]
    });
}

#[test]
fn every_frame_rate_has_its_part() {
    judge("fps", |controller| {
        let of = |fps| controller.usual(&[Source { fps, ..CAMERA }]).late(0);
        let usual = of(30);
        let judged = |fps| {
            let found = of(fps);
            (found >= 0.8 * usual, format!("{found:.2} Mbit/s at {fps} fps, {usual:.2} at 30"))
        };
        [5, 120].map(judged).to_vec()
    });
}

/// The application is silent for 20 s, longer than any timer.
#[test]
fn a_pause_costs_little() {
    judge("pause", |controller| {
        let outcome = controller.usual(&[Source { pause: (60, 80), ..CAMERA }]);
        let (before, after) = (outcome.rate(0, (50, 60)), outcome.rate(0, (85, 95)));
        vec![(after >= 0.8 * before, format!("{after:.2} Mbit/s 5 s after the pause, {before:.2} before"))]
    });
}

/// A call of an encoder that follows no target, 1.8 Mbit/s, over 3, 0.6 and 3 Mbit/s.
fn beyond_the_link(controller: &Controller) -> Outcome {
    let dip = |second| if (20..40).contains(&second) { 0.6 } else { 3.0 };
    controller.call(&[Source { kbps: Some(1800.0), ..CAMERA }], dip)
}

#[test]
fn no_packet_waits_longer_than_its_bound() {
    judge("bound", |controller| {
        let outcome = beyond_the_link(controller);
        let end = outcome.rate(0, (50, 60));
        vec![
            (outcome.oldest <= TimeDelta::from_millis(2001), format!("waits of {:?}", outcome.oldest)),
            (end > 1.2, format!("{end:.2} of 1.8 Mbit/s after the dip")),
        ]
    });
}

#[test]
fn nobody_sends_twice_what_arrives_for_long() {
    judge("twice", |controller| {
        let outcome = beyond_the_link(controller);
        let Rates { sent, arrived } = &outcome.streams[0];
        let sum = |rates: &[f64], from: usize| rates[from..from + 2].iter().sum::<f64>();
        let most = (2..sent.len() - 3).map(|from| sum(sent, from) / sum(arrived, from).max(0.04));
        let most = most.fold(0.0, f64::max);
        vec![(most <= 2.0, format!("{most:.2} times what arrives"))]
    });
}
