//! Which sequence numbers have arrived lately, so that nothing counts twice.
//!
//! One bit per sequence number in a ring. A jump too large to be a loss is believed only when two packets in a row say
//! so (RFC 3550, appendix A.1), as after a restart of the sender.

use alloc::boxed::Box;

/// The meaning of a sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    New,
    /// A duplicate, or too far from all others to be believed.
    Ignored,
    /// The sender has started anew with this packet.
    Restart,
}

const WORDS: usize = 256;
const BITS: u64 = 64 * WORDS as u64;
/// The longest loss: about 100 s of a 100 Mbit/s call.
const MAX_JUMP: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct SequenceWindow {
    bits: Box<[u64; WORDS]>,
    /// One above the highest sequence number.
    next: u64,
    /// The lowest sequence number of the stream; none before it starts.
    first: Option<u64>,
    /// The number that a second packet after an unbelievable jump must have.
    suspect: Option<u64>,
}

impl SequenceWindow {
    pub(super) fn new() -> SequenceWindow {
        SequenceWindow { bits: Box::new([0; WORDS]), next: 0, first: None, suspect: None }
    }

    /// Whether `sequence` is the one after the highest.
    #[inline]
    pub(super) fn is_next(&self, sequence: u64) -> bool {
        sequence == self.next
    }

    /// The next sequence number has arrived. Only after the stream's first.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.set(self.next);
        self.next = self.next.saturating_add(1);
        self.suspect = None;
    }

    /// Whether the stream starts with `sequence`.
    pub(super) fn is_first(&self, sequence: u64) -> bool {
        self.first == Some(sequence)
    }

    /// Whether `sequence` has arrived, as far as the window reaches back.
    pub(super) fn contains(&self, sequence: u64) -> bool {
        let is_within = sequence < self.next && self.next - sequence <= BITS;
        is_within && self.bits[word(sequence)] & bit(sequence) != 0
    }

    /// How many of these have not arrived, as far as the window reaches back.
    pub(super) fn missing(&self, sequences: core::ops::Range<u64>) -> u64 {
        let known = sequences.start.max(self.next.saturating_sub(BITS))..sequences.end.min(self.next);
        known.filter(|&sequence| !self.contains(sequence)).count() as u64
    }

    pub(super) fn insert(&mut self, sequence: u64) -> Arrival {
        let Some(first) = self.first else {
            self.start(sequence);
            return Arrival::New;
        };
        let is_believable = if sequence >= self.next {
            sequence - self.next <= MAX_JUMP && sequence < u64::MAX
        } else {
            self.next - sequence <= BITS
        };
        if !is_believable {
            return self.suspect(sequence);
        }
        self.suspect = None;
        if self.contains(sequence) {
            return Arrival::Ignored;
        }
        self.first = Some(first.min(sequence));
        if sequence >= self.next {
            self.forget(sequence);
            self.next = sequence + 1;
        }
        self.set(sequence);
        Arrival::New
    }

    fn suspect(&mut self, sequence: u64) -> Arrival {
        if self.suspect == Some(sequence) && sequence < u64::MAX {
            self.start(sequence);
            return Arrival::Restart;
        }
        self.suspect = sequence.checked_add(1);
        Arrival::Ignored
    }

    fn start(&mut self, sequence: u64) {
        self.bits.fill(0);
        self.first = Some(sequence);
        self.suspect = None;
        self.next = sequence.saturating_add(1);
        self.set(sequence);
    }

    /// The stream goes on with `sequence`, which is not its first: nothing is known of the packet before it.
    pub(super) fn continue_with(&mut self, sequence: u64) {
        self.bits.fill(0);
        self.first = Some(sequence.saturating_sub(1));
        self.suspect = None;
        self.next = sequence;
    }

    /// Makes room up to `sequence`: what the ring knew of older ones is cleared.
    fn forget(&mut self, sequence: u64) {
        if sequence - self.next >= BITS {
            self.bits.fill(0);
            return;
        }
        for skipped in self.next..sequence {
            self.bits[word(skipped)] &= !bit(skipped);
        }
    }

    #[inline]
    fn set(&mut self, sequence: u64) {
        self.bits[word(sequence)] |= bit(sequence);
    }
}

#[inline]
fn word(sequence: u64) -> usize {
    (sequence / 64) as usize % WORDS
}

#[inline]
fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_restart_needs_two_packets_in_a_row() {
        let mut window = SequenceWindow::new();
        assert_eq!(window.insert(7), Arrival::New);
        for far in [1 << 40, u64::MAX] {
            assert_eq!(window.insert(far), Arrival::Ignored);
            assert_eq!(window.insert(far), Arrival::Ignored);
            assert!(window.is_next(8));
        }
        assert_eq!(window.insert(1 << 40), Arrival::Ignored);
        assert_eq!(window.insert((1 << 40) + 1), Arrival::Restart);
        assert!(window.is_first((1 << 40) + 1) && window.is_next((1 << 40) + 2));
        assert_eq!(window.insert(0), Arrival::Ignored);
        assert_eq!(window.insert(1), Arrival::Restart);
        assert!(window.contains(1) && !window.contains(0) && !window.contains(1 << 40));
    }

    #[test]
    fn a_stream_that_goes_on_elsewhere_has_no_first_packet_there() {
        let mut window = SequenceWindow::new();
        (7..20).for_each(|sequence| assert_eq!(window.insert(sequence), Arrival::New));
        window.continue_with(10);
        assert!(window.is_next(10) && !window.contains(9) && !window.contains(12));
        assert_eq!(window.insert(10), Arrival::New);
        assert!(!window.is_first(10) && window.contains(10));
        window.continue_with(0);
        assert_eq!(window.insert(0), Arrival::New);
    }

    #[test]
    fn the_ring_forgets_what_it_passed() {
        let mut window = SequenceWindow::new();
        window.insert(0);
        window.insert(BITS);
        assert!(!window.contains(0) && window.contains(BITS));
        // Bit of 1 is that of BITS + 1.
        assert_eq!(window.insert(1), Arrival::New);
        assert_eq!(window.insert(BITS + 1), Arrival::New);
        assert_eq!(window.insert(3 * BITS + 9), Arrival::New);
        assert!(!window.contains(2 * BITS + 10));
    }

    #[test]
    fn what_a_loss_skips_has_not_arrived() {
        let mut window = SequenceWindow::new();
        for sequence in (0..10).chain([BITS - 10, BITS + 20]) {
            window.insert(sequence);
        }
        // BITS + 5 has the bit that 5 had.
        assert!(!window.contains(BITS + 5));
        assert_eq!(window.insert(BITS + 5), Arrival::New);
    }

    proptest! {
        #[test]
        fn each_number_is_new_once(numbers in prop::collection::vec(0u64..300, 0..300)) {
            let mut window = SequenceWindow::new();
            let mut seen = BTreeSet::new();
            for number in numbers {
                let expected = if seen.insert(number) { Arrival::New } else { Arrival::Ignored };
                prop_assert_eq!(window.insert(number), expected);
                prop_assert!(seen.iter().all(|&number| window.contains(number)));
                prop_assert_eq!(seen.first().copied(), window.first);
            }
        }

        #[test]
        fn nothing_panics(numbers in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut window = SequenceWindow::new();
            for number in numbers {
                for near in [number, number.wrapping_add(1), number.wrapping_sub(1)] {
                    if window.first.is_some() && window.is_next(near) {
                        window.advance();
                    }
                    window.insert(near);
                    window.contains(near);
                }
            }
        }
    }
}
