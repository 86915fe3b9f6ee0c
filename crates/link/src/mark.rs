//! ECN marks by queue delay, decided at departure from the wait without the packet's own serialisation.
//!
//! Works with any queue. A packet that already carries CE keeps it and is neither counted nor does it move a mark's
//! state, except the clock of `classic`, which watches the queue and not the packets.

mod classic;
mod ramp;
mod step;

use crate::error::{LinkError, check_span};
use classic::Classic;
use paceline_units::{Ecn, TimeDelta};
use ramp::Ramp;
use step::Step;

/// Which packets are marked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkConfig {
    /// Every ECT(1) packet that waited more than `at`.
    Step {
        /// The threshold.
        at: TimeDelta,
    },
    /// A share of the ECT(1) packets that rises from 0 at a wait of `low` to 1 at `high`, by a deterministic carry.
    Ramp {
        /// No mark up to this wait.
        low: TimeDelta,
        /// Every packet from this wait on.
        high: TimeDelta,
    },
    /// Every ECT(0) and ECT(1) packet once the wait has been above `at` for `lasting` without a break.
    Classic {
        /// The threshold.
        at: TimeDelta,
        /// The scenario's `for`, measured from departure to departure.
        lasting: TimeDelta,
    },
}

impl MarkConfig {
    /// Checks what a [`Link`](crate::Link) would refuse.
    pub fn validate(&self) -> Result<(), LinkError> {
        match *self {
            MarkConfig::Step { at } => check_span("mark.at", at),
            MarkConfig::Ramp { low, high } => {
                check_span("mark.low", low)?;
                if high < low {
                    return Err(LinkError::new("mark.high", high, "at least low"));
                }
                Ok(())
            }
            MarkConfig::Classic { at, lasting } => {
                check_span("mark.at", at)?;
                check_span("mark.for", lasting)
            }
        }
    }
}

/// A running mark.
#[derive(Clone, Debug)]
pub(crate) enum Marker {
    Off,
    Step(Step),
    Ramp(Ramp),
    Classic(Classic),
}

impl Marker {
    pub(crate) fn new(config: Option<&MarkConfig>) -> Marker {
        let nanos = |span: TimeDelta| span.as_nanos().max(0) as u64;
        match config {
            None => Marker::Off,
            Some(&MarkConfig::Step { at }) => Marker::Step(Step::new(nanos(at))),
            Some(&MarkConfig::Ramp { low, high }) => Marker::Ramp(Ramp::new(nanos(low), nanos(high))),
            Some(&MarkConfig::Classic { at, lasting }) => {
                Marker::Classic(Classic::new(nanos(at), nanos(lasting)))
            }
        }
    }

    /// Whether to mark a packet that departs at `departs` after a wait of `wait` nanoseconds.
    #[inline(always)]
    pub(crate) fn decide(&mut self, departs: u64, wait: u64, ecn: Ecn) -> bool {
        !matches!(self, Marker::Off) && self.decide_on(departs, wait, ecn)
    }

    /// Apart from the packet path of links without marks.
    #[inline(never)]
    fn decide_on(&mut self, departs: u64, wait: u64, ecn: Ecn) -> bool {
        match self {
            Marker::Off => false,
            Marker::Step(step) => step.decide(wait, ecn),
            Marker::Ramp(ramp) => ramp.decide(wait, ecn),
            Marker::Classic(classic) => classic.decide(departs, wait, ecn),
        }
    }
}
