//! RAP, the Rate Adaptation Protocol: a gap between packets with additive increase and multiplicative decrease.
//!
//! No text of the 1999 paper was at hand: what is here rests on the written facts of this project, and DEVIATIONS.md
//! beside this file says where they leave something open.

mod arrivals;
mod controller;
mod outstanding;
mod params;
mod round_trip;

pub use params::Params;

use crate::media_room::MediaRoom;
use crate::{Allowance, FlowSetup, Pacing, ReceiverRequest, SendQueueState, StreamId, TargetChange, Update};
use alloc::vec::Vec;
use arrivals::{Arrivals, INITIAL};
use outstanding::Outstanding;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use round_trip::RoundTrip;

/// The sender half. It has no receiver half: it asks for a report on each packet.
///
/// RAP steers packets, not bytes. A group's rates are of packets of the largest size, both in what it is told and in
/// what it assigns: if smaller packets lowered them, they would look like a loss.
#[derive(Clone, Debug)]
pub struct Rap {
    params: Params,
    round_trip: RoundTrip,
    /// The inter-packet gap in seconds.
    ipg: f64,
    /// Outstanding packets of each stream.
    streams: Vec<Outstanding>,
    arrivals: Arrivals,
    /// Since when the rate is above what arrives allows.
    too_fast_since: Option<Time>,
    /// Mean packet size in bytes.
    size: f64,
    /// Size of the packet that left last.
    last_size: Bytes,
    /// Size of the largest packet in bytes.
    largest: f64,
    /// Packets sent since the last step.
    sent: u64,
    /// When the gap is due for its next step; absent while nothing is under way.
    step: Option<Time>,
    /// Time of the last step.
    stepped: Time,
    in_slow_start: bool,
    /// The gap at which slow start ends; absent where the first loss event ends it.
    slow_start_end: Option<f64>,
    /// When a packet was acknowledged for the first time last.
    heard: Time,
    /// The gap after the first loss event since acknowledgements stay away, until the next one.
    before_silence: Option<f64>,
    /// Whether the packet that left last is to wait for the next gap, and not for the one that it left with.
    hurries: bool,
    room: MediaRoom,
    said: bool,
}

/// Weight of a packet in the mean packet size.
const SIZE_WEIGHT: f64 = 1.0 / 16.0;
/// No step is shorter, or it would be due again at once.
const SHORTEST_STEP: TimeDelta = TimeDelta::from_micros(1);

impl Rap {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Rap {
        let (params, largest) = (params.clone(), setup.largest_packet.as_f64().max(1.0));
        Rap {
            round_trip: RoundTrip::new(&params),
            ipg: params.ipg.as_secs_f64(),
            streams: Vec::new(),
            size: largest,
            last_size: setup.largest_packet,
            largest,
            sent: 0,
            step: None,
            stepped: Time::ZERO,
            in_slow_start: params.slow_start,
            slow_start_end: None,
            heard: Time::ZERO,
            before_silence: None,
            hurries: false,
            arrivals: Arrivals::new(),
            too_fast_since: None,
            room: MediaRoom::new(),
            said: false,
            params,
        }
    }

    fn set_ipg(&mut self, ipg: f64) {
        let (min, max) = (self.params.ipg_min.as_secs_f64(), self.params.ipg_max.as_secs_f64());
        self.ipg = ipg.min(max).max(min);
    }

    /// Stretches the gap to what arrives allows. True if it is longer by that.
    fn limit_ipg(&mut self, now: Time) -> bool {
        let shortest = 1.0 / self.arrivals.most(&self.params, self.srtt());
        if !self.round_trip.is_known() || self.ipg >= shortest {
            self.too_fast_since = None;
            return false;
        }
        let since = *self.too_fast_since.get_or_insert(now);
        let too_long = now.saturating_since(since) >= self.params.recv_limit_patience;
        if too_long {
            self.set_ipg(shortest);
        }
        too_long
    }

    fn srtt(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.round_trip.srtt).max(SHORTEST_STEP)
    }

    /// The gap as it is given to packets.
    fn gap(&self) -> TimeDelta {
        let stretched =
            if self.params.fine_grain { self.round_trip.fine_grain() * self.ipg } else { self.ipg };
        let Params { ipg_min, ipg_max, silence_gap, .. } = self.params;
        let most = if self.before_silence.is_some() { ipg_max.min(silence_gap) } else { ipg_max };
        TimeDelta::from_secs_f64(stretched).min(most).max(ipg_min)
    }

    /// The gap is given to each packet as it leaves. As a rate it holds for the packet that left last, too.
    fn pacing(&self) -> Pacing {
        let gap = self.gap();
        let rate = |bits: f64| Pacing::Rate(Bitrate::from_bps_f64((bits / gap.as_secs_f64()).max(1.0)));
        if self.before_silence.is_some() || self.comes_back() {
            // Frames are small then, and would fill the send queue with packets that wait a gap each.
            rate(self.largest * 8.0)
        } else if self.hurries {
            rate(self.last_size.as_bits_f64())
        } else {
            Pacing::Gap(gap)
        }
    }

    /// Whether slow start leads back to the gap of before a silence.
    fn comes_back(&self) -> bool {
        self.in_slow_start && self.slow_start_end.is_some()
    }

    fn stream(&mut self, stream: StreamId) -> &mut Outstanding {
        let id = usize::from(stream.0);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, Outstanding::new);
        }
        &mut self.streams[id]
    }

    fn restart_step(&mut self, now: Time) {
        (self.step, self.stepped, self.sent) = (Some(now + self.srtt()), now, 0);
    }

    /// Once a round trip: a packet more, if the packets that were due were sent.
    fn on_step(&mut self, now: Time) {
        let due = now.saturating_since(self.stepped).as_secs_f64() / self.ipg;
        let enough = self.sent as f64 * 100.0 >= self.params.dpthresh * due;
        let heard = self.round_trip.is_known() && self.before_silence.is_none();
        if enough && self.sent > 0 && heard {
            self.increase();
            self.limit_ipg(now);
        }
        let idle = self.sent == 0 && self.streams.iter().all(Outstanding::is_empty);
        self.restart_step(now);
        if idle {
            self.step = None;
        }
    }

    fn increase(&mut self) {
        let srtt = self.round_trip.srtt;
        if !self.in_slow_start {
            return self.set_ipg(self.ipg * srtt / (self.params.alpha * self.ipg + srtt));
        }
        let end = self.slow_start_end.unwrap_or(0.0);
        self.set_ipg((self.ipg / 2.0).max(end.min(self.ipg)));
        self.in_slow_start = self.ipg > end;
    }

    /// Looks for losses; all of a round trip are one event.
    fn find_losses(&mut self, now: Time) -> bool {
        let timeout = TimeDelta::from_secs_f64(self.round_trip.timeout(&self.params));
        let too_old = (now > Time::ZERO + timeout).then(|| now - timeout);
        let reorder = self.params.reorder;
        let mut event = false;
        for stream in &mut self.streams {
            event |= stream.give_up(reorder, too_old);
        }
        if event {
            let silent = now.saturating_since(self.heard) >= timeout && self.round_trip.is_known();
            if silent && self.params.silence_gap > TimeDelta::ZERO {
                self.before_silence.get_or_insert(self.ipg);
            }
            // In silence nothing arrives, and no report comes that could tell.
            let least = if silent { self.round_trip.srtt / INITIAL } else { 0.0 };
            self.set_ipg((self.ipg / self.params.beta).max(least));
            self.in_slow_start = false;
            self.streams.iter_mut().for_each(Outstanding::deactivate);
            self.restart_step(now);
        }
        event
    }

    /// A packet that left at `sent` is acknowledged, and none before that left later. Answers whether the gap changes.
    fn on_round_trip(&mut self, now: Time, sent: Time) -> bool {
        let sample = now.saturating_since(sent).as_secs_f64();
        self.heard = now;
        if self.end_silence(now) && sample > self.round_trip.srtt {
            // It may have waited for the end of an outage.
            return true;
        }
        let first = self.round_trip.on_sample(&self.params, sample);
        if first {
            self.set_ipg(self.round_trip.srtt);
            self.restart_step(now);
        }
        first || self.hurries
    }

    /// A packet is acknowledged after none was for a timeout: slow start leads back to where the first loss event of the silence was.
    fn end_silence(&mut self, now: Time) -> bool {
        let Some(before) = self.before_silence.take() else { return false };
        self.set_ipg(self.ipg.min(self.round_trip.least / INITIAL));
        (self.in_slow_start, self.slow_start_end) = (self.ipg > before, Some(before));
        self.hurries = true;
        // Losses among the rest belong to the silence.
        self.streams.iter_mut().for_each(Outstanding::deactivate);
        self.restart_step(now);
        true
    }

    /// The encoder's target. Its packets are smaller than the largest, but half as large in the mean where it needs several for a
    /// frame: those of a rate that is too low say nothing of the next one.
    fn target(&self) -> Bitrate {
        let rate = self.size.max(self.largest / 2.0) * 8.0 / self.gap().as_secs_f64();
        self.room.target(rate, self.params.media_part, self.params.media_drain)
    }

    /// The answer to media that waits, where it changes the target.
    fn answer_queue(&mut self, queue: &SendQueueState) -> Update {
        let before = self.target();
        self.room.on_queue(queue);
        let target = self.target();
        if target == before { Update::none() } else { Update::none().with_target(target) }
    }

    fn answer(&mut self) -> Update {
        let request = (!self.said).then_some(ReceiverRequest::PacketsPerReport(1));
        self.said = true;
        Update {
            allowance: Some(Allowance::Unlimited),
            pacing: Some(self.pacing()),
            target: TargetChange::Total(self.target()),
            receiver: request,
            ..Update::none()
        }
    }
}
