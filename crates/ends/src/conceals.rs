//! Facts that a receiver which does not comply keeps from its sender (RFC 9743 section 7.6).

paceline_units::names! {
    /// The facts that a receiver conceals in all that it says to its sender.
    pub enum Conceals {
        /// None: the receiver complies.
        Nothing = "nothing",
        /// Losses: each packet is said to have come.
        Losses = "losses",
        /// Marks: no packet is said to have been marked CE.
        Marks = "marks",
        /// Both.
        All = "all",
    }
}

impl Conceals {
    /// Whether each packet is said to have come.
    pub fn losses(self) -> bool {
        matches!(self, Conceals::Losses | Conceals::All)
    }

    /// Whether no packet is said to have been marked.
    pub fn marks(self) -> bool {
        matches!(self, Conceals::Marks | Conceals::All)
    }
}
