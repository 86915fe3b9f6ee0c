//! Which numbers of a sequence were seen.

/// Newest numbers that are told apart from repeated ones.
const REMEMBERED: u64 = 1 << 14;

/// Which numbers were seen, of the newest [`REMEMBERED`].
#[derive(Clone, Debug)]
pub(super) struct Seen {
    bits: Vec<u64>,
    next: u64,
}

impl Seen {
    pub(super) fn new() -> Seen {
        Seen { bits: vec![0; REMEMBERED as usize / 64], next: 0 }
    }

    /// Whether `sequence` was seen, and is one of the newest.
    pub(super) fn contains(&self, sequence: u64) -> bool {
        let known = sequence < self.next && sequence.saturating_add(REMEMBERED) >= self.next;
        known && self.bits[(sequence % REMEMBERED / 64) as usize] & (1 << (sequence % 64)) != 0
    }

    /// Whether `sequence` is seen for the first time.
    pub(super) fn insert(&mut self, sequence: u64) -> bool {
        if sequence.saturating_add(REMEMBERED) < self.next {
            return false;
        }
        if sequence.saturating_sub(self.next) >= REMEMBERED {
            self.bits.fill(0);
            self.next = sequence;
        }
        while self.next <= sequence {
            self.bits[(self.next % REMEMBERED / 64) as usize] &= !(1 << (self.next % 64));
            self.next += 1;
        }
        let (word, bit) = (&mut self.bits[(sequence % REMEMBERED / 64) as usize], 1 << (sequence % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}
