//! The steps when a packet leaves, is acknowledged or is lost (section "Algorithm Organization").

use super::{
    Bbr3Law, Cycle, ExtraAcked, FullPipe, LongTerm, Losses, MaxBw, MinRtt, Note, Params, Phase, ProbeRtt,
    Sample, Sending, ShortTerm, Undo,
};
use crate::bbr::delivery_rate::DeliveryRate;
use crate::bbr::recovery::Rescue;
use crate::bbr::rounds::Rounds;
use crate::bbr::shared::{assigned_bandwidth, share_of};
use crate::observe::state_variables;
use crate::window::{Ack, Cause, Law, Marks, Sent, Window};
use crate::{Assigned, PacketResult, SentPacket, Status};
use paceline_units::{Bitrate, Time, TimeDelta};

impl Bbr3Law {
    /// The first packet leaves.
    fn begin(&mut self, window: &Window, now: Time) {
        self.begun = true;
        self.min_rtt.begin(now);
        self.extra_acked.restart(now);
        self.pacing_rate = Some(self.first_pacing_rate(window, None));
    }

    /// `HandleRestartFromIdle`.
    fn restart_from_idle(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.extra_acked.restart(now);
        if self.phase.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.phase == Phase::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }

    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, window: &mut Window, sample: &Sample) {
        let delivered = self.rate.delivered;
        self.signals.update(delivered, sample);
        self.update_congestion_signals(window, sample);
        let (filled, round) = (self.full_pipe.reached, self.rounds.count);
        self.extra_acked.update(sample.now, sample.newly_acked, self.bw, window.cwnd, filled, round);
        self.full_pipe.check(&self.params, self.rounds.start, sample);
        self.check_startup_done(window, sample);
        self.check_drain_done(window, sample.now);
        self.update_probe_bw(window, sample);
        self.min_rtt.update(sample.now, sample.rtt);
        self.check_probe_rtt(window, sample);
        self.signals.advance(sample);
        self.bw = self.max_bw.get().min(self.short_term.bw);
    }

    /// `UpdateCongestionSignals`, with `UpdateMaxBw` and `UpdateRound`.
    fn update_congestion_signals(&mut self, window: &Window, sample: &Sample) {
        self.rounds.on_sample(self.rate.delivered, sample.prior_delivered);
        self.cycle.rounds_since_probe_up += u64::from(self.rounds.start);
        self.max_bw.update(sample);
        if self.signals.loss_round_start {
            self.adapt_lower_bounds(window);
            self.signals.is_loss_in_round = false;
        }
    }

    /// Whatever the window was raised to, the model bounds it.
    fn settle(&mut self, window: &mut Window) {
        self.set_cwnd(window, 0.0);
    }
}

impl Law for Bbr3Law {
    type Params = Params;
    type Note = Note;
    const MARKS: Marks = Marks::BesideLoss;
    const WINDOW_IS_STATE: bool = false;
    const RULES_RECOVERY: bool = true;
    const HEARS_LOST_PACKETS: bool = true;

    fn new(params: &Params, window: &mut Window) -> Bbr3Law {
        // The pace is the model's: a pause ends with no burst.
        window.restart_after_idle = false;
        Bbr3Law {
            rate: DeliveryRate::default(),
            rounds: Rounds::default(),
            max_bw: MaxBw::new(params),
            min_rtt: MinRtt::new(params),
            extra_acked: ExtraAcked::new(params),
            full_pipe: FullPipe::default(),
            signals: super::CongestionSignals::default(),
            short_term: ShortTerm::UNLIMITED,
            long_term: LongTerm::new(),
            cycle: Cycle::new(),
            probe_rtt: ProbeRtt::default(),
            losses: Losses::default(),
            undo: Undo::NOTHING,
            rescue: Rescue::default(),
            phase: Phase::Startup,
            bw: 0.0,
            pacing_rate: None,
            paced_by_rtt: false,
            idle_restart: false,
            drain_start_round: 0,
            limited_in: 0,
            begun: false,
            coupled: false,
            params: params.clone(),
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, packet: &SentPacket) -> Note {
        if !self.begun {
            self.begin(window, now);
        }
        if window.pipe == 0 && self.rate.is_app_limited() {
            self.restart_from_idle(window, now);
        }
        let pipe = window.pipe.saturating_add(packet.size.as_u64());
        let note =
            self.rate.on_sent(now, window.pipe, Sending { tx_in_flight: pipe, lost: self.losses.lost });
        if packet.app_limited && (pipe as f64) < window.cwnd {
            self.rate.note_app_limited(pipe);
        }
        if pipe as f64 + window.mss > window.cwnd {
            self.limited_in = self.rounds.count;
        }
        note
    }

    #[inline]
    fn on_delivered(&mut self, window: &Window, now: Time, packet: &PacketResult, sent: &Sent<Note>) {
        self.rate.on_delivered(now, sent);
        // Section "ECN": a mark is congestion. Without a response of its own it is taken for a loss.
        if matches!(packet.status, Status::Received { ecn, .. } if ecn.is_ce()) {
            self.handle_lost_packet(window, now, packet.sequence, sent);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(sample) = self.rate.sample(self.min_rtt.ever.unwrap_or(TimeDelta::ZERO)) else { return };
        let sample = self.sample(&sample, ack);
        if self.rescue.after_timeout && ack.newest >= window.reduced_until {
            self.rescue.restore(window);
        }
        if let (false, Some(rtt)) = (self.paced_by_rtt, ack.rtt.filter(|rtt| *rtt > TimeDelta::ZERO)) {
            self.paced_by_rtt = true;
            self.pacing_rate = Some(self.first_pacing_rate(window, Some(rtt.as_secs_f64())));
        }
        self.update_model_and_state(window, &sample);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(window, sample.newly_acked);
    }

    /// `OnEnterFastRecovery`. Marks were answered packet by packet.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        match cause {
            Cause::Loss => self.save_state_upon_loss(window),
            Cause::Mark => {}
        }
    }

    fn on_packet_lost(&mut self, window: &Window, now: Time, sequence: u64, sent: &Sent<Note>) {
        self.lose(window, now, sequence, sent);
    }

    fn on_lost(&mut self, window: &mut Window, bytes: u64) {
        self.lose_rest(window, bytes);
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.rescue.restore(window);
        self.settle(window);
    }

    /// `OnEnterRTO`: nothing is in flight, and a packet may be.
    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        if again || self.is_recovering(window) {
            self.save_cwnd(window);
        } else {
            self.save_state_upon_loss(window);
        }
        self.rescue.after_timeout = true;
        window.set(window.mss);
    }

    fn undo(&mut self, window: &mut Window) {
        self.handle_spurious_loss(window);
        self.settle(window);
    }

    fn share(&self) -> Option<Assigned> {
        share_of(self.max_bw.get())
    }

    fn on_assigned(&mut self, window: &mut Window, assigned: Assigned) {
        if let Some(bw) = assigned_bandwidth(assigned, window) {
            self.coupled = true;
            self.max_bw.assign(bw);
            self.short_term = ShortTerm::UNLIMITED;
            self.bw = self.max_bw.get();
            self.pacing_rate = Some(self.pacing_gain() * self.bw);
            window.set(self.max_inflight(window));
        }
        window.ssthresh = f64::INFINITY;
    }

    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        let rate = self.pacing_rate.unwrap_or_else(|| self.first_pacing_rate(window, None));
        Some(Bitrate::from_bps_f64(rate * 8.0).max(Bitrate::from_bps(1)))
    }

    state_variables! { |self, _window|
        bw: "Mbps" = Some(self.bw * 8e-6).filter(|bw| *bw > 0.0), "Bandwidth that the model permits";
        min_rtt: "ms" = self.min_rtt.min_rtt.map(TimeDelta::as_millis_f64), "Round trip without a queue by its estimate";
        phase: "" = f64::from(self.phase as u8), "0 Startup, 1 Drain, 2 to 5 ProbeBW_DOWN, CRUISE, REFILL and UP, 6 ProbeRTT";
        max_bw: "Mbps" = Some(self.max_bw.get() * 8e-6).filter(|bw| *bw > 0.0), "Bandwidth of the bottleneck by its estimate";
        bw_shortterm: "Mbps" = Some(self.short_term.bw * 8e-6).filter(|bw| bw.is_finite()), "Bandwidth that is safe by the losses of this cycle; absent without";
        inflight_shortterm: "B" = Some(self.short_term.inflight).filter(|bytes| bytes.is_finite()), "Flight that is safe by the losses of this cycle; absent without";
        inflight_longterm: "B" = Some(self.long_term.inflight).filter(|bytes| bytes.is_finite()), "Flight beyond which a probe lost too much; absent if none did";
        extra_acked: "B" = self.extra_acked.get(), "Degree of aggregation by its estimate";
        pacing_gain: "" = self.pacing_gain(), "Pace over bandwidth";
        cwnd_gain: "" = self.cwnd_gain(), "Window over bandwidth x round trip";
        pacing_rate: "Mbps" = self.pacing_rate.map(|rate| rate * 8e-6), "Pace; absent before the first packet";
        round: "" = self.rounds.count as f64, "Round trips so far";
    }
}
