//! Packets that arrived, as Ack Vector and Data Dropped tell them (RFC 4340 sections 11.4 and 11.7, appendix A).
//!
//! Kept as it is told, in runs of equal states, the newest first, bounded: what arrives in order costs nothing that grows with
//! the window. A state that the other end is known to have been told (it acknowledged the acknowledgement) is told no more, but still
//! recognised as a duplicate. Numbers count from the first packet.

use paceline_cc::ccid::DropCode;
use paceline_wire::dccp::{DccpOption, OPTION_DATA, Options};
use smallvec::SmallVec;
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

/// How a packet's number relates to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// The next packet, or one ahead with `missing` packets missing before it.
    New { missing: i64 },
    /// The packet had been missing.
    Late,
    /// The packet had arrived before, or is too old to be known.
    Duplicate,
}

/// Packets in a row with the same state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    state: u8,
    length: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Greatest number of an acknowledgeable packet.
    newest: i64,
    /// Runs of equal states, from the newest number back.
    runs: VecDeque<Run>,
    /// Number of packets in these runs: of more than are remembered the oldest go many at a time.
    recorded: i64,
    /// The oldest that is still told.
    tail: i64,
    /// The other end is known to have been told of everything up to here.
    confirmed: i64,
    /// Whether anything that is told was dropped.
    any_dropped: bool,
    /// (our number of the acknowledgement, the newest it told), in order.
    records: VecDeque<(i64, i64)>,
}

impl Received {
    pub(crate) fn new() -> Received {
        Received {
            newest: -1,
            runs: VecDeque::new(),
            recorded: 0,
            tail: 0,
            confirmed: -1,
            any_dropped: false,
            records: VecDeque::new(),
        }
    }

    /// The acknowledgement number; none before anything arrived.
    pub(crate) fn newest(&self) -> Option<i64> {
        (self.newest >= 0).then_some(self.newest)
    }

    /// Number of packets that are remembered.
    fn known(&self) -> i64 {
        self.recorded.min(MOST_PACKETS)
    }

    /// The run of a packet, and how many newer ones are in it.
    fn find(&self, sequence: i64) -> Option<(usize, i64)> {
        let mut back = self.newest - sequence;
        if !(0..self.known()).contains(&back) {
            return None;
        }
        let place = self.runs.iter().position(|run| {
            let found = back < run.length;
            back -= if found { 0 } else { run.length };
            found
        });
        place.map(|place| (place, back))
    }

    fn state(&self, sequence: i64) -> Option<u8> {
        self.find(sequence).map(|(place, _)| self.runs[place].state)
    }

    /// Another state for one packet that is known.
    #[cold]
    fn set(&mut self, sequence: i64, state: u8) {
        let Some((place, newer)) = self.find(sequence) else { return };
        let Run { state: before, length } = self.runs[place];
        if state == before {
            return;
        }
        let older = length - newer - 1;
        self.runs[place] = Run { state, length: 1 };
        if older > 0 {
            self.runs.insert(place + 1, Run { state: before, length: older });
        }
        self.merge(place + 1);
        if newer > 0 {
            self.runs.insert(place, Run { state: before, length: newer });
        }
        self.merge(place);
    }

    /// Makes one run of this and the newer one if they are equal.
    fn merge(&mut self, place: usize) {
        if let (Some(newer), Some(&run)) = (place.checked_sub(1), self.runs.get(place))
            && self.runs[newer].state == run.state
        {
            self.runs[newer].length += run.length;
            self.runs.remove(place);
        }
    }

    /// Packets newer than all others.
    #[inline]
    fn push(&mut self, state: u8, length: i64) {
        match self.runs.front_mut() {
            Some(run) if run.state == state => run.length += length,
            _ => self.runs.push_front(Run { state, length }),
        }
        self.recorded += length;
        if self.recorded > 2 * MOST_PACKETS {
            self.forget();
        }
    }

    /// Forgets all that is not remembered.
    #[cold]
    fn forget(&mut self) {
        while self.recorded > MOST_PACKETS
            && let Some(oldest) = self.runs.back_mut()
        {
            let gone = oldest.length.min(self.recorded - MOST_PACKETS);
            oldest.length -= gone;
            self.recorded -= gone;
            if oldest.length == 0 {
                self.runs.pop_back();
            }
        }
    }

    /// The kind that a packet with this number would be.
    #[inline]
    pub(crate) fn look(&self, sequence: i64) -> Arrived {
        if sequence > self.newest {
            return Arrived::New { missing: sequence - self.newest - 1 };
        }
        match self.state(sequence) {
            Some(state) if state & STATE == NOT_RECEIVED => Arrived::Late,
            _ => Arrived::Duplicate,
        }
    }

    /// A packet of which [`Received::look`] said that it is `arrived` becomes acknowledgeable (section 11.4.1, the
    /// receiver's table).
    #[inline(always)]
    pub(crate) fn accept(&mut self, sequence: i64, arrived: Arrived, marked: bool) {
        match arrived {
            Arrived::New { missing } => {
                if missing > 0 {
                    self.leave_out(sequence, missing);
                }
                self.push(u8::from(marked), 1);
                self.newest = sequence;
                self.tail = self.tail.max(self.newest + 1 - self.known());
            }
            Arrived::Late => self.accept_late(sequence, marked),
            Arrived::Duplicate => self.accept_again(sequence, marked),
        }
    }

    /// Enters that `missing` packets before the next one, which has this number, did not arrive.
    #[cold]
    fn leave_out(&mut self, sequence: i64, missing: i64) {
        if missing >= MOST_PACKETS {
            // After such a leap nothing before it is worth telling.
            self.runs.clear();
            (self.recorded, self.tail) = (0, sequence);
        } else {
            self.push(NOT_RECEIVED, missing);
        }
    }

    #[cold]
    fn accept_again(&mut self, sequence: i64, marked: bool) {
        if let Some(state) = self.state(sequence).filter(|_| marked) {
            self.set(sequence, state | 1);
        }
    }

    /// Appendix A.3: whoever acknowledges an earlier acknowledgement does not know of this packet yet.
    #[cold]
    fn accept_late(&mut self, sequence: i64, marked: bool) {
        self.set(sequence, u8::from(marked));
        self.tail = self.tail.min(sequence);
        self.records.iter_mut().for_each(|(_, told)| *told = (*told).min(sequence - 1));
        self.confirmed = self.confirmed.min(sequence - 1);
    }

    /// The packet's data did not reach the application as it should. A code is never taken back (section 11.7).
    #[cold]
    pub(crate) fn set_dropped(&mut self, sequence: i64, code: DropCode) {
        if let Some(state) = self.state(sequence)
            && state & STATE != NOT_RECEIVED
            && state >> DROP_SHIFT == 0
        {
            self.set(sequence, state | (code as u8 + 1) << DROP_SHIFT);
            self.any_dropped = true;
        }
    }

    /// Packets that are told, from the newest back.
    fn told(&self) -> impl Iterator<Item = Run> {
        let mut left = self.newest + 1 - self.tail;
        self.runs.iter().map_while(move |run| {
            let length = run.length.min(left);
            left -= length;
            (length > 0).then_some(Run { length, ..*run })
        })
    }

    /// Ack Vectors for all packets that are to be told, the newest of them if they do not fit in `room` bytes.
    pub(crate) fn ack_vectors(&self, room: usize, out: &mut Options) {
        let states = self.told().map(|run| Run { state: run.state & STATE, ..run });
        let byte = |run: Run| run.state << 6 | (run.length - 1) as u8;
        let option =
            |vector: &[u8]| DccpOption::AckVector { nonce: false, vector: SmallVec::from_slice(vector) };
        encode(states, |_| 64, byte, room, |vector| out.push(option(vector)));
    }

    /// Data Dropped for the same packets; nothing if all were delivered.
    #[inline]
    pub(crate) fn data_dropped(&self, room: usize, out: &mut Options) {
        if self.any_dropped {
            self.tell_dropped(room, out);
        }
    }

    #[cold]
    fn tell_dropped(&self, room: usize, out: &mut Options) {
        let codes = || self.told().map(|run| Run { state: run.state >> DROP_SHIFT, ..run });
        let Some((last, _)) = codes().enumerate().filter(|(_, run)| run.state > 0).last() else { return };
        let byte = |run: Run| match run.state {
            0 => (run.length - 1) as u8,
            code => 0x80 | (code - 1) << 4 | (run.length - 1) as u8,
        };
        let longest = |code| if code == 0 { 128 } else { 16 };
        let option = |blocks: &[u8]| DccpOption::DataDropped(blocks.into());
        encode(codes().take(last + 1), longest, byte, room, |blocks| out.push(option(blocks)));
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
        self.confirmed = self.confirmed.max(told);
        self.tail = self.tail.max((told + 1).min(self.newest));
        self.records.drain(..=place);
    }

    /// Whether the other end is known to have been told of everything up to this packet.
    pub(crate) fn is_confirmed(&self, sequence: i64) -> bool {
        sequence <= self.confirmed
    }

    /// Forgets the oldest that nobody asks for: of a half-connection without Ack Vectors. Dropped data is told until the
    /// other end has heard of it (section 11.7).
    #[inline]
    pub(crate) fn keep(&mut self, packets: i64) {
        let tail = self.newest + 1 - packets.max(1);
        if self.any_dropped {
            self.keep_dropped(tail);
        } else {
            self.tail = self.tail.max(tail);
        }
    }

    #[cold]
    fn keep_dropped(&mut self, tail: i64) {
        let is_dropped = |run: &Run| run.state >> DROP_SHIFT > 0;
        while self.tail < tail
            && !self.find(self.tail).is_some_and(|(place, _)| is_dropped(&self.runs[place]))
        {
            self.tail += 1;
        }
        let any_dropped = self.told().any(|run| is_dropped(&run));
        self.any_dropped = any_dropped;
    }

    /// A packet arrives.
    #[cfg(test)]
    pub(crate) fn mark(&mut self, sequence: i64, marked: bool) {
        self.accept(sequence, self.look(sequence), marked);
    }

    /// Packets told at present.
    #[cfg(test)]
    pub(crate) fn window(&self) -> i64 {
        self.told().map(|run| run.length).sum()
    }
}

/// Writes runs as the data of options: equal ones in a row as one, cut to the longest that a byte tells of their state,
/// those first for which there is room.
#[inline(always)]
fn encode(
    runs: impl Iterator<Item = Run>,
    longest: impl Fn(u8) -> i64,
    byte: impl Fn(Run) -> u8,
    mut room: usize,
    mut write: impl FnMut(&[u8]),
) {
    let (mut data, mut filled) = ([0; OPTION_DATA], 0);
    let mut most = OPTION_DATA.min(room.saturating_sub(2));
    // Answers whether there is room for more.
    let mut add = |Run { state, length: mut left }: Run| {
        let longest = longest(state);
        while left > 0 {
            if filled == most {
                if filled > 0 {
                    write(&data[..filled]);
                    room -= 2 + filled;
                }
                (filled, most) = (0, OPTION_DATA.min(room.saturating_sub(2)));
                if most == 0 {
                    return false;
                }
            }
            let length = left.min(longest);
            data[filled] = byte(Run { state, length });
            filled += 1;
            left -= length;
        }
        true
    };
    let mut row = Run { state: 0, length: 0 };
    for run in runs {
        if run.state == row.state {
            row.length += run.length;
        } else if !add(core::mem::replace(&mut row, run)) {
            return;
        }
    }
    add(row);
    if filled > 0 {
        write(&data[..filled]);
    }
}

#[cfg(test)]
#[path = "received_tests.rs"]
mod tests;
