//! Tempo: a rate that grows until a queue stands, and then lets it drain. Ours.

mod controller;
mod law;
mod losses;
mod marks;
mod others;
mod params;
mod path;
mod recent;
mod signals;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::media_room::MediaRoom;
use crate::silence::Silence;
use crate::window::RoundTrip;
use crate::{DetectorConfig, FlowSetup, Limits, LossDetector, PacketsReport, StreamId, StreamSet};
use alloc::vec::Vec;
use law::{Law, Phase};
use paceline_units::{Bitrate, Time, TimeDelta};
use path::Path;
use signals::Signals;

/// No rate is lower, in bit/s.
const LOWEST: f64 = 5e3;
/// The standing queue is looked for over so many frame intervals: the first packet of a frame does not wait for the others.
const FRAMES: f64 = 1.25;
/// Reports and frames are at least so many seconds apart.
const SHORTEST_GAP: f64 = 0.02;
/// No limit is higher, in bit/s.
const HIGHEST: f64 = 1e12;

/// The sender of one flow. `assign` overwrites the rate.
#[derive(Clone, Debug)]
pub struct Tempo {
    params: Params,
    limits: Vec<Limits>,
    bounds: (f64, f64),
    detectors: Vec<LossDetector>,
    path: Path,
    law: Law,
    room: MediaRoom,
    silence: Silence,
    round_trip: RoundTrip,
    begun: bool,
    largest_packet: f64,
    l4s: bool,
    said: Option<(Bitrate, Bitrate)>,
}

impl Tempo {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Tempo {
        let streams = setup.priorities.len().clamp(1, FlowSetup::MOST_STREAMS) as u8;
        let (min, max) = (params.target_bitrate_min, params.target_bitrate_max);
        let limits: Vec<_> = (0..streams).map(|id| Limits { stream: StreamId(id), min, max }).collect();
        let bounds = bounds(params, &limits);
        let start = params.target_bitrate_start.as_bps_f64().clamp(bounds.0, bounds.1);
        Tempo {
            limits,
            bounds,
            detectors: Vec::new(),
            path: Path::new(params),
            law: Law::new(start),
            room: MediaRoom::new(),
            silence: Silence::new(params.feedback_patience),
            round_trip: RoundTrip::default(),
            begun: false,
            largest_packet: setup.largest_packet.as_bits_f64().max(1.0),
            l4s: setup.l4s,
            said: None,
            params: params.clone(),
        }
    }

    fn detector(&mut self, stream: StreamId) -> Option<&mut LossDetector> {
        let id = usize::from(stream.0);
        if id >= usize::from(StreamSet::CAPACITY) {
            return None;
        }
        if self.detectors.len() <= id {
            let config = DetectorConfig {
                packet_threshold: None,
                reorder_window: self.params.reorder_window,
                reorder_window_max: self.params.reorder_window_max,
                unreported_is_lost: false,
            };
            self.detectors.resize_with(id + 1, || LossDetector::new(config));
        }
        self.detectors.get_mut(id)
    }

    fn round_trip(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let mut newest = None;
        for packet in report.packets {
            let Some(detector) = self.detectors.get_mut(usize::from(packet.stream.0)) else { continue };
            let acked = detector.on_packet(now, packet);
            let tells_path = self.silence.tells_path(now, packet.sent);
            self.path.on_packet(&self.params, now, &acked, tells_path);
            if tells_path {
                newest = newest.max(acked.newest.map(|(sent, _)| sent));
            }
        }
        if let Some(sent) = newest {
            let sample = now - sent;
            if !sample.is_negative() {
                self.round_trip.sample(sample);
            }
        }
    }

    fn update(&mut self, now: Time) {
        self.path.reports.note(now);
        let frame = self.path.frames.longest();
        let span = (FRAMES * frame).max(self.law.others.span(&self.params));
        self.path.span = self.params.standing_span.max(TimeDelta::from_secs_f64(span));
        if self.silence.is_outage() {
            return;
        }
        let rtt = self.round_trip.seconds();
        let response = rtt + frame.max(self.path.reports.longest()).max(SHORTEST_GAP);
        let signals = Signals {
            now,
            response,
            rtt,
            packet: self.largest_packet,
            l4s: self.l4s,
            held_back: self.silence.is_answered(),
        };
        self.law.update(&self.params, &signals, &mut self.path);
        self.law.rate = self.law.rate.clamp(self.bounds.0, self.bounds.1);
    }

    fn usable(&self) -> f64 {
        (self.law.rate * self.silence.factor()).max(LOWEST)
    }

    /// Target of the encoder and pace.
    fn rates(&self) -> (Bitrate, Bitrate) {
        let usable = self.usable();
        let target = self.room.target(usable, self.params.media_part, self.params.queue_drain);
        // A queue would not drain at more than the rate, where the encoder does not follow.
        let pace = if self.law.phase == Phase::Drain { 1.0 } else { self.params.pace };
        (target.max(Bitrate::from_bps_f64(LOWEST)), Bitrate::from_bps_f64(usable * pace))
    }
}

/// The limits of all streams together; those of a single one while there is none.
fn bounds(params: &Params, limits: &[Limits]) -> (f64, f64) {
    let sum =
        |rate: fn(&Limits) -> Bitrate| limits.iter().map(|limits| rate(limits).as_bps_f64()).sum::<f64>();
    let (min, max) = match (sum(|limits| limits.min), sum(|limits| limits.max)) {
        (_, 0.0) => (params.target_bitrate_min.as_bps_f64(), params.target_bitrate_max.as_bps_f64()),
        sums => sums,
    };
    let min = min.clamp(LOWEST, HIGHEST);
    // The rate is more than the media by what frames that vary need.
    (min, (max / params.media_part).clamp(min, HIGHEST))
}
