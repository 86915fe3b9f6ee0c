//! The facts that each rule is told.

use paceline_units::Time;

/// A flow's facts when a report came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    pub(super) now: Time,
    /// Seconds until a change of the rate shows in reports.
    pub(super) response: f64,
    /// Seconds of a round trip.
    pub(super) rtt: f64,
    /// Bits in flight.
    pub(super) in_flight: f64,
    /// The largest packet, in bits.
    pub(super) packet: f64,
    /// Whether marks are answered in proportion.
    pub(super) l4s: bool,
    /// Whether less than the rate is sent, since reports stayed away.
    pub(super) held_back: bool,
}
