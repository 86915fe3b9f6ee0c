//! Loss before the queue.

use crate::error::{LinkError, check_ratio};
use alloc::format;
use paceline_units::RandomStream;

/// How packets are lost on the way to the queue.
#[derive(Clone, PartialEq, Debug)]
pub enum LossConfig {
    /// Each packet by itself.
    Bernoulli {
        /// Probability of a loss.
        ratio: f64,
    },
    /// Two states (Gilbert 1960, Elliott 1963); starts in the good one. Each packet is lost with the probability of the
    /// state it finds, then the state may change. With `loss_good` 0 and `loss_bad` 1 bursts are 1/r packets long and
    /// p / (p + r) of the packets are lost.
    GilbertElliott {
        /// Probability, per packet, of going from good to bad.
        p: f64,
        /// Probability, per packet, of going from bad to good.
        r: f64,
        /// Probability of a loss in the good state; 0 in Gilbert's model.
        loss_good: f64,
        /// Probability of a loss in the bad state; 1 in the simplified Gilbert model.
        loss_bad: f64,
    },
}

impl LossConfig {
    /// The simplified Gilbert model: nothing is lost in the good state, everything in the bad one.
    pub fn gilbert(p: f64, r: f64) -> LossConfig {
        LossConfig::GilbertElliott { p, r, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Checks what a [`Link`](crate::Link) would refuse.
    pub fn validate(&self) -> Result<(), LinkError> {
        match *self {
            LossConfig::Bernoulli { ratio } => check_ratio("loss.ratio", ratio),
            LossConfig::GilbertElliott { p, r, loss_good, loss_bad } => {
                check_ratio("loss.p", p)?;
                check_ratio("loss.r", r)?;
                check_ratio("loss.loss_good", loss_good)?;
                check_ratio("loss.loss_bad", loss_bad)
            }
        }
    }
}

/// A running loss model.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    model: Model,
    random: RandomStream,
}

#[derive(Clone, Debug)]
enum Model {
    Bernoulli { ratio: f64 },
    // Indexed by the state: good, bad.
    GilbertElliott { bad: bool, change: [f64; 2], loss: [f64; 2] },
}

impl Loss {
    pub(crate) fn new(config: &LossConfig, seed: u64, name: &str) -> Loss {
        let model = match *config {
            LossConfig::Bernoulli { ratio } => Model::Bernoulli { ratio },
            LossConfig::GilbertElliott { p, r, loss_good, loss_bad } => {
                Model::GilbertElliott { bad: false, change: [p, r], loss: [loss_good, loss_bad] }
            }
        };
        Loss { model, random: RandomStream::new(seed, &format!("link.{name}.loss")) }
    }

    /// Whether the next packet is lost. Draws the same number of times whatever the outcome.
    #[inline]
    pub(crate) fn takes(&mut self) -> bool {
        match &mut self.model {
            Model::Bernoulli { ratio } => self.random.chance(*ratio),
            Model::GilbertElliott { bad, change, loss } => {
                let state = usize::from(*bad);
                let lost = self.random.chance(loss[state]);
                *bad ^= self.random.chance(change[state]);
                lost
            }
        }
    }
}
