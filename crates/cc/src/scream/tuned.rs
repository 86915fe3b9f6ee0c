//! Sets found by `paceline tune scream-tune` on recordings of mobile networks, and how they were: studies/scream-tune/README.md.
//!
//! Each is `reference-2022` with other values: those of studies/scream-tune/sets.toml, which a test compares.

use super::params::Params;
use paceline_units::param::Ramp;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// Least frame delay at nine tenths of the rate of the tuning paper's defaults, and 98 % of their frames.
pub(super) fn low_delay() -> Params {
    tuned(0)
}

/// Furthest ahead of the tuning paper's sets in rate and queue delay together, at its defaults' frame delay and 98 % of their frames.
pub(super) fn balanced() -> Params {
    tuned(1)
}

/// Most rate at the frame delay of the tuning paper's defaults, and 98 % of their frames.
pub(super) fn throughput() -> Params {
    tuned(2)
}

/// The values of all three sets, side by side in the order above. A table, and as long as it has values.
fn tuned(set: usize) -> Params {
    Params {
        target_bitrate_max: Bitrate::from_mbps(100),
        qdelay_target_lo: TimeDelta::from_nanos([15_207_400, 4_630_170, 94_938_800][set]),
        qdelay_trend_th: [0.086096, 0.569181, 0.157956][set],
        qdelay_trend_lo: [0.086096, 0.569181, 0.157956][set],
        mss: Bytes::new([1_276, 1_325, 1_000][set]),
        rate_adjust_interval: TimeDelta::from_nanos([10_454_400, 51_815_800, 12_368_400][set]),
        target_bitrate_min: Bitrate::from_bps([1_167_030, 426_945, 1_145_430][set]),
        target_bitrate_start: Bitrate::from_bps([1_167_030, 426_945, 1_145_430][set]),
        ramp_up_speed: Ramp(Bitrate::from_bps([63_194_600, 18_184_700, 63_194_600][set])),
        pre_congestion_guard: [0.49754, 0.03547, 0.49754][set],
        tx_queue_size_factor: [0.330729, 0.014782, 0.180306][set],
        discard_age: TimeDelta::from_nanos([51_218_700, 108_865_000, 36_265_500][set]),
        target_rate_scale_rtp_qdelay: [0.820503, 0.967441, 0.680074][set],
        gain: [12.4764, 8.91214, 0.537704][set],
        gain_down: [32.6783, 4.18962, 32.6783][set],
        max_decrease: [0.057754, 0.027485, 0.057754][set],
        max_bytes_in_flight_head_room: [2.84233, 2.38182, 1.50517][set],
        window_use: [1.80063, 1.60472, 1.80685][set],
        acked_head_room: [2.06742, 1.88035, 1.30684][set],
        post_congestion_delay: TimeDelta::from_nanos([193_416_000, 292_314_000, 335_997_000][set]),
        pacing_head_room: [1.3482, 1.13944, 1.45635][set],
        pacing_delay_fraction: [0.068684, 0.017588, 0.07913][set],
        qdelay_weight: [0.213356, 0.378481, 0.164371][set],
        rate_interval: TimeDelta::from_nanos([21_223_800, 13_023_800, 94_935_100][set]),
        ramp_up_scale: [1.30052, 1.33592, 2.50073][set],
        inflection_gain: [10.4437, 9.90591, 15.3664][set],
        t_resume_fast_increase: TimeDelta::from_nanos([261_236_000, 52_525_200, 50_825_300][set]),
        low_rate_gain: [0.454059, 0.032644, 0.64665][set],
        rate_from_target: [0.814749, 0.972133, 0.732699][set],
        window_use_th: [0.790243, 1.61941, 0.790243][set],
        tx_queue_hold: Bytes::new([23_476, 367_613, 80_489][set]),
        tx_queue_target_part: [0.602625, 0.877836, 0.101362][set],
        fast_increase_queue_age: TimeDelta::from_nanos([1_549_050_000, 696_308_000, 10_887_600][set]),
        media_excess: [2.30714, 1.77608, 4.10761][set],
        idle_gain: [1.17536, 4.34244, 0.671693][set],
        max_bytes_in_flight_trend: [0.063343, 0.314766, 0.95789][set],
        rate_intervals: [2, 7, 6][set],
        discard_interval: TimeDelta::from_nanos([98_634_700, 758_692_000, 161_786_000][set]),
        inflection_min: [0.464205, 0.194723, 0.066452][set],
        fast_increase_use: [2.36613, 1.39714, 1.27071][set],
        cwnd_update_interval: TimeDelta::from_nanos([1_292_680, 5_975_460, 4_622_260][set]),
        min_cwnd_packets: [3.26275, 5.068, 6.99485][set],
        base_reset_fraction: [0.647577, 1.97619, 0.310188][set],
        ..Params::reference_2022()
    }
}
