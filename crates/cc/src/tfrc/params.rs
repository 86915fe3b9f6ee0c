//! TFRC's constants by name, of both halves. One algorithm, two named sets of values.

use paceline_units::params;
use paceline_units::{Bytes, TimeDelta};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

params! {
    /// Every constant of TFRC. `Default` is what RFC 5348 says or recommends.
    pub struct Params {
        b: u64 = 1, in 1.0, 10.0, "RFC 5348 3.1", "Packets that one TCP acknowledgement covers, in the throughput equation";
        t_rto_rtts: f64 = 4.0, in 1.0, 100.0, "RFC 5348 3.1", "t_RTO of the throughput equation in round-trip times";
        t_rto_min: TimeDelta = ms(0), in 0.0, 60.0, "RFC 5348 3.1 (1 s may be chosen)", "Smallest t_RTO of the throughput equation";
        q: f64 = 0.9, in 0.0, 1.0, "RFC 5348 4.3", "Weight of the past in the round-trip time R";
        oscillation_reduction: bool = true, "RFC 5348 4.5", "Send slower while the round-trip time is above its long-term mean";
        q2: f64 = 0.9, in 0.0, 1.0, "RFC 5348 4.5", "Weight of the past in R_sqmean, the mean square root of the round-trip time";
        damped_slow_start: bool = true, "RFC 5348 4.5; not in ns-2.35's DCCP", "Oscillation reduction holds before the first loss event too";
        t_mbi: TimeDelta = ms(64_000), in 1.0, 1000.0, "RFC 5348 4.3", "Longest interval between packets";
        w_init: Bytes = Bytes::new(4380), in 1.0, 1e6, "RFC 5348 4.2", "Initial window where that is between 2 and w_init_segments largest packets";
        w_init_segments: u64 = 4, in 1.0, 100.0, "RFC 5348 4.2", "Most largest packets in the initial window";
        initial_packet_rate: f64 = 1.0, in 0.01, 1e6, "RFC 5348 4.2", "Packets per second before the first round-trip time";
        nofeedback_initial: TimeDelta = ms(2000), in 0.01, 60.0, "RFC 5348 4.2", "Nofeedback timer before the first round-trip time";
        nofeedback_rtts: f64 = 4.0, in 1.0, 100.0, "RFC 5348 4.3", "Nofeedback timer in round-trip times";
        outage_patience: TimeDelta = ms(500), in 0.0, 60.0, "ours", "Where feedback stayed away for so long, and the nofeedback timer expired, packets that left before it came again tell no round-trip time for so long, or two round trips: they waited for the end of an outage. Zero: they do, as in RFC 5348";
        recv_limit_factor: f64 = 2.0, in 1.0, 100.0, "RFC 5348 4.3", "Largest rate over the largest recent X_recv";
        recv_set_rtts: f64 = 2.0, in 0.0, 100.0, "RFC 5348 4.3", "How long an X_recv counts, in round-trip times; the last one always does";
        data_limited_factor: f64 = 0.85, in 0.0, 1.0, "RFC 5348 4.3", "Factor of X_recv for a loss while the application limits the sender";
        burst_credit: f64 = 0.0, in 0.0, 1.0, "RFC 5348 4.6 (at most one round trip)", "Unused send time that may be made up for in a burst, in round-trip times";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours: RFC 5348 knows no encoders", "Target of the media as a part of the rate; the rest is for headers, and frames that vary";
        media_drain: TimeDelta = ms(333), in 1e-3, 1e10, "RFC 8698 5.2.2 (1 / (BETA_V FPS))", "The target of the media is lower by what lets its send queue leave in this time";
        ndupack: u64 = 3, in 1.0, 100.0, "RFC 5348 5.1", "Later packets that make a missing packet a lost one";
        n: u64 = 8, in 2.0, 64.0, "RFC 5348 5.4 (not above 8 on the Internet)", "Loss intervals that are averaged";
        history_discounting: bool = true, "RFC 5348 5.5", "A long interval without loss lowers the weight of those before it";
        threshold: f64 = 0.25, in 0.0, 1.0, "RFC 5348 5.5", "Smallest discount factor";
        feedback_per_rtt: u64 = 1, in 1.0, 10.0, "RFC 5348 6", "Feedback packets per round-trip time";
        rtt_unknown: TimeDelta = ms(200), in 1e-3, 10.0, "RFC 4340 3.4", "The receiver's round-trip time before a packet says one";
    }
    profiles {
        "rfc5348": "RFC 5348 as printed, with what it recommends" => Params::default,
        "ns2": "The defaults of ns-2.35's TFRC" => Params::ns2,
    }
}

impl Params {
    /// Documented defaults of ns-2.35, where they are not RFC 5348's.
    fn ns2() -> Params {
        Params {
            // tcp_tick_ 0.1: t_RTO is counted by a coarse clock and never below three ticks.
            t_rto_min: ms(300),
            // df_ 0.95, for both means of the round-trip time; ca_ 1.
            q: 0.95,
            q2: 0.95,
            oscillation_reduction: true,
            outage_patience: ms(0),
            // numPkts_ 1, minDiscountRatio_ 0.5.
            ndupack: 1,
            threshold: 0.5,
            ..Params::default()
        }
    }
}
