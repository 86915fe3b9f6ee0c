//! What comes behind the server, whatever the queue: marks, propagation, noise; and the account that all share.

use crate::account::Account;
use crate::mark::Marker;
use crate::noise::Noise;
use crate::schedule::span;
use crate::server::Server;
use crate::transit::{Departure, Transit};
use paceline_units::{Time, TimeDelta};

/// The parts of a link that every queue discipline uses.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) server: Server,
    pub(crate) account: Account,
    pub(crate) marker: Marker,
    pub(crate) noise: Option<Noise>,
    pub(crate) delay: TimeDelta,
    /// Bytes added to each packet.
    pub(crate) overhead: u64,
}

impl Line {
    /// Size of `packet` on this link.
    #[inline]
    pub(crate) fn size_of(&self, packet: &impl Transit) -> u64 {
        packet.size().as_u64().saturating_add(self.overhead)
    }

    /// The departure of a packet that waited `wait` and whose last bit leaves at `departs`, and whether it was marked
    /// here. To be called in order of departure: marks and noise have memory.
    #[inline]
    pub(crate) fn depart<P: Transit>(
        &mut self,
        mut packet: P,
        wait: u64,
        departs: u64,
    ) -> (Departure<P>, bool) {
        let marked = self.marker.decide(departs, wait, packet.ecn());
        if marked {
            packet.mark_ce();
        }
        let departed = Time::from_nanos(departs);
        let plain = departed + self.delay;
        let arrives = match &mut self.noise {
            None => plain,
            Some(noise) => noise.arrival(plain),
        };
        let noise = arrives.saturating_since(plain);
        (Departure { packet, departed, arrives, wait: span(wait), noise }, marked)
    }
}
