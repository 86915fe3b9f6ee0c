//! Losses in bursts: a Markov chain of a good and a bad state, which starts in the good one.

use paceline_units::{RandomStream, params};

params! {
    /// The parameters of the model of two states. Each packet is lost with the probability of the state that it finds, then
    /// the state may change.
    pub struct GilbertElliottConfig {
        p: f64 = 0.0, as Required, in 0.0, 1.0, "Gilbert 1960", "Probability, per packet, of going from good to bad";
        r: f64 = 0.0, as Required, in 0.0, 1.0, "Gilbert 1960", "Probability, per packet, of going from bad to good";
        loss_good: f64 = 0.0, in 0.0, 1.0, "Elliott 1963", "Probability of a loss in the good state; 0 in Gilbert's model";
        loss_bad: f64 = 1.0, in 0.0, 1.0, "Gilbert 1960", "Probability of a loss in the bad state; 1 in the simplified Gilbert model";
    }
}

/// The running model of two states.
#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    bad: bool,
    // Indexed by the state: good, bad.
    change: [f64; 2],
    loss: [f64; 2],
}

impl GilbertElliott {
    pub(super) fn new(config: &GilbertElliottConfig) -> GilbertElliott {
        let &GilbertElliottConfig { p, r, loss_good, loss_bad } = config;
        GilbertElliott { bad: false, change: [p, r], loss: [loss_good, loss_bad] }
    }

    #[inline]
    pub(super) fn takes(&mut self, random: &mut RandomStream) -> bool {
        let state = usize::from(self.bad);
        let lost = random.chance(self.loss[state]);
        self.bad ^= random.chance(self.change[state]);
        lost
    }
}
