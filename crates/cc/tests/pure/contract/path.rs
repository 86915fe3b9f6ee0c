//! One sender, a path of fixed delay with optional loss and bottleneck, one receiver: the loop that drives any controller.

use paceline_cc::{
    Allowance, Annotation, Arrival, Controller, Offered, Pacing, PacketResult, PacketsReport, Probe,
    ReceiverHalf, ReceiverReport, Report, SendQueueState, SentPacket, Status, StreamId, TargetChange, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::{BTreeMap, VecDeque};

pub const SIZE: Bytes = Bytes::new(1000);

/// Which packets, counted as they are sent, do not arrive.
pub type Drops = fn(u64) -> bool;

/// Patterns of loss, and the loss event rate of each; the last one loses three packets at once.
pub const LOSS_PATTERNS: [(Drops, f64); 4] = [
    (|n| n % 100 == 99, 0.01),
    (|n| n % 50 == 49, 0.02),
    (|n| n % 1000 == 999, 0.001),
    (|n| (90..93).contains(&(n % 100)), 0.01),
];

/// X = s / (R (sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2))), in Mbit/s, as RFC 5348 section 3.1 prints it.
#[allow(dead_code, reason = "not every program drives an equation")]
pub fn equation(rtt: f64, p: f64) -> f64 {
    let f = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    SIZE.as_bits_f64() / (rtt * f) / 1e6
}

pub fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The sender's transport, as far as the loop must know it: what goes next, and what acknowledgements mean.
pub trait Near {
    /// The sequence number of the next packet; it leaves now.
    fn next(&mut self, now: Time) -> u64;
    /// The packet of this number arrived at the other side.
    fn on_ack(&mut self, now: Time, sequence: u64, arrived: Time, to: &mut dyn FnMut(Told));
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, now: Time, to: &mut dyn FnMut(Told)) {
        let _ = (now, to);
    }
}

/// The transport's part towards the controller.
pub enum Told {
    Delivered(PacketResult),
    Recovery(paceline_cc::Recovery),
}

/// Datagrams: each is sent once, each acknowledgement is a report with an arrival.
#[derive(Default)]
pub struct Datagrams {
    sent: BTreeMap<u64, Time>,
}

impl Near for Datagrams {
    fn next(&mut self, now: Time) -> u64 {
        let sequence = self.sent.len() as u64;
        self.sent.insert(sequence, now);
        sequence
    }

    fn on_ack(&mut self, _now: Time, sequence: u64, arrived: Time, to: &mut dyn FnMut(Told)) {
        let status = Status::Received { arrived: Some(arrived), ecn: Ecn::NotEct };
        let sent = self.sent[&sequence];
        to(Told::Delivered(PacketResult { stream: StreamId(0), sequence, size: SIZE, sent, status }));
    }
}

/// The path's treatment of packets.
pub struct Path {
    pub delay: TimeDelta,
    /// Which of all packets, counted as they are sent, do not arrive.
    pub drops: Drops,
    /// When feedback is lost.
    pub silence: Option<(Time, Time)>,
    pub bottleneck: Option<Bitrate>,
}

impl Path {
    pub fn clean(delay: TimeDelta) -> Path {
        Path { delay, drops: |_| false, silence: None, bottleneck: None }
    }
}

struct Packet {
    arrives: Time,
    sent: Time,
    sequence: u64,
    annotation: Option<Annotation>,
}

enum Feedback {
    Ack { sequence: u64, arrived: Time },
    Half(ReceiverReport),
}

/// A run: everything between a controller and a receiver half, or a receiver that acknowledges each packet.
pub struct Run<'a> {
    pub controller: &'a mut dyn Controller,
    pub near: &'a mut dyn Near,
    pub far: Option<&'a mut dyn ReceiverHalf>,
    pub path: Path,
    pub now: Time,
    pub sent: u64,
    /// The window after each change, as the controller shows it.
    pub windows: Vec<(Time, Bytes)>,
    pub target: Option<Bitrate>,
    pub wake_ups: Vec<(Time, paceline_cc::TimeoutReason)>,
    allowance: Allowance,
    pacing: Pacing,
    last_send: Option<Time>,
    next_send: Time,
    probe: Option<(Probe, Bytes)>,
    forward: VecDeque<Packet>,
    back: VecDeque<(Time, Feedback)>,
    link_free: Time,
}

impl<'a> Run<'a> {
    pub fn new(controller: &'a mut dyn Controller, near: &'a mut dyn Near, path: Path) -> Run<'a> {
        Run {
            controller,
            near,
            far: None,
            path,
            now: Time::ZERO,
            sent: 0,
            windows: Vec::new(),
            target: None,
            wake_ups: Vec::new(),
            allowance: Allowance::Unlimited,
            pacing: Pacing::Off,
            last_send: None,
            next_send: Time::ZERO,
            probe: None,
            forward: VecDeque::new(),
            back: VecDeque::new(),
            link_free: Time::ZERO,
        }
    }

    /// Lets everything happen up to `until`; media is always there to be sent.
    pub fn until(&mut self, until: Time) {
        if self.sent == 0 {
            let offered = Offered { stream: StreamId(0), bytes: SIZE, frame_end: true };
            let queue = SendQueueState { bytes: SIZE, packets: 1, ..SendQueueState::default() };
            let update = self.controller.on_offered(self.now, &offered, &queue);
            self.apply(update);
        }
        while let Some(next) = self.next_event().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.step();
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Time> {
        let send = self.may_send().then_some(self.next_send);
        let half = self.far.as_ref().and_then(|far| far.next_timeout());
        let controller = self.controller.next_timeout().map(|(due, _)| due);
        let packet = self.forward.front().map(|packet| packet.arrives);
        let feedback = self.back.front().map(|(at, _)| *at);
        [send, half, controller, packet, feedback, self.near.next_timeout()].into_iter().flatten().min()
    }

    fn step(&mut self) {
        let now = self.now;
        // Data that an acknowledgement allows leaves before the next is read: the flight does not run dry in a burst of them.
        if self.may_send() && self.next_send <= now {
            self.send();
        } else if self.back.front().is_some_and(|(at, _)| *at <= now) {
            let (_, feedback) = self.back.pop_front().expect("just seen");
            self.take(feedback);
        } else if self.forward.front().is_some_and(|packet| packet.arrives <= now) {
            let packet = self.forward.pop_front().expect("just seen");
            self.arrive(&packet);
        } else if self.far.as_ref().and_then(|far| far.next_timeout()).is_some_and(|due| due <= now) {
            self.report();
        } else if let Some((due, reason)) = self.controller.next_timeout().filter(|(due, _)| *due <= now) {
            self.wake_ups.push((due, reason));
            let update = self.controller.on_timeout(now);
            self.apply(update);
        } else if self.near.next_timeout().is_some_and(|due| due <= now) {
            let mut told = Vec::new();
            self.near.on_timeout(now, &mut |event| told.push(event));
            self.tell(told);
        }
    }

    fn may_send(&self) -> bool {
        self.probe.is_some()
            || match self.allowance {
                Allowance::Unlimited => true,
                Allowance::Bytes(bytes) => bytes >= SIZE,
                Allowance::Packets(packets) => packets > 0,
            }
    }

    fn send(&mut self) {
        let now = self.now;
        let sequence = self.near.next(now);
        let annotation = self.controller.annotation(now, StreamId(0));
        let probe = self.probe.map(|(probe, _)| probe);
        self.last_send = Some(now);
        self.next_send = now + self.gap();
        self.probe =
            self.probe.map(|(probe, left)| (probe, left - SIZE)).filter(|(_, left)| *left > Bytes::ZERO);
        let departs = match self.path.bottleneck {
            Some(rate) => self.link_free.max(now) + rate.time_for(SIZE),
            None => now,
        };
        self.link_free = departs;
        if !(self.path.drops)(self.sent) {
            let arrives = departs + self.path.delay;
            self.forward.push_back(Packet { arrives, sent: now, sequence, annotation });
        }
        self.sent += 1;
        let probe = probe.map(|probe| probe.id);
        let packet = SentPacket { stream: StreamId(0), sequence, size: SIZE, probe, app_limited: false };
        let update = self.controller.on_sent(now, &packet);
        self.apply(update);
    }

    /// After a packet, before the next.
    fn gap(&self) -> TimeDelta {
        match (self.probe, self.pacing) {
            (Some((probe, _)), _) => probe.rate.time_for(SIZE),
            (None, Pacing::Off) => TimeDelta::ZERO,
            (None, Pacing::Rate(rate) | Pacing::Burst { rate, .. }) => rate.time_for(SIZE),
            (None, Pacing::Gap(gap)) => gap,
        }
    }

    fn arrive(&mut self, packet: &Packet) {
        let Some(far) = self.far.as_mut() else {
            let ack = Feedback::Ack { sequence: packet.sequence, arrived: self.now };
            return self.answer(ack);
        };
        let arrival = Arrival {
            stream: StreamId(0),
            sequence: packet.sequence,
            size: SIZE,
            sent: Some(packet.sent),
            ecn: Ecn::NotEct,
            annotation: packet.annotation,
        };
        if far.on_arrival(self.now, &arrival) {
            self.report();
        }
    }

    fn report(&mut self) {
        let report = self.far.as_mut().and_then(|far| far.report(self.now));
        report.into_iter().for_each(|report| self.answer(Feedback::Half(report)));
    }

    fn answer(&mut self, feedback: Feedback) {
        let lost = self.path.silence.is_some_and(|(from, to)| (from..to).contains(&self.now));
        if !lost {
            self.back.push_back((self.now + self.path.delay, feedback));
        }
    }

    fn take(&mut self, feedback: Feedback) {
        match feedback {
            Feedback::Ack { sequence, arrived } => {
                let mut told = Vec::new();
                self.near.on_ack(self.now, sequence, arrived, &mut |event| told.push(event));
                self.tell(told);
            }
            Feedback::Half(report) => {
                let update = self.controller.on_report(self.now, &Report::Receiver(report));
                self.apply(update);
            }
        }
    }

    fn tell(&mut self, told: Vec<Told>) {
        for event in told {
            let update = match event {
                Told::Delivered(packet) => {
                    let clock_step = TimeDelta::from_nanos(1);
                    let report = PacketsReport { packets: &[packet], clock_step, ambiguous: false };
                    self.controller.on_report(self.now, &Report::Packets(report))
                }
                Told::Recovery(recovery) => self.controller.on_recovery(self.now, recovery),
            };
            self.apply(update);
        }
    }

    fn apply(&mut self, update: Update) {
        self.allowance = update.allowance.unwrap_or(self.allowance);
        self.pacing = update.pacing.unwrap_or(self.pacing);
        self.probe = update.probe.map(|probe| (probe, probe.bytes)).or(self.probe);
        // A new pace holds from the last packet on: TFRC's first second between packets ends with the first report.
        self.next_send = self.last_send.map_or(Time::ZERO, |last| last + self.gap());
        match update.target {
            TargetChange::None => {}
            TargetChange::Total(rate) => self.target = Some(rate),
            TargetChange::Streams(_) => self.target = self.controller.target_bitrate(StreamId(0)),
        }
        if let Some(window) = self.controller.snapshot().window
            && self.windows.last().is_none_or(|(_, last)| *last != window)
        {
            self.windows.push((self.now, window));
        }
    }
}
