//! BBRv3's constants by name.

use paceline_units::{Bytes, Stack, TimeDelta, params};

params! {
    /// Every constant of BBR version 3. Parameters without a name in the draft have one of ours.
    pub struct Params {
        startup_pacing_gain: f64 = 2.77, in 1.0, 10.0, "draft-ietf-ccwg-bbr-06, Startup Dynamics (StartupPacingGain)", "Pace over bandwidth in Startup";
        drain_pacing_gain: f64 = 0.5, in 0.01, 1.0, "draft-ietf-ccwg-bbr-06, Drain (DrainPacingGain)", "Pace over bandwidth in Drain";
        default_cwnd_gain: f64 = 2.0, in 1.0, 10.0, "draft-ietf-ccwg-bbr-06, cwnd State and Parameters (DefaultCwndGain)", "Window over bandwidth x round trip, but in ProbeBW_UP and ProbeRTT";
        probe_down_pacing_gain: f64 = 0.9, in 0.01, 1.0, "draft-ietf-ccwg-bbr-06, ProbeBW_DOWN (ProbeDownPacingGain)", "Pace over bandwidth in ProbeBW_DOWN";
        probe_up_pacing_gain: f64 = 1.25, in 1.0, 10.0, "draft-ietf-ccwg-bbr-06, ProbeBW_UP", "Pace over bandwidth in ProbeBW_UP";
        probe_up_cwnd_gain: f64 = 2.25, in 1.0, 10.0, "draft-ietf-ccwg-bbr-06, ProbeBW_UP", "Window over bandwidth x round trip in ProbeBW_UP";
        pacing_margin_percent: f64 = 1.0, in 0.0, 99.0, "draft-ietf-ccwg-bbr-06, Pacing State and Parameters (PacingMarginPercent)", "Percent by which the pace stays below";
        loss_thresh: f64 = 0.02, in 0.0, 0.99, "draft-ietf-ccwg-bbr-06, Core Algorithm Design Parameters (LossThresh)", "Part of a round trip's packets that may be lost while probing";
        beta: f64 = 0.7, in 0.01, 1.0, "draft-ietf-ccwg-bbr-06, Core Algorithm Design Parameters (Beta)", "Largest decrease for a round trip with losses";
        headroom: f64 = 0.15, in 0.0, 0.99, "draft-ietf-ccwg-bbr-06, Core Algorithm Design Parameters (Headroom)", "Part of inflight_longterm that is left to others";
        min_pipe_cwnd: u64 = 4, in 1.0, 1000.0, "draft-ietf-ccwg-bbr-06, Core Algorithm Design Parameters (MinPipeCwnd)", "Smallest window in packets";
        max_bw_filter_len: u64 = 2, in 1.0, 1000.0, "draft-ietf-ccwg-bbr-06, Estimating BBR.max_bw (MaxBwFilterLen)", "Cycles of ProbeBW over which the largest delivery rate counts";
        extra_acked_filter_len: u64 = 10, in 1.0, 1000.0, "draft-ietf-ccwg-bbr-06, Estimating BBR.extra_acked (ExtraAckedFilterLen)", "Round trips over which aggregation counts after Startup";
        full_bw_growth: f64 = 1.25, in 1.0, 10.0, "draft-ietf-ccwg-bbr-06, Exiting Acceleration Based on Bandwidth Plateau", "Growth of the delivery rate that says the pipe is not full";
        full_bw_rounds: u64 = 3, in 1.0, 100.0, "draft-ietf-ccwg-bbr-06, Exiting Acceleration Based on Bandwidth Plateau", "Round trips without that growth which say it is";
        startup_full_loss_cnt: u64 = 6, in 1.0, 1000.0, "draft-ietf-ccwg-bbr-06, Exiting Startup Based on Packet Loss (StartupFullLossCnt)", "Holes in a round trip that, with loss_thresh, end Startup";
        has_selective_acks: bool = true, "draft-ietf-ccwg-bbr-06, Transport Connection State (has_selective_acks)", "More than one loss per round trip can be detected; without, any loss counts as too many";
        drain_rounds: u64 = 3, in 1.0, 1000.0, "draft-ietf-ccwg-bbr-06, Drain", "Round trips after which Drain ends in any case";
        probe_wait: TimeDelta = TimeDelta::from_secs(2), in 0.0, 1000.0, "draft-ietf-ccwg-bbr-06, Time Scale for Bandwidth Probing (T_bbr)", "Shortest time from the end of a probe for bandwidth to the next";
        probe_wait_random: TimeDelta = TimeDelta::from_secs(1), in 0.0, 1000.0, "draft-ietf-ccwg-bbr-06, Time Scale for Bandwidth Probing (T_bbr)", "Most that chance adds to it";
        reno_bound: u64 = 63, in 1.0, 1e6, "draft-ietf-ccwg-bbr-06, Time Scale for Bandwidth Probing (T_reno_bound)", "Round trips between probes at most, so that Reno and CUBIC are no slower";
        min_rtt_filter_len: TimeDelta = TimeDelta::from_secs(10), in 0.1, 1000.0, "draft-ietf-ccwg-bbr-06, Parameters for Estimating BBR.min_rtt (MinRTTFilterLen)", "How long the smallest round trip counts";
        probe_rtt_cwnd_gain: f64 = 0.5, in 0.01, 1.0, "draft-ietf-ccwg-bbr-06, Parameters for Scheduling ProbeRTT (ProbeRTTCwndGain)", "Window over bandwidth x round trip in ProbeRTT";
        probe_rtt_duration: TimeDelta = TimeDelta::from_millis(200), in 0.0, 10.0, "draft-ietf-ccwg-bbr-06, Parameters for Scheduling ProbeRTT (ProbeRTTDuration)", "How long ProbeRTT keeps the flight small";
        probe_rtt_interval: TimeDelta = TimeDelta::from_secs(5), in 0.1, 1000.0, "draft-ietf-ccwg-bbr-06, Parameters for Scheduling ProbeRTT (ProbeRTTInterval)", "Age of the smallest round trip that asks for ProbeRTT";
        send_quantum_time: TimeDelta = TimeDelta::from_millis(1), in 0.0, 1.0, "draft-ietf-ccwg-bbr-06, Send Quantum", "A burst, as time at the pace";
        send_quantum_max: Bytes = Bytes::new(65_536), in 1.0, 1e9, "draft-ietf-ccwg-bbr-06, Send Quantum", "Largest burst that the window has room for";
        offload_quanta: u64 = 3, in 0.0, 1000.0, "draft-ietf-ccwg-bbr-06, TCP Offload Budget", "Bursts that the window has room for at least";
    }
    ordered probe_rtt_interval <= min_rtt_filter_len;
    profiles {
        "draft": "draft-ietf-ccwg-bbr-06 of July 2026", over Stack::Linux => Params::default,
    }
}
