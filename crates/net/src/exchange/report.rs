//! The operator's view of the exchange: lines while it runs, and counts at its end.

use super::pace::Pace;
use paceline_units::{Time, TimeDelta};
use std::collections::VecDeque;

/// Lines in a second, and in a row: a process that connects and goes all the time is not to fill a disk.
const LINE_INTERVAL: TimeDelta = TimeDelta::from_millis(100);
const LINES_IN_A_ROW: i64 = 100;

/// Counts of an exchange, from its start on. Whatever is refused changes nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExchangeCounters {
    /// Connections of processes that were served.
    pub processes: u64,
    /// Connections that were not: of another user, or beyond the most.
    pub turned_away: u64,
    /// Messages read from all processes.
    pub messages: u64,
    /// Flows that joined a group.
    pub joined: u64,
    /// Flows that left, however.
    pub left: u64,
    /// Processes that were gone without their flows having left.
    pub vanished: u64,
    /// Processes that were silent for too long.
    pub expired: u64,
    /// Refused: messages that cannot be read, or of another version.
    pub malformed: u64,
    /// Refused: of another kind than the group's, about flows that have not joined, or beyond what there is room for.
    pub refused: u64,
    /// Times that a process was not read for a moment, as it sent too fast.
    pub held_back: u64,
    /// Times that a flow was moved to another group, as delays told of another bottleneck.
    pub regrouped: u64,
    /// Answers that were dropped, as the process did not read those before.
    pub unheard: u64,
}

impl ExchangeCounters {
    /// Every count by its name.
    pub fn named(&self) -> [(&'static str, u64); 12] {
        let ExchangeCounters {
            processes,
            turned_away,
            messages,
            joined,
            left,
            vanished,
            expired,
            malformed,
            refused,
            held_back,
            regrouped,
            unheard,
        } = *self;
        [
            ("processes", processes),
            ("turned_away", turned_away),
            ("messages", messages),
            ("joined", joined),
            ("left", left),
            ("vanished", vanished),
            ("expired", expired),
            ("malformed", malformed),
            ("refused", refused),
            ("held_back", held_back),
            ("regrouped", regrouped),
            ("unheard", unheard),
        ]
    }
}

/// Lines that are to be said.
#[derive(Default)]
pub(super) struct Lines {
    waiting: VecDeque<String>,
    pace: Pace,
    left_out: u64,
}

impl Lines {
    /// A line, unless there were too many.
    pub fn say(&mut self, now: Time, line: String) {
        if !self.pace.allows(now, LINE_INTERVAL, LINES_IN_A_ROW) {
            self.left_out += 1;
            return;
        }
        self.pace.take(now, LINE_INTERVAL);
        if self.left_out > 0 {
            self.waiting.push_back(format!("{} lines left out", self.left_out));
            self.left_out = 0;
        }
        self.waiting.push_back(line);
    }

    /// The next line.
    pub fn next(&mut self) -> Option<String> {
        self.waiting.pop_front()
    }
}
