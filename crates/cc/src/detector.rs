//! The one loss detector: packet and time threshold with an adaptive reordering window, after the idea of RACK.
//!
//! It keeps what was sent and not yet decided. `Missing` in a report is no verdict; a packet is declared lost when one
//! sent sufficiently later was acknowledged, and that is taken back when the packet turns up after all. Of a packet that no
//! report named, because the report was lost, nothing is known: it leaves the flight without a verdict (RFC 8888 section 5).

use crate::{PacketResult, SentPacket, SentRun, Status};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::{Bytes, Time, TimeDelta};

/// When the detector declares a packet lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DetectorConfig {
    /// Lost when a packet this many sequence numbers later was acknowledged; absent: time alone decides.
    pub packet_threshold: Option<u64>,
    /// Lost when a packet sent more than this later was acknowledged.
    pub reorder_window: TimeDelta,
    /// The window grows up to this when a lost packet turns up (RFC 8298 section 4.1.2.4).
    pub reorder_window_max: TimeDelta,
    /// Whether a packet that no report has named counts as one that was reported missing: for receivers that tell of
    /// arrivals alone.
    pub unreported_is_lost: bool,
}

/// The changes by a report.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Acked {
    /// Bytes between the old and the new highest acknowledged sequence number, lost ones in (RFC 8298's
    /// `bytes_newly_acked`).
    pub newly_acked: Bytes,
    /// Bytes that arrived for the first time.
    pub delivered: Bytes,
    /// Number of packets that arrived for the first time.
    pub delivered_packets: u32,
    /// Bytes that arrived, and bytes that left the flight without a verdict since no report named them, once each.
    pub presumed: Bytes,
    /// Bytes among these that left the flight without a verdict.
    pub unreported: Bytes,
    /// Bytes that arrived and were marked CE, once each: CE that a later report tells counts with that report.
    pub delivered_ce: Bytes,
    /// Number of these packets.
    pub delivered_ce_packets: u32,
    /// The packet sent last of all that arrived so far, if it is in this report: send time and arrival.
    pub newest: Option<(Time, Option<Time>)>,
    /// Number of packets that this report made lost.
    pub lost: u32,
    /// Number of packets declared lost earlier that turned up.
    pub spurious: u32,
}

impl Acked {
    /// The sum over two streams.
    pub fn and(self, other: Acked) -> Acked {
        Acked {
            newly_acked: self.newly_acked + other.newly_acked,
            delivered: self.delivered + other.delivered,
            delivered_packets: self.delivered_packets + other.delivered_packets,
            presumed: self.presumed + other.presumed,
            unreported: self.unreported + other.unreported,
            delivered_ce: self.delivered_ce + other.delivered_ce,
            delivered_ce_packets: self.delivered_ce_packets + other.delivered_ce_packets,
            newest: self.newest.max(other.newest),
            lost: self.lost + other.lost,
            spurious: self.spurious + other.spurious,
        }
    }
}

/// The loss detector of one stream.
#[derive(Clone, Debug)]
pub struct LossDetector {
    config: DetectorConfig,
    ring: Vec<Entry>,
    /// The next sequence number to be sent.
    next: u64,
    /// Every packet below is decided: arrived, lost or forgotten.
    undecided: u64,
    /// One above the highest acknowledged sequence number.
    acked_end: u64,
    in_flight: u64,
    newest_acked_sent: Time,
    reorder_window: TimeDelta,
    lost_at: VecDeque<(u64, Time)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Time,
    size: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A number that the sender passed over: no report can change it.
    NotSent,
    /// Sent, and in no report so far.
    Outstanding,
    /// Reported missing, which is no verdict yet.
    Missing,
    Arrived,
    /// Arrived, with CE.
    Marked,
    Lost,
    /// Left the flight without a verdict: no report named it.
    Unreported,
}

const FIRST_CAPACITY: usize = 256;
/// 64 Ki packets in flight are 79 MB: 6 s at 100 Mbit/s. Beyond, the oldest are given up.
const LARGEST_CAPACITY: usize = 1 << 16;
const REMEMBERED_LOSSES: usize = 256;
const NO_ENTRY: Entry = Entry { sent: Time::ZERO, size: 0, state: State::NotSent };

/// The size of a packet as it is remembered.
#[inline]
fn entry_size(size: Bytes) -> u32 {
    size.as_u64().min(u64::from(u32::MAX)) as u32
}

impl LossDetector {
    /// A detector that has seen nothing.
    pub fn new(config: DetectorConfig) -> LossDetector {
        LossDetector {
            config,
            ring: vec![NO_ENTRY; FIRST_CAPACITY],
            next: 0,
            undecided: 0,
            acked_end: 0,
            in_flight: 0,
            newest_acked_sent: Time::ZERO,
            reorder_window: config.reorder_window,
            lost_at: VecDeque::with_capacity(REMEMBERED_LOSSES),
        }
    }

    /// Bytes from the newest sent down to, not including, the highest acknowledged (RFC 8298 section 4.1.2).
    #[inline]
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.in_flight)
    }

    /// When the packet was sent that was sent last of all that arrived.
    #[inline]
    pub fn newest_acked_sent(&self) -> Time {
        self.newest_acked_sent
    }

    /// The present reordering window.
    pub fn reorder_window(&self) -> TimeDelta {
        self.reorder_window
    }

    /// A packet was sent. Sequence numbers rise; a gap counts as never sent, an old number and the last there is, which
    /// has no next, are ignored.
    #[inline]
    pub fn on_sent(&mut self, now: Time, sequence: u64, size: Bytes) {
        if (sequence != self.next || sequence == u64::MAX) && !self.skip_to(sequence) {
            return;
        }
        if sequence - self.undecided >= self.ring.len() as u64 {
            self.make_room();
        }
        let size = entry_size(size);
        let mask = self.ring.len() - 1;
        self.ring[sequence as usize & mask] = Entry { sent: now, size, state: State::Outstanding };
        self.next = sequence + 1;
        self.in_flight += u64::from(size);
    }

    /// A run of packets was sent.
    #[inline]
    pub fn on_run(&mut self, run: &SentRun) {
        let SentPacket { sequence: first, size, .. } = run.packet;
        let (mut now, end) = (run.first, first.saturating_add(run.count));
        if first != self.next || end == u64::MAX || end - self.undecided > self.ring.len() as u64 {
            for sequence in first..end {
                self.on_sent(now, sequence, size);
                now += run.gap;
            }
            return;
        }
        let size = entry_size(size);
        let ring = &mut self.ring[..];
        for sequence in first..end {
            if let Some(entry) = ring.get_mut(sequence as usize & (ring.len() - 1)) {
                *entry = Entry { sent: now, size, state: State::Outstanding };
            }
            now += run.gap;
        }
        self.next = end;
        self.in_flight += u64::from(size) * run.count;
    }

    /// Forgets what is outstanding: nothing is in flight any more. A late acknowledgement still counts as delivery.
    pub fn forget(&mut self) {
        self.undecided = self.next;
        self.acked_end = self.next;
        self.in_flight = 0;
    }

    /// The receiver's word on packets of this stream. Always in line: a controller calls it for every report, and the
    /// iterators are the controller's.
    #[inline(always)]
    pub fn on_report<'a>(&mut self, now: Time, mut packets: impl Iterator<Item = &'a PacketResult>) -> Acked {
        let mut acked = Acked::default();
        while let Some(packet) = self.take_in_order(&mut packets, &mut acked) {
            self.take(now, packet, &mut acked);
        }
        self.settle(now, acked)
    }

    /// As [`LossDetector::on_report`], of one packet: what is known of it then stays in registers.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: &PacketResult) -> Acked {
        let mut acked = Acked::default();
        if let Some(packet) = self.take_in_order(&mut core::iter::once(packet), &mut acked) {
            self.take(now, packet, &mut acked);
        }
        self.settle(now, acked)
    }

    /// Takes packets that arrived without CE, each the next in order, up to one of which that is not so: answers that. The common case,
    /// in a loop of its own that keeps its state in registers.
    #[inline(always)]
    fn take_in_order<'a>(
        &mut self,
        packets: &mut impl Iterator<Item = &'a PacketResult>,
        acked: &mut Acked,
    ) -> Option<&'a PacketResult> {
        let (first, next, ring) = (self.acked_end, self.next, &mut self.ring[..]);
        let (mut end, mut newest, mut bytes) = (first, self.newest_acked_sent, 0);
        let other = packets.find(|packet| {
            let Status::Received { arrived, ecn } = packet.status else { return true };
            let place = end as usize & (ring.len() - 1);
            let Some(entry) = ring.get_mut(place).filter(|_| packet.sequence == end && end < next) else {
                return true;
            };
            if ecn.is_ce() || entry.state != State::Outstanding || entry.sent < newest {
                return true;
            }
            entry.state = State::Arrived;
            acked.newest = Some((entry.sent, arrived));
            (newest, end) = (entry.sent, end + 1);
            bytes += u64::from(entry.size);
            false
        });
        if self.undecided == first {
            self.undecided = end;
        }
        (self.acked_end, self.newest_acked_sent) = (end, newest);
        let bytes = Bytes::new(bytes);
        acked.newly_acked += bytes;
        acked.delivered += bytes;
        acked.presumed += bytes;
        acked.delivered_packets += (end - first) as u32;
        other
    }

    /// Takes a report's word on one packet.
    #[inline(always)]
    fn take(&mut self, now: Time, packet: &PacketResult, acked: &mut Acked) {
        match packet.status {
            Status::Received { arrived, ecn } => {
                self.on_received(now, packet.sequence, arrived, ecn.is_ce(), acked);
            }
            Status::Missing => acked.lost += u32::from(self.on_missing(now, packet.sequence)),
        }
    }

    /// All packets of a report were taken: what follows from them together.
    #[inline(always)]
    fn settle(&mut self, now: Time, mut acked: Acked) -> Acked {
        self.in_flight = self.in_flight.saturating_sub(acked.newly_acked.as_u64());
        if self.undecided < self.acked_end {
            let (lost, unreported) = self.decide(now);
            acked.lost += lost;
            acked.presumed += unreported;
            acked.unreported = unreported;
        }
        acked
    }

    /// The receiver has not got the packet. If it left the flight unreported, because a later report came first, that is
    /// the verdict: answers whether the packet is lost by that.
    #[cold]
    fn on_missing(&mut self, now: Time, sequence: u64) -> bool {
        if sequence >= self.next || self.next - sequence > self.ring.len() as u64 {
            return false;
        }
        let mask = self.ring.len() - 1;
        let state = &mut self.ring[sequence as usize & mask].state;
        let was_unreported = *state == State::Unreported;
        match *state {
            State::Outstanding => *state = State::Missing,
            State::Unreported => {
                *state = State::Lost;
                remember(&mut self.lost_at, (sequence, now));
            }
            State::NotSent | State::Missing | State::Arrived | State::Marked | State::Lost => {}
        }
        was_unreported
    }

    /// Gives up what was sent before `sent_before` with nothing later acknowledged, and counts it as lost: the tail of a
    /// stream that fell silent, which no report can name, while the reports on other streams show that it is overdue.
    pub fn release_tail(&mut self, now: Time, sent_before: Time) -> Acked {
        let (mut lost, mask) = (0, self.ring.len() - 1);
        for sequence in self.acked_end..self.next {
            let entry = &mut self.ring[sequence as usize & mask];
            if entry.state == State::NotSent {
                continue;
            }
            if entry.sent >= sent_before {
                break;
            }
            if matches!(entry.state, State::Outstanding | State::Missing) {
                entry.state = State::Lost;
                lost += 1;
                remember(&mut self.lost_at, (sequence, now));
            }
            self.in_flight = self.in_flight.saturating_sub(u64::from(entry.size));
            self.acked_end = sequence + 1;
        }
        if self.undecided == self.acked_end {
            return Acked { lost, ..Acked::default() };
        }
        let (decided, unreported) = self.decide(now);
        Acked { lost: lost + decided, presumed: unreported, unreported, ..Acked::default() }
    }

    #[inline(always)]
    fn on_received(&mut self, now: Time, sequence: u64, arrived: Option<Time>, ce: bool, acked: &mut Acked) {
        let mask = self.ring.len() - 1;
        if sequence >= self.next || self.next - sequence > self.ring.len() as u64 {
            return;
        }
        let entry = &mut self.ring[sequence as usize & mask];
        let (sent, size, before) = (entry.sent, Bytes::new(entry.size.into()), entry.state);
        if matches!(before, State::Marked | State::NotSent) || before == State::Arrived && !ce {
            return;
        }
        entry.state = if ce { State::Marked } else { State::Arrived };
        if before == State::Arrived {
            acked.delivered_ce += size;
            acked.delivered_ce_packets += 1;
            return;
        }
        acked.delivered += size;
        acked.delivered_packets += 1;
        acked.presumed += if before == State::Unreported { Bytes::ZERO } else { size };
        acked.delivered_ce += if ce { size } else { Bytes::ZERO };
        acked.delivered_ce_packets += u32::from(ce);
        // Late packets say nothing of the path as it is now.
        if sent >= self.newest_acked_sent {
            acked.newest = Some((sent, arrived));
            self.newest_acked_sent = sent;
        }
        if sequence == self.acked_end {
            // The next in order, with CE, or told missing before.
            self.undecided += u64::from(self.undecided == sequence);
            self.acked_end += 1;
            acked.newly_acked += size;
        } else {
            if before == State::Lost {
                acked.spurious += 1;
                self.widen(now, sequence);
            }
            acked.newly_acked += self.acknowledge_to(sequence);
        }
    }

    /// A packet arrived that is not the next in order: answers the bytes between the highest acknowledged so far and it.
    #[cold]
    fn acknowledge_to(&mut self, sequence: u64) -> Bytes {
        let (mut newly_acked, mask) = (Bytes::ZERO, self.ring.len() - 1);
        while self.acked_end <= sequence {
            newly_acked += Bytes::new(self.ring[self.acked_end as usize & mask].size.into());
            self.acked_end += 1;
        }
        newly_acked
    }

    /// Declares lost what was sent too long, or too many packets, before the newest acknowledged. Answers how many packets, and the
    /// bytes that leave the flight without a verdict.
    #[inline(never)]
    fn decide(&mut self, now: Time) -> (u32, Bytes) {
        let (mut lost, mut presumed) = (0, Bytes::ZERO);
        let mask = self.ring.len() - 1;
        let threshold = self.newest_acked_sent - self.reorder_window;
        while self.undecided < self.acked_end {
            let entry = &mut self.ring[self.undecided as usize & mask];
            if matches!(entry.state, State::Outstanding | State::Missing) {
                let later = self.acked_end - 1 - self.undecided;
                let too_many = self.config.packet_threshold.is_some_and(|packets| later >= packets);
                if entry.sent >= threshold && !too_many {
                    break;
                }
                if entry.state == State::Missing || self.config.unreported_is_lost {
                    entry.state = State::Lost;
                    lost += 1;
                    remember(&mut self.lost_at, (self.undecided, now));
                } else {
                    entry.state = State::Unreported;
                    presumed += Bytes::new(entry.size.into());
                }
            }
            self.undecided += 1;
        }
        (lost, presumed)
    }

    /// The packet was only late: the window grows by how late (RFC 8298 section 4.1.2.4).
    #[cold]
    fn widen(&mut self, now: Time, sequence: u64) {
        if let Some(&(_, lost_at)) = self.lost_at.iter().rev().find(|(lost, _)| *lost == sequence) {
            let late = self.reorder_window + now.saturating_since(lost_at);
            self.reorder_window =
                late.clamp(self.reorder_window, self.config.reorder_window_max.max(self.reorder_window));
        }
    }

    /// Numbers that were never sent are decided; true if `sequence` is new.
    #[cold]
    fn skip_to(&mut self, sequence: u64) -> bool {
        if sequence < self.next || sequence == u64::MAX {
            return false;
        }
        if sequence - self.next >= self.ring.len() as u64 {
            // Nothing older than a whole ring can be known: start afresh from here.
            self.ring.fill(NO_ENTRY);
            (self.undecided, self.acked_end, self.next, self.in_flight) = (sequence, sequence, sequence, 0);
            return true;
        }
        while self.next < sequence {
            if self.next - self.undecided >= self.ring.len() as u64 {
                self.make_room();
            }
            let mask = self.ring.len() - 1;
            self.ring[self.next as usize & mask] = NO_ENTRY;
            self.next += 1;
        }
        true
    }

    #[cold]
    fn make_room(&mut self) {
        let old = self.ring.len();
        if old >= LARGEST_CAPACITY {
            let oldest = self.ring[self.undecided as usize & (old - 1)];
            if self.acked_end == self.undecided {
                self.in_flight = self.in_flight.saturating_sub(u64::from(oldest.size));
                self.acked_end += 1;
            }
            self.undecided += 1;
            return;
        }
        let mut larger = vec![NO_ENTRY; old * 2];
        for sequence in self.next.saturating_sub(old as u64)..self.next {
            larger[sequence as usize & (old * 2 - 1)] = self.ring[sequence as usize & (old - 1)];
        }
        self.ring = larger;
    }
}

fn remember(lost_at: &mut VecDeque<(u64, Time)>, loss: (u64, Time)) {
    if lost_at.len() == REMEMBERED_LOSSES {
        lost_at.pop_front();
    }
    lost_at.push_back(loss);
}

#[cfg(test)]
#[path = "detector_tests.rs"]
mod tests;
