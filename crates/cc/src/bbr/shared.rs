//! Coupling of flows that steer by a bandwidth: what they tell of it, and what is made of an assignment.

use crate::Assigned;
use crate::window::Window;
use paceline_units::Bitrate;

/// The bandwidth, bytes a second, as coupling is told it: no window says what a flow has while that probes for the round trip, or
/// is twice what the path holds.
pub(crate) fn share_of(bandwidth: f64) -> Option<Assigned> {
    (bandwidth > 0.0)
        .then(|| Assigned::Rate(Bitrate::from_bps_f64(bandwidth * 8.0).max(Bitrate::from_bps(1))))
}

/// The bandwidth that an assignment comes to: of a window by the smoothed round trip, by which it was made of a rate; none before
/// there is one.
pub(crate) fn assigned_bandwidth(assigned: Assigned, window: &Window) -> Option<f64> {
    let bandwidth = match assigned {
        Assigned::Rate(rate) => rate.as_bps_f64() / 8.0,
        Assigned::Window(bytes) => bytes.as_f64() / window.round_trip.smoothed()?.as_secs_f64(),
    };
    Some(bandwidth.clamp(1.0, 1e15))
}
