//! Threads that share the jobs of one round after another.

use crossbeam_utils::{Backoff, CachePadded};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Threads that share the jobs of each round: every job is taken by one of them.
struct Team {
    threads: usize,
    /// The last round in which each job was taken.
    taken: Vec<CachePadded<AtomicUsize>>,
    /// Jobs of this round that are not done.
    left: CachePadded<AtomicUsize>,
    /// Rounds that have begun.
    rounds: CachePadded<AtomicUsize>,
    /// Whether there are no more rounds.
    over: AtomicBool,
    /// Whether a job has panicked.
    failed: AtomicBool,
}

/// Runs rounds of the jobs 0 to `jobs` - 1 on `threads` threads, the calling one among them. After each round the calling thread
/// runs `between` while the others wait; the rounds end when `between` returns false. Most jobs stay with their thread from round
/// to round, so that their data stays in its caches; the calling thread begins with job 0. If the system refuses threads, fewer
/// do the work.
///
/// # Panics
/// If a job does.
pub fn share(threads: usize, jobs: usize, job: impl Fn(usize) + Sync, mut between: impl FnMut() -> bool) {
    let zero = || CachePadded::new(AtomicUsize::new(0));
    let team = &Team {
        threads,
        taken: (0..jobs).map(|_| zero()).collect(),
        left: zero(),
        rounds: zero(),
        over: AtomicBool::new(false),
        failed: AtomicBool::new(false),
    };
    let job = &job;
    std::thread::scope(|scope| {
        let _over = Over(team);
        for thread in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || team.follow(thread, job));
        }
        for round in 1.. {
            team.left.store(jobs, Ordering::Relaxed);
            team.rounds.store(round, Ordering::Release);
            team.work(0, round, job);
            wait_until(|| team.left.load(Ordering::Acquire) == 0);
            if team.failed.load(Ordering::Acquire) || !between() {
                break;
            }
        }
    });
}

/// Waits, without sleeping, for an event that comes within microseconds: to be woken would take longer. Yields the processor to
/// other threads meanwhile.
fn wait_until(done: impl Fn() -> bool) {
    let backoff = Backoff::new();
    while !done() {
        backoff.snooze();
    }
}

impl Team {
    /// Does the jobs of a round that no thread has taken: this thread's own ones from the first to the last, then those of the
    /// other threads from the last to the first.
    fn work(&self, thread: usize, round: usize, job: &impl Fn(usize)) {
        let jobs = |thread: usize| {
            let begin = |thread| thread * self.taken.len() / self.threads;
            begin(thread)..begin(thread + 1)
        };
        let others = (1..self.threads).flat_map(|next| jobs((thread + next) % self.threads).rev());
        for place in jobs(thread).chain(others) {
            // A thread that comes late finds all jobs of the round taken.
            let taken =
                self.taken[place].compare_exchange(round - 1, round, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                let _done = Done(self);
                job(place);
            }
        }
    }

    /// Works in each round until there are no others.
    fn follow(&self, thread: usize, job: &impl Fn(usize)) {
        let mut seen = 0;
        loop {
            let begun = || self.rounds.load(Ordering::Acquire);
            wait_until(|| begun() != seen || self.over.load(Ordering::Acquire));
            if self.over.load(Ordering::Acquire) {
                return;
            }
            seen = begun();
            self.work(thread, seen, job);
        }
    }
}

/// A job that is done when this is dropped, or has panicked.
struct Done<'a>(&'a Team);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Release);
        }
        self.0.left.fetch_sub(1, Ordering::Release);
    }
}

/// No round begins once this is dropped.
struct Over<'a>(&'a Team);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    #[test]
    fn every_job_is_done_once_a_round_and_nothing_else_goes_on_between() {
        for threads in [1, 2, 5] {
            let done: Vec<_> = (0..7).map(|_| Mutex::new(0)).collect();
            let mut rounds = 0;
            share(
                threads,
                done.len(),
                |place| *done[place].lock().expect("no panic") += 1,
                || {
                    rounds += 1;
                    for count in &done {
                        assert_eq!(*count.try_lock().expect("nobody is at it"), rounds);
                    }
                    rounds < 500
                },
            );
            assert_eq!(rounds, 500);
        }
    }

    #[test]
    fn a_job_that_panics_ends_it_on_whichever_thread_it_is() {
        for bad in 0..4 {
            let mut rounds = 0;
            let shared = catch_unwind(AssertUnwindSafe(|| {
                share(
                    2,
                    4,
                    |place| assert_ne!(place, bad, "this one fails"),
                    || {
                        rounds += 1;
                        true
                    },
                );
            }));
            assert!(shared.is_err() && rounds == 0, "job {bad}: {rounds} rounds");
        }
    }

    #[test]
    fn what_is_done_between_may_panic() {
        let shared = catch_unwind(|| share(3, 2, |_| (), || panic!("this fails")));
        assert!(shared.is_err());
    }
}
