//! A policer: packets are lost without a queue, and trains pass as they came until its bucket is empty.

use super::Params;

/// Two rates are the same if neither is less than this part of the other.
const SAME: f64 = 0.85;

/// The rate that passed where packets were lost although no queue stood. In bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    /// The one that passed last.
    passed: f64,
    /// The same if it passed twice in a row: the policer's, as far as is known.
    limit: Option<f64>,
}

impl Policer {
    pub(super) const NONE: Policer = Policer { passed: 0.0, limit: None };

    /// Packets were lost without a queue while this rate arrived.
    pub(super) fn on_lost(&mut self, arrives: f64) {
        let is_same = (SAME..1.0 / SAME).contains(&(arrives / self.passed));
        *self = Policer { passed: arrives, limit: is_same.then_some(arrives) };
    }

    /// The flow has this rate by now: once it has grown well above the limit without losses, there is none.
    pub(super) fn look(&mut self, params: &Params, rate: f64) {
        self.limit = self.limit.filter(|&limit| rate < params.head_room * limit);
    }

    /// Of the room that trains show, the part to be believed.
    pub(super) fn believed(&self, room: f64) -> f64 {
        self.limit.map_or(room, |limit| room.min(limit))
    }
}
