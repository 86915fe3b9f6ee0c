//! A controller for programs that step it themselves: its answers in force, and the packets that reports may speak of.

use crate::{
    Allowance, Answers, Controller, Pacing, PacketResult, PacketsReport, Report, SentPacket, StreamId, Update,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Packets whose size and send time are remembered for reports, of all streams.
const REMEMBERED: usize = 1 << 16;

/// A controller, its answers in force, and what reports need to know of packets.
#[derive(Clone, Debug)]
pub struct Session<C> {
    /// The controller that is told of each event.
    pub controller: C,
    /// Its answers in force.
    pub answers: Answers,
    /// Size and send time by stream and sequence number.
    sent: BTreeMap<(StreamId, u64), (Bytes, Time)>,
    results: Vec<PacketResult>,
}

impl<C: Controller> Session<C> {
    /// A controller that has been told nothing.
    pub fn new(controller: C) -> Session<C> {
        Session { controller, answers: Answers::new(), sent: BTreeMap::new(), results: Vec::new() }
    }

    /// Tells the controller, and keeps its answer.
    pub fn tell(&mut self, call: impl FnOnce(&mut C) -> Update) {
        let update = call(&mut self.controller);
        self.answers.take(update);
    }

    /// Tells the controller of a packet that leaves, and remembers it for [`Session::sent`].
    pub fn on_sent_remembered(&mut self, now: Time, packet: &SentPacket) {
        self.tell(|controller| controller.on_sent(now, packet));
        self.sent.insert((packet.stream, packet.sequence), (packet.size, now));
        if self.sent.len() > REMEMBERED {
            // The lowest number of the stream that has sent most recently.
            let oldest = self.sent.range((packet.stream, 0)..).next().map(|(key, _)| *key);
            oldest.and_then(|key| self.sent.remove(&key));
        }
    }

    /// Size and send time of a packet that is remembered.
    pub fn sent(&self, stream: StreamId, sequence: u64) -> Option<(Bytes, Time)> {
        self.sent.get(&(stream, sequence)).copied()
    }

    /// Tells the controller of a report on single packets, in order of sequence within a stream.
    pub fn on_packets(
        &mut self,
        now: Time,
        results: impl IntoIterator<Item = PacketResult>,
        clock_step: TimeDelta,
    ) {
        self.results.clear();
        self.results.extend(results);
        let report = PacketsReport { packets: &self.results, clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.answers.take(update);
    }

    /// Bytes that may be sent now; `None`: no limit in bytes.
    pub fn allowed_bytes(&self) -> Option<Bytes> {
        if let Allowance::Bytes(bytes) = self.answers.allowance { Some(bytes) } else { None }
    }

    /// Packets that may be sent now; `None`: no limit in packets.
    pub fn allowed_packets(&self) -> Option<u64> {
        if let Allowance::Packets(packets) = self.answers.allowance { Some(packets) } else { None }
    }

    /// The rate over which the size of a packet is the gap behind it; `None`: packets are not spaced by a rate.
    pub fn pacing_rate(&self) -> Option<Bitrate> {
        match self.answers.pacing {
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => Some(rate),
            Pacing::Off | Pacing::Gap(_) => None,
        }
    }

    /// The gap behind a packet, whatever its size; `None`: packets are not spaced by a time.
    pub fn pacing_gap(&self) -> Option<TimeDelta> {
        if let Pacing::Gap(gap) = self.answers.pacing { Some(gap) } else { None }
    }

    /// Packets leave at once while what left before takes less than this at the pacing rate; zero: one by one.
    pub fn pacing_burst(&self) -> TimeDelta {
        if let Pacing::Burst { at_once, .. } = self.answers.pacing { at_once } else { TimeDelta::ZERO }
    }
}
