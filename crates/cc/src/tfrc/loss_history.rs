//! From lost packets to loss events, and from these to the loss event rate (RFC 5348 sections 5.2 to 5.5).

use super::Params;
use super::average::Averager;
use super::reception::{LostRun, without};
use alloc::collections::VecDeque;

/// Loss events that are remembered beyond those that count, for when a late packet merges two intervals.
const SPARE: usize = 8;
/// Lost runs that a late packet can be taken out of.
const RUNS: usize = 128;

/// A loss event, and the interval that begins with it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Event {
    /// The place of its first packet among all packets.
    pub(crate) start: u64,
    /// The sequence number of its first packet.
    pub(crate) first: u64,
    /// The highest sequence number that was lost or marked in it.
    pub(crate) last: u64,
    /// `T_old`: the nominal arrival of that packet.
    stamp: u64,
    /// `DF_i` of the interval that begins here.
    discount: f64,
}

/// The interval before the first loss event (section 6.3.1), while it counts.
#[derive(Clone, Copy, PartialEq, Debug)]
struct FirstInterval {
    length: f64,
    discount: f64,
}

/// The loss events and intervals of a flow. CCID 3 uses the same with its window counter as stamps.
#[derive(Clone, Debug)]
pub(crate) struct LossHistory {
    averager: Averager,
    /// The loss events, the newest first.
    events: VecDeque<Event>,
    first: Option<FirstInterval>,
    /// Lost packets, in order, so that losses can be taken back.
    runs: VecDeque<LostRun>,
    /// The loss events as they were, while the history is rebuilt.
    before: VecDeque<Event>,
}

impl LossHistory {
    pub(crate) fn new(params: &Params) -> LossHistory {
        let n = params.n as usize;
        LossHistory {
            averager: Averager::new(params),
            events: VecDeque::with_capacity(n + 1 + SPARE),
            first: None,
            runs: VecDeque::with_capacity(RUNS),
            before: VecDeque::with_capacity(n + 1 + SPARE),
        }
    }

    /// Whether intervals that have not been count as zero ([`Averager::absent_are_zero`]).
    pub(crate) fn counting_absent_as_zero(mut self, absent_are_zero: bool) -> LossHistory {
        self.averager.absent_are_zero = absent_are_zero;
        self
    }

    /// Whether there was a loss event.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// `T_old` of the newest loss event.
    pub(crate) fn newest_stamp(&self) -> Option<u64> {
        self.events.front().map(|event| event.stamp)
    }

    /// Packets were lost or marked. A loss within `r` of a loss event's begin belongs to it; else a new one begins. Before the first event
    /// there was an interval of `first_interval` packets. True if one began.
    pub(crate) fn add(&mut self, run: LostRun, r: u64, first_interval: f64) -> bool {
        if !self.any() {
            self.first = Some(FirstInterval { length: first_interval.max(1.0), discount: 1.0 });
        }
        let place = run.place(run.first);
        if self.runs.len() == RUNS {
            self.runs.pop_front();
        }
        if self.runs.back().is_some_and(|newest| newest.place(newest.first) > place) {
            // A marked packet that came late.
            let behind = self.runs.partition_point(|other| other.place(other.first) < place);
            self.runs.insert(behind, run);
            return self.rebuild(place, r);
        }
        self.runs.push_back(run);
        self.extend(&run, r, false)
    }

    /// Counts the loss events that begin within a run; in a rebuild their discounts are those from before.
    fn extend(&mut self, run: &LostRun, r: u64, rebuilding: bool) -> bool {
        let most = (self.averager.n + 1 + SPARE) as u64;
        let limit = self.events.front().map(|event| event.stamp.saturating_add(r));
        let mut begin = match limit {
            None => Some(run.first),
            Some(limit) => run.first_after(run.first, limit),
        };
        // Of an outage of many round trips only the last events can be remembered.
        if let Some(from) = begin {
            let stride = run.stride(r);
            let more = ((run.last - from) / stride).saturating_sub(most);
            begin = Some(from + more * stride);
        }
        let any = begin.is_some();
        // A loss before a new event's begin belongs to the event before.
        let belongs = begin.map_or(run.last, |begin| begin.saturating_sub(1));
        if let Some(event) = self.events.front_mut().filter(|_| belongs >= run.first) {
            event.last = event.last.max(belongs);
        }
        while let Some(sequence) = begin {
            let stamp = run.stamp(sequence);
            begin = run.first_after(sequence, stamp.saturating_add(r)).filter(|next| *next > sequence);
            let last = begin.map_or(run.last, |next| next - 1);
            let start = run.place(sequence);
            self.push(Event { start, first: sequence, last, stamp, discount: 1.0 }, rebuilding);
        }
        any
    }

    fn push(&mut self, mut event: Event, rebuilding: bool) {
        let start = event.start;
        if rebuilding {
            let known = self.before.iter().find(|event| event.start <= start);
            event.discount = known.map_or(1.0, |event| event.discount);
        } else if let Some(newest) = self.events.front() {
            // Section 5.5: the interval that now ends keeps its weight, those before it lose theirs for good.
            let factor = self.discount(start.wrapping_sub(newest.start).max(1));
            self.events.iter_mut().skip(1).for_each(|event| event.discount *= factor);
            self.first.iter_mut().for_each(|first| first.discount *= factor);
        }
        if self.events.len() == self.averager.n + 1 + SPARE {
            self.events.pop_back();
            self.first = None;
        }
        self.events.push_front(event);
    }

    /// A lost packet turned up after all, unmarked: it fills its hole. Absent if it was none of those lost, so that it
    /// is a duplicate; else whether a loss event went with it.
    pub(crate) fn take_back(&mut self, stream: u8, sequence: u64, r: u64) -> Option<bool> {
        let holds = |run: &LostRun| {
            run.stream == stream
                && run.first <= sequence
                && sequence <= run.last
                && run.before.0 != run.after.0
        };
        let at = self.runs.iter().position(holds)?;
        let run = self.runs[at];
        let (below, above) = without(&run, sequence);
        self.runs.remove(at);
        for part in [above, below].into_iter().flatten() {
            if self.runs.len() < RUNS {
                self.runs.insert(at, part);
            }
        }
        let events = self.events.len();
        let place = run.place(sequence);
        if self.events.iter().any(|event| event.start == place) {
            self.rebuild(place, r);
        } else {
            self.shorten(sequence);
        }
        Some(self.events.len() < events)
    }

    /// The last packet of a loss event turned up: the event ends with the one lost before.
    fn shorten(&mut self, sequence: u64) {
        let Some(event) = self.events.iter_mut().find(|event| event.last == sequence) else { return };
        let before =
            self.runs.iter().filter(|run| run.first < sequence).map(|run| run.last.min(sequence - 1));
        event.last = before.max().unwrap_or(event.first).max(event.first);
    }

    /// Forgets the events from `place` on and counts them again. True if there are more than before.
    fn rebuild(&mut self, place: u64, r: u64) -> bool {
        let keep = self.events.iter().position(|event| event.start < place).unwrap_or(self.events.len());
        if keep == self.events.len() && self.first.is_none() {
            // The time before is forgotten: there is nothing to count from.
            return false;
        }
        self.before.clear();
        self.before.extend(self.events.iter().copied());
        self.events.drain(..keep);
        for at in 0..self.runs.len() {
            let mut run = self.runs[at];
            if run.place(run.last) >= place {
                if run.place(run.first) < place {
                    run.first = place.wrapping_sub(run.offset);
                }
                self.extend(&run, r, true);
            }
        }
        if !self.any() {
            self.first = None;
        }
        self.events.len() > self.before.len()
    }

    /// The closed intervals `I_1` to `I_n` with their discounts, as far as there are any.
    fn closed(&self) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        let ends = self.events.iter().zip(self.events.iter().skip(1));
        let between =
            ends.map(|(newer, older)| (newer.start.wrapping_sub(older.start).max(1) as f64, older.discount));
        between.chain(self.first.iter().map(|first| (first.length, first.discount))).take(self.averager.n)
    }

    /// DF, when the present interval has `length` packets (section 5.5).
    fn discount(&self, length: u64) -> f64 {
        self.averager.discount(length, self.closed())
    }

    /// p, when `count` packets were sent up to the highest that arrived; 0 before the first loss event.
    pub(crate) fn loss_event_rate(&self, count: u64) -> f64 {
        let Some(newest) = self.events.front() else { return 0.0 };
        let length = count.saturating_sub(newest.start).max(1);
        self.averager.loss_event_rate(length, self.closed())
    }

    /// The loss events, the newest first.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// The length of the interval before the first loss event, while it is known.
    pub(crate) fn first_interval(&self) -> Option<f64> {
        self.first.map(|first| first.length)
    }
}

#[cfg(test)]
#[path = "loss_history_tests.rs"]
mod tests;
