//! The rate that an application could use, measured where its source does not follow a target.

use paceline_cc::{Limits, Snapshot};
use paceline_media::Source;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// How long a source is watched for one value.
const WATCHED: TimeDelta = TimeDelta::from_secs(1);
/// An offer over more than this says nothing of the present: the source was silent.
const SILENT: TimeDelta = TimeDelta::from_secs(3);
/// A flow that were given exactly what its source offers could never empty its send queue.
const HEADROOM: f64 = 1.25;

/// Measures the rate of a source that hands over what it has, whatever it is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfferedRate {
    /// When the present measurement began.
    since: Option<Time>,
    offered: Bytes,
    /// The least that waited in the send queue when something was added, absent before anything was.
    backlog: Option<Bytes>,
    /// The last value; absent before the first.
    rate: Option<Bitrate>,
}

impl OfferedRate {
    /// The source hands over `bytes`, headers in, to a send queue in which `waiting` bytes wait. Answers a rate at the end of a
    /// measurement: what was offered before, and in a second what had waited all the while.
    pub fn on_offered(&mut self, now: Time, bytes: Bytes, waiting: Bytes) -> Option<Bitrate> {
        let mut measured = None;
        let since = *self.since.get_or_insert(now);
        let backlog = self.backlog.map_or(waiting, |least| least.min(waiting));
        self.backlog = Some(backlog);
        let watched = now.saturating_since(since);
        if watched >= WATCHED {
            if watched <= SILENT {
                let offered = self.offered.as_bits_f64() / watched.as_secs_f64();
                let late = backlog.as_bits_f64() / WATCHED.as_secs_f64();
                self.rate = Some(Bitrate::from_bps_f64(HEADROOM * offered + late));
                measured = Some(Bitrate::from_bps_f64(offered + late));
            }
            *self = OfferedRate { since: Some(now), rate: self.rate, ..OfferedRate::default() };
        }
        self.offered += bytes;
        measured
    }

    /// The rate that the application behind `source` could use: an encoder that `follows` its target within `limits` the largest
    /// rate that it makes, another source what it offers, either and a quarter, and in a second what has not run out of its
    /// send queue; a file anything. Absent if it can use any.
    pub fn desired(&self, source: &Source, follows: bool, limits: &Limits) -> Option<Bitrate> {
        let own = match source {
            Source::Bulk(_) | Source::External => None,
            _ if follows && source.follows_target() => {
                source.largest_rate().map(|rate| Bitrate::from_bps_f64(HEADROOM * rate.as_bps_f64()))
            }
            _ => self.rate,
        };
        let most = (limits.max < Bitrate::MAX).then_some(limits.max);
        own.into_iter().chain(most).min()
    }
}

/// The rate that an encoder is told whose controller names a window and no target: a window per smoothed round trip, or the `pace` if that
/// is less, of which payload is a `share`, less what lets the `backlog` leave within a second, down to a tenth.
pub fn window_target(
    snapshot: &Snapshot,
    pace: Option<Bitrate>,
    share: f64,
    backlog: Bytes,
) -> Option<Bitrate> {
    let (window, srtt) = (snapshot.window?, snapshot.srtt.filter(|srtt| *srtt > TimeDelta::ZERO)?);
    let pace = pace.map_or(f64::INFINITY, Bitrate::as_bps_f64);
    let carried = (window.as_bits_f64() / srtt.as_secs_f64()).min(pace) * share;
    Some(Bitrate::from_bps_f64((carried - backlog.as_bits_f64()).max(carried / 10.0)))
}

/// A stream that is given so much more than it last used may use more in the next second.
const ROOM: f64 = 1.1;
/// How much of the first measurement tells something.
const FIRST: TimeDelta = TimeDelta::from_millis(200);
/// A stream that offered nothing for so long wants nothing.
const IDLE: TimeDelta = TimeDelta::from_secs(1);

/// How much of what is to be shared a stream of media would use, measured by what it offers where it may offer more.
#[derive(Clone, Copy, Debug)]
pub struct WantedRate {
    offered: OfferedRate,
    /// When something was offered last, or could be for the first time.
    last: Time,
    /// The rate of the last measurement; zero before the first.
    before: Bitrate,
    /// The lowest targets of the present and of the last measurement.
    targets: [Bitrate; 2],
    /// Absent while it uses all that it is given, or is not known yet.
    wanted: Option<Bitrate>,
}

impl WantedRate {
    /// Of a stream that may offer from `now` on.
    pub fn new(now: Time) -> WantedRate {
        WantedRate {
            offered: OfferedRate::default(),
            last: now,
            before: Bitrate::ZERO,
            targets: [Bitrate::MAX; 2],
            wanted: None,
        }
    }

    /// It may offer from `now` on.
    pub fn begin(&mut self, now: Time) {
        self.last = now;
    }

    /// The stream offers bytes, as [`OfferedRate::on_offered`] is told, under this target, which its source `follows` or not. True where
    /// what it wants may have changed.
    pub fn on_offered(
        &mut self,
        now: Time,
        bytes: Bytes,
        waiting: Bytes,
        (target, follows): (Bitrate, bool),
    ) -> bool {
        self.last = now;
        self.targets[0] = self.targets[0].min(target);
        let Some(rate) = self.offered.on_offered(now, bytes, waiting) else {
            if let Some(rate) = self.first_rate(now) {
                return self.measured(rate, follows);
            }
            let most = self.wanted.map(|wanted| wanted.bytes_in(WATCHED));
            let more = follows && most.is_some_and(|most| self.offered.offered > most);
            if more {
                self.wanted = None;
            }
            return more;
        };
        let _ = self.measured(rate, follows);
        self.before = rate;
        self.targets = [target, self.targets[0]];
        true
    }

    /// The rate in the first part of the first measurement: a start is soon over.
    fn first_rate(&self, now: Time) -> Option<Bitrate> {
        let watched = now.saturating_since(self.offered.since?);
        let is_first = self.offered.rate.is_none() && (FIRST..SILENT).contains(&watched);
        is_first.then(|| Bitrate::from_bps_f64(self.offered.offered.as_bits_f64() / watched.as_secs_f64()))
    }

    /// It offers this rate. True where it wants another one than before.
    fn measured(&mut self, rate: Bitrate, follows: bool) -> bool {
        let room = Bitrate::from_bps_f64(ROOM * rate.max(self.before).as_bps_f64());
        let uses_all = follows && room >= self.targets[0].min(self.targets[1]);
        let before = std::mem::replace(&mut self.wanted, (!uses_all).then_some(room));
        self.wanted != before
    }

    /// The rate that the stream wants; absent if it would use any.
    pub fn wanted(&self, now: Time) -> Option<Bitrate> {
        if now > self.last + IDLE { Some(Bitrate::ZERO) } else { self.wanted }
    }

    /// The rate that its application could use ([`OfferedRate::desired`]).
    pub fn desired(&self, source: &Source, limits: &Limits) -> Option<Bitrate> {
        self.offered.desired(source, true, limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::StreamId;
    use paceline_media::{Bulk, BulkParams, Cbr, CbrParams, VideoModel, VideoModelKind, VideoModelParams};

    fn source(adaptive: bool) -> Source {
        Source::Cbr(Cbr::new(CbrParams { adaptive, ..CbrParams::default() }))
    }

    /// 100 kbit/s in steps of 20 ms for two seconds.
    fn measured(waiting: impl Fn(u64) -> u64) -> OfferedRate {
        let mut rate = OfferedRate::default();
        for step in 0..100 {
            let _ = rate.on_offered(
                Time::from_nanos(step * 20_000_000),
                Bytes::new(250),
                Bytes::new(waiting(step)),
            );
        }
        rate
    }

    #[test]
    fn a_source_of_its_own_rate_wants_that_and_a_quarter() {
        let none = Limits::none(StreamId(0));
        let rate = measured(|_| 0);
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

    fn video(r_min: u64, r_max: u64) -> Source {
        let params = VideoModelParams {
            r_min: Some(Bitrate::from_kbps(r_min)),
            r_max: Some(Bitrate::from_kbps(r_max)),
            ..VideoModelParams::default()
        };
        Source::Rfc8593(VideoModel::new(VideoModelKind::Statistical, params).expect("in range"))
    }

    #[test]
    fn an_encoder_can_use_no_more_than_its_largest_rate_and_one_of_a_single_rate_what_it_offers() {
        let none = Limits::none(StreamId(0));
        let desired = |source: &Source| measured(|_| 0).desired(source, true, &none);
        assert_eq!(desired(&video(100, 400)), Some(Bitrate::from_kbps(500)));
        assert_eq!(desired(&video(400, 400)), Some(Bitrate::from_kbps(125)), "as measured");
        assert_eq!(OfferedRate::default().desired(&video(400, 400), true, &none), None, "not known yet");
    }

    /// Bytes that have waited for a second are to be sent in another. Bytes that a frame adds and the pacer sends on are no backlog.
    #[test]
    fn who_has_a_backlog_could_use_so_much_more() {
        let none = Limits::none(StreamId(0));
        let desired = |rate: OfferedRate| rate.desired(&source(false), true, &none);
        assert_eq!(desired(measured(|step| 1000 + step)), Some(Bitrate::from_bps(133_000)));
        assert_eq!(desired(measured(|step| 5000 * (step % 50))), Some(Bitrate::from_kbps(125)));
    }

    #[test]
    fn silence_is_no_low_rate() {
        let mut rate = measured(|_| 0);
        let _ = rate.on_offered(Time::from_nanos(9_000_000_000), Bytes::new(250), Bytes::ZERO);
        let none = Limits::none(StreamId(0));
        assert_eq!(rate.desired(&source(false), true, &none), Some(Bitrate::from_kbps(125)));
    }
}
