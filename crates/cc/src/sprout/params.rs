//! Sprout's constants by name.

use paceline_units::{Bitrate, Bytes, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const MODEL: &str = "Winstein and others 2013, 3.1";
const FORECAST: &str = "Winstein and others 2013, 3.3";

params! {
    /// Every constant of Sprout. `Default` is the paper's.
    pub struct Params {
        rate_max: f64 = 1000.0, in 50.0, 1000.0, MODEL, "Largest link rate that is thought of, in packets of `packet` per second: at it the flow ends, at 12 Mbit/s; a larger `packet` moves the end";
        rates: u64 = 256, in 16.0, 256.0, MODEL, "Link rates that are told apart, from 0 to rate_max";
        packet: Bytes = Bytes::new(1500), in 64.0, 65_535.0, "Winstein and others 2013, 3.1 (MTU-sized)", "Size of the packets that rates, sigma and forecasts are counted in; ten times as much moves the grid's end to 120 Mbit/s";
        sigma: f64 = 200.0, in 1.0, 10_000.0, MODEL, "Noise power of the link rate's Brownian motion, in packets per second per square root of a second";
        lambda_z: f64 = 1.0, in 0.0, 100.0, MODEL, "Outage escape rate: how often in a second an outage ends";
        tick: TimeDelta = ms(20), in 1e-3, 0.05, MODEL, "Time between two updates of the link rate's distribution";
        forecast_ticks: u64 = 8, in 1.0, 16.0, FORECAST, "Ticks of a forecast";
        look_ahead: u64 = 5, in 1.0, 16.0, "Winstein and others 2013, 3.5", "Ticks within which all that is sent is to have left the queue";
        confidence: f64 = 0.95, in 0.01, 0.999, FORECAST, "Probability that at least as much is delivered as the forecast says";
        ewma_weight: f64 = 0.0, in 0.0, 1.0, "Winstein and others 2013, 5.3; keithw/sprout, branch ewma-noforecast: 1/8", "Weight of a tick in the mean rate that the forecast goes on with; 0: the rate is inferred instead";
        small_forecast: f64 = 2.0, in 0.0, 1e6, "ours", "Packets of the look-ahead's forecast up to which a tick that the window left idle is a lower bound, too";
        idle_growth: f64 = 1.25, in 1.0, 10.0, "ours", "With ewma_weight, deliveries that a tick counts as over those that it had, where the media left the link idle in it";
        heartbeat: TimeDelta = ms(50), in 1e-3, 10.0, "keithw/sprout c838669, sproutbt2.cc (fallback_interval)", "Time without a packet or a report, and a round trip at least, after which a packet leaves whatever the window; doubles up to 4 s while no report comes";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the target halves in each; 0: never";
        media_part: f64 = 0.9, in 0.1, 1.0, "ours", "Target of the media as a part of the rate that the forecast allows; the rest is for frames that vary";
        queue_drain: TimeDelta = ms(500), in 0.01, 60.0, "ours", "Time in which media that waits in the send queue is to leave";
        target_bitrate_min: Bitrate = Bitrate::from_kbps(20), in 1e3, 1e12, "ours", "Lowest target of the encoder";
        target_bitrate_max: Bitrate = Bitrate::from_mbps(100), in 1e3, 1e12, "ours", "Highest target of the encoder";
        base_delay_bucket: TimeDelta = ms(60_000), in 0.1, 3600.0, "RFC 6817 2.4.2", "Length of a bucket of the base delay's history";
        base_delay_buckets: u64 = 10, in 1.0, 1000.0, "RFC 6817 2.4.2", "Buckets of that history";
        reorder_window: TimeDelta = ms(10), in 0.0, 10.0, "Winstein and others 2013, 3.4", "A packet is written off if one that was sent so much later has arrived";
        skew_compensation: bool = true, "ours", "Skew and steps of the receiver's clock are taken out of arrival times";
    }
    ordered target_bitrate_min <= target_bitrate_max, look_ahead <= forecast_ticks;
    profiles {
        "nsdi13": "Sprout with the constants of the paper" => Params::default,
        "ewma": "Sprout-EWMA: the mean of the rate in place of the cautious forecast" => || Params { ewma_weight: 0.125, ..Params::default() },
    }
}
