//! The decisions on shared bottlenecks (RFC 8382) about each pair of a host's flows.

use super::{RunTimes, Window, ratio};
use crate::figure::Facts;
use crate::table::PairSummary;
use paceline_units::{Time, TimeDelta};

/// Which flows share a bottleneck in truth from a time on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// When it begins to be so.
    pub from: Time,
    /// A number for each flow; flows of the same number share a bottleneck.
    pub groups: Vec<usize>,
}

/// The decisions on every pair of the flows of a host.
#[derive(Clone, Debug)]
pub struct PairsRecorder {
    /// The flows' names, and when each is there.
    flows: Vec<(String, Window)>,
    window: Window,
    pairs: Vec<PairRecord>,
}

impl PairsRecorder {
    /// The recorder of flows by their names, and when each is there; `truth`, by its times from 0 on, may be unknown.
    pub fn new(times: RunTimes, flows: Vec<(String, Window)>, truth: &[Sharing]) -> PairsRecorder {
        let places = 0..flows.len();
        let pair = |one: usize, other: usize| PairRecord::new((one, other), truth);
        let pairs =
            places.flat_map(|one| (one + 1..flows.len()).map(move |other| pair(one, other))).collect();
        PairsRecorder { flows, window: times.window(), pairs }
    }

    /// Decided at `now`: each flow is in the group of this number.
    pub fn decided(&mut self, now: Time, groups: &[usize]) {
        let in_window = self.window.contains(now);
        for pair in &mut self.pairs {
            let (one, other) = pair.flows;
            let counts = in_window && [one, other].iter().all(|flow| self.flows[*flow].1.contains(now));
            pair.decided(now, groups[one] == groups[other], counts);
        }
    }

    /// The figures of each pair by the names of its flows, `ONE+OTHER`.
    pub fn summary(&self) -> impl Iterator<Item = (String, PairSummary)> + '_ {
        self.pairs.iter().map(|pair| {
            let (one, other) = pair.flows;
            (format!("{}+{}", self.flows[one].0, self.flows[other].0), PairSummary::of(pair, Facts::ALL))
        })
    }
}

/// The decisions on two flows.
#[derive(Clone, Debug)]
pub(crate) struct PairRecord {
    /// Places of the two.
    flows: (usize, usize),
    /// Since when they share in truth, or do not, and how long after that the first decision agreed.
    truth: Vec<(Time, bool, Option<TimeDelta>)>,
    /// Whether the last decision put them together.
    together: bool,
    /// In the window, while both are there: decisions, those that put them together, those that agree with the truth, and those that changed
    /// something.
    pub(crate) decisions: u64,
    decided_together: u64,
    right: u64,
    pub(crate) changes: u64,
}

impl PairRecord {
    fn new(flows: (usize, usize), truth: &[Sharing]) -> PairRecord {
        let share = |step: &Sharing| step.groups[flows.0] == step.groups[flows.1];
        let mut truth: Vec<_> = truth.iter().map(|step| (step.from, share(step), None)).collect();
        truth.dedup_by_key(|(_, together, _)| *together);
        PairRecord { flows, truth, together: false, decisions: 0, decided_together: 0, right: 0, changes: 0 }
    }

    fn decided(&mut self, now: Time, together: bool, counts: bool) {
        let changed = std::mem::replace(&mut self.together, together) != together;
        let truth = self.truth.iter_mut().rfind(|(from, ..)| *from <= now);
        let right = truth.is_some_and(|(from, truth, first)| {
            if *truth == together {
                first.get_or_insert(now.saturating_since(*from));
            }
            *truth == together
        });
        if counts {
            self.decisions += 1;
            self.decided_together += u64::from(together);
            self.right += u64::from(right);
            self.changes += u64::from(changed);
        }
    }

    pub(crate) fn together(&self) -> Option<f64> {
        ratio(self.decided_together as f64, self.decisions as f64)
    }

    /// Absent where the truth is unknown.
    pub(crate) fn right(&self) -> Option<f64> {
        self.truth.first().and_then(|_| ratio(self.right as f64, self.decisions as f64))
    }

    /// Seconds from the beginning to the first decision that agreed with the truth of that time.
    pub(crate) fn first_right(&self) -> Option<f64> {
        self.truth.first().and_then(|(_, _, first)| first.map(TimeDelta::as_secs_f64))
    }

    /// Seconds from the last change of the truth to the first decision that agreed with it.
    pub(crate) fn next_right(&self) -> Option<f64> {
        self.truth.iter().skip(1).last().and_then(|(_, _, first)| first.map(TimeDelta::as_secs_f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::ZERO + TimeDelta::from_secs(seconds)
    }

    /// 10 s with a warm-up of 2 s.
    const TIMES: RunTimes = RunTimes {
        duration: TimeDelta::from_secs(10),
        warmup: TimeDelta::from_secs(2),
        sample: TimeDelta::from_secs(1),
    };

    /// Flows called `a` and so on, which begin at these seconds and end with the run.
    fn flows<const N: usize>(starts: [i64; N]) -> Vec<(String, Window)> {
        let there = |start| Window::new(TimeDelta::from_secs(start), TIMES.duration);
        ["a", "b", "c"].map(String::from).into_iter().zip(starts.map(there)).collect()
    }

    /// Of three flows the first two share from the beginning, and all three from 6 s on.
    fn recorded(truth: bool) -> Vec<(String, PairSummary)> {
        let steps = [(0, vec![0, 0, 1]), (6, vec![0, 0, 0])];
        let steps = steps.map(|(from, groups)| Sharing { from: at(from), groups });
        let mut pairs = PairsRecorder::new(TIMES, flows([0, 0, 0]), if truth { &steps } else { &[] });
        for second in 1..=10 {
            let groups = match second {
                1 => [0, 1, 1],
                3 | 4 => [0, 0, 2],
                5 => [0, 1, 2],
                6 | 7 => [0, 0, 2],
                8.. => [0, 0, 0],
                _ => [0, 1, 2],
            };
            pairs.decided(at(second), &groups);
        }
        pairs.summary().collect()
    }

    #[test]
    fn decisions_are_counted_in_the_window_and_times_from_when_the_truth_changed() {
        let figures = recorded(true);
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a+b", "a+c", "b+c"]);
        // The window is [2 s, 10 s): eight decisions. a and b are together from 3 s to 9 s but at 5 s.
        let of_ab = PairSummary {
            decisions: 8,
            together: Some(6.0 / 8.0),
            changes: 3,
            right: Some(6.0 / 8.0),
            first_right_s: Some(3.0),
            next_right_s: None,
        };
        assert_eq!(figures[0].1, of_ab, "they share all the time: the truth does not change");
        let of_ac = PairSummary {
            together: Some(2.0 / 8.0),
            changes: 1,
            right: Some(6.0 / 8.0),
            first_right_s: Some(1.0),
            next_right_s: Some(2.0),
            ..of_ab
        };
        assert_eq!(figures[1].1, of_ac);
        // Together at 1 s, before the window: what parts them at 2 s is in it, and the first right decision, too.
        assert_eq!(figures[2].1, PairSummary { changes: 2, first_right_s: Some(2.0), ..of_ac });
    }

    #[test]
    fn decisions_about_a_flow_that_is_absent_do_not_count() {
        let truth = [Sharing { from: at(0), groups: vec![0, 0, 0] }];
        let mut late_and_early = flows([0, 6, 0]);
        late_and_early[2].1 = Window::new(TimeDelta::ZERO, TimeDelta::from_secs(8));
        let mut pairs = PairsRecorder::new(TIMES, late_and_early, &truth);
        for second in 1..=10 {
            pairs.decided(at(second), if second < 6 { &[0, 1, 0] } else { &[0, 0, 0] });
        }
        let counted = pairs.summary().map(|(name, pair)| (name, pair.decisions, pair.right, pair.changes));
        // From 6 s to 9 s, from 2 s to 7 s, and at 6 s and 7 s.
        let expected = [("a+b", 4, 1), ("a+c", 6, 0), ("b+c", 2, 1)];
        let expected = expected.map(|(name, count, changes)| (name.to_string(), count, Some(1.0), changes));
        assert_eq!(counted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn without_a_truth_nothing_is_right() {
        let (_, pair) = recorded(false).remove(0);
        assert_eq!((pair.right, pair.first_right_s, pair.next_right_s), (None, None, None));
        assert_eq!((pair.decisions, pair.changes), (8, 3));
    }

    #[test]
    fn without_decisions_there_are_no_parts() {
        let truth = [Sharing { from: at(0), groups: vec![0, 0] }];
        let pairs = PairsRecorder::new(TIMES, flows([0, 0]), &truth);
        let (_, pair) = pairs.summary().next().expect("a pair");
        assert_eq!((pair.decisions, pair.together, pair.right, pair.first_right_s), (0, None, None, None));
    }
}
