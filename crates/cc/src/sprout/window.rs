//! The sender's half: how much of the forecast is left for packets that leave now (the paper, 3.5).

use super::Params;
use super::forecast::{Forecast, MOST_TICKS};
use paceline_units::{Bytes, Time};

/// The newest forecast, and the packets that are thought to wait.
#[derive(Clone, Debug)]
pub(super) struct Window {
    forecast: Forecast,
    /// When the forecast came, and the tick of it that is now.
    from: Time,
    at: usize,
    ticks: usize,
    look_ahead: usize,
    /// Queue occupancy in packets.
    pub(super) queue: f64,
}

impl Window {
    pub(super) fn new(params: &Params) -> Window {
        Window {
            forecast: [0.0; MOST_TICKS],
            from: Time::ZERO,
            at: 0,
            ticks: params.forecast_ticks as usize,
            look_ahead: params.look_ahead as usize,
            queue: 0.0,
        }
    }

    /// Deliveries until the end of so many ticks.
    fn until(&self, ticks: usize) -> f64 {
        ticks.checked_sub(1).map_or(0.0, |tick| self.forecast[tick])
    }

    pub(super) fn on_forecast(&mut self, now: Time, forecast: Forecast) {
        (self.forecast, self.from, self.at) = (forecast, now, 0);
    }

    /// Bytes that are under way, as a report told.
    pub(super) fn on_in_flight(&mut self, params: &Params, in_flight: Bytes) {
        self.queue = in_flight.as_f64() / params.packet.as_f64();
    }

    pub(super) fn on_sent(&mut self, params: &Params, size: Bytes) {
        self.queue += size.as_f64() / params.packet.as_f64();
    }

    /// Time has passed: each new tick of the forecast takes its deliveries out of the queue.
    pub(super) fn pass(&mut self, params: &Params, now: Time) {
        let passed = now.saturating_since(self.from).as_nanos() / params.tick.as_nanos().max(1);
        let now_at = passed.clamp(0, self.ticks as i64) as usize;
        while self.at < now_at {
            let delivered = self.until(self.at + 1) - self.until(self.at);
            self.queue = (self.queue - delivered).max(0.0);
            self.at += 1;
        }
    }

    /// When the next tick of the forecast begins, if it has one.
    pub(super) fn next(&self, params: &Params) -> Option<Time> {
        (self.at < self.ticks).then(|| self.from + params.tick * (self.at as i64 + 1))
    }

    /// Bytes that are safe to send: the deliveries within the look-ahead, less what waits.
    pub(super) fn bytes(&self, params: &Params) -> Bytes {
        let end = (self.at + 1 + self.look_ahead).min(self.ticks);
        let safe = self.until(end) - self.until((self.at + 1).min(self.ticks)) - self.queue;
        Bytes::new((safe * params.packet.as_f64()).max(0.0) as u64)
    }

    /// Bytes that the forecast has within its look-ahead.
    pub(super) fn ahead(&self, params: &Params) -> f64 {
        self.until(self.look_ahead) * params.packet.as_f64()
    }

    /// The forecast's deliveries within so many ticks, in packets.
    pub(super) fn packets(&self, ticks: usize) -> f64 {
        self.until(ticks.min(self.ticks))
    }
}
