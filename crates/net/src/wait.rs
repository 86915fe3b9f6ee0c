//! Sleeping until a datagram arrives or a time comes, to a few microseconds.

use crate::NetError;
use crate::clock::{Moment, time_on_processor};
use crate::socket::UdpPort;
use paceline_units::{Time, TimeDelta};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::process::getpriority_process;
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// How long a driver sleeps at most, so that Ctrl-C is heard.
pub(crate) const LONGEST_SLEEP: TimeDelta = TimeDelta::from_millis(100);

/// How long an end waits for the other's part in closing a connection after it has heard of it, and how long in all.
const CLOSING: TimeDelta = TimeDelta::from_secs(1);
const LONGEST_CLOSING: TimeDelta = TimeDelta::from_secs(5);

/// The wait for the other end's part in closing a connection. A peer that is behind, on a busy machine or a long queue, is still heard.
pub(crate) struct Farewell {
    received: u64,
    until: Time,
    latest: Time,
}

impl Farewell {
    /// Begins at `now`, when so many datagrams had been received.
    pub fn new(now: Time, received: u64) -> Farewell {
        Farewell { received, until: now + CLOSING, latest: now + LONGEST_CLOSING }
    }

    /// Until when it lasts, as far as is known at `now`, when so many datagrams have been received. None when it is over.
    pub fn until(&mut self, now: Time, received: u64) -> Option<Time> {
        if received > self.received {
            (self.received, self.until) = (received, self.latest.min(now + CLOSING));
        }
        (now < self.until).then_some(self.until)
    }
}

/// Sleeps until one of `ports` can be read, or until `due`, or for [`LONGEST_SLEEP`]. Nothing spins: with the timer
/// slack of [`PreciseTimers`] the kernel wakes a thread within some tens of microseconds, which the pacer makes up for.
pub(crate) fn wait_for(ports: &[&UdpPort], due: Moment) -> Result<(), NetError> {
    wait_for_any(ports.iter().map(AsFd::as_fd), due)
}

/// The same for sockets of any kind.
pub(crate) fn wait_for_any<'s>(
    sockets: impl Iterator<Item = BorrowedFd<'s>>,
    due: Moment,
) -> Result<(), NetError> {
    let span = due.since(Moment::now()).clamp(TimeDelta::ZERO, LONGEST_SLEEP);
    let timeout = Timespec { tv_sec: 0, tv_nsec: span.as_nanos() };
    let mut fds: Vec<_> = sockets.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(NetError::Socket { doing: "wait for a socket", source: error.into() }),
    }
}

/// Many sockets of which the system says which can be read: asking costs as much as there are of those, however many there are.
pub(crate) struct Watch {
    epoll: OwnedFd,
    /// How many they are.
    sockets: usize,
}

impl Watch {
    /// Of these, which are numbered in their order and stay open as long as it does.
    pub fn of<'s>(sockets: impl Iterator<Item = BorrowedFd<'s>>) -> Result<Watch, NetError> {
        let failed = |error: Errno| NetError::Socket { doing: "watch sockets", source: error.into() };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let mut count = 0;
        for (number, socket) in (0..).zip(sockets) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&epoll, socket, data, epoll::EventFlags::IN).map_err(failed)?;
            count += 1;
        }
        Ok(Watch { epoll, sockets: count })
    }

    /// Numbers of those that can be read now, ascending.
    pub fn readable(&self) -> Result<Vec<usize>, NetError> {
        let mut events = Vec::with_capacity(self.sockets);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(NetError::Socket { doing: "wait for a socket", source: error.into() }),
        }
        let mut numbers: Vec<_> = events.iter().map(|event| event.data.u64() as usize).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Sleeps until one can be read, or as [`wait_for`] does.
    pub fn wait(&self, due: Moment) -> Result<(), NetError> {
        wait_for_any(std::iter::once(self.epoll.as_fd()), due)
    }
}

/// While it lives, timers of this thread are not delayed to be handled together with others (50 us by default).
pub(crate) struct PreciseTimers {
    before: Option<NonZeroU64>,
    has_priority: bool,
    /// How nice the thread was before it had real-time priority, which it is again without.
    nice: i32,
    /// Since when the share of the processor is measured, and the thread's time on it then.
    measured: (Moment, TimeDelta),
}

/// A thread that took more than this part of a processor for so long gives its priority up: too little would run beside it.
const BUSY: f64 = 0.7;
const MEASURED: TimeDelta = TimeDelta::from_millis(200);

/// How urgent a thread is, as in man 7 sched: above every program without real-time priority, below what machines need
/// (interrupts: 50).
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Urgency {
    /// An end of a flow.
    End = 20,
    /// Links. Lateness there is lateness for all flows.
    Links = 21,
}

impl PreciseTimers {
    /// From now on. Only precision is lost if the system refuses.
    pub fn new() -> PreciseTimers {
        let before = current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let nice = getpriority_process(None).unwrap_or(0);
        PreciseTimers { before, has_priority: false, nice, measured: (Moment::now(), time_on_processor()) }
    }

    /// The same, and the thread comes before all that has no real-time priority, if the system allows it (root, CAP_SYS_NICE or
    /// RLIMIT_RTPRIO): for a thread that sleeps most of the time and must not be late when it wakes. A thread that turns out to be always
    /// busy loses it.
    pub fn urgent(urgency: Urgency) -> PreciseTimers {
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        PreciseTimers { has_priority: schedule(policy, urgency as u8), ..PreciseTimers::new() }
    }

    /// To be called in each turn of a thread's loop: one that is always busy goes on without priority.
    pub fn turn(&mut self) {
        self.turn_at(Moment::now(), time_on_processor);
    }

    /// The same at `now`, of a thread that has been on a processor for as long as `used` says.
    fn turn_at(&mut self, now: Moment, used: impl FnOnce() -> TimeDelta) {
        let (since, before) = self.measured;
        let span = now.since(since);
        if !self.has_priority || span < MEASURED {
            return;
        }
        let used = used();
        self.measured = (now, used);
        if is_busy(used - before, span) {
            self.give_priority_up();
        }
    }

    fn give_priority_up(&mut self) {
        self.has_priority = false;
        schedule(ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other), value_of_nice(self.nice));
    }

    /// Whether the thread has real-time priority.
    pub fn has_priority(&self) -> bool {
        self.has_priority
    }
}

/// Whether a thread that was `used` so long in a span is always busy.
fn is_busy(used: TimeDelta, span: TimeDelta) -> bool {
    used.as_secs_f64() > BUSY * span.as_secs_f64()
}

impl Drop for PreciseTimers {
    fn drop(&mut self) {
        let _ = set_current_timer_slack(self.before);
        if self.has_priority {
            self.give_priority_up();
        }
    }
}

/// The value from 0 to 99 that `thread_priority` makes this niceness of, from 19 down to -20.
fn value_of_nice(nice: i32) -> u8 {
    (99.0 * (1.0 - (f64::from(nice) + 20.5) / 39.0)).round() as u8
}

/// Whether the system lets this thread be scheduled so.
fn schedule(policy: ThreadSchedulePolicy, priority: u8) -> bool {
    let priority = ThreadPriority::try_from(priority).unwrap_or(ThreadPriority::Min);
    set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Inbox;
    use paceline_units::Ecn;

    #[test]
    fn a_farewell_lasts_while_the_other_end_is_heard_but_not_for_ever() {
        let at = |millis: i64| Time::ZERO + TimeDelta::from_millis(millis);
        let mut farewell = Farewell::new(at(0), 7);
        assert_eq!(farewell.until(at(900), 7), Some(at(1000)));
        assert_eq!(farewell.until(at(950), 8), Some(at(1950)));
        assert_eq!(farewell.until(at(1900), 8), Some(at(1950)));
        assert_eq!(farewell.until(at(1950), 8), None);
        assert_eq!(farewell.until(at(4800), 9), Some(at(5000)));
        assert_eq!(farewell.until(at(5000), 10), None);
    }

    #[test]
    fn what_can_be_read_is_told_until_it_is_read() {
        let port = || UdpPort::bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let sockets = [port(), port(), port()];
        let watch = Watch::of(sockets.iter().map(AsFd::as_fd)).expect("watched");
        assert!(watch.readable().expect("asked").is_empty());
        for place in [2, 0] {
            let to = sockets[place].address().expect("bound");
            sockets[1].send(&[0; 9], to, Ecn::NotEct).expect("sent");
        }
        watch.wait(Moment::now().plus(TimeDelta::from_secs(5))).expect("waited");
        assert_eq!(watch.readable().expect("asked"), [0, 2]);
        assert_eq!(watch.readable().expect("asked"), [0, 2], "nobody has read");
        assert!(!sockets[0].read(&mut Inbox::new()).expect("read"), "there was one");
        assert_eq!(watch.readable().expect("asked"), [2]);
    }

    /// As the crate maps values: in the middle of the interval of each niceness.
    #[test]
    fn a_thread_is_as_nice_afterwards_as_before() {
        for nice in -20..=19 {
            let ratio = 1.0 - f32::from(value_of_nice(nice)) / 99.0;
            assert_eq!((39.0 * ratio) as i32 - 20, nice);
        }
        for nice in [0, 3, 19] {
            let of_thread = move || {
                rustix::process::setpriority_process(None, nice).expect("nicer");
                drop(PreciseTimers::urgent(Urgency::End));
                getpriority_process(None)
            };
            let found = std::thread::scope(|scope| scope.spawn(of_thread).join().expect("no panic"));
            assert_eq!(found, Ok(nice));
        }
    }

    #[test]
    fn a_thread_that_sleeps_keeps_its_priority_and_one_that_is_always_busy_does_not() {
        let millis = TimeDelta::from_millis;
        assert!(is_busy(millis(150), millis(200)) && !is_busy(millis(130), millis(200)));
        // Turns of 90 ms, each with so much of it on a processor.
        let keeps_priority = |busy: i64| {
            let zero = (Moment::from_nanos(0), TimeDelta::ZERO);
            let mut timers = PreciseTimers { has_priority: true, measured: zero, ..PreciseTimers::new() };
            for turn in 1..=4 {
                timers.turn_at(Moment::from_nanos(0).plus(millis(90 * turn)), || millis(busy * turn));
            }
            timers.has_priority()
        };
        assert!(keeps_priority(0) && keeps_priority(60) && !keeps_priority(66));
    }
}
