//! What was sent, and what became of it by the other end's word (RFC 4340 section 11.4).

use paceline_cc::ccid::{DropCode, DroppedPacket};
use paceline_cc::{PacketResult, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::dccp::{DccpOption, PacketType, drop_block};
use std::collections::VecDeque;

/// Packets that are remembered: of more the oldest are given up, and what is said of them is ignored (section 11.4.1).
const MOST_PACKETS: usize = 1 << 16;

/// What is known of a packet, in the order of the sender's table of section 11.4.1: a state only moves up.
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

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSummary {
    /// Time of sending of the acknowledged packet, if it was not known to have arrived.
    pub(crate) newest_sent: Option<Time>,
    /// Whether the other application no longer listens.
    pub(crate) not_listening: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// The number of the first entry.
    first: i64,
    entries: VecDeque<Entry>,
    /// The packets whose state is unknown, in order: of what a vector repeats nobody looks at the rest. Those that an
    /// acknowledgement passed over, mostly lost ones, and those after every acknowledgement.
    passed: VecDeque<i64>,
    unknown: VecDeque<i64>,
    /// What the last acknowledgement said of packets, the oldest first.
    pub(crate) results: Vec<PacketResult>,
    /// Data packets that it reported dropped and none before, the oldest first.
    pub(crate) dropped: Vec<DroppedPacket>,
    /// The drop code of each packet from the acknowledged one back, of one acknowledgement.
    drops: Vec<u8>,
}

impl Sent {
    /// The packet numbered next was sent.
    pub(crate) fn push(&mut self, sequence: i64, now: Time, size: Bytes, kind: PacketType) {
        if self.entries.len() == MOST_PACKETS {
            self.entries.pop_front();
            self.first += 1;
        }
        if self.entries.is_empty() {
            self.first = sequence;
        }
        self.unknown.push_back(sequence);
        self.forget_unknown();
        let size = u32::try_from(size.as_u64()).unwrap_or(u32::MAX);
        self.entries.push_back(Entry {
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
        while self.first < sequence && self.entries.pop_front().is_some() {
            self.first += 1;
        }
        self.forget_unknown();
    }

    fn forget_unknown(&mut self) {
        for list in [&mut self.passed, &mut self.unknown] {
            while list.front().is_some_and(|sequence| *sequence < self.first) {
                list.pop_front();
            }
        }
    }

    fn entry(&mut self, sequence: i64) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(sequence - self.first).ok()?)
    }

    fn look(&self, sequence: i64) -> Option<&Entry> {
        self.entries.get(usize::try_from(sequence - self.first).ok()?)
    }

    /// Whether the packet is remembered and was no Sync.
    pub(crate) fn was_no_sync(&self, sequence: i64) -> bool {
        self.look(sequence).is_some_and(|entry| !entry.sync)
    }

    /// When the packet left, if that is remembered.
    pub(crate) fn sent_at(&self, sequence: i64) -> Option<Time> {
        self.look(sequence).map(|entry| entry.sent)
    }

    /// An acknowledgement of `acknowledgment` with these options arrived. Options that tell of packets before the first
    /// ever sent are ignored (section 11.4), and Data Dropped that does not fit the vectors (section 11.7).
    pub(crate) fn on_acknowledged(&mut self, acknowledgment: i64, options: &[DccpOption]) -> AckSummary {
        self.results.clear();
        self.dropped.clear();
        let vectors = || {
            options.iter().filter_map(|option| match option {
                DccpOption::AckVector { vector, .. } => Some(vector.as_slice()),
                _ => None,
            })
        };
        let run = |byte: &u8| i64::from(byte & 63) + 1;
        let (mut covered, mut marks) = (0, false);
        for byte in vectors().flatten() {
            (covered, marks) = (covered + run(byte), marks || byte >> 6 == 1);
        }
        let valid = covered <= acknowledgment + 1;
        let drops_fit = self.read_drops(acknowledgment, options);
        let newest_sent = self.look(acknowledgment).filter(|entry| entry.state == State::Unknown);
        let newest_sent = newest_sent.map(|entry| entry.sent);
        let newest = vectors().flatten().next().filter(|_| valid);
        let in_order = |sent: &Sent, newest: &u8| {
            let unknown = sent.unknown.front().is_none_or(|first| *first > acknowledgment - run(newest));
            let passed = sent.passed.back().is_none_or(|last| *last + covered <= acknowledgment);
            !marks && newest >> 6 == 0 && unknown && passed
        };
        match newest {
            None => self.note(acknowledgment, State::Received),
            // Nothing but the newest in a row is new, as mostly.
            Some(newest) if in_order(self, newest) => {
                while let Some(&sequence) =
                    self.unknown.front().filter(|sequence| **sequence <= acknowledgment)
                {
                    self.unknown.pop_front();
                    self.learn(sequence, State::Received);
                }
            }
            Some(_) => self.note_vectors(acknowledgment, vectors().flatten().copied()),
        }
        let not_listening = drops_fit && valid && self.note_drops(acknowledgment, covered > 0);
        AckSummary { newest_sent, not_listening }
    }

    /// The receiver's word on the packets from `acknowledgment` back, in bytes of vectors.
    fn note_vectors(&mut self, acknowledgment: i64, vectors: impl Iterator<Item = u8>) {
        while let Some(&sequence) = self.unknown.front().filter(|sequence| **sequence <= acknowledgment) {
            self.unknown.pop_front();
            self.passed.push_back(sequence);
        }
        let mut sequence = acknowledgment;
        let mut place = self.passed.partition_point(|passed| *passed <= acknowledgment);
        for byte in vectors {
            let last = sequence;
            sequence -= i64::from(byte & 63) + 1;
            // Nothing unknown and no mark: nothing new.
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
            1 => {
                (first.max(self.first)..=last).rev().for_each(|sequence| self.learn(sequence, State::Marked))
            }
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
        for list in [&mut self.passed, &mut self.unknown] {
            if let Ok(place) = list.binary_search(&sequence) {
                list.remove(place);
            }
        }
    }

    fn learn(&mut self, sequence: i64, state: State) {
        let Some(entry) = self.entry(sequence) else { return };
        let news = state > entry.state;
        entry.state = entry.state.max(state);
        // What was known is not told again; missing data is, and is no verdict.
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

    /// Reads the drop blocks; false if there are none or they tell of more than was sent.
    fn read_drops(&mut self, acknowledgment: i64, options: &[DccpOption]) -> bool {
        self.drops.clear();
        let mut covered = 0;
        for option in options {
            let DccpOption::DataDropped(blocks) = option else { continue };
            for block in blocks {
                let (code, run) = drop_block(*block);
                let room = self.entries.len().saturating_sub(self.drops.len());
                self.drops.extend(core::iter::repeat_n(code, room.min(run as usize)));
                covered += run;
            }
        }
        covered > 0 && covered <= acknowledgment + 1
    }

    /// Corrupt is as bad as marked; the other codes have answers of their own (section 11.7.2). Without Ack Vectors
    /// nothing says of a packet that it did not arrive. Answers whether the other application no longer listens.
    fn note_drops(&mut self, acknowledgment: i64, vectors: bool) -> bool {
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
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection;
    use proptest::prelude::*;

    /// Every tenth packet is without data.
    fn kind(n: i64) -> PacketType {
        if n % 10 == 0 { PacketType::Ack } else { PacketType::Data }
    }

    fn sent(count: i64) -> Sent {
        let mut sent = Sent::default();
        (0..count).for_each(|n| sent.push(n, Time::from_nanos(n as u64), Bytes::new(100), kind(n)));
        sent
    }

    fn vector(bytes: &[u8]) -> DccpOption {
        DccpOption::AckVector { nonce: false, vector: bytes.to_vec().into() }
    }

    fn summary(sent: &Sent) -> Vec<(u64, Option<bool>)> {
        let acked = |result: &PacketResult| match result.status {
            Status::Missing => (result.sequence, None),
            Status::Received { ecn, .. } => (result.sequence, Some(ecn.is_ce())),
        };
        sent.results.iter().map(acked).collect()
    }

    #[test]
    fn section_11_4_the_example_is_read() {
        let mut sent = sent(101);
        let acked = sent.on_acknowledged(100, &[vector(&[0, 192, 3, 64]), vector(&[5])]);
        let expected = [
            (88, Some(false)),
            (89, Some(false)),
            (90, Some(false)),
            (91, Some(false)),
            (92, Some(false)),
            (93, Some(false)),
            (94, Some(true)),
            (95, Some(false)),
            (96, Some(false)),
            (97, Some(false)),
            (98, Some(false)),
            (99, None),
            (100, Some(false)),
        ];
        assert_eq!(summary(&sent), expected);
        assert_eq!(acked.newest_sent, Some(Time::from_nanos(100)));
    }

    #[test]
    fn section_11_4_1_states_follow_the_senders_table() {
        let mut sent = sent(4);
        sent.on_acknowledged(3, &[vector(&[0, 192, 0])]);
        sent.on_acknowledged(3, &[vector(&[192, 0, 64])]);
        assert_eq!(
            summary(&sent),
            [(1, Some(true)), (2, Some(false))],
            "0 and 1: 1; 3 and 0: 0; 0 and 3: stays"
        );
        sent.on_acknowledged(3, &[vector(&[192, 192, 0])]);
        assert_eq!(summary(&sent), [], "nothing is taken back, nothing is reported twice");
    }

    #[test]
    fn section_11_4_a_vector_beyond_the_first_packet_is_ignored() {
        let mut sent = sent(4);
        sent.on_acknowledged(3, &[vector(&[68])]);
        assert_eq!(summary(&sent), [(3, Some(false))], "the acknowledgement number alone counts");
    }

    #[test]
    fn section_11_7_corrupt_is_as_bad_as_marked_and_each_drop_is_told_once() {
        let mut sent = sent(9);
        let blocks = DccpOption::DataDropped(vec![0, 0x80, 0xa0, 0xb0, 0xf0]);
        let acked = sent.on_acknowledged(8, &[vector(&[7]), blocks.clone()]);
        let marked: Vec<u64> =
            summary(&sent).into_iter().filter(|(_, ecn)| *ecn == Some(true)).map(|(n, _)| n).collect();
        assert_eq!(marked, [4, 5]);
        let dropped: Vec<_> = sent.dropped.iter().map(|drop| (drop.sequence, drop.code)).collect();
        let expected = [
            (4, DropCode::DeliveredCorrupt),
            (5, DropCode::Corrupt),
            (6, DropCode::ReceiveBuffer),
            (7, DropCode::ProtocolConstraints),
        ];
        assert_eq!((dropped.as_slice(), acked.not_listening), (expected.as_slice(), false));
        assert_eq!(summary(&sent).len(), 8, "each packet once, in order");
        assert!(summary(&sent).is_sorted());
        sent.on_acknowledged(8, &[vector(&[7]), blocks]);
        assert_eq!(sent.dropped, [], "each drop counts once");
    }

    #[test]
    fn section_11_7_without_vectors_no_block_contradicts() {
        let mut sent = sent(9);
        sent.on_acknowledged(8, &[DccpOption::DataDropped(vec![0, 0xa0, 0, 0xa0])]);
        let dropped: Vec<u64> = sent.dropped.iter().map(|drop| drop.sequence).collect();
        assert_eq!(dropped, [5, 7], "under CCID 3 only the newest is acknowledged by number");
    }

    #[test]
    fn section_11_7_blocks_that_contradict_the_vector_are_ignored() {
        let mut sent = sent(9);
        sent.on_acknowledged(8, &[vector(&[0, 192, 5]), DccpOption::DataDropped(vec![0, 0xa0])]);
        assert_eq!(sent.dropped, [], "7 did not arrive: it was not dropped");
        sent.on_acknowledged(8, &[vector(&[0, 0, 5]), DccpOption::DataDropped(vec![0xa0, 127])]);
        assert_eq!(sent.dropped, [], "more than was sent");
    }

    #[test]
    fn memory_is_bounded_whatever_is_sent_and_said() {
        let mut sent = sent(MOST_PACKETS as i64 + 10);
        assert_eq!((sent.len(), sent.first), (MOST_PACKETS, 10));
        let all: Vec<DccpOption> = (0..4).map(|_| DccpOption::DataDropped(vec![127; 253])).collect();
        sent.on_acknowledged(MOST_PACKETS as i64 + 5, &all);
        assert!(sent.drops.len() <= MOST_PACKETS);
        sent.forget_before(20);
        assert_eq!(sent.first, 20);
        assert_eq!(sent.sent_at(19), None);
    }

    /// One state for each packet, looked at one by one.
    #[derive(Default)]
    struct Plain(Vec<State>);

    impl Plain {
        fn on_acknowledged(&mut self, acknowledgment: i64, bytes: &[u8]) -> Vec<(u64, Option<bool>)> {
            let covered: i64 = bytes.iter().map(|byte| i64::from(byte & 63) + 1).sum();
            let bytes = if covered == 0 || covered > acknowledgment + 1 { &[0] } else { bytes };
            let states =
                bytes.iter().flat_map(|byte| core::iter::repeat_n(byte >> 6, usize::from(byte & 63) + 1));
            let mut acked = Vec::new();
            for (sequence, said) in (0..=acknowledgment as usize).rev().zip(states) {
                let state =
                    [State::Received, State::Marked, State::Unknown, State::Unknown][usize::from(said)];
                let data = sequence % 10 != 0;
                if state > self.0[sequence] || said == 3 && data && self.0[sequence] == State::Unknown {
                    self.0[sequence] = state.max(self.0[sequence]);
                    let ce = self.0[sequence] == State::Marked;
                    acked.push((sequence as u64, (state != State::Unknown).then_some(ce)));
                }
            }
            acked.reverse();
            acked
        }
    }

    proptest! {
        #[test]
        fn what_vectors_tell_is_what_they_say_of_each_packet(
            acks in collection::vec((0..40i64, 0..30i64, collection::vec(any::<u8>(), 0..6)), 1..60),
        ) {
            let (mut sent, mut plain) = (Sent::default(), Plain::default());
            for (count, back, bytes) in acks {
                for _ in 0..count {
                    let n = plain.0.len() as i64;
                    sent.push(n, Time::from_nanos(n as u64), Bytes::new(100), kind(n));
                    plain.0.push(State::Unknown);
                }
                let acknowledgment = plain.0.len() as i64 - 1 - back;
                if acknowledgment >= 0 {
                    // Mostly short runs, so that they fit.
                    let bytes: Vec<u8> = bytes.iter().map(|byte| byte & 0xc7).collect();
                    sent.on_acknowledged(acknowledgment, &[vector(&bytes)]);
                    prop_assert_eq!(summary(&sent), plain.on_acknowledged(acknowledgment, &bytes));
                }
            }
        }
    }
}
