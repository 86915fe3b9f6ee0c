//! The window counter: quarter round trips in four bits (RFC 4342 section 8.1). Inside it never wraps.

use paceline_units::{Time, TimeDelta};

/// Steps that are remembered: about eight round trips.
const STEPS: usize = 32;
/// Seconds that are told apart by less than a microsecond.
const LONGEST_SURE: f64 = 1000.0;
/// Number of values that the 4 bits on the wire hold.
pub(super) const MODULUS: u64 = 16;

/// The counter that the sender puts on packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WindowCounter {
    /// Steps of the counter in a round trip.
    steps: u64,
    /// The round-trip time before one is known.
    rtt_unknown: f64,
    /// `last_WC`.
    last: u64,
    /// The next packet has at least this: a round trip after what was acknowledged.
    floor: u64,
    /// When each of the last steps was first sent, in a ring; the newest is `last_WC_time`.
    sent: [(Time, u64); STEPS],
    count: usize,
    /// Before this time no step has passed since the newest, under a round-trip time of so much.
    same: (Time, Option<f64>),
}

impl WindowCounter {
    pub(super) fn new(steps: u64, rtt_unknown: TimeDelta) -> WindowCounter {
        let rtt_unknown = rtt_unknown.as_secs_f64();
        WindowCounter {
            steps,
            rtt_unknown,
            last: 0,
            floor: 0,
            sent: [(Time::ZERO, 0); STEPS],
            count: 0,
            same: (Time::ZERO, None),
        }
    }

    /// The counter that a packet sent now carries, unwrapped.
    #[inline]
    fn at(&self, now: Time, rtt: Option<f64>) -> u64 {
        let (until, under) = self.same;
        if now < until && rtt == under { self.last.max(self.floor) } else { self.counted_at(now, rtt) }
    }

    /// As [`WindowCounter::at`], by the time since the newest step.
    fn counted_at(&self, now: Time, rtt: Option<f64>) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let (last_time, _) = self.sent[(self.count - 1) % STEPS];
        let step = self.step(rtt);
        let since = now.saturating_since(last_time).as_secs_f64();
        let passed = if since < step { 0 } else { (since / step) as u64 };
        // One more than a round trip tells that it was more, and never wraps between neighbours.
        self.last.saturating_add(passed.min(self.steps + 1)).max(self.floor)
    }

    /// Length of a step in seconds.
    fn step(&self, rtt: Option<f64>) -> f64 {
        rtt.unwrap_or(self.rtt_unknown) / self.steps as i64 as f64
    }

    /// CCVal of a packet sent now.
    pub(super) fn value(&self, now: Time, rtt: Option<f64>) -> u8 {
        (self.at(now, rtt) % MODULUS) as u8
    }

    /// A packet left.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, rtt: Option<f64>) {
        let counter = self.at(now, rtt);
        if counter != self.last || self.count == 0 || rtt != self.same.1 {
            self.take(now, rtt, counter);
        }
    }

    /// A packet left with this counter, or under another round-trip time.
    fn take(&mut self, now: Time, rtt: Option<f64>, counter: u64) {
        if counter != self.last || self.count == 0 {
            self.last = counter;
            self.sent[self.count % STEPS] = (now, counter);
            // Wraps at a multiple of the ring's length, and never to an empty ring.
            self.count = if self.count == 2 * STEPS - 1 { STEPS } else { self.count + 1 };
        }
        let (last_time, _) = self.sent[(self.count - 1) % STEPS];
        // Less than the step by more than seconds are rounded, and for no step too long for that.
        let sure = TimeDelta::from_secs_f64(self.step(rtt).min(LONGEST_SURE)) - TimeDelta::from_micros(1);
        self.same = (last_time + sure, rtt);
    }

    /// A packet that was sent at `sent` is acknowledged: what is sent from now on is a round trip later.
    pub(super) fn on_acknowledged(&mut self, sent: Time) {
        let known = self.count.min(STEPS);
        let mut steps = (1..=known).map(|back| self.sent[(self.count - back) % STEPS]);
        if let Some((_, counter)) = steps.find(|(began, _)| *began <= sent) {
            self.floor = self.floor.max(counter.saturating_add(self.steps));
        }
    }
}

/// The counters of arriving packets, unwrapped: the receiver's clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct CounterClock {
    steps: u64,
    /// The greatest received, unwrapped.
    pub(super) greatest: u64,
    /// T(I): when the first packet with each of the last values came, by value.
    first: [Option<(Time, u64)>; MODULUS as usize],
    /// When the last packet with each of the last values came, by value, where that is asked for.
    last: Option<[Option<(Time, u64)>; MODULUS as usize]>,
    /// The round-trip time as the counter tells it; absent before it does.
    pub(super) rtt: Option<TimeDelta>,
}

/// A round-trip time below or above is not believed.
const SHORTEST_RTT: TimeDelta = TimeDelta::from_micros(1);
const LONGEST_RTT: TimeDelta = TimeDelta::from_secs(60);

impl CounterClock {
    /// `from_last`: the round-trip time is that from last packets, not between first ones.
    pub(super) fn new(steps: u64, from_last: bool) -> CounterClock {
        let last = from_last.then_some([None; MODULUS as usize]);
        CounterClock { steps, greatest: 0, first: [None; MODULUS as usize], last, rtt: None }
    }

    /// A packet with a number above all others came with this value.
    #[inline]
    pub(super) fn on_newest(&mut self, now: Time, value: u8) {
        let ahead = u64::from(value).wrapping_sub(self.greatest) % MODULUS;
        if ahead > 0 || self.first[(self.greatest % MODULUS) as usize].is_none() {
            self.on_step(now, self.greatest.saturating_add(ahead));
        }
        if let Some(last) = &mut self.last {
            last[(self.greatest % MODULUS) as usize] = Some((now, self.greatest));
            self.measure_from_last(now);
        }
    }

    /// From the last packet more than a round trip back. A step of more than a round trip between two says nothing.
    fn measure_from_last(&mut self, now: Time) {
        let Some(last) = &self.last else { return };
        let mut above = self.greatest;
        for distance in 1..MODULUS {
            let Some(counter) = self.greatest.checked_sub(distance) else { return };
            let known = last[(counter % MODULUS) as usize].filter(|(_, at)| *at == counter);
            let Some((came, _)) = known else { continue };
            if above - counter > self.steps {
                return;
            }
            above = counter;
            if distance > self.steps {
                self.take(now.saturating_since(came) * self.steps as i64 / distance as i64);
                return;
            }
        }
    }

    fn take(&mut self, rtt: TimeDelta) {
        self.rtt = Some(rtt.max(SHORTEST_RTT).min(LONGEST_RTT));
    }

    fn on_step(&mut self, now: Time, counter: u64) {
        self.greatest = counter;
        self.first[(counter % MODULUS) as usize] = Some((now, counter));
        if self.last.is_some() {
            return;
        }
        // Section 8.1: a distance of a whole round trip is preferred; a single step says too little.
        for distance in (2..=self.steps).rev() {
            let Some(before) = counter.checked_sub(distance) else { continue };
            let known = self.first[(before % MODULUS) as usize].filter(|(_, at)| *at == before);
            if let Some((began, _)) = known {
                let rtt = now.saturating_since(began) * self.steps as i64 / distance as i64;
                self.take(rtt);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const RTT: Option<f64> = Some(0.1);

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn sender() -> WindowCounter {
        WindowCounter::new(4, TimeDelta::from_millis(200))
    }

    fn send(counter: &mut WindowCounter, at: u64, rtt: Option<f64>) -> u8 {
        let value = counter.value(ms(at), rtt);
        counter.on_sent(ms(at), rtt);
        value
    }

    #[test]
    fn a_step_every_quarter_of_a_round_trip() {
        let mut counter = sender();
        let sent: Vec<u8> = (0..20).map(|n| send(&mut counter, 1000 + n * 10, RTT)).collect();
        // 25 ms after the first packet of the step before: with a packet every 10 ms that is 30 ms.
        assert_eq!(sent, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6]);
    }

    #[test]
    fn neighbours_differ_by_five_at_most_and_the_value_wraps() {
        let mut counter = sender();
        let sent: Vec<u8> =
            [0, 124, 249, 10_000, 20_000].iter().map(|at| send(&mut counter, *at, RTT)).collect();
        assert_eq!(sent, [0, 4, 9, 14, 3]);
    }

    proptest! {
        #[test]
        fn no_step_passes_before_the_time_that_is_kept(
            events in prop::collection::vec((0u64..60_000_000, 0u8..10, 0usize..4, 0u64..400_000_000), 1..200),
        ) {
            let rtts = [None, Some(0.1), Some(0.037), Some(1e-7)];
            let (mut counter, mut now) = (sender(), Time::ZERO);
            for (wait, what, rtt, back) in events {
                now += TimeDelta::from_nanos(wait as i64);
                let rtt = if what < 8 { rtts[1] } else { rtts[rtt] };
                let ends = counter.same.0;
                for at in [now, ends, ends - TimeDelta::from_nanos(1), ends + TimeDelta::from_micros(1)] {
                    let at = at.max(now);
                    prop_assert_eq!(counter.at(at, rtt), counter.counted_at(at, rtt));
                }
                if what == 0 {
                    counter.on_acknowledged(now - TimeDelta::from_nanos(back as i64));
                } else {
                    counter.on_sent(now, rtt);
                }
            }
        }
    }

    #[test]
    fn before_the_round_trip_is_known_it_is_taken_for_a_fifth_of_a_second() {
        let mut counter = sender();
        let sent: Vec<u8> = [0, 49, 50, 1050].iter().map(|at| send(&mut counter, *at, None)).collect();
        assert_eq!(sent, [0, 0, 1, 6]);
    }

    #[test]
    fn after_an_acknowledgement_packets_are_a_round_trip_later() {
        let mut counter = sender();
        (0..=7).for_each(|n| {
            send(&mut counter, n * 10, RTT);
        });
        assert_eq!(counter.value(ms(71), RTT), 2);
        // Packets from 30 ms on carry 1: the path has become shorter than the mean.
        counter.on_acknowledged(ms(35));
        assert_eq!(send(&mut counter, 71, RTT), 5);
        assert_eq!(send(&mut counter, 72, RTT), 5, "once");
        counter.on_acknowledged(ms(35));
        assert_eq!(send(&mut counter, 73, RTT), 5);
        // The newest: at most five ahead.
        counter.on_acknowledged(ms(73));
        assert_eq!(send(&mut counter, 10_000, RTT), 10);
    }

    #[test]
    fn from_last_packets_the_round_trip_is_up_to_a_fifth_short() {
        let mut clock = CounterClock::new(4, true);
        // Four packets in a step of 20 ms.
        (0..20).for_each(|n| clock.on_newest(ms(n * 5), (n / 4) as u8));
        assert_eq!(clock.rtt, None, "a distance of four says nothing");
        // The last packet of the first step came at 15 ms, D = 5.
        for (n, expected) in [(20, 68), (21, 72), (22, 76), (23, 80)] {
            clock.on_newest(ms(n * 5), 5);
            assert_eq!(clock.rtt, Some(TimeDelta::from_millis(expected)), "packet {n}");
        }
        clock.on_newest(ms(500), 10);
        assert_eq!(clock.rtt, Some(TimeDelta::from_millis(80)), "five ahead says nothing");
    }

    #[test]
    fn the_receiver_unwraps_and_takes_the_round_trip_from_first_packets() {
        let mut clock = CounterClock::new(4, false);
        // Section 8.1's figure: K, K+1, K+3, K+4, with K = 14.
        for (at, value) in [(0, 13), (10, 13), (20, 14), (25, 14), (40, 15)] {
            clock.on_newest(ms(at), value);
        }
        assert_eq!(
            (clock.greatest, clock.rtt),
            (15, Some(TimeDelta::from_millis(80))),
            "T(15) - T(13), D = 2"
        );
        clock.on_newest(ms(105), 1);
        assert_eq!((clock.greatest, clock.rtt), (17, Some(TimeDelta::from_millis(105))), "T(17) - T(13)");
        clock.on_newest(ms(122), 2);
        assert_eq!((clock.greatest, clock.rtt), (18, Some(TimeDelta::from_millis(102))), "T7 - T3");
        clock.on_newest(ms(500), 7);
        assert_eq!(
            (clock.greatest, clock.rtt),
            (23, Some(TimeDelta::from_millis(102))),
            "five ahead says nothing"
        );
    }
}
