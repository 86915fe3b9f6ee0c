//! Steps of the receiver's clock, told from queues, other routes, and packets and reports that are late.
//!
//! From the first packet after a step on, delays forward are longer by the step and delays back shorter by as much; the round
//! trip stays as it was. A change of the route moves both directions alike or one alone, a queue lengthens one. So:
//!
//! 1. **Candidates.** The smallest delays are kept of each 50 ms of sending. A packet whose delay is 20 ms below those of the
//!    last 150 ms in one direction, and above in the other, may be the first after a step. So may be a span that is 20 ms above
//!    three calm ones in one direction, while a queue hides the other.
//! 2. **Comparison.** The smallest delays of a window before it and of one after it are compared: windows of 150 ms, then longer
//!    ones that leave out what came out of order around it. There may be a step where both differ by 20 ms or more, in opposite
//!    directions, by about as much, and by 1.5 times what the windows before differed among themselves. In the direction that
//!    rose a queue may have come on top. Where no delay is below all before, both must say the same exactly. The first window after is
//!    compared with each packet while it fills.
//! 3. **Doubt.** Such a step is taken out at once, and its size follows the first two windows. A packet in the first that would be below all
//!    before, but for the correction, denies it. Until it is sure, no corrected delay is below the smallest before the step, so
//!    that nothing is kept that does not hold if there was none. The same holds while a candidate far below all waits for its first window.
//! 4. **Verdict.** From 0.9 s on a step is sure, if for 0.3 s all has agreed: the smallest delays since differ from those before by
//!    the step in both directions, and in one they are below all before. Where a queue hides the latter, the windows
//!    must have agreed exactly. A step by more than the shortest round trip needs no more, since no way is shorter than nothing.
//!    There was none if the round trip becomes shorter than any before by an eighth of the step, or if it is not sure after 4.5 s and
//!    no direction stayed below all before: then it is taken back.
//! 5. **Settling.** For 20 s the size of a step is corrected so that no delay is below the smallest before it.

use super::spans::{SPAN, Spans};
use super::{Both, Packet, Tilt};

/// Nanoseconds by which a step moves delays at least: less is not told from noise. Clocks that are kept by NTP are stepped by
/// 128 ms and more.
const SMALLEST: i64 = 20_000_000;
/// The same of a step that moves no delay below the smallest before, or of which both directions do not agree.
const SMALLEST_HIDDEN: i64 = 45_000_000;
/// Candidates that are compared at once.
const CANDIDATES: usize = 6;
/// Nanoseconds before and after a candidate that are compared, and that are left out before and after it.
const WINDOWS: [(i64, i64); 4] =
    [(150_000_000, 0), (200_000_000, 100_000_000), (400_000_000, 200_000_000), (1_000_000_000, 300_000_000)];
/// Nanoseconds after a step from which on all packets belong to it.
const MIXED: i64 = 300_000_000;
/// Nanoseconds after which a step is looked at, for which all must have agreed then, and after which it is none, if it is not sure.
const SURE_AFTER: i64 = 600_000_000;
const AGREED_FOR: i64 = 300_000_000;
const GIVE_UP: i64 = 4_500_000_000;
/// Nanoseconds before a step with which a verdict compares, and in which its windows differ by how much.
const BEFORE: i64 = 1_500_000_000;
const UNREST: i64 = 700_000_000;
/// Nanoseconds by which a queue may have grown on top of a step.
const QUEUE: i64 = 150_000_000;
/// The same of a single packet whose report waited for later ones.
const REPORT: i64 = 10_000_000;
/// In a longer time without a packet, in nanoseconds, no time passes for a verdict.
const IDLE: i64 = 500_000_000;
/// Nanoseconds in which a step's size is corrected.
const SETTLING: i64 = 20_000_000_000;
/// Nanoseconds about a step in which a packet may belong to the other side of it.
const NEAR: i64 = 1_000_000_000;
/// Nanoseconds by which a delay may be below the smallest before and still agree with it.
const TOLERANCE: i64 = 2_000_000;

/// The delays before a step.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The smallest delays, and the shortest round trip.
    least: Both,
    round_trip: i64,
}

impl Known {
    const NONE: Known = Known { least: Both::NONE, round_trip: i64::MAX };

    /// The sizes that a step can have, if delays after it are not smaller than `after`.
    fn bounds(&self, after: Both) -> Bounds {
        let least = self.least.backward.saturating_sub(after.backward);
        Bounds { least, most: after.forward.saturating_sub(self.least.forward) }
    }
}

/// The least and the most that a step can be, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    fn clamp(self, size: i64) -> i64 {
        size.max(self.least).min(self.most.max(self.least))
    }

    /// Whether no step can be both, by more than this.
    fn exclude(self, tolerance: i64) -> bool {
        self.least > self.most.saturating_add(tolerance)
    }

    /// Nanoseconds by which one direction lies below all delays before.
    fn below(self) -> i64 {
        self.most.saturating_neg().max(self.least)
    }
}

/// A packet that may be the first after a step.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// When it was sent; `i64::MAX` if there is none.
    at: i64,
    /// The windows that are compared next.
    window: usize,
    /// Whether it is far below all delays before.
    below: bool,
    known: Known,
}

const NO_CANDIDATE: Candidate = Candidate { at: i64::MAX, window: 0, below: false, known: Known::NONE };

impl Candidate {
    /// Whether its first windows are not full.
    fn is_filling(&self) -> bool {
        self.window == 0 && self.at != i64::MAX
    }

    /// When the next windows are full.
    fn due(&self) -> i64 {
        let (window, guard) = WINDOWS[self.window];
        self.at.saturating_add(window + guard)
    }
}

/// The difference of two levels, where it is one that a step makes.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// Nanoseconds by which the clock was put forward.
    size: i64,
    /// Whether both directions say the same, and clearly.
    exact: bool,
    /// Whether one direction is below all delays before.
    below: bool,
    /// Whether the size is that of a direction in which nothing waits.
    clean: bool,
}

/// The reasons to believe a step that is taken out and not sure yet.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// The match of whole windows; absent while the first of them is not full.
    windows: Option<Match>,
    /// Whether it was below all delays before at once.
    below: bool,
    /// The level before it, and by how much windows differed.
    before: Both,
    unrest: Both,
    /// Nanoseconds since in which nothing was sent.
    idle: i64,
    /// Since when all agrees; `i64::MAX` if it does not.
    since: i64,
}

/// A step that is taken out. For a while its size is corrected so that no delay is below the smallest before.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// When the first packet was sent that is corrected, and by how many nanoseconds.
    from: i64,
    size: i64,
    known: Known,
    /// The smallest delays since, corrected.
    least: Both,
    /// Until when its size is corrected.
    settles: i64,
}

/// News of a step: it is larger by so many nanoseconds than was known, for packets sent at `from` and later.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Change {
    pub(super) by: i64,
    pub(super) from: i64,
    /// Whether the step is sure from now on.
    pub(super) is_sure: bool,
}

/// Looks for steps. All delays are corrected by what is known, and so are those that it keeps.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    spans: Spans,
    candidates: [Candidate; CANDIDATES],
    next: usize,
    last: i64,
    round_trip: i64,
    newest: Option<Step>,
    /// Absent if the newest step is sure.
    doubt: Option<Doubt>,
}

impl Steps {
    /// No step is known.
    pub(super) fn new() -> Steps {
        Steps {
            spans: Spans::new(),
            candidates: [NO_CANDIDATE; CANDIDATES],
            next: 0,
            last: i64::MIN,
            round_trip: i64::MAX,
            newest: None,
            doubt: None,
        }
    }

    /// Takes the delays of a packet of the newest span in.
    #[inline]
    pub(super) fn note(&mut self, delays: Both) {
        self.spans.note(delays);
    }

    /// A packet sent then, or with a delay below these, has to be looked at.
    pub(super) fn quiet_until(&self) -> (i64, Both) {
        let Some(newest) = self.spans.newest(0) else { return (i64::MIN, Both::NONE) };
        let due = |candidate: &Candidate| if candidate.is_filling() { i64::MIN } else { candidate.due() };
        let due = self.candidates.iter().map(due).min().unwrap_or(i64::MAX);
        let level = self.spans.least(newest.at.saturating_sub(WINDOWS[0].0), i64::MAX);
        let below = level.less(Both { forward: SMALLEST, backward: SMALLEST });
        (newest.at.saturating_add(SPAN).min(due), below)
    }

    /// Another skew is known: what is kept of delays is corrected.
    pub(super) fn tilt(&mut self, tilt: &Tilt) {
        self.spans.correct(i64::MIN, |at| tilt.gained(at));
    }

    /// Nanoseconds of the newest step, if that came after what was sent then.
    pub(super) fn newest_after(&self, at: i64) -> i64 {
        self.newest.filter(|step| at < step.from).map_or(0, |step| step.size)
    }

    /// The smallest delays before a step that is in doubt, or before a candidate that is far below them and not yet compared.
    pub(super) fn floor(&self) -> Option<Both> {
        let doubtful = self.newest.filter(|_| self.doubt.is_some()).map(|step| step.known.least);
        let waits = |candidate: &&Candidate| candidate.below && candidate.is_filling();
        doubtful.or_else(|| self.candidates.iter().find(waits).map(|candidate| candidate.known.least))
    }

    /// A packet sent about the newest step may have arrived before it, though it is corrected. Answers by how much, after
    /// taking it in.
    pub(super) fn belongs_before(&mut self, packet: &Packet) -> Option<i64> {
        let step = self.newest?;
        let Step { from, size, .. } = step;
        // While the first window fills, a packet sent after the step denies it.
        let is_filling = self.doubt.is_some_and(|doubt| doubt.windows.is_none());
        let mixed = if is_filling { 0 } else { MIXED };
        let is_near = (from.saturating_sub(NEAR)..from.saturating_add(mixed)).contains(&packet.at);
        if !is_near || !step.denies(packet.delays) {
            return None;
        }
        let real = packet.delays.stepped(size.saturating_neg());
        let delays = if packet.at < from { real } else { packet.delays };
        self.spans.add(&Packet { delays, ..*packet }, false);
        Some(size)
    }

    /// Takes in a packet, whose round trip is given, where the smallest delays so far are `least`. Answers what is new of a step.
    pub(super) fn on_packet(
        &mut self,
        packet: &Packet,
        round_trip: i64,
        least: Option<Both>,
    ) -> Option<Change> {
        let known = least.map(|least| Known { least, round_trip: self.round_trip });
        self.round_trip = self.round_trip.min(round_trip);
        let newest = self.spans.newest(0).map_or(packet.at, |span| span.at);
        let is_late = packet.at < newest;
        let is_known = known.filter(|_| packet.at >= newest.saturating_sub(NEAR));
        let is_candidate = is_known.is_some_and(|known| self.is_candidate(packet, newest, known));
        self.spans.add(packet, is_candidate && !is_late);
        is_known?;
        let change = match self.doubt {
            Some(_) if is_late => None,
            Some(_) => self.judge(packet, newest).or_else(|| self.settle(packet)),
            None => self.settle(packet).or_else(|| self.examine(packet.at)),
        };
        if let Some(Change { from, by, .. }) = change {
            self.spans.correct(from, |_| by);
        }
        change
    }

    /// Whether a packet may be the first after a step. It, or a span that rose from calm ones, is kept for comparison.
    fn is_candidate(&mut self, packet: &Packet, newest: i64, known: Known) -> bool {
        let Packet { at, delays } = *packet;
        let moved = delays.less(self.spans.least(newest.saturating_sub(WINDOWS[0].0), i64::MAX));
        let is_candidate = at >= self.last.saturating_add(SPAN)
            && (moved.forward <= -SMALLEST && moved.backward > 0
                || moved.backward <= -SMALLEST && moved.forward > 0);
        if is_candidate {
            self.last = at;
            let far = Both { forward: SMALLEST, backward: SMALLEST };
            self.suspect(at, known, delays.is_below(known.least.less(far)));
        } else if at >= newest.saturating_add(SPAN) && self.rose_from_calm() {
            self.suspect(newest, known, false);
        }
        is_candidate
    }

    fn suspect(&mut self, at: i64, known: Known, below: bool) {
        self.candidates[self.next] = Candidate { at, window: 0, below, known };
        self.next = (self.next + 1) % CANDIDATES;
    }

    /// Whether in one direction the newest span is above those before it, which were alike: a queue may hide that the other fell.
    fn rose_from_calm(&self) -> bool {
        let [Some(newest), Some(first), Some(second), Some(third)] =
            [0, 1, 2, 3].map(|n| self.spans.newest(n))
        else {
            return false;
        };
        let least = first.least.min(second.least).min(third.least);
        let most = first.least.max(second.least).max(third.least);
        let (spread, rise) = (most.less(least), newest.least.less(most));
        spread.forward <= SMALLEST / 4 && rise.forward >= SMALLEST
            || spread.backward <= SMALLEST / 4 && rise.backward >= SMALLEST
    }

    /// Compares the delays before and after each candidate: the first windows as they fill, longer ones once they are full.
    fn examine(&mut self, at: i64) -> Option<Change> {
        for n in 0..CANDIDATES {
            let candidate = self.candidates[n];
            let Candidate { at: first, window, known, .. } = candidate;
            let is_full = at >= candidate.due();
            if first == i64::MAX || !is_full && window > 0 {
                continue;
            }
            if is_full {
                let is_last = window + 1 == WINDOWS.len();
                self.candidates[n] =
                    if is_last { NO_CANDIDATE } else { Candidate { window: window + 1, ..candidate } };
            }
            let Some((Some(found), last)) = self.compare(first, window, &known, 0, is_full) else { continue };
            let guard = WINDOWS[window].1;
            let from = if found.size > 0 { first.saturating_add(guard) } else { first.saturating_sub(guard) };
            return Some(self.doubt((from, found), is_full, known, last));
        }
        None
    }

    /// The difference of the windows before and after a packet, if there is a step in it, and when the last packet before was
    /// sent. Delays after it are corrected by `size`. Absent if nothing came.
    fn compare(
        &self,
        at: i64,
        window: usize,
        known: &Known,
        size: i64,
        is_full: bool,
    ) -> Option<(Option<Match>, i64)> {
        let (length, guard) = WINDOWS[window];
        let (end, from) = (at.saturating_sub(guard), at.saturating_add(guard));
        let last = self.spans.newest_first().find(|span| span.at < end)?.at;
        let before = self.spans.least(last.saturating_sub(length), end);
        let (half, to) = (from.saturating_add(length / 2), from.saturating_add(length));
        let (early, late) = (self.spans.least(from, half), self.spans.least(half, to));
        let after = early.min(late);
        if after == Both::NONE {
            return None;
        }
        let drift = if early == Both::NONE { Both::NONE } else { late.less(early).abs() };
        let unrest = self.spans.unrest(last.saturating_add(1), length);
        let found = differ(before, after.stepped(size.saturating_neg()), unrest, drift, known, is_full);
        Some((found, last))
    }

    /// A step is taken out from then on that full windows show, or the first of them as it fills.
    fn doubt(&mut self, (from, found): (i64, Match), by_windows: bool, known: Known, last: i64) -> Change {
        let before = self.spans.least(last.saturating_sub(BEFORE), last.saturating_add(1));
        let unrest = self.spans.unrest(last.saturating_add(1), UNREST);
        let Match { size, below, .. } = found;
        let windows = by_windows.then_some(found);
        self.doubt = Some(Doubt { windows, below, before, unrest, idle: 0, since: i64::MAX });
        let settles = from.saturating_add(SETTLING);
        self.newest = Some(Step { from, size, known, least: Both::NONE, settles });
        Change { by: size, from, is_sure: false }
    }

    /// Judges the step that is in doubt.
    fn judge(&mut self, packet: &Packet, newest: i64) -> Option<Change> {
        let (at, step) = (packet.at, self.newest?);
        let Step { from, size, known, .. } = step;
        let doubt = self.doubt.as_mut()?;
        if at.saturating_sub(newest) > IDLE {
            doubt.idle = doubt.idle.saturating_add(at.saturating_sub(newest));
        }
        let age = at.saturating_sub(from).saturating_sub(doubt.idle);
        if doubt.windows.is_none() {
            return self.refine(packet, &step, age);
        }
        let after = self.spans.least(from.saturating_add(MIXED), i64::MAX).stepped(size.saturating_neg());
        if age < SURE_AFTER || after == Both::NONE {
            return if age < GIVE_UP { None } else { self.take_back() };
        }
        let bounds = known.bounds(after);
        if bounds.exclude(TOLERANCE + size.saturating_abs() / 8) {
            return self.take_back();
        }
        let doubt = self.doubt.as_mut()?;
        doubt.since = if doubt.agrees(&step, after) { doubt.since.min(at) } else { i64::MAX };
        let size = bounds.clamp(size);
        if at.saturating_sub(doubt.since) >= AGREED_FOR {
            self.make_sure(at, size)
        } else if age < GIVE_UP {
            None
        } else if doubt.stays(size, bounds.below()) {
            self.make_sure(at, size)
        } else {
            self.take_back()
        }
    }

    /// Compares again while the first window after a step fills, and once the second is full.
    fn refine(&mut self, packet: &Packet, step: &Step, age: i64) -> Option<Change> {
        if age < WINDOWS[0].0 {
            if step.denies(packet.delays) {
                return self.take_back();
            }
            let (found, _) = self.compare(step.from, 0, &step.known, step.size, false)?;
            return self.resize(found?.size);
        }
        let (length, guard) = WINDOWS[1];
        if age < length + guard {
            return None;
        }
        let (found, _) = self.compare(step.from, 1, &step.known, step.size, true)?;
        let doubt = self.doubt.as_mut()?;
        if found.is_none() && !doubt.below {
            return self.take_back();
        }
        let found = found.unwrap_or(Match { size: step.size, exact: false, below: false, clean: false });
        doubt.windows = Some(found);
        if found.exact || found.clean { self.resize(found.size) } else { None }
    }

    /// The newest step is sure, and of this size.
    fn make_sure(&mut self, at: i64, size: i64) -> Option<Change> {
        let by = self.resize(size).map_or(0, |change| change.by);
        let step = self.newest.as_mut()?;
        step.settles = at.saturating_add(SETTLING);
        (self.doubt, self.candidates) = (None, [NO_CANDIDATE; CANDIDATES]);
        Some(Change { by, from: step.from, is_sure: true })
    }

    /// The newest step is of this size.
    fn resize(&mut self, size: i64) -> Option<Change> {
        let step = self.newest.as_mut()?;
        let by = size.saturating_sub(step.size);
        (step.size, step.least) = (size, step.least.stepped(by));
        (by != 0).then_some(Change { by, from: step.from, is_sure: false })
    }

    fn take_back(&mut self) -> Option<Change> {
        self.doubt = None;
        let Step { from, size, .. } = self.newest.take()?;
        Some(Change { by: size.saturating_neg(), from, is_sure: false })
    }

    /// Corrects the size of the newest step by a packet.
    fn settle(&mut self, packet: &Packet) -> Option<Change> {
        let step = self.newest.as_mut()?;
        if packet.at < step.from || packet.at >= step.settles {
            return None;
        }
        step.least = step.least.min(packet.delays);
        let bounds = step.known.bounds(step.least);
        if bounds.exclude(TOLERANCE) {
            step.settles = i64::MIN;
            return None;
        }
        let by = if bounds.least > 0 { bounds.least } else { bounds.most.min(0) };
        let size = step.size.saturating_add(by);
        self.resize(size)
    }
}

impl Step {
    /// Whether a packet is below the smallest delays before the step, and would not be without its correction.
    fn denies(&self, corrected: Both) -> bool {
        let floor = self.known.least.less(Both { forward: TOLERANCE, backward: TOLERANCE });
        corrected.is_below(floor) && !corrected.stepped(self.size.saturating_neg()).is_below(floor)
    }
}

impl Doubt {
    /// Whether the smallest delays since, as they are without the step's correction, make it sure.
    fn agrees(&self, step: &Step, after: Both) -> bool {
        let moved = after.less(self.before);
        let bounds = step.known.bounds(after);
        let found = bounds.clamp(moved.size_by(self.unrest.forward <= self.unrest.backward));
        let (size, below) = (found.saturating_abs(), bounds.below());
        let Some(windows) = self.windows.filter(|_| size >= SMALLEST) else { return false };
        let is_near = found.saturating_sub(step.size).saturating_abs() <= step.size.saturating_abs() / 2;
        if windows.exact && windows.below && is_near || below > step.known.round_trip {
            return true;
        }
        let is_below = below >= SMALLEST.max(size / 2);
        let slack = 4_000_000 + if is_below { size / 12 } else { size / 50 };
        let agrees = moved.forward.saturating_add(moved.backward).saturating_abs() <= slack;
        let clear = |unrest: i64, fell: bool| size >= unrest.saturating_mul(2) || fell && is_below;
        let is_clear = clear(self.unrest.forward, found < 0) && clear(self.unrest.backward, found > 0);
        agrees && is_clear && (is_below || windows.exact && size >= SMALLEST_HIDDEN)
    }

    /// Whether a step of this size is sure in the end, since it moved a direction below all delays before, by so much.
    fn stays(&self, size: i64, below: i64) -> bool {
        let was_below = self.windows.is_some_and(|found| found.below);
        was_below && below >= SMALLEST_HIDDEN.max(size.saturating_abs() / 10 * 9)
    }
}

/// The step from one level to another, if they differ by one. Levels before differed by `unrest`, and the halves of the one after by
/// `drift`. A queue may have grown on top, once the window after is full.
fn differ(
    before: Both,
    after: Both,
    unrest: Both,
    drift: Both,
    known: &Known,
    is_full: bool,
) -> Option<Match> {
    let moved = after.less(before);
    let sizes = moved.abs();
    let size = sizes.forward.min(sizes.backward);
    let bounds = known.bounds(after);
    let below = bounds.below() >= SMALLEST.max(sizes.forward.max(sizes.backward) / 2);
    // Nothing waits in the direction that rose, before or after.
    let (rose, restless) = if moved.forward > 0 {
        (moved.forward, unrest.forward.max(drift.forward))
    } else {
        (moved.backward, unrest.backward.max(drift.backward))
    };
    let calm = restless <= rose / 16;
    let clear = |size: i64, unrest: i64, moved: i64| {
        size.saturating_mul(2) >= unrest.saturating_mul(3) || moved < 0 && (below || calm)
    };
    let is_clear = clear(sizes.forward, unrest.forward, moved.forward)
        && clear(sizes.backward, unrest.backward, moved.backward);
    let sum = moved.forward.saturating_add(moved.backward);
    let slack = if calm && !below {
        4_000_000 + size / 2
    } else {
        unrest.forward.saturating_add(unrest.backward).saturating_add(4_000_000 + size / 4)
    };
    let waits = if is_full {
        QUEUE
    } else if moved.forward < 0 {
        REPORT
    } else {
        0
    };
    let is_step = size >= SMALLEST
        && (moved.forward < 0) != (moved.backward < 0)
        && is_clear
        && (slack.saturating_neg()..=slack.saturating_add(waits)).contains(&sum)
        && !bounds.exclude(TOLERANCE + size / 8);
    let clean = is_full && unrest.forward.min(unrest.backward) <= SMALLEST / 8;
    // The direction that fell, or the one that is less restless where that is known.
    let by_forward = if calm || clean { unrest.forward <= unrest.backward } else { moved.forward < 0 };
    let exact = sum.saturating_abs() <= 3_000_000 + size / 50
        && size >= unrest.forward.max(unrest.backward).saturating_mul(5);
    (is_step && (below || exact || calm)).then(|| Match {
        size: bounds.clamp(moved.size_by(by_forward)),
        exact,
        below,
        clean,
    })
}
