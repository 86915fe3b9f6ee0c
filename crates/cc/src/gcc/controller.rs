//! GCC as a controller: what it is told, and what it answers.

use super::{Gcc, Losses, Params, times};
use crate::observe::state_variables;
use crate::{
    Allowance, Assigned, Controller, Limits, Offered, Pacing, Report, SendQueueState, SentPacket, Snapshot,
    StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Largest rate that an assignment sets.
const HIGHEST: Bitrate = Bitrate::from_mbps(1_000_000);

impl Gcc {
    /// Target and pace, if they changed since `before` was said, and a probe if one waits. Nothing before the first offer, where a
    /// first pace is said.
    fn answer(&mut self, before: Bitrate) -> Update {
        let mut update = Update::none();
        if !self.begun {
            return update;
        }
        if !self.said || self.target != before {
            update = update.with_target(self.target);
            update.pacing = Some(self.pacing());
            update.allowance = (!self.said).then_some(Allowance::Unlimited);
            self.said = true;
        }
        let heard = self.silence.factor() == 1.0;
        update.probe = self.probing.as_mut().filter(|_| heard).and_then(super::Probing::take);
        if let Some(probe) = update.probe {
            self.probe_estimate.expect(probe);
        }
        update
    }

    fn usual_pace(&self) -> Bitrate {
        times(self.params.pacing_factor, self.target).max(Bitrate::from_bps(1))
    }

    /// Above the target, so that a frame is out before the next one comes, and what waits for long as well.
    fn pacing(&self) -> Pacing {
        let Params { pacing_burst, pacing_burst_size, .. } = self.params;
        let rate = self.draining.pace(self.usual_pace());
        let at_once = pacing_burst.min(rate.time_for(pacing_burst_size));
        Pacing::Burst { rate, mean: self.target, at_once }
    }

    /// The limits of a stream, which may be one of several.
    fn limit_stream(&mut self, now: Time, limits: &Limits, several: bool) -> Update {
        let Some(stream) = self.limits.get_mut(usize::from(limits.stream.0)) else { return Update::none() };
        *stream = limits.within(self.params.target_bitrate_min, self.params.target_bitrate_max);
        if !self.begun {
            // The start is as high as all streams may have together, in whatever order they come.
            let limits = core::mem::take(&mut self.limits);
            *self = Gcc::limited(&self.params, self.largest_packet, limits);
            return Update::none();
        }
        let before = self.target;
        let (lowest, highest) = self.bounds();
        self.delay.rate.set_lowest(lowest);
        if let Losses::Libwebrtc(bandwidth) = &mut self.losses {
            bandwidth.set_bounds(lowest, highest);
        }
        if let Some(probing) = &mut self.probing {
            probing.set_highest(now, highest, several);
        }
        self.follow(now);
        self.answer(before)
    }
}

impl Controller for Gcc {
    fn on_offered(&mut self, now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        let before = self.target;
        self.begin(now);
        self.answer(before).then(self.on_send_queue(now, queue))
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let usual = self.usual_pace();
        let before = self.draining.pace(usual);
        self.draining.on_queue(now, queue, self.incoming.rate());
        let changed = self.draining.pace(usual) != before;
        Update { pacing: (changed && self.said).then(|| self.pacing()), ..Update::none() }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        let before = self.target;
        self.begin(now);
        self.history.on_sent(now, packet);
        self.draining.on_sent(packet);
        self.alr.on_sent(now, packet.size);
        self.silence.on_sent(now, self.rtt.unwrap_or(TimeDelta::ZERO));
        if let Losses::Libwebrtc(bandwidth) = &mut self.losses {
            bandwidth.on_sent(now);
            if bandwidth.target() != self.allowed {
                self.follow(now);
            }
        }
        self.answer(before)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        let before = self.target;
        self.begin(now);
        let observation = self.observation();
        self.history.on_report(now, report.packets, observation, &mut self.outcomes);
        if !self.outcomes.is_empty() {
            self.on_outcomes(now);
            self.end_silence(now);
        }
        self.answer(before)
    }

    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        self.limit_stream(now, limits, self.limits.len() > 1)
    }

    /// A stream adds its limits to those of the target, and takes them along.
    fn on_stream(&mut self, now: Time, stream: StreamId, change: StreamChange) -> Update {
        let (min, max) = match change {
            StreamChange::Joined(_) => (self.params.target_bitrate_min, self.params.target_bitrate_max),
            StreamChange::Left => (Bitrate::ZERO, Bitrate::ZERO),
            StreamChange::Priority(_) | StreamChange::Gone => return Update::none(),
        };
        for id in self.limits.len() as u8..=stream.0.min(StreamSet::CAPACITY - 1) {
            let nothing = Limits { stream: StreamId(id), min: Bitrate::ZERO, max: Bitrate::ZERO };
            self.limits.push(nothing);
        }
        let update = self.limit_stream(now, &Limits { stream, min, max }, true);
        Update { target: TargetChange::Total(self.target), ..update }
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let before = self.target;
        if let Assigned::Rate(rate) = assigned {
            let (lowest, highest) = self.bounds();
            let rate = rate.min(highest).max(lowest).min(HIGHEST);
            self.delay.rate.assign(rate);
            match &mut self.losses {
                Losses::Draft(losses) => losses.set_estimate(rate),
                Losses::Libwebrtc(bandwidth) => bandwidth.assign(rate),
            }
            self.follow(now);
        }
        self.answer(before)
    }

    /// A group that counts windows cannot know what a rate is worth before there is a round trip. While reports stay away, and until the
    /// whole rate is used again, it shares nothing.
    fn share(&self) -> Option<Assigned> {
        self.rtt.filter(|_| !self.silence.is_answered()).map(|_| Assigned::Rate(self.target))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let tick = self.tick.map(|due| (due, TimeoutReason::Estimate));
        let silence = self.silence.due().map(|due| (due, TimeoutReason::NoFeedback));
        tick.into_iter().chain(silence).min_by_key(|(due, _)| *due)
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let before = self.target;
        let lowest = self.target <= self.bounds().0;
        if self.silence.on_timeout(now, lowest) {
            self.follow(now);
        }
        if self.tick.is_some_and(|due| now >= due) {
            self.look(now);
        }
        self.answer(before)
    }

    fn verbs(&self) -> &'static [Verb] {
        if self.params.probing { &[Verb::Probe] } else { &[] }
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        let _ = stream;
        (self.limits.len() == 1).then_some(self.target)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { srtt: self.rtt, target: Some(self.target), ..Snapshot::default() }
    }

    state_variables! { |self|
        delay_based: "Mbit/s" = self.delay.rate.estimate().as_mbps_f64(), "A_hat, the delay-based estimate";
        loss_based: "Mbit/s" = match &self.losses {
            Losses::Draft(losses) => Some(losses.estimate().as_mbps_f64()),
            Losses::Libwebrtc(bandwidth) => bandwidth.loss_based().map(Bitrate::as_mbps_f64),
        }, "As_hat, the loss-based estimate, once there is one";
        incoming_rate: "Mbit/s" = self.incoming.rate().map(Bitrate::as_mbps_f64), "R_hat, the rate at which packets arrive";
        link_capacity: "Mbit/s" = self.delay.rate.capacity().map(Bitrate::as_mbps_f64), "Average incoming rate at over-use; absent while the increase is multiplicative";
        trend: "ms" = self.delay.scaled(), "Estimate of the arrival filter, as it is compared with the threshold";
        threshold: "ms" = self.delay.threshold(), "Threshold of the over-use detector";
        usage: "" = f64::from(self.delay.usage() as i8 - 1), "State of the detector: -1 under-use, 0 normal, 1 over-use";
        rate_state: "" = f64::from(self.delay.rate.state() as u8), "State of the rate controller: 0 hold, 1 increase";
        loss_ratio: "" = match &self.losses {
            Losses::Draft(losses) => losses.part(),
            Losses::Libwebrtc(bandwidth) => bandwidth.loss_part(),
        }, "Part of packets lost at the last verdict";
        app_limited: "" = f64::from(u8::from(self.alr.since().is_some())), "1 while the application limits the sender";
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
