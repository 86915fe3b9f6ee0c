//! TCP segments as structs: what the two ends exchange in every world.

use paceline_units::{Bytes, CongestionHeader};

/// Size of the TCP and IP headers that every segment counts on links; options are not counted.
pub const TCP_HEADER: Bytes = Bytes::new(40);

/// A segment of either direction. Data flows one way: what carries payload acknowledges nothing but the handshake.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Segment {
    /// Which connection of the flow it belongs to: 0 where there is one, counted round where there are many
    /// ([`super::transfers`]).
    pub connection: u16,
    /// Flags of the header.
    pub flags: Flags,
    /// Sequence number of its first byte, or of its SYN.
    pub sequence: u32,
    /// The next sequence number that is expected; counts with [`Flags::ACK`].
    pub acknowledgment: u32,
    /// How much may be sent beyond `acknowledgment`, in bytes, scaled already.
    pub window: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// When a segment of data left, or on what comes back which one is answered, in milliseconds of the sender's clock (RFC 7323);
    /// 0 where the connection has no timestamps.
    pub timestamp: u32,
    /// Selective acknowledgements (RFC 2018), and first the duplicate that arrived (RFC 2883).
    pub sack: SackBlocks,
    /// Congestion header of data, or what acknowledgements say of those that came.
    pub congestion: Congestion,
}

impl Segment {
    /// Size on the link: headers and payload.
    #[inline]
    pub fn size(&self) -> Bytes {
        TCP_HEADER + Bytes::new(u64::from(self.payload))
    }
}

/// The word of routers on a segment. It counts no bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Congestion {
    /// The sender has no congestion header.
    #[default]
    None,
    /// Data's header, into which routers write.
    Header(CongestionHeader),
    /// Feedback in the headers that came since the last acknowledgement, in bytes per second: the sum of changes, or the newest rate.
    /// Infinite if no router wrote into one of those, or into that one.
    Feedback(f32),
}

/// The control bits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No flag is set.
    pub const NONE: Flags = Flags(0);
    /// The sender has no more data.
    pub const FIN: Flags = Flags(1);
    /// Synchronises sequence numbers.
    pub const SYN: Flags = Flags(1 << 1);
    /// Ends the connection at once.
    pub const RST: Flags = Flags(1 << 2);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 4);
    /// Congestion was experienced (RFC 3168 section 6.1.3).
    pub const ECE: Flags = Flags(1 << 6);
    /// The window was reduced (RFC 3168 section 6.1.2).
    pub const CWR: Flags = Flags(1 << 7);
    /// Feedback of marks is accurate (RFC 9768 section 3.1.1).
    pub const AE: Flags = Flags(1 << 8);

    /// The flags that are set in either.
    #[inline]
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// With `other` if `condition` holds.
    #[inline]
    pub const fn and_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.and(other) } else { self }
    }

    /// Whether all of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Up to four blocks of sequence numbers [begin, end).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); SackBlocks::MOST],
    count: u8,
}

impl SackBlocks {
    /// Blocks that fit the options of a segment without timestamps (RFC 2018 section 3).
    pub const MOST: usize = 4;

    /// An empty list of blocks.
    pub const fn none() -> SackBlocks {
        SackBlocks { blocks: [(0, 0); SackBlocks::MOST], count: 0 }
    }

    /// Adds a block unless there is no room.
    pub fn push(&mut self, begin: u32, end: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (begin, end);
            self.count += 1;
        }
    }

    /// The first three, which fit beside a timestamp (RFC 2018 section 3).
    pub fn beside_a_timestamp(self) -> SackBlocks {
        SackBlocks { count: self.count.min(3), ..self }
    }

    /// The blocks, the first first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks.iter().copied().take(usize::from(self.count))
    }

    /// Whether the list has no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The 64-bit number next to `near` whose lower 32 bits are `number`; none below 0.
#[inline]
pub fn unwrap(near: u64, number: u32) -> Option<u64> {
    let ahead = number.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_unwrap_to_the_nearest() {
        let near = (7u64 << 32) + 5;
        assert_eq!(unwrap(near, 5), Some(near));
        assert_eq!(unwrap(near, u32::MAX), Some(near - 6));
        assert_eq!(unwrap(near, 5 + (1 << 31) - 1), Some(near + (1 << 31) - 1));
        assert_eq!(unwrap(near, 5u32.wrapping_sub(1 << 31)), Some(near - (1 << 31)));
        assert_eq!(unwrap(3, u32::MAX), None, "before the beginning");
    }

    #[test]
    fn a_segment_is_small() {
        assert!(size_of::<Segment>() <= 76, "{} bytes", size_of::<Segment>());
        let mut blocks = SackBlocks::none();
        (0..6).for_each(|n| blocks.push(n, n + 1));
        assert_eq!(blocks.iter().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    }
}
