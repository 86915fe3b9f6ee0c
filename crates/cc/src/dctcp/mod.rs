//! DCTCP: Reno that reduces its window in proportion to the share of marked bytes (RFC 8257).
//!
//! Its transport echoes each mark exactly. Differences from the text are in DEVIATIONS.md beside this file and in
//! `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::state_variables;
use crate::reno::{self, RenoLaw};
use crate::window::{Ack, Cause, Law, Marks, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not alpha.
pub type Dctcp = WindowSender<DctcpLaw>;

/// The window law of DCTCP.
#[derive(Clone, Debug)]
pub struct DctcpLaw {
    params: Params,
    /// The law of growth and losses (sections 3.4 and 3.5).
    reno: RenoLaw,
    /// `DCTCP.Alpha`.
    alpha: f64,
    /// `DCTCP.WindowEnd`: the first packet of the next observation window.
    window_end: u64,
    /// `DCTCP.BytesAcked`.
    acked: u64,
    /// `DCTCP.BytesMarked`.
    marked: u64,
}

impl DctcpLaw {
    /// Section 3.3, steps 1 to 8.
    #[inline]
    fn estimate(&mut self, window: &Window, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.delivered);
        self.marked = self.marked.saturating_add(ack.marked);
        if ack.newest < self.window_end {
            return;
        }
        let part = self.marked as f64 / self.acked as f64;
        self.alpha += self.params.g * (part - self.alpha);
        self.window_end = window.next;
        (self.acked, self.marked) = (0, 0);
    }
}

impl Law for DctcpLaw {
    type Params = Params;
    type Note = ();
    const MARKS: Marks = Marks::BesideLoss;

    fn new(params: &Params, window: &mut Window) -> DctcpLaw {
        let reno = reno::Params {
            beta: params.beta,
            lw: params.lw,
            byte_counting: params.byte_counting,
            l: params.l,
            growth: params.growth,
            restart_after_idle: params.restart_after_idle,
            pacing: params.pacing,
            ..reno::Params::default()
        };
        DctcpLaw {
            params: params.clone(),
            reno: RenoLaw::new(&reno, window),
            alpha: params.alpha_start,
            window_end: 0,
            acked: 0,
            marked: 0,
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.estimate(window, ack);
        if ack.may_grow {
            self.reno.grow(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        match cause {
            // Section 3.3, step 9. The acknowledged part of the next packet of growth stays.
            Cause::Mark => {
                let least = self.params.cwnd_min as f64 * window.mss;
                window.set((window.cwnd * (1.0 - self.alpha / 2.0)).max(least));
                window.ssthresh = window.cwnd;
            }
            Cause::Loss => {
                self.reno.reduce(window, cause);
                if self.params.alpha_reset {
                    self.alpha = self.params.alpha_start;
                }
            }
        }
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        self.reno.time_out(window, again);
    }

    state_variables! { |self, window|
        cwnd: "packets" = window.packets(), "Congestion window";
        ssthresh: "packets" = window.threshold(), "Slow start threshold; absent before the first reduction";
        alpha: "" = self.alpha, "Averaged part of marked bytes";
    }
}
