//! The steps on an acknowledgement: the model, the phases, the pace and the window.

use super::delivery_rate::{DeliveryRate, Note};
use super::model::Model;
use super::recovery::Rescue;
use super::shared::{assigned_bandwidth, share_of};
use super::{BbrLaw, Params, Phase};
use crate::draw::drawn;
use crate::observe::state_variables;
use crate::window::{Ack, Cause, Law, Marks, Sent, Window};
use crate::{Assigned, PacketResult, SentPacket};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Number of phases in the cycle of gains.
const CYCLE: usize = 8;
/// Before a round trip is known the first window leaves as if it were so long.
const FIRST_RTT: f64 = 1e-3;

impl BbrLaw {
    /// Bytes that `gain` times the path holds, and room for three bursts of the pacer; the first window before the
    /// path is known.
    fn inflight(&self, window: &Window, gain: f64) -> f64 {
        match self.model.bdp() {
            Some(bdp) => gain * bdp + 3.0 * self.send_quantum(window),
            None => window.initial,
        }
    }

    /// A burst: one packet below 1.2 Mbit/s, two below 24 Mbit/s, else a millisecond, at most 64 KB.
    fn send_quantum(&self, window: &Window) -> f64 {
        match self.pacing_rate.unwrap_or(0.0) {
            rate if rate < 150_000.0 => window.mss,
            rate if rate < 3_000_000.0 => 2.0 * window.mss,
            rate => (rate * 1e-3).min(64e3),
        }
    }

    fn min_cwnd(&self, window: &Window) -> f64 {
        self.params.min_cwnd as f64 * window.mss
    }

    fn check_full_pipe(&mut self, app_limited: bool) {
        if self.filled || !self.model.rounds.start || app_limited {
            return;
        }
        let bw = self.model.bw();
        if bw >= self.full_bw * self.params.full_bw_growth {
            (self.full_bw, self.full_bw_count) = (bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled = self.full_bw_count >= self.params.full_bw_rounds;
    }

    fn check_drain(&mut self, window: &Window, now: Time) {
        if self.phase == Phase::Startup && self.filled {
            self.phase = Phase::Drain;
            (self.pacing_gain, self.cwnd_gain) = (1.0 / self.params.high_gain, self.params.high_gain);
        }
        if self.phase == Phase::Drain && window.pipe as f64 <= self.inflight(window, 1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// In any phase but the one with less. Which one follows from what was delivered: flows differ in it, and the same
    /// run repeats itself.
    fn enter_probe_bw(&mut self, now: Time) {
        self.phase = Phase::ProbeBw;
        self.cwnd_gain = self.params.cwnd_gain;
        let drawn = drawn(self.rate.delivered) % (CYCLE as u32 - 1);
        self.cycle = if drawn == 0 { 0 } else { drawn as usize + 1 };
        self.cycle_began = now;
        self.pacing_gain = self.cycle_gain();
    }

    fn check_cycle(&mut self, window: &Window, ack: &Ack) {
        if self.phase != Phase::ProbeBw {
            return;
        }
        let rtprop = self.model.rtprop.unwrap_or(TimeDelta::MAX);
        let long = ack.now.saturating_since(self.cycle_began) > rtprop;
        let before = ack.flight_before as f64;
        let over = match self.pacing_gain {
            // More until a queue has formed, or something was lost of it.
            gain if gain > 1.0 => long && (self.lost > 0 || before >= self.inflight(window, gain)),
            // Less until it is gone.
            gain if gain < 1.0 => long || before <= self.inflight(window, 1.0),
            _ => long,
        };
        if over {
            self.cycle = (self.cycle + 1) % CYCLE;
            self.cycle_began = ack.now;
            self.pacing_gain = self.cycle_gain();
        }
    }

    fn check_probe_rtt(&mut self, window: &mut Window, now: Time) {
        if self.phase != Phase::ProbeRtt && self.model.rtprop_expired && !self.idle_restart {
            self.phase = Phase::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.rescue.save(window, window.recovering || self.rescue.after_timeout);
            self.probe_rtt_done = None;
        }
        self.idle_restart = false;
        if self.phase == Phase::ProbeRtt {
            self.measure_rtt(window, now);
        }
    }

    fn measure_rtt(&mut self, window: &mut Window, now: Time) {
        // A small flight says nothing of the bandwidth.
        self.rate.note_app_limited(window.pipe);
        let Some(done) = self.probe_rtt_done else {
            if window.pipe as f64 <= self.min_cwnd(window) {
                self.probe_rtt_done = Some(now + self.params.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.model.rounds.restart(self.rate.delivered);
            }
            return;
        };
        self.probe_rtt_round_done |= self.model.rounds.start;
        if self.probe_rtt_round_done && now > done {
            self.model.rtprop_at = now;
            self.rescue.restore(window);
            if self.filled {
                self.enter_probe_bw(now);
            } else {
                self.phase = Phase::Startup;
                (self.pacing_gain, self.cwnd_gain) = (self.params.high_gain, self.params.high_gain);
            }
        }
    }

    /// The bandwidth times `gain`, less the margin.
    fn pace(&self, gain: f64) -> f64 {
        gain * self.model.bw() * (100.0 - self.params.pacing_margin_percent) / 100.0
    }

    /// Sets the pace for `gain`. Startup never slows down.
    fn set_pace(&mut self, gain: f64) {
        let rate = self.pace(gain);
        if rate > 0.0 && (self.filled || self.pacing_rate.is_none_or(|before| rate > before)) {
            self.pacing_rate = Some(rate);
        }
    }

    fn set_cwnd(&mut self, window: &mut Window, ack: &Ack) {
        let delivered = ack.delivered as f64;
        self.lost = 0;
        if window.recovering && self.rescue.conserving {
            window.set(window.cwnd.max(window.pipe as f64 + delivered));
        } else {
            let target = self.inflight(window, self.cwnd_gain);
            let cwnd = window.cwnd + delivered;
            if self.filled {
                window.set(cwnd.min(target));
            } else if window.cwnd < target || (self.rate.delivered as f64) < window.initial {
                window.set(cwnd);
            }
            window.set(window.cwnd.max(self.min_cwnd(window)));
        }
        if self.phase == Phase::ProbeRtt {
            window.set(window.cwnd.min(self.min_cwnd(window)));
        }
    }

    fn check_recovery(&mut self, window: &mut Window, ack: &Ack) {
        if self.model.rounds.start {
            self.rescue.conserving = false;
        }
        if self.rescue.after_timeout && ack.newest >= window.reduced_until {
            self.rescue.restore(window);
        }
    }
}

impl Law for BbrLaw {
    type Params = Params;
    type Note = Note;
    const MARKS: Marks = Marks::Ignored;
    const WINDOW_IS_STATE: bool = false;
    const RULES_RECOVERY: bool = true;

    fn new(params: &Params, window: &mut Window) -> BbrLaw {
        // The pace is the model's: a pause ends with no burst.
        window.restart_after_idle = false;
        BbrLaw {
            rate: DeliveryRate::default(),
            model: Model::new(params),
            rescue: Rescue::default(),
            phase: Phase::Startup,
            pacing_gain: params.high_gain,
            cwnd_gain: params.high_gain,
            pacing_rate: None,
            cycle: 0,
            cycle_began: Time::ZERO,
            full_bw: 0.0,
            full_bw_count: 0,
            filled: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            lost: 0,
            params: params.clone(),
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, packet: &SentPacket) -> Note {
        if self.pacing_rate.is_none() {
            self.pacing_rate = Some(self.params.high_gain * window.initial / FIRST_RTT);
        }
        if window.pipe == 0 && self.rate.is_app_limited() {
            self.idle_restart = true;
            if self.phase == Phase::ProbeBw {
                self.set_pace(1.0);
            }
        }
        let note = self.rate.on_sent(now, window.pipe, ());
        let pipe = window.pipe.saturating_add(packet.size.as_u64());
        if packet.app_limited && (pipe as f64) < window.cwnd {
            self.rate.note_app_limited(pipe);
        }
        note
    }

    #[inline]
    fn on_delivered(&mut self, _window: &Window, now: Time, _packet: &PacketResult, sent: &Sent<Note>) {
        self.rate.on_delivered(now, sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(sample) = self.rate.sample(self.model.rtprop.unwrap_or(TimeDelta::ZERO)) else { return };
        self.model.on_sample(self.rate.delivered, &sample);
        self.check_recovery(window, ack);
        self.check_cycle(window, ack);
        self.check_full_pipe(sample.app_limited);
        self.check_drain(window, ack.now);
        self.model.on_rtt(ack.now, ack.rtt);
        self.check_probe_rtt(window, ack.now);
        self.set_pace(self.pacing_gain);
        self.set_cwnd(window, ack);
    }

    /// Recovery begins: as much in flight as there is, and a packet.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, _cause: Cause) {
        self.rescue.save(window, self.phase == Phase::ProbeRtt || self.rescue.after_timeout);
        self.rescue.conserving = true;
        self.model.rounds.restart(self.rate.delivered);
    }

    fn on_lost(&mut self, window: &mut Window, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
        if self.rescue.conserving {
            let conserved = window.pipe as f64 + window.mss;
            window.set(conserved.min(window.cwnd));
        } else if window.recovering {
            window.set(window.cwnd - bytes as f64);
        }
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.rescue.restore(window);
        self.limit_in_probe_rtt(window);
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        let nested = again || window.recovering || self.rescue.after_timeout || self.phase == Phase::ProbeRtt;
        self.rescue.save(window, nested);
        (self.rescue.conserving, self.rescue.after_timeout) = (false, true);
        window.set(window.mss);
    }

    fn undo(&mut self, window: &mut Window) {
        self.rescue.restore(window);
        self.limit_in_probe_rtt(window);
    }

    fn share(&self) -> Option<Assigned> {
        share_of(self.model.bw())
    }

    fn on_assigned(&mut self, window: &mut Window, assigned: Assigned) {
        if let Some(bw) = assigned_bandwidth(assigned, window) {
            self.model.assign(bw);
            self.pacing_rate = Some(self.pace(self.pacing_gain));
            window.set(self.inflight(window, self.cwnd_gain));
        }
        window.ssthresh = f64::INFINITY;
    }

    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        let first = self.params.high_gain * window.initial / FIRST_RTT;
        let rate = self.pacing_rate.unwrap_or(first);
        Some(Bitrate::from_bps_f64(rate * 8.0).max(Bitrate::from_bps(1)))
    }

    state_variables! { |self, _window|
        bw: "Mbps" = Some(self.model.bw() * 8e-6).filter(|bw| *bw > 0.0), "Bandwidth of the bottleneck by its estimate";
        min_rtt: "ms" = self.model.rtprop.map(TimeDelta::as_millis_f64), "Round trip without a queue by its estimate";
        phase: "" = f64::from(self.phase as u8), "0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT";
        pacing_gain: "" = self.pacing_gain, "Pace over bandwidth";
        cwnd_gain: "" = self.cwnd_gain, "Window over bandwidth x round trip";
        pacing_rate: "Mbps" = self.pacing_rate.map(|rate| rate * 8e-6), "Pace; absent before the first packet";
        round: "" = self.model.rounds.count as f64, "Round trips so far";
    }
}

impl BbrLaw {
    fn limit_in_probe_rtt(&self, window: &mut Window) {
        if self.phase == Phase::ProbeRtt {
            window.set(window.cwnd.min(self.min_cwnd(window)));
        }
    }
}
