//! LEDBAT: a window that yields, by keeping the queue delay that it adds at a target (RFC 6817).
//!
//! Differences from the text are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod delays;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::state_variables;
use crate::one_way_delay::DelayMeasure;
use crate::window::{Ack, Cause, Law, Sent, Window, WindowSender};
use crate::{Assigned, PacketResult, Status};
use delays::Delays;
use paceline_units::{Time, TimeDelta};

/// The sender half. `assign` overwrites the window, not the delays.
pub type Ledbat = WindowSender<LedbatLaw>;

/// The window law of LEDBAT.
#[derive(Clone, Debug)]
pub struct LedbatLaw {
    params: Params,
    delays: Delays,
    measure: DelayMeasure,
    queue_delay: Option<TimeDelta>,
    off_target: Option<f64>,
    last_halving: Option<Time>,
    before: Option<Time>,
}

impl LedbatLaw {
    /// Moves the window towards the target delay (section 2.4.2, "on acknowledgement").
    #[inline]
    fn steer(&mut self, window: &mut Window, ack: &Ack, queue_delay: TimeDelta) {
        let target = self.params.target.as_secs_f64();
        let off_target = (target - queue_delay.as_secs_f64()) / target;
        self.off_target = Some(off_target);
        let gain = if off_target < 0.0 { self.params.gain_down } else { self.params.gain };
        let step = gain * off_target * ack.delivered as f64 * window.mss / window.cwnd;
        let least = self.params.min_cwnd as f64 * window.mss;
        if window.recovering {
            // Neither growth nor a limit by a flight from which losses were taken out.
            return window.set((window.cwnd + step.min(0.0)).max(least.min(window.cwnd)));
        }
        let most = ack.flight_before as f64 + self.params.allowed_increase * window.mss;
        window.set((window.cwnd + step).min(most).max(least));
    }
}

impl Law for LedbatLaw {
    type Params = Params;
    type Note = ();

    const LEAVES_ASSIGNMENTS: bool = false;

    fn new(params: &Params, window: &mut Window) -> LedbatLaw {
        let first = (params.init_cwnd as f64 * window.mss).min(window.initial);
        window.set(first);
        window.ssthresh = 0.0;
        // The flight limits the window instead (ALLOWED_INCREASE).
        window.restart_after_idle = false;
        LedbatLaw {
            params: params.clone(),
            delays: Delays::new(params),
            measure: DelayMeasure::NEW,
            queue_delay: None,
            off_target: None,
            last_halving: None,
            before: None,
        }
    }

    #[inline]
    fn on_delivered(&mut self, _window: &Window, now: Time, packet: &PacketResult, sent: &Sent<()>) {
        let Status::Received { arrived, .. } = packet.status else { return };
        if sent.again {
            return;
        }
        let Some((end, is_new)) = self.measure.end(now, arrived) else { return };
        if is_new {
            self.delays.forget();
        }
        self.delays.sample(&self.params, now, sent.at, end);
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(queue_delay) = self.delays.queue_delay(ack.now, window.round_trip.seconds()) {
            self.queue_delay = Some(queue_delay);
            self.steer(window, ack, queue_delay);
        }
    }

    /// Section 2.4.2, "on data loss": at most once per round trip.
    fn on_congestion(&mut self, window: &mut Window, now: Time, _cause: Cause) {
        let rtt = window.round_trip.smoothed().unwrap_or(TimeDelta::ZERO);
        if self.last_halving.is_some_and(|last| now.saturating_since(last) < rtt) {
            return;
        }
        self.last_halving = Some(now);
        let least = self.params.min_cwnd as f64 * window.mss;
        window.set(window.cwnd.min((window.cwnd / 2.0).max(least)));
    }

    /// "If no ACKs are received within a CTO".
    fn on_timed_out(&mut self, window: &mut Window, _now: Time, _again: bool) {
        window.set(window.mss);
    }

    fn keep(&mut self) {
        self.before = self.last_halving;
    }

    fn undo(&mut self, _window: &mut Window) {
        self.last_halving = self.before;
    }

    fn on_assigned(&mut self, window: &mut Window, _assigned: Assigned) {
        window.ssthresh = 0.0;
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.queue_delay
    }

    state_variables! { |self, window|
        cwnd: "packets" = window.packets(), "Congestion window";
        queuing_delay: "ms" = self.queue_delay.map(TimeDelta::as_millis_f64), "Queue delay by its estimate";
        off_target: "" = self.off_target, "Distance to the target as a part of it";
        skew: "ppm" = self.delays.skew_ppm(), "By how much the receiver's clock is taken to run faster";
        base_delay: "ms" = self.delays.base().map(TimeDelta::as_millis_f64), "Smallest delay; by clocks that need not agree";
    }
}
