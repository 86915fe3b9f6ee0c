//! Which packets of a stream have arrived: tells new ones, duplicates and gaps apart.

use std::ops::Range;

/// Sequence numbers that are remembered; half of the 16-bit space would do.
const WIDTH: u64 = 1 << 16;
/// A larger gap is an interruption or a jump of the sender, not so many losses.
const LARGEST_GAP: u64 = 1 << 14;

/// Whether a packet had arrived before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// The first copy, and the numbers that it shows to be missing.
    New(Range<u64>),
    /// Another copy of a packet that arrived before.
    Duplicate,
    /// The packet is too old to tell.
    Old,
}

/// A window over the sequence numbers of a stream.
#[derive(Clone, Debug)]
pub(crate) struct SeenPackets {
    bits: Vec<u64>,
    /// One above the highest sequence number seen.
    end: u64,
}

impl SeenPackets {
    /// Nothing seen; what lies before `first` is not missed.
    pub fn starting_at(first: u64) -> SeenPackets {
        SeenPackets { bits: vec![0; (WIDTH / 64) as usize], end: first }
    }

    /// Whether a packet was seen. Of those too old to tell: yes.
    pub fn contains(&self, sequence: u64) -> bool {
        if sequence >= self.end {
            return false;
        }
        self.end - sequence > WIDTH || self.bit(sequence)
    }

    /// A packet arrived.
    pub fn note(&mut self, sequence: u64) -> Seen {
        if sequence < self.end {
            if self.end - sequence > WIDTH {
                return Seen::Old;
            }
            if self.bit(sequence) {
                return Seen::Duplicate;
            }
            self.set(sequence, true);
            return Seen::New(0..0);
        }
        let missing = if sequence - self.end > LARGEST_GAP { 0..0 } else { self.end..sequence };
        for skipped in self.end.max((sequence + 1).saturating_sub(WIDTH))..sequence {
            self.set(skipped, false);
        }
        self.set(sequence, true);
        self.end = sequence + 1;
        Seen::New(missing)
    }

    /// A packet arrived with which the numbers go on, whatever came before; the one before it was there, and refused.
    pub fn resynchronise(&mut self, sequence: u64) {
        let before = sequence.saturating_sub(1);
        for unknown in sequence.max(self.end.saturating_sub(WIDTH))..self.end {
            self.set(unknown, false);
        }
        self.end = self.end.min(before);
        for number in [before, sequence] {
            let _ = self.note(number);
        }
    }

    fn bit(&self, sequence: u64) -> bool {
        let place = sequence % WIDTH;
        self.bits[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    fn set(&mut self, sequence: u64, value: bool) {
        let place = sequence % WIDTH;
        let word = &mut self.bits[(place / 64) as usize];
        *word = *word & !(1 << (place % 64)) | u64::from(value) << (place % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn gaps_duplicates_and_late_packets() {
        let mut seen = SeenPackets::starting_at(0);
        assert_eq!(seen.note(2), Seen::New(0..2));
        assert_eq!(seen.note(5), Seen::New(3..5));
        assert_eq!((seen.note(3), seen.note(3)), (Seen::New(0..0), Seen::Duplicate));
        assert!(seen.contains(5) && !seen.contains(4) && !seen.contains(6));
        assert_eq!(seen.note(40_000), Seen::New(0..0), "an interruption");
        assert_eq!(seen.note(39_999), Seen::New(0..0));
        assert_eq!(seen.note(200_000), Seen::New(0..0));
        assert_eq!((seen.note(5), seen.note(199_999)), (Seen::Old, Seen::New(0..0)));
    }

    #[test]
    fn numbers_go_on_elsewhere_and_the_former_ones_are_kept() {
        let mut seen = SeenPackets::starting_at(0);
        (0..1000).for_each(|sequence| assert_eq!(seen.note(sequence), Seen::New(sequence..sequence)));
        seen.resynchronise(21_001);
        assert!(seen.contains(21_000) && seen.contains(999) && !seen.contains(1000));
        seen.resynchronise(1001);
        assert!(seen.contains(1000) && seen.contains(1001) && !seen.contains(21_000));
        assert_eq!(seen.note(1002), Seen::New(1002..1002));
        seen.resynchronise(501);
        assert_eq!(seen.note(502), Seen::New(502..502), "not a second time");
        assert_eq!(seen.note(500), Seen::Duplicate);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(steps in prop::collection::vec((0u64..300, any::<bool>()), 1..300)) {
            let (mut seen, mut set, mut highest) = (SeenPackets::starting_at(0), BTreeSet::new(), 0);
            for (step, ahead) in steps {
                let sequence = if ahead { highest + step } else { highest.saturating_sub(step) };
                highest = highest.max(sequence);
                let new = set.insert(sequence);
                prop_assert_eq!(matches!(seen.note(sequence), Seen::New(_)), new);
            }
            for sequence in 0..highest + 2 {
                prop_assert_eq!(seen.contains(sequence), set.contains(&sequence));
            }
        }
    }
}
