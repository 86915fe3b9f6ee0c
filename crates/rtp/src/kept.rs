//! Packets of a stream that are kept to be sent again when the receiver asks for them (RFC 4585, RFC 4588): for how long, how many,
//! and how much of the rate that may take.

use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::unwrap_sequence;
use std::collections::VecDeque;

/// Taken for the round trip before one is known.
const UNKNOWN_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(50);
/// Bytes that may be sent again before any share of the media has been saved up.
const FIRST_CREDIT: f64 = 20_000.0;

/// Counts of packets that were asked for again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCounters {
    /// Packets that were asked for.
    pub asked: u64,
    /// Packets that were put into the queue of retransmissions.
    pub resent: u64,
    /// Bytes of these, headers in.
    pub resent_bytes: u64,
    /// Packets that were never sent: ignored.
    pub never_sent: u64,
    /// Packets that are kept no more, or never were: padding, and other payload types.
    pub not_kept: u64,
    /// Packets that were sent again less than a round trip ago.
    pub too_soon: u64,
    /// Packets that would have cost more than their share of the rate, or found no room.
    pub over_share: u64,
    /// Retransmissions that waited for too long, and were discarded.
    pub discarded: u64,
}

impl RepairCounters {
    /// A packet was asked for, and this came of it.
    pub fn count(&mut self, asked: Result<Bytes, NotResent>) {
        self.asked += 1;
        match asked {
            Ok(size) => {
                self.resent += 1;
                self.resent_bytes += size.as_u64();
            }
            Err(NotResent::NeverSent) => self.never_sent += 1,
            Err(NotResent::NotKept) => self.not_kept += 1,
            Err(NotResent::TooSoon) => self.too_soon += 1,
            Err(NotResent::OverShare) => self.over_share += 1,
        }
    }
}

/// Why a packet is not sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotResent {
    /// It was never sent.
    NeverSent,
    /// It is kept no more, or never was.
    NotKept,
    /// It was sent again less than a round trip ago.
    TooSoon,
    /// It would cost more than the share of the rate, or found no room.
    OverShare,
}

/// The number with these low 16 bits of a stream whose next packet has the number `next`.
///
/// # Errors
/// It was never sent.
pub fn asked_number(next: u64, sequence: u16) -> Result<u64, NotResent> {
    let number = next.checked_sub(1).and_then(|newest| unwrap_sequence(newest, sequence));
    number.filter(|number| *number < next).ok_or(NotResent::NeverSent)
}

/// Packets of one stream, oldest first.
#[derive(Clone, Debug)]
pub struct KeptPackets<K> {
    packets: VecDeque<Kept<K>>,
    keep: TimeDelta,
    keep_bytes: Bytes,
    share: f64,
    bytes: u64,
    /// Bytes that may be sent again.
    credit: f64,
}

#[derive(Clone, Debug)]
struct Kept<K> {
    sequence: u64,
    sent: Time,
    size: u32,
    resent: Option<Time>,
    packet: K,
}

impl<K> KeptPackets<K> {
    /// Keeps packets for so long after they left, and so many bytes at most; a byte of media lets a `share` of a byte be sent again,
    /// and 20 kB more at once.
    pub fn new(keep: TimeDelta, keep_bytes: Bytes, share: f64) -> KeptPackets<K> {
        KeptPackets { packets: VecDeque::new(), keep, keep_bytes, share, bytes: 0, credit: FIRST_CREDIT }
    }

    /// A packet left; none if it is not to be kept.
    pub fn on_sent(&mut self, now: Time, (sequence, size): (u64, Bytes), packet: Option<K>) {
        let size = size.as_u64();
        self.credit = (self.credit + self.share * size as f64).min(FIRST_CREDIT);
        if let Some(packet) = packet {
            self.bytes += size;
            self.packets.push_back(Kept { sequence, sent: now, size: size as u32, resent: None, packet });
        }
        self.forget(now);
    }

    /// Lets go of what is too old or too much.
    fn forget(&mut self, now: Time) {
        while let Some(oldest) = self.packets.front() {
            let old = now.saturating_since(oldest.sent) > self.keep;
            if !old && self.bytes <= self.keep_bytes.as_u64() {
                break;
            }
            self.bytes -= u64::from(oldest.size);
            self.packets.pop_front();
        }
    }

    /// The packet of a number is asked for. `resend` puts it into the queue of retransmissions if it costs no more bytes than it is
    /// told, and answers how many it does.
    ///
    /// # Errors
    /// The error of `resend`, or why the packet is not sent again.
    pub fn asked(
        &mut self,
        now: Time,
        number: u64,
        round_trip: Option<TimeDelta>,
        resend: impl FnOnce(&K, f64) -> Result<Bytes, NotResent>,
    ) -> Result<Bytes, NotResent> {
        self.forget(now);
        let found = self.packets.binary_search_by_key(&number, |kept| kept.sequence);
        let kept = &mut self.packets[found.map_err(|_| NotResent::NotKept)?];
        let round_trip = round_trip.unwrap_or(UNKNOWN_ROUND_TRIP);
        if kept.resent.is_some_and(|resent| now.saturating_since(resent) < round_trip) {
            return Err(NotResent::TooSoon);
        }
        let size = resend(&kept.packet, self.credit)?;
        self.credit -= size.as_u64() as f64;
        kept.resent = Some(now);
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_by_bytes_and_by_time() {
        let mut kept = KeptPackets::new(TimeDelta::from_secs(1), Bytes::new(10_000), 0.25);
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        for number in 0..100 {
            kept.on_sent(at(number), (number, Bytes::new(1012)), Some(()));
        }
        assert_eq!((kept.packets.len(), kept.bytes), (9, 9 * 1012));
        kept.on_sent(at(5000), (100, Bytes::new(22)), Some(()));
        assert_eq!((kept.packets.len(), kept.bytes), (1, 22), "older than a second");
    }
}
