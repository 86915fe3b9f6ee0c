//! The smallest or the largest value of the last while, to an eighth of it: for laws whose base delay is of some time.

use paceline_units::{Time, TimeDelta};

/// Parts of the time.
const PARTS: usize = 8;

/// Extremes of the parts of a time, newest first. Values are seconds; the largest is kept as the smallest of negatives.
#[derive(Clone, Copy, Debug)]
pub struct Extreme {
    parts: [Option<(Time, f64)>; PARTS + 1],
}

impl Extreme {
    /// No value yet.
    pub const NEW: Extreme = Extreme { parts: [None; PARTS + 1] };

    /// Takes a value, and forgets those that are older than `over`.
    pub fn update(&mut self, now: Time, over: TimeDelta, value: f64) {
        let part = TimeDelta::from_nanos(over.as_nanos() / PARTS as i64);
        match &mut self.parts[0] {
            Some((began, least)) if now.saturating_since(*began) < part => *least = least.min(value),
            _ => {
                self.parts.rotate_right(1);
                self.parts[0] = Some((now, value));
            }
        }
        for slot in &mut self.parts[1..] {
            if slot.is_some_and(|(began, _)| now.saturating_since(began) > over) {
                *slot = None;
            }
        }
    }

    /// The smallest; absent before the first value.
    pub fn least(&self) -> Option<f64> {
        self.parts.iter().flatten().map(|(_, value)| *value).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_a_second_is_forgotten_after_it() {
        let mut least = Extreme::NEW;
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let second = TimeDelta::from_secs(1);
        for (ms, value, expected) in [
            (0, 5.0, 5.0),
            (100, 7.0, 5.0),
            (500, 6.0, 5.0),
            (990, 9.0, 5.0),
            (1010, 9.0, 6.0),
            (1600, 9.0, 9.0),
        ] {
            least.update(at(ms), second, value);
            assert_eq!(least.least(), Some(expected), "{ms} ms");
        }
    }
}
