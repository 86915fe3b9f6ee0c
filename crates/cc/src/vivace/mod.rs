//! PCC Vivace: trials a little above and below the rate tell the gradient of a utility, and the rate follows it (Dong, Meng,
//! Zarchy, Arslan, Gilad, Godfrey and Schapira 2018).
//!
//! Differences from the paper and from its authors' program are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod interval;
mod params;
mod step;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::bbr::shared::{assigned_bandwidth, share_of};
use crate::draw::drawn;
use crate::observe::window_variables;
use crate::window::{Ack, Cause, Law, Marks, Sent, Window, WindowSender};
use crate::{Assigned, PacketResult, SentPacket};
use interval::Interval;
use paceline_units::{Bitrate, Time, TimeDelta};
use step::Step;

/// The sender half. `assign` overwrites the rate, around which trials begin anew.
pub type Vivace = WindowSender<VivaceLaw>;

/// Without a handshake a round trip counts as so long (PCC-Uspace 30c2cfe, pcc_sender.cpp, kInitialRtt).
const FIRST_RTT: f64 = 0.1;
/// No rate is lower or higher, Mbit/s.
const LEAST: f64 = 1e-3;
const HIGHEST: f64 = 1e6;

/// The phase that Vivace is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Doubles the rate while the utility grows.
    Starting,
    /// Tries rates above and below.
    Probing,
    /// Goes on in large steps without trials.
    Moving,
}

/// The law of Vivace: a pace, and a window that is enough for it.
#[derive(Clone, Debug)]
pub struct VivaceLaw {
    params: Params,
    phase: Phase,
    /// Rate between trials, Mbit/s; 0 before the first packet.
    rate: f64,
    step: Step,
    /// Rate that the trials are around, Mbit/s: an assignment moves the rate alone.
    centre: f64,
    /// Intervals under observation in the order of sending, and their count.
    trials: [Interval; 4],
    planned: usize,
    /// The trial that packets leave in; `planned` while results are awaited.
    at: usize,
    /// Number of the first trial, in notes on packets. Packets outside of trials have 0.
    first: u64,
    /// Rate and utility of the interval before, for phases without pairs.
    reference: Option<(f64, f64)>,
    /// Sending time of the newest packet that was delivered.
    newest: Time,
    /// Trial and sending time of the newest packet of this acknowledgement whose round trip is not ambiguous.
    sample: Option<(u64, Time)>,
    delivered: u64,
    /// Losses that the start may still have.
    start_losses: u64,
    /// Round trip before one is measured, in seconds.
    first_rtt: f64,
}

impl VivaceLaw {
    fn round_trip(&self, window: &Window) -> f64 {
        window.round_trip.smoothed().map_or(self.first_rtt, TimeDelta::as_secs_f64)
    }

    /// Mbit/s: not more than the first window in a round trip.
    fn first_rate(&self, window: &Window) -> f64 {
        (self.params.start_rate.as_bps_f64() * 1e-6).min(window.initial * 8e-6 / self.first_rtt)
    }

    fn set_rate(&mut self, window: &Window, rate: f64) {
        let packets = self.params.rate_min_packets * window.mss * 8e-6;
        let least = window.round_trip.smoothed().map_or(0.0, |srtt| packets / srtt.as_secs_f64());
        let least = least.clamp(LEAST, HIGHEST);
        if rate < least {
            // PCC-Uspace 30c2cfe, pcc_vivace_sender.cpp: from the least rate it starts anew.
            (self.phase, self.reference) = (Phase::Starting, None);
        }
        self.rate = rate.clamp(least, HIGHEST);
        self.plan();
    }

    /// The next intervals: pairs, each in random order, or one at the rate.
    fn plan(&mut self) {
        self.first += self.trials.len() as u64;
        (self.at, self.planned, self.centre) = (0, 1, self.rate);
        self.trials[0] = Interval::new(self.rate);
        if self.phase == Phase::Probing {
            self.planned = if self.step.trend { 2 } else { 4 };
            let order = drawn(self.delivered ^ self.first);
            for (number, pair) in self.trials.chunks_exact_mut(2).enumerate() {
                let is_up = (order >> (31 - number)) & 1 == 0;
                let part = if is_up { self.params.epsilon } else { -self.params.epsilon };
                pair.copy_from_slice(&[1.0 + part, 1.0 - part].map(|part| Interval::new(self.rate * part)));
            }
        }
    }

    fn probe(&mut self, window: &Window, rate: f64) {
        self.phase = Phase::Probing;
        self.set_rate(window, rate);
    }

    fn trial(&mut self, note: u64) -> Option<&mut Interval> {
        let index = usize::try_from(note.checked_sub(self.first)?).ok()?;
        self.trials[..self.planned].get_mut(index)
    }

    /// The rate at which packets leave, Mbit/s.
    fn pace(&self) -> f64 {
        self.trials[..self.planned]
            .get(self.at)
            .map_or(self.rate, |trial| trial.rate * self.rate / self.centre)
    }

    /// Once all intervals of the plan are known, the rate moves.
    fn judge(&mut self, window: &Window) {
        let round_trip = TimeDelta::from_secs_f64(self.round_trip(window));
        let (trials, newest) = (&self.trials[..self.planned], self.newest);
        if !trials.iter().all(|trial| trial.is_known(newest, round_trip)) {
            return;
        }
        let trials = self.trials;
        let trials = &trials[..self.planned];
        if let Some(worst) = trials.iter().find(|trial| trial.loss() > self.params.stop_loss) {
            let arrived = worst.left_at() * (1.0 - worst.loss());
            self.step.forget();
            let most = if arrived > 0.0 { arrived } else { HIGHEST };
            self.probe(window, (self.rate * self.params.stop_part).min(most));
        } else if trials.iter().any(Interval::says_nothing) {
            self.plan();
        } else {
            match self.phase {
                Phase::Starting => self.judge_start(window, &trials[0]),
                Phase::Probing => self.judge_pairs(window, trials),
                Phase::Moving => self.judge_move(window, &trials[0]),
            }
        }
    }

    fn judge_start(&mut self, window: &Window, trial: &Interval) {
        let slope = trial.slope();
        let is_small = self.start_losses > 0 && libm::fabs(slope) < self.params.start_slope;
        let losses = trial.missing().saturating_sub(self.start_losses);
        self.start_losses = self.start_losses.saturating_sub(trial.missing());
        let loss = losses as f64 / trial.sent.max(1) as f64;
        let utility = trial.utility(&self.params, loss, if is_small { 0.0 } else { slope });
        let grows = utility > self.reference.map_or(0.0, |(_, before)| before);
        self.reference = Some((trial.rate, utility));
        if grows {
            self.set_rate(window, self.rate * self.params.start_growth);
        } else {
            self.probe(window, self.rate / self.params.start_growth);
        }
    }

    fn judge_pairs(&mut self, window: &Window, trials: &[Interval]) {
        let all = |count: fn(&Interval) -> u64| trials.iter().map(count).sum::<u64>() as f64;
        let overall = all(Interval::missing) / all(|trial| trial.sent).max(1.0);
        let worth = |trial: &Interval| {
            let loss = if overall <= self.params.even_loss { overall } else { trial.loss() };
            trial.utility(&self.params, loss, trial.slope())
        };
        let (mut votes, mut gain) = (0, 0.0);
        for pair in trials.chunks_exact(2) {
            let (low, high) =
                if pair[0].rate < pair[1].rate { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
            let utility = worth(&high);
            let more = utility - worth(&low);
            self.reference = Some((high.rate, utility));
            votes += i32::from(more > 0.0) - i32::from(more < 0.0);
            gain += more / (high.rate - low.rate);
        }
        if votes == 0 {
            self.step.forget();
            return self.plan();
        }
        self.go(window, gain / (trials.len() / 2) as f64);
    }

    /// The gradient from the interval before to this one.
    fn judge_move(&mut self, window: &Window, trial: &Interval) {
        let utility = trial.utility(&self.params, trial.loss(), trial.slope());
        let (before, worth) = self.reference.replace((trial.rate, utility)).unwrap_or_default();
        self.go(window, (utility - worth) / (trial.rate - before));
    }

    fn go(&mut self, window: &Window, gradient: f64) {
        let change =
            self.step.change(&self.params, if gradient.is_finite() { gradient } else { 0.0 }, self.rate);
        let is_large = change > self.params.moving_part * self.rate;
        self.phase = if is_large { Phase::Moving } else { Phase::Probing };
        self.set_rate(window, self.rate + change);
    }
}

impl Law for VivaceLaw {
    type Params = Params;
    /// The number of the trial that the packet left in.
    type Note = u64;
    const MARKS: Marks = Marks::Ignored;
    const WINDOW_IS_STATE: bool = false;
    const RULES_RECOVERY: bool = true;
    const HEARS_LOST_PACKETS: bool = true;

    fn new(params: &Params, window: &mut Window) -> VivaceLaw {
        // The pace is the law's: a pause ends with no burst.
        window.restart_after_idle = false;
        VivaceLaw {
            phase: Phase::Starting,
            rate: 0.0,
            step: Step::default(),
            centre: 0.0,
            trials: [Interval::default(); 4],
            planned: 0,
            at: 0,
            first: 0,
            reference: None,
            newest: Time::ZERO,
            sample: None,
            delivered: 0,
            start_losses: params.start_losses,
            first_rtt: FIRST_RTT,
            params: params.clone(),
        }
    }

    fn on_opened(&mut self, _window: &mut Window, rtt: TimeDelta) {
        self.first_rtt = rtt.as_secs_f64().max(1e-9);
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, packet: &SentPacket) -> u64 {
        if self.rate == 0.0 {
            self.set_rate(window, self.first_rate(window));
        }
        if self.at < self.planned && self.trials[self.at].is_full(now) {
            self.at += 1;
        }
        let (at, round_trip) = (self.at, self.round_trip(window));
        let Some(trial) = self.trials[..self.planned].get_mut(at) else { return 0 };
        let (params, rate) = (&self.params, trial.rate);
        trial.on_sent(now, packet.size.as_u64(), packet.app_limited, || {
            let packets = params.interval_rtts * round_trip * rate / (window.mss * 8e-6);
            (packets as u64).clamp(params.interval_packets_min, params.interval_packets_max)
        });
        self.first + at as u64
    }

    #[inline]
    fn on_delivered(&mut self, _window: &Window, _now: Time, _packet: &PacketResult, sent: &Sent<u64>) {
        self.newest = self.newest.max(sent.at);
        if !sent.again && self.sample.is_none_or(|(_, at)| sent.at >= at) {
            self.sample = Some((sent.note, sent.at));
        }
        if let Some(trial) = self.trial(sent.note) {
            trial.on_delivered();
        }
    }

    fn on_packet_lost(&mut self, _window: &Window, _now: Time, _sequence: u64, sent: &Sent<u64>) {
        if let Some(trial) = self.trial(sent.note) {
            trial.on_lost();
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.delivered = self.delivered.wrapping_add(ack.delivered);
        // A receiver that waits for a second packet delays the first: the newest alone tells the path's round trip.
        if let Some((note, at)) = self.sample.take()
            && let Some(trial) = self.trial(note)
        {
            trial.on_round_trip(at, ack.now.saturating_since(at));
        }
        self.judge(window);
        let enough = self.params.window_gain * self.rate / 8e-6 * self.round_trip(window);
        let most = enough.max(self.params.cwnd_min as f64 * window.mss);
        window.set(most.min(window.cwnd + ack.delivered as f64));
    }

    /// Losses count in the utility alone.
    fn on_congestion(&mut self, _window: &mut Window, _now: Time, _cause: Cause) {}

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, _again: bool) {
        self.step.forget();
        self.probe(window, self.rate * self.params.stop_part);
        window.set(window.mss);
    }

    fn share(&self) -> Option<Assigned> {
        share_of(self.rate / 8e-6)
    }

    fn on_assigned(&mut self, window: &mut Window, assigned: Assigned) {
        let Some(rate) = assigned_bandwidth(assigned, window).map(|bytes| bytes * 8e-6) else { return };
        self.rate = rate.clamp(LEAST, HIGHEST);
        // A group assigns with each acknowledgement: trials around nearly the same rate go on.
        if libm::fabs(self.rate - self.centre) > self.params.epsilon * self.centre {
            self.probe(window, self.rate);
        }
    }

    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        let pace = if self.rate > 0.0 { self.pace() } else { self.first_rate(window) };
        Some(Bitrate::from_bps_f64(pace * 1e6).max(Bitrate::from_bps(1)))
    }

    window_variables! { |self, _window|
        rate: "Mbps" = self.rate, "Rate between trials";
        pace: "Mbps" = self.pace(), "Rate of the present interval";
        phase: "" = f64::from(self.phase as u8), "0 Starting, 1 Probing, 2 Moving";
        utility: "" = self.reference.map(|(_, utility)| utility), "Utility of the interval that the next is compared with";
        confidence: "" = self.step.confidence, "Changes in this direction that count";
        omega: "" = self.params.omega + self.params.omega_step * self.step.cut, "Part of the rate by which the next change may change it";
    }
}
