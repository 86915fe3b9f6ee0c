//! What can be seen of a controller from outside.

use paceline_units::{Bitrate, Bytes, TimeDelta};

/// The figures every controller shares. What an algorithm does not have is absent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// Congestion window, in bytes on the link.
    pub window: Option<Bytes>,
    /// Bytes in flight as this controller counts them.
    pub in_flight: Option<Bytes>,
    /// Smoothed round-trip time.
    pub srtt: Option<TimeDelta>,
    /// Queue delay as the controller estimates it.
    pub queue_delay: Option<TimeDelta>,
    /// Sum of the target bitrates of all streams.
    pub target: Option<Bitrate>,
}

/// A named value of the inner state that a person would plot. Declared once, for recording, plots and tests alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateVariable {
    /// Name of the variable, as in the specification.
    pub name: &'static str,
    /// Unit of the variable; empty for ratios and counts.
    pub unit: &'static str,
    /// What the variable is, in a line.
    pub help: &'static str,
}
