//! Which packets are outstanding: what each was when it was sent, from the first that is missing on.

use crate::Ring;
use paceline_units::{Bytes, Time};

/// More packets than any flight has: a sender that goes further ahead forgets the oldest.
const CAPACITY: u64 = 1 << 18;

/// A packet as it was sent last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sent<N> {
    /// Time of sending.
    pub at: Time,
    /// Size of the packet on the link, in bytes.
    pub size: u64,
    /// Whether its round trip is ambiguous: the packet had been sent before, or its delivery was told late (Karn's rule).
    pub again: bool,
    /// The window law's note when the packet was sent.
    pub note: N,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketState {
    /// A number that was left out.
    Unsent,
    Outstanding,
    Delivered,
}

/// The packets from the first that is not delivered to the newest.
#[derive(Clone, Debug)]
pub(super) struct Flight<N> {
    /// From the first packet that is missing on.
    packets: Ring<(PacketState, Sent<N>)>,
    /// Bytes from the first on, each packet once: FlightSize (RFC 5681 section 2).
    pub size: u64,
    /// Bytes that the transport believes in the network (RFC 6675 section 4, `pipe`).
    pub pipe: u64,
    /// Packets below were taken as lost, or are not under way.
    lost_until: u64,
}

impl<N: Copy + Default> Flight<N> {
    pub fn new() -> Flight<N> {
        Flight { packets: Ring::new(0, unsent(Time::ZERO)), size: 0, pipe: 0, lost_until: 0 }
    }

    /// The first packet that is missing.
    #[inline]
    pub fn first(&self) -> u64 {
        self.packets.first()
    }

    /// One more than the highest number sent.
    #[inline]
    pub fn next(&self) -> u64 {
        self.packets.next()
    }

    /// A packet leaves. One below the first that is missing was delivered: nothing will be heard of it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, sequence: u64, size: Bytes, note: N) {
        if sequence == self.next() && sequence < u64::MAX {
            self.append(now, size, note);
        } else {
            self.on_unusual(now, sequence, size, note);
        }
    }

    #[inline]
    fn append(&mut self, now: Time, size: Bytes, note: N) {
        let sent = Sent { at: now, size: size.as_u64(), again: false, note };
        self.packets.push((PacketState::Outstanding, sent));
        self.size = self.size.saturating_add(sent.size);
        self.pipe = self.pipe.saturating_add(sent.size);
        if self.packets.len() > CAPACITY {
            self.forget_first();
        }
    }

    /// A retransmission, or a number out of order.
    #[cold]
    fn on_unusual(&mut self, now: Time, sequence: u64, size: Bytes, note: N) {
        let Some(ahead) = sequence.checked_sub(self.first()).filter(|_| sequence < u64::MAX) else { return };
        if let Some((state, known)) = self.packets.get_mut(sequence) {
            let again = *state != PacketState::Unsent;
            let before = if again { known.size } else { 0 };
            let sent = Sent { at: now, size: size.as_u64(), again, note };
            self.size = self.size.saturating_sub(before).saturating_add(sent.size);
            self.pipe = self.pipe.saturating_add(sent.size);
            (*state, *known) = (PacketState::Outstanding, sent);
            return;
        }
        if ahead >= CAPACITY || self.packets.is_empty() {
            self.packets.restart(sequence);
            (self.size, self.pipe) = (0, 0);
        }
        while self.next() < sequence {
            self.packets.push(unsent(now));
        }
        self.append(now, size, note);
    }

    /// A packet that is not known to be delivered.
    pub fn outstanding(&self, sequence: u64) -> Option<&Sent<N>> {
        self.packets
            .get(sequence)
            .filter(|(state, _)| *state == PacketState::Outstanding)
            .map(|(_, sent)| sent)
    }

    /// The receiver has a packet; none if it was never sent, or told before.
    #[inline]
    pub fn on_delivered(&mut self, sequence: u64) -> Option<Sent<N>> {
        let (state, sent) = self.packets.get_mut(sequence)?;
        if *state != PacketState::Outstanding {
            return None;
        }
        *state = PacketState::Delivered;
        let sent = *sent;
        self.pipe = self.pipe.saturating_sub(sent.size);
        if sequence == self.first() {
            self.forget_first();
        }
        Some(sent)
    }

    /// The first packet is no longer remembered, nor what is delivered without a hole behind it.
    #[inline]
    fn forget_first(&mut self) {
        while let Some((_, sent)) = self.packets.front() {
            self.size = self.size.saturating_sub(sent.size);
            self.packets.pop();
            if self.packets.front().is_some_and(|(state, _)| *state == PacketState::Outstanding) {
                return;
            }
        }
        // Whatever was sent twice or declared lost wrongly: nothing is missing, so nothing is in flight.
        (self.size, self.pipe) = (0, 0);
    }

    /// Takes bytes that the transport declared lost out of the pipe.
    pub fn on_lost(&mut self, bytes: Bytes) {
        self.pipe = self.pipe.saturating_sub(bytes.as_u64());
    }

    /// The packet that was lost, after those taken before: the transport tells bytes, and finds losses in order among what
    /// was sent once. None if nothing else is under way.
    pub fn take_lost(&mut self) -> Option<(u64, Sent<N>)> {
        self.lost_until = self.lost_until.max(self.first());
        while self.lost_until < self.next() {
            let sequence = self.lost_until;
            self.lost_until += 1;
            match self.packets.get(sequence) {
                Some((PacketState::Outstanding, sent)) if !sent.again => return Some((sequence, *sent)),
                _ => {}
            }
        }
        None
    }

    /// Puts bytes back that the transport had declared lost.
    pub fn on_found(&mut self, bytes: Bytes) {
        if !self.packets.is_empty() {
            self.pipe = self.pipe.saturating_add(bytes.as_u64());
        }
    }

    /// Empties the pipe: everything counts as lost.
    pub fn on_timed_out(&mut self) {
        self.pipe = 0;
    }
}

/// The entry of a number that was left out.
fn unsent<N: Default>(at: Time) -> (PacketState, Sent<N>) {
    (PacketState::Unsent, Sent { at, size: 0, again: false, note: N::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(flight: &mut Flight<()>, sequences: core::ops::Range<u64>) {
        for sequence in sequences {
            flight.on_sent(Time::ZERO, sequence, Bytes::new(1000), ());
        }
    }

    #[test]
    fn a_delivery_counts_once_and_what_was_never_sent_never() {
        let mut flight = Flight::new();
        sent(&mut flight, 5..10);
        assert_eq!((flight.pipe, flight.size, flight.first(), flight.next()), (5000, 5000, 5, 10));
        assert!(flight.on_delivered(7).is_some_and(|sent| !sent.again));
        assert!(flight.on_delivered(7).is_none() && flight.on_delivered(4).is_none());
        assert!(flight.on_delivered(10).is_none() && flight.on_delivered(u64::MAX).is_none());
        assert_eq!(
            (flight.pipe, flight.size),
            (4000, 5000),
            "FlightSize ends at the cumulative acknowledgement"
        );
    }

    #[test]
    fn a_retransmission_enters_anew_and_is_ambiguous() {
        let mut flight = Flight::new();
        sent(&mut flight, 0..3);
        flight.on_delivered(1);
        flight.on_lost(Bytes::new(1000));
        assert_eq!(flight.pipe, 1000);
        sent(&mut flight, 0..1);
        assert_eq!((flight.pipe, flight.size), (2000, 3000));
        assert!(flight.on_delivered(0).is_some_and(|sent| sent.again));
        assert_eq!((flight.pipe, flight.size, flight.first()), (1000, 1000, 2));
        sent(&mut flight, 0..1);
        assert_eq!(flight.pipe, 1000, "delivered and done: nothing more is heard of it");
    }

    #[test]
    fn what_is_lost_is_the_lowest_that_was_sent_once() {
        let mut flight = Flight::new();
        sent(&mut flight, 0..6);
        flight.on_delivered(0);
        flight.on_delivered(2);
        let taken = |flight: &mut Flight<()>| flight.take_lost().map(|(sequence, _)| sequence);
        assert_eq!(taken(&mut flight), Some(1));
        sent(&mut flight, 1..2);
        assert_eq!((taken(&mut flight), taken(&mut flight), taken(&mut flight)), (Some(3), Some(4), Some(5)));
        assert_eq!(taken(&mut flight), None, "the retransmission is not told");
        sent(&mut flight, 6..7);
        assert_eq!(taken(&mut flight), Some(6));
    }

    #[test]
    fn nothing_missing_is_nothing_in_flight() {
        let mut flight = Flight::new();
        sent(&mut flight, 0..2);
        sent(&mut flight, 0..1);
        flight.on_found(Bytes::MAX);
        flight.on_delivered(0);
        flight.on_delivered(1);
        assert_eq!((flight.pipe, flight.size), (0, 0));
    }

    #[test]
    fn a_leap_forgets_and_a_gap_does_not() {
        let mut flight = Flight::new();
        sent(&mut flight, 0..2);
        sent(&mut flight, 100..101);
        assert_eq!((flight.pipe, flight.first(), flight.next()), (3000, 0, 101));
        sent(&mut flight, 1 << 40..(1 << 40) + 1);
        assert_eq!((flight.pipe, flight.first()), (1000, 1 << 40));
        sent(&mut flight, u64::MAX - 1..u64::MAX);
        flight.on_sent(Time::ZERO, u64::MAX, Bytes::new(1), ());
        assert_eq!(flight.pipe, 1000);
    }
}
