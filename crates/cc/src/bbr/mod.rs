//! BBR version 1: a model of the path, the largest delivery rate and the smallest round trip, sets pace and window
//! (Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2016; draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! Rules without a text, omissions and gaps that were filled are in DEVIATIONS.md beside this file.

pub(crate) mod delivery_rate;
mod law;
pub(crate) mod max_filter;
mod model;
mod params;
pub(crate) mod recovery;
pub(crate) mod rounds;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

pub use delivery_rate::Note;
pub use params::Params;

use crate::window::WindowSender;
use delivery_rate::DeliveryRate;
use model::Model;
use paceline_units::Time;
use recovery::Rescue;

/// The sender half. `assign` overwrites the bandwidth: a rate is it, a window is it times the smallest round trip.
/// The round trip, and the phase, stay; what is measured in the ten round trips that follow may raise it again.
pub type Bbr = WindowSender<BbrLaw>;

/// The phase that BBR is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Doubles the rate per round trip until the bandwidth no longer grows.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Cruises; one round trip in eight with more, the next with less.
    ProbeBw,
    /// Keeps the flight so small that no queue is left, to measure the round trip.
    ProbeRtt,
}

/// The window law of BBR.
#[derive(Clone, Debug)]
pub struct BbrLaw {
    params: Params,
    rate: DeliveryRate,
    model: Model,
    rescue: Rescue,
    phase: Phase,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Bytes per second; absent before the first packet.
    pacing_rate: Option<f64>,
    /// Phase of the cycle of gains, and when it began.
    cycle: usize,
    cycle_began: Time,
    full_bw: f64,
    full_bw_count: u64,
    filled: bool,
    /// ProbeRTT ends then; absent until the flight is small.
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    /// The first packet after a pause: the age of the round trip is no reason for ProbeRTT.
    idle_restart: bool,
    /// Bytes declared lost since the last acknowledgement.
    lost: u64,
}

impl BbrLaw {
    /// The gain of a place in the cycle: more, as much less, and six times the bandwidth itself.
    fn cycle_gain(&self) -> f64 {
        match self.cycle {
            0 => self.params.probe_gain,
            1 => self.params.drain_gain,
            _ => 1.0,
        }
    }
}
