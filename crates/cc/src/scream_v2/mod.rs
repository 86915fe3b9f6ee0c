//! SCReAM v2: self-clocked rate adaptation for multimedia (draft-ietf-ccwg-rfc8298bis-screamv2-01).
//!
//! A reference window follows marks, losses and queue delay; the target bitrate is what it lets through in a round trip. Names are of
//! files in this folder, or of [`crate::scream`], with which it shares them:
//!
//! | part | section | file |
//! |---|---|---|
//! | fraction of marked packets | 4.2.1.3 | `alpha` |
//! | queue delay, its average and its variation | 4.2.1.4 | `queue_delay`, and `base_delay` of v1 |
//! | reference window | 4.2.2 | `ref_wnd`, `flight` |
//! | send window and pacing | 4.3 | `sending` |
//! | target bitrate | 4.4 | `media` |
//! | clock drift and standing queues | 4.5.1 | `drift` |
//! | losses that count, rate policers | 4.5.2 | `losses` |
//! | competing flows | 4.5.4 | `competing` of v1 |
//! | reports that stay away | none | `silence`, and `silence` of v1 |
//!
//! DEVIATIONS.md beside this file says how it works in plain words, and where it differs from the draft and the two programs.

mod alpha;
mod controller;
mod drift;
mod feedback;
mod flight;
mod losses;
mod media;
mod params;
mod queue_delay;
mod ref_wnd;
mod sending;
mod silence;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::media_streams::MediaStreams;
use crate::scream::competing::CompetingFlows;
use crate::scream::round_trip::RoundTrip;
use crate::scream::silence::Silence;
use crate::{FlowSetup, Pacing};
use alpha::Alpha;
use drift::Drift;
use flight::Flight;
use losses::Losses;
use media::{AckedBitrate, Media};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use queue_delay::QueueDelay;
use ref_wnd::RefWnd;
use silence::Kept;

/// The sender half. It has no receiver half: RFC 8888 reports carry all it needs.
///
/// `assign` overwrites the reference window and the target bitrate. Times of congestion, the inflection point and all averages stay.
#[derive(Clone, Debug)]
pub struct ScreamV2 {
    params: Params,
    l4s: bool,
    mss: f64,
    /// Limits and packets of each stream, and lowest and highest target of all together in bit/s.
    streams: MediaStreams,
    bounds: (f64, f64),
    wnd: RefWnd,
    alpha: Alpha,
    delay: QueueDelay,
    drift: Drift,
    losses: Losses,
    competing: CompetingFlows,
    competing_due: Time,
    /// Target of the queue delay (`qdelay_target`), in seconds.
    delay_target: f64,
    flight: Flight,
    in_flight: Bytes,
    media: Media,
    acked: AckedBitrate,
    round_trip: RoundTrip,
    /// Average time from a report's first packet to its last, seconds.
    hold_time: f64,
    /// `target_bitrate` of all streams, bit/s.
    target: f64,
    silence: Silence<Kept>,
    /// Bytes that may be in flight.
    flight_allowed: Bytes,
    pacing: Pacing,
    /// Whether the window was not reduced for long.
    rested: bool,
    /// Target that was said last.
    said: Option<Bitrate>,
    /// Whether a round trip was known when a report came.
    reported: bool,
}

impl ScreamV2 {
    /// A sender that has sent nothing. A flow without streams gets one.
    pub fn new(params: &Params, setup: &FlowSetup) -> ScreamV2 {
        let streams = MediaStreams::new(
            setup,
            (params.target_bitrate_min, params.target_bitrate_max),
            (params.reorder_window, params.reorder_window_max),
        );
        let mss = setup.largest_packet.as_f64();
        let mut scream = ScreamV2 {
            l4s: setup.l4s,
            mss,
            media: Media::new(streams.count()),
            streams,
            bounds: (0.0, 0.0),
            wnd: RefWnd::new(params, mss),
            alpha: Alpha::new(params),
            delay: QueueDelay::new(params),
            drift: Drift::new(),
            losses: Losses::default(),
            competing: CompetingFlows::new(),
            competing_due: Time::ZERO,
            delay_target: params.qdelay_target_lo.as_secs_f64(),
            flight: Flight::default(),
            in_flight: Bytes::ZERO,
            acked: AckedBitrate::default(),
            round_trip: RoundTrip::default(),
            hold_time: 0.0,
            target: params.target_bitrate_start.as_bps_f64(),
            silence: Silence::new(params.patience()),
            flight_allowed: Bytes::ZERO,
            pacing: Pacing::Off,
            rested: true,
            said: None,
            reported: false,
            params: params.clone(),
        };
        scream.find_bounds();
        scream
    }

    /// Finds the limits of the target.
    fn find_bounds(&mut self) {
        let (min, max) = self.streams.targets();
        self.bounds = (min.min(max), max);
        if self.said.is_none() {
            self.target = self.params.target_bitrate_start.as_bps_f64();
        }
        self.set_target(self.target);
        self.set_sending();
    }

    /// `target_bitrate`, within its limits.
    fn set_target(&mut self, target: f64) {
        let (min, max) = self.bounds;
        self.target = target.min(max).max(min);
    }

    /// The smoothed round trip; zero before the first.
    #[inline]
    fn srtt(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    /// The time from sending to a report, on average, in seconds; 0 before the first round trip.
    fn loop_time(&self) -> f64 {
        self.round_trip.seconds() + self.hold_time
    }

    /// `l4s_alpha`, where marks are answered in proportion.
    fn proportional(&self) -> Option<f64> {
        (self.l4s || !self.params.classic_ecn).then_some(self.alpha.alpha)
    }
}
