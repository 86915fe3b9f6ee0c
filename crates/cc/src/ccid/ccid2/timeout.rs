//! The transmit timeout: TCP's without its minimum (RFC 4341 section 5, RFC 6298 sections 2 and 5).

use super::Params;
use crate::window::RoundTrip;
use paceline_units::{Time, TimeDelta};

/// No timer is shorter: it would be due again at once.
const SHORTEST: TimeDelta = TimeDelta::from_micros(1);
/// 2^20 times any timeout is above the largest.
const MOST_BACK_OFF: u32 = 20;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct TransmitTimeout {
    initial: TimeDelta,
    min: TimeDelta,
    max: TimeDelta,
    granularity: TimeDelta,
    ack_delay: TimeDelta,
    round_trip: RoundTrip,
    /// The timeout, backed off.
    rto: TimeDelta,
    /// Timeouts since the last measurement.
    back_off: u32,
    /// The next measurement is of this packet or a later one: one in a window of data.
    measured_from: u64,
    pub(super) due: Option<Time>,
}

impl TransmitTimeout {
    pub(super) fn new(params: &Params) -> TransmitTimeout {
        let mut timeout = TransmitTimeout {
            initial: params.rto_initial,
            min: params.rto_min,
            max: params.rto_max,
            granularity: params.rto_granularity,
            ack_delay: params.ack_delay,
            round_trip: RoundTrip::default(),
            rto: params.rto_initial,
            back_off: 0,
            measured_from: 0,
            due: None,
        };
        timeout.compute();
        timeout
    }

    /// Smoothed round-trip time; absent before the first sample.
    pub(super) fn srtt(&self) -> Option<TimeDelta> {
        self.round_trip.smoothed()
    }

    /// Packet `newest`, sent at `sent`, is acknowledged, and `next` is the next to be sent.
    pub(super) fn on_acked(&mut self, now: Time, newest: u64, sent: Time, next: u64) {
        if newest >= self.measured_from {
            self.round_trip.sample(now.saturating_since(sent));
            (self.measured_from, self.back_off) = (next, 0);
            self.compute();
        }
    }

    /// Retransmission timeout (RTO), backed off.
    #[inline]
    pub(super) fn rto(&self) -> TimeDelta {
        self.rto
    }

    fn compute(&mut self) {
        let base = self.round_trip.timeout_above(self.granularity).unwrap_or(self.initial);
        let base = base.max(self.min).max(SHORTEST).min(self.max);
        let backed_off = i128::from(base.as_nanos()) << self.back_off;
        self.rto = TimeDelta::from_nanos(backed_off.min(i128::from(self.max.as_nanos())) as i64);
    }

    /// Starts anew for `pipe` packets; stops for none. A flight that does not fill an acknowledgement waits for it longer.
    #[inline]
    pub(super) fn restart(&mut self, now: Time, pipe: u64, ack_ratio: u64) {
        let held_back = if pipe < ack_ratio { self.ack_delay } else { TimeDelta::ZERO };
        self.due = (pipe > 0).then(|| now + self.rto() + held_back);
    }

    /// Twice as long the next time (RFC 6298 (5.5)).
    pub(super) fn on_expired(&mut self) {
        self.back_off = (self.back_off + 1).min(MOST_BACK_OFF);
        self.compute();
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::param::Profiles;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    const fn span(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    #[test]
    fn three_seconds_then_the_round_trip_without_a_minimum() {
        let mut timeout = TransmitTimeout::new(&Params::default());
        assert_eq!((timeout.rto(), timeout.srtt()), (span(3000), None));
        timeout.on_acked(ms(40), 0, ms(0), 1);
        assert_eq!(timeout.rto(), span(140), "G above R, as 4 R/2 is less");
        let fine = Params { rto_granularity: TimeDelta::ZERO, ..Params::default() };
        let mut timeout = TransmitTimeout::new(&fine);
        timeout.on_acked(ms(40), 0, ms(0), 1);
        assert_eq!(timeout.rto(), span(120), "R + 4 R/2");
        let ns2 = Params::profile("ns2").expect("a profile");
        let mut timeout = TransmitTimeout::new(&ns2);
        timeout.on_acked(ms(40), 0, ms(0), 1);
        assert_eq!(timeout.rto(), span(1000));
    }

    #[test]
    fn one_measurement_a_window_of_data() {
        let mut timeout = TransmitTimeout::new(&Params::default());
        timeout.on_acked(ms(100), 0, ms(0), 10);
        timeout.on_acked(ms(900), 9, ms(0), 20);
        assert_eq!(timeout.srtt(), Some(span(100)));
        timeout.on_acked(ms(900), 10, ms(0), 20);
        assert_eq!(timeout.srtt(), Some(span(200)));
    }

    #[test]
    fn it_backs_off_to_the_largest_until_a_measurement() {
        let mut timeout = TransmitTimeout::new(&Params::default());
        timeout.on_acked(ms(100), 0, ms(0), 1);
        for expected in [300, 600, 1200] {
            assert_eq!(timeout.rto(), span(expected));
            timeout.on_expired();
        }
        (0..100).for_each(|_| timeout.on_expired());
        assert_eq!(timeout.rto(), span(64_000));
        timeout.on_acked(ms(100), 1, ms(0), 2);
        assert!(timeout.rto() < span(400));
    }

    #[test]
    fn a_flight_below_the_ack_ratio_waits_for_the_receiver_too() {
        let mut timeout = TransmitTimeout::new(&Params::default());
        timeout.on_acked(ms(100), 0, ms(0), 1);
        timeout.restart(ms(1000), 2, 2);
        assert_eq!(timeout.due, Some(ms(1300)));
        timeout.restart(ms(1000), 1, 2);
        assert_eq!(timeout.due, Some(ms(1500)));
        timeout.restart(ms(1000), 0, 2);
        assert_eq!(timeout.due, None);
    }
}
