//! RCP's sender: routers say in the congestion header at which rate it may send (Dukkipati 2007).
//!
//! The other half is the router, the queue `rcp` of `paceline-link`. Differences from the source are in DEVIATIONS.md beside this file and
//! in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::Verb;
use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::{Bitrate, CongestionHeader, Time};

/// The sender half. `assign` overwrites the window; the next acknowledgement of a router's rate sets it anew.
pub type Rcp = WindowSender<Avoidance<RcpRule>>;

/// A pace that routers set, and a window that does not limit it; Reno's window where no router speaks.
#[derive(Clone, Debug)]
pub struct RcpRule {
    params: Params,
    /// The least rate of the routers of the path, in bytes per second; absent where none wrote one.
    told: Option<f64>,
    /// The rate at which packets leave, in bytes per second, once a round trip is known.
    rate: Option<f64>,
    /// Whether packets were ever spaced, and so go on to be.
    paced: bool,
}

impl Rule for RcpRule {
    type Params = Params;

    fn new(params: &Params) -> (RcpRule, &AvoidanceParams) {
        (RcpRule { params: params.clone(), told: None, rate: None, paced: false }, &params.avoidance)
    }

    const VERBS: &'static [Verb] = &[Verb::CongestionHeader];

    fn congestion_header(&self, window: &Window) -> Option<CongestionHeader> {
        Some(CongestionHeader::asking_rate(window.round_trip.seconds() as f32))
    }

    fn on_congestion_header(&mut self, feedback: Option<f64>) {
        self.told = feedback.filter(|rate| rate.is_finite() && *rate >= 0.0);
    }

    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        let srtt = window.round_trip.seconds();
        let Params { max_rate, packets_min, window_gain, .. } = self.params;
        self.rate = self.told.filter(|_| srtt > 0.0).map(|told| {
            let most = max_rate.as_bps_f64() / 8.0;
            told.clamp((packets_min * window.mss / srtt).min(most), most)
        });
        if let Some(rate) = self.rate {
            self.paced = true;
            window.set(window_gain * rate * srtt);
            // Should routers fall silent, the window goes on as Reno's after slow start.
            window.ssthresh = window.cwnd;
        }
    }

    /// Routers alone raise the rate. Where none speaks growth is RFC 5681's.
    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        if self.rate.is_some() { 0.0 } else { 1.0 }
    }

    /// A router that speaks counts the load and the queue: losses ask for no other reduction.
    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        window.packets() * if self.rate.is_some() { 1.0 } else { self.params.loss_beta }
    }

    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        // Without a router the window limits, and packets of it leave in a part of a round trip.
        let unled = || self.params.window_gain * window.cwnd / window.round_trip.seconds();
        let rate = self.rate.or_else(|| self.paced.then(unled));
        rate.map_or_else(
            || window.pacing_rate(),
            |rate| Some(Bitrate::from_bps_f64(8.0 * rate).max(Bitrate::from_bps(1))),
        )
    }

    window_variables! { |self, window|
        rate: "Mbit/s" = self.rate.map(|rate| rate * 8e-6), "Rate that the routers of the path allow; absent where none wrote one";
    }
}
