//! The largest flights of two round trips (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.1.1).

use paceline_units::{Time, TimeDelta};

/// The largest flights of the present round trip (`max_bytes_in_flight`) and of the one before.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    present: u64,
    before: u64,
    round_end: Time,
}

impl Flight {
    /// A packet left, with which this is in flight, bytes.
    #[inline]
    pub fn on_sent(&mut self, in_flight: u64) {
        self.present = self.present.max(in_flight);
    }

    /// A report came; `round` is a round trip, or a frame period where that is longer. `in_flight`: before it came.
    #[inline]
    pub fn on_report(&mut self, now: Time, round: TimeDelta, in_flight: u64) {
        self.present = self.present.max(in_flight);
        if now >= self.round_end {
            self.round_end = now + round;
            self.before = core::mem::take(&mut self.present);
        }
    }

    /// The largest of both round trips, bytes.
    pub fn largest(&self) -> f64 {
        self.present.max(self.before) as f64
    }

    /// The largest flight of the round trip before (`max_bytes_in_flight_prev`), in bytes.
    pub fn before(&self) -> f64 {
        self.before as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_flight_holds_for_its_round_trip_and_the_next() {
        let (at, round) = (|ms: u64| Time::from_nanos(ms * 1_000_000), TimeDelta::from_millis(50));
        let mut flight = Flight::default();
        flight.on_sent(9000);
        flight.on_report(at(40), round, 8000);
        assert_eq!((flight.largest(), flight.before()), (9000.0, 9000.0));
        flight.on_sent(3000);
        flight.on_report(at(60), round, 3000);
        assert_eq!((flight.largest(), flight.before()), (9000.0, 9000.0));
        flight.on_report(at(90), round, 3000);
        assert_eq!((flight.largest(), flight.before()), (3000.0, 3000.0));
    }
}
