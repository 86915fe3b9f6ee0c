//! The states, and what leads from one to the next (draft-huitema-ccwg-c4-spec-04, States and Transition).

use super::{C4Law, Growth, Signal, State};
use crate::window::{Ack, Window};

impl C4Law {
    /// A new era begins with the next packet.
    fn begin_era(&mut self, window: &Window) {
        self.era = window.next;
        self.trips.begin_era();
        self.alpha_before = self.alpha;
        self.marks.update(&self.params);
    }

    /// Growth is judged from now on.
    fn note_rate(&mut self) {
        (self.congested, self.used) = (false, false);
        self.grows_from = (self.nominal, self.alpha);
    }

    /// A small step up cannot be told from noise: then any growth without congestion counts.
    fn growth(&self) -> Growth {
        let (from, alpha) = self.grows_from;
        if alpha <= self.params.alpha_probing {
            let grew = self.nominal > from && !self.congested;
            return if grew { Growth::Fast } else { Growth::None };
        }
        let reaches = |part: f64| self.nominal >= from * (1.0 + part * (alpha - 1.0));
        match (reaches(self.params.growth_slow), reaches(self.params.growth_fast)) {
            (_, true) => Growth::Fast,
            (true, false) => Growth::Slow,
            (false, false) => Growth::None,
        }
    }

    fn enter_initial(&mut self, window: &Window) {
        (self.state, self.alpha) = (State::Initial, self.params.alpha_initial);
        (self.initial_cwnd, self.initial_acks, self.flat_eras) = (window.cwnd, 0, 0);
        (self.growths, self.after_marks, self.marks.ratio) = (0, false, 0.0);
        self.begin_era(window);
        self.note_rate();
    }

    /// Section "Initial state", last paragraph: the round trip of half the window is the longest without a queue.
    pub(super) fn end_initial(&mut self, window: &Window) {
        if self.nominal > 0.0 {
            self.trips.set_nominal_max(&self.params, 0.5 * self.initial_cwnd / self.nominal);
            (self.flat_eras, self.growths) = (0, 0);
            self.note_rate();
            self.enter_recovery(window);
        }
    }

    /// A delay or marks end the initial state after two eras without growth.
    pub(super) fn end_initial_if_flat(&mut self, window: &Window) {
        if self.flat_eras > 1 && self.grows_from.0 >= self.nominal {
            self.end_initial(window);
        }
    }

    fn enter_recovery(&mut self, window: &Window) {
        let drains = matches!(self.state, State::Initial | State::Pushing);
        self.begin_era(window);
        self.state = State::Recovery;
        self.alpha = if drains { self.params.alpha_drain } else { self.params.alpha_recovery };
    }

    fn enter_cruising(&mut self, window: &Window) {
        self.begin_era(window);
        if self.cruise_left == 0 {
            self.cruise_left = if self.after_marks { 1 } else { self.params.cruise_eras };
        }
        let is_short = window.round_trip.seconds() < self.params.max_rtt_min.as_secs_f64();
        self.alpha = if is_short { self.params.alpha_cruising_short } else { 1.0 };
        self.state = State::Cruising;
    }

    fn enter_probing(&mut self, window: &Window) {
        self.alpha = if self.after_marks { self.params.alpha_probing_ce } else { self.params.alpha_probing };
        self.grows_from.1 = self.alpha;
        self.begin_era(window);
        self.state = State::Probing;
    }

    fn enter_pushing(&mut self, window: &Window) {
        (self.state, self.alpha, self.flat_eras) = (State::Pushing, self.params.alpha_pushing, 0);
        self.note_rate();
        self.begin_era(window);
    }

    /// A signal beyond its threshold reduces the nominal rate by a part, unless the packets left faster than that.
    pub(super) fn on_signal(&mut self, window: &Window, signal: Signal, part: f64) {
        self.congested = true;
        if signal != Signal::Delay {
            self.trips.excess = 0.0;
        }
        match self.state {
            State::Recovery => {
                if self.params.alpha_recovery_congested < self.alpha {
                    self.alpha = self.params.alpha_recovery_congested;
                    self.era = window.next;
                }
                self.after_marks |= signal == Signal::Mark;
                return;
            }
            State::Cruising => {
                self.nominal *= 1.0 - part;
                if signal == Signal::Loss {
                    self.trips.set_nominal_max(&self.params, self.trips.nominal_max * (1.0 - part));
                }
            }
            State::Initial | State::Probing | State::Pushing => {}
        }
        self.after_marks = signal == Signal::Mark;
        self.enter_recovery(window);
    }

    fn exit_recovery(&mut self, window: &Window) {
        if self.growth() > Growth::None {
            self.growths += u64::from(!self.after_marks);
            self.congestions = 0;
        } else {
            if self.used {
                self.growths = 0;
            }
            self.heed_congestion();
        }
        self.recent = 0.0;
        self.note_rate();
        (self.trips.excess, self.losses.rate, self.marks.ratio) = (0.0, 0.0, 0.0);
        match self.growths {
            0 => self.enter_cruising(window),
            growths if growths < self.params.growths_most => self.enter_pushing(window),
            _ => self.enter_initial(window),
        }
    }

    /// Sections "Reaction to persistent congestion" and "Trimming an overestimated nominal rate".
    fn heed_congestion(&mut self) {
        let over = (self.nominal - self.recent).max(0.0);
        let is_known = self.recent > 0.0;
        if self.congested {
            self.congestions += 1;
            if self.congestions >= self.params.congestions && is_known {
                self.nominal -= over;
            }
        } else {
            self.congestions = 0;
            if self.used && is_known {
                self.nominal -= self.params.trim * over;
            }
        }
    }

    /// An acknowledgement, after its signals.
    pub(super) fn on_progress(&mut self, window: &Window, ack: &Ack) {
        let ends = ack.newest >= self.era;
        if self.state == State::Initial {
            self.initial_acks += 1;
            let shift = libm::pow(8.0, self.flat_eras as f64);
            self.initial_cwnd += ack.delivered as f64 / shift;
            if ends {
                self.end_initial_era(window);
            }
        } else if ends {
            if self.alpha_before <= 1.0 {
                self.trips.end_calm_era(&self.params);
            }
            if self.is_restarted_by_jitter() {
                self.restarts -= 1;
                self.enter_initial(window);
            } else {
                self.end_era(window);
            }
        } else if self.state == State::Pushing && self.growth() == Growth::Fast {
            self.push_on(window);
        }
    }

    fn end_initial_era(&mut self, window: &Window) {
        if self.growth() > Growth::None {
            self.flat_eras = 0;
        } else if self.used && self.nominal > 0.0 {
            self.flat_eras += 1;
        }
        self.begin_era(window);
        if self.flat_eras >= self.params.initial_eras {
            self.end_initial(window);
        } else {
            self.note_rate();
        }
    }

    /// Section "Restarting Initial if High Jitter".
    fn is_restarted_by_jitter(&self) -> bool {
        let (least, most) = (self.trips.running_min, self.trips.nominal_max);
        self.restarts > 0
            && most > self.params.restart_max_rtt.as_secs_f64()
            && self.nominal < self.params.restart_rate.as_bps_f64() / 8.0
            && least < self.params.restart_part * most
    }

    fn end_era(&mut self, window: &Window) {
        match self.state {
            State::Recovery => self.exit_recovery(window),
            State::Cruising => {
                self.cruise_left = self.cruise_left.saturating_sub(1);
                self.begin_era(window);
                if self.cruise_left == 0 && self.limited_at.is_none_or(|at| self.newest > at) {
                    self.enter_probing(window);
                }
            }
            State::Pushing if self.growth() == Growth::Fast => self.push_on(window),
            State::Pushing => {
                self.flat_eras += 1;
                if self.flat_eras >= self.params.push_eras {
                    self.enter_recovery(window);
                } else {
                    self.begin_era(window);
                }
            }
            State::Initial | State::Probing => self.enter_recovery(window),
        }
    }

    fn push_on(&mut self, window: &Window) {
        self.note_rate();
        self.begin_era(window);
        self.flat_eras = 0;
    }
}
