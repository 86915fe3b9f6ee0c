//! The mean loss interval, and for how long the last loss counts (RFC 8698 section 4.2; RFC 5348 section 5.4).

use super::Params;
use crate::tfrc::average::Averager;
use paceline_units::{Time, TimeDelta};

/// Closed intervals that count (RFC 5348 section 5.4, n).
const INTERVALS: usize = 8;
const AVERAGER: Averager = Averager { n: INTERVALS, threshold: None, absent_are_zero: false };

/// The loss events of a flow, in packets, without the losses of the newest.
#[derive(Clone, Copy, Debug)]
struct Events {
    /// Lengths of the closed intervals, the newest first; the first `closed` of them are known.
    lengths: [f64; INTERVALS],
    closed: usize,
    /// When the newest loss event began, if there was one.
    began: Option<Time>,
    /// Packets since then, and since the last loss.
    since_event: f64,
    since_loss: f64,
}

impl Events {
    const NONE: Events =
        Events { lengths: [0.0; INTERVALS], closed: 0, began: None, since_event: 0.0, since_loss: 0.0 };
}

/// The loss intervals of a flow.
#[derive(Clone, Debug)]
pub(super) struct LossIntervals {
    now: Events,
    /// The events as they were before the newest, and the losses in that.
    before: Events,
    losses: u64,
}

impl LossIntervals {
    pub(super) fn new() -> LossIntervals {
        LossIntervals { now: Events::NONE, before: Events::NONE, losses: 0 }
    }

    /// A packet arrived.
    #[inline]
    pub(super) fn on_arrived(&mut self) {
        self.now.since_event += 1.0;
        self.now.since_loss += 1.0;
    }

    /// A packet was found lost. Losses within a round trip are one event.
    pub(super) fn on_lost(&mut self, now: Time, rtt: TimeDelta) {
        let before = self.now;
        self.now.since_event += 1.0;
        self.now.since_loss = 0.0;
        self.losses += 1;
        if self.now.began.is_some_and(|began| now.saturating_since(began) <= rtt) {
            return;
        }
        if self.now.began.replace(now).is_some() {
            self.now.lengths.rotate_right(1);
            self.now.lengths[0] = self.now.since_event;
            self.now.closed = (self.now.closed + 1).min(INTERVALS);
        }
        self.now.since_event = 0.0;
        (self.before, self.losses) = (before, 1);
    }

    /// A packet that was found lost turned up. An event of which all have turned up was none.
    pub(super) fn on_taken_back(&mut self) {
        self.losses = self.losses.saturating_sub(1);
        if self.losses == 0 {
            let Events { since_event, since_loss, .. } = self.now;
            self.now = self.before;
            self.now.since_event += since_event;
            self.now.since_loss += since_loss;
        }
    }

    /// `loss_int`, in packets; absent before two loss events were seen.
    pub(super) fn loss_int(&self) -> Option<f64> {
        AVERAGER.mean(self.now.lengths[..self.now.closed].iter().map(|length| (*length, 1.0)))
    }

    /// By which part the last loss counts: wholly for `loss_exp` packets, and less and less for `loss_int` after them.
    pub(super) fn part(&self, params: &Params) -> f64 {
        let Some(loss_int) = self.loss_int() else { return 0.0 };
        let loss_exp = params.multiloss * loss_int;
        (1.0 - (self.now.since_loss - loss_exp) / loss_int.max(1.0)).clamp(0.0, 1.0)
    }
}
