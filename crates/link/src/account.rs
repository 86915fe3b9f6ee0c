//! The counters of a link and the exact occupancy of its queue.

use paceline_units::Bytes;

/// Packets and bytes that a link counted, up to and including the last `offer`, `advance` or `settle`.
///
/// `offered` = `departed` + `dropped` + `lost` + `queue_packets` + `in_service`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Packets that came to the link, before its loss model.
    pub offered: u64,
    /// Packets whose last bit left the server.
    pub departed: u64,
    /// Their bytes, overhead in.
    pub departed_bytes: Bytes,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets taken by the loss model.
    pub lost: u64,
    /// Departed packets that this link marked.
    pub marked: u64,
    /// Packets that wait now.
    pub queue_packets: u64,
    /// Bytes that wait now, overhead in.
    pub queue_bytes: Bytes,
    /// Time integral of the waiting packets, in packets times nanoseconds.
    pub queue_packet_ns: u128,
    /// The most packets that waited at once since the start or the last `reset_max`.
    pub queue_packets_max: u64,
    /// 1 while a packet is in service, else 0.
    pub in_service: u64,
    /// Packets that the policer dropped or marked; those dropped count in `dropped`, too.
    pub policed: u64,
    /// Packets that the shaper held back until it had tokens for them.
    pub shaped: u64,
    /// Departed packets that overtake one over a longer route.
    pub overtaking: u64,
    /// Departed packets that arrive damaged, so that nobody gets them.
    pub corrupted: u64,
    /// Departed packets of which a copy arrives as well.
    pub duplicated: u64,
}

/// Work of a link's server, and the most that it could have done since time 0, in units of 1e-9 bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Service {
    /// Work that it did; of a packet in service the part that has left.
    pub served: u128,
    /// Work that it could have done: the integral of the rate, failures taken off.
    pub capacity: u128,
}

impl Service {
    /// Which part of the capacity was used since `before`, at most 1; `None` without capacity.
    pub fn utilisation_since(&self, before: &Service) -> Option<f64> {
        let capacity = self.capacity.saturating_sub(before.capacity);
        (capacity > 0).then(|| self.served.saturating_sub(before.served) as f64 / capacity as f64)
    }
}

/// The running account behind [`LinkCounters`]. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Packets that the loss model let through.
    pub(crate) offered: u64,
    pub(crate) departed: u64,
    pub(crate) departed_bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
    pub(crate) policed: u64,
    packets: u64,
    bytes: u64,
    packets_max: u64,
    // The integral is the sum of the times of leaving minus those of entering: no multiplication per packet.
    entered_ns: u128,
    left_ns: u128,
    /// Of the times of leaving those that are still ahead: of packets that wait.
    ahead_ns: u128,
}

impl Account {
    /// Packets that wait, without the one in service.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes that wait, overhead included, without the packet in service.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most packets that waited at once.
    #[inline]
    pub(crate) fn packets_max(&self) -> u64 {
        self.packets_max
    }

    /// A packet begins to wait.
    #[inline]
    pub(crate) fn enter(&mut self, now: u64, size: u64) {
        self.packets += 1;
        self.bytes += size;
        self.note_max(self.packets);
        self.entered_ns += u128::from(now);
    }

    /// A packet stops waiting, for service or otherwise.
    #[inline]
    pub(crate) fn leave(&mut self, now: u64, size: u64) {
        self.packets -= 1;
        self.bytes -= size;
        self.left_ns += u128::from(now);
    }

    /// A packet begins to wait and will for `wait` nanoseconds. A caller that counts the waiting packets says so by `set_waiting`.
    #[inline]
    pub(crate) fn plan_wait(&mut self, wait: u64) {
        self.left_ns += u128::from(wait);
    }

    /// `packets` wait at once.
    #[inline]
    pub(crate) fn note_max(&mut self, packets: u64) {
        self.packets_max = self.packets_max.max(packets);
    }

    /// Takes the number of packets and bytes that wait; `ahead` is the sum of the times at which the packets will leave.
    pub(crate) fn set_waiting(&mut self, (packets, bytes): (u64, u64), ahead: u128) {
        (self.packets, self.bytes, self.ahead_ns) = (packets, bytes, ahead);
    }

    /// The last bit of a packet left the server.
    #[inline]
    pub(crate) fn depart(&mut self, size: u64, marked: bool) {
        self.departed += 1;
        self.departed_bytes = self.departed_bytes.saturating_add(size);
        self.marked += u64::from(marked);
    }

    /// Starts a new maximum.
    pub(crate) fn reset_max(&mut self) {
        self.packets_max = self.packets;
    }

    /// The counters at `now`.
    pub(crate) fn counters(&self, now: u64, in_service: bool) -> LinkCounters {
        let waiting_ns = u128::from(self.packets) * u128::from(now);
        LinkCounters {
            offered: self.offered + self.lost,
            departed: self.departed,
            departed_bytes: Bytes::new(self.departed_bytes),
            dropped: self.dropped,
            lost: self.lost,
            marked: self.marked,
            queue_packets: self.packets,
            queue_bytes: Bytes::new(self.bytes),
            queue_packet_ns: self.left_ns + waiting_ns - self.entered_ns - self.ahead_ns,
            queue_packets_max: self.packets_max,
            in_service: u64::from(in_service),
            policed: self.policed,
            ..LinkCounters::default()
        }
    }
}
