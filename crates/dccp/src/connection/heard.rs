//! When packets of the other end arrived.

use paceline_units::{Time, TimeDelta};

/// When the other end was heard last, and whether it is asked for a word.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// When its last valid packet arrived.
    last: Time,
    /// When its newest acknowledgeable packet arrived.
    newest: Time,
    /// The number of its newest data packet, and when its last one arrived.
    data: Option<(i64, Time)>,
    /// Whether a Sync asks whether anybody is there.
    probed: bool,
}

impl Heard {
    /// Silence is counted from `now` on.
    pub(super) fn since(now: Time) -> Heard {
        Heard { last: now, newest: now, data: None, probed: false }
    }

    /// A valid packet arrived.
    #[inline]
    pub(super) fn on_valid(&mut self, now: Time) {
        (self.last, self.probed) = (now, false);
    }

    /// The newest acknowledgeable packet arrived.
    #[inline]
    pub(super) fn on_newest(&mut self, now: Time) {
        self.newest = now;
    }

    /// A data packet arrived.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, number: i64) {
        let newest = self.data.map_or(number, |(newest, _)| newest.max(number));
        self.data = Some((newest, now));
    }

    /// The number of its newest data packet, and when its last one arrived; none before any.
    pub(super) fn data(&self) -> Option<(i64, Time)> {
        self.data
    }

    /// For how long nothing has arrived.
    #[inline]
    pub(super) fn silence(&self, now: Time) -> TimeDelta {
        now.saturating_since(self.last)
    }

    /// For how long the newest acknowledgeable packet has waited.
    #[inline]
    pub(super) fn waited(&self, now: Time) -> TimeDelta {
        now.saturating_since(self.newest)
    }

    /// When it has been silent for `timeout`, or for twice that if it was asked.
    pub(super) fn due(&self, timeout: TimeDelta) -> Time {
        self.last + timeout * if self.probed { 2 } else { 1 }
    }

    /// It is asked whether anybody is there. False if it was asked before.
    pub(super) fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.probed, true)
    }
}
