//! CUBIC's constants by name.

use crate::window::{HyStartParams, SlowStartExit, WindowGrowth, WindowPacing};
use paceline_units::{Stack, params};

params! {
    /// Every constant of CUBIC.
    pub struct Params {
        c: f64 = 0.4, in 1e-6, 1e6, "RFC 8312 5.1 (C)", "Growth of the window, packets per cubic second";
        beta_cubic: f64 = 0.7, in 0.01, 0.99, "RFC 8312 4.5", "Part of the window that a loss leaves";
        beta_ecn: f64 = 0.7, in 0.01, 0.99, "RFC 8312 4.5 (as a loss); RFC 8511 has 0.85", "Part of the window that a mark leaves";
        fast_convergence: bool = true, "RFC 8312 4.6", "A falling W_max is lowered further: room for others";
        tcp_friendliness: bool = true, "RFC 8312 4.2", "No less than Reno would have";
        friendly_from_window: bool = true, "RFC 8312 4.2 with 4.6: which W_max is not said", "Reno's estimate starts from the window before the reduction, not from a plateau lowered by fast convergence";
        target_limit: Option<f64> = None, else "no limit", in 1.0, 100.0, "RFC 9438 4.2 (1.5); not in RFC 8312", "Most that the curve may ask for within a round trip, windows";
        k_from_window: bool = false, "RFC 9438 4.2 eq. 2; RFC 8312 4.1", "The curve begins at the window with which avoidance begins, not at beta_cubic of its plateau";
        friendly_by_acks: bool = false, "RFC 9438 4.3 eq. 4; RFC 8312 4.2 (by time)", "Reno's estimate grows with the bytes that are acknowledged, and like Reno's from the window before the reduction on";
        converges_below_plateau: bool = false, "RFC 9438 4.7; RFC 8312 4.6", "Fast convergence compares with W_max as it was lowered, not with the window before the last reduction";
        ssthresh_from_flight: bool = false, "RFC 9438 4.6; RFC 8312 4.5 (window)", "A reduction leaves a part of the flight, not of the window: after a loss two packets, after a mark one at least";
        undo_below: bool = false, "RFC 9438 4.9.2", "A spurious reduction is undone only while the window is below that before it";
        ahead_by_least: bool = false, "Linux (delay_min); RFC 9438 4.2 (smoothed)", "The curve is looked at the smallest round trip ahead, not the smoothed one";
        ssthresh_min: u64 = 2, in 1.0, 1000.0, "RFC 8312 4.5", "Smallest threshold in packets";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 8312 4.7, RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    /// Bounds of growth.
    with growth: WindowGrowth;
    profiles {
        "linux": "CUBIC as Linux has it, paced, with HyStart++; over TCP with Linux's timers", over Stack::Linux => Params::linux,
        "rfc9438": "RFC 9438 with HyStart++ (RFC 9406) and growth by bytes" => Params::rfc9438,
        "quic": "Paced CUBIC as by the defaults of quiche, and of quinn but for HyStart++; over TCP with QUIC's delays of acknowledgements", over Stack::Quic => Params::quic,
        "rfc8312": "RFC 8312; over TCP with RFC 6675 in place of RACK-TLP", over Stack::Rfc6675 => Params::rfc8312,
    }
    usual Params::linux;
}

impl Params {
    /// The values beside the names.
    pub(super) fn rfc8312() -> Params {
        Params::declared()
    }

    fn rfc9438() -> Params {
        let hystart = HyStartParams { hystart: SlowStartExit::HyStartPlusPlus, ..HyStartParams::default() };
        Params {
            target_limit: Some(1.5),
            k_from_window: true,
            friendly_by_acks: true,
            converges_below_plateau: true,
            ssthresh_from_flight: true,
            undo_below: true,
            l: 2.0,
            growth: WindowGrowth { hystart, ..WindowGrowth::default() },
            ..Params::declared()
        }
    }

    /// Linux's ways beside RFC 9438; the effect of each is in DEVIATIONS.md.
    fn linux() -> Params {
        Params {
            ssthresh_from_flight: false,
            ahead_by_least: true,
            pacing: WindowPacing { pacing: true, pacing_gain_slow_start: 2.0, pacing_gain: 1.2 },
            ..Params::rfc9438()
        }
    }

    fn quic() -> Params {
        Params {
            ssthresh_from_flight: false,
            // RFC 9002 section 7.3.1: whatever is acknowledged is added.
            l: 100.0,
            restart_after_idle: false,
            // RFC 9002 section 7.7: N = 1.25.
            pacing: WindowPacing { pacing: true, pacing_gain_slow_start: 1.25, pacing_gain: 1.25 },
            ..Params::rfc9438()
        }
    }
}
