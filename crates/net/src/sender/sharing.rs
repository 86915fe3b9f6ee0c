//! Where the coupled flows of a process share: among themselves, or by an exchange of the machine.

use crate::exchange::ExchangeClient;
use paceline_ends::{Coupled, CoupledEnds, Exchange};
use paceline_units::Time;
use std::os::fd::BorrowedFd;

/// The groups of coupled flows.
#[allow(clippy::large_enum_variant, reason = "one per process")]
pub(super) enum Sharing {
    /// In this process, whose flows are all there are.
    Here(Exchange),
    /// In the exchange that processes of this machine have in common.
    Elsewhere(ExchangeClient),
}

impl Sharing {
    /// When something is due.
    pub fn next_timeout(&self) -> Time {
        match self {
            Sharing::Here(exchange) => exchange.next_timeout().unwrap_or(Time::MAX),
            Sharing::Elsewhere(link) => link.next_timeout(),
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time, ends: &mut impl CoupledEnds) {
        match self {
            Sharing::Here(exchange) => exchange.handle_timeout(now, ends),
            Sharing::Elsewhere(link) => link.handle_timeout(now, ends),
        }
    }

    /// Something happened at a flow.
    pub fn after_event(&mut self, now: Time, flow: usize, ends: &mut impl CoupledEnds) {
        match self {
            Sharing::Here(exchange) => exchange.after_event(now, flow, ends),
            Sharing::Elsewhere(link) => link.after_event(now, flow, ends),
        }
    }

    /// Carries out what was assigned elsewhere; true if there may be more.
    pub fn read(&mut self, now: Time, ends: &mut impl CoupledEnds) -> bool {
        match self {
            Sharing::Here(_) => false,
            Sharing::Elsewhere(link) => link.read(now, ends),
        }
    }

    /// The socket to wait for, if there is one.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Sharing::Here(_) => None,
            Sharing::Elsewhere(link) => link.socket(),
        }
    }

    /// A flow's share in its group, to look at.
    pub fn coupled(&self, flow: usize) -> Coupled {
        match self {
            Sharing::Here(exchange) => exchange.coupled(flow),
            Sharing::Elsewhere(link) => link.coupled(flow),
        }
    }

    /// The process ends. Errors, for people.
    pub fn finish(&mut self, now: Time) -> Vec<String> {
        match self {
            Sharing::Here(_) => Vec::new(),
            Sharing::Elsewhere(link) => link.finish(now),
        }
    }
}
