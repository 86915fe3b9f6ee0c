//! From the times in packets to times on this receiver's clock.
//!
//! A packet's payload may say, in moments of the machine's clock, when it was captured and sent; that is believed if it
//! is within [`PLAUSIBLE`] of the arrival. The frame's capture time comes from the RTP timestamp, which all its packets
//! carry, set against the first packet of the stream.

use crate::clock::Moment;
use paceline_units::{Time, TimeDelta};
use paceline_wire::TimestampUnwrapper;
use paceline_wire::clock::{media_ticks_of, time_of_media_ticks};
use paceline_wire::timing::{self, Timing};

/// Times further from the arrival come from another machine, or from nobody who means well.
pub(crate) const PLAUSIBLE: TimeDelta = TimeDelta::from_secs(10);

/// When a payload says it was captured and sent, if that can be.
pub(crate) fn plausible_timing(payload: &[u8], arrived: Moment) -> Option<(Moment, Moment)> {
    let Timing { captured, sent } = timing::read(payload)?;
    let moments = [captured, sent].map(|time| Moment::from_nanos(time.as_nanos()));
    let near = |moment: Moment| {
        let span = arrived.since(moment);
        -PLAUSIBLE <= span && span <= PLAUSIBLE
    };
    (moments.into_iter().all(near) && captured <= sent).then_some((moments[0], moments[1]))
}

/// A frame is not captured later than it arrives, nor before frames of lower numbers, but for so long: what the first
/// packet was late by, and the order in which an encoder hands frames over.
const TIME_DOUBT: TimeDelta = TimeDelta::from_secs(1);
/// The same in ticks of the media clock.
const TICKS_DOUBT: u32 = 90_000;

/// Capture times of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureTimes {
    timestamps: TimestampUnwrapper,
    /// A media time and what this clock showed then.
    anchor: Option<(Time, Time)>,
    /// The newest packet: its sequence number, and when its frame was captured, from our zero.
    newest: Option<(u64, TimeDelta)>,
    /// The timestamp of the packet before, if it was none that could be, and when it came.
    refused: Option<(u32, Time)>,
}

impl CaptureTimes {
    /// When the frame was captured of a packet with this sequence number and RTP timestamp that arrived at `now`. The first
    /// packet shows how the media clock lies to ours: it was captured at `known`. None if the timestamp cannot be; two in a
    /// row that agree are a new beginning, and so is one that goes on from the newest.
    pub fn captured(
        &mut self,
        now: Time,
        sequence: u64,
        timestamp: u32,
        known: impl FnOnce() -> Time,
    ) -> Option<Time> {
        let mut timestamps = self.timestamps;
        let media = timestamps.unwrap(timestamp).map(time_of_media_ticks);
        let captured =
            media.zip(self.anchor).map(|(media, (anchor, ours))| (ours - Time::ZERO) + (media - anchor));
        match captured.filter(|captured| self.can_be(now, sequence, *captured)) {
            Some(captured) => {
                (self.timestamps, self.refused) = (timestamps, None);
                self.newest = self.newest.max(Some((sequence, captured)));
                Some(Time::ZERO + captured)
            }
            None if self.anchor.is_none() || self.agrees(now, timestamp) || self.goes_on(captured) => {
                let (mut timestamps, captured) = (TimestampUnwrapper::default(), known());
                let media = timestamps.unwrap(timestamp).map(time_of_media_ticks)?;
                *self = CaptureTimes {
                    timestamps,
                    anchor: Some((media, captured)),
                    newest: Some((sequence, captured - Time::ZERO)),
                    refused: None,
                };
                Some(captured)
            }
            None => {
                self.refused = Some((timestamp, now));
                None
            }
        }
    }

    /// The sequence numbers go on elsewhere: the next packet is the newest.
    pub fn resynchronise(&mut self) {
        if let Some((newest, _)) = &mut self.newest {
            *newest = 0;
        }
    }

    /// Whether a packet that arrived at `now` can be of a frame captured at `captured`.
    fn can_be(&self, now: Time, sequence: u64, captured: TimeDelta) -> bool {
        let goes_back = |(newest, at): (u64, TimeDelta)| sequence > newest && captured + TIME_DOUBT < at;
        captured <= (now - Time::ZERO) + TIME_DOUBT && !self.newest.is_some_and(goes_back)
    }

    /// Whether a time goes on from the newest frame's. If it cannot be all the same, the first packet was late and its clock is
    /// put right: it lay further back than was known.
    fn goes_on(&self, captured: Option<TimeDelta>) -> bool {
        let after = captured.zip(self.newest).map(|(captured, (_, newest))| captured - newest);
        after.is_some_and(|after| -TIME_DOUBT <= after && after <= TIME_DOUBT)
    }

    /// Whether a timestamp that arrived at `now` goes with the one that was refused before it.
    fn agrees(&self, now: Time, timestamp: u32) -> bool {
        self.refused.is_some_and(|refused| go_together(refused, (timestamp, now)))
    }
}

/// Whether two RTP timestamps can be of packets that arrived at these times, one after the other: the second is at most as much later as
/// its packet is, but for [`TIME_DOUBT`] either way.
pub(crate) fn go_together((one, came): (u32, Time), (other, now): (u32, Time)) -> bool {
    let most = media_ticks_of(Time::ZERO + now.saturating_since(came)) + 2 * u64::from(TICKS_DOUBT);
    u64::from(other.wrapping_sub(one).wrapping_add(TICKS_DOUBT)) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(captured: u64, sent: u64) -> Vec<u8> {
        let mut payload = vec![0; 100];
        let times = Timing { captured: Time::from_nanos(captured), sent: Time::from_nanos(sent) };
        assert!(timing::write(&mut payload, times));
        payload
    }

    #[test]
    fn only_plausible_times_are_believed() {
        const S: u64 = 1_000_000_000;
        let arrived = Moment::from_nanos(100 * S);
        let at = |captured, sent| plausible_timing(&payload(captured, sent), arrived).is_some();
        assert!(at(99 * S, 99 * S + 5) && at(90 * S, 100 * S));
        assert!(
            !at(89 * S, 99 * S) && !at(99 * S, 111 * S) && !at(99 * S + 1, 99 * S) && !at(u64::MAX, u64::MAX)
        );
        assert_eq!(plausible_timing(&[1; 100], arrived), None);
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn capture_times_follow_the_media_clock_from_the_first_packet_on() {
        let mut times = CaptureTimes::default();
        let (first, now) = (at(5000), at(5100));
        assert_eq!(times.captured(now, 1, u32::MAX - 899, || first), Some(first));
        let later = times.captured(now, 2, 900, || panic!("anchored")).expect("after a wrap");
        let error = (later - first) - TimeDelta::from_millis(20);
        assert!(error.as_nanos().abs() < 12_000, "{error:?}");
        let earlier = times.captured(now, 3, u32::MAX - 1799, || panic!("anchored")).expect("before");
        assert!(earlier < first);
    }

    /// The first packet waited for 3 s, in a send queue or a network, and those behind it came with it.
    #[test]
    fn a_stream_whose_first_packet_was_late_is_taken_whole() {
        let mut times = CaptureTimes::default();
        for frame in 0..90 {
            let captured = times.captured(at(3000), frame, frame as u32 * 3000, || at(3000));
            assert!(captured.is_some_and(|captured| captured <= at(4000)), "{frame}: {captured:?}");
        }
        for frame in 90..120 {
            assert!(times.captured(at(frame * 33), frame, frame as u32 * 3000, || at(frame * 33)).is_some());
        }
    }

    /// A shared screen sends a frame each 3 s, and its media clock is put ahead by an hour: the first two frames are far apart, and
    /// go with each other all the same.
    #[test]
    fn rare_frames_agree_on_a_new_beginning() {
        let (mut times, second) = (CaptureTimes::default(), |n: u64| at(n * 1000));
        let taken = |times: &mut CaptureTimes, now: u64, ticks: u32| {
            times.captured(second(now), now, ticks * 90_000, || second(now))
        };
        assert_eq!(taken(&mut times, 1, 1), Some(second(1)));
        assert_eq!((taken(&mut times, 4, 3604), taken(&mut times, 7, 3607)), (None, Some(second(7))));
        assert_eq!(taken(&mut times, 10, 3610), Some(second(10)));
        // Further apart than they came.
        assert_eq!((taken(&mut times, 13, 9000), taken(&mut times, 16, 9005)), (None, None));
    }

    #[test]
    fn a_timestamp_that_cannot_be_is_refused_unless_the_next_agrees() {
        const HOUR: u32 = 90_000 * 3600;
        let mut times = CaptureTimes::default();
        let anchored = || -> Time { panic!("anchored") };
        assert_eq!(times.captured(at(1000), 1, 0, || at(1000)), Some(at(1000)));
        // Each step alone would be taken for the nearer way round; together they would wrap the clock.
        for (sequence, hours) in [(2, 6), (3, 11), (4, 16)] {
            assert_eq!(times.captured(at(1010), sequence, HOUR.wrapping_mul(hours), anchored), None);
        }
        assert_eq!(times.captured(at(1020), 5, 1800, anchored), Some(at(1020)));
        assert_eq!(
            times.captured(at(1020), 6, 2 * 90_000, anchored),
            None,
            "captured a second after it came"
        );
        // The media clock goes back: two frames say so.
        assert_eq!(times.captured(at(9000), 7, 8 * 90_000, anchored), Some(at(9000)));
        assert_eq!(times.captured(at(9020), 8, 90_000, anchored), None);
        assert_eq!(times.captured(at(9040), 9, 91_800, || at(9030)), Some(at(9030)));
        assert_eq!(times.captured(at(9060), 10, 93_600, anchored), Some(at(9050)));
        // A late packet may be of an old frame.
        assert_eq!(times.captured(at(12_100), 12, 91_800 + 3 * 90_000, anchored), Some(at(12_030)));
        assert_eq!(times.captured(at(12_010), 11, 93_600, anchored), Some(at(9050)));
    }
}
