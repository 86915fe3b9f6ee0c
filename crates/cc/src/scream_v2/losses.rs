//! Which losses reduce the window: all, those beyond a loss ratio (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.5.2), or those of
//! several round trips in a row (libwebrtc).

use super::Params;
use crate::Acked;
use paceline_units::{Time, TimeDelta};

/// With a queue delay below this part of its target a loss is none of a queue.
const NO_QUEUE: f64 = 0.25;
/// libwebrtc takes losses beside a queue delay above this part of its target at once, as it does marks.
const QUEUE: f64 = 0.5;
/// libwebrtc's level of congestion from which on losses reduce the window, and below which it grows.
const CONGESTED: f64 = 0.99;
const CLEAR: f64 = 0.01;

/// The averaged queue delay (`qdelay_avg`) and its target (`qdelay_target`), in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub average: f64,
    pub target: f64,
}

/// How much is lost, as averages over packets and over round trips.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// `loss_rate`: of packets.
    pub loss_rate: f64,
    /// `loss_event_rate`: of round trips.
    pub loss_event_rate: f64,
    /// libwebrtc's level of congestion, 0 to 1.
    pub level: f64,
    lost_in_round: bool,
    round_end: Time,
    lost_in_level: bool,
    level_end: Time,
    /// Packets lost in the last round trip that did not turn up.
    outstanding: u32,
    last_news: Time,
}

impl Losses {
    /// A report told of so many packets. `packet_part` is that of a packet in the reference window.
    #[inline]
    pub fn on_report(
        &mut self,
        params: &Params,
        now: Time,
        srtt: TimeDelta,
        acked: &Acked,
        packet_part: f64,
    ) {
        self.average(params, acked, packet_part);
        self.lost_in_round |= acked.lost > 0;
        if now >= self.round_end {
            self.round_end = now + srtt;
            let lost = f64::from(u8::from(core::mem::take(&mut self.lost_in_round)));
            self.loss_event_rate += params.loss_event_weight * (lost - self.loss_event_rate);
        }
        if params.loss_rounds > 0.0 {
            self.move_level(params, now, srtt.max(params.virtual_rtt), acked);
        }
    }

    /// A time constant of two round trips, or of 4 / LOSS_RATE_THRESHOLD packets at least.
    fn average(&mut self, params: &Params, acked: &Acked, packet_part: f64) {
        let weight = (params.loss_rate_threshold / 4.0).min(packet_part / 2.0);
        let delivered = acked.delivered_packets;
        if self.loss_rate > 0.0 && delivered > 0 {
            self.loss_rate *= libm::pow(1.0 - weight, f64::from(delivered));
        }
        if acked.lost > 0 {
            self.loss_rate = 1.0 - (1.0 - self.loss_rate) * libm::pow(1.0 - weight, f64::from(acked.lost));
        }
    }

    /// Round trips with losses raise the level, those without lower it. Losses that all turn up were none.
    fn move_level(&mut self, params: &Params, now: Time, round: TimeDelta, acked: &Acked) {
        if now.saturating_since(self.last_news) > round {
            self.outstanding = 0;
        }
        if acked.lost > 0 || acked.spurious > 0 {
            self.last_news = now;
        }
        if acked.spurious > 0 {
            self.outstanding = self.outstanding.saturating_sub(acked.spurious);
            if self.outstanding == 0 {
                (self.level, self.lost_in_level) = (0.0, false);
            }
        }
        self.outstanding = self.outstanding.saturating_add(acked.lost);
        self.lost_in_level |= acked.lost > 0;
        if now >= self.level_end {
            self.level_end = now + round;
            self.level = if core::mem::take(&mut self.lost_in_level) {
                (self.level + 1.0 / params.loss_rounds).min(1.0)
            } else {
                (self.level - 1.0 / params.lossless_rounds).max(0.0)
            };
        }
    }

    /// Whether a loss reduces the window.
    pub fn count(&self, params: &Params, queue: Queue) -> bool {
        let tolerated = params.conditional_loss_backoff
            && self.loss_rate <= params.loss_rate_threshold
            && queue.average <= NO_QUEUE * queue.target;
        let isolated =
            params.loss_rounds > 0.0 && self.level < CONGESTED && queue.average <= QUEUE * queue.target;
        !tolerated && !isolated
    }

    /// Whether losses are those of a rate policer.
    pub fn show_policer(&self, params: &Params, queue: Queue) -> bool {
        params.rate_policer
            && self.loss_rate > params.loss_rate_threshold_policer
            && queue.average < NO_QUEUE * queue.target
    }

    /// Whether the window may not grow for losses.
    pub fn hold_growth(&self) -> bool {
        self.level >= CLEAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: TimeDelta = TimeDelta::from_millis(50);
    const EMPTY: Queue = Queue { average: 0.0, target: 0.06 };

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A report each 10 ms of ten packets, with so many lost of the n-th.
    fn after(params: &Params, reports: u64, lost: impl Fn(u64) -> u32) -> Losses {
        let mut losses = Losses::default();
        for n in 0..reports {
            let acked = Acked { delivered_packets: 10 - lost(n), lost: lost(n), ..Acked::default() };
            losses.on_report(params, at(n * 10), SRTT, &acked, 0.01);
        }
        losses
    }

    /// Section 4.5.2: below 1 % a loss without a queue is one of the link.
    #[test]
    fn few_losses_reduce_nothing_where_there_is_no_queue() {
        let params = Params { conditional_loss_backoff: true, ..Params::draft() };
        let few = after(&params, 1000, |n| u32::from(n % 20 == 0));
        assert!((few.loss_rate - 0.005).abs() < 0.003, "{}", few.loss_rate);
        assert!(!few.count(&params, EMPTY) && few.count(&params, Queue { average: 0.016, ..EMPTY }));
        assert!(few.count(&Params::draft(), EMPTY), "the rule is optional");
        let many = after(&params, 1000, |n| u32::from(n % 5 == 0));
        assert!((many.loss_rate - 0.02).abs() < 0.005 && many.count(&params, EMPTY));
    }

    #[test]
    fn a_tenth_lost_without_a_queue_shows_a_policer() {
        let params = Params { rate_policer: true, ..Params::draft() };
        let policed = after(&params, 1000, |n| u32::from(n % 5 != 0) + 1);
        assert!(policed.show_policer(&params, EMPTY), "{}", policed.loss_rate);
        assert!(!policed.show_policer(&params, Queue { average: 0.02, ..EMPTY }));
        assert!(!policed.show_policer(&Params::draft(), EMPTY));
        assert!(!after(&params, 1000, |n| u32::from(n % 5 == 0)).show_policer(&params, EMPTY));
    }

    /// A report is a fifth of a round trip.
    #[test]
    fn libwebrtc_wants_losses_in_three_round_trips_and_forgets_them_in_two() {
        let params = Params::libwebrtc();
        let levels = [2, 7, 12].map(|reports| {
            let losses = after(&params, reports, |_| 1);
            (libm::round(losses.level * 100.0), losses.count(&params, EMPTY))
        });
        assert_eq!(levels, [(33.0, false), (67.0, false), (100.0, true)]);
        let ended = [17, 22].map(|reports| after(&params, reports, |n| u32::from(n < 11)).hold_growth());
        assert_eq!(ended, [true, false]);
        let rare = after(&params, 1001, |n| u32::from(n % 10 == 0));
        assert!(rare.level < CONGESTED, "each second round trip: {}", rare.level);
        assert!(rare.count(&params, Queue { average: 0.031, ..EMPTY }), "at once beside a queue");
    }

    #[test]
    fn losses_that_turn_up_were_none() {
        let params = Params::libwebrtc();
        let mut losses = after(&params, 7, |n| u32::from(n == 6));
        let before = losses.level;
        losses.on_report(&params, at(70), SRTT, &Acked { spurious: 1, ..Acked::default() }, 0.01);
        assert_eq!(losses.level, 0.0, "it was {before}");
    }
}
