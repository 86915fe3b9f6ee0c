//! Tempo: a rate that grows until a queue stands, and then lets it drain. Ours.

mod controller;
mod frames;
mod law;
mod losses;
mod marks;
mod others;
mod params;
mod path;
mod policer;
mod recent;
mod signals;
#[cfg(test)]
mod tests;
mod trains;

pub use params::Params;

use crate::media_room::MediaRoom;
use crate::media_streams::{LOWEST, MediaStreams};
use crate::said::Said;
use crate::silence::Silence;
use crate::window::RoundTrip;
use crate::{FlowSetup, PacketsReport};
use law::{Law, Phase};
use paceline_units::{Bitrate, Time, TimeDelta};
use path::Path;
use signals::Signals;

/// The standing queue is looked for over so many frame intervals: the first packet of a frame does not wait for the others.
const FRAMES: f64 = 1.25;
/// Reports and frames are at least so many seconds apart.
const SHORTEST_GAP: f64 = 0.02;

/// The sender of one flow. `assign` overwrites the rate.
#[derive(Clone, Debug)]
pub struct Tempo {
    params: Params,
    streams: MediaStreams,
    /// Lowest and highest rate, in bit/s.
    bounds: (f64, f64),
    path: Path,
    law: Law,
    room: MediaRoom,
    silence: Silence,
    round_trip: RoundTrip,
    /// Whether media was offered, or something was sent.
    begun: bool,
    /// Size of the largest packet in bits.
    largest_packet: f64,
    /// Whether marks are answered in proportion.
    l4s: bool,
    said: Said,
}

impl Tempo {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Tempo {
        let streams = MediaStreams::new(
            setup,
            (params.target_bitrate_min, params.target_bitrate_max),
            (params.reorder_window, params.reorder_window_max),
        );
        let bounds = bounds(params, &streams);
        let start = params.target_bitrate_start.as_bps_f64().clamp(bounds.0, bounds.1);
        Tempo {
            streams,
            bounds,
            path: Path::new(params),
            law: Law::new(start),
            room: MediaRoom::new(),
            silence: Silence::new(params.feedback_patience),
            round_trip: RoundTrip::default(),
            begun: false,
            largest_packet: setup.largest_packet.as_bits_f64().max(1.0),
            l4s: setup.l4s,
            said: Said::NOTHING,
            params: params.clone(),
        }
    }

    fn round_trip(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let acked = self.streams.acknowledge(now, report, self.silence.interval());
        let told = self.path.on_arrivals(now, report.packets, acked.unreported, &self.silence);
        let tells_path = |sent| self.silence.tells_path(now, sent);
        self.path.on_acked(&acked, told, report.packets.last().is_some_and(|last| tells_path(last.sent)));
        if let Some((sent, _)) = acked.newest.filter(|(sent, _)| tells_path(*sent)) {
            let sample = now - sent;
            if !sample.is_negative() {
                self.round_trip.sample(sample);
            }
        }
    }

    /// The rate follows from what reports have told.
    fn update(&mut self, now: Time) {
        self.path.reports.note(now);
        let frame = self.path.frames.longest();
        let span = (FRAMES * frame).max(self.law.others.span(&self.params));
        let usual = self.params.standing_span.as_secs_f64() * self.path.stretched(&self.params);
        self.path.set_span(TimeDelta::from_secs_f64(span.max(usual)));
        if self.silence.is_outage() {
            return;
        }
        let rtt = self.round_trip.seconds();
        let response = rtt + frame.max(self.path.reports.longest()).max(SHORTEST_GAP);
        let signals = Signals {
            now,
            response,
            rtt,
            in_flight: self.streams.in_flight().as_bits_f64(),
            packet: self.largest_packet,
            l4s: self.l4s,
            held_back: self.silence.is_answered(),
        };
        self.law.update(&self.params, &signals, &mut self.path);
        self.law.rate = self.law.rate.clamp(self.bounds.0, self.bounds.1);
    }

    /// The rate, or less of it while no reports come.
    fn usable(&self) -> f64 {
        (self.law.rate * self.silence.factor()).max(LOWEST)
    }

    /// Target of the encoder and pace.
    fn rates(&self) -> (Bitrate, Bitrate) {
        let usable = self.usable();
        let target = self.room.target(usable, self.params.media_part, self.params.queue_drain);
        let pace = match self.law.phase {
            // The first key frame is large, and the rate has only begun to double.
            Phase::Start => self.params.start_pace,
            Phase::Growth => self.params.pace,
            // A queue would not drain at more than the rate, where the encoder does not follow.
            Phase::Drain => 1.0,
        };
        (target.max(Bitrate::from_bps_f64(LOWEST)), Bitrate::from_bps_f64(usable * pace))
    }
}

/// The limits of the rate. It is more than the media by the room for frames that vary.
fn bounds(params: &Params, streams: &MediaStreams) -> (f64, f64) {
    let (min, max) = streams.bounds();
    (min, (max / params.media_part).max(min))
}
