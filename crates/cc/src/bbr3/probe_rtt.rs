//! ProbeRTT (section "ProbeRTT Logic").

use super::cycle::AckPhase;
use super::short_term::ShortTerm;
use super::{Bbr3Law, Phase, Sample};
use crate::window::Window;
use paceline_units::Time;

/// How far ProbeRTT is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct ProbeRtt {
    /// It ends then, absent until the flight is small.
    done_stamp: Option<Time>,
    /// Whether a round trip has gone by with the small flight.
    round_done: bool,
}

impl Bbr3Law {
    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        if self.phase != Phase::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.phase = Phase::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt = ProbeRtt::default();
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.phase == Phase::ProbeRtt {
            self.handle_probe_rtt(window, sample.now);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, window: &mut Window, now: Time) {
        // A small flight says nothing of the bandwidth.
        self.rate.note_app_limited(window.pipe);
        if self.probe_rtt.done_stamp.is_some() {
            self.probe_rtt.round_done |= self.rounds.start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(window, now);
            }
        } else if window.pipe as f64 <= self.probe_rtt_cwnd(window) {
            let done_stamp = Some(now + self.params.probe_rtt_duration);
            self.probe_rtt = ProbeRtt { done_stamp, round_done: false };
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt.done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_rtt_min_stamp = now;
        self.rescue.restore(window);
        self.short_term = ShortTerm::UNLIMITED;
        if self.full_pipe.reached {
            self.start_probe_bw_down(now);
            self.phase = Phase::ProbeBwCruise;
        } else {
            self.phase = Phase::Startup;
        }
    }
}
