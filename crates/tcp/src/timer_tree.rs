//! Which of many connections wants something next, found without asking all of them.

use paceline_ends::Reason;
use paceline_units::Time;

/// When a connection wants something, and whose turn it is among those that want it at the same time.
type Due = (Time, u64, u32);

const NEVER: Due = (Time::MAX, u64::MAX, u32::MAX);

/// A tournament: each node holds the earlier of its two children, the root the earliest of all.
#[derive(Clone, Debug)]
pub(super) struct TimerTree {
    nodes: Vec<Due>,
    sets: u64,
}

impl TimerTree {
    /// Nobody of `places` wants anything.
    pub(super) fn new(places: usize) -> TimerTree {
        TimerTree { nodes: vec![NEVER; 2 * places.next_power_of_two()], sets: 0 }
    }

    /// The one at `place` wants something at `due`; `Time::MAX` for never. At equal times it comes after all others.
    #[inline]
    pub(super) fn set(&mut self, place: usize, due: Time) {
        let mut node = self.nodes.len() / 2 + place;
        self.sets += 1;
        self.nodes[node] = if due == Time::MAX { NEVER } else { (due, self.sets, place as u32) };
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// The one at `place` wants something when its `timeout` is due. A timer that has been due for long is due at `now`, so that
    /// none is before another for having waited less recently.
    #[inline]
    pub(super) fn remind(&mut self, now: Time, place: usize, timeout: Option<(Time, Reason)>) {
        self.set(place, timeout.map_or(Time::MAX, |(due, _)| due.max(now)));
    }

    /// When somebody wants something first; `Time::MAX` for never.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.nodes[1].0
    }

    /// The connection that is first among those that want something at `now` or before.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<usize> {
        let (at, _, place) = self.nodes[1];
        (at <= now && at != Time::MAX).then_some(place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_first_and_equals_take_turns() {
        let at = Time::from_nanos;
        for places in [1, 2, 3, 30, 64] {
            let mut timers = TimerTree::new(places);
            assert_eq!((timers.next(), timers.due(Time::MAX)), (Time::MAX, None));
            for place in 0..places {
                timers.set(place, at(7));
            }
            assert_eq!(timers.due(at(6)), None);
            let order: Vec<_> = (0..2 * places)
                .map(|_| {
                    let place = timers.due(at(7)).expect("all are due");
                    timers.set(place, at(7));
                    place
                })
                .collect();
            assert_eq!(order, (0..places).chain(0..places).collect::<Vec<_>>());
            timers.set(places - 1, at(3));
            assert_eq!((timers.next(), timers.due(at(3))), (at(3), Some(places - 1)));
            timers.set(places - 1, Time::MAX);
            assert_eq!(timers.next(), if places == 1 { Time::MAX } else { at(7) });
        }
    }
}
