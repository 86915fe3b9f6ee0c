//! Losses that less of a rate would mend, told from those that it would not.

use super::Params;
use super::path::Counts;
use super::signals::Signals;
use paceline_units::Time;

/// Packets that a part of losses is counted over, at least.
const FEWEST: f64 = 20.0;
/// Seconds that a part of losses is counted over, at least.
const SHORTEST: f64 = 0.3;
/// A part of losses is above another if it is so many standard deviations of its counting above.
const DEVIATIONS: f64 = 2.0;
/// Losses that stay above usual by this part of what they were are not for the rate.
const STAYS: f64 = 0.5;
/// Weight of a count in the usual part of losses.
const WEIGHT: f64 = 0.1;

/// The part of packets that is lost at any rate, and what exceeds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    pub(super) usual: f64,
    /// The part that the rate was lowered for last.
    suspect: Option<f64>,
    counts: Counts,
    since: Time,
}

/// A count of losses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Verdict {
    /// No more than usual is lost.
    Usual,
    /// More than usual is lost, by this part of what is sent.
    Congestion(f64),
    /// As much is lost as before the rate was lowered for it.
    NotForRate,
}

impl Losses {
    pub(super) const NONE: Losses =
        Losses { usual: 0.0, suspect: None, counts: Counts::NONE, since: Time::ZERO };

    /// Counts begin anew: packets before left at another rate.
    pub(super) fn restart(&mut self, now: Time) {
        (self.counts, self.since) = (Counts::NONE, now);
    }

    /// Counts on; answers once there is enough.
    pub(super) fn count(&mut self, params: &Params, signals: &Signals, counts: &Counts) -> Verdict {
        self.counts.delivered += counts.delivered;
        self.counts.lost += counts.lost;
        let total = self.counts.delivered + self.counts.lost;
        let elapsed = signals.now.saturating_since(self.since).as_secs_f64();
        if total < FEWEST || elapsed < signals.response.max(SHORTEST) {
            return Verdict::Usual;
        }
        let part = (self.counts.lost / total).clamp(0.0, 1.0);
        self.restart(signals.now);
        if let Some(suspect) = self.suspect.take()
            && part - self.usual > STAYS * (suspect - self.usual)
        {
            self.usual = part.min(suspect).min(params.usual_loss_most);
            return Verdict::NotForRate;
        }
        let chance = DEVIATIONS * libm::sqrt(part * (1.0 - part) / total);
        if part > self.usual + params.loss_margin + chance {
            self.suspect = Some(part);
            return Verdict::Congestion(part - self.usual);
        }
        self.usual += WEIGHT * (part - self.usual).min(params.loss_margin / 4.0);
        Verdict::Usual
    }
}
