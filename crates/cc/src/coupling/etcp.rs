//! Ensemble-TCP (L. Eggert, J. Heidemann, J. Touch, "Effects of Ensemble-TCP", 2000): all flows together are as aggressive as
//! one Reno connection.
//!
//! Its text is not at hand: the rules are those that RFC 2140 section 4 and Islam et al. (2014, section 2) tell of it, and what
//! Reno does (RFC 5681).

use super::ensemble::{Change, Ensemble};
use super::group::{Group, Leaving};
use super::{Assignment, FlowId, FlowUpdate, Law};
use paceline_units::{Time, TimeDelta, params};

params! {
    /// The choices of ensemble-TCP.
    pub struct EtcpParams {
        leaving: Leaving = Leaving::Keep, "no text at hand", "Change of the joint window when a flow leaves";
        hold: f64 = 1.0, in 0.0, 100.0, "RFC 5681 3.1: one reduction for a window of data", "Round-trip times of the flow that reduced its window for which nobody else's reduction counts";
    }
    profiles { "eggert2000": "As far as it is known from what cites it" => EtcpParams::default, }
}

/// An ensemble that acts like one connection.
#[derive(Clone, Debug)]
pub struct Etcp {
    params: EtcpParams,
    /// Until when a reduction is one of the last congestion event.
    held_until: Time,
    ensemble: Ensemble,
}

impl Etcp {
    pub(super) fn new(params: &EtcpParams) -> Etcp {
        Etcp { params: params.clone(), held_until: Time::ZERO, ensemble: Ensemble::default() }
    }
}

impl Law for Etcp {
    fn group(&self) -> &Group {
        &self.ensemble.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.ensemble.group
    }

    /// A connection that opens takes its part of the joint window.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        self.ensemble.join(now, update)
    }

    /// N flows that grow by a packet each grow by one together; who reduces reduces all, once in a round trip.
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some(place) = self.ensemble.group.place(update.flow) else { return self.ensemble.group.ignore() };
        let flows = self.ensemble.group.members.len() as f64;
        match self.ensemble.change(place, update) {
            Some((Change::Grown(bits), _)) => self.ensemble.window += bits / flows,
            Some((Change::Reduced { kept, .. }, rtt)) if now >= self.held_until => {
                self.ensemble.window *= kept;
                self.held_until = now + TimeDelta::from_secs_f64(self.params.hold * rtt.as_secs_f64());
            }
            Some((Change::Reduced { .. }, _)) | None => {}
        }
        self.ensemble.share()
    }

    /// A connection that closes.
    fn leave(&mut self, _now: Time, flow: FlowId) -> &[Assignment] {
        if self.ensemble.group.is_last(flow) {
            self.held_until = Time::ZERO;
        }
        self.ensemble.leave(flow, self.params.leaving)
    }
}
