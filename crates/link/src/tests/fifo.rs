//! The oracle: drop-tail written the textbook way, with packets in a queue and departures as events.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::transit::Transit;
use paceline_units::Bytes;
use paceline_units::param::ParamError;
use std::collections::VecDeque;

queue_params! {
    /// Its only parameter is the limit, which may be 0.
    pub struct FifoConfig, limit = QueueLimit::Unlimited, room = |_| Bytes::ZERO, {}
}

/// First in, first out, tail drop.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    limit: ResolvedLimit,
    waiting: VecDeque<Queued<P>>,
}

impl<P: Transit> Discipline<P> for Fifo<P> {
    type Config = FifoConfig;

    fn new(config: &FifoConfig, context: &LinkContext<'_>) -> Result<Fifo<P>, ParamError> {
        Ok(Fifo { limit: config.limit.resolve(context.nominal)?, waiting: VecDeque::new() })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        let fits = self.limit.admits(waiting.packets(), waiting.bytes(), packet.size);
        if !fits {
            return Err(packet);
        }
        self.waiting.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        self.waiting.pop_front()
    }
}
