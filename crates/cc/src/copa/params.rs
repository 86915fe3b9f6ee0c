//! Copa's constants by name.

use paceline_units::{TimeDelta, params};

params! {
    /// Every constant of Copa. `Default` is the paper.
    pub struct Params {
        delta: f64 = 0.5, in 1e-4, 100.0, "Arun and Balakrishnan 2018, 2.2 (delta), no text at hand", "Aversion to delay: the target rate is one packet for each delta times the queue delay";
        competitive: bool = true, "Arun and Balakrishnan 2018, 2.2, no text at hand", "Beside flows that fill the queue one over delta grows by one in a round trip and is halved by a loss";
        min_rtt_window: TimeDelta = TimeDelta::from_secs(10), in 0.01, 1e4, "Arun and Balakrishnan 2018, 2.1 (RTTmin), no text at hand", "Time over which the smallest round trip is taken for the path's";
        standing_part: f64 = 0.5, in 0.01, 10.0, "Arun and Balakrishnan 2018, 2.1 (tau), no text at hand", "Time over which the smallest round trip is the present one, in smoothed round trips";
        empty_part: f64 = 0.1, in 0.0, 1.0, "Arun and Balakrishnan 2018, 2.2, no text at hand", "A queue counts as nearly empty below this part of the longest one of late";
        empty_rtts: f64 = 5.0, in 1.0, 100.0, "Arun and Balakrishnan 2018, 2.2, no text at hand", "Round trips without a nearly empty queue that tell of a flow that fills it";
        longest_rtts: f64 = 4.0, in 1.0, 100.0, "Arun and Balakrishnan 2018, 2.2 (RTTmax), no text at hand", "Round trips over which the longest is taken";
        velocity_rtts: u64 = 3, in 1.0, 100.0, "Arun and Balakrishnan 2018, 2.1 (v), no text at hand", "Round trips in one direction after which the velocity doubles in each further one";
        pace: f64 = 2.0, in 1.0, 100.0, "Arun and Balakrishnan 2018, 2.1, no text at hand", "Pace in windows per present round trip";
        cwnd_min: u64 = 2, in 1.0, 1000.0, "ours", "Smallest window in packets, but for timeouts";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
    }
    profiles {
        "2018": "Arun and Balakrishnan 2018" => Params::default,
        "default-mode": "the same without the competitive mode" => Params::default_mode,
    }
}

impl Params {
    /// Copa that stays in its default mode.
    pub fn default_mode() -> Params {
        Params { competitive: false, ..Params::default() }
    }
}
