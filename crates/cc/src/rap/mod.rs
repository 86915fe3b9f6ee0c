//! RAP, the Rate Adaptation Protocol: a gap between packets with additive increase and multiplicative decrease.
//!
//! No text of the 1999 paper was at hand: what is here rests on the written facts of this project, and DEVIATIONS.md
//! beside this file says where they leave something open.

mod controller;
mod outstanding;
mod params;
mod round_trip;

pub use params::Params;

use crate::{Allowance, FlowSetup, Pacing, ReceiverRequest, StreamId, TargetChange, Update};
use alloc::vec::Vec;
use outstanding::Outstanding;
use paceline_units::{Bitrate, Time, TimeDelta};
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
    /// What is outstanding of each stream.
    streams: Vec<Outstanding>,
    /// Mean packet size in bytes.
    size: f64,
    /// Size of the largest packet in bytes.
    largest: f64,
    /// Packets sent since the last step.
    sent: u64,
    /// When the gap is due for its next step; absent while nothing is under way.
    step: Option<Time>,
    /// Time of the last step.
    stepped: Time,
    in_slow_start: bool,
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
            largest,
            sent: 0,
            step: None,
            stepped: Time::ZERO,
            in_slow_start: params.slow_start,
            said: false,
            params,
        }
    }

    fn set_ipg(&mut self, ipg: f64) {
        let (min, max) = (self.params.ipg_min.as_secs_f64(), self.params.ipg_max.as_secs_f64());
        self.ipg = ipg.min(max).max(min);
    }

    /// The gap as it is given to packets.
    fn gap(&self) -> TimeDelta {
        let stretched =
            if self.params.fine_grain { self.round_trip.fine_grain() * self.ipg } else { self.ipg };
        TimeDelta::from_secs_f64(stretched).min(self.params.ipg_max).max(self.params.ipg_min)
    }

    fn stream(&mut self, stream: StreamId) -> &mut Outstanding {
        let id = usize::from(stream.0);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, Outstanding::new);
        }
        &mut self.streams[id]
    }

    fn restart_step(&mut self, now: Time) {
        let srtt = TimeDelta::from_secs_f64(self.round_trip.srtt).max(SHORTEST_STEP);
        (self.step, self.stepped, self.sent) = (Some(now + srtt), now, 0);
    }

    /// Once a round trip: a packet more, if the packets that were due were sent.
    fn on_step(&mut self, now: Time) {
        let due = now.saturating_since(self.stepped).as_secs_f64() / self.ipg;
        let enough = self.sent as f64 * 100.0 >= self.params.dpthresh * due;
        if enough && self.sent > 0 && self.round_trip.is_known() {
            let srtt = self.round_trip.srtt;
            self.set_ipg(if self.in_slow_start {
                self.ipg / 2.0
            } else {
                self.ipg * srtt / (self.params.alpha * self.ipg + srtt)
            });
        }
        let idle = self.sent == 0 && self.streams.iter().all(Outstanding::is_empty);
        self.restart_step(now);
        if idle {
            self.step = None;
        }
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
            self.set_ipg(self.ipg / self.params.beta);
            self.in_slow_start = false;
            self.streams.iter_mut().for_each(Outstanding::deactivate);
            self.restart_step(now);
        }
        event
    }

    fn rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.size * 8.0 / self.gap().as_secs_f64())
    }

    fn answer(&mut self) -> Update {
        let request = (!self.said).then_some(ReceiverRequest::PacketsPerReport(1));
        self.said = true;
        Update {
            allowance: Some(Allowance::Unlimited),
            pacing: Some(Pacing::Gap(self.gap())),
            target: TargetChange::Total(self.rate()),
            receiver: request,
            ..Update::none()
        }
    }
}
