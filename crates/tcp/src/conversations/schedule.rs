//! When a flow's connections may begin and say something, known to both of its ends.

use paceline_units::Time;

/// From when to when a flow is there, and when its applications are silent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// When the flow starts: the vectors' times count from here.
    pub start: Time,
    /// When its applications say nothing, in order.
    pub pauses: Vec<(Time, Time)>,
    /// When it stops.
    pub stop: Time,
}

impl Schedule {
    /// Whether a connection that would begin at `at` does not: in a pause, or at the end.
    pub(super) fn leaves_out(&self, at: Time) -> bool {
        at >= self.stop || self.pauses.iter().any(|&(from, to)| (from..to).contains(&at))
    }

    /// When an application says what it would say at `at`: after the pause, if there is one.
    pub(super) fn awake(&self, at: Time) -> Time {
        let pause = self.pauses.iter().find(|&&(from, to)| (from..to).contains(&at));
        pause.map_or(at, |&(_, to)| to)
    }
}
