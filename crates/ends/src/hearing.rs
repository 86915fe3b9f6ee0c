//! Whether anything comes back to a flow that shares.

use crate::Reason;
use paceline_cc::TimeoutReason;
use paceline_units::{Time, TimeDelta};

/// A flow that has sent, and of which nothing has come back for so long since, does not share.
const SILENT: TimeDelta = TimeDelta::from_secs(2);
/// How long the smoothed round trip of a flow that is heard again may be that of packets which waited for the end of the silence.
const UNCLEAR: TimeDelta = TimeDelta::from_secs(10);

/// Answers to a coupled flow's packets: a flow that hears nothing leaves its group until it is heard again.
///
/// Controllers say that nothing is in flight once they give up. So silence is told by the packets that were sent since something came
/// back, and by time: by a timer of controller or transport that runs out for want of answers, after a round trip at least, or else after
/// two seconds. The reductions that follow are no congestion of the group, and an assignment would undo them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hearing {
    /// When the first packet left since something came back.
    since: Option<Time>,
    silent: bool,
    /// Smoothed round trip before the silence; absent where it is no bound.
    before: Option<TimeDelta>,
    /// Until when it is one.
    bounded_until: Time,
}

impl Hearing {
    /// Packets left at `now`.
    #[inline]
    pub fn sent(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    /// Something came back at `now`.
    #[inline]
    pub fn heard(&mut self, now: Time) {
        self.since = None;
        if core::mem::take(&mut self.silent) {
            self.bounded_until = now + UNCLEAR;
        } else if now >= self.bounded_until {
            self.before = None;
        }
    }

    /// The round trip that coupling is told of a flow whose smoothed one is `srtt`: after a silence no longer one than before, for a while.
    /// A window is the rate that it comes to over the round trip, and would grow with a round trip that nothing takes any more.
    #[inline]
    pub fn round_trip(&self, srtt: Option<TimeDelta>) -> Option<TimeDelta> {
        srtt.map(|srtt| self.before.map_or(srtt, |before| srtt.min(before)))
    }

    /// The sending end was called at `now` for this reason. Its smoothed round trip is asked for where it counts.
    pub fn woken(&mut self, now: Time, reason: Reason, srtt: impl FnOnce() -> Option<TimeDelta>) {
        let for_want = match reason {
            Reason::Retransmission
            | Reason::Controller(TimeoutReason::NoFeedback | TimeoutReason::Stalled) => true,
            Reason::Controller(
                TimeoutReason::MediaRate
                | TimeoutReason::Probe
                | TimeoutReason::Estimate
                | TimeoutReason::Pacing,
            )
            | Reason::Plan
            | Reason::Capture
            | Reason::Pacing
            | Reason::DelayedAck
            | Reason::Report
            | Reason::Playout
            | Reason::Negotiation
            | Reason::PathMtu
            | Reason::Idle
            | Reason::Expiry => false,
        };
        if let Some(since) = self.since.filter(|_| for_want) {
            let srtt = srtt();
            if since + srtt.unwrap_or(SILENT) <= now {
                self.fall_silent(srtt);
            }
        }
    }

    /// When the flow falls silent unless something comes back before.
    #[inline]
    pub fn silent_at(&self) -> Option<Time> {
        self.since.filter(|_| !self.silent).map(|since| since + SILENT)
    }

    /// Nothing has come back until [`Hearing::silent_at`]; the smoothed round trip is `srtt`.
    pub fn fall_silent(&mut self, srtt: Option<TimeDelta>) {
        if !self.silent {
            (self.silent, self.before) = (true, self.before.or(srtt));
        }
    }

    /// Whether nothing has come back for too long.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<TimeDelta> = Some(TimeDelta::from_millis(100));
    const NO_FEEDBACK: Reason = Reason::Controller(TimeoutReason::NoFeedback);

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_flow_whose_packets_are_not_answered_is_silent_after_two_seconds() {
        let mut hearing = Hearing::default();
        assert_eq!(hearing.silent_at(), None, "nothing was sent");
        hearing.sent(ms(10));
        hearing.sent(ms(500));
        assert_eq!(hearing.silent_at(), Some(ms(2010)), "the first packet counts");
        hearing.heard(ms(600));
        assert_eq!((hearing.silent_at(), hearing.is_silent()), (None, false));
        hearing.sent(ms(3000));
        hearing.fall_silent(RTT);
        hearing.sent(ms(6000));
        assert!(hearing.is_silent() && hearing.silent_at().is_none());
        hearing.heard(ms(7000));
        assert!(!hearing.is_silent());
    }

    #[test]
    fn a_round_trip_of_packets_that_waited_for_the_end_of_a_silence_is_no_round_trip() {
        let mut hearing = Hearing::default();
        let (waited, shorter) = (Some(TimeDelta::from_secs(58)), Some(TimeDelta::from_millis(40)));
        assert_eq!(hearing.round_trip(waited), waited);
        hearing.sent(ms(0));
        hearing.fall_silent(RTT);
        hearing.heard(ms(58_000));
        assert_eq!([None, waited, shorter].map(|srtt| hearing.round_trip(srtt)), [None, RTT, shorter]);
        hearing.heard(ms(67_999));
        assert_eq!(hearing.round_trip(waited), RTT);
        hearing.heard(ms(68_000));
        assert_eq!(hearing.round_trip(waited), waited, "the path is longer now");
    }

    #[test]
    fn a_timer_that_runs_out_for_want_of_answers_tells_it_at_once() {
        let silent = |sent: Option<u64>, at: u64, reason| {
            let mut hearing = Hearing::default();
            sent.iter().for_each(|&sent| hearing.sent(ms(sent)));
            hearing.woken(ms(at), reason, || RTT);
            hearing.is_silent()
        };
        assert!(silent(Some(0), 100, NO_FEEDBACK));
        assert!(silent(Some(0), 100, Reason::Retransmission));
        assert!(!silent(Some(1), 100, NO_FEEDBACK), "an answer takes a round trip");
        assert!(!silent(None, 100, NO_FEEDBACK), "an idle flow waits for no answer");
        assert!(!silent(Some(0), 100, Reason::Controller(TimeoutReason::Estimate)));
    }
}
