//! Sender transmission control: send window and pacing (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.3).

use super::{Params, ScreamV2};
use crate::Pacing;
use paceline_units::{Bitrate, Bytes, TimeDelta};

impl ScreamV2 {
    /// `send_wnd` (section 4.3.1).
    #[inline]
    pub(super) fn send_window(&self) -> Bytes {
        self.flight_allowed - self.in_flight
    }

    /// Finds what may be in flight, and the pace: to be called when the window, the target or what the path tells has changed.
    pub(super) fn set_sending(&mut self) {
        let params = &self.params;
        // Media that waited for reports would else leave in one go.
        let scale = if self.media.is_held_up() { 0.0 } else { self.delay.overhead_scale(params) };
        let overhead =
            params.ref_wnd_overhead_min + (params.ref_wnd_overhead_max - params.ref_wnd_overhead_min) * scale;
        // A packet always goes where nothing is in flight.
        self.flight_allowed = Bytes::new((self.wnd.ref_wnd * overhead).max(self.mss) as u64);
        self.pacing = self.pace();
    }

    /// Section 4.3.2. Half of it for each report interval of silence.
    fn pace(&self) -> Pacing {
        let params = &self.params;
        let slowest = params.rate_pace_min.as_bps_f64();
        let target = self.target.max(slowest);
        let head_room = params.packet_pacing_headroom * self.media.excess().min(params.pacing_frame_headroom);
        let usual = target * head_room / relaxed(params, self.target / self.bounds.1);
        let rate = usual.max(params.pacing_received * self.acked.rate.unwrap_or(0.0));
        let rate = if self.silence.halvings == 0 {
            rate
        } else {
            (rate.min(self.target) * libm::exp2(-f64::from(self.silence.halvings))).max(slowest)
        };
        if rate >= Bitrate::MAX.as_bps_f64() {
            return Pacing::Off;
        }
        let (rate, mean) = (Bitrate::from_bps_f64(rate), Bitrate::from_bps_f64(rate.min(self.target)));
        let at_once = if self.rested { params.pacing_burst_rested } else { params.pacing_burst };
        if at_once == TimeDelta::ZERO { Pacing::Rate(rate) } else { Pacing::Burst { rate, mean, at_once } }
    }
}

/// `pace_rate_scale_t`, where the target is this part of the highest.
fn relaxed(params: &Params, nominal_rate: f64) -> f64 {
    let low = params.relaxed_pacing_limit_low;
    let above = ((nominal_rate - low) / (1.0 - low)).min(1.0);
    (1.0 - above).max(1.0 / params.max_relaxed_pacing_factor).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowSetup;

    /// Section 4.3.2: a gap of 8 x size / pace_bitrate.
    #[test]
    fn pacing_is_relaxed_near_the_highest_target() {
        let params = Params::draft();
        let scales = [0.1, 0.8, 0.9, 0.95, 1.0].map(|nominal| libm::round(relaxed(&params, nominal) * 1e4));
        assert_eq!(scales, [10_000.0, 10_000.0, 5000.0, 2500.0, 2500.0]);
        assert_eq!(relaxed(&Params::libwebrtc(), 1.0), 1.0);
    }

    fn pace(params: Params, target: f64) -> (Option<f64>, Bytes) {
        let mut scream = ScreamV2::new(&params, &FlowSetup::new(Bytes::new(1200)));
        scream.set_target(target);
        scream.set_sending();
        let rate = match scream.pacing {
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => Some(rate.as_bps_f64()),
            _ => None,
        };
        (rate, scream.flight_allowed)
    }

    #[test]
    fn packets_are_paced_above_the_target_and_flights_exceed_the_window() {
        assert_eq!(pace(Params::draft(), 2e6), (Some(3e6), Bytes::new(9000)));
        assert_eq!(pace(Params::libwebrtc(), 2e6), (Some(2.2e6), Bytes::new(3000)));
        assert_eq!(pace(Params::ericsson(), 2e6), (Some(3e6), Bytes::new(18_000)));
        let slow = Params { target_bitrate_min: Bitrate::from_kbps(10), ..Params::draft() };
        assert_eq!(pace(slow, 2e4).0, Some(75e3), "RATE_PACE_MIN");
    }
}
