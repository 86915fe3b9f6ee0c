//! When acknowledgements are due (RFC 4340 section 11.3), and what of the other end's are lost.

use paceline_units::{Time, TimeDelta};

/// What an acknowledgement waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledge {
    /// Data packets since the last acknowledgement.
    pub(crate) unacknowledged: u32,
    /// When one goes at the latest.
    pub(crate) due: Option<Time>,
    /// When a mark was last answered at once.
    marked: Option<Time>,
    /// When a packet with an acknowledgement number last left.
    pub(crate) last: Option<Time>,
    /// An acknowledgement with state that needs clearing arrived after that (section 11.1).
    pub(crate) of_acknowledgment: bool,
}

impl Acknowledge {
    /// A data packet arrived. `at_once`: out of order or marked (section 11.3).
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        ratio: u64,
        delay: TimeDelta,
        out_of_order: bool,
        marked: bool,
        rtt: TimeDelta,
    ) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        let answer_mark = marked && self.marked.is_none_or(|then| now.saturating_since(then) >= rtt);
        if answer_mark {
            self.marked = Some(now);
        }
        if out_of_order || answer_mark || u64::from(self.unacknowledged) >= ratio {
            self.due = Some(now);
        } else {
            let latest = now + delay;
            self.due = Some(self.due.map_or(latest, |due| due.min(latest)));
        }
    }

    /// An acknowledgement is due now.
    pub(crate) fn at_once(&mut self, now: Time) {
        self.due = Some(now);
    }

    /// Whether one is due.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// A packet with an acknowledgement number and all options left.
    pub(crate) fn on_acknowledged(&mut self, now: Time) {
        (self.unacknowledged, self.due) = (0, None);
        (self.last, self.of_acknowledgment) = (Some(now), false);
    }
}

/// The other end's packets that are missing for good: three later ones arrived (RFC 4341 section 6.1.1, NUMDUPACK).
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Numbers that are missing, the oldest first.
    holes: Vec<i64>,
}

/// Holes that are watched; of more the oldest count as lost.
const MOST_HOLES: usize = 64;
const NUMDUPACK: i64 = 3;

impl Missing {
    /// The packet numbered `sequence` arrived, the first beyond `missing` others, or late. Answers how many are lost.
    pub(crate) fn on_packet(&mut self, sequence: i64, missing: Option<i64>) -> u32 {
        match missing {
            Some(missing) => {
                let kept = missing.min(MOST_HOLES as i64);
                let mut lost = missing - kept;
                let over = (self.holes.len() + kept as usize).saturating_sub(MOST_HOLES);
                lost += self.holes.drain(..over.min(self.holes.len())).len() as i64;
                self.holes.extend(sequence - kept..sequence);
                let decided = self.holes.partition_point(|hole| hole + NUMDUPACK < sequence);
                lost += self.holes.drain(..decided).len() as i64;
                u32::try_from(lost).unwrap_or(u32::MAX)
            }
            None => {
                self.holes.retain(|hole| *hole != sequence);
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: TimeDelta = TimeDelta::from_millis(100);
    const DELAY: TimeDelta = TimeDelta::from_millis(200);

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn section_11_3_one_for_each_ack_ratio_packets_or_after_the_delay() {
        let mut acks = Acknowledge::default();
        acks.on_data(ms(0), 3, DELAY, false, false, RTT);
        acks.on_data(ms(10), 3, DELAY, false, false, RTT);
        assert_eq!(acks.due, Some(ms(200)));
        acks.on_data(ms(20), 3, DELAY, false, false, RTT);
        assert!(acks.is_due(ms(20)));
        acks.on_acknowledged(ms(20));
        assert_eq!(acks.due, None);
    }

    #[test]
    fn section_11_3_holes_at_once_marks_once_a_round_trip() {
        let mut acks = Acknowledge::default();
        for (at, out_of_order, marked, due) in [
            (0, true, false, true),
            (1, false, true, true),
            (2, false, true, false),
            (101, false, true, true),
        ] {
            acks.on_data(ms(at), 9, DELAY, out_of_order, marked, RTT);
            assert_eq!(acks.is_due(ms(at)), due, "at {at}");
            acks.on_acknowledged(ms(at));
        }
    }

    #[test]
    fn rfc_4341_section_6_1_1_three_later_packets_make_a_loss() {
        let mut missing = Missing::default();
        let found: Vec<u32> =
            [(0, 0), (2, 1), (3, 0), (4, 0), (5, 0)].map(|(n, gap)| missing.on_packet(n, Some(gap))).to_vec();
        assert_eq!(found, [0, 0, 0, 0, 1]);
        missing.on_packet(7, Some(1));
        missing.on_packet(6, None);
        assert_eq!(missing.on_packet(20, Some(12)), 9, "6 came late; 8 to 16 are lost, 17 to 19 not yet");
        assert_eq!(missing.on_packet(1 << 40, Some((1 << 40) - 21)), u32::MAX);
        assert!(missing.holes.len() <= MOST_HOLES);
    }
}
