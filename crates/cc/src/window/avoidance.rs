//! The laws that differ from Reno in congestion avoidance alone: by how much the window grows in a round trip, and what a
//! congestion event leaves of it. A law of this kind is a [`Rule`]; slow start, timeouts, undoing and unused windows are here.

use super::{Ack, Cause, Law, Window, WindowGrowth, WindowPacing};
use crate::{StateVariable, Verb};
use core::fmt::Debug;
use paceline_units::{Bitrate, CongestionHeader, Time, TimeDelta, params};

params! {
    /// The constants that all these laws share.
    pub struct AvoidanceParams {
        byte_counting: bool = true, "RFC 3465, no text at hand; RFC 5681 3.1 (counting bytes)", "Each packet counts that an acknowledgement covers; else each acknowledgement is one packet";
        l: f64 = 2.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand", "With byte_counting: most packets that one acknowledgement adds in slow start";
        ssthresh_min: u64 = 2, in 1.0, 1000.0, "RFC 5681 eq. 4", "Smallest threshold in packets";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    /// Bounds of growth.
    with growth: WindowGrowth;
}

/// A law's own part. Windows are packets.
pub trait Rule: Clone + Debug {
    /// The constants of the law, by name.
    type Params;

    /// The rule of a sender that has sent nothing, and its shared constants.
    fn new(params: &Self::Params) -> (Self, &AvoidanceParams);

    /// An acknowledgement, before the window grows. A law that reduces its window without a loss does so here.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Packets by which the window grows in slow start for each that is acknowledged, where that is not one.
    #[inline]
    fn slow_start(&self) -> Option<f64> {
        None
    }

    /// Packets by which the window grows in a round trip of congestion avoidance.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64;

    /// The window that a loss, a mark or a timeout leaves.
    fn decrease(&mut self, window: &Window, now: Time, cause: Cause) -> f64;

    /// Recovery is over.
    fn on_recovered(&mut self, now: Time) {
        let _ = now;
    }

    /// As [`Law::VERBS`].
    const VERBS: &'static [Verb] = &[];

    /// As [`Law::congestion_header`].
    fn congestion_header(&self, window: &Window) -> Option<CongestionHeader> {
        let _ = window;
        None
    }

    /// As [`Law::on_congestion_header`].
    fn on_congestion_header(&mut self, feedback: Option<f64>) {
        let _ = feedback;
    }

    /// As [`Law::pacing_rate`].
    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        window.pacing_rate()
    }

    /// The law's estimate of the queue delay.
    fn queue_delay(&self) -> Option<TimeDelta> {
        None
    }

    /// As [`Law::state_variables`].
    fn state_variables(&self) -> &'static [StateVariable];

    /// As [`Law::state`].
    fn state(&self, window: &Window, values: &mut [Option<f64>]);
}

/// The law of a [`Rule`].
#[derive(Clone, Debug)]
pub struct Avoidance<R: Rule> {
    rule: R,
    params: AvoidanceParams,
    /// The rule before the last reduction.
    before: Option<R>,
}

impl<R: Rule> Avoidance<R> {
    #[cfg(test)]
    pub(crate) fn rule(&mut self) -> &mut R {
        &mut self.rule
    }

    /// The threshold that a congestion event leaves, in bytes.
    fn threshold(&mut self, window: &Window, now: Time, cause: Cause) -> f64 {
        let left = self.rule.decrease(window, now, cause).max(self.params.ssthresh_min as f64);
        left * window.mss
    }

    fn slow_start(&self, window: &mut Window, ack: &Ack) {
        let limit = if self.params.byte_counting { self.params.l } else { 1.0 };
        let Some(factor) = self.rule.slow_start() else { return window.slow_start(ack, limit) };
        let packets = (ack.delivered as f64 / window.mss).min(limit);
        let cwnd = window.cwnd + factor * packets * window.mss;
        window.grow(ack, cwnd, |flight| (1.0 + factor) * flight);
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let increase = self.rule.increase(window, ack);
        let packets = if self.params.byte_counting { ack.delivered as f64 / window.mss } else { 1.0 };
        let cwnd = window.cwnd + increase * packets / window.packets() * window.mss;
        let mss = window.mss;
        window.grow(ack, cwnd, |flight| flight + increase.max(1.0) * mss);
    }
}

impl<R: Rule> Law for Avoidance<R> {
    type Params = R::Params;
    type Note = ();
    const VERBS: &'static [Verb] = R::VERBS;

    fn congestion_header(&self, window: &Window) -> Option<CongestionHeader> {
        self.rule.congestion_header(window)
    }

    fn on_congestion_header(&mut self, feedback: Option<f64>) {
        self.rule.on_congestion_header(feedback);
    }

    fn new(params: &R::Params, window: &mut Window) -> Avoidance<R> {
        let (rule, params) = R::new(params);
        window.pacing = params.pacing;
        window.bound(params.growth);
        window.restart_after_idle = params.restart_after_idle;
        Avoidance { rule, params: params.clone(), before: None }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rule.on_ack(window, ack);
        if ack.may_grow && window.in_slow_start() {
            self.slow_start(window, ack);
        } else if ack.may_grow {
            self.avoid(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, now: Time, cause: Cause) {
        window.ssthresh = self.threshold(window, now, cause);
        window.set(window.ssthresh);
    }

    fn on_recovered(&mut self, _window: &mut Window, now: Time) {
        self.rule.on_recovered(now);
    }

    /// RFC 5681 section 3.1; a threshold that recovery, or the timeout before, has set for the same window of data stays.
    fn on_timed_out(&mut self, window: &mut Window, now: Time, again: bool) {
        if !again && !window.recovering {
            window.ssthresh = self.threshold(window, now, Cause::Loss);
        }
        window.set(self.params.lw as f64 * window.mss);
    }

    fn keep(&mut self) {
        self.before = Some(self.rule.clone());
    }

    fn undo(&mut self, _window: &mut Window) {
        if let Some(before) = self.before.take() {
            self.rule = before;
        }
    }

    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        self.rule.pacing_rate(window)
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.rule.queue_delay()
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.rule.state_variables()
    }

    fn state(&self, window: &Window, values: &mut [Option<f64>]) {
        self.rule.state(window, values);
    }
}
