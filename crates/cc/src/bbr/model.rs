//! The model of the path: bandwidth of the bottleneck and round trip without a queue.

use super::Params;
use super::delivery_rate::RateSample;
use super::max_filter::MaxFilter;
use super::rounds::Rounds;
use paceline_units::{Time, TimeDelta};

/// `BtlBw`, `RTprop` and the count of round trips.
#[derive(Clone, Debug)]
pub(super) struct Model {
    bw: MaxFilter,
    rtprop_window: TimeDelta,
    /// Absent before the first sample.
    pub rtprop: Option<TimeDelta>,
    /// When it was measured.
    pub rtprop_at: Time,
    /// Whether it was older than its window before this acknowledgement.
    pub rtprop_expired: bool,
    pub rounds: Rounds,
}

impl Model {
    pub fn new(params: &Params) -> Model {
        Model {
            bw: MaxFilter::new(params.bw_window),
            rtprop_window: params.rtprop_window,
            rtprop: None,
            rtprop_at: Time::ZERO,
            rtprop_expired: false,
            rounds: Rounds::default(),
        }
    }

    /// Bytes per second; 0 before the first sample.
    #[inline]
    pub fn bw(&self) -> f64 {
        self.bw.best().unwrap_or(0.0)
    }

    /// Bandwidth times round trip, bytes; absent before both are known.
    #[inline]
    pub fn bdp(&self) -> Option<f64> {
        let rtprop = self.rtprop?.as_secs_f64();
        self.bw.best().map(|bw| bw * rtprop)
    }

    /// Round and bandwidth. A sample that the application limited counts only if it is more.
    #[inline]
    pub fn on_sample(&mut self, delivered: u64, sample: &RateSample) {
        self.rounds.on_sample(delivered, sample.prior_delivered);
        let Some(rate) = sample.rate else { return };
        if !sample.app_limited || rate >= self.bw() {
            self.bw.update(self.rounds.count, rate);
        }
    }

    /// The smallest round trip of ten seconds.
    #[inline]
    pub fn on_rtt(&mut self, now: Time, rtt: Option<TimeDelta>) {
        self.rtprop_expired =
            self.rtprop.is_some() && now.saturating_since(self.rtprop_at) > self.rtprop_window;
        let Some(rtt) = rtt else { return };
        if self.rtprop_expired || self.rtprop.is_none_or(|rtprop| rtt <= rtprop) {
            (self.rtprop, self.rtprop_at) = (Some(rtt.max(TimeDelta::from_nanos(1))), now);
        }
    }

    /// Coupling says what the bandwidth is.
    pub fn assign(&mut self, bw: f64) {
        self.bw.assign(self.rounds.count, bw);
    }
}
