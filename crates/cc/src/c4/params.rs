//! C4's constants by name.

use paceline_units::{Bitrate, Bytes, TimeDelta, params};

params! {
    /// Every constant of C4. `Default` is the authors' program. The draft has no names for most of them.
    pub struct Params {
        alpha_initial: f64 = 2.0, in 1.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Setting pacing rate, congestion window and quantum", "Pace over the nominal rate in the initial state";
        alpha_recovery: f64 = 0.9375, in 0.1, 1.0, "draft-huitema-ccwg-c4-spec-04, Setting pacing rate, congestion window and quantum", "The same in recovery";
        alpha_recovery_congested: f64 = 0.875, in 0.1, 1.0, "picoquic d199d45, c4.c (C4_ALPHA_RECOVER2_1024)", "The same once congestion shows in recovery, which lasts a round trip longer then; no lower, and recovery ignores it";
        alpha_drain: f64 = 0.9375, in 0.1, 1.0, "draft-huitema-ccwg-c4-spec-04 and after, Draining the standing queues", "Pace over the nominal rate in recovery after the initial state and after pushing";
        alpha_cruising_short: f64 = 1.046875, in 1.0, 2.0, "draft-huitema-ccwg-c4-spec-04, Pacing and CPU load", "Pace over the nominal rate while cruising on round trips below a millisecond";
        alpha_probing: f64 = 1.0625, in 1.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Probing state", "The same while probing";
        alpha_probing_ce: f64 = 1.03125, in 1.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Probing state", "The same after marks answered the probe before";
        alpha_pushing: f64 = 1.2265625, in 1.0, 10.0, "picoquic d199d45, c4.c (C4_ALPHA_PUSH_25); 1.25 in draft-huitema-ccwg-c4-spec-04", "The same while pushing";
        overhead: Bytes = Bytes::new(16), in 0.0, 1000.0, "picoquic d199d45, frames.c", "Bytes of a packet that are not counted as delivered, so that the nominal rate is as much below what arrives";
        push_eras: u64 = 1, in 1.0, 100.0, "picoquic d199d45, c4.c; 2 in draft-huitema-ccwg-c4-spec-04, Pushing state", "Round trips without fast growth that end pushing";
        growth_fast: f64 = 0.75, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Pushing state", "Part of the expected growth at which pushing goes on";
        growth_slow: f64 = 0.25, in 0.0, 1.0, "picoquic d199d45, c4.c (c4_growth_evaluate)", "Part of it that is growth at all";
        growths_most: u64 = 3, in 1.0, 1000.0, "draft-huitema-ccwg-c4-spec-04, States and Transition", "A probe and pushes in a row that grew, beyond which C4 is initial again";
        cruise_eras: u64 = 2, in 1.0, 1000.0, "draft-huitema-ccwg-c4-spec-04, Cruising state", "Round trips of cruising before a probe";
        initial_eras: u64 = 3, in 1.0, 100.0, "draft-huitema-ccwg-c4-spec-04, Initial state", "Round trips without growth that end the initial state";
        initial_acks: u64 = 20, in 0.0, 1e6, "draft-huitema-ccwg-c4-spec-04, Initial state", "Acknowledgements before losses may end the initial state";
        initial_pace: Bitrate = Bitrate::from_bps(1_048_576), in 1000.0, 1e12, "draft-huitema-ccwg-c4-spec-04, Initial state", "Least pace in the initial state";
        initial_peak: bool = true, "picoquic d199d45, c4.c (c4_apply_rate_and_cwin)", "The initial state goes half of the way to the peak rate of the shortest intervals";
        margin: TimeDelta = TimeDelta::from_millis(15), in 0.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Setting pacing rate, congestion window and quantum", "Most time that the window is longer than the nominal maximum of the round trip";
        margin_part: f64 = 0.25, in 0.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Setting pacing rate, congestion window and quantum", "Part of the nominal maximum of the round trip that it is longer";
        max_jitter: TimeDelta = TimeDelta::from_millis(250), in 0.0, 100.0, "draft-huitema-ccwg-c4-spec-04, Nominal max RTT (MAX_JITTER)", "Most that the nominal maximum of the round trip rises above the least round trip";
        max_rtt_min: TimeDelta = TimeDelta::from_millis(1), in 1e-6, 10.0, "draft-huitema-ccwg-c4-spec-04, Nominal max RTT on low latency links", "Least nominal maximum of the round trip";
        sensitivity_low: Bitrate = Bitrate::from_kbps(400), in 1.0, 1e12, "draft-huitema-ccwg-c4-spec-04, Variable Sensitivity", "Nominal rate up to which a flow has no sensitivity";
        sensitivity_mid: Bitrate = Bitrate::from_mbps(8), in 1.0, 1e12, "draft-huitema-ccwg-c4-spec-04, Variable Sensitivity", "Nominal rate at which it has sensitivity_at_mid";
        sensitivity_at_mid: f64 = 0.94, in 0.0, 1.0, "picoquic d199d45, c4.c (c4_sensitivity_1024); 0.92 in draft-huitema-ccwg-c4-spec-04", "Sensitivity at sensitivity_mid";
        sensitivity_high: Bitrate = Bitrate::from_mbps(80), in 1.0, 1e12, "draft-huitema-ccwg-c4-spec-04, Variable Sensitivity", "Nominal rate from which on it is 1";
        delay_most: TimeDelta = TimeDelta::from_millis(25), in 0.0, 10.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Delays", "Largest delay threshold";
        delay_part: f64 = 0.0625, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Delays", "Delay threshold at sensitivity 1, over the nominal maximum of the round trip";
        delay_part_insensitive: f64 = 0.1875, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Delays", "Addition to it at sensitivity 0";
        delay_in_cruise: bool = false, "picoquic d199d45, c4.c (c4_handle_rtt_excess); yes in draft-huitema-ccwg-c4-spec-04", "Round trips are a signal also where the pace of the round trip before was no faster than the nominal rate";
        loss_threshold: f64 = 0.02, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Losses", "Loss threshold at sensitivity 1";
        loss_insensitive: f64 = 0.5, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Losses", "Addition to it at sensitivity 0";
        loss_gain: f64 = 0.0625, in 0.001, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive Losses", "Weight of a packet in the smoothed loss rate";
        ce_threshold: f64 = 0.09375, in 0.001, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive CE Marks", "Threshold of marks at sensitivity 1; twice that at 0";
        ce_gain: f64 = 0.0625, in 0.001, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive CE Marks", "Weight of an acknowledgement in the ratio of marks";
        ce_jump: f64 = 0.5, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Detecting Excessive CE Marks", "Ratio of an acknowledgement that is taken as it is";
        beta: f64 = 0.25, in 0.0, 0.99, "draft-huitema-ccwg-c4-spec-04, Rate Reduction on Congestion", "Largest reduction of the nominal rate";
        beta_loss_insensitive: f64 = 0.5, in 0.0, 1.0, "picoquic d199d45, c4.c (c4_notify_congestion); 1 in draft-huitema-ccwg-c4-spec-04", "Part of it that a loss takes at sensitivity 0";
        congestions: u64 = 2, in 1.0, 1000.0, "draft-huitema-ccwg-c4-spec-04 and after, Reaction to persistent congestion", "Recoveries in a row with congestion after which the nominal rate is the recent maximum";
        trim: f64 = 0.0, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04 and after, Trimming an overestimated nominal rate", "Part of the way to the recent maximum that the nominal rate goes when a probe was used and brought nothing";
        restarts: u64 = 1, in 0.0, 1e9, "picoquic d199d45, c4.c (c4_handle_ack); private-octopus/c4 74d6734, c4-spec.md", "How often high jitter makes C4 initial again";
        restart_part: f64 = 0.4, in 0.0, 1.0, "draft-huitema-ccwg-c4-spec-04, Restarting Initial if High Jitter", "The least round trip over the nominal maximum below which jitter is high";
        restart_max_rtt: TimeDelta = TimeDelta::from_millis(50), in 0.0, 10.0, "picoquic d199d45, c4.c (c4_handle_ack)", "Nominal maximum of the round trip that high jitter has at least";
        restart_rate: Bitrate = Bitrate::from_mbps(8), in 1.0, 1e15, "picoquic d199d45, c4.c (c4_handle_ack)", "Nominal rate from which on jitter makes nothing initial";
        cwnd_min: u64 = 2, in 1.0, 1000.0, "draft-huitema-ccwg-c4-spec-04, Setting pacing rate, congestion window and quantum", "Smallest window in packets, but for timeouts";
    }
    ordered sensitivity_low <= sensitivity_mid, sensitivity_mid <= sensitivity_high;
    profiles {
        "picoquic": "C4 as its authors' program has it, picoquic d199d45 of August 2026" => Params::default,
        "draft": "the text after draft-huitema-ccwg-c4-spec-04, where it differs from the program" => Params::draft,
    }
}

impl Params {
    /// The draft's text.
    pub fn draft() -> Params {
        Params {
            alpha_recovery_congested: 0.9375,
            alpha_drain: 0.875,
            alpha_pushing: 1.25,
            push_eras: 2,
            initial_peak: false,
            sensitivity_at_mid: 0.92,
            delay_in_cruise: true,
            beta_loss_insensitive: 1.0,
            trim: 0.5,
            restart_max_rtt: TimeDelta::ZERO,
            restart_rate: Bitrate::from_bps(1_000_000_000_000_000),
            ..Params::default()
        }
    }
}
