//! Sprout (Winstein, Sivaraman and Balakrishnan 2013): the arrivals of each 20 ms tell a distribution of the link's rate, and a cautious
//! forecast of its deliveries says how much may be under way.
//!
//! Both halves run at the sender, on reports of single packets. Names are of files in this folder:
//!
//! | part | section | file |
//! |---|---|---|
//! | deliveries of each tick, and which of them tell the link's rate | 3.2 | `ticks` |
//! | distribution of the link's rate | 3.1, 3.2 | `belief` |
//! | cautious forecast | 3.3 | `forecast` |
//! | Sprout-EWMA's forecast | 5.3 | `receiver` |
//! | queue occupancy, and the window | 3.5 | `window` |
//!
//! DEVIATIONS.md beside this file says how it works in plain words, and where it differs.

mod belief;
mod controller;
mod forecast;
mod gaussian;
mod heartbeat;
mod params;
mod pauses;
mod receiver;
#[cfg(test)]
mod tests;
mod ticks;
mod window;

pub use params::Params;

use crate::media_room::MediaRoom;
use crate::media_streams::{LOWEST, MediaStreams};
use crate::silence::Silence;
use crate::window::RoundTrip;
use crate::{Allowance, FlowSetup, Pacing, PacketsReport, ReceiverRequest, Status, TargetChange, Update};
use heartbeat::Heartbeat;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use pauses::Pauses;
use receiver::Receiver;
use window::Window;

/// The sender of one flow, and its receiver's arithmetic.
#[derive(Clone, Debug)]
pub struct Sprout {
    params: Params,
    streams: MediaStreams,
    receiver: Receiver,
    window: Window,
    room: MediaRoom,
    silence: Silence,
    heartbeat: Heartbeat,
    pauses: Pauses,
    round_trip: RoundTrip,
    /// Size on the link of the largest packet.
    largest: Bytes,
    /// Whether media was offered or sent.
    begun: bool,
    said: Option<(Bitrate, Bytes)>,
}

impl Sprout {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Sprout {
        let streams = MediaStreams::new(
            setup,
            (params.target_bitrate_min, params.target_bitrate_max),
            (params.reorder_window, params.reorder_window),
        );
        Sprout {
            streams,
            receiver: Receiver::new(params),
            window: Window::new(params),
            room: MediaRoom::new(),
            silence: Silence::new(params.feedback_patience),
            heartbeat: Heartbeat::new(params),
            pauses: Pauses::new(),
            round_trip: RoundTrip::default(),
            largest: setup.largest_packet,
            begun: false,
            said: None,
            params: params.clone(),
        }
    }

    fn round_trip(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    /// The first media is there: a forecast from nothing.
    fn begin(&mut self, now: Time) {
        if !core::mem::replace(&mut self.begun, true) {
            let forecast = self.receiver.forecast();
            self.window.on_forecast(now, forecast);
        }
    }

    /// Takes what a report says of each packet. Answers when the newest that it tells of was sent, if one arrived.
    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let mut newest = None;
        for packet in report.packets {
            let Some(detector) = self.streams.reported_of(packet.stream) else { continue };
            let acked = detector.on_packet(now, packet);
            newest = newest.max(acked.newest.map(|(sent, _)| sent));
            if let (Status::Received { arrived, .. }, true) = (packet.status, acked.delivered > Bytes::ZERO) {
                self.receiver.on_arrival(now, packet.sent, arrived, packet.size);
            }
        }
        if self.streams.count() > 1 {
            // Nothing is overtaken by more than the reordering window (the paper, 3.4).
            let _ = self.streams.release_tails(now, TimeDelta::ZERO);
        }
        self.receiver.take_in(&self.pauses);
        if let Some(sent) = newest {
            let sample = now - sent;
            if !sample.is_negative() {
                self.round_trip.sample(sample);
            }
        }
    }

    /// Bytes that may leave: the window to the nearest whole packet. A packet, or as many bytes in small ones, may always be in flight, so
    /// that arrivals tell of the link.
    fn allowance(&self) -> Bytes {
        let (window, largest) = (self.window.bytes(&self.params).as_u64(), self.largest.as_u64().max(1));
        let in_flight = if self.heartbeat.is_due { 0 } else { self.streams.in_flight().as_u64() };
        let whole = window.saturating_add(largest / 2) / largest * largest;
        Bytes::new(whole.max(largest.saturating_sub(in_flight)))
    }

    /// The rate that the forecast allows in bit/s: what it has within the look-ahead, or within a round trip if that is longer.
    fn rate(&self) -> f64 {
        let srtt = self.round_trip.seconds();
        let ahead = self.params.tick.as_secs_f64() * self.params.look_ahead as f64;
        let forecast = self.window.ahead(&self.params) * 8.0 / ahead.max(srtt);
        let single = if srtt > 0.0 { self.largest.as_bits_f64() / ahead.max(srtt) } else { 0.0 };
        forecast.max(single).max(LOWEST)
    }

    /// The same while reports come, and less of it while they do not.
    fn usable(&self) -> f64 {
        (self.rate() * self.silence.factor()).max(LOWEST)
    }

    fn target(&self) -> Bitrate {
        let target = self.room.target(self.usable(), self.params.media_part, self.params.queue_drain);
        let (min, max) = self.streams.targets();
        Bitrate::from_bps_f64(target.as_bps_f64().clamp(min.min(max), max).max(1.0))
    }

    /// Window and target, if they changed.
    fn answer(&mut self) -> Update {
        let now = (self.target(), self.allowance());
        let before = self.said.replace(now);
        let mut update = Update::none();
        if before.is_none_or(|(_, allowance)| allowance != now.1) {
            update.allowance = Some(Allowance::Bytes(now.1));
        }
        if before.is_none_or(|(target, _)| target != now.0) {
            update.target = TargetChange::Total(now.0);
        }
        if before.is_none() {
            // All that the window holds leaves at once.
            update.pacing = Some(Pacing::Off);
            update.receiver = Some(ReceiverRequest::ReportInterval(self.params.tick));
        }
        update
    }
}
