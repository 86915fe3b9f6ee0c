//! How late a sender or a relay lets packets go, and whether a relay's figures can be trusted.

use crate::NetCounters;
use paceline_metrics::Histogram;
use paceline_units::TimeDelta;

/// Figures of a run are not to be trusted whose packets leave later than this part of the delay that is measured.
const TRUSTED: f64 = 0.1;

/// By how much packets left later than they were due, beside how long links held them, where there are links.
#[derive(Debug)]
pub(crate) struct Lateness {
    late: Histogram,
    held: Histogram,
}

impl Lateness {
    /// Of no packet yet.
    pub fn new() -> Lateness {
        Lateness { late: Histogram::new(), held: Histogram::new() }
    }

    /// A packet left so late.
    pub fn note(&mut self, late: TimeDelta) {
        self.late.record(late);
    }

    /// The same, of a packet that links held for so long.
    pub fn note_held(&mut self, held: TimeDelta, late: TimeDelta) {
        self.held.record(held);
        self.note(late);
    }

    /// Writes the figures down; answers what is to be said of them.
    pub fn finish(&self, counters: &mut NetCounters, has_priority: bool) -> Option<String> {
        let quantile = |q| self.late.quantile(q).map(TimeDelta::as_millis_f64);
        counters.late_p50_ms = quantile(0.5);
        counters.late_p95_ms = quantile(0.95);
        counters.late_p99_ms = quantile(0.99);
        counters.late_max_ms = self.late.max().map(TimeDelta::as_millis_f64);
        let (late, held) = (counters.late_p95_ms?, self.held.mean_nanos()? / 1e6);
        counters.late_share = (held > 0.0).then(|| late / held);
        if counters.late_share.is_none_or(|share| share <= TRUSTED) {
            return None;
        }
        let priority = if has_priority {
            ""
        } else {
            ", and give it real-time priority, which root or CAP_SYS_NICE has"
        };
        Some(format!(
            "not to be trusted: one packet in twenty left more than {late:.2} ms late, and its links held packets for \
             {held:.2} ms in the mean; use a machine that is less busy{priority}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_leave_a_tenth_of_their_delay_late_are_said() {
        let millis = TimeDelta::from_millis;
        let mut lateness = Lateness::new();
        (0..100).for_each(|_| lateness.note_held(millis(20), millis(1)));
        let mut counters = NetCounters::default();
        assert_eq!(lateness.finish(&mut counters, false), None);
        assert!(counters.late_share.is_some_and(|share| (share - 0.05).abs() < 0.001));
        (0..100).for_each(|_| lateness.note_held(millis(20), millis(3)));
        let said = lateness.finish(&mut counters, false).expect("a word");
        assert!(said.contains("not to be trusted") && said.contains("20.00 ms"), "{said}");
        assert_eq!(counters.late_max_ms, Some(3.0));
        assert!(!lateness.finish(&mut counters, true).expect("a word").contains("root"));
    }

    #[test]
    fn without_links_there_is_lateness_and_nothing_to_judge_it_by() {
        let (mut lateness, mut counters) = (Lateness::new(), NetCounters::default());
        [-1, 3, 300].into_iter().for_each(|micros| lateness.note(TimeDelta::from_micros(micros)));
        assert_eq!(lateness.finish(&mut counters, false), None);
        assert_eq!((counters.late_share, counters.late_max_ms), (None, Some(0.3)));
        assert!(counters.late_p50_ms.is_some_and(|median| (median - 0.003).abs() < 0.0001), "{counters:?}");
    }

    #[test]
    fn a_relay_that_saw_nothing_says_nothing() {
        let mut counters = NetCounters::default();
        assert_eq!(Lateness::new().finish(&mut counters, false), None);
        assert_eq!(counters, NetCounters::default());
    }
}
