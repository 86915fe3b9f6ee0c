//! The state of ECN on the path of a flow, as an end that checks it shows it.

/// Why packets leave without ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnFault {
    /// They arrive without the codepoint that they left with.
    Cleared,
    /// They are lost, and others are not.
    Dropped,
    /// All of them are marked, even single ones.
    AllMarked,
}

impl EcnFault {
    /// The event, for people.
    pub const fn what(self) -> &'static str {
        match self {
            EcnFault::Cleared => "the path clears or changes the ECN field",
            EcnFault::Dropped => "the path drops packets that can be marked",
            EcnFault::AllMarked => "the path marks every packet that can be marked",
        }
    }
}

/// The state of ECN on the path of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnState {
    /// One packet in eight can be marked, to find out.
    Probing,
    /// Every packet can be marked.
    Capable,
    /// Every packet can be marked, and marks are those of a Classic AQM although packets ask for L4S.
    Classic,
    /// No packet can be marked, to see whether losses, silence or marks end thereby.
    Suspected,
    /// No packet can be marked.
    Failed(EcnFault),
}

impl EcnState {
    /// The state in a word.
    pub const fn name(self) -> &'static str {
        match self {
            EcnState::Probing => "probing",
            EcnState::Capable => "capable",
            EcnState::Classic => "classic",
            EcnState::Suspected => "suspected",
            EcnState::Failed(EcnFault::Cleared) => "cleared",
            EcnState::Failed(EcnFault::Dropped) => "dropped",
            EcnState::Failed(EcnFault::AllMarked) => "all-marked",
        }
    }
}

/// Counts of a sender's ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounters {
    /// Packets that could be marked.
    pub capable: u64,
    /// Times that ECN was given up, for a while or for good.
    pub failures: u64,
    /// Times that a Classic AQM was found behind ECT(1).
    pub classic: u64,
}
