//! Losses that a lower rate would mend, told from those that come at any rate.

use super::Params;
use paceline_units::{Time, TimeDelta};

/// Packets that a part of losses is counted over, at least.
const FEWEST: f64 = 20.0;
/// Time that a part of losses is counted over, at least.
const SPAN: TimeDelta = TimeDelta::from_secs(1);
/// An encoder follows its target within this time.
const ENCODER: TimeDelta = TimeDelta::from_millis(300);
/// Losses that are expected at the lower rate, at least, if they have nothing to do with it.
const EXPECTED: f64 = 4.0;
/// Lower rates in a row that have to leave losses as they were: of calls that share a queue one alone mends little.
const TRIALS: u32 = 3;
/// A lower rate is tried for this long at most.
const LONGEST_TRIAL: TimeDelta = TimeDelta::from_secs(2);
/// Weight of a count in the usual part of losses.
const WEIGHT: f64 = 0.1;
/// No larger part of losses is usual.
const MOST: f64 = 0.2;
/// A larger part is answered each round trip, whatever is tried: the flow would come to send twice what arrives.
const HEAVY: f64 = 0.3;

/// Packets and losses.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: f64,
    lost: f64,
}

impl Counts {
    /// Counts packets until they are enough to tell. Whether they do, and of heavy losses.
    fn tell_heavy(&mut self, packets: f64, lost: f64) -> bool {
        self.packets += packets;
        self.lost += lost;
        if self.packets < FEWEST {
            return false;
        }
        core::mem::take(self).part() > HEAVY
    }

    fn part(self) -> f64 {
        (self.lost / self.packets.max(1.0)).clamp(0.0, 1.0)
    }
}

/// The part of packets that is lost at any rate, and the counts of the present time.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsualLoss {
    /// Part of packets that is lost at any rate.
    pub usual: f64,
    /// The part that the rate was lowered for, while it is tried whether that mends it.
    suspect: Option<f64>,
    /// Lower rates in a row that left losses as they were.
    in_vain: u32,
    all: Counts,
    /// Counts of reports that showed an empty queue.
    empty: Counts,
    /// Counts of the newest packets.
    newest: Counts,
    /// When the counts begin.
    since: Time,
}

impl UsualLoss {
    /// Counts the packets of a report, and says whether more than usual was lost. A queue that is not empty may be the cause.
    #[inline]
    pub fn count(&mut self, params: &Params, report: &LossReport) -> bool {
        let &LossReport { now, srtt, packets, lost, queue_is_empty } = report;
        let is_heavy = self.newest.tell_heavy(packets, lost);
        if now < self.since {
            return is_heavy;
        }
        for counts in [Some(&mut self.all), queue_is_empty.then_some(&mut self.empty)].into_iter().flatten() {
            counts.packets += packets;
            counts.lost += lost;
        }
        let elapsed = now.saturating_since(self.since);
        if let Some(suspect) = self.suspect {
            let enough = self.empty.packets >= FEWEST.max(EXPECTED / suspect);
            if enough || elapsed >= LONGEST_TRIAL {
                return self.end_trial(params, now, srtt, suspect) || is_heavy;
            }
        }
        let was_empty = self.suspect.is_some() && self.empty.packets > self.all.packets / 2.0;
        if lost > 0.0 && !was_empty && self.exceeds(params) {
            self.in_vain = 0;
            return self.begin_trial(now, srtt, self.all.part());
        }
        if self.suspect.is_none() && self.all.packets >= FEWEST && elapsed >= srtt.max(SPAN) {
            // Upwards it is learned in trials alone: else what a full queue drops would become usual, little by little.
            self.usual += WEIGHT * (self.all.part() - self.usual).min(0.0);
            self.restart(now);
        }
        is_heavy
    }

    /// Whether a lower rate is tried: nothing grows.
    pub fn waits(&self) -> bool {
        self.suspect.is_some()
    }

    /// Whether more than usual, and than chance makes of that, was lost.
    fn exceeds(&self, params: &Params) -> bool {
        let Counts { packets, lost } = self.all;
        lost - self.usual * packets > params.loss_deviations * libm::sqrt(lost)
    }

    fn begin_trial(&mut self, now: Time, srtt: TimeDelta, suspect: f64) -> bool {
        self.suspect = Some(suspect);
        // Packets that left before the rate was lower say nothing of the lower one. A round trip may be a forger's.
        self.restart(now + srtt.min(LONGEST_TRIAL) + ENCODER);
        true
    }

    /// Losses that lower rates and an empty queue leave as they were are usual. Answers whether a still lower rate is tried.
    fn end_trial(&mut self, params: &Params, now: Time, srtt: TimeDelta, suspect: f64) -> bool {
        // The part at the lower rate, if all above the usual part was for the rate.
        let mended = (1.0 - (1.0 - suspect) / params.beta_r).max(self.usual);
        let part = self.empty.part();
        self.suspect = None;
        if self.empty.packets >= FEWEST && part > (suspect + mended) / 2.0 {
            self.in_vain += 1;
            if self.in_vain < TRIALS {
                return self.begin_trial(now, srtt, part);
            }
            self.usual = part.min(MOST);
        }
        self.in_vain = 0;
        self.restart(now);
        false
    }

    fn restart(&mut self, since: Time) {
        (self.all, self.empty, self.since) = (Counts::default(), Counts::default(), since);
    }
}

/// The packets of a report as far as losses go.
#[derive(Clone, Copy, Debug)]
pub struct LossReport {
    /// When the report came.
    pub now: Time,
    /// Smoothed round trip.
    pub srtt: TimeDelta,
    /// Packets that the report decided, lost ones in.
    pub packets: f64,
    /// Packets that it made lost, less those of before that turned up.
    pub lost: f64,
    /// Whether no queue stands; asked for while a lower rate is tried.
    pub queue_is_empty: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: TimeDelta = TimeDelta::from_millis(50);

    /// Reports of 10 packets each 20 ms for `seconds`; `lost` says how many of the packets are lost at a rate of so many Mbit/s, which falls
    /// by a tenth with each reaction and grows by a tenth a second otherwise. Answers the last rate, the usual part, and the reactions.
    fn run(seconds: u64, queue_is_empty: bool, lost: impl Fn(u64, f64) -> f64) -> (f64, f64, usize) {
        let (params, mut usual, mut rate, mut reactions) = (Params::default(), UsualLoss::default(), 5.0, 0);
        for n in 0..seconds * 50 {
            let now = Time::from_nanos(n * 20_000_000);
            let report = LossReport { now, srtt: SRTT, packets: 10.0, lost: lost(n, rate), queue_is_empty };
            if usual.count(&params, &report) {
                (rate, reactions) = (rate * params.beta_r, reactions + 1);
            } else if !usual.waits() {
                rate = (rate * 1.002_f64).min(10.0);
            }
        }
        (rate, usual.usual, reactions)
    }

    /// One packet of 100, evenly.
    fn one_in_a_hundred(n: u64, _: f64) -> f64 {
        if n.is_multiple_of(10) { 1.0 } else { 0.0 }
    }

    #[test]
    fn losses_that_lower_rates_leave_as_they_were_become_usual() {
        let (rate, usual, reactions) = run(60, true, one_in_a_hundred);
        assert_eq!(reactions, TRIALS as usize);
        assert!((usual - 0.01).abs() < 0.004 && rate > 9.0, "{usual} {rate}");
    }

    #[test]
    fn losses_that_a_lower_rate_mends_never_do() {
        let (rate, usual, reactions) =
            run(60, true, |n, rate| if rate > 4.0 { one_in_a_hundred(n, rate) } else { 0.0 });
        assert!(usual == 0.0 && reactions > 5 && (3.0..4.5).contains(&rate), "{usual} {reactions} {rate}");
    }

    /// Lower rates are tried for two seconds each; of packets that are mostly lost each 20 lower it once more.
    #[test]
    fn heavy_losses_are_answered_at_once() {
        let (rate, _, reactions) = run(10, false, |_, rate| if rate > 1.0 { 9.0 } else { 0.0 });
        assert!(rate <= 1.01 && reactions >= 15, "{rate} {reactions}");
    }

    #[test]
    fn nor_do_losses_beside_a_queue() {
        let (rate, usual, _) = run(60, false, one_in_a_hundred);
        assert!(usual == 0.0 && rate < 1.0, "{usual} {rate}");
    }
}
