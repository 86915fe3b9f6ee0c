//! SCReAM in somebody else's program: `cargo run -p paceline-rtp --example embed`.
//!
//! First the controller alone under an own transport, then the whole RTP endpoint in an own event loop. docs/embed.md
//! quotes what stands between the marks. Where a real program has a clock, sockets and an encoder, this one has a
//! number, a [`Wire`] and a size.
#![allow(clippy::print_stdout, reason = "what an example is for")]

// docs: own transport
use paceline_cc::scream::{Params, Scream};
use paceline_cc::{
    Allowance, Controller, FlowSetup, Offered, Pacing, PacketResult, PacketsReport, Report, SendQueueState,
    SentPacket, Status, StreamId, TargetChange, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::VecDeque;

const STREAM: StreamId = StreamId(0);
/// The largest packet on the link: RTP header and payload.
const LARGEST: Bytes = Bytes::new(1212);

/// A packet in the program's own send queue.
struct Waiting {
    queued: Time,
    frame: u64,
    size: Bytes,
}

/// The program's own transport: its send queue, and what the controller said last.
struct OwnTransport {
    controller: Scream,
    allowance: Allowance,
    pacing: Pacing,
    next_send: Time,
    target: Bitrate,
    queue: VecDeque<Waiting>,
    frames: u64,
    next_sequence: u64,
}

impl OwnTransport {
    fn new() -> OwnTransport {
        let params = Params::default();
        OwnTransport {
            target: params.target_bitrate_start,
            controller: Scream::new(&params, &FlowSetup::new(LARGEST)),
            allowance: Allowance::Unlimited,
            pacing: Pacing::Off,
            next_send: Time::ZERO,
            queue: VecDeque::new(),
            frames: 0,
            next_sequence: 0,
        }
    }

    /// The encoder made a frame of `bytes`, packet headers in.
    fn on_frame(&mut self, now: Time, bytes: Bytes) {
        self.frames += 1;
        let mut rest = bytes;
        while rest > Bytes::ZERO {
            let size = rest.min(LARGEST);
            self.queue.push_back(Waiting { queued: now, frame: self.frames, size });
            rest -= size;
        }
        let offered = Offered { stream: STREAM, bytes, frame_end: true };
        let update = self.controller.on_offered(now, &offered, &self.queue_state(now));
        self.apply(now, update);
    }

    /// The next packet for the socket, if one may leave now. Called until there is none.
    fn next_packet(&mut self, now: Time) -> Option<SentPacket> {
        if now < self.next_send || !self.fits() {
            return None;
        }
        let size = self.queue.pop_front()?.size;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.next_send = now
            + match self.pacing {
                Pacing::Off => TimeDelta::ZERO,
                Pacing::Rate(rate) | Pacing::Burst { rate, .. } => rate.time_for(size),
                Pacing::Gap(gap) => gap,
            };
        let app_limited = self.queue.is_empty();
        let packet = SentPacket { stream: STREAM, sequence, size, probe: None, app_limited };
        let update = self.controller.on_sent(now, &packet);
        self.apply(now, update);
        Some(packet)
    }

    /// Feedback arrived: what the receiver says of packets, with the size and send time that the program kept.
    fn on_feedback(&mut self, now: Time, packets: &[PacketResult], clock_step: TimeDelta) {
        let report = Report::Packets(PacketsReport { packets, clock_step, ambiguous: false });
        let update = self.controller.on_report(now, &report);
        self.apply(now, update);
    }

    /// When the event loop must call [`OwnTransport::on_wake`] and ask for packets at the latest.
    fn next_wake(&self) -> Option<Time> {
        let timeout = self.controller.next_timeout().map(|(due, _why)| due);
        let packet = self.fits().then_some(self.next_send);
        timeout.into_iter().chain(packet).min()
    }

    fn on_wake(&mut self, now: Time) {
        if self.controller.next_timeout().is_some_and(|(due, _why)| due <= now) {
            let told = self.controller.on_send_queue(now, &self.queue_state(now));
            let update = told.then(self.controller.on_timeout(now));
            self.apply(now, update);
        }
    }

    /// Whether the controller allows the next packet whole.
    fn fits(&self) -> bool {
        self.queue.front().is_some_and(|next| match self.allowance {
            Allowance::Unlimited => true,
            Allowance::Bytes(bytes) => next.size <= bytes,
            Allowance::Packets(packets) => packets > 0,
        })
    }

    /// Every call answers what changed, and nothing else.
    fn apply(&mut self, now: Time, update: Update) {
        self.allowance = update.allowance.unwrap_or(self.allowance);
        self.pacing = update.pacing.unwrap_or(self.pacing);
        match update.target {
            TargetChange::None => {}
            TargetChange::Total(rate) => self.target = rate,
            TargetChange::Streams(_) => {
                self.target = self.controller.target_bitrate(STREAM).unwrap_or(self.target);
            }
        }
        if let Some(discard) = update.discard {
            let too_old = |waiting: &Waiting| {
                discard.older_than.is_none_or(|age| now.saturating_since(waiting.queued) > age)
            };
            self.queue.retain(|waiting| !too_old(waiting));
            // `discard.key_frame` says that the encoder should make a key frame next.
            let told = self.controller.on_send_queue(now, &self.queue_state(now));
            self.apply(now, told);
        }
    }

    fn queue_state(&self, now: Time) -> SendQueueState {
        let newest = self.queue.iter().filter(|waiting| waiting.frame == self.frames);
        SendQueueState {
            stream: STREAM,
            bytes: self.queue.iter().map(|waiting| waiting.size).sum(),
            packets: self.queue.len() as u64,
            oldest: self.queue.front().map(|oldest| now.saturating_since(oldest.queued)),
            newest_frame: newest.map(|waiting| waiting.size).sum(),
            greedy: false,
        }
    }
}
// docs: end

/// How often a frame is captured.
const FRAME: TimeDelta = TimeDelta::from_millis(20);
const END: Time = Time::from_nanos(20_000_000_000);

/// Stands for the network: 5 Mbit/s, then 20 ms.
struct Wire {
    free: Time,
}

impl Wire {
    const RATE: Bitrate = Bitrate::from_mbps(5);
    const DELAY: TimeDelta = TimeDelta::from_millis(20);

    /// When a packet that is sent now arrives.
    fn carry(&mut self, now: Time, size: Bytes) -> Time {
        self.free = self.free.max(now) + Wire::RATE.time_for(size);
        self.free + Wire::DELAY
    }
}

fn run_own_transport() {
    let mut wire = Wire { free: Time::ZERO };
    let mut bytes = Bytes::ZERO;
    // docs: own loop
    let mut call = OwnTransport::new();
    let mut reports: VecDeque<(Time, PacketResult)> = VecDeque::new();
    let (mut now, mut next_frame) = (Time::ZERO, Time::ZERO);
    while now < END {
        while reports.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, packet)) = reports.pop_front() else { break };
            call.on_feedback(now, &[packet], TimeDelta::from_micros(1));
        }
        if next_frame <= now {
            call.on_frame(now, call.target.bytes_in(FRAME));
            next_frame += FRAME;
        }
        call.on_wake(now);
        while let Some(packet) = call.next_packet(now) {
            bytes += packet.size;
            let arrival = wire.carry(now, packet.size);
            let status = Status::Received { arrived: Some(arrival), ecn: Ecn::NotEct };
            let SentPacket { stream, sequence, size, .. } = packet;
            let result = PacketResult { stream, sequence, size, sent: now, status };
            reports.push_back((arrival + Wire::DELAY, result));
        }
        // A real loop sleeps here, until then or until its socket can be read.
        let wakes = [Some(next_frame), call.next_wake(), reports.front().map(|(at, _)| *at)];
        now = wakes.into_iter().flatten().min().unwrap_or(END).max(now);
    }
    // docs: end
    say("own transport", call.target, bytes, &call.controller);
}

// docs: endpoint
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd, Transmit};
use paceline_media::{Frame, PlayoutConfig, Source};
use paceline_rtp::{
    FeedbackConfig, RTP_HEADER, RtpFeedback, RtpPacket, RtpReceiver, RtpSender, SenderConfig, StreamConfig,
};

fn rtp_sender() -> RtpSender<Scream> {
    let params = Params::default();
    let stream = StreamConfig::new(Source::External, params.target_bitrate_start);
    let config = SenderConfig {
        // How late a timer may fire without the pacing rate going down.
        forgiven_lateness: TimeDelta::from_millis(2),
        ..SenderConfig::new(LARGEST - RTP_HEADER)
    };
    RtpSender::new(Scream::new(&params, &FlowSetup::new(LARGEST)), &config, vec![stream])
}
// docs: end

fn run_endpoint() {
    let mut wire = Wire { free: Time::ZERO };
    let mut bytes = Bytes::ZERO;
    // docs: endpoint loop
    let mut sender = rtp_sender();
    let mut receiver = RtpReceiver::new(FeedbackConfig::default(), 1, PlayoutConfig::IMMEDIATE);
    let mut media: VecDeque<(Time, RtpPacket)> = VecDeque::new();
    let mut reports: VecDeque<(Time, RtpFeedback)> = VecDeque::new();
    let (mut now, mut frames) = (Time::ZERO, 0);
    sender.start(now);
    while now < END {
        // The far end: any receiver that sends RFC 8888 feedback.
        while media.front().is_some_and(|(at, _)| *at <= now) {
            let Some((at, packet)) = media.pop_front() else { break };
            receiver.receive(at, packet, Ecn::NotEct, PathFacts::default());
        }
        receiver.handle_timeout(now);
        while let Some(Transmit { packet: feedback, .. }) = receiver.poll_transmit(now) {
            reports.push_back((now + Wire::DELAY, feedback));
        }

        // The sender: feedback, frames of the program's own encoder, timers, then all that may leave.
        while reports.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, feedback)) = reports.pop_front() else { break };
            sender.receive(now, feedback, Ecn::NotEct);
        }
        let next_frame = Time::ZERO + FRAME * frames;
        if next_frame <= now {
            let payload = sender.target(STREAM).unwrap_or_default().bytes_in(FRAME);
            let frame = Frame { id: frames as u64, captured: now, payload, key: frames == 0 };
            sender.offer_frame(now, STREAM, &frame);
            frames += 1;
        }
        sender.handle_timeout(now);
        while let Some(Transmit { packet, size, .. }) = sender.poll_transmit(now) {
            bytes += size;
            media.push_back((wire.carry(now, size), packet));
        }

        // A real loop sleeps here, until then or until its socket can be read.
        let network = [media.front().map(|(at, _)| *at), reports.front().map(|(at, _)| *at)];
        let timeouts =
            [sender.next_timeout(), receiver.next_timeout()].map(|next| next.map(|(due, _why)| due));
        let next = network.into_iter().chain(timeouts).chain([Some(Time::ZERO + FRAME * frames)]);
        now = next.flatten().min().unwrap_or(END).max(now);
    }
    // docs: end
    say("RTP endpoint", sender.target(STREAM).unwrap_or_default(), bytes, sender.controller());
}

fn say(what: &str, target: Bitrate, sent: Bytes, controller: &Scream) {
    let mean = sent.as_bits_f64() / END.as_secs_f64() / 1e6;
    let srtt = controller.snapshot().srtt.unwrap_or(TimeDelta::ZERO);
    println!(
        "{what}: {mean:.1} Mbit/s sent on average, target {:.1} Mbit/s, smoothed RTT {:.0} ms",
        target.as_mbps_f64(),
        srtt.as_millis_f64()
    );
}

fn main() {
    run_own_transport();
    run_endpoint();
}
