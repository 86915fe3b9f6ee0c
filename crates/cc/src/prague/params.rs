//! Prague's constants by name. Two sources disagree: the draft with its reference for Linux, and the program udp_prague.

use crate::window::WindowGrowth;
use paceline_units::{Bitrate, Stack, TimeDelta, params};

params! {
    /// Every constant of Prague. `Default` is draft-briscoe-iccrg-prague-congestion-control-04, as its reference for Linux (L4STeam) has it.
    pub struct Params {
        g: f64 = 0.0625, in 0.0, 1.0, "draft-briscoe-iccrg-prague-congestion-control-04 2.3.2", "Weight of a round in alpha";
        alpha_start: f64 = 1.0, in 0.0, 1.0, "draft-briscoe-iccrg-prague-congestion-control-04 2.3.2; udp_prague has 0", "First alpha";
        alpha_waits: bool = true, "L4STeam/linux (saw_ce); udp_prague does not wait", "Alpha keeps its first value until a packet arrives marked";
        cwnd_min: u64 = 2, in 1.0, 1000.0, "L4STeam/linux (MIN_CWND), FACTS 15", "Smallest window that marks leave, in packets";
        rtt_virt_min: TimeDelta = TimeDelta::from_millis(25), in 0.0, 10.0, "draft-briscoe-iccrg-prague-congestion-control-04 2.4.4", "Smallest virtual round trip; 0: the real one counts";
        rtt_transition: u64 = 500, in 0.0, 1e9, "draft-briscoe-iccrg-prague-congestion-control-04 2.4.4; udp_prague has 0", "Round trips behind slow start until the virtual one counts";
        beta: f64 = 0.5, in 0.0, 1.0, "draft-briscoe-iccrg-prague-congestion-control-04 2.4.1, RFC 5681 eq. 4", "Part of the window that a loss leaves";
        beta_ecn: f64 = 0.5, in 0.0, 1.0, "RFC 3168 6.1.2", "Part of the window that a mark leaves where packets are not ECT(1)";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        slow_start: bool = true, "draft-briscoe-iccrg-prague-congestion-control-04 2.4.5; udp_prague has none", "The first window doubles until a mark or a loss";
        l: f64 = 2.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand", "Most packets that one acknowledgement adds in slow start";
        pacing_gain_slow_start: f64 = 2.0, in 1.0, 100.0, "L4STeam/linux, below half the threshold; ours is below the threshold", "Pace in slow start, windows per round trip";
        pacing_gain: f64 = 1.0, in 0.1, 100.0, "draft-briscoe-iccrg-prague-congestion-control-04 2.5.1", "Pace after it, windows per round trip";
        pacing_swing: f64 = 0.0, in 0.0, 0.5, "udp_prague has 0.03", "The pace is higher by this part for half a virtual round trip, and lower for the other half";
        rate_min: Bitrate = Bitrate::ZERO, in 0.0, 1e12, "udp_prague has 100kbps", "No pace is lower, and no window than this rate fills";
        faster: bool = false, "udp_prague; draft-briscoe-iccrg-prague-congestion-control-04 3.1.2 has it as future work", "After a time without marks the window grows by growth_queue in a round trip, not by a packet";
        growth_wait: u64 = 7, in 0.0, 1e6, "udp_prague (MIN_STEP)", "With faster: virtual round trips of that time";
        growth_wait_rate: Bitrate = Bitrate::from_kbps(15_360), in 1.0, 1e12, "udp_prague (RATE_STEP)", "With faster: one more for each multiple of this pace";
        growth_queue: TimeDelta = TimeDelta::from_millis(1), in 0.0, 1.0, "udp_prague (QUEUE_GROWTH)", "With faster: what a virtual round trip adds, as time at the pace";
        classic_ecn_fallback: bool = false, "RFC 9331 4.3; draft-briscoe-iccrg-prague-congestion-control-04 3.3; off in L4STeam/linux", "Marks of a queue that varies as a Classic AQM's does are answered like Classic ones";
        classic_v: f64 = 0.5, in 0.0, 100.0, "Briscoe and Ahmed 2019 (V)", "Weight of the variation of round trips";
        classic_v0: TimeDelta = TimeDelta::from_micros(750), in 1e-9, 10.0, "Briscoe and Ahmed 2019 (V0)", "Mean deviation that tells nothing";
        classic_d: f64 = 0.5, in 0.0, 100.0, "Briscoe and Ahmed 2019 (D)", "Weight of the depth of the queue";
        classic_d0: TimeDelta = TimeDelta::from_millis(2), in 1e-9, 10.0, "Briscoe and Ahmed 2019 (D0)", "Depth below which nothing is told";
        classic_stickiness: f64 = 8.0, in 0.0, 1000.0, "L4STeam/linux (L_STICKY)", "Sum of evidence before anything comes of it, and again the most that adds up beyond";
        classic_alpha: f64 = 0.625, in 0.0, 1.0, "L4STeam/linux", "Least alpha of the answer to a mark once the queue is Classic for certain";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// Bounds of growth.
    with growth: WindowGrowth;
    profiles {
        "draft": "draft-briscoe-iccrg-prague-congestion-control-04 (2024), no text at hand, as its reference for Linux (L4STeam) has it", over Stack::Linux => Params::default,
        "udp-prague": "The program udp_prague of 2026-02: no slow start, the virtual round trip from the first on, and faster growth after a time without marks", over Stack::Linux => Params::udp_prague,
    }
}

impl Params {
    pub(super) fn udp_prague() -> Params {
        Params {
            alpha_start: 0.0,
            alpha_waits: false,
            rtt_transition: 0,
            slow_start: false,
            pacing_swing: 0.03,
            rate_min: Bitrate::from_kbps(100),
            faster: true,
            restart_after_idle: false,
            ..Params::default()
        }
    }
}
