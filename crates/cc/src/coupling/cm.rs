//! The Congestion Manager (RFC 3124): one congestion controller for all flows of a group, which section 4.1 calls a macroflow, and a
//! scheduler that apportions what it allows.
//!
//! The flows' own controllers are its detectors: what they give up together is a report of congestion. The joint window grows and is
//! reduced by its own rule, that of a TCP (section 4.1 asks for one that is TCP-friendly), whatever rules the flows have.

use super::group::{Group, Leaving};
use super::{Assignment, FlowId, FlowUpdate, Law};
use paceline_units::{Time, TimeDelta, params};

/// The joint window counts with no more, in bits: as the windows of an ensemble.
const MAX_WINDOW: f64 = 1e12;
/// Part of a sample of the round trip that the smoothed one takes (RFC 6298 section 2.3).
const SMOOTHING: f64 = 0.125;

params! {
    /// The choices of the Congestion Manager.
    pub struct CmParams {
        leaving: Leaving = Leaving::Keep, "RFC 3124 4.1: the window is the macroflow's", "Change of the joint window when a flow leaves";
        packet: u64 = 1500, in 100.0, 65_535.0, "RFC 3124 4.1: an MTU-sized packet", "Bytes by which the joint window grows in a round trip, after slow start (RFC 5681 3.1)";
        decrease: f64 = 0.5, in 0.1, 0.99, "RFC 5681 3.1", "Part of the joint window that congestion leaves";
        report: f64 = 0.9, in 0.1, 0.999, "RFC 3649 5: no standard TCP takes less than a tenth off for a loss", "Part of the group's rate to which its controllers together go down before that is a report of congestion";
    }
    profiles { "rfc3124": "The controller and scheduler of section 4; its rule is RFC 5681's" => CmParams::default, }
}

/// The flows that share one congestion controller: the macroflow of RFC 3124 section 2.
#[derive(Clone, Debug)]
pub struct Cm {
    params: CmParams,
    /// The joint window in bits.
    window: f64,
    /// The window in bits up to which it grows by slow start.
    threshold: f64,
    /// Smoothed round trip of all flows, in seconds; 0 before the first sample.
    round_trip: f64,
    /// Part of the group's rate that its controllers have left since the last congestion, 1 at most.
    left: f64,
    /// When the window grew last.
    grown: Time,
    /// Until when a reduction is one of the last congestion event.
    held_until: Time,
    group: Group,
}

impl Cm {
    pub(super) fn new(params: &CmParams) -> Cm {
        Cm {
            params: params.clone(),
            window: 0.0,
            threshold: MAX_WINDOW,
            round_trip: 0.0,
            left: 1.0,
            grown: Time::ZERO,
            held_until: Time::ZERO,
            group: Group::default(),
        }
    }

    /// A flow's round trip is a sample of the macroflow's (section 3.3: `cm_update`).
    fn sample(&mut self, update: &FlowUpdate) {
        let Some(rtt) = update.rtt.filter(|&rtt| rtt > TimeDelta::ZERO).map(TimeDelta::as_secs_f64) else {
            return;
        };
        if self.round_trip == 0.0 {
            (self.round_trip, self.window) = (rtt, self.group.sum * rtt);
        }
        self.round_trip += SMOOTHING * (rtt - self.round_trip);
    }

    /// A flow by itself: its own controller is the macroflow's, and its reductions say where slow start ends.
    fn follow(&mut self, own: f64, reduced: bool) {
        (self.group.sum, self.window) = (own, own * self.round_trip);
        if reduced {
            self.threshold = self.window;
        }
    }

    /// Congestion was reported: one reduction for a window of data (RFC 5681 section 3.1).
    fn congested(&mut self, now: Time) {
        self.window *= self.params.decrease;
        self.threshold = self.window;
        self.left = 1.0;
        self.held_until = now + TimeDelta::from_secs_f64(self.round_trip);
    }

    /// A flow grows: it has used its part, and its packets arrive. The time since the window grew last counts, up to a round trip.
    fn grow(&mut self, now: Time) {
        let since = now.saturating_since(self.grown).as_secs_f64();
        self.grown = now;
        if self.round_trip == 0.0 {
            return;
        }
        let part = (since / self.round_trip).min(1.0);
        if self.window < self.threshold {
            self.window = (self.window * (1.0 + part)).min(self.threshold);
        } else {
            self.window += 8.0 * self.params.packet as f64 * part;
        }
    }

    /// The scheduler (section 4.2): parts by weight, and what an application does not use goes to the others. Rates of a scheduler
    /// that hands out packet by packet are these on average.
    fn share(&mut self) -> &[Assignment] {
        self.window = self.window.clamp(0.0, MAX_WINDOW);
        if self.round_trip > 0.0 {
            let least = 8.0 * self.params.packet as f64;
            let alone = self.group.members.len() == 1;
            self.window = if alone { self.window } else { self.window.max(least) };
            self.group.sum = self.window / self.round_trip;
        }
        self.group.share(true)
    }
}

impl Law for Cm {
    fn group(&self) -> &Group {
        &self.group
    }

    fn group_mut(&mut self) -> &mut Group {
        &mut self.group
    }

    /// A flow that joins takes its part of the joint window, and adds nothing.
    fn enter(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let first = self.group.members.is_empty();
        let _ = self.group.join(now, update);
        self.sample(update);
        if first {
            (self.threshold, self.left) = (MAX_WINDOW, 1.0);
            let own = self.group.members.first().map_or(0.0, |member| member.rate);
            self.follow(own, false);
        }
        self.grown = now;
        self.share()
    }

    /// A flow's report (section 3.3).
    fn update(&mut self, now: Time, update: &FlowUpdate) -> &[Assignment] {
        let Some((place, own)) = self.group.take(now, update, true) else { return self.group.ignore() };
        let given = self.group.members[place].rate;
        self.sample(update);
        if self.group.members.len() == 1 {
            self.grown = now;
            self.follow(own, own < given);
            return self.share();
        }
        // A flow that reduces reports for all; one that grows is one of several.
        if own < given {
            self.left *= own / given;
        } else if given > 0.0 {
            let flows = self.group.members.len() as f64;
            self.left = (self.left * (1.0 + (own / given - 1.0) / flows)).min(1.0);
        }
        let used = self.group.members.iter().any(|member| member.rate < member.desired);
        let grows = own > given && used;
        if now < self.held_until {
            (self.grown, self.left) = (now, 1.0);
        } else if self.left <= self.params.report {
            self.grown = now;
            self.congested(now);
        } else if grows {
            self.grow(now);
        }
        self.share()
    }

    fn leave(&mut self, now: Time, flow: FlowId) -> &[Assignment] {
        let Some(place) = self.group.place(flow) else { return self.group.ignore() };
        if self.group.is_last(flow) {
            (self.held_until, self.round_trip) = (Time::ZERO, 0.0);
        } else if self.params.leaving == Leaving::Subtract {
            self.window -= self.group.members[place].rate * self.round_trip;
        }
        self.group.leave(now, flow, self.params.leaving)
    }
}
