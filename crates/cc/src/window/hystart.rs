//! HyStart++: the first slow start ends when round trips get longer, before a queue overflows (RFC 9406).

use paceline_units::{TimeDelta, names, params};

names! {
    /// Rules that end the first slow start besides losses and marks.
    pub enum SlowStartExit {
        /// Nothing.
        Off = "off",
        /// Round trips that get longer (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// Deliveries that no longer double (draft-chung-ccwg-search-00).
        Search = "search",
    }
}

params! {
    /// The constants of HyStart++, which are those of RFC 9406.
    #[derive(Copy)]
    pub struct HyStartParams {
        hystart: SlowStartExit = SlowStartExit::Off, "RFC 9406", "Rule that ends the first slow start besides losses and marks";
        hystart_min_rtt_thresh: TimeDelta = TimeDelta::from_millis(4), in 1e-6, 10.0, "RFC 9406 4.3 (MIN_RTT_THRESH)", "Least rise of a round's smallest round trip that counts";
        hystart_max_rtt_thresh: TimeDelta = TimeDelta::from_millis(16), in 1e-6, 10.0, "RFC 9406 4.3 (MAX_RTT_THRESH)", "Rise that counts whatever the round trip";
        hystart_min_rtt_divisor: f64 = 8.0, in 1.0, 1000.0, "RFC 9406 4.3 (MIN_RTT_DIVISOR)", "Between the two a rise counts from the last round's smallest round trip divided by this on";
        hystart_n_rtt_sample: u64 = 8, in 1.0, 1000.0, "RFC 9406 4.3 (N_RTT_SAMPLE)", "Round trips measured in a round before it is judged";
        hystart_css_growth_divisor: f64 = 4.0, in 1.0, 1000.0, "RFC 9406 4.3 (CSS_GROWTH_DIVISOR)", "Divisor of growth once a rise was seen";
        hystart_css_rounds: u64 = 5, in 1.0, 1000.0, "RFC 9406 4.3 (CSS_ROUNDS)", "Rounds of that slower growth before slow start ends";
        hystart_l: f64 = 8.0, in 0.1, 1000.0, "RFC 9406 4.3 (L)", "Most packets that one acknowledgement adds where packets are not paced; where they are, there is no limit";
    }
    ordered hystart_min_rtt_thresh <= hystart_max_rtt_thresh;
}

/// Conservative slow start: what a sudden rise of the round trip leads to, until it is confirmed or was noise.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Conservative {
    /// `cssBaselineMinRtt`.
    baseline: TimeDelta,
    /// Rounds that ended in it, the one in which it began included.
    rounds: u64,
}

/// The round trips of the first slow start, round by round.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    params: HyStartParams,
    /// `windowEnd`: the first packet of the next round.
    window_end: u64,
    /// `lastRoundMinRTT`.
    last: Option<TimeDelta>,
    /// `currentRoundMinRTT`.
    current: Option<TimeDelta>,
    /// `rttSampleCount`.
    samples: u64,
    conservative: Option<Conservative>,
}

impl HyStart {
    pub fn new(params: HyStartParams) -> HyStart {
        HyStart { params, window_end: 0, last: None, current: None, samples: 0, conservative: None }
    }

    pub fn is_on(&self) -> bool {
        self.params.hystart == SlowStartExit::HyStartPlusPlus
    }

    /// Growth of the window by an acknowledgement of `bytes` (section 4.2); 4.3: L is infinite where packets are paced.
    pub fn growth(&self, bytes: f64, mss: f64, paced: bool) -> f64 {
        let limit = if paced { f64::INFINITY } else { self.params.hystart_l * mss };
        bytes.min(limit) / self.divisor()
    }

    /// The present divisor of slow start's growth.
    pub fn divisor(&self) -> f64 {
        if self.conservative.is_some() { self.params.hystart_css_growth_divisor } else { 1.0 }
    }

    /// Takes an acknowledgement of the first slow start: the newest packet that it delivered, a round trip, and the next packet
    /// to be sent. True if slow start is over.
    pub fn on_ack(&mut self, newest: u64, rtt: Option<TimeDelta>, next: u64) -> bool {
        if let Some(rtt) = rtt {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if self.samples >= self.params.hystart_n_rtt_sample {
            self.judge();
        }
        newest >= self.window_end && self.end_round(next)
    }

    /// Section 4.2: the smallest round trip of this round, beside the last round's or beside the one that began caution.
    fn judge(&mut self) {
        let Some(current) = self.current else { return };
        match (self.conservative, self.last) {
            (Some(css), _) if current < css.baseline => self.conservative = None,
            (None, Some(last)) if current >= last + self.threshold(last) => {
                self.conservative = Some(Conservative { baseline: current, rounds: 0 });
            }
            _ => {}
        }
    }

    /// `RttThresh`.
    fn threshold(&self, last: TimeDelta) -> TimeDelta {
        let part = TimeDelta::from_secs_f64(last.as_secs_f64() / self.params.hystart_min_rtt_divisor);
        part.min(self.params.hystart_max_rtt_thresh).max(self.params.hystart_min_rtt_thresh)
    }

    fn end_round(&mut self, next: u64) -> bool {
        self.window_end = next;
        self.last = self.current.take();
        self.samples = 0;
        let Some(css) = &mut self.conservative else { return false };
        css.rounds += 1;
        css.rounds >= self.params.hystart_css_rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A round of `samples` acknowledgements with one round-trip time. True if slow start is over.
    fn round(hystart: &mut HyStart, number: u64, samples: u64, rtt_ms: i64) -> bool {
        let mut over = false;
        for sample in 0..samples {
            let rtt = Some(TimeDelta::from_millis(rtt_ms));
            // The first acknowledgement of a round is the first of what was sent in it.
            over |= hystart.on_ack(number * 100 + sample, rtt, (number + 1) * 100);
        }
        over
    }

    fn on() -> HyStart {
        HyStart::new(HyStartParams { hystart: SlowStartExit::HyStartPlusPlus, ..HyStartParams::default() })
    }

    #[test]
    fn a_rise_of_an_eighth_between_4_and_16_ms_counts() {
        for (last, below, above) in [(8, 11, 12), (80, 89, 90), (400, 415, 416)] {
            for (rtt, divisor) in [(below, 1.0), (above, 4.0)] {
                let mut hystart = on();
                round(&mut hystart, 0, 10, last);
                round(&mut hystart, 1, 10, last);
                assert!(!round(&mut hystart, 2, 10, rtt));
                assert_eq!(hystart.divisor(), divisor, "{last} ms became {rtt} ms");
            }
        }
    }

    #[test]
    fn seven_samples_judge_nothing_and_eight_do() {
        for (samples, divisor) in [(8, 1.0), (9, 4.0)] {
            let mut hystart = on();
            round(&mut hystart, 0, 10, 40);
            round(&mut hystart, 1, 10, 40);
            // The first acknowledgement of a round still counts for the round before (section 4.2).
            round(&mut hystart, 2, samples, 80);
            assert_eq!(hystart.divisor(), divisor, "{samples}");
        }
    }

    #[test]
    fn five_rounds_of_caution_end_slow_start_and_a_shorter_round_trip_ends_caution() {
        let mut hystart = on();
        (0..2).for_each(|number| assert!(!round(&mut hystart, number, 10, 40)));
        let over: Vec<_> = (2..8).map(|number| round(&mut hystart, number, 10, 60)).collect();
        assert_eq!(
            over,
            [false, false, false, false, false, true],
            "the round in which it began is the first of five"
        );
        let mut hystart = on();
        (0..2).for_each(|number| assert!(!round(&mut hystart, number, 10, 40)));
        round(&mut hystart, 2, 10, 60);
        assert_eq!(hystart.divisor(), 4.0);
        round(&mut hystart, 3, 10, 59);
        assert_eq!(hystart.divisor(), 1.0, "below the baseline");
    }

    #[test]
    fn what_is_added_is_bytes_up_to_l_packets_unless_packets_are_paced() {
        let hystart = on();
        assert_eq!(hystart.growth(20_000.0, 1000.0, false), 8000.0);
        assert_eq!(hystart.growth(20_000.0, 1000.0, true), 20_000.0);
        assert_eq!(hystart.growth(700.0, 1000.0, false), 700.0);
    }
}
