//! The receiver half of a controller that has none.

use crate::ccid::{CcidReceiver, LossIntervals};
use crate::{Arrival, ReceiverHalf, ReceiverReport};
use paceline_units::Time;

/// The half that does not exist: an endpoint without one costs nothing for it.
#[derive(Clone, Copy, Debug)]
pub enum NoReceiverHalf {}

impl ReceiverHalf for NoReceiverHalf {
    fn on_arrival(&mut self, _now: Time, _arrival: &Arrival) -> bool {
        match *self {}
    }

    fn next_timeout(&self) -> Option<Time> {
        match *self {}
    }

    fn report(&mut self, _now: Time) -> Option<ReceiverReport> {
        match *self {}
    }
}

/// Where only CCIDs without a receiver half are agreed on.
impl CcidReceiver for NoReceiverHalf {
    fn on_non_data(&mut self, _now: Time, _sequence: u64) -> bool {
        match *self {}
    }

    fn loss_intervals(&self) -> LossIntervals<'_> {
        match *self {}
    }
}
