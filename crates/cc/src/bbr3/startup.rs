//! Startup and Drain, and how they end (sections "Startup" and "Drain").

use super::{Bbr3Law, Phase, Sample};
use crate::window::Window;
use paceline_units::Time;

impl Bbr3Law {
    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, window: &Window, sample: &Sample) {
        self.check_startup_high_loss(window, sample);
        if self.phase == Phase::Startup && self.full_pipe.reached {
            self.phase = Phase::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// Section "Exiting Startup Based on Packet Loss": a round trip in recovery with enough holes and too much lost.
    fn check_startup_high_loss(&mut self, window: &Window, sample: &Sample) {
        let (round, holes) = (self.signals.loss_round_start, self.losses.holes);
        if round {
            self.losses.holes = 0;
        }
        if self.phase != Phase::Startup || self.full_pipe.reached || !window.recovering {
            return;
        }
        let too_high = match self.params.has_selective_acks {
            true => {
                round
                    && holes >= self.params.startup_full_loss_cnt
                    && self.is_inflight_too_high(sample.lost, sample.tx_in_flight)
            }
            false => holes > 0,
        };
        if too_high {
            self.undo.phase = Some(Phase::Startup);
            (self.full_pipe.now, self.full_pipe.reached) = (true, true);
            self.long_term.inflight = self.bdp().max(self.signals.inflight_latest);
        }
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, window: &Window, now: Time) {
        if self.phase != Phase::Drain {
            return;
        }
        let late = self.rounds.count > self.drain_start_round + self.params.drain_rounds;
        if late || window.pipe as f64 <= self.inflight(window, self.bw, 1.0) {
            self.start_probe_bw_down(now);
        }
    }
}
