//! The server: turns sizes into times, exactly.
//!
//! It keeps the sub-nanosecond remainder of each service, so that back-to-back packets end where the rational number
//! says, rounded up once. One 64-bit division per packet, none while sizes repeat.

use crate::account::Service;
use crate::schedule::{Cursor, NEVER, Schedule, Stretch};

/// Units of work of a byte, in bit·ns/s.
pub(crate) const WORK_PER_BYTE: u64 = 8_000_000_000;

/// A work-conserving server of one packet at a time.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// When all earlier work has ended, in nanoseconds, rounded up.
    free: u64,
    /// Work that fits between the end of earlier work and `free`; below the rate.
    slack: u64,
    stretch: Stretch,
    /// Size of the last packet and its work divided by the present rate: sizes repeat.
    size: u64,
    quotient: u64,
    remainder: u64,
    /// The same for a packet that finds the server idle: how long it takes, rounded up, and the slack that it leaves.
    idle_span: u64,
    idle_slack: u64,
    /// Such a packet that comes before this is served at the present rate.
    idle_until: u64,
    /// Work done on the packet that is never served to its end, if there is one.
    unfinished: u64,
    cursor: Cursor,
}

/// Packets that come at equal distances. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals {
    /// When the first comes.
    pub(crate) first: u64,
    /// When the last comes.
    pub(crate) last: u64,
    /// The time from one to the next.
    pub(crate) gap: u64,
    /// How many there are, one at least.
    pub(crate) count: u64,
}

impl Server {
    pub(crate) fn new(schedule: Schedule) -> Server {
        let mut cursor = Cursor::new(schedule);
        let stretch = cursor.seek(0);
        let mut server = Server {
            free: 0,
            slack: 0,
            stretch,
            size: 0,
            quotient: 0,
            remainder: 0,
            idle_span: 0,
            idle_slack: 0,
            idle_until: 0,
            unfinished: 0,
            cursor,
        };
        server.divide(0);
        server
    }

    pub(crate) fn schedule(&self) -> &Schedule {
        self.cursor.schedule()
    }

    /// The work that was done until `at`, when `finished` bytes have left and `accepted` bytes in all were or will be
    /// served to their end. Where packets `follow` that the server was not handed yet, they are served without a gap.
    pub(crate) fn service(&self, at: u64, finished: u64, accepted: u64, follow: bool) -> Service {
        let schedule = self.cursor.schedule();
        let work = |bytes: u64| u128::from(bytes) * u128::from(WORK_PER_BYTE);
        let (capacity, end) =
            (schedule.work_until(at), schedule.work_until(self.free) - u128::from(self.slack));
        let handed = work(finished + accepted) + u128::from(self.unfinished);
        let early = if follow { capacity.saturating_sub(end) } else { 0 };
        Service { served: (handed + early).saturating_sub(end.saturating_sub(capacity)), capacity }
    }

    /// When all earlier work has ended; `NEVER` if it will not.
    #[inline(always)]
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Serves `size` bytes from `now` on, after an idle time; answers when the last bit has left, or `NEVER`. Sizes repeat, and
    /// rates last.
    #[inline(always)]
    pub(crate) fn serve_at(&mut self, now: u64, size: u64) -> u64 {
        if size != self.size || now >= self.idle_until {
            (self.free, self.slack) = (now, 0);
            return self.serve_slowly(size, true);
        }
        (self.free, self.slack) = (now + self.idle_span, self.idle_slack);
        self.free
    }

    /// Serves packets of `size` bytes, each after an idle time and at the present rate; answers when the last bit of the first has
    /// left. Absent where one would wait or meet another rate, and then none is served.
    #[inline]
    pub(crate) fn serve_run(&mut self, arrivals: &Arrivals, size: u64) -> Option<u64> {
        if size != self.size {
            self.divide(size);
        }
        let waits = self.free > arrivals.first || arrivals.count > 1 && arrivals.gap < self.idle_span;
        if waits || arrivals.last >= self.idle_until {
            return None;
        }
        (self.free, self.slack) = (arrivals.last + self.idle_span, self.idle_slack);
        Some(arrivals.first + self.idle_span)
    }

    /// Serves `size` bytes right behind the packet before; answers when the last bit has left, or `NEVER`.
    #[inline(always)]
    pub(crate) fn serve(&mut self, size: u64) -> u64 {
        if size == self.size {
            let (mut left, is_short) = self.slack.overflowing_sub(self.remainder);
            if is_short {
                left = left.wrapping_add(self.stretch.rate);
            }
            // A packet that takes for ever leaves no remainder.
            let (done, is_over) = self.free.overflowing_add(self.quotient + u64::from(is_short));
            if !is_over && done < self.stretch.end {
                (self.free, self.slack) = (done, left);
                return done;
            }
        }
        self.serve_slowly(size, false)
    }

    /// The same where the size is another or the present rate may end before the packet does.
    #[inline(never)]
    fn serve_slowly(&mut self, size: u64, was_idle: bool) -> u64 {
        if was_idle && self.free >= self.stretch.end {
            self.enter(self.free);
        }
        if size != self.size {
            self.divide(size);
        }
        let (left, is_short) = self.slack.overflowing_sub(self.remainder);
        let done = self.free.saturating_add(self.quotient).saturating_add(u64::from(is_short));
        if done > self.stretch.end {
            return self.serve_across(size);
        }
        let rate = if is_short { self.stretch.rate } else { 0 };
        (self.free, self.slack) = (done, left.wrapping_add(rate));
        done
    }

    /// The packet outlives the present rate: what is left of it is served at the next ones.
    #[cold]
    fn serve_across(&mut self, size: u64) -> u64 {
        let mut work = size * WORK_PER_BYTE;
        loop {
            // Cannot overflow: the packet did not fit, so this is less than its work.
            work -= (self.stretch.end - self.free) * self.stretch.rate + self.slack;
            self.slack = 0;
            self.enter(self.stretch.end);
            let (span, served) = self.cursor.skip_periods(work);
            if span > 0 {
                work -= served;
                self.enter(self.free.saturating_add(span));
            }
            let (quotient, remainder) = divided(work, self.stretch.rate);
            let done = self.free.saturating_add(quotient).saturating_add(u64::from(remainder > 0));
            if done <= self.stretch.end {
                if done == NEVER {
                    self.unfinished = size * WORK_PER_BYTE - work;
                }
                self.free = done;
                self.slack = if remainder > 0 { self.stretch.rate - remainder } else { 0 };
                return done;
            }
        }
    }

    #[cold]
    fn enter(&mut self, now: u64) {
        self.free = now;
        let rate = self.stretch.rate;
        self.stretch = self.cursor.seek(now);
        if self.stretch.rate != rate {
            self.divide(self.size);
        }
        self.idle_until = self.stretch.end.saturating_sub(self.idle_span);
    }

    fn divide(&mut self, size: u64) {
        let Stretch { rate, end } = self.stretch;
        let (quotient, remainder) = divided(size * WORK_PER_BYTE, rate);
        (self.size, self.quotient, self.remainder) = (size, quotient, remainder);
        (self.idle_span, self.idle_slack) = match remainder {
            0 => (quotient, 0),
            _ => (quotient + 1, rate - remainder),
        };
        self.idle_until = end.saturating_sub(self.idle_span);
    }
}

/// Nanoseconds that `work` takes at `rate`, and the work left over. Without a rate it takes for ever, even if there is
/// no work: a packet without a size waits for the link like any other.
#[inline]
fn divided(work: u64, rate: u64) -> (u64, u64) {
    match work.checked_div(rate) {
        Some(quotient) => (quotient, work - quotient * rate),
        None => (NEVER, 0),
    }
}
