//! The base delay and the present one, from round trips.

use super::Params;
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

const MINUTE: TimeDelta = TimeDelta::from_secs(60);

/// Round trips in seconds.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// Smallest of each of the last minutes, the present one at the end.
    minutes: VecDeque<f64>,
    /// Begin of the present minute.
    began: Time,
    newest: VecDeque<f64>,
}

impl Delays {
    pub fn new(params: &Params) -> Delays {
        Delays {
            minutes: VecDeque::with_capacity(params.base_history as usize + 1),
            began: Time::ZERO,
            newest: VecDeque::with_capacity(params.current_filter as usize + 1),
        }
    }

    pub fn sample(&mut self, params: &Params, now: Time, rtt: TimeDelta) {
        let rtt = rtt.as_secs_f64().max(1e-9);
        self.newest.push_back(rtt);
        while self.newest.len() as u64 > params.current_filter {
            self.newest.pop_front();
        }
        if self.minutes.is_empty() || now.saturating_since(self.began) >= MINUTE {
            self.began = now;
            self.minutes.push_back(rtt);
            while self.minutes.len() as u64 > params.base_history {
                self.minutes.pop_front();
            }
        } else if let Some(least) = self.minutes.back_mut() {
            *least = least.min(rtt);
        }
    }

    /// Base delay; absent before the first round trip.
    pub fn base(&self) -> Option<f64> {
        self.minutes.iter().copied().reduce(f64::min)
    }

    /// Queue delay; absent before the first round trip.
    pub fn queue_delay(&self) -> Option<f64> {
        let present = self.newest.iter().copied().reduce(f64::min)?;
        self.base().map(|base| (present - base).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_of_ten_minutes_and_the_present_of_four_round_trips() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let ms = TimeDelta::from_millis;
        delays.sample(&params, at(1), ms(40));
        for (rtt, expected) in [(100, 0.0), (90, 0.0), (120, 0.0), (110, 0.05), (110, 0.05), (110, 0.07)] {
            delays.sample(&params, at(2), ms(rtt));
            let found = delays.queue_delay().expect("a round trip");
            assert!((found - expected).abs() < 1e-9, "{rtt}: {found}");
        }
        for minute in 1..=11 {
            delays.sample(&params, at(2 + 60 * minute), ms(70));
            let base = if minute < 10 { 0.04 } else { 0.07 };
            assert_eq!(delays.base(), Some(base), "minute {minute}");
        }
    }
}
