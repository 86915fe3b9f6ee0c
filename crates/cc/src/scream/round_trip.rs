//! The smoothed round-trip time, and what happens once a round trip.

use super::Params;
use paceline_units::{Time, TimeDelta};

/// RFC 6298 section 2.3.
pub const ALPHA: f64 = 0.125;

/// `s_rtt`: an optional first filter, and a second that moves once per round trip.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    first: f64,
    smoothed: f64,
    /// The same, since it is asked for more often than it moves.
    span: Option<TimeDelta>,
    due: Time,
}

impl RoundTrip {
    /// Smoothed round-trip time; absent before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Option<TimeDelta> {
        self.span
    }

    /// Smoothed round-trip time in seconds; 0 before the first sample.
    #[inline]
    pub fn seconds(&self) -> f64 {
        self.smoothed
    }

    /// A packet's round trip took `sample`.
    #[inline]
    pub fn sample(&mut self, prefilter: f64, now: Time, sample: TimeDelta) {
        self.sample_with(prefilter, ALPHA, now, sample);
    }

    /// A packet's round trip took `sample`, for a single filter of this weight that moves with each sample.
    #[inline]
    pub fn sample_each(&mut self, alpha: f64, sample: TimeDelta) {
        let sample = sample.as_secs_f64().max(1e-9);
        self.smoothed =
            if self.smoothed == 0.0 { sample } else { self.smoothed + alpha * (sample - self.smoothed) };
        self.span = Some(TimeDelta::from_secs_f64(self.smoothed));
    }

    /// As [`RoundTrip::sample`], with a weight of its own in the second filter.
    #[inline]
    pub fn sample_with(&mut self, prefilter: f64, alpha: f64, now: Time, sample: TimeDelta) {
        let sample = sample.as_secs_f64().max(1e-9);
        if self.smoothed == 0.0 {
            (self.first, self.smoothed) = (sample, sample);
        }
        self.first += prefilter * (sample - self.first);
        if now >= self.due {
            self.smoothed += alpha * (self.first - self.smoothed);
            self.span = Some(TimeDelta::from_secs_f64(self.smoothed));
            self.due = now + TimeDelta::from_secs_f64(self.first);
        }
    }
}

/// The part of marked bytes under L4S, and the part of round trips with losses: both move once a round trip.
#[derive(Clone, Debug)]
pub struct RoundTripShares {
    /// Average part of marked bytes.
    pub alpha: f64,
    delivered: u64,
    marked: u64,
    /// `loss_event_rate`.
    pub loss_event_rate: f64,
    lost: bool,
    due: Time,
}

impl RoundTripShares {
    /// The shares of a flow that starts.
    pub fn new(params: &Params) -> RoundTripShares {
        let alpha = params.l4s_alpha_start;
        RoundTripShares { alpha, delivered: 0, marked: 0, loss_event_rate: 0.0, lost: false, due: Time::ZERO }
    }

    /// Counts what a report brought.
    #[inline]
    pub fn on_report(
        &mut self,
        params: &Params,
        now: Time,
        srtt: f64,
        delivered: u64,
        marked: u64,
        lost: bool,
    ) {
        self.delivered += delivered;
        self.marked += marked;
        self.lost |= lost;
        if now < self.due || self.delivered == 0 {
            return;
        }
        self.due = now + TimeDelta::from_secs_f64(srtt);
        let part = self.marked as f64 / self.delivered as f64;
        let first = part > 0.0 && self.alpha < params.l4s_growth_alpha && params.follows_marks();
        self.alpha += if first { 1.0 } else { params.l4s_gain } * (part - self.alpha);
        let lost = f64::from(u8::from(self.lost));
        self.loss_event_rate += params.loss_event_weight * (lost - self.loss_event_rate);
        (self.delivered, self.marked, self.lost) = (0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_first_sample_counts_whole_and_later_ones_an_eighth_per_round_trip() {
        let mut rtt = RoundTrip::default();
        assert_eq!(rtt.smoothed(), None);
        rtt.sample(1.0, at(100), TimeDelta::from_millis(100));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(100)));
        rtt.sample(1.0, at(150), TimeDelta::from_millis(180));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(100)), "once a round trip");
        rtt.sample(1.0, at(200), TimeDelta::from_millis(180));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(110)));
    }

    #[test]
    fn alpha_follows_the_marked_part() {
        let params = Params::rfc8298();
        let mut shares = RoundTripShares::new(&params);
        shares.on_report(&params, at(0), 0.1, 1000, 1000, false);
        assert!((shares.alpha - (0.1 + 0.9 / 8.0)).abs() < 1e-12);
        shares.on_report(&params, at(50), 0.1, 1000, 0, true);
        shares.on_report(&params, at(100), 0.1, 1000, 0, false);
        assert!((shares.alpha - 0.2125 * 0.875).abs() < 1e-12);
        assert!((shares.loss_event_rate - 0.01).abs() < 1e-12, "a loss anywhere in the round trip");
    }
}
