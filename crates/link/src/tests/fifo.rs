//! The oracle: drop-tail written the textbook way, with packets in a queue and departures as events.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::LinkError;
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::parameters::Parameters;
use crate::transit::Transit;
use crate::{QueueKey, QueueValue};
use std::collections::VecDeque;

/// First in, first out, tail drop.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    limit: ResolvedLimit,
    waiting: VecDeque<Queued<P>>,
}

impl<P: Transit> Discipline<P> for Fifo<P> {
    type Config = QueueLimit;

    fn new(config: &QueueLimit, place: &Place<'_>) -> Result<Fifo<P>, LinkError> {
        Ok(Fifo { limit: config.resolve(place.nominal)?, waiting: VecDeque::new() })
    }

    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        let fits = self.limit.admits(waiting.packets(), waiting.bytes(), packet.size);
        fits.then(|| self.waiting.push_back(packet))
    }

    fn dequeue(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        self.waiting.pop_front()
    }
}

/// Its only parameter is the limit, which may be 0.
impl Parameters for QueueLimit {
    const KEYS: &'static [QueueKey] = &[];

    fn limit(&self) -> QueueLimit {
        *self
    }

    fn limit_mut(&mut self) -> &mut QueueLimit {
        self
    }

    fn value(&self, _name: &str) -> Option<QueueValue> {
        None
    }

    fn put(&mut self, _name: &str, _value: QueueValue) -> bool {
        false
    }
}
