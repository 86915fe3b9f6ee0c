//! The effect of a lost packet, and its undoing if it was not lost (sections "Updating the Model Upon Packet Loss" and
//! "Updating the Model Upon Detecting a Spurious Loss Recovery").

use super::short_term::ShortTerm;
use super::{Bbr3Law, Note, Phase};
use crate::window::{Sent, Window};
use paceline_units::Time;

/// The count of what was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Losses {
    /// `C.lost`, bytes.
    pub lost: u64,
    /// Runs of lost packets in this round of losses.
    pub holes: u64,
    /// Number of the packet behind the last that was lost.
    behind: u64,
    /// Bytes that were counted packet by packet since the transport last said how many.
    counted: u64,
}

impl Losses {
    /// Bytes lost since so many were.
    pub fn since(&self, lost: u64) -> f64 {
        self.lost.saturating_sub(lost) as f64
    }

    fn count(&mut self, sequence: u64, size: u64) {
        self.lost = self.lost.saturating_add(size);
        self.holes = self.holes.saturating_add(u64::from(sequence != self.behind || self.holes == 0));
        self.behind = sequence.saturating_add(1);
    }

    /// The transport declared so many bytes lost: how many of them belong to no packet that was told.
    fn rest(&mut self, bytes: u64) -> u64 {
        let rest = bytes.saturating_sub(core::mem::take(&mut self.counted));
        self.lost = self.lost.saturating_add(rest);
        rest
    }
}

/// Values that the loss of a round trip may have changed for nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Undo {
    /// `BBR.undo_state`: the phase that a loss has ended.
    pub phase: Option<Phase>,
    short_term: ShortTerm,
    inflight_long_term: f64,
}

impl Undo {
    pub const NOTHING: Undo =
        Undo { phase: None, short_term: ShortTerm { bw: 0.0, inflight: 0.0 }, inflight_long_term: 0.0 };
}

impl Bbr3Law {
    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * self.params.loss_thresh || (lost > 0.0 && !self.params.has_selective_acks)
    }

    /// `InLossRecovery`.
    pub(super) fn is_recovering(&self, window: &Window) -> bool {
        window.recovering || self.rescue.after_timeout
    }

    /// `NoteLoss`. In a recovery the state was saved as it began.
    fn note_loss(&mut self, window: &Window) {
        if self.signals.note_loss(self.rate.delivered) && !self.is_recovering(window) {
            self.save_state_upon_loss(window);
        }
    }

    /// A packet is told lost.
    pub(super) fn lose(&mut self, window: &Window, now: Time, sequence: u64, sent: &Sent<Note>) {
        self.losses.counted = self.losses.counted.saturating_add(sent.size);
        self.handle_lost_packet(window, now, sequence, sent);
    }

    /// The transport declared so many bytes lost, whose packets were told as far as they are known.
    pub(super) fn lose_rest(&mut self, window: &Window, bytes: u64) {
        if self.losses.rest(bytes) > 0 {
            self.note_loss(window);
        }
    }

    /// `HandleLostPacket`, of one that was lost or came marked.
    pub(super) fn handle_lost_packet(
        &mut self,
        window: &Window,
        now: Time,
        sequence: u64,
        sent: &Sent<Note>,
    ) {
        self.losses.count(sequence, sent.size);
        self.note_loss(window);
        if !self.cycle.is_bw_probe_sample {
            return;
        }
        let tx_in_flight = sent.note.extra.tx_in_flight as f64;
        let lost = self.losses.since(sent.note.extra.lost);
        if self.is_inflight_too_high(lost, tx_in_flight) {
            let at_loss = self.inflight_at_loss(sent.size as f64, tx_in_flight, lost);
            self.handle_inflight_too_high(window, now, at_loss, sent.note.app_limited);
        }
    }

    /// `InflightAtLoss`: the flight at which the losses crossed the threshold, somewhere within the packet.
    fn inflight_at_loss(&self, size: f64, tx_in_flight: f64, lost: f64) -> f64 {
        let (inflight_prev, lost_prev, thresh) = (tx_in_flight - size, lost - size, self.params.loss_thresh);
        inflight_prev + (thresh * inflight_prev - lost_prev) / (1.0 - thresh)
    }

    /// `HandleInflightTooHigh`: once for each probe.
    fn handle_inflight_too_high(&mut self, window: &Window, now: Time, at_loss: f64, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !app_limited {
            self.long_term.inflight = at_loss.max(self.target_inflight(window) * self.params.beta);
        }
        if self.phase == Phase::ProbeBwUp {
            self.undo.phase = Some(Phase::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, at the end of a round of losses.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        if !self.phase.is_probing() && self.signals.is_loss_in_round {
            self.short_term.lower(self.params.beta, &self.signals, self.max_bw.get(), window.cwnd);
        }
    }

    /// `SaveCwnd`.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        self.rescue.save(window, self.is_recovering(window) || self.phase == Phase::ProbeRtt);
    }

    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.undo =
            Undo { phase: None, short_term: self.short_term, inflight_long_term: self.long_term.inflight };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self, window: &mut Window) {
        self.rescue.restore(window);
        self.signals.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        let undo = self.undo;
        self.undo.phase = None;
        self.short_term.bw = self.short_term.bw.max(undo.short_term.bw);
        self.short_term.inflight = self.short_term.inflight.max(undo.short_term.inflight);
        self.long_term.inflight = self.long_term.inflight.max(undo.inflight_long_term);
        match undo.phase {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full_pipe.reached = false;
                if self.phase != Phase::ProbeRtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::ProbeBwUp) if !matches!(self.phase, Phase::ProbeBwUp | Phase::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
