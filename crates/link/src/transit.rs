//! A link's view of a packet, and its word on it.

use paceline_units::{Bytes, CongestionHeader, Ecn, Time, TimeDelta};

/// The facts that a link needs of the packets that it carries.
pub trait Transit {
    /// Size on the link without the link's own overhead: transport header and payload.
    fn size(&self) -> Bytes;
    /// The ECN codepoint it carries now.
    fn ecn(&self) -> Ecn;
    /// Sets congestion experienced.
    fn mark_ce(&mut self);
    /// Number of the packet's flow: what addresses and ports say on a real network.
    fn flow(&self) -> u64;
    /// The congestion header, where it carries one, for a router to read and to write.
    #[inline]
    fn congestion(&mut self) -> Option<&mut CongestionHeader> {
        None
    }
    /// The key of a congestion header that the link was lent for it ([`Link::lend`](crate::Link::lend)), where it carries none itself.
    #[inline]
    fn lent_key(&self) -> Option<u32> {
        None
    }
}

impl<P: Transit> Transit for &mut P {
    #[inline]
    fn size(&self) -> Bytes {
        (**self).size()
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }

    #[inline]
    fn mark_ce(&mut self) {
        (**self).mark_ce();
    }

    #[inline]
    fn flow(&self) -> u64 {
        (**self).flow()
    }

    #[inline]
    fn congestion(&mut self) -> Option<&mut CongestionHeader> {
        (**self).congestion()
    }

    #[inline]
    fn lent_key(&self) -> Option<u32> {
        (**self).lent_key()
    }
}

/// How a packet that left a link reaches the far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Arrival {
    /// As it left.
    #[default]
    Whole,
    /// Damaged on the way, so that nobody gets it.
    Damaged,
    /// As it left, and a copy of it later by [`Link::copy_delay`](crate::Link::copy_delay).
    Twice,
}

/// A packet that left the queue. Drop-tail announces it as soon as its departure is known, with times in the future.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure<P> {
    /// The packet, marked if the link marked it.
    pub packet: P,
    /// When the last bit left the server: the first whole nanosecond that is not earlier.
    pub departed: Time,
    /// When the last bit reaches the far end: `departed` + propagation + `noise`.
    pub arrives: Time,
    /// Its wait before its service began, own serialisation out.
    pub wait: TimeDelta,
    /// Delay that noise added in effect, including the delay of keeping the order.
    pub noise: TimeDelta,
    /// How it reaches the far end.
    pub arrival: Arrival,
}

/// When a packet leaves, without the packet: for drivers that keep their packets where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// As [`Departure::departed`].
    pub departed: Time,
    /// As [`Departure::arrives`].
    pub arrives: Time,
    /// As [`Departure::wait`].
    pub wait: TimeDelta,
    /// As [`Departure::noise`].
    pub noise: TimeDelta,
    /// Whether this link marked the packet.
    pub marked: bool,
    /// As [`Departure::arrival`].
    pub arrival: Arrival,
}

impl Plan {
    /// With its packet.
    #[inline(always)]
    pub(crate) fn of<P>(self, packet: P) -> Departure<P> {
        let Plan { departed, arrives, wait, noise, arrival, .. } = self;
        Departure { packet, departed, arrives, wait, noise, arrival }
    }
}

/// The fate of a packet that a link is told of, while its driver keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planned {
    /// The packet will leave at these times.
    Departs(Plan),
    /// The packet waits for ever: the link's rate stays zero.
    Stays,
    /// The queue dropped it.
    Dropped,
    /// The loss model took it before it reached the queue.
    Lost,
    /// The queue is to hold the packet: nothing happened yet, it has to be offered.
    Undecided,
}

/// The fate of an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// The packet waits or is in service.
    Accepted,
    /// The queue dropped it.
    Dropped,
    /// The loss model took it before it reached the queue.
    Lost,
}
