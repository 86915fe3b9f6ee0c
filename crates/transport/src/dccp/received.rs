//! What arrived, as Ack Vector and Data Dropped tell it (RFC 4340 sections 11.4 and 11.7, appendix A).
//!
//! One byte for each packet, the newest first, bounded. What the other end is known to have been told (it acknowledged
//! the acknowledgement) is told no more, but still recognised as a duplicate. Numbers count from the first packet.

use super::{DccpOption, DropCode, OPTION_DATA};
use std::collections::VecDeque;

const NOT_RECEIVED: u8 = 3;
const STATE: u8 = 3;
/// Above the state: 0 for delivered, else the drop code and one.
const DROP_SHIFT: u32 = 2;
/// Acknowledgements whose acknowledgement is awaited; of more the oldest are forgotten. More than there are in a round
/// trip: with fewer the one that is acknowledged would always be forgotten already, and vectors would only grow.
const MOST_RECORDS: usize = 1 << 14;
/// Packets that are remembered.
const MOST_PACKETS: i64 = 1 << 14;

/// What a packet is to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// The next, or ahead with so many missing before it.
    New { missing: i64 },
    /// It was missing.
    Late,
    /// It was there, or is too old to be known.
    Duplicate,
}

#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Greatest number of an acknowledgeable packet.
    newest: i64,
    states: VecDeque<u8>,
    /// The oldest that is still told.
    tail: i64,
    /// (our number of the acknowledgement, the newest it told), in order.
    records: VecDeque<(i64, i64)>,
}

impl Received {
    pub(crate) fn new() -> Received {
        Received { newest: -1, states: VecDeque::new(), tail: 0, records: VecDeque::new() }
    }

    /// The acknowledgement number; none before anything arrived.
    pub(crate) fn newest(&self) -> Option<i64> {
        (self.newest >= 0).then_some(self.newest)
    }

    fn state_mut(&mut self, sequence: i64) -> Option<&mut u8> {
        self.states.get_mut(usize::try_from(self.newest - sequence).ok()?)
    }

    /// What a packet with this number would be.
    pub(crate) fn look(&self, sequence: i64) -> Arrived {
        if sequence > self.newest {
            return Arrived::New { missing: sequence - self.newest - 1 };
        }
        let place = usize::try_from(self.newest - sequence).ok();
        match place.and_then(|place| self.states.get(place)) {
            Some(state) if state & STATE == NOT_RECEIVED => Arrived::Late,
            _ => Arrived::Duplicate,
        }
    }

    /// A packet becomes acknowledgeable (section 11.4.1, the receiver's table).
    pub(crate) fn mark(&mut self, sequence: i64, marked: bool) {
        match self.look(sequence) {
            Arrived::New { missing } => {
                if missing >= MOST_PACKETS {
                    // After such a leap nothing before it is worth telling.
                    self.states.clear();
                    self.tail = sequence;
                } else {
                    (0..missing).for_each(|_| self.states.push_front(NOT_RECEIVED));
                }
                self.states.push_front(u8::from(marked));
                self.newest = sequence;
                self.states.truncate(MOST_PACKETS as usize);
                self.tail = self.tail.max(self.newest + 1 - self.states.len() as i64);
            }
            Arrived::Late => {
                if let Some(state) = self.state_mut(sequence) {
                    *state = u8::from(marked);
                }
                // Appendix A.3: whoever acknowledges an earlier acknowledgement does not know of this yet.
                self.tail = self.tail.min(sequence);
                self.records.iter_mut().for_each(|(_, told)| *told = (*told).min(sequence - 1));
            }
            Arrived::Duplicate => {
                if let Some(state) = self.state_mut(sequence).filter(|_| marked) {
                    *state |= 1;
                }
            }
        }
    }

    /// The packet's data did not reach the application as it should. A code is never taken back (section 11.7).
    pub(crate) fn set_dropped(&mut self, sequence: i64, code: DropCode) {
        if let Some(state) = self.state_mut(sequence)
            && *state & STATE != NOT_RECEIVED
            && *state >> DROP_SHIFT == 0
        {
            *state |= (code as u8 + 1) << DROP_SHIFT;
        }
    }

    /// Packets that are told, from the newest back, as (state, drop code).
    fn told(&self) -> impl Iterator<Item = u8> {
        let count = usize::try_from(self.newest + 1 - self.tail).unwrap_or(0);
        self.states.iter().copied().take(count)
    }

    /// Ack Vectors for all packets that are to be told, the newest of them if they do not fit in `room` bytes.
    pub(crate) fn ack_vectors(&self, room: usize, out: &mut Vec<DccpOption>) {
        let runs = runs(self.told().map(|state| state & STATE), |_| 64);
        let bytes = runs.map(|(state, run)| state << 6 | (run - 1) as u8);
        each_option(bytes, room, |vector| out.push(DccpOption::AckVector { nonce: false, vector }));
    }

    /// Data Dropped for the same packets; nothing if all were delivered.
    pub(crate) fn data_dropped(&self, room: usize, out: &mut Vec<DccpOption>) {
        let Some(last) =
            self.told().map(|state| state >> DROP_SHIFT).enumerate().filter(|(_, code)| *code > 0).last()
        else {
            return;
        };
        let codes = self.told().map(|state| state >> DROP_SHIFT).take(last.0 + 1);
        let bytes = runs(codes, |code| if code == 0 { 128 } else { 16 }).map(|(code, run)| match code {
            0 => (run - 1) as u8,
            code => 0x80 | (code - 1) << 4 | (run - 1) as u8,
        });
        each_option(bytes, room, |blocks| out.push(DccpOption::DataDropped(blocks)));
    }

    /// An acknowledgement with all of this left as the packet numbered `sequence`.
    pub(crate) fn told_in(&mut self, sequence: i64) {
        if self.records.len() == MOST_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back((sequence, self.newest));
    }

    /// The other end has our packet numbered `sequence` (appendix A.3).
    pub(crate) fn on_acknowledged(&mut self, sequence: i64) {
        // Acknowledgement numbers are the greatest received: only this very packet is known to have arrived.
        let Ok(place) = self.records.binary_search_by_key(&sequence, |(sent, _)| *sent) else { return };
        let told = self.records[place].1;
        self.tail = self.tail.max((told + 1).min(self.newest));
        self.records.drain(..=place);
    }

    /// Forgets the oldest that nobody asks for: of a half-connection without Ack Vectors. Dropped data is told until the
    /// other end has heard of it (section 11.7).
    pub(crate) fn keep(&mut self, packets: i64) {
        let tail = self.newest + 1 - packets.max(1);
        while self.tail < tail && !self.is_dropped(self.tail) {
            self.tail += 1;
        }
    }

    fn is_dropped(&self, sequence: i64) -> bool {
        let place = usize::try_from(self.newest - sequence).ok();
        place.and_then(|place| self.states.get(place)).is_some_and(|state| *state >> DROP_SHIFT > 0)
    }

    /// Packets told at present.
    #[cfg(test)]
    pub(crate) fn window(&self) -> usize {
        self.told().count()
    }
}

/// Equal values in a row, as (value, how many), at most `longest` of a value in one run.
fn runs(
    values: impl Iterator<Item = u8>,
    longest: impl Fn(u8) -> usize,
) -> impl Iterator<Item = (u8, usize)> {
    let mut values = values.peekable();
    core::iter::from_fn(move || {
        let value = values.next()?;
        let mut run = 1;
        while run < longest(value) && values.next_if_eq(&value).is_some() {
            run += 1;
        }
        Some((value, run))
    })
}

fn each_option(bytes: impl Iterator<Item = u8>, mut room: usize, mut write: impl FnMut(Vec<u8>)) {
    let mut bytes = bytes.peekable();
    while room > 2 && bytes.peek().is_some() {
        let data: Vec<u8> = bytes.by_ref().take(OPTION_DATA.min(room - 2)).collect();
        room -= 2 + data.len();
        write(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(received: &Received) -> Vec<u8> {
        let mut options = Vec::new();
        received.ack_vectors(1000, &mut options);
        options.iter().flat_map(DccpOption::data).collect()
    }

    fn dropped(received: &Received) -> Vec<u8> {
        let mut options = Vec::new();
        received.data_dropped(1000, &mut options);
        options.iter().flat_map(DccpOption::data).collect()
    }

    /// Packets 88 to 100 as in section 11.4: 99 is lost, 94 is marked.
    fn example() -> Received {
        let mut received = Received::new();
        (0..=100).filter(|n| *n != 99).for_each(|n| received.mark(n, n == 94));
        received.tail = 88;
        received
    }

    #[test]
    fn section_11_4_the_example_vector() {
        assert_eq!(vectors(&example()), [0, 192, 3, 64, 5]);
    }

    #[test]
    fn section_11_4_1_states_follow_the_receivers_table() {
        let mut received = example();
        received.mark(99, true);
        assert_eq!(vectors(&received), [0, 64, 3, 64, 5], "3 and 1: 1");
        received.mark(99, false);
        assert_eq!(vectors(&received), [0, 64, 3, 64, 5], "1 and 0: stays");
        received.mark(100, true);
        assert_eq!(vectors(&received), [65, 3, 64, 5], "0 and 1: 1");
    }

    #[test]
    fn section_11_4_runs_of_more_than_64_take_more_bytes_and_more_options() {
        let mut received = Received::new();
        (0..130).for_each(|n| received.mark(n, false));
        assert_eq!(vectors(&received), [63, 63, 1]);
        // Every other packet lost: a byte for each.
        (130..1130).filter(|n| n % 2 == 0).for_each(|n| received.mark(n, false));
        let mut options = Vec::new();
        received.ack_vectors(510, &mut options);
        assert_eq!(options.iter().map(DccpOption::encoded_len).collect::<Vec<_>>(), [255, 255]);
    }

    #[test]
    fn appendix_a_3_what_was_acknowledged_is_told_no_more() {
        let mut received = Received::new();
        (0..=10).filter(|n| !(7..=9).contains(n)).for_each(|n| received.mark(n, n == 1));
        received.records.push_back((59, 3));
        received.records.push_back((60, 10));
        received.on_acknowledged(58);
        assert_eq!(vectors(&received), [0, 194, 4, 64, 0], "no such acknowledgement");
        received.on_acknowledged(59);
        assert_eq!(vectors(&received), [0, 194, 2], "packets 0 to 3 are known");
        assert_eq!(received.look(2), Arrived::Duplicate, "and still known as received");
    }

    #[test]
    fn appendix_a_3_a_late_packet_is_told_before_its_place_is_given_up() {
        let mut received = Received::new();
        (0..=10).filter(|n| *n != 9).for_each(|n| received.mark(n, false));
        received.told_in(60);
        assert_eq!(received.look(9), Arrived::Late);
        received.mark(9, false);
        received.on_acknowledged(60);
        assert_eq!(vectors(&received), [1], "9 and 10 are told again");
    }

    #[test]
    fn section_11_7_the_example_blocks() {
        let mut received = example();
        // The text's blocks overlap by one; 98 to 95 are four packets, 94 to 92 three.
        [94, 93, 92].iter().for_each(|n| received.set_dropped(*n, DropCode::ReceiveBuffer));
        received.mark(99, false);
        received.set_dropped(99, DropCode::ReceiveBuffer);
        assert_eq!(dropped(&received), [0, 160, 3, 162]);
        received.set_dropped(99, DropCode::ProtocolConstraints);
        received.set_dropped(98, DropCode::DeliveredCorrupt);
        assert_eq!(dropped(&received), [0, 160, 0xf0, 2, 162], "a code stays");
    }

    #[test]
    fn section_11_7_what_was_dropped_is_told_until_that_is_acknowledged() {
        let mut received = Received::new();
        for n in 0..100 {
            received.mark(n, false);
            if n == 10 {
                received.set_dropped(n, DropCode::ReceiveBuffer);
            }
            received.keep(26);
        }
        assert_eq!(dropped(&received), [88, 160], "99 to 11 and 10");
        received.told_in(5);
        received.on_acknowledged(5);
        assert_eq!((dropped(&received), received.window()), (vec![], 1));
        received.mark(100, false);
        received.keep(26);
        assert_eq!(received.window(), 2);
    }

    #[test]
    fn section_11_7_without_drops_there_is_no_option() {
        assert_eq!(dropped(&example()), []);
        let mut received = example();
        received.set_dropped(99, DropCode::ReceiveBuffer);
        assert_eq!(dropped(&received), [], "what did not arrive was not dropped");
    }

    #[test]
    fn memory_is_bounded_whatever_arrives() {
        let mut received = Received::new();
        for n in 0..200_000 {
            received.mark(n * 3, false);
            received.told_in(n);
        }
        received.mark(1 << 50, false);
        received.mark((1 << 50) + MOST_PACKETS + 5, false);
        assert!(received.states.capacity() <= 4 * MOST_PACKETS as usize);
        assert_eq!((received.window(), received.records.len()), (1, MOST_RECORDS));
    }
}
