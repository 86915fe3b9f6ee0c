//! What an application could use, measured where its source does not follow a target.

use paceline_cc::Limits;
use paceline_media::Source;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// How long a source is watched for one value.
const WATCHED: TimeDelta = TimeDelta::from_secs(1);
/// What was offered over more than this says nothing of the present: the source was silent.
const SILENT: TimeDelta = TimeDelta::from_secs(3);
/// A flow that were given exactly what its source offers could never empty its send queue.
const HEADROOM: f64 = 1.25;

/// Measures the rate of a source that hands over what it has, whatever it is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfferedRate {
    /// When the present measurement began.
    since: Option<Time>,
    offered: Bytes,
    /// Whether the send queue ran empty in it.
    ran_empty: bool,
    /// The last value; absent before the first, and while the send queue does not run empty.
    rate: Option<Bitrate>,
}

impl OfferedRate {
    /// The source hands over `bytes`, headers in, to a send queue that was empty before, or not.
    pub fn on_offered(&mut self, now: Time, bytes: Bytes, was_empty: bool) {
        let since = *self.since.get_or_insert(now);
        self.ran_empty |= was_empty;
        let watched = now.saturating_since(since);
        if watched >= WATCHED {
            if watched <= SILENT {
                let rate = HEADROOM * self.offered.as_bits_f64() / watched.as_secs_f64();
                self.rate = self.ran_empty.then(|| Bitrate::from_bps_f64(rate));
            }
            *self = OfferedRate { since: Some(now), rate: self.rate, ..OfferedRate::default() };
        }
        self.offered += bytes;
    }

    /// What the application behind `source` could use: an encoder that `follows` its target within `limits` as much as they
    /// allow, another source what it offers and a quarter, a file anything. Absent if it can use any.
    pub fn desired(&self, source: &Source, follows: bool, limits: &Limits) -> Option<Bitrate> {
        let own = match source {
            Source::Bulk(_) | Source::External => None,
            _ if follows && source.follows_target() => None,
            _ => self.rate,
        };
        let most = (limits.max < Bitrate::MAX).then_some(limits.max);
        own.into_iter().chain(most).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::StreamId;
    use paceline_media::{Bulk, BulkParams, Cbr, CbrParams};

    fn source(adaptive: bool) -> Source {
        Source::Cbr(Cbr::new(CbrParams { adaptive, ..CbrParams::default() }))
    }

    /// 100 kbit/s in steps of 20 ms for two seconds.
    fn measured(was_empty: impl Fn(u64) -> bool) -> OfferedRate {
        let mut rate = OfferedRate::default();
        for step in 0..100 {
            rate.on_offered(Time::from_nanos(step * 20_000_000), Bytes::new(250), was_empty(step));
        }
        rate
    }

    #[test]
    fn a_source_of_its_own_rate_wants_that_and_a_quarter() {
        let none = Limits::none(StreamId(0));
        let rate = measured(|_| true);
        assert_eq!(rate.desired(&source(false), true, &none), Some(Bitrate::from_kbps(125)));
        assert_eq!(rate.desired(&source(true), true, &none), None, "an encoder can use any rate");
        assert_eq!(
            rate.desired(&source(true), false, &none),
            Some(Bitrate::from_kbps(125)),
            "unless nobody tells it a target"
        );
        assert_eq!(rate.desired(&Source::Bulk(Bulk::new(BulkParams::default())), true, &none), None);
        let limits = Limits { max: Bitrate::from_kbps(50), ..none };
        assert_eq!(rate.desired(&source(true), true, &limits), Some(limits.max));
        assert_eq!(rate.desired(&source(false), true, &limits), Some(limits.max));
    }

    #[test]
    fn who_has_a_backlog_can_use_any_rate_until_it_is_gone() {
        let none = Limits::none(StreamId(0));
        assert_eq!(measured(|_| false).desired(&source(false), true, &none), None);
        let mut rate = measured(|step| step < 40);
        assert_eq!(rate.desired(&source(false), true, &none), Some(Bitrate::from_kbps(125)), "once a second");
        rate.on_offered(Time::from_nanos(2_000_000_000), Bytes::new(250), false);
        assert_eq!(rate.desired(&source(false), true, &none), None);
    }

    #[test]
    fn silence_is_no_low_rate() {
        let mut rate = measured(|_| true);
        rate.on_offered(Time::from_nanos(9_000_000_000), Bytes::new(250), true);
        let none = Limits::none(StreamId(0));
        assert_eq!(rate.desired(&source(false), true, &none), Some(Bitrate::from_kbps(125)));
    }
}
