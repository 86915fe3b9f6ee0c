//! Tail loss probes (RFC 8985 section 7): when acknowledgements are overdue, a segment asks for one, long before the
//! retransmission timer.

use paceline_units::{Time, TimeDelta};

/// Section 7.2: what a probe waits for without a round trip.
const WITHOUT_SAMPLE: TimeDelta = TimeDelta::from_secs(1);

/// No probe comes sooner: a round trip of nothing would have one for each packet.
const LEAST: TimeDelta = TimeDelta::from_millis(1);

/// State of tail loss probes.
#[derive(Clone, Copy, Debug)]
pub struct Tlp {
    /// Offset behind everything that was sent when the last probe was, until its outcome is known (TLP.end_seq).
    end: Option<u64>,
    /// Whether that probe was sent before (TLP.is_retrans).
    again: bool,
    /// Whether a round trip was measured since the last probe.
    pub sampled: bool,
    /// When new data was last acknowledged.
    pub progress_at: Time,
    max_ack_delay: TimeDelta,
}

/// Outcome of a probe by an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There is no probe, or nobody knows yet.
    Unknown,
    /// Nothing was lost.
    NothingLost,
    /// It repaired a loss.
    Repaired,
}

/// The acknowledgement of section 7.4.2.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Offset that is acknowledged.
    pub acknowledged: u64,
    /// Where the duplicate that it tells of ends.
    pub duplicate_end: Option<u64>,
    /// Whether it is a duplicate acknowledgement without selective ones.
    pub plain_duplicate: bool,
}

impl Tlp {
    /// No probe was sent.
    pub fn new(max_ack_delay: TimeDelta) -> Tlp {
        Tlp { end: None, again: false, sampled: false, progress_at: Time::ZERO, max_ack_delay }
    }

    /// Section 7.1: a recovery begins.
    pub fn reset(&mut self) {
        (self.end, self.again) = (None, false);
    }

    /// Section 7.3: whether a probe may leave.
    pub fn may_probe(&self) -> bool {
        self.end.is_none() && self.sampled
    }

    /// Section 7.2, TLP_calc_PTO: how long acknowledgements may take.
    pub fn patience(&self, srtt: Option<TimeDelta>, one_segment: bool) -> TimeDelta {
        let delay = if one_segment { self.max_ack_delay } else { TimeDelta::ZERO };
        srtt.map_or(WITHOUT_SAMPLE, |srtt| (srtt + srtt + delay).max(LEAST))
    }

    /// Section 7.3, TLP_send_probe: a probe is to leave, and `end` is behind everything that was sent then.
    pub fn on_probe(&mut self, end: u64, again: bool) {
        (self.end, self.again, self.sampled) = (Some(end), again, false);
    }

    /// Section 7.4.2, TLP_process_ack.
    pub fn on_ack(&mut self, answer: &Answer) -> Outcome {
        let Some(end) = self.end.filter(|end| answer.acknowledged >= *end) else { return Outcome::Unknown };
        let outcome = if !self.again || answer.duplicate_end == Some(end) {
            Outcome::NothingLost
        } else if answer.acknowledged > end {
            Outcome::Repaired
        } else if answer.plain_duplicate {
            Outcome::NothingLost
        } else {
            Outcome::Unknown
        };
        if outcome != Outcome::Unknown {
            self.end = None;
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(acknowledged: u64, duplicate_end: Option<u64>, plain_duplicate: bool) -> Answer {
        Answer { acknowledged, duplicate_end, plain_duplicate }
    }

    /// Section 7.2.
    #[test]
    fn a_probe_waits_two_round_trips_and_for_a_delayed_acknowledgement_of_one_segment() {
        let ms = TimeDelta::from_millis;
        let tlp = Tlp::new(ms(200));
        assert_eq!(tlp.patience(None, true), ms(1000));
        assert_eq!(tlp.patience(Some(ms(40)), false), ms(80));
        assert_eq!(tlp.patience(Some(ms(40)), true), ms(280));
        assert_eq!(tlp.patience(Some(ms(0)), false), ms(1));
    }

    /// Section 7.4.2, line by line.
    #[test]
    fn what_an_acknowledgement_says_of_a_probe() {
        let mut tlp = Tlp::new(TimeDelta::ZERO);
        tlp.sampled = true;
        for (again, said, outcome) in [
            (false, answer(99, None, false), Outcome::Unknown),
            (false, answer(100, None, false), Outcome::NothingLost),
            (true, answer(99, Some(100), true), Outcome::Unknown),
            (true, answer(100, None, false), Outcome::Unknown),
            (true, answer(100, Some(50), false), Outcome::Unknown),
            (true, answer(100, Some(100), false), Outcome::NothingLost),
            (true, answer(100, None, true), Outcome::NothingLost),
            (true, answer(101, None, false), Outcome::Repaired),
        ] {
            tlp.on_probe(100, again);
            assert!(!tlp.may_probe(), "one at a time, and not before a round trip is measured");
            assert_eq!(tlp.on_ack(&said), outcome, "{again}, {said:?}");
            assert_eq!(tlp.end.is_none(), outcome != Outcome::Unknown);
        }
    }
}
