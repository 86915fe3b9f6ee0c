//! The common parameters of the family's controllers.

use paceline_units::{Bitrate, TimeDelta, params};

params! {
    /// The sender around the law of the rate.
    pub struct SenderParams {
        rate_min: Bitrate = Bitrate::from_kbps(20), in 1e3, 1e12, "ours: eq. 18 has zero", "Lowest rate";
        rate_max: Bitrate = Bitrate::from_mbps(10_000), in 1e3, 1e12, "ours", "Highest rate";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours", "Target of the media as a part of the rate; the rest is for frames that vary";
        head_room: f64 = 1.25, in 1.0, 100.0, "ours: eq. 18 has no limit", "The rate grows to no more than this times what arrives, or R_MAX where that is more";
        recv_limit_factor: f64 = 2.0, in 1.0, 100.0, "RFC 5348 4.3", "Largest rate over what arrives, where the application uses it";
        rtt_floor: TimeDelta = TimeDelta::from_millis(10), in 1e-6, 10.0, "ours: k2 must be finite", "Smallest RTT_min";
        slow_start_gain: f64 = 2.0, in 1.1, 10.0, "ours: the paper says exponential", "Rate in slow start over what arrives";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the rate halves in each; 0: never";
        skew_compensation: bool = true, "URCP 2013 III (clock compensation)", "Skew and steps of the receiver's clock are taken out of one-way delays";
    }
    ordered rate_min <= rate_max;
}
