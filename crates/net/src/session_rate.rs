//! The bandwidth of an RTP session, of which regular reports take their share: what its media takes.

use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// It is measured over at least so long.
const SPAN: TimeDelta = TimeDelta::from_secs(1);
/// Regular reports come once in 36 ms at most, and an endpoint of a little speech still has some (ours).
const LEAST: Bitrate = Bitrate::from_kbps(64);
const MOST: Bitrate = Bitrate::from_mbps(10);

/// Measures the rate of a session's media.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionRate {
    since: Option<Time>,
    bytes: Bytes,
}

impl SessionRate {
    /// A packet of so many bytes was sent or came; answers the session's bandwidth if it is known anew.
    pub fn count(&mut self, now: Time, bytes: usize) -> Option<Bitrate> {
        let elapsed = now.saturating_since(*self.since.get_or_insert(now));
        if elapsed < SPAN {
            self.bytes += Bytes::new(bytes as u64);
            return None;
        }
        let rate = Bitrate::from_bps_f64(self.bytes.as_bits_f64() / elapsed.as_secs_f64());
        (self.since, self.bytes) = (Some(now), Bytes::new(bytes as u64));
        Some(rate.max(LEAST).min(MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_rate_of_the_last_second_within_bounds() {
        for (apart, bytes, expected) in [(5, 1250, 2_000_000), (100, 100, 64_000), (1, 12_500, 10_000_000)] {
            let mut rate = SessionRate::default();
            let millis = (0..=1000).step_by(apart);
            let at = |millis: usize| Time::from_nanos(millis as u64 * 1_000_000);
            let told: Vec<_> = millis.filter_map(|millis| rate.count(at(millis), bytes)).collect();
            assert_eq!(told.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(), [expected]);
        }
    }
}
