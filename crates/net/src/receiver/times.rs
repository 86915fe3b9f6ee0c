//! From what a packet says of time to times on this receiver's clock.
//!
//! A packet's payload may say, in moments of the machine's clock, when it was captured and sent; that is believed if it
//! is within [`PLAUSIBLE`] of the arrival. The frame's capture time comes from the RTP timestamp, which all its packets
//! carry, set against the first packet of the stream.

use crate::clock::Moment;
use paceline_units::{Time, TimeDelta};
use paceline_wire::TimestampUnwrapper;
use paceline_wire::clock::time_of_media_ticks;
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

/// Capture times of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureTimes {
    timestamps: TimestampUnwrapper,
    /// A media time and what this clock showed then.
    anchor: Option<(Time, Time)>,
}

impl CaptureTimes {
    /// When the frame with this RTP timestamp was captured. The first packet shows how the media clock lies to ours:
    /// it was captured at `known`. None if the timestamp lies before all there can be.
    pub fn captured(&mut self, timestamp: u32, known: impl FnOnce() -> Time) -> Option<Time> {
        let media = time_of_media_ticks(self.timestamps.unwrap(timestamp)?);
        let (media_anchor, ours) = *self.anchor.get_or_insert_with(|| (media, known()));
        Some(ours + (media - media_anchor))
    }
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

    #[test]
    fn capture_times_follow_the_media_clock_from_the_first_packet_on() {
        let mut times = CaptureTimes::default();
        let first = Time::from_nanos(5_000_000_000);
        assert_eq!(times.captured(u32::MAX - 899, || first), Some(first));
        let later = times.captured(900, || panic!("anchored")).expect("after a wrap");
        let error = (later - first) - TimeDelta::from_millis(20);
        assert!(error.as_nanos().abs() < 12_000, "{error:?}");
        let earlier = times.captured(u32::MAX - 1799, || panic!("anchored")).expect("before");
        assert!(earlier < first);
    }
}
