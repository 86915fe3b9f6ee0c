//! XCP's sender: routers say in the congestion header by how much the window is to change (Katabi, Handley and Rohrs 2002).
//!
//! The other half is the router, the queue `xcp` of `paceline-link`. Differences from the paper are in DEVIATIONS.md beside this file and
//! in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::Verb;
use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::{CongestionHeader, Time};

/// The sender half. `assign` overwrites window and threshold; the next answer of a router moves both.
pub type Xcp = WindowSender<Avoidance<XcpRule>>;

/// A window that routers lead; Reno's where none does.
#[derive(Clone, Debug)]
pub struct XcpRule {
    params: Params,
    /// Change of the rate in bytes per second that routers gave to the packets of the next acknowledgement.
    told: Option<f64>,
    /// The change that the last acknowledgement brought; absent if no router had written one.
    feedback: Option<f64>,
}

impl XcpRule {
    /// Section 3.2: the window moves by H_feedback, which here is a change of rate over a round trip, and no lower than one packet.
    fn lead(&self, window: &mut Window, ack: &Ack, feedback: f64) {
        let srtt = window.round_trip.seconds();
        let before = window.cwnd;
        let most = self.params.max_rate.as_bps_f64() / 8.0 * srtt;
        let cwnd = before + (feedback * srtt).min((most - before).max(0.0));
        if cwnd <= before || ack.may_grow {
            window.set(cwnd);
        }
        // Should routers fall silent, the window goes on as Reno's after slow start.
        window.ssthresh = window.cwnd;
    }
}

impl Rule for XcpRule {
    type Params = Params;

    fn new(params: &Params) -> (XcpRule, &AvoidanceParams) {
        (XcpRule { params: params.clone(), told: None, feedback: None }, &params.avoidance)
    }

    const VERBS: &'static [Verb] = &[Verb::CongestionHeader];

    fn congestion_header(&self, window: &Window) -> Option<CongestionHeader> {
        let srtt = window.round_trip.seconds();
        Some(CongestionHeader::asking(srtt as f32, (srtt / window.packets()) as f32))
    }

    fn on_congestion_header(&mut self, feedback: Option<f64>) {
        // Of an acknowledgement that delivers nothing the answer is kept for the next.
        let feedback = feedback.filter(|feedback| feedback.is_finite());
        self.told = feedback.map(|feedback| self.told.unwrap_or(0.0) + feedback).or(self.told);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.feedback = self.told.take();
        if let Some(feedback) = self.feedback {
            self.lead(window, ack, feedback);
        }
    }

    /// Section 3.2 leaves growth to routers. Where none speaks it is RFC 5681's.
    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        if self.feedback.is_some() { 0.0 } else { 1.0 }
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        self.params.loss_beta * window.packets()
    }

    window_variables! { |self, window|
        feedback: "Mbit/s" = self.feedback.map(|feedback| feedback * 8e-6), "Change of the rate that the last acknowledgement brought; absent where no router wrote one";
    }
}
