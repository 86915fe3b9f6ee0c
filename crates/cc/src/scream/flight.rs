//! How much has been in flight lately: what the congestion window may not outgrow (RFC 8298 section 4.1.2.2).

use super::Params;
use paceline_units::{Time, TimeDelta};

const SECOND: TimeDelta = TimeDelta::from_secs(1);
const MOST_SECONDS: usize = 60;

/// Largest and mean flight of each past second.
#[derive(Clone, Debug)]
pub struct FlightHistory {
    largest: [u64; MOST_SECONDS],
    mean: [f64; MOST_SECONDS],
    /// The place of the present second.
    place: usize,
    second_end: Time,
    sum: u64,
    samples: u64,
    present: u64,
}

impl FlightHistory {
    /// Nothing seen; the first second begins at `now`.
    pub fn new(now: Time) -> FlightHistory {
        FlightHistory {
            largest: [0; MOST_SECONDS],
            mean: [0.0; MOST_SECONDS],
            place: 0,
            second_end: now + SECOND,
            sum: 0,
            samples: 0,
            present: 0,
        }
    }

    /// Notes the bytes in flight.
    #[inline]
    pub fn sample(&mut self, now: Time, bytes: u64) {
        if now >= self.second_end {
            self.close_second(now);
        }
        let current = &mut self.largest[self.place];
        *current = bytes.max(*current);
        self.sum += bytes;
        self.samples += 1;
        self.present = bytes;
    }

    fn close_second(&mut self, now: Time) {
        if self.samples > 0 {
            self.mean[self.place] = self.sum as f64 / self.samples as f64;
        }
        (self.sum, self.samples) = (0, 0);
        let seconds = (now.saturating_since(self.second_end).as_nanos() / SECOND.as_nanos()) as u64 + 1;
        for _ in 0..seconds.min(MOST_SECONDS as u64) {
            self.place = (self.place + 1) % MOST_SECONDS;
            self.largest[self.place] = 0;
            self.mean[self.place] = 0.0;
        }
        self.second_end += SECOND * seconds as i64;
    }

    /// The limit of the window: head room times the largest flight, pulled towards the largest mean by the trend.
    pub fn limit(&self, params: &Params, trend: f64) -> f64 {
        let seconds = (params.max_bytes_in_flight_window.as_nanos() / SECOND.as_nanos())
            .clamp(1, MOST_SECONDS as i64 - 1);
        let past = |n: i64| (self.place + MOST_SECONDS - n as usize) % MOST_SECONDS;
        let high = (0..=seconds).map(|n| self.largest[past(n)]).fold(0, u64::max) as f64;
        let low = (1..=seconds).map(|n| self.mean[past(n)]).fold(self.present as f64, f64::max);
        let pull = trend * params.max_bytes_in_flight_trend;
        params.max_bytes_in_flight_head_room * (high * (1.0 - pull) + low * pull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::param::Profiles;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_largest_flight_holds_for_its_window_and_no_longer() {
        let params = Params::rfc8298();
        let mut flight = FlightHistory::new(Time::ZERO);
        flight.sample(at(500), 100_000);
        for second in 1..=5 {
            flight.sample(at(second * 1000 + 1), 10_000);
            assert!((flight.limit(&params, 0.0) - 110_000.0).abs() < 1e-6, "second {second}");
        }
        flight.sample(at(6001), 10_000);
        assert!((flight.limit(&params, 0.0) - 11_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_trend_pulls_the_limit_towards_the_mean() {
        let params = Params::profile("reference-2022").unwrap();
        let mut flight = FlightHistory::new(Time::ZERO);
        for (t, bytes) in [(100, 90_000), (200, 30_000), (1100, 20_000)] {
            flight.sample(at(t), bytes);
        }
        assert!((flight.limit(&params, 0.0) - 1.25 * 90_000.0).abs() < 1e-6);
        assert!((flight.limit(&params, 1.0) - 1.25 * 60_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_long_silence_forgets_everything() {
        let mut flight = FlightHistory::new(Time::ZERO);
        flight.sample(at(0), 1_000_000);
        flight.sample(at(10_000_000), 10);
        assert!((flight.limit(&Params::rfc8298(), 0.0) - 11.0).abs() < 1e-9);
    }
}
