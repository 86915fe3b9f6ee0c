//! LEDBAT++: LEDBAT that is slower than Reno, shrinks in proportion to its window and slows down now and then to see the path without
//! its queue (draft-irtf-iccrg-ledbat-plus-plus-06).
//!
//! Differences from the text are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::Assigned;
use crate::observe::window_variables;
use crate::window::{Ack, Cause, Extreme, Law, Window, WindowSender};
use alloc::collections::VecDeque;
use paceline_units::{Bytes, Time, TimeDelta};

/// The sender half. `assign` overwrites window and threshold, not the delays; in a slowdown it overwrites the window after it.
pub type LedbatPp = WindowSender<LedbatPpLaw>;

/// Where the sender is between slowdowns.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// The first slow start, and all that follows until the first slowdown has a time.
    First,
    /// The next slowdown begins then.
    Until(Time),
    /// The smallest window: it began, and ends.
    Frozen(Time, Time),
    /// Slow start up to the window before the slowdown, which began then.
    Ramp(Time),
}

/// The window law of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPpLaw {
    params: Params,
    /// Smallest round trips of ten minutes, in seconds.
    base: Extreme,
    /// The newest round trips in seconds.
    newest: VecDeque<f64>,
    phase: Phase,
    before: Phase,
    /// In a slowdown the window after it and the present one, in bytes.
    after: f64,
    slowed: f64,
}

impl LedbatPpLaw {
    fn sample(&mut self, now: Time, rtt: TimeDelta) {
        let rtt = rtt.as_secs_f64().max(1e-9);
        self.base.update(now, TimeDelta::from_secs(60 * self.params.base_history as i64), rtt);
        self.newest.push_back(rtt);
        while self.newest.len() as u64 > self.params.current_filter {
            self.newest.pop_front();
        }
    }

    /// Base delay and queue delay in seconds; absent before the first round trip.
    fn delays(&self) -> Option<(f64, f64)> {
        let (base, present) = (self.base.least()?, self.newest.iter().copied().reduce(f64::min)?);
        Some((base, (present - base).max(0.0)))
    }

    fn least(&self, window: &Window) -> f64 {
        (self.params.min_cwnd as f64 * window.mss).min(window.cwnd)
    }

    /// Growth in packets a round trip.
    fn gain(&self, base: f64) -> f64 {
        let divisor = libm::ceil(2.0 * self.params.target.as_secs_f64() / base.max(1e-9));
        1.0 / divisor.clamp(1.0, self.params.gain_divisor)
    }

    fn rtts(&self, window: &Window) -> TimeDelta {
        TimeDelta::from_secs_f64(self.params.slowdown_rtts * window.round_trip.seconds())
    }

    /// Growth below the target; above it a decrease in proportion to the window and the excess.
    fn avoid(&self, window: &mut Window, ack: &Ack, gain: f64, wait: f64) {
        let excess = wait / self.params.target.as_secs_f64() - 1.0;
        let w = window.packets();
        let least = -self.params.most_decrease * w;
        let change = if excess > 0.0 { (gain - self.params.constant * w * excess).max(least) } else { gain };
        if change > 0.0 && !ack.may_grow {
            return;
        }
        let acknowledged = ack.delivered as f64 / window.cwnd;
        let cwnd = window.cwnd + change * acknowledged.min(1.0) * window.mss;
        // Of one packet the acknowledgement may be delayed, which looks like a queue.
        window.set(cwnd.max(self.params.min_cwnd as f64 * window.mss));
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn slow_start(&self, window: &mut Window, ack: &Ack, gain: f64) {
        let factor = if matches!(self.phase, Phase::Ramp(_)) { 1.0 } else { gain };
        let cwnd = window.cwnd + factor * ack.delivered as f64;
        window.set(cwnd.min(window.ssthresh.max(window.cwnd)));
    }

    /// The phase after this acknowledgement.
    fn next_phase(&mut self, window: &mut Window, now: Time) {
        self.phase = match self.phase {
            _ if self.params.slowdown <= 0.0 => return,
            Phase::First if !window.in_slow_start() => Phase::Until(now + self.rtts(window)),
            Phase::Until(at) if now >= at && !window.recovering => {
                window.ssthresh = window.cwnd;
                window.set(self.least(window));
                (self.after, self.slowed) = (window.ssthresh, window.cwnd);
                Phase::Frozen(now, now + self.rtts(window))
            }
            Phase::Frozen(began, end) if now >= end => Phase::Ramp(began),
            Phase::Ramp(began) if !window.in_slow_start() => {
                let lasted = now.saturating_since(began).as_secs_f64();
                Phase::Until(now + TimeDelta::from_secs_f64(self.params.slowdown * lasted))
            }
            phase => phase,
        };
    }

    /// Whether a slowdown lasts.
    fn is_slow(&self) -> bool {
        matches!(self.phase, Phase::Frozen(..) | Phase::Ramp(_))
    }

    /// Whether the window stays at its smallest.
    fn is_frozen(&self) -> bool {
        matches!(self.phase, Phase::Frozen(..))
    }
}

impl Law for LedbatPpLaw {
    type Params = Params;
    type Note = ();

    fn new(params: &Params, window: &mut Window) -> LedbatPpLaw {
        let first = (params.init_cwnd as f64 * window.mss).min(window.initial);
        window.initial = first;
        window.set(first);
        LedbatPpLaw {
            params: params.clone(),
            base: Extreme::NEW,
            newest: VecDeque::with_capacity(params.current_filter as usize + 1),
            phase: Phase::First,
            before: Phase::First,
            after: 0.0,
            slowed: 0.0,
        }
    }

    /// A group shares what the flow has between slowdowns.
    fn share(&self) -> Option<Assigned> {
        self.is_slow().then(|| Assigned::Window(Bytes::new(self.after as u64)))
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(ack.now, rtt);
        }
        let Some((base, wait)) = self.delays() else { return };
        let exit = self.params.slow_start_exit * self.params.target.as_secs_f64();
        if self.phase == Phase::First && window.in_slow_start() && wait > exit {
            window.ssthresh = window.cwnd;
        }
        self.next_phase(window, ack.now);
        let gain = self.gain(base);
        if self.is_frozen() {
            return;
        } else if !window.in_slow_start() {
            self.avoid(window, ack, gain, wait);
        } else if ack.may_grow {
            self.slow_start(window, ack, gain);
        }
        self.slowed = window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, _cause: Cause) {
        let from = if self.is_slow() { self.after } else { window.cwnd };
        window.ssthresh = (from / 2.0).max(self.least(window));
        window.set(window.cwnd.min(window.ssthresh));
        (self.after, self.slowed) = (window.ssthresh, window.cwnd);
    }

    fn on_timed_out(&mut self, window: &mut Window, now: Time, again: bool) {
        if !again {
            self.on_congestion(window, now, Cause::Loss);
        }
        window.set(window.mss);
        self.slowed = window.cwnd;
    }

    fn keep(&mut self) {
        self.before = self.phase;
    }

    fn undo(&mut self, _window: &mut Window) {
        self.phase = self.before;
    }

    fn on_assigned(&mut self, window: &mut Window, _assigned: Assigned) {
        if self.is_slow() {
            self.after = window.cwnd;
            window.set(self.slowed.min(self.after));
        }
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.delays().map(|(_, wait)| TimeDelta::from_secs_f64(wait))
    }

    window_variables! { |self, window|
        queuing_delay: "ms" = self.delays().map(|(_, wait)| wait * 1e3), "Queue delay by its estimate";
        base_delay: "ms" = self.delays().map(|(base, _)| base * 1e3), "Smallest round trip of ten minutes";
        slowdown: "" = if self.is_frozen() { 1.0 } else { 0.0 }, "1 while a slowdown keeps the window at its smallest";
    }
}
