//! When a DCCP receiver takes its sender for quiescent (RFC 4341 section 6.2.1, RFC 4342 section 6.4).

use paceline_units::TimeDelta;

/// The round-trip time to count with before one is known (RFC 4340 section 3.4).
pub const RTT_UNKNOWN: TimeDelta = TimeDelta::from_millis(200);
const SHORTEST: TimeDelta = TimeDelta::from_millis(200);

/// T, the time without data after which a sender is quiescent; under CCID 2 only if it also has acknowledged what was
/// said of all its data.
pub fn quiescent_after(rtt: Option<TimeDelta>) -> TimeDelta {
    SHORTEST.max(rtt.unwrap_or(RTT_UNKNOWN) * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_of_a_fifth_of_a_second_and_two_round_trips() {
        let ms = TimeDelta::from_millis;
        for (rtt, expected) in [(Some(20), 200), (Some(100), 200), (Some(101), 202), (None, 400)] {
            assert_eq!(quiescent_after(rtt.map(ms)), ms(expected), "{rtt:?}");
        }
    }
}
