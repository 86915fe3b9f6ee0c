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
    /// Whether it has a shaper, marks or noise, or its delay changes.
    pub(crate) alters: bool,
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
            self.alter(&mut plan, packet.ecn(), wait, departs);
            if plan.marked {
                packet.mark_ce();
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

    /// Changes the plan of a packet that departs at `departs` by marks, another route, noise, damage and copies. Apart from the
    /// path of plain links.
    #[inline(never)]
    fn alter(&mut self, plan: &mut Plan, ecn: Ecn, wait: u64, departs: u64) {
        plan.marked = self.marker.decide(departs, wait, ecn);
        if let Some(route) = &mut self.route {
            plan.arrives = Time::from_nanos(route.arrival(departs));
        }
        if let Some(noise) = &mut self.noise {
            let plain = plan.arrives;
            plan.arrives = noise.arrival(plain);
            plan.noise = plan.arrives.saturating_since(plain);
        }
        if self.damage.as_mut().is_some_and(|damage| damage.befalls(departs)) {
            plan.arrival = Arrival::Damaged;
        } else if self.duplicates.as_mut().is_some_and(|duplicates| duplicates.copies(departs)) {
            plan.arrival = Arrival::Twice;
        }
    }
}
