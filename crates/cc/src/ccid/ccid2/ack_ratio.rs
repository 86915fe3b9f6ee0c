//! Congestion control of acknowledgements: the Ack Ratio (RFC 4341 section 6.1).

use super::Params;
use crate::ccid::AckPathReport;
use crate::tfrc::reception::Reception;
use paceline_units::{Time, TimeDelta};

/// A feature's value has two bytes.
const LARGEST: u64 = 65_535;

/// The Ack Ratio that the sender wants, and the one that it last asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct AckRatio {
    /// R, as it is wanted now.
    pub(super) ratio: u64,
    least: u64,
    /// Right for any window.
    always: u64,
    /// Whether a timeout takes it down to the least.
    anew: bool,
    /// Windows of data without a lost or marked acknowledgement.
    clean: u64,
    /// The window of data ends when this packet is acknowledged; absent before the first acknowledgement.
    window_end: Option<u64>,
    /// Whether an acknowledgement was lost or marked in it.
    congested: bool,
    asked: Option<(u64, Time)>,
}

impl AckRatio {
    pub(super) fn new(params: &Params) -> AckRatio {
        AckRatio {
            ratio: params.ack_ratio,
            least: params.ack_ratio_min,
            always: params.ack_ratio_always,
            anew: params.ack_ratio_anew,
            clean: 0,
            window_end: None,
            congested: false,
            asked: None,
        }
    }

    /// R, as the receiver heard it last.
    pub(super) fn asked(&self) -> u64 {
        self.asked.map_or(self.ratio, |(ratio, _)| ratio)
    }

    /// Acknowledgements were lost or marked: doubled, once for each window of data.
    pub(super) fn on_acks_lost(&mut self, cwnd: u64) {
        if !self.congested {
            self.ratio = self.ratio.saturating_mul(2);
            (self.congested, self.clean) = (true, 0);
        }
        self.constrain(cwnd);
    }

    /// Data up to `newest` is acknowledged; `next` is the next to be sent.
    pub(super) fn on_data_acked(&mut self, newest: u64, next: u64, cwnd: u64) {
        if self.window_end.is_none_or(|end| newest >= end) {
            if !self.congested && self.window_end.is_some() {
                self.on_clean_window(cwnd);
            }
            (self.congested, self.window_end) = (false, Some(next));
        }
        self.constrain(cwnd);
    }

    /// A transmit timeout, which leaves `cwnd`.
    pub(super) fn on_timed_out(&mut self, cwnd: u64) {
        if self.anew {
            (self.ratio, self.clean, self.window_end) = (self.least, 0, None);
            self.constrain(cwnd);
        }
    }

    /// Less by one after cwnd/(R^2 - R) of them (appendix A).
    fn on_clean_window(&mut self, cwnd: u64) {
        self.clean += 1;
        let r = self.ratio;
        if r > 1 && self.clean.saturating_mul(r * (r - 1)) >= cwnd {
            (self.ratio, self.clean) = (r - 1, 0);
        }
    }

    /// Section 6.1.2: not above cwnd/2, rounded up, but two is always right (`ack_ratio_always`); two or more from four
    /// packets on.
    pub(super) fn constrain(&mut self, cwnd: u64) {
        let most = cwnd.div_ceil(2).clamp(self.always, LARGEST);
        let least = if cwnd >= 4 { 2 } else { self.least };
        self.ratio = self.ratio.max(least).min(most);
    }

    /// The Ack Ratio to tell the receiver, at most once in `interval`.
    #[inline]
    pub(super) fn request(&mut self, now: Time, interval: impl Fn() -> TimeDelta) -> Option<u16> {
        let due = |(ratio, at): (u64, Time)| ratio != self.ratio && now.saturating_since(at) >= interval();
        if self.asked.is_none_or(due) {
            self.asked = Some((self.ratio, now));
            return u16::try_from(self.ratio).ok();
        }
        None
    }
}

/// Finds which packets of the receiver are lost (section 6.1.1): the sender's transport tells it of each that arrives, and
/// hands [`AckPathReport`]s to the controller.
#[derive(Clone, Debug)]
pub struct AckPath {
    numdupack: u64,
    packets: Option<Reception>,
}

impl AckPath {
    /// A path on which nothing has arrived.
    pub fn new(params: &Params) -> AckPath {
        AckPath { numdupack: params.numdupack, packets: None }
    }

    /// A packet arrived from the receiver: its number, and whether it is one without data that bears a mark. Answers what
    /// that tells, if anything; every lost packet counts as one without data.
    #[inline(always)]
    pub fn on_packet(&mut self, sequence: u64, marked: bool) -> Option<AckPathReport> {
        let marked = u64::from(marked);
        let Some(packets) = &mut self.packets else {
            self.packets = Some(Reception::new(self.numdupack, 0, sequence, 0));
            return (marked > 0).then_some(AckPathReport { lost: 0, marked });
        };
        packets.on_arrival(sequence, 0, 0);
        let mut lost = 0_u64;
        while let Some(run) = packets.lost(None) {
            lost = lost.saturating_add((run.last - run.first).saturating_add(1));
        }
        (lost > 0 || marked > 0).then_some(AckPathReport { lost, marked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(ratio: u64) -> AckRatio {
        AckRatio { ratio, window_end: Some(0), ..AckRatio::new(&Params::default()) }
    }

    /// Clean windows of data until it changes.
    fn clean_windows(ack_ratio: &mut AckRatio, cwnd: u64) -> u64 {
        let before = ack_ratio.ratio;
        for windows in 1..10_000 {
            let end = ack_ratio.window_end.expect("it has begun");
            ack_ratio.on_data_acked(end, end + cwnd, cwnd);
            if ack_ratio.ratio != before {
                return windows;
            }
        }
        0
    }

    #[test]
    fn a_window_with_lost_acknowledgements_doubles_it_once() {
        let mut ack_ratio = ratio(2);
        ack_ratio.on_data_acked(0, 40, 40);
        ack_ratio.on_acks_lost(40);
        ack_ratio.on_acks_lost(40);
        assert_eq!(ack_ratio.ratio, 4);
        ack_ratio.on_data_acked(39, 79, 40);
        ack_ratio.on_acks_lost(40);
        assert_eq!(ack_ratio.ratio, 4, "still the same window");
        ack_ratio.on_data_acked(40, 80, 40);
        ack_ratio.on_acks_lost(40);
        assert_eq!(ack_ratio.ratio, 8);
    }

    #[test]
    fn clean_windows_lower_it_by_one() {
        // Appendix A: K = cwnd/(R^2 - R).
        for (from, cwnd, windows) in [(5, 100, 5), (4, 100, 9), (3, 100, 17), (10, 20, 1)] {
            let mut ack_ratio = ratio(from);
            assert_eq!(clean_windows(&mut ack_ratio, cwnd), windows, "from {from}");
            assert_eq!(ack_ratio.ratio, from - 1);
        }
        assert_eq!(clean_windows(&mut ratio(2), 100), 0, "two or more from four packets on");
    }

    #[test]
    fn the_three_constraints() {
        for (from, cwnd, expected) in
            [(64, 20, 10), (64, 21, 11), (64, 3, 2), (64, 1, 2), (1, 4, 2), (1, 3, 1), (2, 1, 2)]
        {
            let mut ack_ratio = ratio(from);
            ack_ratio.constrain(cwnd);
            assert_eq!(ack_ratio.ratio, expected, "{from} with {cwnd}");
        }
        for (cwnd, expected) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
            let mut ack_ratio = AckRatio { always: 1, ..ratio(64) };
            ack_ratio.constrain(cwnd);
            assert_eq!(ack_ratio.ratio, expected, "{cwnd}, where one alone is always right");
        }
        let mut ack_ratio = ratio(40_000);
        ack_ratio.on_acks_lost(u64::MAX);
        assert_eq!(ack_ratio.ratio, 65_535);
    }

    #[test]
    fn the_receiver_is_told_once_a_round_trip() {
        let (ms, rtt) = (|at: u64| Time::from_nanos(at * 1_000_000), || TimeDelta::from_millis(100));
        let mut ack_ratio = ratio(2);
        assert_eq!(ack_ratio.request(ms(0), rtt), Some(2));
        ack_ratio.on_acks_lost(40);
        assert_eq!((ack_ratio.request(ms(99), rtt), ack_ratio.asked()), (None, 2));
        assert_eq!((ack_ratio.request(ms(100), rtt), ack_ratio.asked()), (Some(4), 4));
        assert_eq!(ack_ratio.request(ms(500), rtt), None);
    }

    #[test]
    fn an_acknowledgement_is_lost_when_three_later_ones_came() {
        let mut path = AckPath::new(&Params::default());
        let mut lost = 0;
        for n in [7, 8, 11, 12, 9] {
            assert_eq!(path.on_packet(n, false), None, "{n}");
        }
        for n in [13, 14, 15, u64::MAX, 0] {
            lost += path.on_packet(n, false).map_or(0, |report| report.lost);
        }
        assert_eq!(lost, 1, "10, and 9 came late");
        assert_eq!(path.on_packet(16, true), Some(AckPathReport { lost: 0, marked: 1 }));
    }
}
