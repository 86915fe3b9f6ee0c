//! Tempo's constants by name.

use paceline_units::{Bitrate, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const OURS: &str = "ours";

params! {
    /// Every constant of Tempo.
    pub struct Params {
        target_bitrate_min: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, OURS, "Lowest rate";
        target_bitrate_start: Bitrate = Bitrate::from_kbps(300), in 1e3, 1e12, OURS, "First rate";
        target_bitrate_max: Bitrate = Bitrate::from_mbps(10_000), in 1e3, 1e12, OURS, "Highest rate";
        standing_span: TimeDelta = ms(100), in 1e-3, 10.0, OURS, "The standing queue is the smallest delay of this time, or of one and a quarter frame intervals where that is longer";
        queue_limit: TimeDelta = ms(20), in 1e-3, 10.0, OURS, "Standing queue from which on the rate backs off";
        noise_gain: f64 = 6.0, in 0.0, 100.0, OURS, "The limit is higher by this times the noise of the standing queue";
        noise_span: f64 = 20.0, in 0.0, 1000.0, OURS, "The span of the standing queue is at least this times its noise";
        base_bucket: TimeDelta = ms(10_000), in 0.1, 3600.0, OURS, "Length of a bucket of the base delay's history";
        base_buckets: u64 = 3, in 1.0, 1000.0, OURS, "Buckets of that history";
        back_off: f64 = 0.85, in 0.1, 1.0, OURS, "Rate after congestion, as a part of what arrived";
        drain_time: TimeDelta = ms(150), in 1e-3, 10.0, OURS, "While a queue drains the rate is lower by the part of the queue in this time";
        drain_least: f64 = 0.3, in 0.01, 1.0, OURS, "While a queue drains the rate is at least this part of what arrived";
        drain_ahead: f64 = 1.0, in 0.0, 1.0, OURS, "Part of the queue that counts in a drain of what was sent and has not arrived";
        growth: f64 = 0.1, in 0.0, 10.0, OURS, "Growth per second at 1 Mbit/s; in proportion to one over the root of the rate";
        growth_queue: TimeDelta = ms(50), in 1e-3, 10.0, OURS, "Growth is so slow that twice this queue at most is there before it is seen";
        growth_most: f64 = 0.2, in 0.0, 10.0, OURS, "Largest growth in a response time";
        growth_patience: TimeDelta = ms(3000), in 0.0, 3600.0, OURS, "Growth is faster from so long without congestion on";
        growth_gain: f64 = 0.2, in 0.0, 10.0, OURS, "By how much growth per second rises then, each second";
        train_stretch: f64 = 1.02, in 0.0, 100.0, OURS, "Packets that left faster than the rate show room if they arrive in less than this times the time in which they left; 0: never";
        train_growth: f64 = 4.0, in 0.0, 1000.0, OURS, "Growth per second into that room at 1 Mbit/s; in proportion to one over the root of the rate";
        train_part: f64 = 0.9, in 0.0, 1.0, OURS, "Part of that room that is used";
        stretched_part: f64 = 0.3, in 0.0, 1.0, OURS, "While those packets arrive at less than the rate, a queue counts from this part of its usual length and time on";
        head_room: f64 = 1.5, in 1.0, 100.0, OURS, "The rate grows to no more than this times the most that arrived of late";
        loss_margin: f64 = 0.02, in 0.0, 1.0, OURS, "Losses above the usual part by so much are congestion";
        loss_back_off: f64 = 0.85, in 0.1, 1.0, OURS, "Rate after losses";
        usual_loss_most: f64 = 0.2, in 0.0, 1.0, OURS, "No larger part of losses is usual";
        usual_loss_trials: u64 = 2, in 1.0, 100.0, OURS, "Losses are usual that stay although the rate was lowered for them so many times in a row";
        mark_back_off: f64 = 0.85, in 0.1, 1.0, OURS, "Rate after a classic mark";
        l4s_growth_interval: TimeDelta = ms(25), in 1e-3, 10.0, OURS, "Where marks are answered in proportion the rate grows by a packet per interval in each round trip";
        l4s_gain: f64 = 0.0625, in 0.0, 1.0, OURS, "Weight of a round trip in the average part of marked bytes";
        media_part: f64 = 0.95, in 0.01, 1.0, OURS, "Target of the media as a part of the rate";
        queue_drain: TimeDelta = ms(500), in 1e-3, 60.0, OURS, "The encoder's target leaves room for the send queue to leave in this time";
        pace: f64 = 1.2, in 1.0, 100.0, OURS, "Pacing rate over the rate";
        start_pace: f64 = 2.5, in 1.0, 100.0, OURS, "The same while the rate doubles at first";
        reorder_window: TimeDelta = ms(10), in 0.0, 10.0, OURS, "A packet is lost if one that was sent so much later has arrived";
        reorder_window_max: TimeDelta = ms(200), in 0.0, 10.0, OURS, "The reordering window grows up to this where packets that counted as lost turn up";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the target halves in each; 0: never";
        skew_compensation: bool = true, OURS, "Skew and steps of the receiver's clock are taken out of one-way delays";
    }
    ordered target_bitrate_min <= target_bitrate_start, target_bitrate_start <= target_bitrate_max,
        target_bitrate_min <= target_bitrate_max, reorder_window <= reorder_window_max;
    profiles {
        "default": "The values that a search found" => Params::default,
    }
}
