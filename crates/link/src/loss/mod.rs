//! Loss before the queue. To add a model: a file with its parameters, `new` and `takes`, and a line in `losses!`.

mod bernoulli;
mod gilbert_elliott;

pub use bernoulli::BernoulliConfig;
pub use gilbert_elliott::GilbertElliottConfig;

use crate::over_time::OverTime;
use alloc::format;
use alloc::vec::Vec;
use bernoulli::Bernoulli;
use gilbert_elliott::GilbertElliott;
use paceline_units::RandomStream;

/// A line is: documentation, which is its help, and `Model("name in scenarios", parameters)`. The running model has the same
/// name.
macro_rules! losses {
    ($( $(#[doc = $help:literal])+ $model:ident($kind:literal, $config:ident), )*) => {
        paceline_units::kinds! {
            /// How packets are lost on the way to the queue.
            pub enum LossConfig { $( $(#[doc = $help])+ $model($kind, $config), )* }
        }

        #[derive(Clone, Debug)]
        enum Model { $( $model($model), )* }

        impl Model {
            fn new(config: &LossConfig) -> Model {
                match config { $( LossConfig::$model(config) => Model::$model($model::new(config)), )* }
            }

            #[inline]
            fn takes(&mut self, now: u64, random: &mut RandomStream) -> bool {
                match self { $( Model::$model(model) => model.takes(now, random), )* }
            }
        }
    };
}

losses! {
    /// Each packet by itself
    Bernoulli("bernoulli", BernoulliConfig),
    /// Bursts of two states (Gilbert 1960, Elliott 1963): with loss_good 0 and loss_bad 1 they are 1 / r packets long, and p / (p + r) of the packets are lost
    GilbertElliott("gilbert-elliott", GilbertElliottConfig),
}

impl LossConfig {
    /// The quantities that may change, by their keys.
    pub fn over_time(&mut self) -> Vec<(&'static str, &mut dyn OverTime)> {
        match self {
            LossConfig::Bernoulli(config) => alloc::vec![("ratio", &mut config.ratio as &mut dyn OverTime)],
            LossConfig::GilbertElliott(config) => {
                alloc::vec![("loss_bad", &mut config.loss_bad as &mut dyn OverTime)]
            }
        }
    }

    /// Each packet with this probability.
    pub fn bernoulli(ratio: f64) -> LossConfig {
        LossConfig::Bernoulli(BernoulliConfig { ratio: ratio.into() })
    }

    /// The simplified Gilbert model: nothing is lost in the good state, everything in the bad one.
    pub fn gilbert(p: f64, r: f64) -> LossConfig {
        LossConfig::GilbertElliott(GilbertElliottConfig { p, r, ..GilbertElliottConfig::default() })
    }
}

/// A running loss model.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    model: Model,
    random: RandomStream,
}

impl Loss {
    pub(crate) fn new(config: &LossConfig, seed: u64, name: &str) -> Loss {
        Loss { model: Model::new(config), random: RandomStream::new(seed, &format!("link.{name}.loss")) }
    }

    /// Whether the packet that comes at `now`, in nanoseconds, is lost. Draws the same number of times whatever the outcome.
    #[inline]
    pub(crate) fn takes(&mut self, now: u64) -> bool {
        self.model.takes(now, &mut self.random)
    }
}
