//! Spacing a window over the round trip: an option of the laws whose RFCs send in bursts.

use super::Window;
use paceline_units::Bitrate;

/// The pace of a window law, in windows per round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacingGains {
    /// In slow start: the window doubles in a round trip.
    pub slow_start: f64,
    /// After it: enough that the window, not the pace, limits.
    pub after: f64,
}

impl PacingGains {
    /// The pace now. Before the first round trip is known the window alone holds.
    pub fn rate(&self, window: &Window) -> Option<Bitrate> {
        let srtt = window.round_trip.seconds();
        if srtt == 0.0 {
            return None;
        }
        let gain = if window.in_slow_start() { self.slow_start } else { self.after };
        let rate = Bitrate::from_bps_f64(gain * 8.0 * window.cwnd / srtt);
        Some(rate.max(Bitrate::from_bps(1)))
    }
}
