//! Segments that were sent, and their fate: RFC 6675's scoreboard, which every way of recovery uses.
//!
//! Segments are numbered from 0 and keep their boundaries when they are sent again. A ring holds those from the first
//! that is not acknowledged to the last that was sent.

use paceline_units::{Bytes, Time};

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Sent, and counted as in flight.
    InFlight,
    /// The other side has it, though not all before it.
    Delivered,
    /// Declared lost and not sent again yet: not in flight.
    Lost,
    /// Declared lost and sent again: in flight.
    Resent,
    /// Sent again without being lost: in flight twice (RFC 6675 section 4, SetPipe).
    Twice,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Offset of the segment's first byte in the stream.
    pub start: u64,
    /// Payload of the segment in bytes.
    pub payload: u32,
    /// State of the segment.
    pub state: State,
    /// Whether it was ever sent again: its round trip is not to be measured (Karn).
    pub resent: bool,
    /// Whether the data ends with it.
    pub last: bool,
    /// When it was sent last.
    pub at: Time,
}

impl Sent {
    /// Offset behind its last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.payload)
    }

    /// Size on the link.
    #[inline]
    pub fn size(&self) -> Bytes {
        super::TCP_HEADER + Bytes::new(u64::from(self.payload))
    }
}

const EMPTY: Sent =
    Sent { start: 0, payload: 0, state: State::InFlight, resent: false, last: false, at: Time::ZERO };
const FIRST_ROOM: usize = 64;

/// The segments that were sent and are not acknowledged cumulatively.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: Vec<Sent>,
    /// Number of the first segment that is not acknowledged, and of the next new one.
    pub first: u64,
    /// Number of the next new segment.
    pub end: u64,
    /// Offset of the first byte that is not acknowledged; behind everything if all is.
    pub first_offset: u64,
    /// Offset behind the newest segment.
    pub end_offset: u64,
    /// Sizes on the link of what counts as in flight (RFC 6675 pipe).
    pub in_flight: Bytes,
    delivered: u64,
    /// How many segments are lost and not sent again.
    pub lost: u64,
    twice: u64,
    /// The three highest segments that were delivered out of order, ascending.
    highest: [Option<u64>; 3],
    /// All below were looked at for loss.
    judged: u64,
    /// No lost segment below.
    lost_from: u64,
}

impl Scoreboard {
    /// A scoreboard before the first segment.
    pub fn new() -> Scoreboard {
        Scoreboard {
            ring: vec![EMPTY; FIRST_ROOM],
            first: 0,
            end: 0,
            first_offset: 0,
            end_offset: 0,
            in_flight: Bytes::ZERO,
            delivered: 0,
            lost: 0,
            twice: 0,
            highest: [None; 3],
            judged: 0,
            lost_from: 0,
        }
    }

    /// How many segments were delivered out of order and are not acknowledged yet.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// A segment by number; only those under way, and until the next new one what left the scoreboard last.
    #[inline]
    pub fn sent(&self, number: u64) -> &Sent {
        &self.ring[number as usize & (self.ring.len() - 1)]
    }

    #[inline]
    fn sent_mut(&mut self, number: u64) -> &mut Sent {
        let mask = self.ring.len() - 1;
        &mut self.ring[number as usize & mask]
    }

    /// A new segment leaves at `now`; answers its number.
    #[inline]
    pub fn push(&mut self, now: Time, payload: u32, last: bool) -> u64 {
        if self.end - self.first == self.ring.len() as u64 {
            self.grow();
        }
        let number = self.end;
        let sent = Sent { start: self.end_offset, payload, last, at: now, ..EMPTY };
        *self.sent_mut(number) = sent;
        self.end += 1;
        self.end_offset += u64::from(payload);
        self.in_flight += sent.size();
        number
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![EMPTY; self.ring.len() * 2];
        let mask = larger.len() - 1;
        for number in self.first..self.end {
            larger[number as usize & mask] = *self.sent(number);
        }
        self.ring = larger;
    }

    /// The first segment leaves the scoreboard if all of it is acknowledged: it ends at `offset` or before.
    #[inline]
    pub fn pop(&mut self, offset: u64) -> Option<(u64, Sent)> {
        if self.is_empty() {
            return None;
        }
        let (number, sent) = (self.first, *self.sent(self.first));
        if sent.end() > offset {
            return None;
        }
        match sent.state {
            State::InFlight => self.in_flight -= sent.size(),
            _ => self.leave(&sent),
        }
        (self.first, self.first_offset) = (number + 1, sent.end());
        Some((number, sent))
    }

    /// Whether the data ends with the newest segment, which is not acknowledged.
    #[cold]
    pub fn ends_data(&self) -> bool {
        !self.is_empty() && self.sent(self.end - 1).last
    }

    /// Takes a segment out of what its state counted it among.
    #[cold]
    fn leave(&mut self, sent: &Sent) {
        match sent.state {
            State::InFlight | State::Resent => self.in_flight -= sent.size(),
            State::Twice => {
                self.in_flight -= sent.size() + sent.size();
                self.twice -= 1;
            }
            State::Delivered => self.delivered -= 1,
            State::Lost => self.lost -= 1,
        }
    }

    #[inline]
    fn enter(&mut self, sent: &Sent) {
        match sent.state {
            State::InFlight | State::Resent => self.in_flight += sent.size(),
            State::Twice => {
                self.in_flight += sent.size() + sent.size();
                self.twice += 1;
            }
            State::Delivered => self.delivered += 1,
            State::Lost => self.lost += 1,
        }
    }

    /// Gives a segment another state.
    pub fn set(&mut self, number: u64, state: State) {
        let before = *self.sent(number);
        if before.state == state {
            return;
        }
        self.leave(&before);
        let after = Sent { state, ..before };
        self.enter(&after);
        *self.sent_mut(number) = after;
        match state {
            State::Lost => self.lost_from = self.lost_from.min(number),
            State::Delivered => self.note_delivered(number),
            State::InFlight | State::Resent | State::Twice => {}
        }
    }

    fn note_delivered(&mut self, number: u64) {
        if Some(number) <= self.highest[0] || self.highest.contains(&Some(number)) {
            return;
        }
        self.highest[0] = Some(number);
        self.highest.sort_unstable();
    }

    /// A lost segment leaves again at `now`.
    pub fn resend(&mut self, number: u64, now: Time) {
        self.set(number, State::Resent);
        self.leaves_again(number, now);
    }

    /// A segment leaves again at `now`; what counts as in flight stays as it is.
    pub fn leaves_again(&mut self, number: u64, now: Time) {
        let sent = self.sent_mut(number);
        (sent.at, sent.resent) = (now, true);
    }

    /// The lowest segment from `from` on that is neither lost nor delivered, below one that was delivered: it may be lost
    /// (RFC 6675 section 4, NextSeg rule 3). Asked when nothing is lost that was not sent again.
    pub fn next_doubtful(&self, from: u64) -> Option<u64> {
        let highest = self.highest[2]?;
        // Below three that were delivered everything was judged, and what was lost was sent again.
        let begin = self.highest[0].map_or(self.first, |third| third.max(self.first)).max(from);
        (begin..highest.min(self.end)).find(|number| self.sent(*number).state == State::InFlight)
    }

    /// The highest segment that was not delivered (RFC 6675 section 4, NextSeg rule 4).
    pub fn highest_missing(&self) -> Option<u64> {
        (self.first..self.end).rev().find(|number| self.sent(*number).state != State::Delivered)
    }

    /// Segments that count twice count once from now on; answers the bytes by which that is less.
    pub fn count_once(&mut self) -> Bytes {
        let before = self.in_flight;
        let mut number = self.first;
        while self.twice > 0 && number < self.end {
            if self.sent(number).state == State::Twice {
                self.set(number, State::InFlight);
            }
            number += 1;
        }
        before - self.in_flight
    }

    /// The lowest segment that is lost and not sent again.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        let mut number = self.lost_from.max(self.first);
        while self.sent(number).state != State::Lost {
            number += 1;
        }
        self.lost_from = number;
        Some(number)
    }

    /// The next segment that RFC 6675's IsLost calls lost: below `duplicates` segments that were delivered, and not sent
    /// again because of that. `duplicates` is at most 3. Call until there is none, with [`Scoreboard::set`] in between.
    pub fn next_to_declare(&mut self, duplicates: u32) -> Option<u64> {
        let place = 3 - (duplicates.clamp(1, 3) as usize);
        let limit = self.highest[place]?;
        let mut number = self.judged.max(self.first);
        while number < limit {
            self.judged = number + 1;
            if matches!(self.sent(number).state, State::InFlight | State::Twice) {
                return Some(number);
            }
            number += 1;
        }
        None
    }

    /// The number of the segment that holds `offset`, which lies within what is under way.
    pub fn find(&self, offset: u64) -> u64 {
        let (mut low, mut high) = (self.first, self.end);
        // Segments are nearly all of one size: guess first.
        let payload = u64::from(self.sent(self.first).payload.max(1));
        let guess = self.first + offset.saturating_sub(self.sent(self.first).start) / payload;
        if guess < high {
            let sent = self.sent(guess);
            if sent.start <= offset && offset < sent.end() {
                return guess;
            }
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.sent(middle).start <= offset { low = middle } else { high = middle }
        }
        low
    }

    /// Everything that is not delivered is lost: the timer expired. With `forget`, delivery out of order counts no
    /// more, and that is lost too.
    pub fn time_out(&mut self, forget: bool) {
        for number in self.first..self.end {
            if forget || self.sent(number).state != State::Delivered {
                self.set(number, State::Lost);
            }
        }
        if forget {
            self.highest = [None; 3];
        }
        self.judged = self.end;
        self.lost_from = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        (0..segments).for_each(|n| assert_eq!(board.push(Time::from_nanos(n), 960, false), n));
        board
    }

    fn declared(board: &mut Scoreboard, duplicates: u32) -> Vec<u64> {
        let mut lost = Vec::new();
        while let Some(number) = board.next_to_declare(duplicates) {
            board.set(number, State::Lost);
            lost.push(number);
        }
        lost
    }

    #[test]
    fn three_delivered_above_tell_a_loss_once() {
        let mut board = board(10);
        [2, 4].into_iter().for_each(|n| board.set(n, State::Delivered));
        assert_eq!(declared(&mut board, 3), [] as [u64; 0]);
        board.set(5, State::Delivered);
        assert_eq!(declared(&mut board, 3), [0, 1]);
        board.set(6, State::Delivered);
        assert_eq!(declared(&mut board, 3), [3]);
        assert_eq!((board.lost, board.delivered, board.in_flight), (3, 4, Bytes::new(3000)));
        assert_eq!(board.next_lost(), Some(0));
        board.resend(0, Time::ZERO);
        assert_eq!(board.next_lost(), Some(1));
        assert_eq!(declared(&mut board, 3), [] as [u64; 0], "what was sent again is not judged again");
        assert_eq!(declared(&mut board, 1), [] as [u64; 0]);
    }

    #[test]
    fn segments_are_found_by_offset_whatever_their_sizes() {
        let mut board = Scoreboard::new();
        for n in 0..300u32 {
            board.push(Time::ZERO, 1 + n % 7, false);
        }
        (0..13).for_each(|n| assert_eq!(board.pop(u64::MAX).map(|(number, _)| number), Some(n)));
        assert_eq!(board.first_offset, board.sent(13).start);
        for number in 13..300 {
            let sent = *board.sent(number);
            for offset in sent.start..sent.end() {
                assert_eq!(board.find(offset), number);
            }
        }
    }

    #[test]
    fn a_timeout_loses_what_is_not_delivered() {
        let mut kept = board(5);
        kept.set(3, State::Delivered);
        kept.set(1, State::Lost);
        kept.resend(1, Time::ZERO);
        let mut forgotten = kept.clone();
        kept.time_out(false);
        assert_eq!((kept.lost, kept.delivered, kept.in_flight), (4, 1, Bytes::ZERO));
        forgotten.time_out(true);
        assert_eq!((forgotten.lost, forgotten.delivered), (5, 0));
        assert_eq!(forgotten.next_lost(), Some(0));
        assert!(forgotten.pop(959).is_none(), "not all of it");
        (0..5).for_each(|n| assert_eq!(forgotten.pop(5 * 960).map(|(number, _)| number), Some(n)));
        assert!(forgotten.is_empty() && forgotten.lost == 0);
        assert_eq!(forgotten.first_offset, forgotten.end_offset);
    }
}
