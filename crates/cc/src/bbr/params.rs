//! BBR's constants by name.

use paceline_units::{Stack, TimeDelta, params};

params! {
    /// Every constant of BBR version 1. `Default` is the profile `linux`.
    pub struct Params {
        high_gain: f64 = 2.89, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "Gain of pace and window in Startup; its inverse paces Drain";
        cwnd_gain: f64 = 2.0, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Window over bandwidth x round trip in ProbeBW";
        probe_gain: f64 = 1.25, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Pace of the first phase of the cycle: more";
        drain_gain: f64 = 0.75, in 0.1, 1.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Pace of the second phase of the cycle: as much less";
        pacing_margin_percent: f64 = 1.0, in 0.0, 99.0, "Linux's tcp_bbr (bbr_pacing_margin_percent), no text at hand", "Percent by which the pace stays below";
        bw_window: u64 = 10, in 1.0, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "Round trips over which the largest delivery rate counts";
        rtprop_window: TimeDelta = TimeDelta::from_secs(10), in 0.1, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "How long the smallest round trip counts";
        probe_rtt_time: TimeDelta = TimeDelta::from_millis(200), in 0.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand; FACTS 14", "How long ProbeRTT keeps the flight small";
        min_cwnd: u64 = 4, in 1.0, 1000.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Smallest window in packets, and the window of ProbeRTT";
        full_bw_growth: f64 = 1.25, in 1.0, 10.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Growth of the bandwidth that says the pipe is not full";
        full_bw_rounds: u64 = 3, in 1.0, 100.0, "draft-cardwell-iccrg-bbr-congestion-control-00, no text at hand", "Round trips without that growth which say it is";
    }
    profiles {
        "linux": "As Linux has version 1: its pace is 1 % below, so that a queue that is left empties", over Stack::Linux => Params::default,
        "v1": "Version 1 as published in 2016 and 2017: without that", over Stack::Linux => || Params { pacing_margin_percent: 0.0, ..Params::default() },
    }
}
