//! How a caller steers a run that takes as long as the clock does.

use crate::NetError;
use paceline_units::Time;
use std::panic::resume_unwind;
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

/// Runs each of several ends in a thread of its own, the first in this one: they share nothing. The first says how far the run is.
pub(crate) fn in_threads<E: Send, T: Send>(
    ends: Vec<E>,
    control: &Control<'_>,
    run: impl Fn(E, &Control<'_>) -> Result<T, NetError> + Sync,
) -> Result<Vec<T>, NetError> {
    let (stop, run, mut ends) = (control.stop, &run, ends.into_iter());
    let first = ends.next();
    std::thread::scope(|threads| {
        let others = ends.map(|end| threads.spawn(move || run(end, &Control { stop, progress: &|_| () })));
        let others: Vec<_> = others.collect();
        let first: Vec<_> = first.into_iter().map(|end| run(end, control)).collect();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        first.into_iter().chain(others).collect()
    })
}
