//! A sender with GCC and its receiver over a path that can do much, and a record of all that the controller is told.
//!
//! The two ends are the project's; between them is one queue whose rate follows a list of steps, with random losses, delay
//! noise, reordering, outages and a receiver's clock that drifts.

use paceline_cc::gcc::{Gcc, Params};
use paceline_cc::{
    Assigned, Controller, FlowSetup, Offered, PacketResult, Report, SendQueueState, SentPacket, Snapshot,
    StreamId, TimeoutReason, Update, Verb,
};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Bulk, BulkParams, Frame, PlayoutConfig, Source};
use paceline_rtp::{
    FeedbackConfig, RTP_HEADER, RtpFeedback, RtpPacket, RtpReceiver, RtpSender, SenderConfig, StreamConfig,
};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};
use std::collections::{BTreeMap, VecDeque};

const STREAM: StreamId = StreamId(0);
const MAX_PAYLOAD: Bytes = Bytes::new(1200);

/// A path, and what is sent over it.
pub struct Path {
    pub name: &'static str,
    pub seconds: u64,
    /// From when on the link has which rate, kbit/s; 0: nothing is served.
    pub rates: &'static [(f64, f64)],
    /// Bytes that wait at most, as time at the first rate.
    pub queue_ms: f64,
    pub one_way_ms: f64,
    /// Mean of the exponential delay noise.
    pub noise_ms: f64,
    /// Whether noise puts packets out of order.
    pub reorders: bool,
    pub loss: f64,
    /// From when on the application offers at most, kbit/s.
    pub offered: &'static [(f64, f64)],
    pub fps: f64,
    /// Whether a file is sent in place of frames.
    pub file: bool,
    /// Drift of the receiver's clock, parts per million.
    pub skew: f64,
    /// Time between reports, at most.
    pub report_ms: i64,
}

const ALL: &[(f64, f64)] = &[(0.0, 1e9)];
pub const PATH: Path = Path {
    name: "",
    seconds: 40,
    rates: &[(0.0, 2000.0)],
    queue_ms: 300.0,
    one_way_ms: 20.0,
    noise_ms: 0.0,
    reorders: false,
    loss: 0.0,
    offered: ALL,
    fps: 30.0,
    file: false,
    skew: 0.0,
    report_ms: 40,
};

/// Twenty paths.
pub const PATHS: &[Path] = &[
    Path { name: "100 kbit/s", rates: &[(0.0, 100.0)], ..PATH },
    Path { name: "500 kbit/s, 50 ms of queue", rates: &[(0.0, 500.0)], queue_ms: 50.0, ..PATH },
    Path { name: "2 Mbit/s", ..PATH },
    Path { name: "2 Mbit/s, noise of 5 ms", noise_ms: 5.0, ..PATH },
    Path { name: "2 Mbit/s, 1 % lost", loss: 0.01, ..PATH },
    Path { name: "2 Mbit/s, 5 % lost", loss: 0.05, ..PATH },
    Path { name: "2 Mbit/s, 10 % lost", loss: 0.1, ..PATH },
    Path {
        name: "5 Mbit/s, 3 % lost, noise of 10 ms",
        rates: &[(0.0, 5000.0)],
        loss: 0.03,
        noise_ms: 10.0,
        ..PATH
    },
    Path { name: "20 Mbit/s", rates: &[(0.0, 20_000.0)], seconds: 25, ..PATH },
    Path { name: "50 Mbit/s, 2 ms one way", rates: &[(0.0, 50_000.0)], one_way_ms: 2.0, seconds: 20, ..PATH },
    Path { name: "4, 1, 4 Mbit/s", rates: &[(0.0, 4000.0), (12.0, 1000.0), (24.0, 4000.0)], ..PATH },
    Path {
        name: "1, 8, 2 Mbit/s, noise of 3 ms",
        rates: &[(0.0, 1000.0), (10.0, 8000.0), (25.0, 2000.0)],
        noise_ms: 3.0,
        ..PATH
    },
    Path { name: "outage of 2 s", rates: &[(0.0, 3000.0), (15.0, 0.0), (17.0, 3000.0)], ..PATH },
    Path {
        name: "outage of 6 s",
        rates: &[(0.0, 3000.0), (15.0, 0.0), (21.0, 3000.0)],
        queue_ms: 2000.0,
        ..PATH
    },
    Path {
        name: "application limited, then not",
        offered: &[(0.0, 200.0), (20.0, 1e9)],
        rates: &[(0.0, 5000.0)],
        ..PATH
    },
    Path {
        name: "application limited now and then",
        offered: &[(0.0, 1e9), (8.0, 300.0), (16.0, 1e9), (24.0, 100.0), (32.0, 1e9)],
        rates: &[(0.0, 3000.0)],
        ..PATH
    },
    Path { name: "reordering by noise of 8 ms", noise_ms: 8.0, reorders: true, ..PATH },
    Path {
        name: "reordering, 2 % lost, 1 Mbit/s",
        noise_ms: 20.0,
        reorders: true,
        loss: 0.02,
        rates: &[(0.0, 1000.0)],
        ..PATH
    },
    Path { name: "300 ms one way, 1 s of queue", one_way_ms: 300.0, queue_ms: 1000.0, seconds: 60, ..PATH },
    Path { name: "drift of 200 ppm, reports of 200 ms", skew: 200.0, report_ms: 200, fps: 15.0, ..PATH },
];

/// Events that a controller is told.
#[derive(Clone)]
pub enum Event {
    /// The first media is there.
    Begun(Time),
    /// A timeout was due.
    Tick(Time),
    /// A packet was sent; the bytes of the probe that it is part of.
    Sent(Time, SentPacket, Option<Bytes>),
    Reported(Time, Vec<PacketResult>),
}

impl Event {
    pub fn now(&self) -> Time {
        match self {
            Event::Begun(now) | Event::Tick(now) | Event::Sent(now, ..) | Event::Reported(now, _) => *now,
        }
    }
}

pub fn setup() -> FlowSetup {
    FlowSetup::new(MAX_PAYLOAD + RTP_HEADER)
}

/// The first call: media is there.
pub fn begin(gcc: &mut Gcc, now: Time) -> Update {
    let offered = Offered { stream: STREAM, bytes: Bytes::new(1), frame_end: true };
    gcc.on_offered(now, &offered, &SendQueueState::default())
}

/// GCC, and what it is told.
#[derive(Clone)]
struct Recording {
    gcc: Gcc,
    events: Vec<Event>,
    probes: BTreeMap<u64, Bytes>,
}

impl Recording {
    fn noted(&mut self, update: Update) -> Update {
        self.probes.extend(update.probe.map(|probe| (probe.id, probe.bytes)));
        update
    }
}

impl Controller for Recording {
    fn on_offered(&mut self, now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        if self.events.is_empty() {
            self.events.push(Event::Begun(now));
        }
        // A probe that waits is handed out with the next answer: only the first offer is told.
        if self.events.len() > 1 {
            return Update::none();
        }
        let update = begin(&mut self.gcc, now);
        self.noted(update)
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        let bytes = packet.probe.and_then(|probe| self.probes.get(&probe).copied());
        self.events.push(Event::Sent(now, *packet, bytes));
        let update = self.gcc.on_sent(now, packet);
        self.noted(update)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        if let Report::Packets(report) = report {
            self.events.push(Event::Reported(now, report.packets.to_vec()));
        }
        let update = self.gcc.on_report(now, report);
        self.noted(update)
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.gcc.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        self.events.push(Event::Tick(now));
        let update = self.gcc.on_timeout(now);
        self.noted(update)
    }

    fn verbs(&self) -> &'static [Verb] {
        self.gcc.verbs()
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.gcc.target_bitrate(stream)
    }

    fn snapshot(&self) -> Snapshot {
        self.gcc.snapshot()
    }
}

/// The value that a list of steps has at a time.
fn at(steps: &[(f64, f64)], now: Time) -> f64 {
    let now = now.as_secs_f64();
    steps.iter().rev().find(|(since, _)| *since <= now).map_or(0.0, |(_, value)| *value)
}

fn ms(millis: f64) -> TimeDelta {
    TimeDelta::from_secs_f64(millis / 1e3)
}

/// The queue of a path: what waits, and when the packet at its head has left.
struct Queue<'p> {
    path: &'p Path,
    waiting: VecDeque<(RtpPacket, Bytes)>,
    bytes: u64,
    /// Bits of the packet in service that are not served.
    left: f64,
    random: RandomStream,
    last_arrival: Time,
    arrivals: BTreeMap<(Time, u64), RtpPacket>,
    count: u64,
}

/// The queue is looked at so often.
const STEP: TimeDelta = TimeDelta::from_micros(100);

impl Queue<'_> {
    fn push(&mut self, packet: RtpPacket, size: Bytes) {
        let first = self.path.rates[0].1;
        let most = (first * self.path.queue_ms / 8.0).max(3000.0);
        if self.random.chance(self.path.loss) || self.bytes as f64 + size.as_f64() > most {
            return;
        }
        self.bytes += size.as_u64();
        self.waiting.push_back((packet, size));
    }

    /// Serves until a step later than `now`.
    fn serve(&mut self, now: Time) {
        let mut budget = at(self.path.rates, now) * 1e3 * STEP.as_secs_f64();
        while budget > 0.0 {
            if self.left <= 0.0 {
                let Some((_, size)) = self.waiting.front() else { return };
                self.left = size.as_bits_f64();
            }
            let served = budget.min(self.left);
            (self.left, budget) = (self.left - served, budget - served);
            if self.left <= 1e-6 {
                self.left = 0.0;
                let Some((packet, size)) = self.waiting.pop_front() else { return };
                self.bytes -= size.as_u64();
                self.depart(now, packet);
            }
        }
    }

    fn depart(&mut self, now: Time, packet: RtpPacket) {
        let noise = if self.path.noise_ms > 0.0 { self.random.exponential(self.path.noise_ms) } else { 0.0 };
        let mut arrival = now + ms(self.path.one_way_ms + noise);
        if !self.path.reorders {
            arrival = arrival.max(self.last_arrival);
        }
        self.last_arrival = arrival;
        self.count += 1;
        self.arrivals.insert((arrival, self.count), packet);
    }
}

fn sender(path: &Path, params: &Params) -> RtpSender<Recording> {
    let file = || Source::Bulk(Bulk::new(BulkParams::for_payload(MAX_PAYLOAD)));
    let (source, forgiven_lateness) =
        if path.file { (file(), STEP) } else { (Source::External, TimeDelta::ZERO) };
    let config = SenderConfig { forgiven_lateness, ..SenderConfig::new(MAX_PAYLOAD) };
    let gcc = Gcc::new(params, &setup());
    let recording = Recording { gcc, events: Vec::new(), probes: BTreeMap::new() };
    let stream = StreamConfig::new(source, params.target_bitrate_start);
    RtpSender::new(recording, &config, vec![stream])
}

/// All that the controller is told on a path.
pub fn recorded(path: &Path, params: &Params) -> Vec<Event> {
    let mut sender = sender(path, params);
    let feedback = FeedbackConfig {
        time: TimeDelta::from_millis(path.report_ms),
        marker: path.report_ms < 100,
        packets: if path.report_ms < 100 { 16 } else { 10_000 },
        skew: path.skew,
        ..FeedbackConfig::default()
    };
    let mut receiver = RtpReceiver::new(feedback, 1, PlayoutConfig::IMMEDIATE);
    let mut queue = Queue {
        path,
        waiting: VecDeque::new(),
        bytes: 0,
        left: 0.0,
        random: RandomStream::new(7, path.name),
        last_arrival: Time::ZERO,
        arrivals: BTreeMap::new(),
        count: 0,
    };
    let mut returning: VecDeque<(Time, RtpFeedback)> = VecDeque::new();
    let (mut now, mut next_frame, mut id) = (Time::ZERO, Time::ZERO, 0);
    sender.start(now);
    while now < Time::ZERO + TimeDelta::from_secs(path.seconds as i64) {
        if next_frame <= now && !path.file {
            let target = sender.target(STREAM).map_or(0.0, |target| target.as_bps_f64());
            let rate = target.min(at(path.offered, now) * 1e3);
            let payload = Bytes::new((rate / path.fps / 8.0) as u64);
            let payload = payload.max(Bytes::new(100)).min(Bytes::new(1 << 20));
            let frame = Frame { id, captured: now, payload, key: false };
            sender.offer_frame(now, STREAM, &frame);
            (next_frame, id) = (next_frame + ms(1000.0 / path.fps), id + 1);
        }
        while sender.next_timeout().is_some_and(|(due, _)| due <= now) {
            sender.handle_timeout(now);
            let Some(out) = sender.poll_transmit(now) else { continue };
            queue.push(out.packet, out.size);
        }
        queue.serve(now);
        arrive(&mut queue, &mut receiver, now);
        while let Some(out) = receiver.poll_transmit(now) {
            returning.push_back((now + ms(path.one_way_ms), out.packet));
        }
        while returning.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, feedback)) = returning.pop_front() else { break };
            let _ = sender.receive(now, feedback, Ecn::NotEct);
        }
        now += STEP;
    }
    sender.controller().events.clone()
}

fn arrive(queue: &mut Queue<'_>, receiver: &mut RtpReceiver, now: Time) {
    while let Some(entry) = queue.arrivals.first_entry().filter(|entry| entry.key().0 <= now) {
        receiver.receive(now, entry.remove(), Ecn::NotEct, PathFacts::default());
    }
}
