//! LEDBAT++'s constants by name.

use paceline_units::{TimeDelta, params};

params! {
    /// Every constant of LEDBAT++. `Default` is draft-irtf-iccrg-ledbat-plus-plus-06.
    pub struct Params {
        target: TimeDelta = TimeDelta::from_millis(60), in 1e-3, 0.1, "draft-irtf-iccrg-ledbat-plus-plus-06 (TARGET), as told", "Queue delay that it adds at most";
        gain_divisor: f64 = 16.0, in 1.0, 1000.0, "draft-irtf-iccrg-ledbat-plus-plus-06 (GAIN), as told", "GAIN is one over twice the target over the base delay, rounded up, and at least one over this";
        constant: f64 = 1.0, in 0.0, 100.0, "draft-irtf-iccrg-ledbat-plus-plus-06 (Constant), as told", "Part of the window that a delay of twice the target takes in a round trip";
        most_decrease: f64 = 0.5, in 0.0, 1.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "Largest part of the window that delay takes in a round trip";
        slow_start_exit: f64 = 0.75, in 0.0, 10.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "Queue delay that ends the first slow start, as a part of the target";
        slowdown: f64 = 9.0, in 0.0, 1000.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "Time between slowdowns over the time of the last one; 0: there are none";
        slowdown_rtts: f64 = 2.0, in 1.0, 100.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "Round trips before the first slowdown, and of each at the smallest window";
        init_cwnd: u64 = 2, in 1.0, 10.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "First window in packets, at most that of the transport";
        min_cwnd: u64 = 2, in 1.0, 10.0, "draft-irtf-iccrg-ledbat-plus-plus-06, as told", "Smallest window in packets, but for timeouts";
        base_history: u64 = 10, in 1.0, 60.0, "RFC 6817 2.5 (BASE_HISTORY)", "Minutes whose smallest round trips are remembered";
        current_filter: u64 = 4, in 1.0, 64.0, "RFC 6817 2.5 (CURRENT_FILTER)", "Round trips of which the smallest counts";
    }
    profiles {
        "draft": "draft-irtf-iccrg-ledbat-plus-plus-06" => Params::default,
    }
}
