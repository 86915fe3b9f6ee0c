//! BBR's constants by name.

use crate::params::{ParamError, param_set};
use paceline_units::TimeDelta;

param_set! {
    /// Every constant of BBR version 1.
    pub struct Params {
        high_gain: Ratio = 2.89, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "Gain of pace and window in Startup; its inverse paces Drain";
        cwnd_gain: Ratio = 2.0, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Window over bandwidth x round trip in ProbeBW";
        probe_gain: Ratio = 1.25, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Pace of the first phase of the cycle: more";
        drain_gain: Ratio = 0.75, in 0.1, 1.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Pace of the second phase of the cycle: as much less";
        bw_window: Count = 10, in 1.0, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "Round trips over which the largest delivery rate counts";
        rtprop_window: Time = TimeDelta::from_secs(10), in 0.1, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "How long the smallest round trip counts";
        probe_rtt_time: Time = TimeDelta::from_millis(200), in 0.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "How long ProbeRTT keeps the flight small";
        min_cwnd: Count = 4, in 1.0, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Smallest window in packets, and the window of ProbeRTT";
        full_bw_growth: Ratio = 1.25, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Growth of the bandwidth that says the pipe is not full";
        full_bw_rounds: Count = 3, in 1.0, 100.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Round trips without that growth which say it is";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[("v1", "Version 1, as published in 2016 and 2017")];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        (name == "v1").then(Params::default)
    }

    /// Whether the parameters fit each other: always.
    ///
    /// # Errors
    /// None.
    pub fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }
}
