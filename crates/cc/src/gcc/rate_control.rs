//! The delay-based rate controller: additive or multiplicative increase, multiplicative decrease (draft-ietf-rmcat-gcc-02
//! section 5.5).

use super::capacity::Capacity;
use super::detector::Usage;
use super::rates::{minus, over, plus, times};
use super::response::{self, Region};
use super::{Increase, Params};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The states of the rate controller between two updates. Decrease ends with the update that decreases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Hold,
    Increase,
}

/// The controller of one flow.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    params: Params,
    lowest: Bitrate,
    /// A_hat.
    estimate: Bitrate,
    /// R_hat when it was last known.
    incoming: Bitrate,
    capacity: Capacity,
    state: State,
    /// When the estimate was changed last, and when it was decreased last.
    changed: Option<Time>,
    decreased: Option<Time>,
    rtt: TimeDelta,
    /// Variance of the delay noise, ms squared.
    noise: f64,
    region: Region,
    /// The highest incoming rate of the present hold.
    held: Bitrate,
}

/// Round-trip time before any is measured.
const FIRST_RTT: TimeDelta = TimeDelta::from_millis(200);
/// Time that over-use estimator and detector need to react.
const REACTION: TimeDelta = TimeDelta::from_millis(100);
/// The frame and the packet that the additive increase assumes.
const FRAME: TimeDelta = TimeDelta::from_micros(33_333);
const PACKET: Bytes = Bytes::new(1200);
/// At an incoming rate and an estimate as low the increase of 2012 is not limited by what arrives.
const SLOW: (Bitrate, Bitrate) = (Bitrate::from_kbps(100), Bitrate::from_kbps(150));
/// Bounds of the time between two decreases.
const REDUCE_AFTER: (TimeDelta, TimeDelta) = (TimeDelta::from_millis(10), TimeDelta::from_millis(200));

impl RateControl {
    pub(super) fn new(params: &Params, start: Bitrate, lowest: Bitrate) -> RateControl {
        RateControl {
            lowest,
            estimate: start.max(lowest),
            incoming: start.max(lowest),
            capacity: Capacity::new(params),
            state: State::Hold,
            changed: None,
            decreased: None,
            rtt: FIRST_RTT,
            noise: 1.0,
            region: Region::Unknown,
            held: Bitrate::ZERO,
            params: params.clone(),
        }
    }

    /// A_hat.
    pub(super) fn estimate(&self) -> Bitrate {
        self.estimate
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn capacity(&self) -> Option<Bitrate> {
        self.capacity.mean()
    }

    pub(super) fn set_rtt(&mut self, rtt: TimeDelta) {
        self.rtt = rtt;
    }

    pub(super) fn set_noise(&mut self, noise: f64) {
        self.noise = noise;
    }

    /// Whether the rate is where there was over-use.
    pub(super) fn is_near(&self) -> bool {
        self.region != Region::Unknown
    }

    pub(super) fn set_lowest(&mut self, lowest: Bitrate) {
        self.lowest = lowest;
        self.estimate = self.estimate.max(lowest);
    }

    /// A_hat is known from elsewhere: from a probe.
    pub(super) fn set_estimate(&mut self, now: Time, estimate: Bitrate) {
        self.assign(estimate);
        self.changed = Some(now);
    }

    /// A_hat is replaced by an assignment. When it was increased or decreased last stays: the others of a group assign more often
    /// than it takes to react to over-use.
    pub(super) fn assign(&mut self, estimate: Bitrate) {
        self.estimate = estimate.max(self.lowest);
    }

    /// Whether over-use may lower A_hat again: once a round trip, or when less than half of it arrives.
    pub(super) fn may_reduce(&self, now: Time, incoming: Option<Bitrate>) -> bool {
        let wait = self.rtt.max(REDUCE_AFTER.0).min(REDUCE_AFTER.1);
        let since = if self.params.decrease_after_change { self.changed } else { self.decreased };
        since.is_none_or(|since| now - since >= wait)
            || incoming.is_none_or(|incoming| incoming < times(0.5, self.estimate))
    }

    /// The detector spoke; `incoming` is R_hat where it is known.
    pub(super) fn on_usage(&mut self, now: Time, usage: Usage, incoming: Option<Bitrate>) {
        self.incoming = incoming.unwrap_or(self.incoming);
        match usage {
            Usage::Normal if self.state == State::Hold => {
                (self.changed, self.state) = (Some(now), State::Increase);
                self.increase(now);
            }
            Usage::Normal => self.increase(now),
            Usage::Over => self.decrease(now),
            Usage::Under => (self.state, self.held) = (State::Hold, self.held.max(self.incoming)),
        }
        self.estimate = self.estimate.max(self.lowest);
    }

    fn increase(&mut self, now: Time) {
        match self.params.increase {
            Increase::Aimd => self.increase_aimd(now),
            Increase::Response => self.increase_by_response(now),
        }
    }

    fn increase_aimd(&mut self, now: Time) {
        if self.capacity.is_below(self.incoming) {
            self.capacity.forget();
        }
        let limit = self.limit();
        if self.estimate < limit {
            let passed = self.changed.map(|changed| now.saturating_since(changed));
            let step = if self.capacity.mean().is_some() {
                self.additive(passed.unwrap_or(TimeDelta::ZERO))
            } else {
                self.multiplicative(passed)
            };
            self.estimate = plus(self.estimate, step).min(limit);
        }
        self.changed = Some(now);
    }

    /// The rule of 2012: by a factor once an interval, and after a hold at once to a part of what arrived during it.
    fn increase_by_response(&mut self, now: Time) {
        let passed = self.changed.map_or(TimeDelta::ZERO, |changed| now.saturating_since(changed));
        if passed > TimeDelta::ZERO && passed < self.params.increase_interval {
            return;
        }
        if self.capacity.is_below(self.incoming) {
            self.capacity.forget();
            self.region = Region::Unknown;
        } else if self.capacity.is_exceeded(self.incoming, response::ABOVE) {
            self.region = Region::Above;
        }
        self.changed = Some(now);
        let interval = self.params.increase_interval;
        let factor = response::factor(passed, interval, self.rtt, self.noise, self.region);
        let grown = plus(times(factor, self.estimate), self.params.multiplicative_floor);
        let recovered = times(self.beta(), core::mem::take(&mut self.held));
        if recovered > grown {
            self.capacity.set_mean(recovered);
            (self.estimate, self.region) = (recovered, Region::Near);
        } else if grown <= self.limit() || (self.incoming <= SLOW.0 && grown <= SLOW.1) {
            self.estimate = grown;
        }
    }

    /// The estimate does not grow above this.
    fn limit(&self) -> Bitrate {
        plus(times(self.params.incoming_limit, self.incoming), self.params.incoming_head_room)
    }

    /// The part of the incoming rate that over-use leaves.
    fn beta(&self) -> f64 {
        match (self.params.increase, self.region) {
            (Increase::Response, Region::Near) => self.params.near_beta,
            _ => self.params.beta,
        }
    }

    fn multiplicative(&self, passed: Option<TimeDelta>) -> Bitrate {
        let passed = passed.map_or(1.0, |passed| passed.as_secs_f64().min(1.0));
        let factor = libm::pow(self.params.eta, passed);
        times(factor - 1.0, self.estimate).max(self.params.multiplicative_floor)
    }

    fn additive(&self, passed: TimeDelta) -> Bitrate {
        let response = self.rtt.max(TimeDelta::ZERO) + REACTION;
        let counted = if self.params.additive_within_response { passed.min(response) } else { passed };
        let slope = times(0.5, over(self.packet(), response)).max(self.params.additive_slope_floor);
        times(counted.as_secs_f64(), slope).max(self.params.additive_floor)
    }

    /// How much A_hat would grow in a second near the link's capacity.
    #[cfg(test)]
    pub(super) fn additive_slope(&self) -> Bitrate {
        self.additive(TimeDelta::from_secs(1))
    }

    /// The mean packet, if a frame leaves 30 times a second in packets of at most 1200 B.
    fn packet(&self) -> Bytes {
        let frame = libm::round(self.estimate.as_bps_f64() * FRAME.as_secs_f64() / 8.0);
        let packets = libm::ceil(frame / PACKET.as_f64()).max(1.0);
        Bytes::new(libm::round(frame / packets) as u64)
    }

    fn decrease(&mut self, now: Time) {
        let beta = self.beta();
        let mut reduced = times(beta, self.incoming);
        if reduced > self.params.decrease_extra {
            reduced = minus(reduced, self.params.decrease_extra);
        }
        if let Some(capacity) = self.capacity.mean().filter(|_| reduced > self.estimate) {
            reduced = times(beta, capacity);
        }
        self.estimate = self.estimate.min(reduced);
        if self.capacity.is_above(self.incoming) {
            self.capacity.forget();
        }
        self.capacity.on_overuse(self.incoming);
        (self.state, self.changed, self.decreased) = (State::Hold, Some(now), Some(now));
        self.region = Region::Near;
    }
}

#[cfg(test)]
#[path = "rate_control_tests.rs"]
mod tests;
