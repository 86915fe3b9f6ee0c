//! Vivace's constants by name.

use paceline_units::{Bitrate, params};

params! {
    /// Every constant of Vivace. `Default` is the authors' program of the paper with the paper's weight of the delay.
    pub struct Params {
        t: f64 = 0.9, in 0.01, 1.0, "Dong and others 2018, equation 1 (t), quoted by others; PCC-Uspace 98ac946, pcc.h (exponent)", "Exponent of the rate in the utility";
        b: f64 = 900.0, in 0.0, 1e6, "Dong and others 2018, equation 1 (b), no text at hand; PCC-Uspace 30c2cfe, pcc_utility_manager.cpp (kLatencyCoefficient)", "Weight of the slope of the round trip; without it the utility is that of losses alone";
        c: f64 = 11.35, in 0.0, 1e6, "Dong and others 2018, equation 1 (c), no text at hand; PCC-Uspace 98ac946, pcc.h (utility)", "Weight of losses";
        low_loss: f64 = 0.03, in 0.0, 1.0, "PCC-Uspace 98ac946, pcc.h (utility)", "Loss ratio up to which losses have the weight low_loss_c";
        low_loss_c: f64 = 1.0, in 0.0, 1e6, "PCC-Uspace 98ac946, pcc.h (utility)", "Weight of losses up to low_loss";
        even_loss: f64 = 0.01, in 0.0, 1.0, "PCC-Uspace 98ac946, pcc.h (onMonitorEnds)", "Loss ratio of all trials together up to which each of them counts as having it";
        rtt_step: f64 = 0.02, in 1e-6, 1.0, "PCC-Uspace 98ac946, pcc.h (utility)", "Slopes of the round trip count in whole steps of it, so that smaller ones are none";
        epsilon: f64 = 0.05, in 1e-4, 0.9, "PCC-Uspace 98ac946, pcc.h (kDelta)", "Part of the rate by which trials are above and below it";
        theta: f64 = 1.0, in 1e-6, 1e6, "PCC-Uspace 98ac946, gradient_descent_pcc_client.cpp (factor)", "Change of the rate in Mbit/s over the gradient of the utility";
        omega: f64 = 0.05, in 1e-4, 1.0, "PCC-Uspace 98ac946, gradient_descent_pcc_client.cpp (initial_boundary)", "Part of the rate by which the first change may change it";
        omega_step: f64 = 0.06, in 0.0, 1.0, "PCC-Uspace 98ac946, gradient_descent_pcc_client.cpp (boundary_increment)", "Growth of that part with each change that it bounds";
        swing_most: u64 = 2, in 0.0, 100.0, "PCC-Uspace 98ac946, pcc.h (swing_buffer)", "Most turns of the direction that each delay the amplifier by a change";
        change_min: Bitrate = Bitrate::from_kbps(500), in 0.0, 1e9, "PCC-Uspace 98ac946, pcc.h (decide)", "Least change of the rate, within its bound";
        moving_part: f64 = 0.1, in 0.0, 10.0, "PCC-Uspace 98ac946, pcc.h (onMonitorEnds)", "Growth by more than this part of the rate is judged at the new rate alone, without trials around it";
        interval_rtts: f64 = 1.0, in 0.1, 100.0, "PCC-Uspace 98ac946, core.cpp (start_monitor)", "Length of a monitor interval in round trips";
        interval_packets_min: u64 = 10, in 2.0, 1e6, "PCC-Uspace 98ac946, core.cpp (start_monitor)", "Fewest packets of a monitor interval";
        interval_packets_max: u64 = 3000, in 2.0, 1e6, "PCC-Uspace 98ac946, core.cpp (start_monitor)", "Most packets of a monitor interval";
        start_rate: Bitrate = Bitrate::from_kbps(1600), in 1000.0, 1e12, "PCC-Uspace 98ac946, pcc.h (rate_ x slow_start_factor_)", "First rate, unless the first window in a round trip is less";
        start_growth: f64 = 2.0, in 1.01, 100.0, "PCC-Uspace 98ac946, pcc.h (slow_start_factor_)", "Growth of the rate at the start while the utility grows";
        start_losses: u64 = 50, in 0.0, 1e6, "PCC-Uspace 98ac946, pcc.h (loss_ignore_count)", "Packets that the start may lose";
        start_slope: f64 = 0.2, in 0.0, 10.0, "PCC-Uspace 98ac946, pcc.h (onMonitorEnds)", "Slope of the round trip below which it is none to the start, until its losses are used up";
        stop_loss: f64 = 0.5, in 0.0, 1.0, "PCC-Uspace 98ac946, pcc.h (onMonitorEnds)", "Loss ratio of an interval above which the rate falls to stop_part at once";
        stop_part: f64 = 0.5, in 0.01, 1.0, "PCC-Uspace 98ac946, pcc.h (onMonitorEnds, onTimeout)", "Part of the rate after such losses, and after a timeout";
        window_gain: f64 = 2.0, in 1.0, 100.0, "PCC-Kernel ed39d0f, tcp_pcc.c (pcc_set_cwnd)", "Window over rate x smoothed round trip";
        cwnd_min: u64 = 4, in 1.0, 1000.0, "PCC-Kernel ed39d0f, tcp_pcc.c (pcc_set_cwnd)", "Smallest window in packets, but after timeouts";
        rate_min_packets: f64 = 0.5, in 0.01, 1000.0, "ours; PCC-Kernel ed39d0f, tcp_pcc.c: 2 (PCC_RATE_MIN_PACKETS_PER_RTT)", "Least rate in packets per round trip";
    }
    ordered interval_packets_min <= interval_packets_max;
    profiles {
        "2018": "Vivace-Latency as the authors' program of the paper, PCC-Uspace 98ac946" => Params::default,
        "formula": "the paper's utility alone, without the program's rules for small losses" => Params::formula,
        "loss": "Vivace-Loss, the paper's utility without the delay" => || Params { b: 0.0, ..Params::formula() },
    }
}

impl Params {
    /// Each loss counts as the equation says.
    pub fn formula() -> Params {
        Params { low_loss: 0.0, even_loss: 0.0, ..Params::default() }
    }
}
