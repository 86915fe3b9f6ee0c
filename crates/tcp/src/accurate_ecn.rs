//! Accurate ECN feedback (RFC 9768): what is agreed on when a connection opens, and the counter of marked packets in every
//! acknowledgement. It has three bits, so that an acknowledgement which covers many packets may be read two ways.

use super::segment::{Flags, Segment};
use super::sender::TcpSender;
use super::{EcnEcho, EcnSupport};
use paceline_cc::{Controller, Marking};
use paceline_units::{Ecn, Time};

/// Where counters of marked packets begin (section 3.2.1).
const FIRST: u64 = 5;
/// As many values has the ACE field (`DIVACE`).
const VALUES: u64 = 8;
/// Packets over which the part of marked ones is averaged.
const MEMORY: f64 = 32.0;

impl Flags {
    /// All three flags of ECN: a SYN with them asks for accurate feedback (section 3.1.1).
    pub const ALL_ECN: Flags = Flags::AE.and(Flags::CWR).and(Flags::ECE);

    /// The counter of an end to which no marked packet came.
    pub(super) const FIRST_ACE: Flags = Flags::of_ace(FIRST);

    /// The three flags with the lowest bits of `number` (section 3.2.2, figure 3).
    pub const fn of_ace(number: u64) -> Flags {
        Flags((number % VALUES) as u16 * Flags::ECE.0)
    }

    /// The three flags as a number: the ACE field where no SYN is set.
    pub const fn ace(self) -> u64 {
        (self.0 / Flags::ECE.0) as u64 % VALUES
    }

    /// Flags of the answer to a SYN that arrived with `ecn` (table 2).
    pub(super) const fn of_syn_ecn(ecn: Ecn) -> Flags {
        Flags::of_ace(match ecn {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        })
    }

    /// The receiver's knowledge of ECN by its answer to a SYN that asked for accurate feedback (table 2), and whether that SYN
    /// arrived with another ECN field than it had left with: none.
    fn answered(self) -> (EcnSupport, bool) {
        match self.ace() {
            // 0b101 is reserved, for what goes on like this (section 3.1.3).
            0b010 | 0b101 => (EcnSupport::Accurate, false),
            0b011 | 0b100 | 0b110 => (EcnSupport::Accurate, true),
            0b001 => (EcnSupport::Classic, false),
            // Flags that come back as they were sent are from one who does not know them.
            _ => (EcnSupport::None, false),
        }
    }
}

impl EcnSupport {
    /// A connection's support once a SYN with `flags` asked for it (table 2, and section 3.1.3).
    pub(super) fn of_syn(self, flags: Flags) -> EcnSupport {
        match (flags.ace(), self) {
            (0b000, _) | (_, EcnSupport::None) => EcnSupport::None,
            (0b011, _) => EcnSupport::Classic,
            (_, known) => known,
        }
    }
}

/// The packets that arrived marked, at the receiver (`r.cep`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkCounter {
    count: u64,
    /// Packets since the last acknowledgement.
    unacknowledged: u32,
    /// Whether the last packet was marked.
    last: bool,
}

impl MarkCounter {
    pub const NEW: MarkCounter = MarkCounter { count: FIRST, unacknowledged: 0, last: false };

    /// A packet with data arrived, the first since an acknowledgement or not. Answers whether it is acknowledged at once
    /// (section 3.2.2.5.1): where marks begin, and with every second one.
    pub fn on_packet(&mut self, marked: bool, first: bool) -> bool {
        let begins = marked && !self.last;
        self.last = marked;
        if first {
            self.unacknowledged = 0;
        }
        if marked {
            self.count += 1;
            self.unacknowledged += 1;
        }
        begins || marked && self.unacknowledged >= 2
    }

    /// The flags of an acknowledgement.
    pub fn flags(&self) -> Flags {
        Flags::of_ace(self.count)
    }
}

/// The packets that arrived marked, as far as the sender knows (`s.cep`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkFeedback {
    count: u64,
    /// Part of packets that were marked of late.
    fraction: f64,
}

impl MarkFeedback {
    pub const NEW: MarkFeedback = MarkFeedback { count: FIRST, fraction: 0.0 };

    /// An acknowledgement that delivers `packets` bears `ace`: so many more were marked (section 3.2.2.2). Where the field may
    /// have gone round, the largest number counts that is likely (section 3.2.2.5.2): up to twice the part that was marked of
    /// late. It is no more than could be seen for certain that makes up this part, so that an error does not keep itself alive.
    pub fn on_ack(&mut self, ace: u64, packets: u64) -> u64 {
        let least = (ace + VALUES - self.count % VALUES) % VALUES;
        let likely = ((2.0 * self.fraction * packets as f64) as u64).min(packets);
        let rounds = likely.saturating_sub(least) / VALUES;
        let marked = least + rounds * VALUES;
        let seen = (least as f64 / packets.max(1) as f64).min(1.0);
        self.fraction += (seen - self.fraction) * (packets as f64 / MEMORY).min(1.0);
        self.count += marked;
        marked
    }
}

impl<C: Controller> TcpSender<C> {
    /// The answer to the SYN says what the receiver knows of ECN.
    pub(super) fn hear_of_ecn(&mut self, now: Time, answer: &Segment) {
        if self.config.ecn_echo != EcnEcho::Accurate || self.config.ect == Ecn::NotEct {
            return;
        }
        let (support, mangled) = answer.flags.answered();
        self.agree_on_ecn(now, support);
        if mangled {
            // Section 3.2.2.3: what is told is answered still.
            self.config.ect = Ecn::NotEct;
            self.tell_marking(now, Marking::None);
        }
    }

    /// Both ends know what the receiver knows of ECN: the feedback that there will be, and what packets say that leave.
    pub(super) fn agree_on_ecn(&mut self, now: Time, support: EcnSupport) {
        let agreed = self.config.agreed(support);
        let changed = agreed.ect != self.config.ect;
        self.config = agreed;
        self.ecn.agree(&agreed);
        if changed {
            let classic = agreed.ect != Ecn::NotEct;
            self.tell_marking(now, if classic { Marking::Classic } else { Marking::None });
        }
    }

    fn tell_marking(&mut self, now: Time, marking: Marking) {
        let update = self.controller.on_marking(now, marking);
        self.apply(now, update);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_field_is_the_three_flags_with_ae_first() {
        assert_eq!(Flags::of_ace(0b100), Flags::AE);
        assert_eq!(Flags::of_ace(0b010), Flags::CWR);
        assert_eq!(Flags::of_ace(8 + 0b001), Flags::ECE);
        for ace in 0..8 {
            assert_eq!(Flags::of_ace(ace).and(Flags::ACK).and(Flags::FIN).ace(), ace);
        }
    }

    /// Table 2, first and second block, and the fourth.
    #[test]
    fn the_answer_to_a_syn_says_what_the_other_end_knows() {
        use EcnSupport::{Accurate, Classic, None};
        let known = [None, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, None];
        for (ace, expected) in (0..).zip(known) {
            assert_eq!(Flags::of_ace(ace).answered(), (expected, [3, 4, 6].contains(&ace)), "{ace:b}");
        }
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(Flags::of_syn_ecn(ecn).answered(), (Accurate, ecn != Ecn::NotEct), "{ecn:?}");
        }
    }

    /// Table 2, third block, and section 3.1.3.
    #[test]
    fn a_syn_gets_what_it_asks_for_and_the_receiver_knows() {
        use EcnSupport::{Accurate, Classic, None};
        for (ace, expected) in
            (0..).zip([None, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate])
        {
            let flags = Flags::of_ace(ace).and(Flags::SYN);
            assert_eq!(Accurate.of_syn(flags), expected, "{ace:b}");
            assert_eq!(Classic.of_syn(flags), if expected == Accurate { Classic } else { expected });
            assert_eq!(None.of_syn(flags), None);
        }
    }

    /// Section 3.2.2.5.1: change-triggered, then increment-triggered with n = 2.
    #[test]
    fn marks_are_acknowledged_where_they_begin_and_by_twos() {
        let mut counter = MarkCounter::NEW;
        assert_eq!(counter.flags().ace(), 5);
        let mut first = true;
        let mut at_once = |marked| {
            let at_once = counter.on_packet(marked, first);
            first = at_once;
            at_once
        };
        let acknowledged = [false, true, true, true, true, true, false, false, true].map(&mut at_once);
        assert_eq!(acknowledged, [false, true, false, true, false, true, false, false, true]);
        assert_eq!(counter.flags().ace(), (5 + 6) % 8);
    }

    #[test]
    fn a_field_that_may_have_gone_round_is_read_by_what_was_marked_of_late() {
        let mut feedback = MarkFeedback::NEW;
        assert_eq!(feedback.on_ack(5, 20), 0, "nothing was marked yet: none of these is likely to be");
        assert_eq!(feedback.on_ack(7, 2), 2);
        for ace in (0..40).map(|n| (n * 2 + 1) % 8) {
            assert_eq!(feedback.on_ack(ace, 2), 2);
        }
        // All were marked, so that of twelve twelve may be: 4 and a round.
        let ace = (feedback.count + 12) % 8;
        assert_eq!(feedback.on_ack(ace, 12), 12);
        // None of them is for certain: 16, again and again, until few were marked for certain.
        let read: Vec<_> = (0..6).map(|_| feedback.on_ack(ace, 16)).collect();
        assert_eq!(read[..2], [16, 8], "{read:?}");
        assert_eq!(read[3..], [0, 0, 0]);
    }

    proptest! {
        /// Both counters over a path that loses and overtakes acknowledgements: with none missing every mark is told, as often
        /// as there is; with some missing the field agrees all the same.
        #[test]
        fn the_counters_keep_in_step(
            packets in prop::collection::vec((any::<bool>(), 0u8..4), 1..400),
            lossless: bool,
        ) {
            let (mut counter, mut feedback) = (MarkCounter::NEW, MarkFeedback::NEW);
            let (mut waiting, mut covered, mut told, mut marks) = (0, 0, 0, 0);
            for (marked, fate) in packets {
                let at_once = counter.on_packet(marked, waiting == 0);
                (waiting, marks) = (waiting + 1, marks + u64::from(marked));
                if !at_once && waiting < 2 {
                    continue;
                }
                (covered, waiting) = (covered + waiting, 0);
                if lossless || fate > 0 {
                    told += feedback.on_ack(counter.flags().ace(), covered);
                    covered = 0;
                    prop_assert_eq!(feedback.count % 8, counter.count % 8);
                    prop_assert!(!lossless || told == marks);
                }
            }
        }

        /// No field of a forger makes more of an acknowledgement than it covers, but for the seven that cannot be told from
        /// what control packets add.
        #[test]
        fn a_forged_field_adds_seven_at_most(fields in prop::collection::vec((0u64..8, 1u64..2000), 1..100)) {
            let mut feedback = MarkFeedback::NEW;
            for (ace, packets) in fields {
                prop_assert!(feedback.on_ack(ace, packets) <= packets.max(7));
                prop_assert!((0.0..=1.0).contains(&feedback.fraction));
            }
        }
    }
}
