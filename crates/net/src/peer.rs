//! Whom a socket listens to: the first that says something valid, from then on nobody else.

use paceline_units::{Time, TimeDelta};

/// What became of somebody who knocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// The peer, for the first time: forget whoever was before.
    New,
    /// The peer.
    Known,
    /// Somebody else.
    Stranger,
}

/// Locks on to one peer.
///
/// A peer that was heard only once gives way to another: a stray datagram that happens to look valid holds nobody up. One
/// that was heard twice keeps the lock until it has been silent for `patience`.
#[derive(Clone, Debug)]
pub(crate) struct PeerLock<K> {
    peer: Option<Held<K>>,
    patience: Option<TimeDelta>,
}

#[derive(Clone, Copy, Debug)]
struct Held<K> {
    key: K,
    confirmed: bool,
    heard: Time,
}

impl<K: Copy + PartialEq> PeerLock<K> {
    /// Nobody yet. Without `patience` a confirmed peer stays for ever.
    pub fn new(patience: Option<TimeDelta>) -> PeerLock<K> {
        PeerLock { peer: None, patience }
    }

    /// Whom it is locked on to.
    pub fn peer(&self) -> Option<K> {
        self.peer.map(|held| held.key)
    }

    /// `key` says something valid at `now`.
    pub fn admit(&mut self, now: Time, key: K) -> Admission {
        if let Some(held) = &mut self.peer {
            if held.key == key {
                (held.confirmed, held.heard) = (true, now);
                return Admission::Known;
            }
            let silent = now.saturating_since(held.heard);
            if held.confirmed && self.patience.is_none_or(|patience| silent < patience) {
                return Admission::Stranger;
            }
        }
        self.peer = Some(Held { key, confirmed: false, heard: now });
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
        assert_eq!(lock.admit(at(2), 'x'), Admission::Stranger);
        assert_eq!(lock.peer(), Some('a'));
        assert_eq!(lock.admit(at(7), 'x'), Admission::New, "the peer has been silent for long");
        let mut for_ever = PeerLock::new(None);
        for_ever.admit(at(0), 'a');
        for_ever.admit(at(0), 'a');
        assert_eq!(for_ever.admit(at(1_000_000), 'x'), Admission::Stranger);
    }
}
