//! Which sender a socket listens to: the first that is heard twice, and from then on no other.

use crate::output::NetCounters;
use crate::socket::Datagram;
use crate::ssrc::{FIRST_SSRC, PAYLOAD_TYPE, Ssrcs};
use paceline_units::{Time, TimeDelta};
use paceline_wire::rtp::{self, RtpView};
use std::net::SocketAddr;

/// Admits the media of one sender, known by its address and SSRCs, at receiver and relay alike.
#[derive(Debug)]
pub(crate) struct SenderFilter {
    /// SSRCs that are known before the first packet.
    expected: Option<Ssrcs>,
    lock: PeerLock<(SocketAddr, Ssrcs)>,
}

/// A packet of the sender.
#[derive(Debug)]
pub(crate) struct MediaPacket<'d> {
    pub view: RtpView<'d>,
    /// SSRCs of all streams of its sender.
    pub ssrcs: Ssrcs,
    /// Whether its sender is heard for the first time.
    pub new: bool,
}

impl SenderFilter {
    /// For a flow of `streams` streams. Without `ssrc` the first is that of the first packet, or 100 if there are several
    /// streams. A sender that is silent for `patience` gives way to another.
    pub fn new(ssrc: Option<u32>, streams: usize, patience: Option<TimeDelta>) -> SenderFilter {
        let first = ssrc.or((streams > 1).then_some(FIRST_SSRC));
        SenderFilter {
            expected: first.map(|first| Ssrcs::new(first, streams)),
            lock: PeerLock::new(patience),
        }
    }

    /// Where the media comes from.
    pub fn address(&self) -> Option<SocketAddr> {
        self.lock.peer().map(|(address, _)| address)
    }

    /// Admits a datagram that is RTP of our payload type from the one sender; counts any other.
    pub fn admit<'d>(
        &mut self,
        now: Time,
        datagram: &Datagram<'d>,
        counters: &mut NetCounters,
    ) -> Option<MediaPacket<'d>> {
        let view = rtp::decode(datagram.bytes).ok().filter(|view| view.header.payload_type == PAYLOAD_TYPE);
        let Some(view) = view else {
            counters.malformed += 1;
            return None;
        };
        let ssrcs = self.expected.unwrap_or(Ssrcs::new(view.header.ssrc, 1));
        if ssrcs.stream(view.header.ssrc).is_none() {
            counters.unknown_ssrc += 1;
            return None;
        }
        let before = self.address();
        match self.lock.admit(now, (datagram.from, ssrcs)) {
            Admission::Known => Some(MediaPacket { view, ssrcs, new: false }),
            Admission::New => {
                // A sender that was heard only once remains unknown.
                counters.unknown_peers += u64::from(before.is_some());
                Some(MediaPacket { view, ssrcs, new: true })
            }
            Admission::Unknown if before == Some(datagram.from) => {
                counters.unknown_ssrc += 1;
                None
            }
            Admission::Unknown => {
                counters.unknown_peers += 1;
                None
            }
        }
    }
}

/// Whether a datagram comes from the one peer that is listened to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Admission {
    /// The sender becomes the peer; a peer before it is forgotten.
    New,
    /// The sender is the peer.
    Known,
    /// The sender is not the peer.
    Unknown,
}

/// Locks on to one peer.
///
/// A peer that was heard only once gives way to another: a stray datagram that happens to look valid does no harm. One
/// that was heard twice, whoever came in between, keeps the lock until it has been silent for `patience`.
#[derive(Clone, Debug)]
struct PeerLock<K> {
    peer: Option<Peer<K>>,
    /// Peers that gave way, the last one first.
    once: Vec<K>,
    patience: Option<TimeDelta>,
}

/// How many unknown peers may come between two packets of the peer.
const REMEMBERED: usize = 15;

#[derive(Clone, Copy, Debug)]
struct Peer<K> {
    key: K,
    confirmed: bool,
    heard: Time,
}

impl<K: Copy + PartialEq> PeerLock<K> {
    /// Locked on to no peer yet. Without `patience` a confirmed peer stays for ever.
    fn new(patience: Option<TimeDelta>) -> PeerLock<K> {
        PeerLock { peer: None, once: Vec::new(), patience }
    }

    /// The peer that it is locked on to.
    fn peer(&self) -> Option<K> {
        self.peer.map(|peer| peer.key)
    }

    /// `key` says something valid at `now`.
    fn admit(&mut self, now: Time, key: K) -> Admission {
        if let Some(peer) = &mut self.peer {
            if peer.key == key {
                (peer.confirmed, peer.heard) = (true, now);
                return Admission::Known;
            }
            let silent = now.saturating_since(peer.heard);
            if peer.confirmed && self.patience.is_none_or(|patience| silent < patience) {
                return Admission::Unknown;
            }
            self.once.truncate(if peer.confirmed { 0 } else { REMEMBERED });
            self.once.insert(0, peer.key);
        }
        let confirmed = self.once.contains(&key);
        self.peer = Some(Peer { key, confirmed, heard: now });
        Admission::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heard_twice_is_locked_and_heard_once_is_not() {
        let at = |secs: u64| Time::from_nanos(secs * 1_000_000_000);
        let mut lock = PeerLock::new(Some(TimeDelta::from_secs(5)));
        assert_eq!(lock.admit(at(0), 'x'), Admission::New);
        assert_eq!(lock.admit(at(1), 'a'), Admission::New, "a stray datagram gives way");
        assert_eq!(lock.admit(at(1), 'a'), Admission::Known);
        assert_eq!(lock.admit(at(2), 'x'), Admission::Unknown);
        assert_eq!(lock.peer(), Some('a'));
        assert_eq!(lock.admit(at(7), 'x'), Admission::New, "the peer has been silent for long");
        let mut noise = PeerLock::new(None);
        for (stray, from) in [(1, 0), (2, 1), (3, 0)] {
            assert_eq!(noise.admit(at(0), stray + 10), Admission::New);
            assert_eq!(noise.admit(at(0), from), Admission::New, "not twice yet");
        }
        assert_eq!(noise.admit(at(0), 14), Admission::Unknown, "0 was heard twice, though not in a row");
        assert_eq!(noise.admit(at(0), 0), Admission::Known);
        let mut for_ever = PeerLock::new(None);
        for_ever.admit(at(0), 'a');
        for_ever.admit(at(0), 'a');
        assert_eq!(for_ever.admit(at(1_000_000), 'x'), Admission::Unknown);
    }
}
