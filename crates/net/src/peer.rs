//! Which sender a socket listens to: the first that is heard twice, wherever it goes on, and no other until it falls silent.

use crate::agreed::{Agreed, Repair};
use crate::moving::{Elsewhere, NextAddress};
use crate::output::NetCounters;
use crate::socket::{Datagram, HeldDatagram};
use paceline_cc::StreamId;
use paceline_rtp::Ssrcs;
use paceline_units::{Time, TimeDelta};
use paceline_wire::rtp::{self, RtpView};
use std::net::SocketAddr;

/// A sender that is silent for so long gives way to another that is not: longer than a stream is between two frames, shorter
/// than a person waits for a call. A sender that is refused for so long without such a silence is a steady second sender.
const SILENT: TimeDelta = TimeDelta::from_secs(1);
/// How many refused senders are watched at a time.
const WATCHED: usize = 4;

/// Admits the media of one sender, known by its address and SSRCs, at receiver and relay alike.
#[derive(Debug)]
pub(crate) struct SenderFilter {
    /// SSRCs that are known before the first packet.
    expected: Option<Ssrcs>,
    payload_type: u8,
    /// Payload type of retransmissions, if there are any.
    repairs: Option<u8>,
    streams: usize,
    lock: PeerLock<(SocketAddr, Ssrcs)>,
    refused: Vec<RefusedSender>,
    /// Where the sender goes on, if that is elsewhere.
    next: NextAddress,
    /// Messages on the first steady second sender, of the last that a sender gave way to, and of the last address that a sender
    /// left.
    said: [Option<String>; 3],
}

/// A sender that is refused because another is there.
#[derive(Clone, Copy, Debug)]
struct RefusedSender {
    key: (SocketAddr, Ssrcs),
    first: Time,
    last: Time,
    counted: bool,
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
    /// For a flow of `streams` streams. Without `ssrc` the first packet tells their SSRCs.
    pub fn new(ssrc: Option<u32>, streams: usize) -> SenderFilter {
        SenderFilter {
            expected: ssrc.map(|first| Ssrcs::new(first, streams)),
            payload_type: Agreed::OWN.payload_type,
            repairs: None,
            streams,
            lock: PeerLock::new(SILENT),
            refused: Vec::new(),
            next: NextAddress::default(),
            said: [None, None, None],
        }
    }

    /// Of media that is like this.
    pub fn with_packets(self, agreed: Agreed) -> SenderFilter {
        let repaired =
            agreed.repair.map(|Repair { original, ssrc, .. }| Ssrcs::new(original, 1).with_repairs(ssrc));
        SenderFilter {
            payload_type: agreed.payload_type,
            repairs: agreed.repair.map(|repair| repair.payload_type),
            expected: repaired.or(self.expected),
            ..self
        }
    }

    /// Whether a packet has the payload type of its stream.
    fn is_of_its_type(&self, view: &RtpView<'_>) -> bool {
        let stream = self.expected.and_then(|ssrcs| ssrcs.stream(view.header.ssrc));
        let repairs = stream.is_some() && stream == self.expected.and_then(Ssrcs::repairs);
        Some(view.header.payload_type) == if repairs { self.repairs } else { Some(self.payload_type) }
    }

    /// Messages on senders beside the one that was listened to.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.said.clone().into_iter().flatten()
    }

    /// Where the media comes from.
    pub fn address(&self) -> Option<SocketAddr> {
        self.lock.peer().map(|(address, _)| address)
    }

    /// The next datagram that was held and is the sender's: to be admitted now.
    pub fn poll_held(&mut self) -> Option<HeldDatagram> {
        self.next.poll()
    }

    /// Admits a datagram that is RTP of its payload type from the one sender; counts any other, or holds it while it may be the sender's
    /// from another address.
    pub fn admit<'d>(
        &mut self,
        now: Time,
        datagram: &Datagram<'d>,
        counters: &mut NetCounters,
    ) -> Option<MediaPacket<'d>> {
        let view = rtp::decode(datagram.bytes).ok().filter(|view| self.is_of_its_type(view));
        let Some(view) = view else {
            counters.malformed += 1;
            return None;
        };
        let ssrcs = self.expected.unwrap_or(Ssrcs::with(view.header.ssrc, self.streams));
        let Some(stream) = ssrcs.stream(view.header.ssrc) else {
            counters.unknown_ssrc += 1;
            return None;
        };
        let (before, key) = (self.lock.peer(), (datagram.from, ssrcs));
        let elsewhere = |known: &(SocketAddr, Ssrcs)| known.1 == ssrcs && known.0 != datagram.from;
        if let Some((from, _)) = self.lock.confirmed().filter(elsewhere) {
            let (elsewhere, foreign) = self.next.on_elsewhere(now, datagram, stream, &view.header);
            counters.unknown_peers += foreign;
            match elsewhere {
                Elsewhere::Foreign => {}
                Elsewhere::Held => return None,
                Elsewhere::Moved => {
                    self.lock.move_to(now, key);
                    counters.sender_moves += 1;
                    let (to, seconds) = (datagram.from, now.as_secs_f64());
                    self.said[2] = Some(format!(
                        "the sender went on from {to} at {seconds:.1} s, and no more from {from}"
                    ));
                    return None;
                }
            }
        }
        match self.lock.admit(now, key) {
            Admission::Known => {
                counters.unknown_peers += self.next.on_packet(now, stream, &view.header);
                Some(MediaPacket { view, ssrcs, new: false })
            }
            Admission::New => {
                self.next.begin();
                self.next.on_packet(now, stream, &view.header);
                // A sender that was heard only once remains unknown.
                counters.unknown_peers += u64::from(before.is_some());
                Some(MediaPacket { view, ssrcs, new: true })
            }
            Admission::After(silent) => {
                self.next.begin();
                self.next.on_packet(now, stream, &view.header);
                let (from, seconds) = (silent.0, now.as_secs_f64());
                let text = format!(
                    "the sender at {from} fell silent; from {seconds:.1} s on it is the one at {}, and a receiver's figures are \
                     of this one",
                    datagram.from
                );
                self.said[1] = Some(text);
                Some(MediaPacket { view, ssrcs, new: true })
            }
            Admission::Unknown => {
                let same = before.is_some_and(|(from, _)| from == datagram.from);
                counters.unknown_ssrc += u64::from(same);
                counters.unknown_peers += u64::from(!same);
                counters.ssrc_collisions +=
                    u64::from(!same && before.is_some_and(|(_, known)| known == ssrcs));
                self.watch(now, key, counters);
                None
            }
        }
    }

    /// Counts a sender that goes on although it is refused, and says so of the first.
    fn watch(&mut self, now: Time, key: (SocketAddr, Ssrcs), counters: &mut NetCounters) {
        self.refused.retain(|refused| now.saturating_since(refused.last) < SILENT);
        let Some(refused) = self.refused.iter_mut().find(|refused| refused.key == key) else {
            if self.refused.len() < WATCHED {
                self.refused.push(RefusedSender { key, first: now, last: now, counted: false });
            }
            return;
        };
        refused.last = now;
        if refused.counted || now.saturating_since(refused.first) < SILENT {
            return;
        }
        refused.counted = true;
        counters.second_senders += 1;
        if let (None, Some((listened, _))) = (&self.said[0], self.lock.peer()) {
            let (from, ssrc) = (key.0, key.1.of(StreamId(0)));
            let since = refused.first.as_secs_f64();
            let text = format!(
                "a second sender at {from}, SSRC {ssrc}, was refused from {since:.1} s on: the one at {listened} was there"
            );
            self.said[0] = Some(text);
        }
    }
}

/// Whether a datagram comes from the one peer that is listened to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Admission<K> {
    /// The sender becomes the peer; a peer before it, which was heard only once, is forgotten.
    New,
    /// The sender becomes the peer after this one, which fell silent.
    After(K),
    /// The sender is the peer.
    Known,
    /// The sender is not the peer.
    Unknown,
}

/// Locks on to one peer.
///
/// A peer that was heard only once gives way to another: a stray datagram that happens to look valid does no harm. A peer that was heard
/// twice, whoever came in between, keeps the lock until it has been silent for `patience` and another has then been heard twice within that
/// time: a stray datagram does not end a pause.
#[derive(Clone, Debug)]
struct PeerLock<K> {
    peer: Option<Peer<K>>,
    /// Peers that gave way, the last one first.
    once: Vec<K>,
    /// The peer that was heard last while the locked one was silent, and when.
    next: Option<(K, Time)>,
    patience: TimeDelta,
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
    /// Locked on to no peer yet.
    fn new(patience: TimeDelta) -> PeerLock<K> {
        PeerLock { peer: None, once: Vec::new(), next: None, patience }
    }

    /// The peer that it is locked on to.
    fn peer(&self) -> Option<K> {
        self.peer.map(|peer| peer.key)
    }

    /// The peer that it is locked on to and keeps.
    fn confirmed(&self) -> Option<K> {
        self.peer.filter(|peer| peer.confirmed).map(|peer| peer.key)
    }

    /// The peer is this from now on.
    fn move_to(&mut self, now: Time, key: K) {
        (self.peer, self.next) = (Some(Peer { key, confirmed: true, heard: now }), None);
    }

    /// `key` says something valid at `now`.
    fn admit(&mut self, now: Time, key: K) -> Admission<K> {
        let Some(peer) = &mut self.peer else {
            self.peer = Some(Peer { key, confirmed: false, heard: now });
            return Admission::New;
        };
        if peer.key == key {
            (peer.confirmed, peer.heard) = (true, now);
            self.next = None;
            return Admission::Known;
        }
        let former = peer.key;
        if !peer.confirmed {
            self.once.truncate(REMEMBERED);
            self.once.insert(0, former);
            self.peer = Some(Peer { key, confirmed: self.once.contains(&key), heard: now });
            return Admission::New;
        }
        if now.saturating_since(peer.heard) < self.patience {
            return Admission::Unknown;
        }
        let again = |(next, heard): (K, Time)| next == key && now.saturating_since(heard) <= self.patience;
        if !self.next.is_some_and(again) {
            self.next = Some((key, now));
            return Admission::Unknown;
        }
        self.move_to(now, key);
        self.once.clear();
        Admission::After(former)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::tests::datagram;
    use paceline_wire::rtp::RtpHeaderFields;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn heard_twice_is_locked_and_heard_once_is_not() {
        let mut lock = PeerLock::new(TimeDelta::from_secs(5));
        assert_eq!(lock.admit(at(0), 'x'), Admission::New);
        assert_eq!(lock.admit(at(1000), 'a'), Admission::New, "a stray datagram gives way");
        assert_eq!(lock.admit(at(1000), 'a'), Admission::Known);
        assert_eq!(lock.admit(at(2000), 'x'), Admission::Unknown);
        assert_eq!(lock.peer(), Some('a'));
        let mut noise = PeerLock::new(TimeDelta::from_secs(5));
        for (stray, from) in [(1, 0), (2, 1), (3, 0)] {
            assert_eq!(noise.admit(at(0), stray + 10), Admission::New);
            assert_eq!(noise.admit(at(0), from), Admission::New, "not twice yet");
        }
        assert_eq!(noise.admit(at(0), 14), Admission::Unknown, "0 was heard twice, though not in a row");
        assert_eq!(noise.admit(at(0), 0), Admission::Known);
    }

    #[test]
    fn a_silent_peer_gives_way_to_one_that_is_heard_twice() {
        let mut lock = PeerLock::new(TimeDelta::from_secs(1));
        assert_eq!((lock.admit(at(0), 'a'), lock.admit(at(0), 'a')), (Admission::New, Admission::Known));
        assert_eq!(lock.admit(at(999), 'x'), Admission::Unknown);
        assert_eq!(lock.admit(at(1000), 'x'), Admission::Unknown, "one packet ends no pause");
        assert_eq!(lock.admit(at(2500), 'x'), Admission::Unknown, "nor do two that are far apart");
        assert_eq!(lock.admit(at(2600), 'y'), Admission::Unknown);
        assert_eq!(lock.admit(at(2700), 'y'), Admission::After('a'));
        assert_eq!(lock.admit(at(2800), 'a'), Admission::Unknown);
        assert_eq!(lock.admit(at(3700), 'x'), Admission::Unknown);
        assert_eq!(lock.admit(at(3700), 'y'), Admission::Known, "it had only paused");
    }

    fn packet(
        filter: &mut SenderFilter,
        millis: u64,
        port: u16,
        ssrc: u32,
        counters: &mut NetCounters,
    ) -> bool {
        let (mut bytes, from) = (Vec::new(), SocketAddr::from(([192, 0, 2, 1], port)));
        let payload_type = Agreed::OWN.payload_type;
        let header = RtpHeaderFields { payload_type, ssrc, ..RtpHeaderFields::default() };
        rtp::encode(&header, 10, 0, &mut bytes).expect("a header");
        filter.admit(at(millis), &Datagram { from, ..datagram(&bytes) }, counters).is_some()
    }

    #[test]
    fn a_steady_second_sender_is_refused_counted_and_said_once() {
        let (mut filter, mut counters) = (SenderFilter::new(None, 1), NetCounters::default());
        for millis in (0..5000).step_by(20) {
            assert!(packet(&mut filter, millis, 1, 7, &mut counters));
            assert!(millis == 0 || !packet(&mut filter, millis + 1, 2, 8, &mut counters));
            if millis % 1000 == 500 {
                assert!(!packet(&mut filter, millis + 2, 3, 9, &mut counters), "a stray");
            }
        }
        assert_eq!((counters.second_senders, counters.unknown_peers), (1, 249 + 5));
        let said: Vec<_> = filter.warnings().collect();
        assert_eq!(
            said,
            [
                "a second sender at 192.0.2.1:2, SSRC 8, was refused from 0.0 s on: the one at 192.0.2.1:1 was there"
            ]
        );
        assert_eq!(counters.ssrc_collisions, 0);
        assert!(!packet(&mut filter, 5000, 4, 7, &mut counters), "whoever had the SSRC first keeps it");
        assert_eq!(counters.ssrc_collisions, 1);
        assert!(
            !packet(&mut filter, 7000, 2, 8, &mut counters) && packet(&mut filter, 7020, 2, 8, &mut counters)
        );
        assert_eq!(filter.warnings().count(), 2);
        assert!(filter.warnings().any(|said| said.contains("192.0.2.1:1 fell silent; from 7.0 s on")));
    }
}
