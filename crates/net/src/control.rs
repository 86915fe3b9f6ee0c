//! How a caller steers a run that takes as long as the clock does.

use crate::NetError;
use paceline_units::Time;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The messages of a run while it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress<'t> {
    /// A sample was taken at this time of the run.
    Reached(Time),
    /// Something odd that whoever waits for the run should know now.
    Warned(&'t str),
    /// The event that the run waits for, after a while.
    Waits(&'t str),
}

impl Progress<'_> {
    /// The time that is reached, if that is told.
    pub fn reached(self) -> Option<Time> {
        match self {
            Progress::Reached(at) => Some(at),
            Progress::Warned(_) | Progress::Waits(_) => None,
        }
    }

    /// The same, of which what is said in words is changed.
    pub(crate) fn reworded(self, words: impl FnOnce(&str) -> String, tell: impl FnOnce(Progress<'_>)) {
        match self {
            Progress::Reached(_) => tell(self),
            Progress::Warned(said) => tell(Progress::Warned(&words(said))),
            Progress::Waits(said) => tell(Progress::Waits(&words(said))),
        }
    }
}

/// The listener that is told how a run goes.
pub(crate) type Told<'a> = dyn Fn(Progress<'_>) + Sync + 'a;

/// A caller's handle of a run while it goes on.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set by anybody, such as a handler of Ctrl-C: the run ends within a tenth of a second, with its figures so far.
    pub stop: &'a AtomicBool,
    /// Called at each sample with the run's time, and with what is to be said at once. Maybe from several threads.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Control<'_> {
    /// Whether the run is to end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs an end. If it unwinds, as a controller from outside that fails makes it, the others are stopped, and it goes on to unwind.
pub(crate) fn or_stop<T>(stop: &AtomicBool, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|unwinding| {
        stop.store(true, Ordering::Relaxed);
        resume_unwind(unwinding)
    })
}

/// Runs each of several ends in a thread of its own, the first in this one: they share nothing. The first says how far the run is.
pub(crate) fn in_threads<E: Send, T: Send>(
    ends: Vec<E>,
    control: &Control<'_>,
    run: impl Fn(E, &Control<'_>) -> Result<T, NetError> + Sync,
) -> Result<Vec<T>, NetError> {
    let (stop, mut ends) = (control.stop, ends.into_iter());
    let run = &|end: E, control: &Control<'_>| or_stop(stop, || run(end, control));
    let first = ends.next();
    let said = &|told: Progress<'_>| match told {
        Progress::Reached(_) => {}
        Progress::Warned(_) | Progress::Waits(_) => (control.progress)(told),
    };
    std::thread::scope(|threads| {
        let others = ends.map(|end| threads.spawn(move || run(end, &Control { stop, progress: said })));
        let others: Vec<_> = others.collect();
        let first: Vec<_> = first.into_iter().map(|end| run(end, control)).collect();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        first.into_iter().chain(others).collect()
    })
}
