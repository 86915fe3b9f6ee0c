//! Packets that were sent, and their fate by the other end's word (RFC 4340 section 11.4).

use paceline_cc::ccid::{DropCode, DroppedPacket};
use paceline_cc::{PacketResult, Ring, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::dccp::{DccpOption, PacketType, drop_block};
use std::collections::VecDeque;

/// Packets that are remembered: of more the oldest are given up, and what is said of them is ignored (section 11.4.1).
const MOST_PACKETS: u64 = 1 << 16;

/// The state of a packet, in the order of the sender's table of section 11.4.1: a state only moves up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Unknown,
    Received,
    Marked,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Time,
    size: u32,
    /// Whether it carries application data, which alone congestion control counts.
    data: bool,
    state: State,
    dropped: bool,
    /// A Sync does not take the other end out of PARTOPEN.
    sync: bool,
}

/// Summary of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSummary {
    /// Time of sending of the acknowledged packet, if it was not known to have arrived.
    pub(crate) newest_sent: Option<Time>,
    /// Whether the other application no longer listens.
    pub(crate) not_listening: bool,
}

/// The sum of the Ack Vectors and Data Dropped of one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckOptions {
    /// Whether there are any.
    pub(crate) any: bool,
    /// Number of packets that Ack Vectors tell of.
    pub(crate) covered: i64,
    /// Number of packets that Data Dropped tells of.
    pub(crate) dropped: i64,
    /// The first byte of the first Ack Vector.
    newest: Option<u8>,
    /// Whether any packet is told as marked.
    marks: bool,
}

impl AckOptions {
    /// The sum of no options.
    pub(crate) const NONE: AckOptions =
        AckOptions { any: false, covered: 0, dropped: 0, newest: None, marks: false };

    /// The next Ack Vector.
    #[inline]
    pub(crate) fn add_vector(&mut self, vector: &[u8]) {
        self.any = true;
        self.newest = self.newest.or(vector.first().copied());
        // Of a byte only the run and a flag for its state: vectors are many, and mostly of a few bytes.
        let (mut runs, mut states) = (0, 0);
        for byte in vector {
            runs += u32::from(byte & 63);
            states |= 1 << (byte >> 6);
        }
        self.covered += i64::from(runs) + vector.len() as i64;
        self.marks |= states & 1 << 1 != 0;
    }

    /// The next blocks of Data Dropped.
    pub(crate) fn add_dropped(&mut self, blocks: &[u8]) {
        self.any = true;
        self.dropped += blocks.iter().map(|block| drop_block(*block).1).sum::<i64>();
    }
}

/// Number of packets that a byte of an Ack Vector tells of.
#[inline]
fn run_length(byte: u8) -> i64 {
    i64::from(byte & 63) + 1
}

const FILLER: Entry =
    Entry { sent: Time::ZERO, size: 0, data: false, state: State::Unknown, dropped: false, sync: false };

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    entries: Ring<Entry>,
    /// The packets before `unknown` whose state is unknown, in order: an acknowledgement passed over them, mostly lost ones.
    /// The rest that a vector repeats is not looked at.
    passed: VecDeque<i64>,
    /// No acknowledgement has told of this packet or one after it, but for single ones.
    unknown: i64,
    /// The last acknowledgement's results of packets, the oldest first.
    pub(crate) results: Vec<PacketResult>,
    /// Data packets that it reported dropped and none before, the oldest first.
    pub(crate) dropped: Vec<DroppedPacket>,
    /// The drop code of each packet from the acknowledged one back, of one acknowledgement.
    drops: Vec<u8>,
}

impl Default for Sent {
    fn default() -> Sent {
        Sent {
            entries: Ring::new(0, FILLER),
            passed: VecDeque::new(),
            unknown: 0,
            results: Vec::new(),
            dropped: Vec::new(),
            drops: Vec::new(),
        }
    }
}

impl Sent {
    /// The packet numbered next was sent.
    #[inline]
    pub(crate) fn push(&mut self, sequence: i64, now: Time, size: Bytes, kind: PacketType) {
        if self.entries.len() == MOST_PACKETS {
            self.forget_before(self.first() + 1);
        }
        if self.entries.is_empty() {
            self.entries.restart(sequence as u64);
        }
        let size = u32::try_from(size.as_u64()).unwrap_or(u32::MAX);
        self.entries.push(Entry {
            sent: now,
            size,
            data: matches!(kind, PacketType::Data | PacketType::DataAck),
            state: State::Unknown,
            dropped: false,
            sync: kind == PacketType::Sync,
        });
    }

    /// Forgets what is so old that it can be acknowledged no more.
    pub(crate) fn forget_before(&mut self, sequence: i64) {
        while self.first() < sequence && !self.entries.is_empty() {
            self.entries.pop();
        }
        while self.passed.front().is_some_and(|passed| *passed < self.first()) {
            self.passed.pop_front();
        }
    }

    /// The number of the first packet that is remembered, and of the next to be sent.
    #[inline]
    fn first(&self) -> i64 {
        self.entries.first() as i64
    }

    #[inline]
    fn next(&self) -> i64 {
        self.entries.next() as i64
    }

    #[inline]
    fn entry(&mut self, sequence: i64) -> Option<&mut Entry> {
        self.entries.get_mut(sequence as u64)
    }

    #[inline]
    fn look(&self, sequence: i64) -> Option<&Entry> {
        self.entries.get(sequence as u64)
    }

    /// Whether the packet is remembered and was no Sync.
    pub(crate) fn was_no_sync(&self, sequence: i64) -> bool {
        self.look(sequence).is_some_and(|entry| !entry.sync)
    }

    /// When the packet left, if that is remembered.
    pub(crate) fn sent_at(&self, sequence: i64) -> Option<Time> {
        self.look(sequence).map(|entry| entry.sent)
    }

    /// An acknowledgement of `acknowledgment` with these options arrived, which come to `told`. Options that tell of packets before the first
    /// ever sent are ignored (section 11.4), and Data Dropped that does not fit the vectors (section 11.7).
    pub(crate) fn on_acknowledged(
        &mut self,
        acknowledgment: i64,
        options: &[DccpOption],
        told: &AckOptions,
    ) -> AckSummary {
        self.results.clear();
        self.dropped.clear();
        let AckOptions { covered, dropped, newest, marks, .. } = *told;
        let valid = covered <= acknowledgment + 1;
        let newest_sent = self.look(acknowledgment).filter(|entry| entry.state == State::Unknown);
        let newest_sent = newest_sent.map(|entry| entry.sent);
        let newest = newest.filter(|_| valid);
        self.unknown = self.unknown.max(self.first());
        match newest {
            None => self.note(acknowledgment, State::Received),
            Some(newest) => {
                // All that no acknowledgement told of yet is in the newest row, as mostly.
                let in_row = newest >> 6 == 0 && self.unknown > acknowledgment - run_length(newest);
                if !in_row {
                    self.pass_over(acknowledgment);
                }
                let any_passed = self.passed.back().is_some_and(|last| *last + covered > acknowledgment);
                if marks || any_passed {
                    let vectors = options.iter().filter_map(|option| match option {
                        DccpOption::AckVector { vector, .. } => Some(vector.as_slice()),
                        _ => None,
                    });
                    self.note_vectors(acknowledgment, marks, vectors.flatten().copied());
                }
                while self.unknown <= acknowledgment && self.unknown < self.next() {
                    self.learn(self.unknown, State::Received);
                    self.unknown += 1;
                }
            }
        }
        let drops_fit = valid && (1..=acknowledgment + 1).contains(&dropped);
        let not_listening = drops_fit && self.note_drops(acknowledgment, options, covered > 0);
        AckSummary { newest_sent, not_listening }
    }

    /// Nothing but the bytes of its vectors says what an acknowledgement tells of packets for the first time.
    #[cold]
    fn pass_over(&mut self, acknowledgment: i64) {
        while self.unknown <= acknowledgment && self.unknown < self.next() {
            if self.look(self.unknown).is_some_and(|entry| entry.state == State::Unknown) {
                self.passed.push_back(self.unknown);
            }
            self.unknown += 1;
        }
    }

    /// The receiver's word on the packets from `acknowledgment` back that were passed over, or are marked, in bytes of vectors.
    #[inline(never)]
    fn note_vectors(&mut self, acknowledgment: i64, marks: bool, vectors: impl Iterator<Item = u8>) {
        let mut sequence = acknowledgment;
        let mut place = self.passed.partition_point(|passed| *passed <= acknowledgment);
        for byte in vectors {
            let last = sequence;
            sequence -= run_length(byte);
            // Nothing unknown and no mark: nothing new.
            if place == 0 && !marks {
                break;
            }
            if byte >> 6 == 1 || place > 0 {
                place = self.note_run((sequence + 1, last), byte >> 6, place);
            }
        }
        self.results.reverse();
    }

    /// The receiver's word on the packets from `first` to `last`, as in a vector: most of it is known. Of those passed
    /// over the first `end` are not beyond `last`; answers how many of them lie before `first`.
    fn note_run(&mut self, (first, last): (i64, i64), state: u8, end: usize) -> usize {
        let mut begin = end;
        while begin > 0 && self.passed[begin - 1] >= first {
            begin -= 1;
        }
        let unknown = (begin..end).rev();
        match state {
            0 => unknown.for_each(|place| self.learn(self.passed[place], State::Received)),
            // A mark counts on what was received without.
            1 => (first.max(self.first())..=last)
                .rev()
                .for_each(|sequence| self.learn(sequence, State::Marked)),
            3 => unknown.for_each(|place| self.learn(self.passed[place], State::Unknown)),
            // Reserved.
            _ => {}
        }
        if begin < end && state < 2 {
            self.passed.drain(begin..end);
        }
        begin
    }

    /// The receiver's word on one packet.
    fn note(&mut self, sequence: i64, state: State) {
        self.learn(sequence, state);
        if let Ok(place) = self.passed.binary_search(&sequence) {
            self.passed.remove(place);
        }
    }

    fn learn(&mut self, sequence: i64, state: State) {
        let Some(entry) = self.entry(sequence) else { return };
        let news = state > entry.state;
        entry.state = entry.state.max(state);
        // A known state is not told again; missing data is, and is no verdict.
        if !news && (!entry.data || entry.state != State::Unknown) {
            return;
        }
        let status = match entry.state {
            State::Unknown => Status::Missing,
            State::Received => Status::Received { arrived: None, ecn: Ecn::NotEct },
            State::Marked => Status::Received { arrived: None, ecn: Ecn::Ce },
        };
        let (sent, size) = (entry.sent, Bytes::new(u64::from(entry.size)));
        self.results.push(PacketResult {
            stream: StreamId(0),
            sequence: sequence as u64,
            size,
            sent,
            status,
        });
    }

    /// Reads the drop blocks.
    fn read_drops(&mut self, options: &[DccpOption]) {
        self.drops.clear();
        for option in options {
            let DccpOption::DataDropped(blocks) = option else { continue };
            for block in blocks {
                let (code, run) = drop_block(*block);
                let room = (self.entries.len() as usize).saturating_sub(self.drops.len());
                self.drops.extend(core::iter::repeat_n(code, room.min(run as usize)));
            }
        }
    }

    /// Corrupt is as bad as marked; the other codes have answers of their own (section 11.7.2). Without Ack Vectors
    /// nothing says of a packet that it did not arrive. Answers whether the other application no longer listens.
    #[cold]
    fn note_drops(&mut self, acknowledgment: i64, options: &[DccpOption], vectors: bool) -> bool {
        self.read_drops(options);
        let contradicts = |sent: &mut Sent, (back, code): (usize, u8)| {
            let entry = sent.entry(acknowledgment - back as i64);
            code > 0 && entry.is_some_and(|entry| entry.state == State::Unknown)
        };
        let mut not_listening = false;
        let drops = core::mem::take(&mut self.drops);
        if !vectors || !drops.iter().copied().enumerate().any(|drop| contradicts(self, drop)) {
            for (back, code) in drops.iter().copied().enumerate().filter(|(_, code)| *code > 0) {
                let sequence = acknowledgment - back as i64;
                let Some(entry) = self.entry(sequence).filter(|entry| entry.data && !entry.dropped) else {
                    continue;
                };
                entry.dropped = true;
                let code = DropCode::from_bits(code - 1);
                not_listening |= code == DropCode::NotListening;
                self.dropped.push(DroppedPacket { sequence: sequence as u64, code });
                if matches!(code, DropCode::Corrupt | DropCode::DeliveredCorrupt) {
                    self.note(sequence, State::Marked);
                }
            }
            self.dropped.reverse();
            self.sort_results();
        }
        self.drops = drops;
        not_listening
    }

    /// The oldest first and each packet once, the later word holding.
    #[cold]
    fn sort_results(&mut self) {
        if self.results.windows(2).any(|pair| pair[0].sequence >= pair[1].sequence) {
            self.results.reverse();
            self.results.sort_by_key(|result| core::cmp::Reverse(result.sequence));
            self.results.dedup_by_key(|result| result.sequence);
            self.results.reverse();
        }
    }

    /// Number of packets that are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> u64 {
        self.entries.len()
    }
}

#[cfg(test)]
#[path = "sent_tests.rs"]
mod tests;
