//! URCP's constants by name.

use crate::utility::SenderParams;
use paceline_units::{Bitrate, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

params! {
    /// Every constant of URCP. `Default` is the profile `paper`.
    pub struct Params {
        beta: f64 = 0.8, in 0.0, 1.0, "URCP 2013 VI-B.2", "Part of the observed congestion above the inherent one that k0 follows";
        m: f64 = 100.0, in 1.0, 1e4, "URCP 2013 VI-C (M)", "Round-trip times in which the rate reaches R_MAX without congestion";
        ecn_beta: f64 = 0.5, in 0.0, 1.0, "ours: beta is there for noise, and marks have none", "The same of marks";
        r_max: Bitrate = Bitrate::ZERO, in 0.0, 1e12, "URCP 2013 VI-A", "First R_MAX, the capacity of the bottleneck, as an earlier call has learned it; zero: slow start measures it";
        delta_min: TimeDelta = ms(0), in 0.0, 10.0, "URCP 2013 VI-A", "First delta_MIN, the average delay noise, as an earlier call has learned it; zero: a probe measures it";
        window: TimeDelta = ms(20_000), in 0.1, 600.0, "ours: the paper gives no length", "Length of the sliding windows of R_AVE and delta_AVE";
        delta_floor: TimeDelta = TimeDelta::from_micros(500), in 1e-6, 1.0, "ours: k0 must not be zero", "Smallest delta_MIN; half a step of the receiver's clock where that is more";
        loss_min: f64 = 0.03, in 1e-6, 1.0, "ours: no probe is long enough to measure it", "epsilon_MIN, the loss that is taken for inherent";
        ecn_min: f64 = 0.01, in 1e-6, 1.0, "ours: marks have no noise", "The same of marks";
        first_rate: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, "ours: the paper says low", "Rate of a flow that knows nothing: a first probe of the delay noise, then slow start";
        first_time: TimeDelta = ms(1000), in 0.0, 60.0, "ours", "Length of the first probe, which tells slow start a queue from noise";
        probe_part: f64 = 0.5, in 0.01, 1.0, "URCP 2013 II (Figure 1)", "Rate of the probe for delta_MIN over R_MAX";
        probe_time: TimeDelta = ms(5000), in 0.0, 60.0, "ours", "Length of the probe for delta_MIN";
        probe_packets: u64 = 10, in 2.0, 1e6, "ours", "Packets that a probe needs at least";
        reprobe_after: TimeDelta = ms(0), in 0.0, 3600.0, "ours", "How long a doubt about R_MAX or delta_MIN stands before both are learned anew; zero: never";
        start_part: f64 = 0.5, in 0.01, 1.0, "ours", "First rate over R_MAX, where R_MAX is given";
    }
    /// Parameters of the sender beside the law of the rate.
    with sender: SenderParams;
    profiles {
        "paper": "The paper: R_MAX never falls and delta_MIN never rises" => Params::default,
        "adaptive": "Learns R_MAX and delta_MIN anew where rate and delay contradict them" => || Params { reprobe_after: ms(20_000), ..Params::default() },
    }
}
