//! BBR version 3 (draft-ietf-ccwg-bbr-06): a model of the path, of what it delivers and of how much it holds before it loses,
//! sets pace and window.
//!
//! Differences from the draft are in DEVIATIONS.md beside this file. The sampler of delivery rates, the count of round trips,
//! the windowed maximum and the kept window are version 1's ([`crate::bbr`]).

mod congestion;
mod control;
mod cycle;
mod extra_acked;
mod full_pipe;
mod law;
mod long_term;
mod losses;
mod max_bw;
mod min_rtt;
mod params;
mod probe_bw;
mod probe_rtt;
mod short_term;
mod startup;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::bbr::delivery_rate::{self, DeliveryRate, RateSample};
use crate::bbr::recovery::Rescue;
use crate::bbr::rounds::Rounds;
use crate::window::WindowSender;
use congestion::CongestionSignals;
use cycle::Cycle;
use extra_acked::ExtraAcked;
use full_pipe::FullPipe;
use long_term::LongTerm;
use losses::{Losses, Undo};
use max_bw::MaxBw;
use min_rtt::MinRtt;
use paceline_units::{Time, TimeDelta};
use probe_rtt::ProbeRtt;
use short_term::ShortTerm;

/// The sender half. `assign` overwrites the bandwidth: a rate is it, a window is it times the smallest round trip. The
/// short-term model is forgotten; round trip, `inflight_longterm` and phase stay, and what is measured afterwards may raise the
/// bandwidth again.
pub type Bbr3 = WindowSender<Bbr3Law>;

/// State of the connection when a packet was sent.
pub type Note = delivery_rate::Note<Sending>;

/// The flow when a packet was sent, as far as rate samples do not need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sending {
    /// `P.tx_in_flight`: bytes in flight with the packet.
    tx_in_flight: u64,
    /// `P.lost`: bytes lost by then.
    lost: u64,
}

/// `BBR.state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Doubles the rate per round trip until the pipe is full.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Slower than the bandwidth, until the queue is gone and headroom is left.
    ProbeBwDown,
    /// At the bandwidth.
    ProbeBwCruise,
    /// Fills the pipe for a round trip, so that what is lost next is lost by the probe.
    ProbeBwRefill,
    /// Faster than the bandwidth.
    ProbeBwUp,
    /// Keeps the flight small, to measure the round trip.
    ProbeRtt,
}

impl Phase {
    /// `IsInAProbeBWState`.
    fn is_probe_bw(self) -> bool {
        matches!(self, Phase::ProbeBwDown | Phase::ProbeBwCruise | Phase::ProbeBwRefill | Phase::ProbeBwUp)
    }

    /// `IsProbingBW`: what is lost here is the price of the probe.
    fn is_probing(self) -> bool {
        matches!(self, Phase::Startup | Phase::ProbeBwRefill | Phase::ProbeBwUp)
    }
}

/// The rate sample `RS` of an acknowledgement; sizes in bytes.
#[derive(Clone, Copy, Debug)]
struct Sample {
    now: Time,
    /// Bytes per second; 0 if there is no reliable one.
    delivery_rate: f64,
    delivered: f64,
    prior_delivered: u64,
    app_limited: bool,
    tx_in_flight: f64,
    lost: f64,
    rtt: Option<TimeDelta>,
    newly_acked: f64,
    /// In flight before the acknowledgement.
    flight_before: f64,
}

/// The window law of BBRv3.
#[derive(Clone, Debug)]
pub struct Bbr3Law {
    params: Params,
    rate: DeliveryRate<Sending>,
    rounds: Rounds,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    extra_acked: ExtraAcked,
    full_pipe: FullPipe,
    signals: CongestionSignals,
    short_term: ShortTerm,
    long_term: LongTerm,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    losses: Losses,
    undo: Undo,
    rescue: Rescue,
    phase: Phase,
    /// `BBR.bw`, bytes per second.
    bw: f64,
    /// Bytes per second; absent before the first packet.
    pacing_rate: Option<f64>,
    /// Whether the first round trip has set the first pace.
    paced_by_rtt: bool,
    idle_restart: bool,
    drain_start_round: u64,
    /// The round in which the window was last full.
    limited_in: u64,
    /// Whether a packet was sent.
    begun: bool,
    /// Whether coupling has assigned a bandwidth.
    coupled: bool,
}

impl Bbr3Law {
    /// `BBR.pacing_gain` (section "Summary of Control Behavior in the State Machine").
    fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => self.params.startup_pacing_gain,
            Phase::Drain => self.params.drain_pacing_gain,
            Phase::ProbeBwDown => self.params.probe_down_pacing_gain,
            Phase::ProbeBwUp => self.params.probe_up_pacing_gain,
            Phase::ProbeBwCruise | Phase::ProbeBwRefill | Phase::ProbeRtt => 1.0,
        }
    }

    /// `BBR.cwnd_gain` (the same table).
    fn cwnd_gain(&self) -> f64 {
        match self.phase {
            Phase::ProbeBwUp => self.params.probe_up_cwnd_gain,
            Phase::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            Phase::Startup
            | Phase::Drain
            | Phase::ProbeBwDown
            | Phase::ProbeBwCruise
            | Phase::ProbeBwRefill => self.params.default_cwnd_gain,
        }
    }

    /// `RS` of an acknowledgement.
    fn sample(&self, sample: &RateSample<Sending>, ack: &crate::window::Ack) -> Sample {
        Sample {
            now: ack.now,
            delivery_rate: sample.rate.unwrap_or(0.0),
            delivered: sample.delivered as f64,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited,
            tx_in_flight: sample.extra.tx_in_flight as f64,
            lost: self.losses.since(sample.extra.lost),
            rtt: ack.rtt,
            newly_acked: ack.delivered as f64,
            flight_before: ack.flight_before as f64,
        }
    }
}
