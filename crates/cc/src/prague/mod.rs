//! Prague: DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control-04, RFC 9331 section 4.3). It answers marks in
//! proportion, as if its round trip were no shorter than 25 ms, is Reno after a loss, and Reno altogether where packets are
//! not ECT(1).
//!
//! Its transport tells each mark exactly. Differences from the sources are in DEVIATIONS.md beside this file and in
//! `window/DEVIATIONS.md`.

mod alpha;
mod classic_aqm;
mod faster;
mod params;
mod rounds;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::Marking;
use crate::observe::state_variables;
use crate::reno::{self, RenoLaw};
use crate::window::{Ack, Cause, Law, Marks, Window, WindowPacing, WindowSender};
use alpha::Alpha;
use classic_aqm::ClassicAqm;
use faster::Faster;
use paceline_units::{Bitrate, Time, TimeDelta};
use rounds::{Round, VirtualRtt};

/// The sender half. `assign` overwrites window and threshold, not alpha.
pub type Prague = WindowSender<PragueLaw>;

/// The window law of Prague.
#[derive(Clone, Debug)]
pub struct PragueLaw {
    params: Params,
    /// The law of losses, and of everything where marks are not L4S's.
    reno: RenoLaw,
    /// Whether packets are ECT(1), so that marks are answered in proportion.
    l4s: bool,
    alpha: Alpha,
    virtual_rtt: VirtualRtt,
    /// The round by which alpha is averaged.
    round: Round,
    /// The round in which marks reduce the window no more.
    reduced: Round,
    classic_aqm: ClassicAqm,
    faster: Faster,
    /// The part by which the pace is above a window in a round trip.
    swing: f64,
}

impl PragueLaw {
    /// Sections 2.3.2 and 2.4.4.
    fn estimate(&mut self, window: &Window, ack: &Ack) {
        self.alpha.count(ack);
        if self.params.classic_ecn_fallback {
            self.classic_aqm.sample(ack);
        }
        let virtual_rtt = self.virtual_rtt.get(window);
        if self.round.is_over(ack, virtual_rtt) {
            self.alpha.update();
            if self.params.classic_ecn_fallback && !self.alpha.waits() {
                self.classic_aqm.judge(&self.params);
            }
            if !window.in_slow_start() {
                self.virtual_rtt.count();
            }
            self.faster.count();
            self.round.begin(window, ack.now);
        }
        if self.params.pacing_swing > 0.0 {
            let first_half = self.round.age(ack.now).as_secs_f64() < virtual_rtt.as_secs_f64() / 2.0;
            let above = 1.0 + self.params.pacing_swing;
            self.swing = if first_half { above - 1.0 } else { 1.0 / above - 1.0 };
        }
    }

    /// Section 2.4.2: once per round, by half of alpha; or as if the queue were as Classic as it looks (section 3.3).
    fn answer_marks(&mut self, window: &mut Window, ack: &Ack) {
        let least = self.virtual_rtt.get(window);
        if ack.marked == 0 || window.recovering || !self.reduced.is_over(ack, least) {
            return;
        }
        let classic = self.params.classic_alpha * self.classic_aqm.certainty(&self.params);
        let part = self.alpha.value.max(if self.params.classic_ecn_fallback { classic } else { 0.0 }) / 2.0;
        self.faster.on_mark(&self.params, self.pace(window));
        // After a timeout the window may be smaller already.
        let smallest = (self.params.cwnd_min as f64 * window.mss).min(window.cwnd);
        window.set((window.cwnd * (1.0 - part)).max(smallest));
        window.ssthresh = window.cwnd;
        self.classic_aqm.adapt(window);
        self.reduced.begin(window, ack.now);
    }

    /// Section 2.4.3: what arrives unmarked adds its part of a packet, though marks reduce the window.
    fn grow(&self, window: &mut Window, ack: &Ack) {
        let unmarked = Ack { delivered: ack.delivered.saturating_sub(ack.marked), ..*ack };
        if window.in_slow_start() {
            return window.slow_start(&unmarked, self.params.l);
        }
        let increment = self.faster.increment(&self.params, window, self.pace(window));
        let scaled = increment * self.virtual_rtt.scale(window);
        let (cwnd, mss) = (window.cwnd + scaled * unmarked.delivered as f64 / window.cwnd, window.mss);
        window.grow(ack, cwnd, |flight| flight + mss);
    }

    /// The window in a round trip; nothing before the first round trip.
    fn pace(&self, window: &Window) -> Bitrate {
        let srtt = window.round_trip.seconds();
        if srtt > 0.0 { Bitrate::from_bps_f64(8.0 * window.cwnd / srtt) } else { Bitrate::ZERO }
    }

    /// The window that the least rate fills.
    fn keep_rate(&self, window: &mut Window) {
        let least = self.params.rate_min.as_bps_f64() / 8.0 * window.round_trip.seconds();
        if window.cwnd < least {
            window.set(least);
        }
    }
}

impl Law for PragueLaw {
    type Params = Params;
    type Note = ();
    const MARKS: Marks = Marks::BesideLoss;
    const GROWS_BESIDE_MARKS: bool = true;
    const IS_USED_BY_HALF: bool = true;

    fn new(params: &Params, window: &mut Window) -> PragueLaw {
        let reno = reno::Params {
            beta: params.beta,
            beta_ecn: params.beta_ecn,
            ssthresh_from_window: true,
            lw: params.lw,
            byte_counting: true,
            l: params.l,
            growth: params.growth,
            restart_after_idle: params.restart_after_idle,
            pacing: WindowPacing {
                pacing: true,
                pacing_gain_slow_start: params.pacing_gain_slow_start,
                pacing_gain: params.pacing_gain,
            },
            ..reno::Params::default()
        };
        let reno = RenoLaw::new(&reno, window);
        if !params.slow_start {
            window.ssthresh = window.cwnd;
        }
        PragueLaw {
            params: params.clone(),
            reno,
            l4s: false,
            alpha: Alpha::new(params),
            virtual_rtt: VirtualRtt::new(params),
            round: Round::default(),
            reduced: Round::default(),
            classic_aqm: ClassicAqm::new(),
            faster: Faster::new(params),
            swing: 0.0,
        }
    }

    fn on_marking(&mut self, _window: &mut Window, marking: Marking) {
        self.l4s = marking == Marking::L4s;
    }

    /// Section 2.5.1: the first window is spaced too.
    fn on_opened(&mut self, window: &mut Window, rtt: TimeDelta) {
        window.round_trip.sample(rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.l4s {
            if ack.may_grow && ack.marked == 0 {
                self.reno.grow(window, ack);
            }
            return;
        }
        self.estimate(window, ack);
        self.answer_marks(window, ack);
        if ack.may_grow {
            self.grow(window, ack);
        }
        self.keep_rate(window);
    }

    /// Marks of L4S are answered with the acknowledgement that tells of them.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        if self.l4s && cause == Cause::Mark {
            return;
        }
        let (least, present) = (self.params.rtt_virt_min, self.virtual_rtt.get(window));
        self.faster.on_loss(window, self.pace(window), least, present);
        self.reno.reduce(window, cause);
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        self.reno.time_out(window, again);
    }

    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        let mut rate = window.pacing_rate()?;
        if self.swing != 0.0 {
            rate = Bitrate::from_bps_f64(rate.as_bps_f64() * (1.0 + self.swing));
        }
        Some(rate.max(self.params.rate_min))
    }

    state_variables! { |self, window|
        cwnd: "packets" = window.packets(), "Congestion window";
        ssthresh: "packets" = window.threshold(), "Slow start threshold; absent before the first reduction";
        alpha: "" = self.alpha.value, "Averaged part of marked bytes";
        rtt_virt: "ms" = self.virtual_rtt.get(window).as_millis_f64(), "Virtual round trip";
        classic_ecn: "" = self.classic_aqm.score, "Score of a Classic AQM: nothing comes of it below classic_stickiness";
        l4s: "" = f64::from(u8::from(self.l4s)), "1 where marks are answered in proportion, 0 where as losses";
    }
}
