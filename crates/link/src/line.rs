//! What comes behind the server, whatever the queue: marks, propagation, noise; and the account that all share.

use crate::account::Account;
use crate::mark::Marker;
use crate::noise::Noise;
use crate::schedule::span;
use crate::server::Server;
use crate::transit::{Departure, Plan, Transit};
use alloc::boxed::Box;
use paceline_units::{Ecn, Time, TimeDelta};

/// The parts of a link that every queue discipline uses.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) server: Server,
    pub(crate) account: Account,
    pub(crate) marker: Marker,
    /// In a box: a link without noise looks at one word.
    pub(crate) noise: Option<Box<Noise>>,
    /// Whether it has neither marks nor noise.
    pub(crate) is_plain: bool,
    /// Propagation in nanoseconds.
    pub(crate) delay: u64,
    /// Bytes added to each packet.
    pub(crate) overhead: u64,
}

impl Line {
    /// Size of `packet` on this link.
    #[inline]
    pub(crate) fn size_of(&self, packet: &impl Transit) -> u64 {
        packet.size().as_u64().saturating_add(self.overhead)
    }

    /// The departure of a packet marked `ecn` that waited `wait` and whose last bit leaves at `departs`. To be called in
    /// order of departure: marks and noise have memory.
    #[inline(always)]
    pub(crate) fn plan(&mut self, ecn: Ecn, wait: u64, departs: u64) -> Plan {
        let arrives = Time::from_nanos(departs.saturating_add(self.delay));
        let departed = Time::from_nanos(departs);
        let mut plan = Plan { departed, arrives, wait: span(wait), noise: TimeDelta::ZERO, marked: false };
        if !self.is_plain {
            (plan.arrives, plan.marked) = self.altered(ecn, wait, departs);
            plan.noise = plan.arrives.saturating_since(arrives);
        }
        plan
    }

    /// When a packet arrives that departs at `departs`, and whether it is marked. Apart from the path of plain links.
    #[inline(never)]
    fn altered(&mut self, ecn: Ecn, wait: u64, departs: u64) -> (Time, bool) {
        let marked = self.marker.decide(departs, wait, ecn);
        let plain = Time::from_nanos(departs.saturating_add(self.delay));
        (self.noise.as_mut().map_or(plain, |noise| noise.arrival(plain)), marked)
    }

    /// The departure of `packet` as `plan` computes it, and whether it was marked here.
    #[inline]
    pub(crate) fn depart<P: Transit>(&mut self, packet: P, wait: u64, departs: u64) -> (Departure<P>, bool) {
        let plan = self.plan(packet.ecn(), wait, departs);
        (plan.of(packet), plan.marked)
    }
}
