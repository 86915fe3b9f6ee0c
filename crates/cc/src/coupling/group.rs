//! The state of flows that all kinds of coupling keep, and how a sum is shared among them.

use super::{Assigned, Assignment, FlowId, FlowUpdate, Priority};
use alloc::vec::Vec;
use core::cmp::Ordering;
use paceline_units::{Bitrate, Time, TimeDelta};

/// No flow counts with more, in bit/s: a rate without end must not drown the others' in a sum.
const MAX_RATE: f64 = 1e12;
/// Round trips in which a flow that came back reaches its part: until then what it sent less says nothing of the network.
const SETTLES: f64 = 2.0;
/// Flows that left, as many as a group knows again.
const MOST_LEFT: usize = 256;
/// How long a group remembers the rate that a flow left to the others, for flows that were not there before.
const REMEMBERED: TimeDelta = TimeDelta::from_secs(10);

paceline_units::names! {
    /// Change of the sum when a flow leaves; RFC 8699 section 5.3.1 does not say.
    pub enum Leaving {
        /// The others inherit the rate of the flow that left. For 10 s the group remembers it: the rate of a flow that joins meanwhile
        /// is in the sum already. When the same flow comes back, its rate always is.
        Keep = "keep",
        /// The rate of the flow that left goes with it.
        Subtract = "subtract",
    }
}

/// A flow that shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Member {
    /// Flow of the group.
    pub flow: FlowId,
    /// Weight of the flow within its group (RFC 8699: `P`).
    pub priority: Priority,
    /// Rate that it was given last, in bit/s (RFC 8699: `FSE_R`).
    pub(super) rate: f64,
    /// Rate that its application could use, in bit/s; infinite if it can use any (RFC 8699: `DR`).
    pub(super) desired: f64,
    /// Its smoothed round-trip time.
    pub(super) rtt: Option<TimeDelta>,
    /// Whether its controller steers a window. Rate and window are each other's image by the present round trip.
    by_window: bool,
    /// Whether it joined with a rate that counts already, and its controller has not taken its part yet: as far as that goes, growth
    /// counts already, too.
    returned: bool,
    /// Until when it settles after it came back: its controller reduces then for want of what it sent, not for congestion.
    settles_until: Time,
    /// Priorities of the flows that are satisfied no earlier than this one, in a sum.
    from_here: f64,
}

impl Member {
    /// Rate that the group gave it last.
    pub fn rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.rate)
    }

    /// Rate that its application could use; absent if it can use any.
    pub fn desired(&self) -> Option<Bitrate> {
        self.desired.is_finite().then(|| Bitrate::from_bps_f64(self.desired))
    }

    /// Its assignment, in the unit that its controller steers. Rounded down: all together stay within the sum.
    pub(super) fn assignment(&self) -> Assignment {
        let rate = self.rate();
        let assigned = match self.rtt.filter(|_| self.by_window) {
            Some(rtt) => Assigned::Window(rate.bytes_in(rtt)),
            None => Assigned::Rate(rate),
        };
        Assignment { flow: self.flow, assigned }
    }

    /// Rate that its controller computed, in bit/s.
    fn rate_of(&self, assigned: Assigned) -> f64 {
        assigned.rate_over(self.rtt).unwrap_or(0.0).min(MAX_RATE)
    }

    /// Takes over what an update says beside the rate.
    pub(super) fn refresh(&mut self, update: &FlowUpdate) {
        self.priority = update.priority;
        let rtt = update.rtt.filter(|&rtt| rtt > TimeDelta::ZERO);
        self.rtt = rtt.or(self.rtt);
        self.by_window = matches!(update.own, Assigned::Window(_));
        self.desired = update.desired.map_or(f64::INFINITY, |rate| rate.as_bps_f64());
    }

    /// Where it stands when flows are satisfied one by one: who reaches its desired rate first.
    fn need(&self) -> f64 {
        self.desired / self.priority.weight()
    }
}

/// The flows of a group, and the sum of their rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// By their numbers.
    pub(super) members: Vec<Member>,
    /// Places in `members`, by [`Member::need`].
    by_need: Vec<u32>,
    /// Sum of the rates in bit/s (RFC 8699: `S_CR`).
    pub(super) sum: f64,
    /// Rate in bit/s within the sum that flows left to the others, and the time until which the group remembers it.
    inherited: (f64, Time),
    /// Flows that left their rates to others.
    left: Vec<FlowId>,
    pub(super) ignored: u64,
    pub(super) assignments: Vec<Assignment>,
}

impl Group {
    /// Where a flow stands in `members`.
    pub(super) fn place(&self, flow: FlowId) -> Option<usize> {
        self.members.binary_search_by_key(&flow, |member| member.flow).ok()
    }

    /// Whether the group is this flow alone.
    pub(super) fn is_last(&self, flow: FlowId) -> bool {
        self.members.len() == 1 && self.place(flow).is_some()
    }

    /// Enters a flow, and adds what its controller starts with to the sum; a window counts for nothing before there is a
    /// round-trip time. Nobody is given anything yet (RFC 8699 section 5.3.1, step 1).
    ///
    /// A rate that another flow, or the same one before, has left to the group is in the sum already and counts once: answers how much of
    /// it did. The others use it, so the caller shares at once.
    pub(super) fn join(&mut self, now: Time, update: &FlowUpdate) -> f64 {
        let mut member = Member {
            flow: update.flow,
            priority: update.priority,
            rate: 0.0,
            desired: f64::INFINITY,
            rtt: None,
            by_window: false,
            returned: false,
            settles_until: Time::ZERO,
            from_here: 0.0,
        };
        member.refresh(update);
        let own = member.rate_of(update.own);
        let was_there = self.left.iter().position(|&left| left == update.flow);
        if let Some(place) = was_there {
            self.left.swap_remove(place);
        }
        // No more of it than the others have.
        let counted = own.min(self.remembers(now)).min(self.sum);
        self.inherited.0 -= counted;
        let known = if was_there.is_some() { own.min(self.sum) } else { counted };
        (member.rate, member.returned) = (own - known, known > 0.0);
        let settles =
            if known > 0.0 { SETTLES * member.rtt.map_or(0.0, TimeDelta::as_secs_f64) } else { 0.0 };
        member.settles_until = now + TimeDelta::from_secs_f64(settles);
        self.sum += member.rate;
        let place = self.members.partition_point(|known| known.flow < update.flow);
        self.members.insert(place, member);
        self.by_need.clear();
        self.by_need.extend(0..self.members.len() as u32);
        let members = &self.members;
        self.by_need.sort_by(|&a, &b| order(members, a, b));
        known
    }

    /// Enters a flow as [`Group::join`] does, and shares at once if the others use a rate that counts once.
    pub(super) fn enter(&mut self, now: Time, update: &FlowUpdate, redistribute: bool) -> &[Assignment] {
        if self.join(now, update) > 0.0 { self.share(redistribute) } else { self.nothing() }
    }

    /// Remembers the rate of a flow that left it to the others.
    pub(super) fn inherit(&mut self, now: Time, Member { flow, rate, .. }: Member) {
        if self.left.len() == MOST_LEFT {
            self.left.remove(0);
        }
        self.left.push(flow);
        self.inherited = ((self.remembers(now) + rate).min(self.sum), now + REMEMBERED);
    }

    /// A flow that left is not known again.
    pub(super) fn forget(&mut self, flow: FlowId) {
        self.left.retain(|&left| left != flow);
    }

    /// Rate in bit/s that flows left to the others, while the group remembers it.
    fn remembers(&self, now: Time) -> f64 {
        if now < self.inherited.1 { self.inherited.0 } else { 0.0 }
    }

    /// Removes the flow at `place` and answers its entry.
    pub(super) fn remove(&mut self, place: usize) -> Member {
        let place_u32 = place as u32;
        self.by_need.retain(|&at| at != place_u32);
        for at in &mut self.by_need {
            *at -= u32::from(*at > place_u32);
        }
        self.members.remove(place)
    }

    /// Removes all flows. A rate that one left to another is still known: either may come back with it.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.by_need.clear();
        self.sum = 0.0;
    }

    /// Takes over an update of the flow at `place`, but for its rate, which is answered in bit/s.
    ///
    /// Where the controller took something else than it was given, what it added counts, or the part that it kept: a floor
    /// above the given rate is no growth, and a rounded window no congestion.
    pub(super) fn refresh(&mut self, place: usize, update: &FlowUpdate) -> f64 {
        let member = &mut self.members[place];
        let (before, rtt) = (member.need(), member.rtt);
        let was_no_rate = rtt.is_none() && matches!(update.own, Assigned::Window(_));
        member.refresh(update);
        if let Some(rtt) = rtt {
            self.revalue(place, rtt);
        }
        let member = &self.members[place];
        let own = member.rate_of(update.own);
        let taken = update.taken.map(|taken| member.rate_of(taken)).filter(|_| !was_no_rate);
        let returned = member.returned && taken.is_some_and(|taken| taken < member.rate);
        let own = match taken {
            Some(taken) if returned && own > taken => own.max(member.rate),
            Some(taken) if own < taken => member.rate * (own / taken),
            Some(taken) => member.rate + (own - taken),
            None => own,
        };
        let own = own.min(MAX_RATE);
        self.members[place].returned = returned;
        if self.members[place].need() != before {
            self.put_in_order(place as u32);
        }
        own
    }

    /// The flow at `place` had the round trip `before`. Over a longer one its window is a lower rate, and the sum is lower
    /// by that: else windows would grow with the queue that they fill. A limited flow keeps the rate that it wants.
    ///
    /// Each flow's part in the sum is the exponent, so that a round trip that comes back brings the sum back, however many
    /// steps each way took: what noise does to round trips does not add up.
    fn revalue(&mut self, place: usize, before: TimeDelta) {
        let most = MAX_RATE * self.members.len() as f64;
        let member = &mut self.members[place];
        let Some(now) = member.rtt.filter(|&now| member.by_window && now != before) else { return };
        if member.rate >= member.desired || member.rate <= 0.0 || self.sum <= 0.0 {
            return;
        }
        let change = before.as_secs_f64() / now.as_secs_f64();
        self.sum = (self.sum * libm::pow(change, (member.rate / self.sum).min(1.0))).min(most);
        member.rate = (member.rate * change).min(MAX_RATE);
    }

    /// Takes over an update as [`Group::refresh`] does; answers the flow's place too, absent if it does not share.
    ///
    /// Unless the rate may be `beyond_desired`, as much of it counts as the application can use, or what it has already: who
    /// does not use its rate learns nothing of what the network bears.
    pub(super) fn take(
        &mut self,
        now: Time,
        update: &FlowUpdate,
        beyond_desired: bool,
    ) -> Option<(usize, f64)> {
        let place = self.place(update.flow)?;
        let own = self.refresh(place, update);
        let member = &self.members[place];
        let own = if now < member.settles_until { own.max(member.rate) } else { own };
        let usable = if beyond_desired { f64::INFINITY } else { member.desired.max(member.rate) };
        Some((place, own.min(usable)))
    }

    fn put_in_order(&mut self, place: u32) {
        self.by_need.retain(|&at| at != place);
        let members = &self.members;
        let to = self.by_need.partition_point(|&at| order(members, at, place) == Ordering::Less);
        self.by_need.insert(to, place);
    }

    /// Removes a flow. The others take what it leaves at the next update (RFC 8699 section 5.3.1, step 2).
    pub(super) fn leave(&mut self, now: Time, flow: FlowId, leaving: Leaving) -> &[Assignment] {
        let Some(place) = self.place(flow) else { return self.ignore() };
        let left = self.remove(place);
        match leaving {
            _ if self.members.is_empty() => self.clear(),
            Leaving::Keep => self.inherit(now, left),
            Leaving::Subtract => self.sum = (self.sum - left.rate).max(0.0),
        }
        self.nothing()
    }

    /// Shares the sum by priority, and writes what each flow is given. With `redistribute`, what a flow cannot use goes to
    /// the others (RFC 8699 section 5.3.1, step c); without, it is nobody's (the paper of 2014, algorithms 1 and 2).
    ///
    /// The RFC goes round until nothing is left over. A walk through the flows in the order in which they are satisfied finds the same
    /// shares in one round. The priorities of those who remain are added up, from the last flow on: a small one would drown in a difference
    /// of large ones.
    pub(super) fn share(&mut self, redistribute: bool) -> &[Assignment] {
        let mut priorities = 0.0;
        for &place in self.by_need.iter().rev() {
            let member = &mut self.members[place as usize];
            priorities += member.priority.weight();
            member.from_here = priorities;
        }
        let (mut left, mut satisfied) = (self.sum, redistribute);
        for &place in &self.by_need {
            let member = &mut self.members[place as usize];
            if satisfied {
                priorities = member.from_here;
            }
            let share = left * member.priority.weight() / priorities;
            member.rate = share.min(member.desired).max(0.0);
            satisfied = satisfied && share >= member.desired;
            if satisfied {
                left -= member.desired;
            }
        }
        self.assignments.clear();
        self.assignments.extend(self.members.iter().map(Member::assignment));
        &self.assignments
    }

    /// Gives each flow a window of `per_priority` bits for each unit of its priority, as the rate that it is over the flow's
    /// round trip; who has no round-trip time yet is given nothing.
    pub(super) fn share_windows(&mut self, per_priority: f64) {
        self.sum = 0.0;
        self.assignments.clear();
        for member in &mut self.members {
            member.rate = 0.0;
            if let Some(rtt) = member.rtt {
                member.rate = (per_priority * member.priority.weight() / rtt.as_secs_f64()).min(MAX_RATE);
                self.sum += member.rate;
                self.assignments.push(member.assignment());
            }
        }
    }

    /// The assignment of the flow at `place`, alone.
    pub(super) fn answer(&mut self, place: usize) -> &[Assignment] {
        let assignment = self.members[place].assignment();
        self.assignments.clear();
        self.assignments.push(assignment);
        &self.assignments
    }

    /// An update that concerns no flow of the group.
    pub(super) fn ignore(&mut self) -> &[Assignment] {
        self.ignored += 1;
        self.nothing()
    }

    /// An answer that names no flow.
    pub(super) fn nothing(&mut self) -> &[Assignment] {
        self.assignments.clear();
        &self.assignments
    }
}

fn order(members: &[Member], a: u32, b: u32) -> Ordering {
    members[a as usize].need().total_cmp(&members[b as usize].need()).then(a.cmp(&b))
}
