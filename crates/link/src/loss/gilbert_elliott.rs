//! Losses in bursts: a Markov chain of a good and a bad state, which starts in the good one.

use crate::over_time::{Course, RatioOverTime};
use paceline_units::{RandomStream, params};

params! {
    /// The parameters of the model of two states. Each packet is lost with the probability of the state that it finds, then
    /// the state may change.
    pub struct GilbertElliottConfig {
        p: f64 = 0.0, as Required, in 0.0, 1.0, "Gilbert 1960", "Probability, per packet, of going from good to bad";
        r: f64 = 0.0, as Required, in 0.0, 1.0, "Gilbert 1960", "Probability, per packet, of going from bad to good";
        loss_good: f64 = 0.0, in 0.0, 1.0, "Elliott 1963", "Probability of a loss in the good state; 0 in Gilbert's model";
        loss_bad: RatioOverTime = RatioOverTime::Constant(1.0), in 0.0, 1.0, "Gilbert 1960", "Probability of a loss in the bad state; 1 in the simplified Gilbert model; may change, as a delay does";
    }
}

/// The running model of two states.
#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    bad: bool,
    /// Indexed by the state: good, bad.
    change: [f64; 2],
    loss_good: f64,
    loss_bad: Course,
}

impl GilbertElliott {
    pub(super) fn new(config: &GilbertElliottConfig) -> GilbertElliott {
        let GilbertElliottConfig { p, r, loss_good, loss_bad } = config;
        GilbertElliott { bad: false, change: [*p, *r], loss_good: *loss_good, loss_bad: loss_bad.course() }
    }

    #[inline]
    pub(super) fn takes(&mut self, now: u64, random: &mut RandomStream) -> bool {
        let loss = if self.bad { self.loss_bad.at(now) } else { self.loss_good };
        let lost = random.chance(loss);
        self.bad ^= random.chance(self.change[usize::from(self.bad)]);
        lost
    }
}
