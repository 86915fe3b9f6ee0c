//! A datagram on its way through the relay, and how much memory all of them take.

use crate::socket::Datagram;
use paceline_cc::StreamId;
use paceline_link::Transit;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that packets under way may take. A packet that a link keeps for ever or drops is counted rightly, too: each gives
/// back what it took.
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    used: Arc<AtomicU64>,
    most: u64,
}

/// Bytes that a packet takes beside its content, roughly.
const OVERHEAD: u64 = 256;

impl MemoryBudget {
    pub fn new(most: Bytes) -> MemoryBudget {
        MemoryBudget { used: Arc::new(AtomicU64::new(0)), most: most.as_u64() }
    }

    /// A packet with the content of `datagram`, no data until somebody says so; none if there is no room.
    pub fn packet(&self, entered: Time, datagram: &Datagram<'_>, overhead: Bytes) -> Option<RelayedPacket> {
        let takes = datagram.bytes.len() as u64 + OVERHEAD;
        // One thread at a time: atomic only so that a relay may be built in one thread and run in another.
        if self.used.load(Ordering::Relaxed) + takes > self.most {
            return None;
        }
        self.used.fetch_add(takes, Ordering::Relaxed);
        Some(RelayedPacket {
            bytes: datagram.bytes.into(),
            size: Bytes::new(datagram.bytes.len() as u64) + overhead,
            ecn: datagram.ecn,
            flow: 0,
            data: None,
            entered,
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
            takes,
            budget: self.clone(),
        })
    }
}

/// A datagram on its way through the relay.
#[derive(Debug)]
pub(super) struct RelayedPacket {
    pub bytes: Box<[u8]>,
    /// Size on links: RTP header, payload and the flow's overhead, as in the simulator.
    pub size: Bytes,
    pub ecn: Ecn,
    /// Place of its flow among those that are relayed.
    pub flow: usize,
    /// The stream of a data packet; none of packets that are about data.
    pub data: Option<StreamId>,
    /// When it came to the relay.
    pub entered: Time,
    /// Wait in queues so far.
    pub wait: TimeDelta,
    /// Delay noise so far.
    pub noise: TimeDelta,
    takes: u64,
    budget: MemoryBudget,
}

impl Drop for RelayedPacket {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.takes, Ordering::Relaxed);
    }
}

impl Transit for RelayedPacket {
    fn size(&self) -> Bytes {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Between one sender and one receiver: each direction is a flow.
    fn flow(&self) -> u64 {
        0
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::tests::datagram;

    #[test]
    fn memory_is_bounded_and_given_back() {
        let budget = MemoryBudget::new(Bytes::new(2 * (100 + OVERHEAD)));
        let packet = || budget.packet(Time::ZERO, &datagram(&[0; 100]), Bytes::new(28));
        let (first, second) = (packet(), packet());
        assert_eq!(first.as_ref().map(|packet| packet.size), Some(Bytes::new(128)));
        assert!(second.is_some() && packet().is_none());
        drop(first);
        assert!(packet().is_some());
    }
}
