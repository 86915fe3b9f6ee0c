//! ECN marks by queue delay, decided at departure from the wait without the packet's own serialisation.
//!
//! Works with any queue. A packet that already carries CE keeps it and is neither counted nor does it move a mark's
//! state, except the clock of `classic`, which watches the queue and not the packets. To add a mark: a file with its
//! parameters, `new` and `decide`, and a line in `marks!`.

mod classic;
mod ramp;
mod step;

pub use classic::ClassicConfig;
pub use ramp::RampConfig;
pub use step::StepConfig;

use classic::Classic;
use paceline_units::{Ecn, TimeDelta};
use ramp::Ramp;
use step::Step;

/// A line is: documentation, which is its help, and `Mark("name in scenarios", parameters)`. The running mark has the same
/// name.
macro_rules! marks {
    ($( $(#[doc = $help:literal])+ $mark:ident($kind:literal, $config:ident), )*) => {
        paceline_units::kinds! {
            /// Which packets are marked.
            pub enum MarkConfig { $( $(#[doc = $help])+ $mark($kind, $config), )* }
        }

        /// A running mark.
        #[derive(Clone, Debug)]
        pub(crate) enum Marker {
            Off,
            $( $mark($mark), )*
        }

        impl Marker {
            pub(crate) fn new(config: Option<&MarkConfig>) -> Marker {
                match config {
                    None => Marker::Off,
                    $( Some(MarkConfig::$mark(config)) => Marker::$mark($mark::new(config)), )*
                }
            }

            /// Whether to mark a packet that departs at `departs` after a wait of `wait` nanoseconds.
            #[inline]
            pub(crate) fn decide(&mut self, departs: u64, wait: u64, ecn: Ecn) -> bool {
                match self {
                    Marker::Off => false,
                    $( Marker::$mark(mark) => mark.decide(departs, wait, ecn), )*
                }
            }
        }
    };
}

marks! {
    /// Every ECT(1) packet that waited more than a threshold
    Step("step", StepConfig),
    /// A share of the ECT(1) packets that rises from 0 to 1 with the wait, by a deterministic carry
    Ramp("ramp", RampConfig),
    /// Every ECT(0) and ECT(1) packet once the wait has been above a threshold for some time without a break
    Classic("classic", ClassicConfig),
}

impl MarkConfig {
    /// Every ECT(1) packet that waited more than `at`.
    pub fn step(at: TimeDelta) -> MarkConfig {
        MarkConfig::Step(StepConfig { at })
    }

    /// A share of the ECT(1) packets that rises from 0 at a wait of `low` to 1 at `high`.
    pub fn ramp(low: TimeDelta, high: TimeDelta) -> MarkConfig {
        MarkConfig::Ramp(RampConfig { low, high })
    }

    /// Every ECT(0) and ECT(1) packet once the wait has been above `at` for `lasting`.
    pub fn classic(at: TimeDelta, lasting: TimeDelta) -> MarkConfig {
        MarkConfig::Classic(ClassicConfig { at, lasting })
    }
}

impl Marker {
    /// Whether it never marks.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self, Marker::Off)
    }
}
