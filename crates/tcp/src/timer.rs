//! The retransmission timer of a connection, and the round trips that set it (RFC 6298).

use super::TcpConfig;
use paceline_ends::{Rto, RtoLimits};
use paceline_units::{Time, TimeDelta};

/// When the timer expires, and the segment that is timed where only one is.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    rto: Rto,
    due: Option<Time>,
    timed: Option<(u64, Time)>,
}

impl RetransmissionTimer {
    /// The timer does not run.
    pub(super) fn new(config: &TcpConfig) -> RetransmissionTimer {
        let TcpConfig { initial_rto: initial, min_rto: min, max_rto: max, clock, .. } = *config;
        let rto = Rto::new(RtoLimits { initial, min, max, clock });
        RetransmissionTimer { rto, due: None, timed: None }
    }

    /// When it expires; none while it does not run.
    #[inline]
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// How long it runs.
    #[inline]
    pub(super) fn timeout(&self) -> TimeDelta {
        self.rto.timeout
    }

    /// Smoothed round trip; none before the first sample.
    pub(super) fn srtt(&self) -> Option<TimeDelta> {
        self.rto.srtt()
    }

    /// It runs anew.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.due = Some(now + self.rto.timeout);
    }

    /// It expires then, if it runs.
    #[inline]
    pub(super) fn set(&mut self, due: Option<Time>) {
        self.due = due;
    }

    /// It expired: rule 5.5.
    pub(super) fn back_off(&mut self) {
        self.rto.back_off();
    }

    /// The connection is there, after a SYN was sent again: rule 5.7.
    pub(super) fn syn_was_lost(&mut self) {
        self.rto.syn_was_lost();
    }

    /// A round trip was measured.
    #[inline]
    pub(super) fn sample(&mut self, rtt: TimeDelta) {
        self.rto.sample(rtt);
    }

    /// A segment left: it is timed, if none is.
    #[inline]
    pub(super) fn time_segment(&mut self, number: u64, now: Time) {
        self.timed.get_or_insert((number, now));
    }

    /// A segment left again, so that its round trip cannot be told (section 3).
    pub(super) fn forget_segment(&mut self, number: u64) {
        self.timed.take_if(|(timed, _)| *timed == number);
    }

    /// No segment is timed.
    pub(super) fn forget(&mut self) {
        self.timed = None;
    }

    /// When the timed segment left, if it is one before `first`. It is timed no longer.
    pub(super) fn take_timed(&mut self, first: u64) -> Option<Time> {
        self.timed.take_if(|(number, _)| *number < first).map(|(_, sent)| sent)
    }
}
