//! A datagram on its way through the relay, and how much of the memory all of them take.

use paceline_link::Transit;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes under way, bounded. A packet that a link keeps for ever or drops is counted rightly, too: each parcel gives
/// back what it took.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    used: Arc<AtomicU64>,
    most: u64,
}

/// What a parcel takes beside its content, roughly.
const OVERHEAD: u64 = 256;

impl Hold {
    pub fn new(most: Bytes) -> Hold {
        Hold { used: Arc::new(AtomicU64::new(0)), most: most.as_u64() }
    }

    /// A parcel with these bytes; none if there is no room.
    pub fn parcel(&self, entered: Time, bytes: &[u8], overhead: Bytes, ecn: Ecn) -> Option<Parcel> {
        let takes = bytes.len() as u64 + OVERHEAD;
        // One thread at a time: atomic only so that a relay may be built in one thread and run in another.
        if self.used.load(Ordering::Relaxed) + takes > self.most {
            return None;
        }
        self.used.fetch_add(takes, Ordering::Relaxed);
        Some(Parcel {
            bytes: bytes.into(),
            size: Bytes::new(bytes.len() as u64) + overhead,
            ecn,
            data: true,
            entered,
            wait: TimeDelta::ZERO,
            noise: TimeDelta::ZERO,
            takes,
            hold: self.clone(),
        })
    }
}

/// A datagram on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Its content.
    pub bytes: Box<[u8]>,
    /// Its size on links: RTP header, payload and the flow's overhead, as in the simulator.
    pub size: Bytes,
    /// Its mark now.
    pub ecn: Ecn,
    /// Whether it is media.
    pub data: bool,
    /// When it came to the relay.
    pub entered: Time,
    /// What it waited in queues so far.
    pub wait: TimeDelta,
    /// Delay noise so far.
    pub noise: TimeDelta,
    takes: u64,
    hold: Hold,
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.hold.used.fetch_sub(self.takes, Ordering::Relaxed);
    }
}

impl Transit for Parcel {
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

    #[test]
    fn memory_is_bounded_and_given_back() {
        let hold = Hold::new(Bytes::new(2 * (100 + OVERHEAD)));
        let parcel = || hold.parcel(Time::ZERO, &[0; 100], Bytes::new(28), Ecn::Ect1);
        let (first, second) = (parcel(), parcel());
        assert_eq!(first.as_ref().map(|parcel| parcel.size), Some(Bytes::new(128)));
        assert!(second.is_some() && parcel().is_none());
        drop(first);
        assert!(parcel().is_some());
    }
}
