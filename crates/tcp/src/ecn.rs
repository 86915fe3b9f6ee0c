//! ECN at the sender: the marks that acknowledgements tell of, and the flags of its own segments.

use super::accurate_ecn::MarkFeedback;
use super::segment::Flags;
use super::{EcnEcho, TcpConfig};
use paceline_units::Ecn;

/// Marks and the flags that tell of them, as both ends agreed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderEcn {
    /// Flags of every segment behind the SYN.
    says: Flags,
    /// An acknowledgement with one of these flags tells of marks; none where they are neither told nor answered.
    heeds: Flags,
    /// Marks of data sent before this offset were answered (RFC 3168 section 6.1.2).
    answered: u64,
    /// The next new segment says that the window was reduced.
    say_reduced: bool,
    /// Marks that were told by a counter.
    marks: MarkFeedback,
}

impl SenderEcn {
    /// Before anything is agreed on: of packets that leave with `ect`.
    pub(super) fn new(ect: Ecn) -> SenderEcn {
        let heeds = if ect == Ecn::NotEct { Flags::NONE } else { Flags::ECE };
        SenderEcn { says: Flags::ACK, heeds, answered: 0, say_reduced: false, marks: MarkFeedback::NEW }
    }

    /// Both ends have agreed on this configuration.
    pub(super) fn agree(&mut self, agreed: &TcpConfig) {
        (self.heeds, self.says) = match (agreed.ect, agreed.ecn_echo) {
            (Ecn::NotEct, _) => (Flags::NONE, Flags::ACK),
            (_, EcnEcho::Rfc3168 | EcnEcho::Exact) => (Flags::ECE, Flags::ACK),
            // No acknowledgement is marked: this end's own counter stays where it began.
            (_, EcnEcho::Accurate) => (Flags::ACK, Flags::ACK.and(Flags::FIRST_ACE)),
        };
    }

    /// Whether an acknowledgement with `flags` may tell of marks.
    #[inline]
    pub(super) fn heeds(&self, flags: Flags) -> bool {
        flags.0 & self.heeds.0 != 0
    }

    /// Flags of a segment that leaves again.
    #[inline]
    pub(super) fn flags(&self) -> Flags {
        self.says
    }

    /// Flags of the next new segment.
    #[inline]
    pub(super) fn take_flags(&mut self) -> Flags {
        self.says.and_if(std::mem::take(&mut self.say_reduced), Flags::CWR)
    }

    /// An acknowledgement of `delivered` packets with `flags` came, of data from offset `acknowledged` to `sent`: how many of
    /// the newest packets were marked.
    pub(super) fn marked(
        &mut self,
        echo: EcnEcho,
        flags: Flags,
        (acknowledged, sent): (u64, u64),
        delivered: usize,
    ) -> usize {
        match echo {
            // RFC 3168 section 6.1.2: marks are answered once per window of data. Below, a reduction is already said or on its way.
            EcnEcho::Rfc3168 if acknowledged <= self.answered => 0,
            EcnEcho::Rfc3168 => {
                (self.answered, self.say_reduced) = (sent, true);
                delivered
            }
            EcnEcho::Exact => delivered,
            // Marks are told where they begin, so that they are on the newest.
            EcnEcho::Accurate => self.marks.on_ack(flags.ace(), delivered as u64) as usize,
        }
    }
}
