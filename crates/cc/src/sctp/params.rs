//! The constants of SCTP's congestion control by name.

use crate::window::WindowPacing;
use paceline_units::{Bytes, Stack, params};

params! {
    /// Every constant of SCTP's window law. `Default` is RFC 9260, from memory: no text at hand.
    pub struct Params {
        initial_bytes: Bytes = Bytes::new(4404), in 1.0, 1e6, "RFC 9260 7.2.1, no text at hand; RFC 4960 has 4380 B", "First window, where it lies between initial_least and initial_most packets";
        initial_least: u64 = 2, in 1.0, 1000.0, "RFC 9260 7.2.1, no text at hand", "Fewest packets of the first window, unless initial_most is less";
        initial_most: u64 = 4, in 1.0, 1000.0, "RFC 9260 7.2.1, no text at hand", "Most packets of the first window";
        initial_ssthresh: Option<Bytes> = None, else "none: slow start lasts until a loss", "RFC 9260 7.2.1, no text at hand: arbitrarily high", "First threshold";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 9260 7.2.1 (L), no text at hand", "Most packets that one SACK adds in slow start";
        beta: f64 = 0.5, in 0.0, 1.0, "RFC 9260 7.2.3, no text at hand", "Part of the window that a loss leaves as the threshold";
        ssthresh_min: u64 = 4, in 1.0, 1000.0, "RFC 9260 7.2.3, no text at hand; RFC 2960 has 2", "Smallest threshold in packets";
        timeout_window: u64 = 1, in 1.0, 1000.0, "RFC 9260 7.2.3, no text at hand", "Window after T3-rtx expired, in packets";
        idle_factor: f64 = 0.5, in 0.0, 1.0, "RFC 9260 7.2.1, no text at hand", "Part of the window that each retransmission timeout without data leaves";
        idle_least: u64 = 4, in 1.0, 1000.0, "RFC 9260 7.2.1, no text at hand", "Packets below which a pause does not take the window";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    profiles {
        "rfc9260": "RFC 9260, from memory" => Params::default,
        "ns2": "RFC 2960 as ns-2.35 has it: two packets at first, and as the smallest threshold", over Stack::Ns2 => || Params {
            initial_most: 2,
            ssthresh_min: 2,
            idle_factor: 1.0,
            ..Params::default()
        },
    }
}
