//! SCReAM as a controller: what it is told, and what it answers.

use super::{Scream, scheduler};
use crate::observe::state_variables;
use crate::{
    Assigned, CeResponse, Controller, Limits, Marking, Offered, Pacing, Report, SendQueueState, SentPacket,
    SentRun, Snapshot, StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

impl Controller for Scream {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        self.ensure_started(now);
        self.measure_rates(now);
        let id = usize::from(offered.stream.0);
        let congestion = self.congestion_for(now, id);
        let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
        stream.rates.on_offered(offered.bytes);
        stream.media.on_offered(now, queue);
        self.credits[id].waiting = queue.bytes.as_u64();
        let mut update = Update::none();
        if offered.frame_end {
            update.discard = stream.media.check_discard(&self.params, now);
            if stream.media.update(&self.params, now, &congestion, &stream.rates) {
                update.target = TargetChange::Streams(StreamSet::default().with(offered.stream));
            }
        }
        update.then(self.answer())
    }

    /// Always in line: it is short, and called for every packet.
    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.ensure_started(now);
        let id = usize::from(packet.stream.0);
        let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
        stream.detector.on_sent(now, packet.sequence, packet.size);
        stream.rates.on_sent(packet.size);
        if self.in_flight == Bytes::ZERO {
            self.silence.on_sent_from_rest(now, self.srtt());
        }
        self.count_in_flight();
        self.silence.on_sent(now);
        self.learn_mss(now, packet.size);
        if self.credits.len() > 1 {
            scheduler::on_sent(&mut self.credits, packet.stream, packet.size.as_u64());
        }
        Update { next_stream: self.next_stream(), ..Update::allow(self.send_window()) }
    }

    #[inline]
    fn on_run(&mut self, run: &SentRun) -> Option<Update> {
        let SentRun { packet: SentPacket { stream, size, .. }, count, .. } = *run;
        let learns = self.params.mss_learning > TimeDelta::ZERO
            && (size > self.mss.min(self.mss_seen) || run.last() >= self.mss_due);
        let [one] = &mut self.streams[..] else { return None };
        if stream != StreamId(0) || learns || self.in_flight == Bytes::ZERO {
            return None;
        }
        one.detector.on_run(run);
        one.rates.on_sent(Bytes::new(size.as_u64() * count));
        self.count_in_flight();
        self.silence.on_sent(run.last());
        Some(Update::allow(self.send_window()))
    }

    /// Always in line: an answer that goes through memory costs as much as a tenth of a report.
    #[inline(always)]
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match report {
            Report::Packets(packets) => {
                self.ensure_started(now);
                let target = self.on_packets(now, packets);
                Update { target, ..self.answer() }
            }
            _ => Update::none(),
        }
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let id = usize::from(queue.stream.0);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.media.set_queue(now, queue);
            self.credits[id].waiting = queue.bytes.as_u64();
        }
        Update { next_stream: self.next_stream(), ..Update::none() }
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        let Some(stream) = self.streams.get_mut(usize::from(limits.stream.0)) else { return Update::none() };
        let limits = limits.within(self.params.target_bitrate_min, self.params.target_bitrate_max);
        stream.media.set_limits(limits.min, limits.max);
        Update { target: TargetChange::Streams(StreamSet::default().with(limits.stream)), ..Update::none() }
    }

    fn on_stream(&mut self, now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.change_stream(now, stream, change)
    }

    fn on_marking(&mut self, _now: Time, marking: Marking) -> Update {
        self.l4s = marking == Marking::L4s;
        self.set_pacing();
        Update { pacing: Some(self.pacing), ..Update::none() }
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::Discard]
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        self.ensure_started(now);
        let srtt = self.round_trip.seconds();
        let (rate, window) = match assigned {
            Assigned::Rate(rate) => {
                let rate = rate.as_bps_f64();
                (Some(rate), (srtt > 0.0).then(|| self.window_for(rate, srtt)))
            }
            Assigned::Window(bytes) => {
                ((srtt > 0.0).then(|| bytes.as_bits_f64() / srtt), Some(bytes.as_f64()))
            }
        };
        if let Some(window) = window {
            self.window.assign(&self.params, window, self.mss.as_f64());
        }
        let mut update = Update::none();
        if let Some(rate) = rate {
            let total: f64 = self.streams.iter().map(|stream| stream.media.priority).sum();
            for stream in self.streams.iter_mut().filter(|stream| stream.media.priority > 0.0) {
                stream.media.assign(rate * stream.media.priority / total);
            }
            update.target = TargetChange::Streams(self.all_streams());
        }
        self.set_pacing();
        self.allow_flight();
        update.then(self.answer())
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.silence.due(self.in_flight)
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.next_timeout().is_none_or(|(due, _)| now < due) {
            return Update::none();
        }
        if self.silence.answers() {
            return self.on_silence(now);
        }
        self.forget_flight();
        self.answer()
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.streams.get(usize::from(stream.0)).map(|stream| stream.media.told())
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(self.window.bytes()),
            in_flight: Some(self.in_flight),
            srtt: self.round_trip.smoothed(),
            queue_delay: Some(self.base.queue_delay),
            target: Some(self.target_bitrates()),
        }
    }

    state_variables! { |self|
        qdelay_trend: "" = self.trend.trend, "Trend of the queue delay, 0 to 1";
        qdelay_fraction_avg: "" = self.trend.average, "Averaged queue delay over its target";
        qdelay_target: "ms" = self.delay_target * 1e3, "Target of the queue delay";
        skew: "ppm" = self.base.skew_ppm(), "By how much the receiver's clock is taken to run faster";
        in_fast_increase: "" = f64::from(u8::from(self.window.in_fast_increase)), "1 in fast increase";
        post_congestion: "" = self.window.post, "How far growth is back after congestion";
        l4s_alpha: "" = self.alpha(), "Averaged part of marked bytes";
        loss_event_rate: "" = self.shares.loss_event_rate, "Averaged part of round trips with losses";
        window_use: "" = self.window_use(), "Flight over window before the last report";
        rate_current: "Mbps" = self.current_rate() / 1e6, "Larger of transmitted and acknowledged rate";
        rate_media: "Mbps" = self.media_rate() / 1e6, "Measured rate of the encoder";
        target_last_max: "Mbps" = self.streams[0].media.last_max.map(|rate| rate / 1e6), "Last known highest target of the first stream; absent before the first";
        target_scale: "" = self.streams[0].media.scale, "Factor between target and encoder, first stream";
        pacing_rate: "Mbps" = self.pacing_mbps(), "Pacing rate; absent without pacing";
        reorder_window: "ms" = self.streams[0].detector.reorder_window().as_millis_f64(), "Reordering window of the loss detector, first stream";
    }
}

impl Scream {
    fn pacing_mbps(&self) -> Option<f64> {
        match self.pacing {
            Pacing::Off | Pacing::Gap(TimeDelta::ZERO) => None,
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => Some(rate.as_mbps_f64()),
            Pacing::Gap(gap) => Some(self.mss.as_bits_f64() / gap.as_secs_f64() / 1e6),
        }
    }
}
