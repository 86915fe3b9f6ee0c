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
    /// Losses for which the rate is lowered, to see whether they stay.
    suspect: Option<Suspect>,
    counts: Counts,
    since: Time,
    /// Whether a queue stood since then, ours or not.
    stood: bool,
}

/// Losses that may be for the rate or not.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    /// The part that was lost at first.
    part: f64,
    /// How often the rate was lowered.
    times: u64,
    /// Packets since it was lowered first.
    since: Counts,
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
        Losses { usual: 0.0, suspect: None, counts: Counts::NONE, since: Time::ZERO, stood: false };

    /// Counts begin anew: packets before left at another rate.
    pub(super) fn restart(&mut self, now: Time) {
        (self.counts, self.since, self.stood) = (Counts::NONE, now, false);
    }

    /// How often the rate was lowered for losses that may be for it or not.
    pub(super) fn trials(&self) -> u64 {
        self.suspect.map_or(0, |suspect| suspect.times)
    }

    /// The rate is lowered for a queue: losses were of that.
    pub(super) fn end_trials(&mut self) {
        self.suspect = None;
    }

    /// Counts on, without an answer.
    pub(super) fn note(&mut self, counts: &Counts, stood: bool) {
        self.counts.add(counts);
        self.stood |= stood;
    }

    /// Counts on; answers once there is enough.
    pub(super) fn count(
        &mut self,
        params: &Params,
        signals: &Signals,
        counts: &Counts,
        stood: bool,
    ) -> Verdict {
        self.note(counts, stood);
        let elapsed = signals.now.saturating_since(self.since).as_secs_f64();
        if self.counts.total() < FEWEST || elapsed < signals.response.max(SHORTEST) {
            return Verdict::Usual;
        }
        let Losses { counts, stood, .. } = *self;
        self.restart(signals.now);
        let part = counts.lost_part();
        // Behind a queue the losses are its own, also where others keep it full.
        if let Some(mut suspect) = self.suspect.take().filter(|_| !stood) {
            suspect.since.add(&counts);
            let stays = suspect.since.lost_part();
            if stays - self.usual > STAYS * (suspect.part - self.usual) {
                if suspect.times >= params.usual_loss_trials {
                    self.usual = stays.min(suspect.part).min(params.usual_loss_most);
                    return Verdict::NotForRate;
                }
                self.suspect = Some(Suspect { times: suspect.times + 1, ..suspect });
                return Verdict::Congestion(stays - self.usual);
            }
        }
        let chance = DEVIATIONS * libm::sqrt(part * (1.0 - part) / counts.total());
        if part > self.usual + params.loss_margin + chance {
            self.suspect = Some(Suspect { part, times: 1, since: Counts::NONE });
            return Verdict::Congestion(part - self.usual);
        }
        let most = if stood { 0.0 } else { params.loss_margin / 4.0 };
        self.usual += WEIGHT * (part - self.usual).min(most);
        Verdict::Usual
    }
}
