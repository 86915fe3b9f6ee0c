//! When acknowledgements are due (RFC 4340 section 11.3).

use paceline_units::{Time, TimeDelta};

/// The event that an acknowledgement waits for.
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
    #[inline]
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

    /// Whether an acknowledgement is due.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// A packet with an acknowledgement number and all options left.
    pub(crate) fn on_acknowledged(&mut self, now: Time) {
        (self.unacknowledged, self.due) = (0, None);
        (self.last, self.of_acknowledgment) = (Some(now), false);
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
}
