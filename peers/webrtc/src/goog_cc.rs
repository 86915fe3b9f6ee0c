//! `GoogCcNetworkController` of goog_cc, called as libwebrtc calls its controller.

use crate::Limits;
use goog_cc::network_control::{NetworkControllerConfig, NetworkControllerInterface};
use goog_cc::transport::{
    EcnMarking, NetworkAvailability, NetworkControlUpdate, PacedPacketInfo, PacketResult, ProbeClusterConfig,
    ProcessInterval, SentPacket as GoogSent, TargetRateConstraints, TransportPacketsFeedback,
};
use goog_cc::units::{DataRate, DataSize, Timestamp};
use goog_cc::{GoogCcConfig, GoogCcNetworkController};
use paceline_cc::{Assigned, PacketsReport, SentPacket, Status};
use paceline_guest::{Answer, Burst, Failure, Mind};
use paceline_units::{Bitrate, Bytes, Time};
use send_wrapper::SendWrapper;
use std::collections::{BTreeMap, VecDeque};

/// Seconds between two calls of `on_process_interval`, as libwebrtc has them.
const INTERVAL_S: f64 = 0.025;

pub struct GoogCc {
    limits: (DataRate, DataRate, DataRate),
    /// The crate's controller keeps to one thread, and so does a run.
    controller: Option<SendWrapper<GoogCcNetworkController>>,
    /// Packets under way by stream and number, and whether they were reported missing.
    sent: BTreeMap<(u8, u64), (GoogSent, bool)>,
    in_flight: i64,
    count: i64,
    answer: Answer,
    probes: Probes,
}

/// Probe clusters, which leave one after the other. Their numbers here are those of the run, from 1 on.
#[derive(Default)]
struct Probes {
    /// The first one is under way if it was asked for.
    waiting: VecDeque<ProbeClusterConfig>,
    is_under_way: bool,
    count: u64,
    /// Bytes of the one under way that have left.
    sent: i64,
}

/// Fewest packets of a probe, as libwebrtc has it.
const LEAST_PACKETS: i64 = 5;

fn bytes_of(cluster: &ProbeClusterConfig) -> i64 {
    (cluster.target_data_rate * cluster.target_duration).bytes()
}

impl Probes {
    /// The burst to ask for, where none is under way.
    fn next(&mut self) -> Option<Burst> {
        let cluster = self.waiting.front().filter(|_| !self.is_under_way)?;
        (self.is_under_way, self.sent, self.count) = (true, 0, self.count + 1);
        Some(Burst { mbps: cluster.target_data_rate.bps_float() / 1e6, bytes: bytes_of(cluster) as f64 })
    }

    /// The facts that libwebrtc's pacer adds to a packet.
    fn on_sent(&mut self, packet: &SentPacket) -> PacedPacketInfo {
        let Some(cluster) =
            self.waiting.front().filter(|_| self.is_under_way && packet.probe == Some(self.count))
        else {
            return PacedPacketInfo::default();
        };
        let info = PacedPacketInfo {
            send_bitrate: cluster.target_data_rate,
            probe_cluster_bytes_sent: self.sent,
            ..PacedPacketInfo::new(cluster.id, LEAST_PACKETS, bytes_of(cluster))
        };
        self.sent += packet.size.as_u64() as i64;
        if self.sent >= bytes_of(cluster) {
            self.waiting.pop_front();
            self.is_under_way = false;
        }
        info
    }
}

fn stamp(time: Time) -> Timestamp {
    Timestamp::from_micros((time.as_nanos() / 1000) as i64)
}

impl GoogCc {
    pub fn new(limits: &Limits) -> GoogCc {
        let rate = |rate: Bitrate| DataRate::from_bits_per_sec(rate.as_bps() as i64);
        GoogCc {
            limits: (rate(limits.min), rate(limits.start), rate(limits.max)),
            controller: None,
            sent: BTreeMap::new(),
            in_flight: 0,
            count: 0,
            // libwebrtc's pacer lets all leave at once that takes 40 ms at 2.5 times the target: frames that keep to it are not spaced.
            answer: Answer { pacing_mbps: Some(f64::INFINITY), ..Answer::default() },
            probes: Probes::default(),
        }
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        Ok(Answer { probe: self.probes.next(), ..self.answer })
    }

    fn hear(&mut self, update: NetworkControlUpdate) {
        if let Some(target) = update.target_rate {
            self.answer.target_mbps = Some(target.target_rate.bps_float() / 1e6);
        }
        if let Some(window) = update.congestion_window {
            self.answer.window_bytes = Some(window.bytes() as f64);
        }
        self.probes.waiting.extend(update.probe_cluster_configs);
    }

    fn process(&mut self, now: Time) {
        let message = ProcessInterval { at_time: stamp(now), pacer_queue: None };
        if let Some(update) =
            self.controller.as_mut().map(|controller| controller.on_process_interval(message))
        {
            self.hear(update);
        }
        self.answer.next_timeout_s = Some(now.as_secs_f64() + INTERVAL_S);
    }
}

impl Mind for GoogCc {
    fn start(&mut self, now: Time) -> Result<Answer, Failure> {
        let (min, start, max) = self.limits;
        let constraints = TargetRateConstraints {
            at_time: stamp(now),
            min_data_rate: Some(min),
            max_data_rate: Some(max),
            starting_rate: Some(start),
        };
        let config = NetworkControllerConfig { constraints, ..NetworkControllerConfig::default() };
        let mut controller = GoogCcNetworkController::new(config, GoogCcConfig { feedback_only: true });
        let there = NetworkAvailability { at_time: stamp(now), network_available: true };
        let update = controller.on_network_availability(there);
        self.controller = Some(SendWrapper::new(controller));
        self.hear(update);
        self.process(now);
        self.answer()
    }

    fn sent(&mut self, now: Time, packet: &SentPacket) -> Result<Answer, Failure> {
        let Some(controller) = &mut self.controller else { return self.answer() };
        self.count += 1;
        self.in_flight += packet.size.as_u64() as i64;
        let sent = GoogSent {
            send_time: stamp(now),
            size: DataSize::from_bytes(packet.size.as_u64() as i64),
            sequence_number: self.count,
            data_in_flight: DataSize::from_bytes(self.in_flight),
            pacing_info: self.probes.on_sent(packet),
            ..GoogSent::default()
        };
        self.sent.insert((packet.stream.0, packet.sequence), (sent, false));
        let update = controller.on_sent_packet(sent);
        self.hear(update);
        self.answer()
    }

    /// Each packet is told of as missing at most once, and as received at most once.
    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        let mut packet_feedbacks = Vec::new();
        for packet in report.packets {
            let key = (packet.stream.0, packet.sequence);
            let Some((sent_packet, missing)) = self.sent.get_mut(&key) else { continue };
            let mut result = PacketResult { sent_packet: *sent_packet, ..PacketResult::default() };
            let is_first = !std::mem::replace(missing, true);
            if is_first {
                self.in_flight -= packet.size.as_u64() as i64;
            }
            match packet.status {
                Status::Missing if !is_first => continue,
                Status::Missing => {}
                Status::Received { arrived: None, .. } => continue,
                Status::Received { arrived: Some(arrived), ecn } => {
                    result.receive_time = stamp(arrived);
                    result.ecn = if ecn.is_ce() { EcnMarking::Ce } else { EcnMarking::NotEct };
                    self.sent.remove(&key);
                }
            }
            packet_feedbacks.push(result);
        }
        if let Some(controller) = &mut self.controller
            && packet_feedbacks.iter().any(PacketResult::is_received)
        {
            let data_in_flight = DataSize::from_bytes(self.in_flight);
            let feedback_time = stamp(now);
            let feedback = TransportPacketsFeedback {
                feedback_time,
                data_in_flight,
                packet_feedbacks,
                ..Default::default()
            };
            let update = controller.on_transport_packets_feedback(feedback);
            self.hear(update);
        }
        self.answer()
    }

    fn timeout(&mut self, now: Time) -> Result<Answer, Failure> {
        self.process(now);
        self.answer()
    }

    fn recovery(&mut self, _now: Time, _event: &'static str, _bytes: Bytes) -> Result<Answer, Failure> {
        self.answer()
    }

    fn assigned(&mut self, _now: Time, _assigned: Assigned) -> Result<Answer, Failure> {
        self.answer()
    }
}
