//! The packets that arrive, and how many may be sent because of them: no more than twice as many (RFC 5348 section 4.3).
//!
//! RAP answers losses alone. On a path that queues for seconds it hears of them seconds late, and its rate would grow all
//! the while; on one that carries a tenth of what it sends, losses say no more than on one that carries a half.

use super::Params;
use crate::tfrc::data_limited::DataLimited;
use crate::tfrc::receive_limit::ReceiveLimit;
use paceline_units::{Time, TimeDelta};

/// Packets per round trip that are never too many for what arrived before: an initial window (RFC 9002 section 7.2). With the four of
/// RFC 5348 section 4.2 a count that is off by a packet would hold a rate back that rises by a packet per round trip.
pub(super) const INITIAL: f64 = 10.0;

/// The longest interval over which arrivals are counted: a queue of seconds makes round trips of seconds.
const LONGEST: TimeDelta = TimeDelta::from_millis(250);

/// The packets that are acknowledged, per second and round trip.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// `X_recv_set` in packets per second.
    set: ReceiveLimit,
    limited: DataLimited,
    /// When the present interval began; absent before the first acknowledgement.
    since: Option<Time>,
    /// Packets acknowledged since.
    packets: u64,
    /// When the newest packet left that was acknowledged.
    newest: Time,
    /// When the newest packet of all left.
    sent: Time,
}

impl Arrivals {
    /// Nothing sent and nothing acknowledged.
    pub(super) fn new() -> Arrivals {
        Arrivals {
            set: ReceiveLimit::new(Time::ZERO),
            limited: DataLimited::new(),
            since: None,
            packets: 0,
            newest: Time::ZERO,
            sent: Time::ZERO,
        }
    }

    /// A packet left; `app_limited`: none waits behind it. After a pause arrivals are counted anew: it tells nothing of the path.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, srtt: TimeDelta, app_limited: bool) {
        if now.saturating_since(core::mem::replace(&mut self.sent, now)) > srtt.max(LONGEST) {
            self.since = None;
        }
        if !app_limited {
            self.limited.on_not_limited(now, srtt);
        }
    }

    /// A packet that left at `sent` was acknowledged for the first time.
    #[inline]
    pub(super) fn on_acknowledged(&mut self, sent: Time) {
        self.packets += 1;
        self.newest = self.newest.max(sent);
    }

    /// A report came. Answers whether a round trip is over, and with it the limit another one.
    pub(super) fn on_report(&mut self, now: Time, params: &Params, srtt: TimeDelta) -> bool {
        let Some(since) = self.since else {
            (self.since, self.packets) = (Some(now), 0);
            return false;
        };
        let (elapsed, interval) = (now.saturating_since(since), srtt.min(LONGEST));
        if elapsed < interval {
            return false;
        }
        let rate = self.packets as f64 / elapsed.as_secs_f64();
        if self.packets > 0 && self.limited.covers(self.newest, interval) {
            self.set.maximize(now, rate);
        } else {
            self.set.update(now, rate, kept(params, srtt));
        }
        (self.since, self.packets) = (Some(now), 0);
        true
    }

    /// Coupling assigns this many packets per second: they are allowed until what arrives tells otherwise.
    pub(super) fn on_assigned(&mut self, now: Time, params: &Params, rate: f64, srtt: TimeDelta) {
        let known = rate / params.recv_limit_factor;
        if known > self.set.max() {
            self.set.update(now, known, kept(params, srtt));
        }
    }

    /// Most packets per second, of a round trip that is above zero.
    pub(super) fn most(&self, params: &Params, srtt: TimeDelta) -> f64 {
        (params.recv_limit_factor * self.set.max()).max(INITIAL / srtt.as_secs_f64())
    }
}

/// How long a count of arrivals holds.
fn kept(params: &Params, srtt: TimeDelta) -> TimeDelta {
    TimeDelta::from_secs_f64(params.recv_set_rtts * srtt.min(LONGEST).as_secs_f64())
}
