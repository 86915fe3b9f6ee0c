//! CCID 2's constants by name. One algorithm, named sets of values.

use paceline_units::{Bytes, Stack, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

params! {
    /// Every constant of CCID 2. `Default` is RFC 4341.
    pub struct Params {
        initial_window: Bytes = Bytes::new(4380), in 1.0, 1e6, "RFC 3390 1", "First window where that is between 2 and initial_cwnd largest packets";
        initial_cwnd: u64 = 4, in 1.0, 1000.0, "RFC 4341 5 (at most four)", "Most packets in the first window";
        numdupack: u64 = 3, in 1.0, 16.0, "RFC 4341 5 (NUMDUPACK)", "Later packets received that make a missing packet a lost one";
        beta: f64 = 0.5, in 0.0, 1.0, "RFC 4341 5", "Part of the window that a congestion event leaves, and of the threshold after a timeout, rounded down";
        slow_start_packets: u64 = 2, in 1.0, 10.0, "RFC 4341 5 (two; ns-2.35 has one)", "Packets newly acknowledged, of Ack Ratio at most in one acknowledgement, that slow start grows by one for";
        count_beside_losses: bool = false, "ns-2.35's DCCP; RFC 4341 5 is silent", "Packets acknowledged count for the window's growth beside losses too: only a congestion event begins the count anew";
        ssthresh_min: u64 = 2, in 1.0, 1000.0, "RFC 4341 5", "Smallest threshold after a halving, in packets";
        ssthresh_held: bool = false, "RFC 5681 3.1, after eq. 4; RFC 4341 5 halves at each timeout", "A timeout leaves the threshold as it is if nothing is acknowledged that left after the last one";
        late_counts: bool = false, "RFC 5681 3.1 (new data that is acknowledged); RFC 4341 5 is silent", "A packet that a timeout gave up and that arrives after all lets the window grow";
        rate_limited_increase: bool = false, "draft-ietf-ccwg-ratelimited-increase-10, Rate-Limited Increase", "A window that is not used grows too, up to what a window as large as the largest flight since the last reduction would become; else it grows only while it is used";
        rto_initial: TimeDelta = ms(3000), in 0.01, 60.0, "RFC 4341 5 (RFC 2988, quoted in RFC 6298 appendix A)", "Timeout before the first round-trip time";
        rto_min: TimeDelta = ms(0), in 0.0, 60.0, "RFC 4341 5 (no minimum of 1 s)", "Smallest timeout";
        rto_max: TimeDelta = ms(64_000), in 60.0, 1000.0, "RFC 6298 2.5 (60 s at least)", "Largest timeout";
        rto_granularity: TimeDelta = ms(100), in 0.0, 10.0, "RFC 6298 2.3 and 4 (G, 100 ms or finer)", "Least that a timeout is above the smoothed round-trip time";
        ack_delay: TimeDelta = ms(200), in 0.0, 10.0, "RFC 4340 11.3 (T)", "How long the receiver may hold an acknowledgement back that Ack Ratio packets do not fill";
        ack_ratio: u64 = 2, in 1.0, 65535.0, "RFC 4341 6.1", "Ack Ratio at first";
        ack_ratio_min: u64 = 1, in 1.0, 2.0, "RFC 4341 6.1.2 (two MAY be enforced)", "Smallest Ack Ratio; windows of four packets and more have two in any case";
        ack_ratio_always: u64 = 2, in 1.0, 2.0, "RFC 4341 6.1.2 (two is always acceptable)", "Ack Ratio that the smallest window allows";
        ack_ratio_anew: bool = false, "ns-2.35's DCCP; not in RFC 4341 6.1", "A timeout takes the Ack Ratio down to ack_ratio_min";
        ack_ratio_interval: f64 = 1.0, in 1.0, 100.0, "RFC 4341 6.1.2 (not more than once)", "Round trips between two changes that the receiver is told of";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours: RFC 4341 knows no encoders", "Target of the media as a part of a window per round trip; the rest is for headers, and frames that vary";
        media_drain: TimeDelta = ms(333), in 1e-3, 1e10, "RFC 8698 5.2.2 (1 / (BETA_V FPS))", "The target of the media is lower by what lets its send queue leave in this time";
        restart_after_idle: bool = true, "RFC 4341 5.1 (RFC 2581)", "A pause of a timeout takes the window down to the first";
        window_validation: bool = false, "RFC 4341 5.1 (RFC 2861, no text at hand)", "An unused window decays: by half in each timeout without packets, and half way to its use in one with few";
    }
    ordered ack_ratio_min <= ack_ratio, ack_ratio_min <= ack_ratio_always;
    profiles {
        "rfc4341": "RFC 4341; a pause begins anew from the first window" => Params::default,
        "rfc5681": "RFC 4341 with RFC 5681's timeouts: a series of them halves the threshold once, and what arrives after all lets the window grow" => || Params { ssthresh_held: true, late_counts: true, ..Params::default() },
        "rfc2861": "RFC 4341 with window validation: a pause decays the window (RFC 2861, no text at hand)" => || Params { restart_after_idle: false, window_validation: true, ..Params::default() },
        "ns2": "ns-2.35's agent, of the drafts of 2003: slow start by a packet for each, timeouts of 1 s at least", over Stack::Ns2 => Params::ns2,
    }
}

impl Params {
    /// ns-2.35's agent; what each moves is in DEVIATIONS.md.
    fn ns2() -> Params {
        Params {
            // Three packets, whatever their size.
            initial_cwnd: 3,
            initial_window: Bytes::new(1_000_000),
            slow_start_packets: 1,
            count_beside_losses: true,
            ssthresh_min: 1,
            rto_min: ms(1000),
            rto_granularity: ms(10),
            ack_delay: ms(0),
            ack_ratio_always: 1,
            ack_ratio_anew: true,
            ..Params::default()
        }
    }
}
