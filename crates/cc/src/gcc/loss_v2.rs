//! libwebrtc's second loss-based estimator: the bandwidth and the inherent loss under which the losses of the last seconds
//! are likeliest. A path that loses whatever is sent does not lower the rate; one that loses what exceeds a bandwidth does.

use super::Params;
use super::history::Outcome;
use super::rates::{over, times};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Whether, and how, losses limit the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LossState {
    /// They do not: the delay-based estimate holds.
    DelayBased,
    Increasing,
    Decreasing,
}

/// A hypothesis on the path.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// The part that is lost whatever is sent.
    inherent_loss: f64,
    /// Packets beyond this rate are lost too.
    bandwidth: Bitrate,
}

impl Channel {
    /// The part that is lost at a sending rate.
    fn loss(&self, sending: Bitrate) -> f64 {
        let (sending, bandwidth) = (sending.as_bps_f64(), self.bandwidth.as_bps_f64());
        let excess = if sending > bandwidth { (sending - bandwidth) / sending } else { 0.0 };
        let loss = self.inherent_loss.clamp(0.0, 1.0);
        (loss + (1.0 - loss) * excess).clamp(1e-6, 1.0 - 1e-6)
    }
}

/// The fate of the packets sent within some 250 ms.
#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    packets: f64,
    lost: f64,
    sending: Bitrate,
}

/// Packets reported since the last observation was complete.
#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    packets: u64,
    lost: u64,
    bytes: Bytes,
}

/// The estimator of one flow.
#[derive(Clone, Debug)]
pub(super) struct LossV2 {
    params: Params,
    lowest: Bitrate,
    highest: Bitrate,
    incoming: Option<Bitrate>,
    /// The newest `WINDOW` observations; the one numbered n is at n modulo its length.
    observations: [Observation; WINDOW],
    complete: u64,
    partial: Partial,
    /// Time of sending of the last packet of the last observation; of the first packet before.
    observed: Option<Time>,
    average_loss: f64,
    best: Option<Channel>,
    inherent_loss: f64,
    delay_based: Option<Bitrate>,
    result: Bitrate,
    state: LossState,
    /// The estimate may not exceed the rate until `delayed_increase` after the time.
    window_limit: Option<(Time, Bitrate)>,
}

/// Observations that count.
const WINDOW: usize = 20;
/// The lowest limit of an increase.
const LEAST_LIMIT: Bitrate = Bitrate::from_kbps(5);

impl LossV2 {
    pub(super) fn new(params: &Params, lowest: Bitrate, highest: Bitrate) -> LossV2 {
        LossV2 {
            lowest,
            highest,
            incoming: None,
            observations: [Observation::default(); WINDOW],
            complete: 0,
            partial: Partial::default(),
            observed: None,
            average_loss: 0.0,
            best: None,
            inherent_loss: params.v2_inherent_loss,
            delay_based: None,
            result: Bitrate::ZERO,
            state: LossState::DelayBased,
            window_limit: None,
            params: params.clone(),
        }
    }

    pub(super) fn set_bounds(&mut self, lowest: Bitrate, highest: Bitrate) {
        (self.lowest, self.highest) = (lowest, highest);
    }

    pub(super) fn set_incoming(&mut self, incoming: Bitrate) {
        self.incoming = Some(incoming);
    }

    /// The number that packets which are now reported missing are remembered by.
    pub(super) fn observation(&self) -> u32 {
        self.complete as u32
    }

    /// The estimate and what it rests on, once there are enough observations.
    pub(super) fn result(&self) -> Option<(Bitrate, LossState)> {
        (self.best.is_some() && self.complete >= self.params.v2_observations)
            .then_some((self.result, self.state))
    }

    /// A report: what is new of packets, the delay-based estimate, and whether the application limits the sender.
    pub(super) fn on_report(&mut self, outcomes: &[Outcome], delay_based: Option<Bitrate>, in_alr: bool) {
        self.delay_based = delay_based;
        if outcomes.is_empty() || !self.observe(outcomes) {
            return;
        }
        if self.best.is_none() {
            let Some(delay_based) = delay_based else { return };
            self.best = Some(Channel { inherent_loss: self.inherent_loss, bandwidth: delay_based });
            (self.result, self.state) = (delay_based, LossState::DelayBased);
        }
        if let Some(current) = self.best {
            self.update(current, in_alr);
        }
    }

    /// Adds to the present observation; true if that made it complete.
    fn observe(&mut self, outcomes: &[Outcome]) -> bool {
        let (mut first, mut last) = (Time::MAX, Time::ZERO);
        let number = self.observation();
        for outcome in outcomes {
            self.partial.packets += 1;
            self.partial.bytes += outcome.size;
            if !outcome.received {
                self.partial.lost += 1;
            } else if self.params.v2_late_packets && outcome.missed == Some(number) {
                self.partial.lost = self.partial.lost.saturating_sub(1);
            }
            (first, last) = (first.min(outcome.sent), last.max(outcome.sent));
        }
        let duration = last - *self.observed.get_or_insert(first);
        if duration <= TimeDelta::ZERO || duration < self.params.v2_observation_least {
            return false;
        }
        self.observed = Some(last);
        let Partial { packets, lost, bytes } = core::mem::take(&mut self.partial);
        let (packets, lost, sending) = (packets as f64, lost as f64, over(bytes, duration));
        self.observations[self.complete as usize % WINDOW] = Observation { packets, lost, sending };
        self.complete += 1;
        let (lost, packets) = self.weighted().fold((0.0, 0.0), |(lost, packets), (weight, seen)| {
            (lost + weight * seen.lost, packets + weight * seen.packets)
        });
        self.average_loss = lost / packets;
        true
    }

    /// The observations with their weights; the newest counts 1.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let known = self.complete.min(WINDOW as u64);
        let mut weight = 1.0;
        (1..=known).map(move |age| {
            let counts = weight;
            weight *= self.params.v2_temporal_weight;
            (counts, &self.observations[(self.complete - age) as usize % WINDOW])
        })
    }

    fn update(&mut self, current: Channel, in_alr: bool) {
        let mut best = self.likeliest(current, in_alr);
        if self.average_loss > best.inherent_loss && best.bandwidth > current.bandwidth {
            best.bandwidth = current.bandwidth;
        }
        if let Some(limit) = self.limit_of_increase().filter(|_| self.is_limiting()) {
            best.bandwidth = best.bandwidth.min(limit);
        }
        self.best = Some(best);
        let bounded =
            best.bandwidth.min(self.instant_upper_bound()).min(self.delay_based.unwrap_or(Bitrate::MAX));
        self.conclude(bounded.max(self.lowest));
        self.renew_limit(best.bandwidth);
    }

    /// The state follows from how the estimate moves, and from whether it lies below the delay-based one.
    fn conclude(&mut self, estimate: Bitrate) {
        let limits =
            self.delay_based.is_none_or(|delay_based| estimate < delay_based) && estimate < self.highest;
        let grows = self.is_limiting()
            && (estimate > self.result || (estimate == self.result && self.state == LossState::Increasing));
        self.state = match (limits, grows) {
            (true, true) => LossState::Increasing,
            (true, false) => LossState::Decreasing,
            (false, _) => LossState::DelayBased,
        };
        self.result = estimate;
    }

    /// While losses limit the rate it grows in steps: by 1.3 at most in a window.
    fn renew_limit(&mut self, bandwidth: Bitrate) {
        let (Some(observed), true) = (self.observed, self.is_limiting()) else { return };
        if self.window_limit.is_none_or(|(since, _)| since + self.params.v2_delayed_increase < observed) {
            let limit = times(self.params.v2_increase_most, bandwidth).max(LEAST_LIMIT);
            self.window_limit = Some((observed, limit));
        }
    }

    fn is_limiting(&self) -> bool {
        self.state != LossState::DelayBased
    }

    /// The limit of the present window, while that lasts.
    fn limit_of_increase(&self) -> Option<Bitrate> {
        let (since, limit) = self.window_limit?;
        (since + self.params.v2_delayed_increase > self.observed?).then_some(limit)
    }

    /// The candidate with the highest objective, the first of several.
    fn likeliest(&self, current: Channel, in_alr: bool) -> Channel {
        let known = current.bandwidth;
        let most = self
            .window_limit
            .filter(|_| self.is_limiting())
            .map_or(self.highest, |(_, limit)| limit)
            .max(known);
        let factors = [self.params.v2_candidate_up, 1.0, self.params.v2_candidate_down]
            .map(|factor| Some(times(factor, known)));
        let incoming = self.incoming.filter(|_| !in_alr);
        let delay_based = self.delay_based.filter(|delay_based| *delay_based > known);
        let bandwidths = factors.into_iter().chain([incoming, delay_based]).flatten();
        let (mut best, mut highest) = (current, f64::MIN);
        for bandwidth in bandwidths {
            let mut candidate = Channel { bandwidth: bandwidth.min(most), ..current };
            candidate.inherent_loss = self.feasible(candidate.inherent_loss, candidate.bandwidth);
            self.improve(&mut candidate);
            let objective = self.objective(&candidate);
            if objective > highest {
                (best, highest) = (candidate, objective);
            }
        }
        best
    }

    /// Newton's method on the inherent loss.
    fn improve(&self, channel: &mut Channel) {
        for _ in 0..self.params.v2_newton_iterations {
            let (mut first, mut second) = (0.0, 0.0);
            for (weight, seen) in self.weighted() {
                let (loss, received) = (channel.loss(seen.sending), seen.packets - seen.lost);
                first += weight * (seen.lost / loss - received / (1.0 - loss));
                second -= weight * (seen.lost / (loss * loss) + received / ((1.0 - loss) * (1.0 - loss)));
            }
            let step = first / if second < 0.0 { second } else { -1e-6 };
            let improved = channel.inherent_loss - self.params.v2_newton_step * step;
            channel.inherent_loss = self.feasible(improved, channel.bandwidth);
        }
    }

    fn feasible(&self, inherent_loss: f64, bandwidth: Bitrate) -> f64 {
        let balance = self.params.v2_inherent_balance.as_bps_f64() / bandwidth.as_bps_f64().max(1.0);
        let most = (self.params.v2_inherent_offset + balance).min(1.0);
        inherent_loss.max(self.params.v2_inherent_least).min(most)
    }

    /// The weighted log-likelihood of the observations, and a preference for high bandwidths.
    fn objective(&self, channel: &Channel) -> f64 {
        let kbps = channel.bandwidth.as_bps_f64() / 1e3;
        let kbps = if self.params.v2_whole_kbps { libm::round(kbps) } else { kbps };
        let preference = self.bias(self.params.v2_higher_bias) * kbps
            + self.bias(self.params.v2_higher_log_bias) * libm::log(1.0 + kbps);
        let terms = self.weighted().map(|(weight, seen)| {
            let (loss, received) = (channel.loss(seen.sending), seen.packets - seen.lost);
            let likelihood = seen.lost * libm::log(loss) + received * libm::log(1.0 - loss);
            weight * (likelihood + preference * seen.packets)
        });
        terms.sum()
    }

    /// The preference, which turns around where the average loss is above a threshold.
    fn bias(&self, factor: f64) -> f64 {
        let below = self.params.v2_preference_threshold - self.average_loss;
        factor * below / (self.params.v2_preference_smoothing + below.abs())
    }

    /// A high average loss limits the rate whatever is likely.
    fn instant_upper_bound(&self) -> Bitrate {
        let excess = self.average_loss - self.params.v2_instant_offset;
        if excess > 0.0 { times(1.0 / excess, self.params.v2_instant_balance) } else { self.highest }
    }

    /// Coupling replaces the estimate. Whether losses limit the rate stays, and until when it may grow by how much.
    pub(super) fn assign(&mut self, estimate: Bitrate) {
        let factor = estimate.as_bps_f64() / self.result.as_bps_f64().max(1.0);
        self.best = self.best.map(|best| Channel { bandwidth: estimate, ..best });
        self.window_limit = self.window_limit.map(|(since, limit)| (since, times(factor, limit)));
        self.result = estimate;
    }
}

#[cfg(test)]
#[path = "loss_v2_tests.rs"]
mod tests;
