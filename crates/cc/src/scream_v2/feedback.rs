//! The steps on a report, in this order: acknowledgements, fraction of marks and delays, reduction and increase of the window, target,
//! pace. The draft leaves the order open.

use super::ScreamV2;
use super::drift::Remedy;
use super::queue_delay::Sample;
use super::ref_wnd::{Event, Input, max_allowed};
use crate::{Acked, PacketsReport, Status};
use paceline_units::{Time, TimeDelta};

/// Between two samples of the delay's history for competing flows, as in SCReAM v1.
const COMPETING_INTERVAL: TimeDelta = TimeDelta::from_millis(50);
/// An encoder that makes fewer frames is taken for one that makes two in a second.
const LONGEST_FRAME: TimeDelta = TimeDelta::from_millis(500);

impl ScreamV2 {
    /// Takes a report in.
    pub(super) fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        self.silence.on_report(now);
        let frame = self.media.period().min(LONGEST_FRAME);
        let round = self.srtt().max(self.params.virtual_rtt).max(frame);
        self.flight.on_report(now, round, self.in_flight.as_u64());
        let acked = self.streams.acknowledge(now, report, self.silence.interval());
        self.in_flight = self.streams.in_flight();
        if self.silence.is_interrupted() {
            self.resume(now, &acked);
        }
        self.acked.on_report(now, acked.presumed, self.srtt().max(frame * 2));
        self.measure_path(now, report, &acked);
        let srtt = self.srtt();
        self.losses.on_report(&self.params, now, srtt, &acked, self.wnd.ratio(self.mss));
        self.alpha.on_report(&self.params, now, srtt, acked.delivered_packets, acked.delivered_ce_packets);
        self.delay.update(&self.params, now, srtt);
        self.adjust_delay_target(now);
        self.update_window(now, &acked);
        self.update_target(now);
        self.rested = self.wnd.is_rested(now, self.params.pacing_rest);
        self.silence.plan(srtt);
        self.set_sending();
    }

    /// Round trip and queue delay, where the newest packet tells of the path.
    fn measure_path(&mut self, now: Time, report: &PacketsReport<'_>, acked: &Acked) {
        let Some((sent, arrived)) = acked.newest.filter(|(sent, _)| self.silence.tells_path(now, *sent))
        else {
            return;
        };
        if sent >= self.silence.given_up_before {
            self.measure_round_trip(now, now.saturating_since(sent));
            self.measure_hold_time(report);
        }
        let Some(arrived) = arrived else { return };
        let sample = Sample::of(&self.params, report, (sent, arrived), self.delay.told);
        self.delay.told = sent;
        self.delay.on_sample(&self.params, now, self.delay_target, &sample);
        let (qdelay, srtt) = (self.delay.qdelay, self.srtt());
        if self.drift.on_sample(&self.params, now, srtt, qdelay, self.delay_target) == Remedy::Forget {
            self.delay.forget(now);
        }
    }

    fn measure_round_trip(&mut self, now: Time, sample: TimeDelta) {
        let params = &self.params;
        let alpha =
            if self.is_limited() { params.srtt_gain_limited } else { crate::scream::round_trip::ALPHA };
        if params.srtt_per_report {
            self.round_trip.sample_each(alpha, sample);
        } else {
            self.round_trip.sample_with(params.srtt_prefilter, alpha, now, sample);
        }
    }

    /// The receiver holds a report from its first packet on.
    fn measure_hold_time(&mut self, report: &PacketsReport<'_>) {
        let gain = self.params.feedback_hold_time_avg_g;
        if gain == 0.0 || self.is_limited() {
            return;
        }
        let arrivals = || {
            report.packets.iter().filter_map(|packet| match packet.status {
                Status::Received { arrived, .. } => arrived,
                Status::Missing => None,
            })
        };
        if let (Some(first), Some(last)) = (arrivals().min(), arrivals().max()) {
            let held = last.saturating_since(first).as_secs_f64();
            self.hold_time += if self.hold_time == 0.0 { held } else { gain * (held - self.hold_time) };
        }
    }

    /// Whether the application sends less than it may: then a shorter round trip is its doing.
    fn is_limited(&self) -> bool {
        let arrives = self.acked.rate.is_some_and(|rate| rate < self.params.limited_rate * self.target);
        arrives && max_allowed(&self.params, &self.flight, self.mss) < self.wnd.ref_wnd
    }

    /// Section 4.5.4. Its histories hold 10 and 2.5 s, as in SCReAM v1.
    fn adjust_delay_target(&mut self, now: Time) {
        if !self.params.competing_flow_compensation || now < self.competing_due {
            return;
        }
        self.competing_due = now + COMPETING_INTERVAL;
        let limits = [self.params.qdelay_target_lo, self.params.qdelay_target_hi];
        let (delay, losses) = (self.delay.qdelay, self.losses.loss_event_rate);
        self.delay_target = self.competing.adjust(limits, self.delay_target, delay, losses);
    }

    fn update_window(&mut self, now: Time, acked: &Acked) {
        let loop_time = self.loop_time();
        if loop_time > 0.0 && !core::mem::replace(&mut self.reported, true) && self.params.first_wnd_from_rate
        {
            self.wnd.set(&self.params, self.target * loop_time / 8.0, self.mss);
        }
        let at_highest = self.target >= self.bounds.1;
        let most = self.bounds.1 * loop_time / 8.0 * self.params.packet_pacing_headroom;
        let low = self.params.acked_bitrate_margin * self.acked.rate.unwrap_or(0.0);
        let input = Input {
            now,
            srtt: self.srtt(),
            loop_time,
            acked: (acked.newly_acked.as_f64(), acked.delivered_ce.as_f64()),
            loss: acked.lost > 0,
            marked: acked.delivered_ce_packets > 0,
            alpha: self.proportional(),
            target: self.delay_target,
            delay: &self.delay,
            losses: &self.losses,
            flight: &self.flight,
            mss: self.mss,
            most: at_highest.then_some(most),
            undershoots: self.target < low,
        };
        let (event, rested) = self.wnd.update(&self.params, &input);
        if rested && event == Some(Event::Ce) {
            self.alpha.alpha = self.alpha.alpha.max(self.params.l4s_alpha_rested);
        }
    }

    /// Section 4.4: the target follows the window. Before a round trip is known it is the first.
    pub(super) fn update_target(&mut self, now: Time) {
        let loop_time = self.loop_time() + self.params.rate_rtt_margin.as_secs_f64();
        if self.round_trip.smoothed().is_none() || loop_time <= 0.0 {
            return;
        }
        let part = self.media.target_part(&self.params, self.wnd.ratio(self.mss), self.mss);
        self.set_target(part * self.drift.part(now) * 8.0 * self.wnd.ref_wnd / loop_time);
    }
}
