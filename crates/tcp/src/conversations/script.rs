//! How far one side of a connection has come in its vector.

use super::Schedule;
use paceline_media::vectors::{DataUnit, Side, Wait};
use paceline_units::{Bytes, Time};

/// The next data unit of a side, and its time.
#[derive(Clone, Debug)]
pub(super) struct Script {
    side: Side,
    /// Place of the side's next unit among the vector's units; behind them all if it has no more.
    next: usize,
    /// Payload of the other side in front of that place.
    needed: u64,
    /// When the side handed over its unit before, or its connection began; none before that.
    since: Option<Time>,
    /// When it hands over the next one, if that is known.
    due: Option<Time>,
}

impl Script {
    /// Of a side whose connection has not begun.
    pub(super) fn new(side: Side, units: &[DataUnit]) -> Script {
        let mut script = Script { side, next: 0, needed: 0, since: None, due: None };
        script.skip(units);
        script
    }

    /// To the side's next unit. Closings are none: the last unit closes its direction.
    fn skip(&mut self, units: &[DataUnit]) {
        while let Some(unit) = units.get(self.next) {
            if unit.side == self.side && unit.size > Bytes::ZERO {
                return;
            }
            self.needed += if unit.side == self.side { 0 } else { unit.size.as_u64() };
            self.next += 1;
        }
    }

    /// The side may say something from `at` on.
    pub(super) fn begin(&mut self, at: Time) {
        self.since = self.since.or(Some(at));
    }

    /// Whether the side may say something.
    pub(super) fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// The side says nothing more.
    pub(super) fn end(&mut self, units: &[DataUnit]) {
        (self.next, self.due) = (units.len(), None);
    }

    /// Whether the side has said everything.
    pub(super) fn is_over(&self, units: &[DataUnit]) -> bool {
        self.next >= units.len()
    }

    /// When the side says something; none if that is not known yet.
    #[inline]
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// At `now` so many bytes of the other side have `arrived`: finds out when the next unit is due.
    pub(super) fn look(&mut self, now: Time, arrived: u64, units: &[DataUnit], schedule: &Schedule) {
        if self.due.is_some() {
            return;
        }
        let Some(unit) = units.get(self.next) else { return };
        let due = match unit.wait {
            Wait::AfterSent(wait) => self.since.map(|since| since + wait),
            Wait::AfterReceived(wait) => (arrived >= self.needed).then(|| now + wait),
        };
        self.due = due.map(|due| schedule.awake(due));
    }

    /// Takes the unit that is due at `now`: its payload, and whether it is the side's last one.
    pub(super) fn take(&mut self, now: Time, units: &[DataUnit]) -> Option<(Bytes, bool)> {
        self.due.filter(|due| *due <= now)?;
        let size = units.get(self.next)?.size;
        (self.due, self.since) = (None, Some(now));
        self.next += 1;
        self.skip(units);
        Some((size, self.is_over(units)))
    }
}
