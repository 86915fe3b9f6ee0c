//! A queue's limit that changes: what waits stays, and what comes meets the limit of its moment.

use crate::config::ResolvedLimit;
use crate::over_time::Course;
use crate::queue::{Queue, QueueConfig};
use crate::transit::Transit;
use paceline_units::Bitrate;
use paceline_units::param::ParamError;

/// The limit over time.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    full: ResolvedLimit,
    factor: Course,
    /// The factor that the queue has now.
    holds: f64,
}

impl Limits {
    /// The limits of a queue; none where the limit is what it says all the time.
    pub(crate) fn new(config: &QueueConfig, nominal: Bitrate) -> Result<Option<Limits>, ParamError> {
        let Some(factor) = config.clone().scale_mut().map(|scale| scale.course()) else { return Ok(None) };
        Ok(Some(Limits { full: config.limit().resolve(nominal)?, factor, holds: 1.0 }))
    }

    /// Gives the queue the limit of `now`, which does not run backwards.
    pub(crate) fn apply<P: Transit>(&mut self, queue: &mut Queue<P>, now: u64) {
        let factor = self.factor.at(now);
        if factor != self.holds {
            self.holds = factor;
            queue.set_limit(self.full.scaled(factor));
        }
    }
}
