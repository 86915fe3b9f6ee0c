//! The receiver half of a controller that has none.

use paceline_cc::{Arrival, ReceiverHalf, ReceiverReport};
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
