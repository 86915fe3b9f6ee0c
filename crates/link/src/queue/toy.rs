//! A toy: last in, first out.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::transit::Transit;
use alloc::vec::Vec;
use paceline_units::Bytes;
use paceline_units::param::ParamError;

queue_params! {
    /// The toy's parameters: a limit.
    pub struct ToyQueueConfig, limit = QueueLimit::Packets(50), room = |_| Bytes::new(1), {}
}

/// The running toy.
#[derive(Clone, Debug)]
pub(crate) struct ToyQueue<P> {
    limit: ResolvedLimit,
    stack: Vec<Queued<P>>,
}

impl<P: Transit> Discipline<P> for ToyQueue<P> {
    type Config = ToyQueueConfig;

    fn new(config: &ToyQueueConfig, context: &LinkContext<'_>) -> Result<Self, ParamError> {
        Ok(ToyQueue { limit: config.limit.resolve(context.nominal)?, stack: Vec::new() })
    }

    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        if !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            return None;
        }
        self.stack.push(packet);
        Some(())
    }

    fn dequeue(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        self.stack.pop()
    }
}
