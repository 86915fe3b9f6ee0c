//! A datagram on its way through the relay, and how much memory all of them take.

use paceline_cc::StreamId;
use paceline_link::Transit;
use paceline_metrics::ReceivedPacket;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that packets under way may take. A packet that a link keeps for ever or drops is counted rightly, too: each gives
/// back what it took.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    used: Arc<AtomicU64>,
    most: u64,
}

/// Bytes that a packet takes beside its content, roughly.
const OVERHEAD: u64 = 256;

impl MemoryBudget {
    pub fn new(most: Bytes) -> MemoryBudget {
        MemoryBudget { used: Arc::new(AtomicU64::new(0)), most: most.as_u64() }
    }

    /// A packet with this content, no data until somebody says so; none if there is no room.
    pub fn packet(&self, entered: Time, bytes: &[u8], ecn: Ecn, overhead: Bytes) -> Option<RelayedPacket> {
        let takes = bytes.len() as u64 + OVERHEAD;
        // One thread at a time: atomic only so that a relay may be built in one thread and run in another.
        if self.used.load(Ordering::Relaxed) + takes > self.most {
            return None;
        }
        self.used.fetch_add(takes, Ordering::Relaxed);
        Some(RelayedPacket {
            bytes: bytes.into(),
            size: Bytes::new(bytes.len() as u64) + overhead,
            ecn,
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
pub(crate) struct RelayedPacket {
    pub bytes: Box<[u8]>,
    /// Size on links: RTP header, payload and the flow's overhead, as in the simulator.
    pub size: Bytes,
    pub ecn: Ecn,
    /// Its flow, as links tell flows from each other.
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

impl RelayedPacket {
    /// A copy of it, which a link made; none if there is no room. It is of no stream: its packet counts for both.
    pub fn copy(&self) -> Option<RelayedPacket> {
        let mut copy = self.budget.packet(self.entered, &self.bytes, self.ecn, Bytes::ZERO)?;
        (copy.size, copy.flow, copy.wait, copy.noise) = (self.size, self.flow, self.wait, self.noise);
        Some(copy)
    }

    /// A data packet that is at the far end at `at`, for the record. A relay does not read how much of it is payload.
    pub fn received(&self, at: Time, stream: StreamId) -> ReceivedPacket {
        ReceivedPacket {
            now: at,
            stream,
            size: self.size,
            payload: Bytes::ZERO,
            sent: self.entered,
            queue_delay: self.wait,
            delay_noise: self.noise,
            ecn: self.ecn,
            duplicate: false,
        }
    }
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

    fn flow(&self) -> u64 {
        self.flow as u64
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_given_back() {
        let budget = MemoryBudget::new(Bytes::new(2 * (100 + OVERHEAD)));
        let packet = || budget.packet(Time::ZERO, &[0; 100], Ecn::NotEct, Bytes::new(28));
        let (first, second) = (packet(), packet());
        assert_eq!(first.as_ref().map(|packet| packet.size), Some(Bytes::new(128)));
        assert!(second.is_some() && packet().is_none());
        drop(first);
        assert!(packet().is_some());
    }
}
