//! Holds one of several streams to its share: the generic cell rate algorithm (ITU-T I.371), for packets of any size.
//!
//! An encoder that does not follow its target always has packets that wait, so that they leave as fast as the pacer lets them, which is
//! faster than the target: the flow sends more than its controller named, and all its streams have to pay for it.

use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// So far a stream may be ahead of its share: key frames, scenes that change, and the only frame of a second.
const BURST: TimeDelta = TimeDelta::from_secs(1);
/// The shaper lets more through than the share, by which a queue drains.
const DRAIN: f64 = 1.1;
/// No packet waits longer for its turn, however low the share was when others left.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_secs(1);

/// The shaper of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    /// The rate that passes; absent where any does.
    rate: Option<Bitrate>,
    /// When all that left would have left at this rate.
    ahead_until: Time,
}

impl Shaper {
    /// Lets any rate through.
    pub(super) fn new() -> Shaper {
        Shaper { rate: None, ahead_until: Time::ZERO }
    }

    /// The stream's share is this from now on; absent where it has none.
    pub(super) fn set_share(&mut self, share: Option<Bitrate>) {
        self.rate = share.map(|share| Bitrate::from_bps_f64(DRAIN * share.as_bps_f64()));
    }

    /// When the next packet may leave; in the past where one may now.
    #[inline]
    pub(super) fn free_from(&self) -> Time {
        if self.rate.is_some() { self.ahead_until - BURST } else { Time::ZERO }
    }

    /// A packet leaves with so much of what the encoder made: headers of small packets are not its doing.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, payload: Bytes) {
        if let Some(rate) = self.rate {
            let ahead_until = self.ahead_until.max(now) + rate.time_for(payload);
            self.ahead_until = ahead_until.min(now + BURST + LONGEST_WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// When each of so many packets of 1,100 B leaves that all wait from 10 s on, in ms after that.
    fn leave(shaper: &mut Shaper, count: usize) -> Vec<i64> {
        let mut now = at(10_000);
        let leaves = |_| {
            now = now.max(shaper.free_from());
            shaper.on_sent(now, Bytes::new(1100));
            (now - at(10_000)).as_nanos() / 1_000_000
        };
        (0..count).map(leaves).collect()
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_a_tenth_more_than_the_share() {
        let mut shaper = Shaper::new();
        assert_eq!(leave(&mut shaper, 3), [0, 0, 0], "nothing is shared");
        // A packet takes 80 ms at 110 kbit/s.
        shaper.set_share(Some(Bitrate::from_kbps(100)));
        assert_eq!(leave(&mut shaper, 16), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 120, 200]);
        shaper.set_share(None);
        assert_eq!(leave(&mut shaper, 2), [0, 0], "it shares with nobody any more");
    }

    #[test]
    fn a_share_of_next_to_nothing_holds_nobody_up_for_longer_than_a_second() {
        let mut shaper = Shaper::new();
        shaper.set_share(Some(Bitrate::ZERO));
        assert_eq!(leave(&mut shaper, 3), [0, 1000, 2000]);
        shaper.set_share(Some(Bitrate::from_mbps(10)));
        shaper.on_sent(at(20_000), Bytes::new(1100));
        assert!(shaper.free_from() < at(20_000), "what it saved is a burst");
    }
}
