//! GCC's constants by name. One design whose parts are chosen by parameters, and named sets of values.

use paceline_units::{Bitrate, Bytes, TimeDelta, names, params};

names! {
    /// The filter between the arrivals of groups and the over-use detector.
    pub enum ArrivalFilter {
        /// A scalar Kalman filter of the delay variation.
        Kalman = "kalman",
        /// A Kalman filter of the path's rate and the delay variation, which counts the groups' sizes.
        KalmanSize = "kalman-size",
        /// The slope of the delay over time.
        Trendline = "trendline",
    }
}

names! {
    /// How the incoming rate is measured.
    pub enum IncomingRate {
        /// Bytes that arrived in the last T seconds.
        Window = "window",
        /// The lower of arrival and sending rate of the last packets, without the longest gap.
        Robust = "robust",
    }
}

names! {
    /// How the delay-based estimate grows.
    pub enum Increase {
        /// By a factor far from the link's capacity, additively near it.
        Aimd = "aimd",
        /// By a factor that falls with the response time and the delay noise.
        Response = "response",
    }
}

names! {
    /// How losses act on the rate.
    pub enum LossControl {
        /// A rate of its own that follows the loss ratio.
        Draft = "draft",
        /// libwebrtc's: a model of the path's losses, and what joins it with the delay-based estimate.
        Libwebrtc = "libwebrtc",
    }
}

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const fn kbps(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps)
}

const INF: f64 = f64::INFINITY;
const DRAFT: &str = "draft-ietf-rmcat-gcc-02 5.6";
const LIBWEBRTC_PACER: &str = "libwebrtc pacing_controller 2024";
const LIBWEBRTC: &str = "libwebrtc goog_cc 2025";
const LIBWEBRTC_2012: &str = "libwebrtc 2012-10";

params! {
    /// Every constant of GCC. `Default` is libwebrtc's; for the draft, a rule that only libwebrtc has is switched off by its
    /// neutral value.
    pub struct Params {
        arrival_filter: ArrivalFilter = ArrivalFilter::Trendline, LIBWEBRTC, "Filter of the delay variation";
        incoming_rate: IncomingRate = IncomingRate::Robust, LIBWEBRTC, "How the incoming rate is measured";
        loss_control: LossControl = LossControl::Libwebrtc, LIBWEBRTC, "How losses act on the rate";
        increase: Increase = Increase::Aimd, "draft-ietf-rmcat-gcc-02 5.5", "How the delay-based estimate grows";
        step_compensation: bool = true, "ours", "Steps of the receiver's clock are taken out of arrival times";
        burst_time: TimeDelta = ms(5), in 0.0, 1.0, DRAFT, "Packets sent within this time, or that arrive in a burst with gaps below it, are one group";
        burst_longest: TimeDelta = ms(100), in 0.0, 10.0, LIBWEBRTC, "A burst of arrivals makes one group for so long";
        q: f64 = 1e-3, in 0.0, 1e3, DRAFT, "Kalman filter: variance of the state noise, ms squared";
        e: f64 = 0.1, in 0.0, 1e3, DRAFT, "Kalman filter: first covariance of the error, ms squared";
        chi: f64 = 0.01, in 0.0, 1.0, "draft-ietf-rmcat-gcc-02 5.6: 0.001 to 0.1", "Kalman filter: weight of a group in the variance of the measurement noise, at 30 groups a second";
        noise_start: f64 = 50.0, in 1.0, 1e6, "ours: the draft gives none", "Kalman filter: first variance of the measurement noise, ms squared";
        noise_groups: u64 = 60, in 1.0, 1000.0, "ours: the draft gives no K", "Kalman filter: groups among which the shortest inter-departure time is looked for";
        trendline_window: u64 = 20, in 2.0, 200.0, LIBWEBRTC, "Trendline: groups on the regression line";
        trendline_smoothing: f64 = 0.9, in 0.0, 1.0, LIBWEBRTC, "Trendline: weight of the smoothed delay beside a new one";
        trendline_gain: f64 = 4.0, in 0.0, 1e3, LIBWEBRTC, "Trendline: factor between slope and threshold";
        deltas: u64 = 60, in 1.0, 1000.0, "libwebrtc; DEVIATIONS.md", "The estimate counts times the number of groups so far, at most so many; 1: the letter of the draft";
        del_var_th: TimeDelta = TimeDelta::from_micros(12_500), in 0.0, 10.0, DRAFT, "First threshold of the over-use detector";
        del_var_th_min: TimeDelta = ms(6), in 0.0, 10.0, "draft-ietf-rmcat-gcc-02 5.4", "Lowest threshold";
        del_var_th_max: TimeDelta = ms(600), in 0.0, 10.0, "draft-ietf-rmcat-gcc-02 5.4", "Highest threshold";
        del_var_th_step: TimeDelta = ms(100), in 0.0, INF, LIBWEBRTC, "The threshold moves for this time at most between two groups";
        k_u: f64 = 0.0087, in 0.0, 1.0, "libwebrtc goog_cc 2025; draft-ietf-rmcat-gcc-02 5.6: 0.01", "Gain with which the threshold rises, per ms; with k_d 0: it is fixed";
        k_d: f64 = 0.039, in 0.0, 1.0, "libwebrtc goog_cc 2025; draft-ietf-rmcat-gcc-02 5.6: 0.00018", "Gain with which the threshold falls, per ms";
        overuse_time_th: TimeDelta = ms(10), in 0.0, 10.0, DRAFT, "Time above the threshold that is over-use";
        overuse_groups: u64 = 2, in 1.0, 1000.0, "libwebrtc; DEVIATIONS.md", "Groups above the threshold that are over-use at least: one alone lasts no time";
        overuse_lasts: bool = true, LIBWEBRTC, "Over-use, once told, lasts while the estimate is above the threshold, even if it falls";
        near_threshold: f64 = 1.0, in 0.01, 1.0, LIBWEBRTC_2012, "Part of the threshold that counts after a decrease, until the level of congestion changes; with increase response";
        t: TimeDelta = ms(500), in 0.05, 10.0, "draft-ietf-rmcat-gcc-02 5.6: 0.5 to 1 s", "T, the window in which incoming bytes are counted";
        robust_packets: u64 = 20, in 10.0, 1000.0, LIBWEBRTC, "Robust incoming rate: packets that count in any case";
        robust_packets_least: u64 = 10, in 2.0, 1000.0, LIBWEBRTC, "Robust incoming rate: with fewer packets it is unknown";
        robust_packets_most: u64 = 500, in 10.0, 1000.0, LIBWEBRTC, "Robust incoming rate: most packets that count";
        robust_window: TimeDelta = ms(1000), in 0.1, 10.0, LIBWEBRTC, "Robust incoming rate: time in which more packets count";
        robust_window_longest: TimeDelta = ms(5000), in 0.1, 60.0, LIBWEBRTC, "Robust incoming rate: packets older than this do not count";
        eta: f64 = 1.08, in 1.0, 100.0, "draft-ietf-rmcat-gcc-02 5.5", "Factor of the multiplicative increase in a second";
        multiplicative_floor: Bitrate = Bitrate::from_bps(1000), in 0.0, 1e9, LIBWEBRTC, "Least multiplicative increase in one update; with increase response: added to each";
        additive_floor: Bitrate = Bitrate::ZERO, in 0.0, 1e9, "libwebrtc goog_cc 2025; draft-ietf-rmcat-gcc-02 5.5: 1000 bit/s", "Least additive increase in one update";
        additive_slope_floor: Bitrate = Bitrate::from_bps(4000), in 0.0, 1e9, LIBWEBRTC, "Least additive increase in a second";
        additive_within_response: bool = false, "libwebrtc goog_cc 2025; draft-ietf-rmcat-gcc-02 5.5: true", "One update adds what a response time adds, at most";
        incoming_limit: f64 = 1.5, in 1.0, 100.0, "draft-ietf-rmcat-gcc-02 5.5", "The estimate does not grow above this times the incoming rate";
        incoming_head_room: Bitrate = kbps(10), in 0.0, 1e9, "libwebrtc; DEVIATIONS.md", "And this above it";
        increase_interval: TimeDelta = ms(1000), in 0.0, 10.0, LIBWEBRTC_2012, "Increase response: time between two increases";
        near_beta: f64 = 0.95, in 0.01, 1.0, LIBWEBRTC_2012, "Increase response: beta near the capacity";
        beta: f64 = 0.85, in 0.01, 1.0, DRAFT, "Over-use lowers the estimate to this part of the incoming rate";
        decrease_extra: Bitrate = kbps(5), in 0.0, 1e9, LIBWEBRTC, "And this below it, where that leaves anything";
        decrease_after_change: bool = true, LIBWEBRTC, "A decrease waits for a round trip (10 to 200 ms) after any change, not after a decrease";
        decrease_unknown: f64 = 0.5, in 0.01, 1.0, LIBWEBRTC, "Factor of the estimate at each report of over-use before the incoming rate is known";
        capacity_weight: f64 = 0.05, in 0.0, 1.0, "draft-ietf-rmcat-gcc-02 5.5 (0.95)", "Weight of an over-use in average and variance of the incoming rate";
        capacity_deviation_min: f64 = 0.4, in 0.0, 1e6, "libwebrtc; the draft gives no first value", "Least variance over average, kbit/s; the first too";
        capacity_deviation_max: f64 = 2.5, in 0.0, INF, LIBWEBRTC, "Largest variance over average, kbit/s";
        loss_interval: TimeDelta = ms(100), in 0.0, 60.0, "draft-ietf-rmcat-gcc-02 3 (longest feedback interval)", "Time between two verdicts on losses, of 20 packets at least";
        loss_low: f64 = 0.02, in 0.0, 1.0, "draft-ietf-rmcat-gcc-02 6", "Below this loss ratio the loss-based estimate grows";
        loss_high: f64 = 0.1, in 0.0, 1.0, "draft-ietf-rmcat-gcc-02 6", "Above this loss ratio it shrinks";
        loss_increase: f64 = 1.05, in 1.0, 100.0, "draft-ietf-rmcat-gcc-02 6", "Factor of a growth";
        loss_decrease: f64 = 0.5, in 0.0, 1.0, "draft-ietf-rmcat-gcc-02 6", "Part of the loss ratio by which it shrinks";
        loss_increase_extra: Bitrate = Bitrate::ZERO, in 0.0, 1e9, LIBWEBRTC_2012, "And this more";
        loss_tcp_floor: bool = false, LIBWEBRTC_2012, "It does not shrink below what TCP's throughput equation gives for segments of 1000 B (RFC 5348 3.1)";
        v2_candidate_up: f64 = 1.02, in 1.0, 100.0, LIBWEBRTC, "Loss model: factor of the higher candidate";
        v2_candidate_down: f64 = 0.95, in 0.01, 1.0, LIBWEBRTC, "Loss model: factor of the lower candidate";
        v2_higher_bias: f64 = 2e-4, in 0.0, 1.0, LIBWEBRTC, "Loss model: preference of bandwidth, per kbit/s";
        v2_higher_log_bias: f64 = 0.02, in 0.0, 1.0, LIBWEBRTC, "Loss model: preference of the logarithm of bandwidth";
        v2_preference_threshold: f64 = 0.15, in 0.0, 1.0, LIBWEBRTC, "Loss model: loss ratio at which the preference turns around";
        v2_preference_smoothing: f64 = 0.002, in 1e-6, 1.0, LIBWEBRTC, "Loss model: how near that ratio it fades";
        v2_inherent_loss: f64 = 0.01, in 0.0, 1.0, LIBWEBRTC, "Loss model: first inherent loss";
        v2_inherent_least: f64 = 1e-3, in 0.0, 1.0, LIBWEBRTC, "Loss model: least inherent loss";
        v2_inherent_offset: f64 = 0.05, in 0.0, 1.0, LIBWEBRTC, "Loss model: largest inherent loss at a high bandwidth";
        v2_inherent_balance: Bitrate = kbps(75), in 1e3, 1e9, LIBWEBRTC, "Loss model: bandwidth at which the largest inherent loss is 1 more";
        v2_newton_iterations: u64 = 1, in 1.0, 100.0, LIBWEBRTC, "Loss model: steps of Newton's method";
        v2_newton_step: f64 = 0.75, in 0.01, 1.0, LIBWEBRTC, "Loss model: size of a step";
        v2_observation_least: TimeDelta = ms(250), in 1e-3, 60.0, LIBWEBRTC, "Loss model: least time that an observation covers";
        v2_observations: u64 = 3, in 1.0, 1000.0, LIBWEBRTC, "Loss model: observations before it is used";
        v2_temporal_weight: f64 = 0.9, in 0.01, 1.0, LIBWEBRTC, "Loss model: weight of an observation beside the next";
        v2_instant_offset: f64 = 0.05, in 0.0, 1.0, LIBWEBRTC, "Loss model: loss ratio above which the rate is limited at once";
        v2_instant_balance: Bitrate = kbps(75), in 1e3, 1e9, LIBWEBRTC, "Loss model: that limit is this over the excess";
        v2_increase_most: f64 = 1.3, in 1.0, 100.0, LIBWEBRTC, "Loss model: largest growth in a window while losses limit the rate";
        v2_delayed_increase: TimeDelta = ms(300), in 0.0, 60.0, LIBWEBRTC, "Loss model: length of that window";
        v2_late_packets: bool = true, LIBWEBRTC, "Loss model: what was reported missing and turns up before the observation is complete was not lost; off: it was, as in 2024-10";
        v2_whole_kbps: bool = true, LIBWEBRTC, "Loss model: the preference is of whole kbit/s; off: of fractions too, as in the Rust port goog_cc 0.1.4";
        rtt_limit: TimeDelta = ms(3000), in 0.0, INF, LIBWEBRTC, "Round-trip time above which the rate backs off; with loss_control libwebrtc";
        rtt_drop_factor: f64 = 0.8, in 0.01, 1.0, LIBWEBRTC, "Factor of the back-off";
        rtt_drop_interval: TimeDelta = ms(1000), in 1e-3, 60.0, LIBWEBRTC, "Time between two steps of it";
        rtt_floor: Bitrate = kbps(5), in 1e3, 1e9, LIBWEBRTC, "It ends here";
        probing: bool = true, LIBWEBRTC, "Send probes";
        probe_first: f64 = 3.0, in 1.0, 100.0, LIBWEBRTC, "First probe at the start, over the first target";
        probe_second: f64 = 6.0, in 1.0, 100.0, LIBWEBRTC, "Second probe at the start, over the first target";
        probe_further: f64 = 2.0, in 1.0, 100.0, LIBWEBRTC, "Next probe, over what the last one found";
        probe_enough: f64 = 0.7, in 0.0, 1.0, LIBWEBRTC, "A next probe follows if the last found more than this part of its rate";
        probe_duration: TimeDelta = ms(15), in 1e-3, 1.0, LIBWEBRTC, "Length of a probe; it has five of the largest packets at least";
        probe_loss_limit: f64 = 1.5, in 1.0, 100.0, LIBWEBRTC, "Highest probe over the target, while losses limit the rate";
        alr_probing: bool = true, "libwebrtc, where an application asks for it", "Probe while the application limits the sender";
        alr_probe_interval: TimeDelta = ms(5000), in 0.1, 3600.0, LIBWEBRTC, "Time between such probes";
        alr_probe_factor: f64 = 2.0, in 1.0, 100.0, LIBWEBRTC, "Such a probe over the target";
        alr_usage: f64 = 0.8, in 0.01, 1.0, LIBWEBRTC, "The application limits the sender that uses less than this part of the target";
        alr_start_level: f64 = 0.4, in -1.0, 1.0, LIBWEBRTC, "Level of the unused budget at which that begins";
        alr_stop_level: f64 = -0.6, in -1.0, 1.0, LIBWEBRTC, "Level at which it ends";
        process_interval: TimeDelta = ms(25), in 1e-3, 10.0, LIBWEBRTC, "Time between two looks at what has changed without reports; with loss_control libwebrtc";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the target halves in each; 0: never";
        pacing_factor: f64 = 2.5, in 0.1, 100.0, LIBWEBRTC_PACER, "Pacing rate over the target";
        pacing_burst: TimeDelta = ms(40), in 0.0, 1.0, LIBWEBRTC_PACER, "A burst as long as this at the pacing rate leaves at once; 0: packet by packet";
        pacing_burst_size: Bytes = Bytes::new(63_000), in 1.0, 1e9, LIBWEBRTC_PACER, "And no more than this";
        drain_time: TimeDelta = ms(2000), in 1e-3, INF, LIBWEBRTC_PACER, "The pacing rate rises until what waits to be sent is out within this time";
        drain_limit: f64 = 2.0, in 1.0, 100.0, "ours: DEVIATIONS.md", "But not for that above this times the incoming rate";
        target_bitrate_min: Bitrate = kbps(5), in 1e3, 1e12, LIBWEBRTC, "Lowest target bitrate";
        target_bitrate_start: Bitrate = kbps(300), in 1e3, 1e12, LIBWEBRTC, "First target bitrate";
        target_bitrate_max: Bitrate = Bitrate::from_mbps(100), in 1e3, 1e12, "ours", "Highest target bitrate";
    }
    ordered del_var_th_min <= del_var_th_max, loss_low <= loss_high, alr_stop_level <= alr_start_level,
        robust_packets_least <= robust_packets, capacity_deviation_min <= capacity_deviation_max,
        target_bitrate_min <= target_bitrate_start, target_bitrate_start <= target_bitrate_max;
    profiles {
        "libwebrtc": "libwebrtc's goog_cc of 2025: trendline, loss model, probing" => Params::default,
        "draft": "draft-ietf-rmcat-gcc-02: Kalman filter, adaptive threshold, AIMD, loss controller" => Params::draft,
        "libwebrtc-2012": "libwebrtc of 2012-10, which draft-alvestrand-rtcweb-congestion-02 describes: Kalman filter with sizes, fixed threshold, multiplicative increase" => Params::libwebrtc_2012,
    }
}

impl Params {
    /// The draft's table.
    pub(super) fn draft() -> Params {
        Params {
            arrival_filter: ArrivalFilter::Kalman,
            incoming_rate: IncomingRate::Window,
            loss_control: LossControl::Draft,
            del_var_th_step: TimeDelta::MAX,
            k_u: 0.01,
            k_d: 0.000_18,
            overuse_lasts: false,
            multiplicative_floor: Bitrate::ZERO,
            additive_floor: Bitrate::from_bps(1000),
            additive_slope_floor: Bitrate::ZERO,
            additive_within_response: true,
            decrease_extra: Bitrate::ZERO,
            decrease_after_change: false,
            decrease_unknown: 1.0,
            rtt_limit: TimeDelta::MAX,
            probing: false,
            pacing_factor: 1.5,
            pacing_burst: TimeDelta::ZERO,
            drain_time: TimeDelta::MAX,
            ..Params::default()
        }
    }

    /// libwebrtc's rules when the first drafts were written.
    fn libwebrtc_2012() -> Params {
        Params {
            arrival_filter: ArrivalFilter::KalmanSize,
            increase: Increase::Response,
            q: 1e-2,
            del_var_th: ms(25),
            k_u: 0.0,
            k_d: 0.0,
            overuse_time_th: ms(100),
            overuse_lasts: true,
            near_threshold: 0.5,
            multiplicative_floor: Bitrate::from_bps(1000),
            incoming_head_room: Bitrate::ZERO,
            beta: 0.9,
            decrease_after_change: true,
            loss_interval: ms(1000),
            loss_increase: 1.08,
            loss_increase_extra: Bitrate::from_bps(1000),
            loss_tcp_floor: true,
            target_bitrate_min: kbps(30),
            feedback_patience: 0.0,
            ..Params::draft()
        }
    }
}
