//! Ensemble flow congestion management (M. Savorić et al., "Analysis and performance evaluation of the EFCM common congestion
//! controller for TCP connections", 2005): every flow has the average of the flows' windows.
//!
//! Its text is not at hand: the rules are those that its abstract and Islam et al. (2014, section 2) tell of it.

use super::ensemble::{Change, Ensemble};
use super::group::{Group, Leaving};
use super::{Assignment, FlowId, FlowUpdate, Law};
use paceline_units::{Time, params};

params! {
    /// The choices of ensemble flow congestion management.
    pub struct EfcmParams {
        leaving: Leaving = Leaving::Keep, "no text at hand", "Change of the joint window when a flow leaves";
    }
    profiles { "savoric2005": "As far as it is known from what cites it" => EfcmParams::default, }
}

/// An ensemble whose flows share the average of their windows.
#[derive(Clone, Debug)]
pub struct Efcm {
    params: EfcmParams,
    ensemble: Ensemble,
}

impl Efcm {
    pub(super) fn new(params: &EfcmParams) -> Efcm {
        Efcm { params: params.clone(), ensemble: Ensemble::default() }
    }
}

impl Law for Efcm {
    fn group(&self) -> &Group {
        &self.ensemble.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.ensemble.group
    }

    /// A connection that opens has the average at once; the sum stays, so that together they are no more aggressive.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        self.ensemble.join(now, update)
    }

    /// A flow's gain or loss is a part of the sum, and of everybody's average.
    fn update(&mut self, _now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some(place) = self.ensemble.group.place(update.flow) else { return self.ensemble.group.ignore() };
        match self.ensemble.change(place, update) {
            Some((Change::Grown(bits), _)) => self.ensemble.window += bits,
            Some((Change::Reduced { bits, .. }, _)) => self.ensemble.window -= bits,
            None => {}
        }
        self.ensemble.share()
    }

    /// A connection that closes.
    fn leave(&mut self, _now: Time, flow: FlowId) -> &[Assignment] {
        self.ensemble.leave(flow, self.params.leaving)
    }
}
