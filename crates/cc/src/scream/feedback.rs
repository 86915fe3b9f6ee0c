//! The steps on a report: acknowledgements, events, measured rates, and the update of the window with its inputs.

use super::delay_trend::{HISTORY, SAMPLE_INTERVAL};
use super::media_rate::Event;
use super::usual_loss::LossReport;
use super::window::WindowInput;
use super::{Scream, Stream, round_trip};
use crate::{Acked, PacketsReport, StreamId, StreamSet, TargetChange};
use paceline_units::{Time, TimeDelta};

/// Seconds of delay that are no queue: receivers tell arrivals by steps of a millisecond.
const EMPTY_QUEUE: f64 = 0.002;
/// A longer time without a report is a silence.
const LONGEST_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// A history that is filled anew needs no more samples.
const LONGEST_GAP_SAMPLES: i64 = HISTORY as i64 - 1;

impl Scream {
    /// Takes a report in. Answers which targets changed. Always in line, with its parts: each then has what the part before it looked up.
    #[inline(always)]
    pub(super) fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) -> TargetChange {
        let was_slow = self.silence.on_report(now);
        if self.params.ramp_up_reports {
            self.average_interval(now);
        }
        self.before_report = (self.in_flight, self.window.cwnd);
        self.flight.sample(now, self.in_flight.as_u64());
        let (loss, ce) = self.take_acknowledgements(now, report);
        let target = match self.due_event(now, loss, ce) {
            Some(loss) => self.react(now, loss),
            None => TargetChange::None,
        };
        if was_slow {
            self.set_pacing();
        }
        self.measure_rates(now);
        if now >= self.window_due {
            self.window_due = now + self.params.cwnd_update_interval;
            self.update_window(now);
        }
        self.silence.plan(self.srtt());
        self.allow_flight();
        target
    }

    /// Averages the interval between reports; a silence is none.
    #[inline]
    fn average_interval(&mut self, now: Time) {
        let interval =
            self.last_report.replace(now).map_or(TimeDelta::ZERO, |last| now.saturating_since(last));
        if interval <= LONGEST_INTERVAL {
            self.report_interval += round_trip::ALPHA * (interval.as_secs_f64() - self.report_interval);
        }
    }

    /// Acknowledgements, delay, round trip and marks of a report. Answers whether there were losses, and CE.
    #[inline(always)]
    fn take_acknowledgements(&mut self, now: Time, report: &PacketsReport<'_>) -> (bool, bool) {
        let acked = match (&mut self.streams[..], report.packets) {
            ([stream], [packet]) if packet.stream == StreamId(0) => {
                let acked = stream.detector.on_packet(now, packet);
                stream.on_acked(acked)
            }
            ([stream], _) => {
                let acked = stream.detector.on_report(now, report.of_stream(0));
                stream.on_acked(acked)
            }
            (streams, _) => {
                let each = streams.iter_mut().enumerate();
                let acked = each.map(|(id, stream)| {
                    let acked = stream.detector.on_report(now, report.of_stream(id));
                    stream.on_acked(acked)
                });
                let acked = acked.reduce(Acked::and).unwrap_or_default();
                acked.and(self.release_tails(now))
            }
        };
        self.count_in_flight();
        if self.silence.is_interrupted() {
            self.resume(now, &acked);
        }
        self.pending.acked += acked.newly_acked.as_u64();
        if let Some((sent, arrived)) = acked.newest.filter(|(sent, _)| self.silence.tells_path(now, *sent)) {
            if sent >= self.silence.given_up_before {
                self.round_trip.sample(self.params.srtt_prefilter, now, now.saturating_since(sent));
            }
            if let Some(arrived) = arrived {
                self.sample_delay(now, report, sent, arrived);
            }
        }
        let (lost, marked) = (acked.lost > 0, acked.delivered_ce.as_u64());
        let congested = if self.params.loss_deviations > 0.0 {
            let lost = f64::from(acked.lost) - f64::from(acked.spurious);
            let packets = f64::from(acked.delivered_packets) + lost;
            let queue_is_empty = self.usual_loss.waits()
                && self.delay() <= EMPTY_QUEUE.max(self.mss.as_bits_f64() / self.target_rate());
            let report = LossReport { now, srtt: self.srtt(), packets, lost, queue_is_empty };
            self.usual_loss.count(&self.params, &report)
        } else {
            lost
        };
        self.shares.on_report(
            &self.params,
            now,
            self.round_trip.seconds(),
            acked.delivered.as_u64(),
            marked,
            lost,
        );
        (congested, marked > 0)
    }

    /// The queue delay by the newest packet of a report or, with `delay_span`, by the one of late that waited least.
    #[inline]
    fn sample_delay(&mut self, now: Time, report: &PacketsReport<'_>, sent: Time, arrived: Time) {
        self.base.sample(now, sent, arrived);
        if self.standing.span > TimeDelta::ZERO {
            self.take_least(report, sent, arrived);
        }
    }

    /// The queue delay by the packet of late that waited least. The newest one of the report is given.
    #[inline(never)]
    fn take_least(&mut self, report: &PacketsReport<'_>, sent: Time, arrived: Time) {
        let above = self.standing.above_least(report, (sent, arrived));
        self.base.queue_delay = self.standing.take(sent, self.base.queue_delay, above);
    }

    /// The event to react to now, if any, and whether it is a loss. At most one reaction per smoothed round trip, loss
    /// and ECN together; what comes meanwhile is ignored or, with `events_held`, waits until that is over.
    #[inline]
    fn due_event(&mut self, now: Time, loss: bool, ce: bool) -> Option<bool> {
        let (held_loss, held_ce) = self.held_events;
        let (loss, ce) = (loss || held_loss, ce || held_ce);
        if !loss && !ce {
            return None;
        }
        let srtt = self.srtt();
        let due = self.last_event.is_none_or(|last| now.saturating_since(last) > srtt);
        self.held_events = (loss && !due && self.params.events_held, ce && !due && self.params.events_held);
        due.then_some(loss)
    }

    /// Loss and ECN lower the media rate; the window follows at its next update.
    #[cold]
    fn react(&mut self, now: Time, loss: bool) -> TargetChange {
        self.last_event = Some(now);
        self.pending.loss |= loss;
        self.pending.ce |= !loss;
        let event = if loss { Event::Loss } else { Event::Ce };
        let mut changed = StreamSet::default();
        for id in 0..self.streams.len() {
            let congestion = self.congestion_for(now, id);
            let stream = &mut self.streams[id];
            if stream.media.on_event(&self.params, now, event, &congestion, &stream.rates) {
                changed = changed.with(StreamId(id as u8));
            }
        }
        TargetChange::Streams(changed)
    }

    #[inline]
    pub(super) fn measure_rates(&mut self, now: Time) {
        if now >= self.rates_due {
            self.close_rate_intervals(now);
        }
    }

    #[cold]
    fn close_rate_intervals(&mut self, now: Time) {
        self.rates_due = Time::MAX;
        for stream in &mut self.streams {
            if stream.rates.update(&self.params, now) {
                stream.media.adapt_scale(&self.params, &stream.rates);
            }
            self.rates_due = self.rates_due.min(stream.rates.due(&self.params));
        }
    }

    /// The window's update, its inputs first: base delay, averages, and every 50 ms the trend and what hangs on it.
    fn update_window(&mut self, now: Time) {
        self.base_reset.check(&self.params, now, self.delay_target, &mut self.base);
        if self.params.delay_noise_gain > 0.0 {
            self.standing.look(now, self.delay());
        }
        let fraction = self.delay() / self.delay_target;
        self.trend.average_in(&self.params, now, fraction);
        let sample = now >= self.sample_due;
        if sample {
            let since_start = self.started.map_or(TimeDelta::ZERO, |start| now.saturating_since(start));
            for _ in 0..self.samples_due(now) {
                self.trend.sample(&self.params, since_start, fraction);
                self.adjust_delay_target();
            }
            self.sample_due = now + SAMPLE_INTERVAL;
            self.flight_limit = self.flight.limit(&self.params, self.trend.trend);
        }
        let pending = core::mem::take(&mut self.pending);
        let input = WindowInput {
            acked: pending.acked as f64,
            in_flight: self.in_flight.as_f64(),
            before: self.before_report.0.as_f64(),
            loss: pending.loss,
            ce: pending.ce,
            alpha: self.alpha(),
            delay_fraction: fraction,
            trend: self.trend.trend,
            mss: self.mss.as_f64(),
            rate: self.current_rate(),
            flight_limit: self.flight_limit,
        };
        let was_fast = self.window.in_fast_increase;
        self.window.update(&self.params, now, &input);
        if was_fast && !self.window.in_fast_increase && !(input.loss || input.ce) {
            self.keep_inflections();
        }
        if sample || !self.params.pace_from_target {
            self.set_pacing();
        }
    }

    /// How many samples of the histories this report stands for: with `history_by_time` one for each interval since the
    /// last, so that histories hold the same time however seldom reports come.
    fn samples_due(&self, now: Time) -> u32 {
        if !self.params.history_by_time || self.sample_due == Time::ZERO {
            return 1;
        }
        let late = now.saturating_since(self.sample_due).as_nanos() / SAMPLE_INTERVAL.as_nanos();
        1 + late.clamp(0, LONGEST_GAP_SAMPLES) as u32
    }

    /// The tails of streams that fell silent: the reports on other streams show that theirs is overdue.
    fn release_tails(&mut self, now: Time) -> Acked {
        let newest = self.streams.iter().map(|stream| stream.detector.newest_acked_sent()).max();
        let newest = newest.unwrap_or(Time::ZERO);
        let overdue = self.silence.interval();
        let release = |stream: &mut Stream| {
            let sent_before = newest - overdue - stream.detector.reorder_window();
            stream.detector.release_tail(now, sent_before)
        };
        self.streams.iter_mut().map(release).reduce(Acked::and).unwrap_or_default()
    }

    /// In RFC 8298 the end of fast increase is congestion detected; the reference keeps its own rule.
    fn keep_inflections(&mut self) {
        if self.params.inflection_interval == TimeDelta::MAX {
            for stream in &mut self.streams {
                stream.media.on_fast_increase_left(&self.params, &stream.rates);
            }
        }
    }

    fn adjust_delay_target(&mut self) {
        if self.params.competing_flow_compensation {
            let (delay, losses) = (self.delay(), self.shares.loss_event_rate);
            let limits = [self.params.qdelay_target_lo, self.params.qdelay_target_hi];
            self.delay_target = self.competing.adjust(limits, self.delay_target, delay, losses);
        } else if self.params.delay_target_packets + self.params.delay_noise_gain > 0.0 {
            self.delay_target =
                self.standing.target(&self.params, self.mss.as_bits_f64(), self.target_rate());
        }
    }
}

impl Stream {
    /// Takes a report's acknowledgements of the stream.
    #[inline]
    fn on_acked(&mut self, acked: Acked) -> Acked {
        // A packet that a lost report named counts for `rate_ack`: without it the rate would seem to fall with the reports.
        self.rates.on_delivered(acked.presumed);
        acked
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Params, Scream};
    use crate::{Controller, FlowSetup, PacketResult, PacketsReport, Report, SentPacket, Status, StreamId};
    use alloc::vec;
    use paceline_units::{Bytes, Ecn, Time, TimeDelta};

    const AT: [u64; 4] = [1000, 1050, 1101, 1102];

    /// With a round trip of 100 ms, a CE at the first of `AT` (ms) and a loss at the second: for each, whether it reacts,
    /// and to a loss.
    fn reactions(held: bool) -> [Option<bool>; 4] {
        let params = Params { events_held: held, ..Params::rfc8298() };
        let mut scream = Scream::new(&params, &FlowSetup::new(Bytes::new(1200)));
        scream.round_trip.sample(1.0, Time::ZERO, TimeDelta::from_millis(100));
        AT.map(|at| {
            let now = Time::from_nanos(at * 1_000_000);
            let due = scream.due_event(now, at == AT[1], at == AT[0]);
            if let Some(loss) = due {
                scream.react(now, loss);
            }
            due
        })
    }

    #[test]
    fn an_event_within_a_round_trip_after_a_reaction_is_ignored_or_waits() {
        assert_eq!(reactions(false), [Some(false), None, None, None]);
        assert_eq!(reactions(true), [Some(false), None, Some(true), None]);
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn send(scream: &mut Scream, now: u64, stream: u8, sequence: u64) {
        let size = Bytes::new(1000);
        let packet = SentPacket { stream: StreamId(stream), sequence, size, probe: None, app_limited: false };
        let _ = scream.on_sent(at(now), &packet);
    }

    /// The packet, sent at `sent` (ms), arrived 20 ms later; the report comes at `now`.
    fn acknowledge(scream: &mut Scream, now: u64, stream: u8, sequence: u64, sent: u64) {
        let status = Status::Received { arrived: Some(at(sent + 20)), ecn: Ecn::NotEct };
        let size = Bytes::new(1000);
        let packets = [PacketResult { stream: StreamId(stream), sequence, size, sent: at(sent), status }];
        let clock_step = TimeDelta::from_micros(977);
        let _ = scream.on_report(
            at(now),
            &Report::Packets(PacketsReport { packets: &packets, clock_step, ambiguous: false }),
        );
    }

    /// Two streams send a packet each 20 ms over a round trip of 40 ms. The second falls silent at 200 ms, and its last packet is lost.
    #[test]
    fn the_tail_of_a_stream_that_falls_silent_is_released_within_two_round_trips() {
        let setup = FlowSetup { priorities: vec![1.0, 1.0], ..FlowSetup::new(Bytes::new(1200)) };
        let mut scream = Scream::new(&Params::rfc8298(), &setup);
        let mut released = None;
        for n in 0..40u64 {
            let now = n * 20;
            if n >= 2 {
                acknowledge(&mut scream, now, 0, n - 2, now - 40);
                if n - 2 < 9 {
                    acknowledge(&mut scream, now, 1, n - 2, now - 40);
                }
            }
            let tail = scream.streams[1].detector.in_flight();
            if now > 240 && tail == Bytes::ZERO {
                released = released.or(Some(now));
            }
            send(&mut scream, now, 0, n);
            if n < 10 {
                send(&mut scream, now, 1, n);
            }
        }
        // Sent at 180 ms: two round trips later it is 260 ms.
        let when = released.expect("released");
        assert!(when <= 260, "{when} ms");
        assert!(scream.shares.loss_event_rate > 0.0, "it counts as lost");
    }

    /// Reports every 20 ms until 200 ms, then none: the pace falls after three intervals, half a second later contact is lost, and
    /// the target never rises. A report of what was given up brings window and target back, if it comes soon.
    #[test]
    fn silence_lowers_the_pace_then_the_window_and_soon_they_come_back() {
        let mut scream = Scream::new(&Params::rfc8298(), &FlowSetup::new(Bytes::new(1200)));
        for n in 0..=10u64 {
            send(&mut scream, n * 20, 0, n);
            if n >= 2 {
                acknowledge(&mut scream, n * 20, 0, n - 2, n * 20 - 40);
            }
        }
        let (cwnd, target) = (scream.window.cwnd, scream.target_rate());
        let (first, _) = scream.next_timeout().expect("a report is waited for");
        assert_eq!(first, at(200 + 3 * 20));
        let _ = scream.on_timeout(first);
        assert_eq!((scream.silence.halvings, scream.silence.is_contact_lost()), (1, false));
        let mut now = first;
        while !scream.silence.is_contact_lost() {
            (now, _) = scream.next_timeout().expect("a report is waited for");
            let _ = scream.on_timeout(now);
        }
        assert_eq!(now, at(700));
        assert_eq!(
            (scream.in_flight, scream.window.cwnd, scream.target_rate()),
            (Bytes::ZERO, 3000.0, target / 2.0)
        );
        acknowledge(&mut scream, 800, 0, 9, 180);
        assert_eq!((scream.window.cwnd, scream.target_rate(), scream.silence.halvings), (cwnd, target, 0));
    }
}
