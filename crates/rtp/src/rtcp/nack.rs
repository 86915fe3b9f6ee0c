//! Which packets of a stream a receiver asks for again, and when (generic NACK, RFC 4585).

use crate::seen::Seen;
use paceline_units::{Time, TimeDelta};
use std::collections::VecDeque;

/// The most packets that are missed at once; of more, the oldest are given up.
const MOST_MISSING: usize = 512;
/// A packet that is this much late is reordered, not missing.
const REORDERING: TimeDelta = TimeDelta::from_millis(10);
/// Taken for the round trip before a retransmission has told it.
const UNKNOWN_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(100);
/// A packet is asked for again at the earliest after so long, whatever the round trip.
const SHORTEST_RETRY: TimeDelta = TimeDelta::from_millis(20);
/// Requests of one stream are this far apart: what is missed meanwhile goes together.
const APART: TimeDelta = TimeDelta::from_millis(5);
/// A packet is asked for so many times at most.
const MOST_TRIES: u8 = 10;

#[derive(Clone, Copy, Debug)]
struct Missing {
    number: u64,
    since: Time,
    /// When it is asked for next.
    next: Time,
    asked: Time,
    tries: u8,
}

/// The missing packets of one stream.
#[derive(Clone, Debug)]
pub(super) struct Nacks {
    deadline: TimeDelta,
    highest: Option<u64>,
    /// Packets that are missing, by sequence number.
    missing: VecDeque<Missing>,
    seen: Seen,
    round_trip: Option<TimeDelta>,
    gave_up: u64,
    /// Before this nothing is asked for.
    next: Time,
}

impl Nacks {
    /// Of a stream whose packets are of use for so long after they were missed.
    pub fn new(deadline: TimeDelta) -> Nacks {
        let (missing, seen) = (VecDeque::with_capacity(MOST_MISSING), Seen::new());
        Nacks { deadline, highest: None, missing, seen, round_trip: None, gave_up: 0, next: Time::ZERO }
    }

    /// Packets that nobody asks for any more: too late, or too many.
    pub fn gave_up(&self) -> u64 {
        self.gave_up
    }

    /// A packet of the stream came.
    pub fn on_packet(&mut self, now: Time, number: u64) {
        self.seen.insert(number);
        let Some(highest) = self.highest else {
            self.highest = Some(number);
            return;
        };
        if number <= highest {
            self.find(number);
            return;
        }
        self.highest = Some(number);
        let gap = number - highest - 1;
        if gap > MOST_MISSING as u64 {
            // An outage: all that is missing is too much to ask for.
            self.gave_up += gap + self.missing.len() as u64;
            self.missing.clear();
            return;
        }
        for lost in highest + 1..number {
            if self.missing.len() == MOST_MISSING {
                self.missing.pop_front();
                self.gave_up += 1;
            }
            let next = now + REORDERING;
            self.missing.push_back(Missing { number: lost, since: now, next, asked: now, tries: 0 });
        }
    }

    /// Takes a packet from those that are missing.
    fn find(&mut self, number: u64) -> Option<Missing> {
        let place = self.missing.binary_search_by_key(&number, |missing| missing.number).ok()?;
        self.missing.remove(place)
    }

    /// A retransmission of a packet came: whether that is here for the first time.
    pub fn on_repair(&mut self, now: Time, number: u64) -> bool {
        if let Some(missing) = self.find(number).filter(|missing| missing.tries == 1) {
            let sample = now.saturating_since(missing.asked);
            self.round_trip = Some(self.round_trip.map_or(sample, |smoothed| (smoothed * 7 + sample) / 8));
        }
        // Of a packet beyond the highest nobody knew that it was missing.
        self.highest.is_some_and(|highest| number <= highest) && self.seen.insert(number)
    }

    /// Numbers go on elsewhere.
    pub fn restart(&mut self) {
        self.gave_up += self.missing.len() as u64;
        self.missing.clear();
        (self.highest, self.seen) = (None, Seen::new());
    }

    /// The highest number that came.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    fn round_trip(&self) -> TimeDelta {
        self.round_trip.unwrap_or(UNKNOWN_ROUND_TRIP)
    }

    /// When packets are asked for next.
    pub fn due(&self) -> Option<Time> {
        self.missing.iter().map(|missing| missing.next).min().map(|due| due.max(self.next))
    }

    /// Gives up what would come too late, and calls `ask` with the others that are due.
    pub fn ask(&mut self, now: Time, mut ask: impl FnMut(u16)) {
        let round_trip = self.round_trip();
        self.next = now + APART;
        let (deadline, before) = (self.deadline, self.missing.len());
        let of_use = |missing: &Missing| {
            let in_time = now + round_trip <= missing.since + deadline;
            missing.next > now || (in_time && missing.tries < MOST_TRIES)
        };
        self.missing.retain(of_use);
        self.gave_up += (before - self.missing.len()) as u64;
        for missing in self.missing.iter_mut().filter(|missing| missing.next <= now) {
            missing.tries += 1;
            // A retransmission waits in queues as media does.
            (missing.asked, missing.next) = (now, now + (round_trip + round_trip / 2).max(SHORTEST_RETRY));
            ask(missing.number as u16);
        }
    }
}
