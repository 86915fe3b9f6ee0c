//! The receiver's half: arrivals become ticks, ticks a distribution of the link's rate or its mean, and these a forecast.

use super::Params;
use super::belief::Belief;
use super::forecast::{Forecast, MOST_TICKS, Model};
use super::pauses::Pauses;
use super::ticks::{Delivered, Observed, Ticks};
use crate::queue_delay::{History, QueueDelay};
use alloc::sync::Arc;
use alloc::vec::Vec;
use paceline_units::{Bytes, Time, TimeDelta};

/// No forecast is larger, in packets.
const MOST: f64 = 1e9;
/// Room for the packets of a usual report.
const FIRST_PACKETS: usize = 256;

/// The estimate of the link's rate.
#[derive(Clone, Debug)]
enum Estimate {
    /// A distribution, and what is computed once for it; absent before it is asked for.
    Inferred(Option<(Arc<Model>, Belief)>),
    /// Sprout-EWMA's mean, in packets per tick.
    Mean(f64),
}

/// The receiver's knowledge of the link.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    params: Params,
    delay: QueueDelay,
    ticks: Ticks,
    estimate: Estimate,
    /// Packets of a report, in order of arrival.
    packets: Vec<Delivered>,
    /// When the newest packet was sent of the reports before.
    newest_sent: Option<Time>,
    /// Queue delay of the newest packet.
    pub(super) wait: Option<TimeDelta>,
    /// Whether a tick was over since the last forecast, and whether that was of few packets.
    is_new: bool,
    is_small: bool,
    /// The last forecast by the model.
    last: Forecast,
}

impl Receiver {
    pub(super) fn new(params: &Params) -> Receiver {
        let history = History { bucket: params.base_delay_bucket, buckets: params.base_delay_buckets };
        let inferred = params.ewma_weight == 0.0;
        Receiver {
            params: params.clone(),
            delay: QueueDelay::new(params.skew_compensation, history, 0),
            ticks: Ticks::new(params.tick),
            estimate: if inferred { Estimate::Inferred(None) } else { Estimate::Mean(0.0) },
            packets: Vec::with_capacity(FIRST_PACKETS),
            newest_sent: None,
            wait: None,
            is_new: true,
            is_small: false,
            last: [0.0; MOST_TICKS],
        }
    }

    /// A packet arrived, as a report of `now` says.
    pub(super) fn on_arrival(&mut self, now: Time, sent: Time, arrived: Option<Time>, size: Bytes) {
        let Some(measured) = self.delay.on_arrival(now, sent, arrived) else { return };
        self.wait = Some(measured.own);
        self.packets.push(Delivered {
            sent,
            arrived: measured.arrived,
            wait: measured.own,
            packets: size.as_f64() / self.params.packet.as_f64(),
            after_pause: false,
        });
    }

    /// All packets of a report were told.
    pub(super) fn take_in(&mut self, pauses: &Pauses) {
        let mut packets = core::mem::take(&mut self.packets);
        packets.sort_unstable_by_key(|packet| (packet.arrived, packet.sent));
        for packet in &mut packets {
            let before = self.newest_sent.unwrap_or(packet.sent);
            packet.after_pause = self.is_small || pauses.any_between(before, packet.sent);
            self.newest_sent = Some(before.max(packet.sent));
            let (ticks, estimate, params) = (&mut self.ticks, &mut self.estimate, &self.params);
            ticks.on_delivered(packet, |observed| {
                self.is_new = true;
                estimate.on_tick(params, observed);
            });
        }
        packets.clear();
        self.packets = packets;
    }

    /// Whether the last forecast is out of date.
    pub(super) fn has_news(&self) -> bool {
        self.is_new
    }

    /// Packets that the link delivers within 1, 2 and so on ticks.
    pub(super) fn forecast(&mut self) -> Forecast {
        self.is_new = false;
        match &mut self.estimate {
            Estimate::Inferred(inferred) => {
                let (model, belief) = inferred.get_or_insert_with(|| first(&self.params));
                let forecast = model.forecast(&belief.probabilities, &self.last);
                self.last = forecast;
                // Single packets in ticks of their own would hold the rate down for good.
                let ahead = (self.params.look_ahead as usize).min(self.params.forecast_ticks as usize - 1);
                self.is_small = forecast[ahead] - forecast[0] <= self.params.small_forecast;
                forecast
            }
            Estimate::Mean(mean) => {
                let mut forecast = [0.0; MOST_TICKS];
                let ticks = forecast.iter_mut().take(self.params.forecast_ticks as usize).enumerate();
                ticks.for_each(|(tick, count)| *count = libm::floor(*mean * (tick + 1) as f64).min(MOST));
                forecast
            }
        }
    }

    /// The mean of the link's rate in packets per second.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let per_tick = match &self.estimate {
            Estimate::Inferred(inferred) => inferred.as_ref().map(|(model, belief)| belief.mean(&model.grid)),
            Estimate::Mean(mean) => Some(*mean),
        };
        per_tick.map(|mean| mean / self.params.tick.as_secs_f64())
    }

    /// The probability of an outage.
    pub(super) fn outage(&self) -> Option<f64> {
        match &self.estimate {
            Estimate::Inferred(inferred) => inferred.as_ref().map(|(_, belief)| belief.probabilities[0]),
            Estimate::Mean(_) => None,
        }
    }
}

fn first(params: &Params) -> (Arc<Model>, Belief) {
    let model = Model::new(params);
    let belief = Belief::new(&model.grid);
    (Arc::new(model), belief)
}

impl Estimate {
    fn on_tick(&mut self, params: &Params, observed: Observed) {
        match self {
            Estimate::Inferred(inferred) => {
                let (model, belief) = inferred.get_or_insert_with(|| first(params));
                belief.on_tick(&model.grid, &model.likelihoods, observed);
            }
            Estimate::Mean(mean) => match observed {
                Observed::Exactly(count) => *mean += params.ewma_weight * (count as f64 - *mean),
                // The mean alone would never leave the rate of an encoder that it tells its target.
                Observed::AtLeast(count) => {
                    let more = (count as f64 * params.idle_growth).max(count as f64 + 1.0);
                    *mean += params.ewma_weight * (more - *mean).max(0.0);
                }
                Observed::Nothing => {}
            },
        }
    }
}
