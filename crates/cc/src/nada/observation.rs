//! The receiver's half, over reports on packets: what arrived, was lost and was marked within LOGWIN, and what follows from it
//! (RFC 8698 sections 4.2 and 5.1).

use super::Params;
use super::loss_interval::LossIntervals;
use super::signal::{Feedback, Mode, d_tilde, x_curr};
use crate::Acked;
use crate::queue_delay::{History, QueueDelay};
use crate::utility::window::{SlidingWindow, Sums};
use paceline_units::{Bytes, Time, TimeDelta};

/// The statistics of a flow. Times are of arrival, by the sender's clock, from an arbitrary zero.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) delay: QueueDelay,
    pub(super) losses: LossIntervals,
    window: SlidingWindow,
    /// The newest arrival, and its packet's own delay over the base delay.
    newest: Time,
    pub(super) own: TimeDelta,
    /// When a packet was found lost or marked last, and when the queue delay was last at QEPS or above.
    harmed: Option<Time>,
    queued: Option<Time>,
    /// `p_loss` and `p_mark`.
    pub(super) p_loss: f64,
    pub(super) p_mark: f64,
}

impl Observation {
    pub(super) fn new(params: &Params) -> Observation {
        Observation {
            delay: QueueDelay::new(
                params.skew_compensation,
                History { bucket: params.base_delay_bucket, buckets: params.base_delay_buckets },
                params.filter_samples as usize,
            ),
            losses: LossIntervals::new(),
            window: SlidingWindow::new(params.logwin),
            newest: Time::ZERO,
            own: TimeDelta::ZERO,
            harmed: None,
            queued: None,
            p_loss: 0.0,
            p_mark: 0.0,
        }
    }

    /// A packet that was sent and arrived at these times, behind none that was sent later, as a report of `now` told.
    #[inline]
    pub(super) fn on_delay(
        &mut self,
        params: &Params,
        now: Time,
        (sent, arrived): (Time, Option<Time>),
        tells_path: bool,
    ) {
        let Some(measured) = self.delay.on_arrival(now, sent, arrived) else { return };
        self.own = measured.own;
        if tells_path {
            self.delay.filter(&measured, TimeDelta::ZERO);
            self.delay.reach(params.filter_samples, measured.arrived - params.dfilt);
            self.advance(params, measured.arrived);
            if self.delay.d_queue().is_some_and(|d_queue| d_queue >= params.qeps) {
                self.queued = Some(self.newest);
            }
        }
    }

    /// A report of `now` told of a packet, and the loss detector took it so.
    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, rtt: TimeDelta, acked: &Acked) {
        let one_of = |bytes: Bytes| if bytes > Bytes::ZERO { 1.0 } else { 0.0 };
        let sums = Sums {
            packets: one_of(acked.delivered),
            bits: acked.presumed.as_bits_f64(),
            lost: f64::from(acked.lost) - f64::from(acked.spurious),
            marked: one_of(acked.delivered_ce),
            ..Sums::default()
        };
        self.window.add(self.newest, sums);
        if acked.delivered > Bytes::ZERO {
            self.losses.on_arrived();
        }
        for _ in 0..acked.lost {
            self.losses.on_lost(now, rtt);
        }
        (0..acked.spurious).for_each(|_| self.losses.on_taken_back());
        if acked.lost > 0 || acked.delivered_ce > Bytes::ZERO {
            self.harmed = Some(self.newest);
        }
    }

    /// The newest arrival is now this one: packets that overtake each other leave it as it is, and a clock that was put back does not.
    #[inline]
    fn advance(&mut self, params: &Params, arrived: Time) {
        if self.newest - arrived > params.logwin {
            (self.newest, self.harmed, self.queued) = (arrived, None, None);
        }
        self.newest = self.newest.max(arrived);
    }

    /// Time for a feedback message (sections 4.2 and 5.1.2).
    pub(super) fn feedback(&mut self, params: &Params) -> Feedback {
        let sums = self.window.sums();
        let total = (sums.packets + sums.lost.max(0.0)).max(1.0);
        // Equation (10).
        let smooth = |p: f64, part: f64| params.alpha * part.clamp(0.0, 1.0) + (1.0 - params.alpha) * p;
        self.p_loss = smooth(self.p_loss, sums.lost / total);
        self.p_mark = smooth(self.p_mark, sums.marked / total);
        let recent = |at: Option<Time>| at.is_some_and(|at| self.newest.saturating_since(at) < params.logwin);
        let rmode = if recent(self.harmed) || recent(self.queued) { Mode::Gradual } else { Mode::RampUp };
        let x_curr = x_curr(params, self.d_tilde(params), self.p_mark, self.p_loss);
        let x_curr = x_curr.min(params.x_max.as_secs_f64());
        Feedback { rmode, x_curr, r_recv: sums.bits.max(0.0) / params.logwin.as_secs_f64() }
    }

    /// `d_tilde` in seconds.
    pub(super) fn d_tilde(&self, params: &Params) -> f64 {
        let d_queue = self.delay.d_queue().unwrap_or(TimeDelta::ZERO).as_secs_f64();
        d_tilde(params, d_queue, self.losses.part(params))
    }

    /// An outage is over: delays and arrivals in it say nothing of the path.
    pub(super) fn forget_recent(&mut self, params: &Params) {
        self.delay.empty_filter();
        self.window = SlidingWindow::new(params.logwin);
        (self.harmed, self.queued) = (None, None);
    }
}
