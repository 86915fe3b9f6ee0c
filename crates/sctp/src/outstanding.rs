//! Chunks that were sent and are not acknowledged cumulatively.

use super::{DataChunk, SCTP_HEADER};
use paceline_ends::Ranges;
use paceline_units::{Bytes, Time};
use std::collections::VecDeque;

/// State of a chunk that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Under way, as far as anybody knows.
    InFlight,
    /// To be sent again.
    Lost,
    /// Acknowledged by a gap block.
    Acked,
    /// Given up: never sent again, and the receiver is told not to wait (RFC 3758).
    Abandoned,
}

/// A chunk as it was sent last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub chunk: DataChunk,
    pub at: Time,
    pub state: State,
    /// SACKs in a row that missed it.
    pub missed: u32,
    /// Whether it was sent more than once.
    pub again: bool,
    /// Whether a fast retransmission was its, of which it has one (RFC 9260 section 7.2.4).
    pub fast: bool,
}

impl Sent {
    /// Size on the link.
    pub fn size(&self) -> Bytes {
        SCTP_HEADER + Bytes::new(u64::from(self.chunk.payload))
    }
}

/// The chunks from the first that is not acknowledged to the newest. Numbers count on where TSNs wrap.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    sent: VecDeque<Sent>,
    first: u64,
    /// Size on the link of chunks in flight.
    pub in_flight: Bytes,
    /// Payload that is in flight or is to be sent again.
    pub unacked: u64,
    /// Chunks to be sent again, and the number that none of them is below.
    lost: u64,
    lost_from: u64,
    /// Chunks that gap blocks told of.
    pub gaps: Ranges,
}

impl Outstanding {
    /// The first number that is not acknowledged.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number of the next new chunk.
    #[inline]
    pub fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Whether all is acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// How many chunks are to be sent again.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The chunk of this number, unless it is acknowledged cumulatively or was never sent.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&Sent> {
        self.sent.get(number.checked_sub(self.first)? as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        self.sent.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// A new chunk leaves.
    pub fn push(&mut self, now: Time, chunk: DataChunk) -> Sent {
        let sent = Sent { chunk, at: now, state: State::InFlight, missed: 0, again: false, fast: false };
        self.in_flight += sent.size();
        self.unacked += u64::from(chunk.payload);
        self.sent.push_back(sent);
        sent
    }

    /// A chunk that never leaves: the end of a message that was given up before all of it was sent.
    pub fn push_abandoned(&mut self, now: Time, chunk: DataChunk) {
        let state = State::Abandoned;
        self.sent.push_back(Sent { chunk, at: now, state, missed: 0, again: false, fast: false });
    }

    /// A chunk leaves again.
    pub fn push_again(&mut self, now: Time, number: u64) -> Option<Sent> {
        let sent = self.get_mut(number).filter(|sent| sent.state == State::Lost)?;
        *sent = Sent { at: now, state: State::InFlight, missed: 0, again: true, ..*sent };
        let sent = *sent;
        self.lost -= 1;
        self.in_flight += sent.size();
        Some(sent)
    }

    /// The lowest chunk to be sent again.
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        let from = self.lost_from.max(self.first);
        let found = (from..self.next())
            .find(|number| self.get(*number).is_some_and(|sent| sent.state == State::Lost));
        self.lost_from = found.unwrap_or(self.next());
        found
    }

    /// Sets a chunk's state, and keeps the counts; answers the chunk as it was.
    pub fn set(&mut self, number: u64, state: State) -> Option<Sent> {
        let sent = self.get_mut(number)?;
        let before = *sent;
        sent.state = state;
        self.uncount(&before);
        match state {
            State::InFlight => self.in_flight += before.size(),
            State::Lost => {
                self.lost += 1;
                self.lost_from = self.lost_from.min(number);
            }
            State::Acked | State::Abandoned => return Some(before),
        }
        self.unacked += u64::from(before.chunk.payload);
        Some(before)
    }

    fn uncount(&mut self, sent: &Sent) {
        match sent.state {
            State::InFlight => self.in_flight = self.in_flight.saturating_sub(sent.size()),
            State::Lost => self.lost -= 1,
            State::Acked | State::Abandoned => return,
        }
        self.unacked -= u64::from(sent.chunk.payload);
    }

    /// The first chunk, if its number is below `until`. It is acknowledged.
    #[inline]
    pub fn pop(&mut self, until: u64) -> Option<(u64, Sent)> {
        if self.first >= until {
            return None;
        }
        let sent = self.sent.pop_front()?;
        self.uncount(&sent);
        self.first += 1;
        Some((self.first - 1, sent))
    }

    /// Chunks below `until` that no gap block told of and that are in flight, by number.
    pub fn missing(&self, until: u64, mut tell: impl FnMut(u64)) {
        let mut from = self.first;
        let gaps = self.gaps.iter().chain([(until, until)]);
        for (begin, end) in gaps.take_while(|(begin, _)| *begin <= until) {
            for number in from..begin {
                if self.get(number).is_some_and(|sent| sent.state == State::InFlight) {
                    tell(number);
                }
            }
            from = end;
        }
    }

    /// Everything in flight is lost.
    pub fn lose_all(&mut self) {
        for number in self.first..self.next() {
            if self.get(number).is_some_and(|sent| sent.state == State::InFlight) {
                self.set(number, State::Lost);
            }
        }
    }

    /// The numbers of a message, as far as it was sent, by the number of one of its chunks.
    pub fn message(&self, number: u64) -> std::ops::Range<u64> {
        let flag =
            |number: u64, of: fn(&DataChunk) -> bool| self.get(number).is_some_and(|sent| of(&sent.chunk));
        let mut begin = number;
        while begin > self.first && !flag(begin, |chunk| chunk.begins) {
            begin -= 1;
        }
        let mut end = number + 1;
        while end < self.next() && !flag(end - 1, |chunk| chunk.ends) && !flag(end, |chunk| chunk.begins) {
            end += 1;
        }
        begin..end
    }

    /// The end of what was given up or acknowledged from the first on.
    pub fn settled(&self) -> u64 {
        let open = self.sent.iter().position(|sent| matches!(sent.state, State::InFlight | State::Lost));
        open.map_or(self.next(), |place| self.first + place as u64)
    }
}
