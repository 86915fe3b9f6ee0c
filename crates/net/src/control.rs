//! How a caller steers a run that takes as long as the clock does.

use paceline_units::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a caller holds of a run while it goes on.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set by anybody, such as a handler of Ctrl-C: the run ends within a tenth of a second, with its figures so far.
    pub stop: &'a AtomicBool,
    /// Called at each sample with the run's time.
    pub progress: &'a dyn Fn(Time),
}

impl Control<'_> {
    /// Whether the run is to end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
