//! Coupling of flows that share a bottleneck: the flow state exchange of RFC 8699, and others of its form.
//!
//! A group owns no controller. The host of the flows tells it the rates and windows that their controllers computed, and it answers with
//! the ones that each flow is to take instead. To add a kind: a file with its parameters and its `Law`, and a line in `couplings!`.

mod active;
mod cm;
mod conservative;
mod efcm;
mod ensemble;
mod etcp;
mod group;
mod passive;
#[cfg(test)]
mod tests;

pub use active::ActiveParams;
pub use cm::CmParams;
pub use conservative::{ConservativeParams, Growth};
pub use efcm::EfcmParams;
pub use etcp::EtcpParams;
pub use group::{Leaving, Member};
pub use passive::PassiveParams;

use active::Active;
use cm::Cm;
use conservative::Conservative;
use efcm::Efcm;
use etcp::Etcp;
use group::Group;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use passive::Passive;

/// A flow of a coupled group, counted from 0 by whoever forms the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// A coupled group's assignment to a flow: a rate or a window, whichever the flow's controller steers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assigned {
    /// Rate of sending, packet headers in.
    Rate(Bitrate),
    /// Congestion window in bytes, packet headers in.
    Window(Bytes),
}

impl Assigned {
    /// The rate, or the window over this round trip, in bit/s; none of a window without one.
    pub fn rate_over(self, rtt: Option<TimeDelta>) -> Option<f64> {
        match self {
            Assigned::Rate(rate) => Some(rate.as_bps_f64()),
            Assigned::Window(window) => rtt.map(|rtt| window.as_bits_f64() / rtt.as_secs_f64()),
        }
    }
}

/// How much of the group's rate a flow gets, relative to the others: finite and above 0 (RFC 8699 section 5.2).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Priority(f64);

impl Priority {
    /// The priority of a flow of which nothing else is said.
    pub const ONE: Priority = Priority(1.0);

    /// A priority of this weight; `None` unless it lies from 0.000001 to 1,000,000, where sums stay exact enough.
    pub fn new(weight: f64) -> Option<Priority> {
        (1e-6..=1e6).contains(&weight).then_some(Priority(weight))
    }

    /// The weight, from 1e-6 to 1e6.
    pub const fn weight(self) -> f64 {
        self.0
    }
}

/// A flow's own new rate or window, as its controller just computed it, and what else the group must know of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowUpdate {
    /// Flow of the group.
    pub flow: FlowId,
    /// Rate or window that the flow's controller computed (RFC 8699: `CC_R`).
    pub own: Assigned,
    /// The group's last assignment as the controller took it, rounded and within limits; absent where it took it unchanged. The group goes
    /// by the change from there.
    pub taken: Option<Assigned>,
    /// Rate that the application could use (RFC 8699: `DR`); absent if it can use any.
    pub desired: Option<Bitrate>,
    /// Smoothed round-trip time; absent before the first sample. A window is a rate only with it.
    pub rtt: Option<TimeDelta>,
    /// Priority from now on.
    pub priority: Priority,
}

impl FlowUpdate {
    /// Whether a group of so many members with this sum is the flow alone, at its own rate or window: nobody shares with it, and an
    /// assignment would only disturb its controller.
    pub fn is_alone(&self, members: usize, sum: Bitrate) -> bool {
        let own = self.own.rate_over(self.rtt);
        members == 1 && own.is_none_or(|own| (sum.as_bps_f64() - own).abs() <= (1e-6 * own).max(1.0))
    }
}

/// One line of a group's answer: this flow takes this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Flow of the group.
    pub flow: FlowId,
    /// Rate or window that replaces the flow's own.
    pub assigned: Assigned,
}

/// A group of coupled flows (RFC 8699's flow group).
///
/// Nothing that it is told can make it fail. An update of a flow that has not joined, or has left, changes nothing and is
/// counted; who joins twice has updated.
pub trait Coupling {
    /// A flow begins to share, with what its controller starts with.
    fn join(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment];

    /// A flow's controller has computed a new rate or window. The answer may name other flows too.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment];

    /// A flow has ended or pauses. The answer may give others what it leaves behind.
    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment];

    /// A flow goes over to another group. Where flows add their rates as they join, it takes its own along, whatever a group keeps of those that
    /// end: else it would count in both.
    fn go_over(&mut self, now: Time, flow: FlowId) -> &[Assignment];

    /// A flow that has left does not come back: if another one has its number later, it was never there.
    fn forget(&mut self, flow: FlowId);

    /// Sum of the rates that the flows share (RFC 8699: `S_CR`).
    fn sum(&self) -> Bitrate;

    /// The flows that share, in the order of their numbers.
    fn members(&self) -> &[Member];

    /// Updates of flows that did not share.
    fn ignored(&self) -> u64;
}

/// The rules of a kind of coupling, behind [`Coupling`].
trait Law {
    /// The flows that share, and their sum.
    fn group(&self) -> &Group;

    /// The same, to change.
    fn group_mut(&mut self) -> &mut Group;

    /// A flow that does not share yet begins to.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment];

    /// As [`Coupling::update`].
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment];

    /// As [`Coupling::leave`].
    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment];

    /// As [`Coupling::go_over`]: as leaving, where flows add nothing as they join.
    fn go_over(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        self.leave(now, flow)
    }

    /// As [`Coupling::join`].
    fn join(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        match self.group().place(update.flow) {
            Some(_) => self.update(now, update),
            None => self.enter(now, update),
        }
    }
}

/// A line is: documentation, which is its help, and `Kind("name in scenarios", parameters)`. The running group has the same
/// name, and is made by `new(&parameters)`.
macro_rules! couplings {
    ($( $(#[doc = $help:literal])+ $kind:ident($name:literal, $params:ident), )*) => {
        paceline_units::profiled_kinds! {
            /// How the flows of a group share its rate.
            pub enum CouplingParams { $( $(#[doc = $help])+ $kind($name, $params), )* }
        }

        /// A group of any kind, without a box.
        #[derive(Clone, Debug)]
        pub enum AnyCoupling { $( $(#[doc = $help])+ $kind($kind), )* }

        impl AnyCoupling {
            /// A group that nobody has joined.
            pub fn new(params: &CouplingParams) -> AnyCoupling {
                match params { $( CouplingParams::$kind(params) => AnyCoupling::$kind($kind::new(params)), )* }
            }

            fn group(&self) -> &Group {
                match self { $( AnyCoupling::$kind(inner) => inner.group(), )* }
            }
        }

        impl Coupling for AnyCoupling {
            fn join(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
                match self { $( AnyCoupling::$kind(inner) => inner.join(now, update), )* }
            }

            fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
                match self { $( AnyCoupling::$kind(inner) => inner.update(now, update), )* }
            }

            fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
                match self { $( AnyCoupling::$kind(inner) => inner.leave(now, flow), )* }
            }

            fn go_over(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
                match self { $( AnyCoupling::$kind(inner) => inner.go_over(now, flow), )* }
            }

            fn forget(&mut self, flow: FlowId) {
                match self { $( AnyCoupling::$kind(inner) => inner.group_mut().forget(flow), )* }
            }

            fn sum(&self) -> Bitrate {
                Bitrate::from_bps_f64(self.group().sum)
            }

            fn members(&self) -> &[Member] {
                &self.group().members
            }

            fn ignored(&self) -> u64 {
                self.group().ignored
            }
        }
    };
}

impl AnyCoupling {
    /// Whether assignments are parts of a sum of rates that every update shares anew (RFC 8699 section 5.3). Ensembles share windows, and the
    /// passive exchange answers a flow alone.
    pub fn exchanges_rates(&self) -> bool {
        match self {
            AnyCoupling::Active(_) | AnyCoupling::Conservative(_) => true,
            AnyCoupling::Passive(_) | AnyCoupling::Etcp(_) | AnyCoupling::Efcm(_) | AnyCoupling::Cm(_) => {
                false
            }
        }
    }
}

couplings! {
    /// Active flow state exchange: every update shares the sum of all rates anew, by priority
    Active("active", ActiveParams),
    /// Active flow state exchange that reduces the sum in proportion and then holds it: the group acts like one flow
    Conservative("conservative", ConservativeParams),
    /// Passive flow state exchange: an update answers its own flow alone (for tests, says its RFC)
    Passive("passive", PassiveParams),
    /// Ensemble-TCP: a joint window in equal parts, which grows and is reduced like that of one Reno connection
    Etcp("etcp", EtcpParams),
    /// Ensemble flow congestion management: every flow has the average of all windows
    Efcm("efcm", EfcmParams),
    /// The Congestion Manager: one congestion controller for all flows, and a scheduler that shares its window by priority
    Cm("cm", CmParams),
}
