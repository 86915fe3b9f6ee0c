//! Whether the applications of both ends listen, and keep up (RFC 4340 sections 11.6 and 11.7.2).

use paceline_units::Time;

/// The applications that read.
#[derive(Clone, Debug)]
pub(super) struct Listeners {
    own: bool,
    own_slow: bool,
    peer: bool,
    /// Until when the other end counts as one that does not keep up.
    peer_slow_until: Time,
}

impl Listeners {
    /// Both listen and keep up.
    pub(super) fn new() -> Listeners {
        Listeners { own: true, own_slow: false, peer: true, peer_slow_until: Time::ZERO }
    }

    /// Whether our application listens.
    #[inline]
    pub(super) fn is_own_listening(&self) -> bool {
        self.own
    }

    pub(super) fn stop_own(&mut self) {
        self.own = false;
    }

    /// Whether our application does not keep up.
    #[inline]
    pub(super) fn is_own_slow(&self) -> bool {
        self.own_slow
    }

    pub(super) fn set_own_slow(&mut self, slow: bool) {
        self.own_slow = slow;
    }

    /// Whether the other application listens.
    pub(super) fn is_peer_listening(&self) -> bool {
        self.peer
    }

    /// The other application listens no more. False if that was known.
    pub(super) fn stop_peer(&mut self) -> bool {
        core::mem::replace(&mut self.peer, false)
    }

    /// Whether the other end said of late that it does not keep up.
    #[inline]
    pub(super) fn is_peer_slow(&self, now: Time) -> bool {
        now < self.peer_slow_until
    }

    /// The other end does not keep up until then.
    pub(super) fn set_peer_slow(&mut self, until: Time) {
        self.peer_slow_until = until;
    }
}
