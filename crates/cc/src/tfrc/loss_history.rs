//! From lost packets to loss events, and from these to the loss event rate (RFC 5348 sections 5.2 to 5.5).

use super::Params;
use super::reception::{LostRun, without};
use alloc::collections::VecDeque;

/// Loss events that are remembered beyond those that count, for when a late packet merges two intervals.
const SPARE: usize = 8;
/// Lost runs that a late packet can be taken out of.
const RUNS: usize = 128;

/// A loss event, and the interval that begins with it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Event {
    /// The place of its first packet among all packets.
    start: u64,
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
    n: usize,
    /// The smallest discount factor; absent without discounting.
    threshold: Option<f64>,
    /// The newest first.
    events: VecDeque<Event>,
    first: Option<FirstInterval>,
    /// What was lost, in order, so that it can be taken back.
    runs: VecDeque<LostRun>,
    /// Memory for a rebuild.
    before: VecDeque<Event>,
}

impl LossHistory {
    pub(crate) fn new(params: &Params) -> LossHistory {
        let n = params.n as usize;
        LossHistory {
            n,
            threshold: params.history_discounting.then_some(params.threshold),
            events: VecDeque::with_capacity(n + 1 + SPARE),
            first: None,
            runs: VecDeque::with_capacity(RUNS),
            before: VecDeque::with_capacity(n + 1 + SPARE),
        }
    }

    /// Whether there was a loss event.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// Packets were lost or marked. What lies within `r` after a loss event's begin belongs to it; else a new one
    /// begins. Before the first event there was an interval of `first_interval` packets. True if one began.
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
        let most = (self.n + 1 + SPARE) as u64;
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
        while let Some(sequence) = begin {
            let (start, stamp) = (run.place(sequence), run.stamp(sequence));
            self.push(start, stamp, rebuilding);
            begin = run.first_after(sequence, stamp.saturating_add(r)).filter(|next| *next > sequence);
        }
        any
    }

    fn push(&mut self, start: u64, stamp: u64, rebuilding: bool) {
        let mut discount = 1.0;
        if rebuilding {
            let known = self.before.iter().find(|event| event.start <= start);
            discount = known.map_or(1.0, |event| event.discount);
        } else if let Some(newest) = self.events.front() {
            // Section 5.5: the interval that now ends keeps its weight, those before it lose theirs for good.
            let factor = self.discount(start.wrapping_sub(newest.start).max(1));
            self.events.iter_mut().skip(1).for_each(|event| event.discount *= factor);
            self.first.iter_mut().for_each(|first| first.discount *= factor);
        }
        if self.events.len() == self.n + 1 + SPARE {
            self.events.pop_back();
            self.first = None;
        }
        self.events.push_front(Event { start, stamp, discount });
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
        }
        Some(self.events.len() < events)
    }

    /// Forgets the events from `place` on and counts them again. True if there are more than before.
    fn rebuild(&mut self, place: u64, r: u64) -> bool {
        let keep = self.events.iter().position(|event| event.start < place).unwrap_or(self.events.len());
        if keep == self.events.len() && self.first.is_none() {
            // What came before is forgotten: there is nothing to count from.
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

    /// `w_i` (section 5.4).
    fn weight(&self, i: usize) -> f64 {
        if 2 * i < self.n { 1.0 } else { 2.0 * (self.n - i) as f64 / (self.n + 2) as f64 }
    }

    /// The closed intervals `I_1` to `I_n` with their discounts, as far as there are any.
    fn closed(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let ends = self.events.iter().zip(self.events.iter().skip(1));
        let between =
            ends.map(|(newer, older)| (newer.start.wrapping_sub(older.start).max(1) as f64, older.discount));
        between.chain(self.first.iter().map(|first| (first.length, first.discount))).take(self.n)
    }

    /// `I_tot1` and `W_tot1` (section 5.5).
    fn closed_sums(&self) -> (f64, f64) {
        self.closed().enumerate().fold((0.0, 0.0), |(total, weights), (i, (length, discount))| {
            let weight = self.weight(i) * discount;
            (total + length * weight, weights + weight)
        })
    }

    /// DF, when the present interval has `length` packets (section 5.5).
    fn discount(&self, length: u64) -> f64 {
        let Some(threshold) = self.threshold else { return 1.0 };
        let (total, weights) = self.closed_sums();
        if weights <= 0.0 {
            return 1.0;
        }
        let (mean, length) = (total / weights, length as f64);
        if length > 2.0 * mean { (2.0 * mean / length).max(threshold) } else { 1.0 }
    }

    /// p, when `count` packets were sent up to the highest that arrived; 0 before the first loss event.
    pub(crate) fn loss_event_rate(&self, count: u64) -> f64 {
        let Some(newest) = self.events.front() else { return 0.0 };
        let length = count.saturating_sub(newest.start).max(1);
        let factor = self.discount(length);
        let closed = self.closed().count();
        let (mut total, mut weights) = (length as f64 * self.weight(0), self.weight(0));
        // I_tot0 leaves out the oldest: section 5.4 adds I_0 to I_(k-1).
        for (i, (length, discount)) in self.closed().take(closed.saturating_sub(1)).enumerate() {
            let weight = self.weight(i + 1) * discount * factor;
            total += length * weight;
            weights += weight;
        }
        let (total_1, weights_1) = self.closed_sums();
        let with_present = weights / total;
        let without_present = if total_1 > 0.0 { weights_1 / total_1 } else { 1.0 };
        with_present.min(without_present).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
#[path = "loss_history_tests.rs"]
mod tests;
