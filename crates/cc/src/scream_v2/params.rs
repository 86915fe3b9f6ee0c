//! SCReAM v2's constants by name. One algorithm, several named sets of values.

use crate::scream::silence::Patience;
use paceline_units::{Bitrate, Bytes, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const INF: f64 = f64::INFINITY;

const L4S: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.3";
const DELAY: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.4";
const WINDOW: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.2";
const REDUCTION: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.2.1";
const SEND_WINDOW: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.3.1";
const PACING: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.3.2";
const MEDIA: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.4";
const DRIFT: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.5.1";
const LOSSES: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.5.2";
const UNDERSHOOT: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.5.3";
const COMPETING: &str = "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.5.4";
const LIBWEBRTC: &str = "libwebrtc scream 2026-06";
const ERICSSON: &str = "EricssonResearch/scream c8f84c3";

params! {
    /// Every constant of SCReAM v2. `Default` is the draft's; a rule that only a program has is switched off by its neutral value.
    pub struct Params {
        qdelay_target_lo: TimeDelta = ms(60), in 1e-3, 10.0, WINDOW, "QDELAY_TARGET_LO, lowest target of the queue delay";
        qdelay_target_hi: TimeDelta = ms(400), in 1e-3, 10.0, WINDOW, "QDELAY_TARGET_HI, highest target when flows compete";
        qdelay_avg_g: f64 = 0.25, in 0.0, 1.0, DELAY, "QDELAY_AVG_G, weight of a sample above qdelay_avg; one below replaces it";
        qdelay_avg_interval: TimeDelta = ms(25), in 0.0, 10.0, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.4 (VIRTUAL_RTT)", "qdelay_avg moves this often, or once a shorter round trip; 0: with each report";
        qdelay_samples: u64 = 1, in 1.0, 2.0, LIBWEBRTC, "qdelay_avg takes the least of the last samples, so many";
        burst_window: TimeDelta = ms(0), in 0.0, 10.0, LIBWEBRTC, "The least delay of the packets of a report that were sent so long before the newest is the sample; 0: the newest packet's";
        burst_window_max: TimeDelta = ms(0), in 0.0, 10.0, LIBWEBRTC, "The same, where packets were sent close to each other";
        burst_window_gap: TimeDelta = ms(0), in 0.0, 10.0, LIBWEBRTC, "Packets with this gap or less were sent close to each other";
        reduce_jitter: bool = false, DELAY, "REDUCE_JITTER: where the queue delay varies the window moves less and flights are smaller";
        qdelay_min_max_avg_g: f64 = 0.0625, in 0.0, 1.0, DELAY, "QDELAY_MIN_MAX_AVG_G, filter gain of qdelay_min_avg and qdelay_max_avg";
        qdelay_dev_avg_g: f64 = 0.03125, in 0.0, 1.0, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.4; libwebrtc DelayMinAndLatencyDiffAvgG", "QDELAY_DEV_AVG_G, weight of a sample in the average of the delay's variation";
        qdelay_dev_threshold: TimeDelta = ms(10), in 1e-6, 10.0, DELAY, "QDELAY_DEV_THRESHOLD, variation at which the window grows least";
        qdelay_min_threshold: TimeDelta = TimeDelta::MAX, in 1e-6, 1e10, LIBWEBRTC, "Average queue delay at which the window grows least; largest: no such rule";
        latency_diff_threshold: TimeDelta = TimeDelta::MAX, in 1e-6, 1e10, LIBWEBRTC, "Average difference of the delays in a burst at which the window grows least; largest: no such rule";
        calm_qdelay: f64 = 0.25, in 0.0, 100.0, REDUCTION, "Below this part of the target the queue delay is small: marks then reduce less near ref_wnd_i and where the delay varies";
        calm_by_average: bool = false, LIBWEBRTC, "The averaged queue delay says so, not the last";
        backoff_scale_min: f64 = 0.25, in 0.0, 1.0, REDUCTION, "Where the delay varies marks reduce by this part at least";
        l4s_avg_g_up: f64 = 0.125, in 0.0, 1.0, L4S, "L4S_AVG_G_UP, weight of a larger fraction of marked packets in l4s_alpha";
        l4s_avg_g_down: f64 = 0.007_812_5, in 0.0, 1.0, L4S, "L4S_AVG_G_DOWN, part of l4s_alpha that goes where the fraction is smaller";
        l4s_alpha_interval: TimeDelta = ms(10), in 0.0, 10.0, L4S, "l4s_alpha moves this often, or once a shorter round trip; 0: with each report";
        l4s_alpha_start: f64 = 0.0, in 0.0, 1.0, L4S, "First l4s_alpha";
        l4s_alpha_rested: f64 = 0.0, in 0.0, 1.0, LIBWEBRTC, "Least l4s_alpha after the first mark in post_congestion_delay_rtt round trips";
        min_ref_wnd: Bytes = Bytes::new(3000), in 1.0, 1e9, WINDOW, "MIN_REF_WND, smallest and first reference window";
        min_ref_wnd_packets: f64 = 0.0, in 0.0, 100.0, ERICSSON, "Smallest reference window in largest packets";
        first_wnd_from_rate: bool = false, LIBWEBRTC, "The first reference window is that of the first target over the first round trip";
        bytes_in_flight_head_room: f64 = 1.5, in 1.0, 100.0, WINDOW, "BYTES_IN_FLIGHT_HEAD_ROOM, window over the largest flight of two round trips up to which it grows";
        beta_loss: f64 = 0.7, in 0.0, 1.0, WINDOW, "BETA_LOSS, window factor for a loss event";
        beta_ecn: f64 = 0.8, in 0.0, 1.0, WINDOW, "BETA_ECN, window factor for a mark of classic ECN";
        classic_ecn: bool = true, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.2", "Marks are answered by beta_ecn where they are not those of L4S; else in proportion";
        mss: Bytes = Bytes::new(1000), in 64.0, 65000.0, WINDOW, "MSS, largest payload of a packet";
        post_congestion_delay_rtt: f64 = 100.0, in 0.0, 1e6, WINDOW, "POST_CONGESTION_DELAY_RTT, round trips after which growth is back after congestion";
        mul_increase_factor: f64 = 0.02, in 0.0, 1.0, WINDOW, "MUL_INCREASE_FACTOR, part of itself by which the window can grow in a round trip";
        virtual_rtt: TimeDelta = ms(25), in 1e-6, 10.0, WINDOW, "VIRTUAL_RTT, round trip below which growth is slower, so that flows with shorter ones share alike";
        virtual_rtt_power: f64 = 1.0, in 0.0, 4.0, LIBWEBRTC, "Power of the part by which growth is slower there";
        reaction_interval: TimeDelta = ms(25), in 1e-6, 10.0, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.2 (VIRTUAL_RTT)", "The window is reduced this often at most, or once a shorter round trip; less for marks the more often that is in a round trip";
        inflection_gain: f64 = 8.0, in 0.0, 1000.0, REDUCTION, "How soon the window moves freely away from ref_wnd_i";
        inflection_min: f64 = 0.1, in 0.0, 1.0, REDUCTION, "Smallest part by which it moves there";
        growth_beside_marks: bool = true, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.2", "The window grows with every report; else with none that tells of congestion, but for one that reduced it";
        post_congestion_from_reduction: bool = false, LIBWEBRTC, "post_congestion_delay_rtt counts from the last reduction, for delay too; else from the last loss or mark";
        virtual_ce_rtt_power: f64 = 1.0, in 0.0, 4.0, ERICSSON, "Power of the reactions in a round trip by which a reduction for delay is smaller";
        conditional_loss_backoff: bool = false, LOSSES, "Losses reduce the window only above loss_rate_threshold, or where the queue delay is not small";
        loss_rate_threshold: f64 = 0.01, in 1e-6, 1.0, LOSSES, "LOSS_RATE_THRESHOLD, average loss ratio above which losses reduce the window";
        loss_rounds: f64 = 0.0, in 0.0, 1000.0, LIBWEBRTC, "Round trips with losses in a row after which losses reduce the window, or at once where there is a queue; 0: no such rule";
        lossless_rounds: f64 = 2.0, in 1.0, 1000.0, LIBWEBRTC, "Round trips without loss until losses are forgotten, and the window grows; with loss_rounds";
        loss_ignored_rtts: f64 = 0.0, in 0.0, 100.0, ERICSSON, "Losses so many round trips after a reduction at most are ignored; 0: they wait for the next reaction, as draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.2.1";
        rate_policer: bool = false, LOSSES, "Losses without a queue are those of a rate policer, and limit the window";
        loss_rate_threshold_policer: f64 = 0.1, in 0.0, 1.0, LOSSES, "LOSS_RATE_THRESHOLD_POLICER, average loss ratio that shows a policer";
        beta_loss_policer: f64 = 0.9, in 0.0, 1.0, LOSSES, "BETA_LOSS_POLICER, max_policed_ref_wnd over the window";
        beta_loss_policed: f64 = 0.7, in 0.0, 1.0, ERICSSON, "Window factor for a loss event that shows a policer";
        policer_recovery: f64 = 0.001, in 0.0, 1.0, LOSSES, "Part by which max_policed_ref_wnd rises in a round trip";
        limit_undershoot: bool = false, UNDERSHOOT, "Marks and delay reduce less where the target is well below what arrives";
        acked_bitrate_margin: f64 = 0.8, in 0.0, 1.0, UNDERSHOOT, "ACKED_BITRATE_MARGIN, part of what arrives below which the target is low";
        backoff_scale_low_target_rate: f64 = 0.25, in 0.0, 1.0, UNDERSHOOT, "BACKOFF_SCALE_LOW_TARGETRATE, part of the reduction that is left then";
        competing_flow_compensation: bool = true, COMPETING, "The target of the queue delay rises where loss-based flows compete";
        loss_event_weight: f64 = 0.01, in 0.0, 1.0, "ours: the draft gives none", "Weight of a round trip in the loss event rate";
        qdelay_min_avg_alpha: f64 = 0.003_906_25, in 0.0, 1.0, DRIFT, "QDELAY_MIN_AVG_ALPHA, weight of a round trip in the average least queue delay; 0: a standing queue is not looked for";
        base_reset_fraction: f64 = 0.25, in 0.0, INF, DRIFT, "Part of the target above which that average resets the base delay and halves the target bitrate for a while";
        qdelay_drain_threshold: TimeDelta = TimeDelta::MAX, in 0.0, 1e10, LIBWEBRTC, "Queue delay that is never below this for qdelay_drain_period halves the target bitrate for a while, and then resets the base delay; largest: no such rule";
        qdelay_drain_period: TimeDelta = ms(20_000), in 0.0, 3600.0, LIBWEBRTC, "That period";
        drain_rtts: f64 = 5.0, in 0.0, 1000.0, DRIFT, "Round trips for which the target bitrate is halved";
        drain_time: TimeDelta = ms(200), in 0.0, 60.0, DRIFT, "Least time of the same";
        base_delay_bucket: TimeDelta = ms(60_000), in 0.1, 3600.0, "RFC 6817 2.4.2", "Length of a bucket of the base-delay history";
        base_delay_buckets: u64 = 10, in 1.0, 1000.0, "RFC 6817 2.5", "Buckets of the base-delay history";
        skew_compensation: bool = true, "ours; Moon, Skelly and Towsley 1999", "Skew and steps of the receiver's clock are taken out of one-way delays";
        reorder_window: TimeDelta = ms(10), in 0.0, 10.0, "ours: draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.1 gives none", "A packet is lost if one sent this much later was acknowledged";
        reorder_window_max: TimeDelta = ms(200), in 0.0, 10.0, "ours: draft-ietf-ccwg-rfc8298bis-screamv2-01 4.2.1.1 sets no limit", "The reordering window grows up to this";
        ref_wnd_overhead_min: f64 = 1.5, in 1.0, 100.0, SEND_WINDOW, "REF_WND_OVERHEAD_MIN, bytes in flight over the window where the delay varies";
        ref_wnd_overhead_max: f64 = 3.0, in 1.0, 100.0, SEND_WINDOW, "REF_WND_OVERHEAD_MAX, bytes in flight over the window otherwise";
        rate_pace_min: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, PACING, "RATE_PACE_MIN, lowest target that packets are paced from";
        packet_pacing_headroom: f64 = 1.5, in 0.1, 100.0, PACING, "PACKET_PACING_HEADROOM, pacing rate over target";
        max_relaxed_pacing_factor: f64 = 4.0, in 1.0, 100.0, PACING, "MAX_RELAXED_PACING_FACTOR, by how much faster packets are paced at the highest target";
        relaxed_pacing_limit_low: f64 = 0.8, in 0.0, 0.999, PACING, "RELAXED_PACING_LIMIT_LOW, part of the highest target from which pacing is relaxed";
        pacing_frame_headroom: f64 = 1.0, in 1.0, 100.0, ERICSSON, "A frame that is larger than the target's is paced faster by as much, up to this";
        pacing_received: f64 = 0.0, in 0.0, 100.0, LIBWEBRTC, "Lowest pacing rate, as a part of what arrives";
        pacing_burst: TimeDelta = ms(0), in 0.0, 1.0, LIBWEBRTC, "Packets that take this time leave at once; 0: packet by packet";
        pacing_burst_rested: TimeDelta = ms(0), in 0.0, 1.0, "libwebrtc scream and pacing_controller 2026-06", "The same once the window was not reduced for pacing_rest";
        pacing_rest: TimeDelta = ms(15_000), in 0.0, 3600.0, LIBWEBRTC, "That time";
        packet_overhead: Bytes = Bytes::new(20), in 0.0, 65000.0, MEDIA, "PACKET_OVERHEAD, estimated packetization overhead";
        target_rate_headroom: f64 = 1.2, in 0.1, 100.0, MEDIA, "Rate that the window lets through over the target, beside the next two";
        rate_adjust_gain: f64 = 0.0625, in 0.0, 10.0, MEDIA, "RATE_ADJUST_GAIN, gain of the adjustment to media that waits; 0: none";
        rate_adjust_delay: f64 = 0.25, in 0.0, 100.0, MEDIA, "Wait of media, in frame periods, that needs no adjustment";
        frame_size_dev_alpha: f64 = 0.015_625, in 0.0, 1.0, MEDIA, "FRAME_SIZE_DEV_ALPHA, weight of a frame in the average excess of frame sizes; 0: it does not count";
        rate_rtt_margin: TimeDelta = ms(0), in 0.0, 10.0, ERICSSON, "Time that is added to the round trip where the target is computed";
        feedback_hold_time_avg_g: f64 = 0.0, in 0.0, 1.0, LIBWEBRTC, "Weight of a report in the average time from a report's first packet to its last, which counts as round trip; 0: none does";
        srtt_prefilter: f64 = 1.0, in 0.01, 1.0, ERICSSON, "Weight of a sample in a first round-trip filter; 1: none";
        srtt_per_report: bool = false, LIBWEBRTC, "The smoothed round trip moves with each report; else once a round trip";
        srtt_gain_limited: f64 = 0.007_812_5, in 0.0, 1.0, "draft-ietf-ccwg-rfc8298bis-screamv2-01 6, which gives no value; libwebrtc SmoothedRttAvgInAlrG", "Weight of a sample in the smoothed round trip while the application sends less than it may";
        limited_rate: f64 = 0.9, in 0.0, 1.0, "ours; libwebrtc AlrThreshold", "The application sends less than it may where less than this part of the target arrives, and flights leave no room to grow";
        target_bitrate_min: Bitrate = Bitrate::from_kbps(64), in 1e3, 1e12, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.4, no value there", "TARGET_BITRATE_MIN, lowest target bitrate of a stream";
        target_bitrate_start: Bitrate = Bitrate::from_mbps(1), in 1e3, 1e12, "ours, as in SCReAM v1", "Target bitrate before the first round trip is known";
        target_bitrate_max: Bitrate = Bitrate::from_mbps(100), in 1e3, 1e12, "draft-ietf-ccwg-rfc8298bis-screamv2-01 4.4, no value there", "TARGET_BITRATE_MAX, highest target bitrate of a stream";
        stall_time: TimeDelta = ms(500), in 0.01, 60.0, "ours, as in SCReAM v1", "With something outstanding and no report for so long at least, what is outstanding is given up";
        stall_round_trips: f64 = 2.0, in 0.0, 100.0, "ours, after RFC 6298 2", "The same in smoothed round trips; the longer one holds";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the pace halves in each; 0: no reaction";
    }
    ordered qdelay_target_lo <= qdelay_target_hi, target_bitrate_min <= target_bitrate_max,
        target_bitrate_min <= target_bitrate_start, target_bitrate_start <= target_bitrate_max,
        reorder_window <= reorder_window_max, ref_wnd_overhead_min <= ref_wnd_overhead_max,
        burst_window <= burst_window_max;
    profiles {
        "draft": "draft-ietf-ccwg-rfc8298bis-screamv2-01, without the rules that it calls optional but the one for competing flows" => Params::draft,
        "libwebrtc": "libwebrtc's, as in Chromium 156" => Params::libwebrtc,
        "ericsson": "EricssonResearch/scream of 2026-07-31, with the values of its bandwidth test tool" => Params::ericsson,
    }
}

impl Params {
    /// The draft's values.
    pub(super) fn draft() -> Params {
        Params::declared()
    }

    /// libwebrtc's, with the differences that its `implementation_diff.md` of f48df12d documents.
    pub(super) fn libwebrtc() -> Params {
        Params {
            qdelay_avg_interval: ms(0),
            qdelay_samples: 2,
            burst_window: ms(25),
            burst_window_max: ms(50),
            burst_window_gap: ms(3),
            qdelay_min_threshold: ms(10),
            latency_diff_threshold: ms(10),
            calm_qdelay: 0.5,
            calm_by_average: true,
            backoff_scale_min: 0.1,
            l4s_alpha_interval: ms(0),
            l4s_alpha_rested: 0.25,
            min_ref_wnd: Bytes::new(1000),
            first_wnd_from_rate: true,
            bytes_in_flight_head_room: 1.1,
            classic_ecn: false,
            mss: Bytes::new(1280),
            virtual_rtt_power: 2.0,
            inflection_gain: 2.0,
            growth_beside_marks: false,
            post_congestion_from_reduction: true,
            loss_rounds: 3.0,
            competing_flow_compensation: false,
            qdelay_min_avg_alpha: 0.0,
            qdelay_drain_threshold: ms(5),
            drain_time: ms(100),
            packet_pacing_headroom: 1.1,
            max_relaxed_pacing_factor: 1.0,
            pacing_received: 0.8,
            pacing_burst: ms(10),
            pacing_burst_rested: ms(40),
            packet_overhead: Bytes::ZERO,
            target_rate_headroom: 1.0,
            rate_adjust_gain: 0.0,
            frame_size_dev_alpha: 0.0,
            feedback_hold_time_avg_g: 0.125,
            srtt_per_report: true,
            target_bitrate_start: Bitrate::from_kbps(300),
            ..Params::draft()
        }
    }

    /// The program of the draft's authors, with what its bandwidth test tool sets.
    pub(super) fn ericsson() -> Params {
        Params {
            qdelay_target_hi: ms(300),
            qdelay_avg_interval: ms(30),
            reduce_jitter: true,
            l4s_alpha_start: 0.1,
            min_ref_wnd_packets: 3.0,
            bytes_in_flight_head_room: 2.0,
            mss: Bytes::new(1200),
            post_congestion_delay_rtt: 200.0,
            mul_increase_factor: 0.05,
            reaction_interval: ms(30),
            post_congestion_from_reduction: true,
            virtual_ce_rtt_power: 2.0,
            conditional_loss_backoff: true,
            loss_ignored_rtts: 1.0,
            beta_loss_policer: 0.8,
            beta_loss_policed: 0.95,
            limit_undershoot: true,
            competing_flow_compensation: false,
            base_delay_bucket: ms(10_000),
            base_delay_buckets: 50,
            reorder_window: ms(30),
            ref_wnd_overhead_max: 5.0,
            max_relaxed_pacing_factor: 5.0,
            pacing_frame_headroom: 1.5,
            target_rate_headroom: 1.1,
            rate_adjust_gain: 0.025,
            rate_adjust_delay: 0.5,
            frame_size_dev_alpha: 0.0,
            rate_rtt_margin: ms(1),
            srtt_prefilter: 0.125,
            srtt_gain_limited: 1.0 / 1024.0,
            target_bitrate_max: Bitrate::from_mbps(500),
            ..Params::draft()
        }
    }

    /// The answers to reports that stay away.
    pub(super) fn patience(&self) -> Patience {
        let &Params { feedback_patience, stall_time, stall_round_trips, .. } = self;
        Patience { feedback_patience, stall_time, stall_round_trips }
    }
}
