//! NADA, Network-Assisted Dynamic Adaptation (RFC 8698): one signal of queue delay, losses and ECN marks, which a rate follows as a
//! proportional-integral controller does.
//!
//! Both halves run at the sender, on reports of single packets (section 6.4). Names are of files in this folder:
//!
//! | part | section | file |
//! |---|---|---|
//! | one-way delay, base delay, minimum filter | 5.1.1 | `queue_delay` of the crate |
//! | ratios of loss and marks, receiving rate, time for a message | 5.1.2, 5.1.3, 4.2 | `observation` |
//! | expiration of the last loss | 4.2 | `loss_interval` |
//! | warping, the aggregate signal, the mode | 4.2 | `signal` |
//! | reference rate | 4.3 | `reference_rate` |
//! | encoder's target and sending rate | 5.2.2 | `shaping` |
//!
//! DEVIATIONS.md beside this file says how it works in plain words, where it differs, and where the RFC is silent.

mod controller;
mod loss_interval;
mod observation;
mod params;
mod reference_rate;
mod shaping;
mod signal;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::media_room::MediaRoom;
use crate::media_streams::{LOWEST, MediaStreams};
use crate::said::Said;
use crate::silence::Silence;
use crate::window::RoundTrip;
use crate::{FlowSetup, PacketsReport};
use observation::Observation;
use paceline_units::{Time, TimeDelta};
use reference_rate::{Bounds, ReferenceRate};
use shaping::Rates;
use signal::Mode;

/// The sender of one flow, and its receiver's arithmetic.
///
/// `assign` overwrites `r_ref`, and with it the encoder's target and the sending rate (RFC 8699 section 6.1). The signal, its statistics
/// and the time of the last update stay.
#[derive(Clone, Debug)]
pub struct Nada {
    params: Params,
    /// RMIN and RMAX of each stream, and of all together.
    streams: MediaStreams,
    bounds: Bounds,
    observation: Observation,
    reference: ReferenceRate,
    room: MediaRoom,
    silence: Silence,
    round_trip: RoundTrip,
    /// `t_last`: when the rate was updated last, or media was first there.
    last: Option<Time>,
    /// The last message.
    rmode: Mode,
    x_curr: f64,
    r_recv: f64,
    /// Target and pace that were said last.
    said: Said,
}

impl Nada {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Nada {
        let streams = MediaStreams::new(
            setup,
            (params.target_bitrate_min, params.target_bitrate_max),
            (params.reorder_window, params.reorder_window_max),
        );
        let bounds = Bounds::of(&streams);
        Nada {
            streams,
            bounds,
            observation: Observation::new(params),
            reference: ReferenceRate::new(bounds.clip(params.target_bitrate_start.as_bps_f64())),
            room: MediaRoom::new(),
            silence: Silence::new(params.feedback_patience),
            round_trip: RoundTrip::default(),
            last: None,
            rmode: Mode::Gradual,
            x_curr: 0.0,
            r_recv: 0.0,
            said: Said::NOTHING,
            params: params.clone(),
        }
    }

    fn round_trip(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    /// Takes what a report says of each packet. Answers when the newest that it tells of was sent, if one arrived.
    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let (mut newest, rtt) = (None, self.round_trip());
        for packet in report.packets {
            let Some(detector) = self.streams.reported_of(packet.stream) else { continue };
            let acked = detector.on_packet(now, packet);
            let tells_path = self.silence.tells_path(now, packet.sent);
            // Packets that were overtaken say nothing of the path as it is.
            if let Some((sent, arrived)) = acked.newest {
                self.observation.on_delay(&self.params, now, (sent, arrived), tells_path);
            }
            if tells_path {
                self.observation.on_packet(now, rtt, &acked);
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

    /// A feedback message, if it is time for one (sections 4.2 and 4.3).
    fn update(&mut self, now: Time) {
        let delta = now.saturating_since(*self.last.get_or_insert(now));
        if delta < self.params.delta || self.silence.is_outage() {
            return;
        }
        self.last = Some(now);
        let feedback = self.observation.feedback(&self.params);
        let (before, rtt) = (self.reference.r_ref, self.round_trip());
        self.reference.on_feedback(&self.params, delta, rtt, &feedback, self.bounds);
        if self.silence.is_answered() {
            // Less than the rate is sent: that nothing waits says nothing for more.
            self.reference.r_ref = self.reference.r_ref.min(before);
        }
        (self.rmode, self.x_curr, self.r_recv) = (feedback.rmode, feedback.x_curr, feedback.r_recv);
    }

    /// `r_ref`, or less of it while no reports come: then less than RMIN leaves, too, whatever the encoder makes.
    fn usable(&self) -> f64 {
        (self.reference.r_ref * self.silence.factor()).max(LOWEST)
    }

    /// The present target and pace.
    fn rates(&self) -> Rates {
        shaping::rates(&self.params, self.bounds, self.usable(), self.room.waiting())
    }
}
