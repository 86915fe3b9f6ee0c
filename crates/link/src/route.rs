//! Propagation that changes: another route from a time on, or one that grows longer and shorter.

use crate::over_time::Course;
use crate::tally::Tally;

/// The way from the server to the far end. Times are nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    delay: Course,
    /// Whether a packet may overtake those that left before it over a longer route.
    overtakes: bool,
    /// The latest arrival so far.
    latest: u64,
    /// Packets that arrive before one that had left before them.
    overtaking: Tally,
}

impl Route {
    pub(crate) fn new(delay: Course, overtakes: bool) -> Route {
        Route { delay, overtakes, latest: 0, overtaking: Tally::default() }
    }

    /// When a packet arrives that departs at `departs`, over the route of then. To be called in order of departure.
    pub(crate) fn arrival(&mut self, departs: u64) -> u64 {
        let arrives = departs.saturating_add(self.delay.at(departs) as u64);
        if arrives >= self.latest {
            self.latest = arrives;
        } else if self.overtakes {
            self.overtaking.note(departs);
            return arrives;
        }
        self.latest
    }

    pub(crate) fn keeps_order(&self) -> bool {
        !self.overtakes
    }

    /// Packets that departed until `now` and arrive before one that had left before them.
    pub(crate) fn overtaking(&mut self, now: u64) -> u64 {
        self.overtaking.until(now)
    }
}
