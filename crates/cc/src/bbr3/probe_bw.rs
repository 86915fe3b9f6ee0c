//! The cycle of ProbeBW: down, cruise, refill, up (sections "ProbeBW" and "ProbeBW Algorithm Details").

use super::cycle::AckPhase;
use super::short_term::ShortTerm;
use super::{Bbr3Law, Phase, Sample};
use crate::window::Window;
use paceline_units::Time;

impl Bbr3Law {
    /// `StartRound`: the round ends with what is sent from now on.
    pub(super) fn start_round(&mut self) {
        self.rounds.restart(self.rate.delivered);
    }

    /// `StartProbeBW_DOWN`.
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.signals.reset();
        self.long_term.stop_growing();
        self.cycle.begin(&self.params, now, self.rate.delivered);
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.phase = Phase::ProbeBwDown;
    }

    /// `StartProbeBW_REFILL`: the losses of the last cycle are forgotten.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.short_term = ShortTerm::UNLIMITED;
        self.long_term.begin_probe();
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.phase = Phase::ProbeBwRefill;
    }

    /// `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, window: &Window, sample: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(sample.delivery_rate);
        self.phase = Phase::ProbeBwUp;
        self.long_term.raise_slope(window.cwnd, window.mss);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw(&mut self, window: &Window, sample: &Sample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(window, sample) {
            return;
        }
        let phase = self.phase;
        match phase {
            Phase::ProbeBwDown | Phase::ProbeBwCruise if self.is_time_to_probe_bw(window, sample.now) => {
                self.start_probe_bw_refill();
            }
            Phase::ProbeBwDown if self.is_time_to_cruise(window) => self.phase = Phase::ProbeBwCruise,
            Phase::ProbeBwRefill if self.rounds.start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_probe_bw_up(window, sample);
            }
            Phase::ProbeBwUp if self.is_time_to_go_down(window, sample) => {
                self.cycle.prev_probe_too_high = false;
                self.start_probe_bw_down(sample.now);
            }
            Phase::ProbeBwDown | Phase::ProbeBwCruise | Phase::ProbeBwRefill | Phase::ProbeBwUp => {}
            Phase::Startup | Phase::Drain | Phase::ProbeRtt => {}
        }
    }

    fn is_time_to_probe_bw(&self, window: &Window, now: Time) -> bool {
        let target = self.target_inflight(window) / window.mss;
        self.cycle.is_time_to_probe(&self.params, now, target)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, window: &Window) -> bool {
        let pipe = window.pipe as f64;
        pipe <= self.long_term.with_headroom(&self.params, window.mss)
            && pipe <= self.inflight(window, self.max_bw.get(), 1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, window: &Window, sample: &Sample) -> bool {
        // Precautionary Bandwidth Probing: Deceleration. A flight to which no packet can be added is at the bound.
        let reached = sample.flight_before + window.mss > self.long_term.inflight;
        if self.cycle.prev_probe_too_high && reached {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_limited_by_long_term(window) {
            self.full_pipe.reset(sample.delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    /// Whether `inflight_longterm` keeps the flight from growing.
    fn is_limited_by_long_term(&self, window: &Window) -> bool {
        self.is_cwnd_limited() && window.cwnd >= self.long_term.inflight
    }

    /// `C.is_cwnd_limited`: the window was full within the last round trip.
    fn is_cwnd_limited(&self) -> bool {
        self.limited_in + 1 >= self.rounds.count
    }

    /// `AdaptLongTermModel`: whether it has decided on a phase.
    fn adapt_long_term_model(&mut self, window: &Window, sample: &Sample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.start && self.end_feedback(sample) {
            return true;
        }
        if self.is_inflight_too_high(sample.lost, sample.tx_in_flight) || !self.long_term.is_set() {
            return false;
        }
        self.long_term.inflight = self.long_term.inflight.max(sample.tx_in_flight);
        if self.phase == Phase::ProbeBwUp {
            self.probe_inflight_long_term_upward(window, sample);
        }
        false
    }

    /// The last packet that probed is acknowledged. Whether the next probe begins at once.
    fn end_feedback(&mut self, sample: &Sample) -> bool {
        self.cycle.is_bw_probe_sample = false;
        self.cycle.ack_phase = AckPhase::Init;
        if self.phase.is_probe_bw() && !sample.app_limited {
            self.max_bw.advance();
        }
        // Precautionary Bandwidth Probing: Acceleration.
        let safe = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
        if self.phase.is_probe_bw() && safe {
            self.start_probe_bw_refill();
            return true;
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_long_term_upward(&mut self, window: &Window, sample: &Sample) {
        if !self.is_limited_by_long_term(window) {
            return;
        }
        self.long_term.grow(sample.newly_acked, window.mss);
        if self.rounds.start {
            self.long_term.raise_slope(window.cwnd, window.mss);
        }
    }
}
