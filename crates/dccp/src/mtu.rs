//! The path's largest packet (RFC 4340 section 14): told by routers, or found by padded Syncs.

use paceline_units::{Time, TimeDelta};

/// Sizes to try when a router does not say one: RFC 1191 section 7 (no text at hand), less 20 bytes of IP header.
const PLATEAUS: [u64; 10] = [31_980, 17_894, 8146, 4332, 1982, 1472, 986, 488, 276, 48];
/// No path is narrower: room for any header without options.
const NARROWEST: u64 = 48;
/// How often a probe of one size is sent before it counts as too large (RFC 8899 section 5.1.2).
const MOST_PROBES: u32 = 3;
/// Time between two searches (RFC 8899 section 5.1.1, PMTU_RAISE_TIMER).
const RAISE_INTERVAL: TimeDelta = TimeDelta::from_secs(600);
/// The search ends when the bounds are this close, in bytes.
const STEP: u64 = 8;
/// Shortest time between two restarts of the search that are asked for (section 14.1).
const RESTART_INTERVAL: TimeDelta = TimeDelta::from_secs(2);

/// Effect of a router's message "packet too big".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooBig {
    /// The size is now smaller.
    Lowered,
    /// The router named a size that is not below the present one.
    NotSmaller,
    /// The message names no packet that was sent lately, so it may be forged.
    NotOurs,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sequence: i64,
    size: u64,
}

/// The path's MTU, as bytes of DCCP packet.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    interface: u64,
    /// The largest packet that is known to pass.
    pub(crate) mtu: u64,
    /// Probing ends here.
    ceiling: Option<u64>,
    /// The smallest size that is known to be too large.
    too_large: u64,
    outstanding: Option<Outstanding>,
    tries: u32,
    /// When a probe is due or its answer overdue.
    pub(crate) due: Option<Time>,
    restarted: Option<Time>,
}

impl PathMtu {
    pub(crate) fn new(interface: u64, ceiling: Option<u64>) -> PathMtu {
        let mtu = interface.max(NARROWEST);
        let ceiling = ceiling.map(|ceiling| ceiling.max(mtu));
        PathMtu {
            interface: mtu,
            mtu,
            ceiling,
            too_large: ceiling.map_or(u64::MAX, |ceiling| ceiling + 1),
            outstanding: None,
            tries: 0,
            due: ceiling.filter(|ceiling| *ceiling > mtu).map(|_| Time::ZERO),
            restarted: None,
        }
    }

    /// A router's word about a packet that was sent: the next link takes `next_hop`, 0 if it does not say.
    /// Where probing is on, it looks again after a while: RFC 1191 section 6.3 asks for five minutes or more.
    pub(crate) fn on_too_big(&mut self, now: Time, next_hop: u64) -> TooBig {
        let size = match next_hop {
            0 => PLATEAUS.into_iter().find(|plateau| *plateau < self.mtu).unwrap_or(NARROWEST),
            size => size.max(NARROWEST),
        };
        if size >= self.mtu {
            return TooBig::NotSmaller;
        }
        self.mtu = size;
        (self.outstanding, self.tries) = (None, 0);
        self.rest(now);
        TooBig::Lowered
    }

    /// The application wants discovery to begin again; false if it did a moment ago.
    pub(crate) fn restart(&mut self, now: Time) -> bool {
        if self.restarted.is_some_and(|then| now.saturating_since(then) < RESTART_INTERVAL) {
            return false;
        }
        *self = PathMtu { restarted: Some(now), ..PathMtu::new(self.interface, self.ceiling) };
        true
    }

    /// The size of the probe to send now, if one is due.
    pub(crate) fn poll(&mut self, now: Time) -> Option<u64> {
        let ceiling = self.ceiling?;
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        if let Some(lost) = self.outstanding.take() {
            self.tries += 1;
            if self.tries >= MOST_PROBES {
                self.too_large = self.too_large.min(lost.size);
                self.tries = 0;
            }
        }
        if self.too_large.saturating_sub(self.mtu) <= STEP {
            self.rest(now);
            return None;
        }
        // The largest first: the usual sizes of links are far apart.
        let size = if self.too_large > ceiling { ceiling } else { self.mtu.midpoint(self.too_large) };
        Some(size)
    }

    /// The size is known for now. Paths change: look again later, up to the ceiling.
    fn rest(&mut self, now: Time) {
        self.too_large = self.ceiling.map_or(u64::MAX, |ceiling| ceiling + 1);
        self.due = self.ceiling.filter(|ceiling| self.mtu < *ceiling).map(|_| now + RAISE_INTERVAL);
    }

    /// The probe of `size` left as the packet numbered `sequence`.
    pub(crate) fn on_probe(&mut self, now: Time, sequence: i64, size: u64, timeout: TimeDelta) {
        self.outstanding = Some(Outstanding { sequence, size });
        self.due = Some(now + timeout);
    }

    /// A SyncAck arrived; true if the MTU grew.
    pub(crate) fn on_sync_ack(&mut self, now: Time, sequence: i64) -> bool {
        match self.outstanding {
            Some(probe) if probe.sequence == sequence => {
                (self.mtu, self.outstanding, self.tries) = (self.mtu.max(probe.size), None, 0);
                self.due = Some(now);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: TimeDelta = TimeDelta::from_millis(100);

    #[test]
    fn section_14_1_probing_finds_the_links_size() {
        for link in [1300, 1480, 4000, 9000] {
            let mut path = PathMtu::new(1200, Some(9000));
            let mut now = Time::from_nanos(1);
            for sequence in 0..100 {
                if let Some(size) = path.poll(now) {
                    path.on_probe(now, sequence, size, TIMEOUT);
                    if size <= link {
                        assert!(path.on_sync_ack(now, sequence));
                    }
                }
                now += TIMEOUT;
            }
            assert!((link - STEP..=link).contains(&path.mtu), "{link}: {}", path.mtu);
        }
    }

    #[test]
    fn section_14_1_probing_looks_again_after_a_router_lowered_the_size() {
        let at = |secs| Time::ZERO + TimeDelta::from_secs(secs);
        let mut path = PathMtu::new(1480, Some(1480));
        assert_eq!(path.poll(at(1)), None, "at its ceiling");
        assert_eq!(path.on_too_big(at(10), 1300), TooBig::Lowered);
        assert_eq!((path.poll(at(609)), path.due), (None, Some(at(610))));
        assert_eq!(path.poll(at(610)), Some(1480));
        path.on_probe(at(610), 7, 1480, TIMEOUT);
        // The same link still: the router answers the probe.
        assert_eq!(path.on_too_big(at(611), 1300), TooBig::NotSmaller);
        assert_eq!(path.mtu, 1300);
        // Or a larger one.
        assert!(path.on_sync_ack(at(611), 7));
        assert_eq!((path.mtu, path.poll(at(612)), path.due), (1480, None, None));

        let mut told_only = PathMtu::new(1480, None);
        told_only.on_too_big(at(10), 1300);
        assert_eq!((told_only.poll(at(10_000)), told_only.due), (None, None));
    }

    #[test]
    fn section_14_1_routers_lower_and_never_raise() {
        let mut path = PathMtu::new(1480, None);
        assert_eq!(path.on_too_big(Time::ZERO, 1480), TooBig::NotSmaller);
        assert_eq!(path.on_too_big(Time::ZERO, 9000), TooBig::NotSmaller);
        assert_eq!((path.on_too_big(Time::ZERO, 1300), path.mtu), (TooBig::Lowered, 1300));
        assert_eq!((path.on_too_big(Time::ZERO, 0), path.mtu), (TooBig::Lowered, 986), "the next plateau");
        let mut wide = PathMtu::new(4332, None);
        assert_eq!(
            (wide.on_too_big(Time::ZERO, 0), wide.mtu),
            (TooBig::Lowered, 1982),
            "2002 with its IP header"
        );
        (0..20).for_each(|_| {
            path.on_too_big(Time::ZERO, 0);
        });
        assert_eq!(path.mtu, NARROWEST);
    }

    #[test]
    fn section_14_1_beginning_again_is_limited_to_once_in_two_seconds() {
        let mut path = PathMtu::new(1480, None);
        path.on_too_big(Time::ZERO, 1000);
        assert!(path.restart(Time::ZERO));
        assert_eq!(path.mtu, 1480);
        path.on_too_big(Time::ZERO, 1000);
        assert!(!path.restart(Time::from_nanos(1_999_999_999)));
        assert!(path.restart(Time::from_nanos(2_000_000_000)));
    }
}
