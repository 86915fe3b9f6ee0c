//! The stages behind the server, whatever the queue: marks, propagation, noise; and the account that all share.

use crate::account::Account;
use crate::damage::Damage;
use crate::duplicate::Duplicates;
use crate::mark::Marker;
use crate::noise::Noise;
use crate::route::Route;
use crate::schedule::span;
use crate::server::Server;
use crate::transit::{Arrival, Plan, Transit};
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
    /// Whether it has a shaper or marks, or `moves`.
    pub(crate) alters: bool,
    /// Whether it has noise, damage or copies, or its delay changes.
    pub(crate) moves: bool,
    /// Propagation in nanoseconds; where it changes, the least of all times.
    pub(crate) delay: u64,
    /// The route, if the propagation changes.
    pub(crate) route: Option<Box<Route>>,
    /// Damage, if packets do not all arrive whole.
    pub(crate) damage: Option<Box<Damage>>,
    /// Copies, if some packets arrive twice.
    pub(crate) duplicates: Option<Box<Duplicates>>,
    /// Bytes added to each packet.
    pub(crate) overhead: u64,
}

impl Line {
    /// Size of `packet` on this link.
    #[inline]
    pub(crate) fn size_of(&self, packet: &impl Transit) -> u64 {
        packet.size().as_u64().saturating_add(self.overhead)
    }

    /// The departure of `packet`, marked if need be, that waited `wait` in the queue after a shaper had held it back, and whose last
    /// bit leaves at `departs`. To be called in order of departure: marks and noise have memory. `PLAIN` where the line alters nothing.
    #[inline(always)]
    pub(crate) fn plan<const PLAIN: bool>(
        &mut self,
        packet: &mut impl Transit,
        wait: u64,
        held: u64,
        departs: u64,
    ) -> Plan {
        let mut plan = self.plain(wait, departs);
        if !PLAIN && self.alters {
            plan.wait += span(held);
            plan.marked = self.marks(packet.ecn(), wait, departs);
            if plan.marked {
                packet.mark_ce();
            }
            if self.moves {
                // Field by field: the plan stays in registers.
                (plan.arrives, plan.noise, plan.arrival) = self.moved(departs);
            }
        }
        plan
    }

    /// The same without marks and noise, of any packet.
    #[inline(always)]
    pub(crate) fn plain(&self, wait: u64, departs: u64) -> Plan {
        let arrives = Time::from_nanos(departs.saturating_add(self.delay));
        let departed = Time::from_nanos(departs);
        // Below 2^63: nothing waits for 292 years.
        let wait = TimeDelta::from_nanos(wait as i64);
        Plan { departed, arrives, wait, noise: TimeDelta::ZERO, marked: false, arrival: Arrival::Whole }
    }

    /// Whether a packet that departs at `departs` is marked. Apart from the path of plain links.
    #[inline(never)]
    fn marks(&mut self, ecn: Ecn, wait: u64, departs: u64) -> bool {
        self.marker.decide(departs, wait, ecn)
    }

    /// When a packet that departs at `departs` arrives by the route and with noise, the delay of that, and whether it is damaged or
    /// copied. Apart from the path of plain links.
    #[inline(never)]
    fn moved(&mut self, departs: u64) -> (Time, TimeDelta, Arrival) {
        let plain = Time::from_nanos(match &mut self.route {
            Some(route) => route.arrival(departs),
            None => departs.saturating_add(self.delay),
        });
        let arrives = self.noise.as_mut().map_or(plain, |noise| noise.arrival(plain));
        let arrival = if self.damage.as_mut().is_some_and(|damage| damage.befalls(departs)) {
            Arrival::Damaged
        } else if self.duplicates.as_mut().is_some_and(|duplicates| duplicates.copies(departs)) {
            Arrival::Twice
        } else {
            Arrival::Whole
        };
        (arrives, arrives.saturating_since(plain), arrival)
    }
}
