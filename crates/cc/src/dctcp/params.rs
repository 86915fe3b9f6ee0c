//! DCTCP's constants by name.

use crate::window::{WindowGrowth, WindowPacing};
use paceline_units::params;

params! {
    /// Every constant of DCTCP. `Default` is RFC 8257.
    pub struct Params {
        g: f64 = 0.0625, in 0.0, 1.0, "RFC 8257 3.3 and 4.2 (g)", "Weight of a window of data in alpha";
        alpha_start: f64 = 1.0, in 0.0, 1.0, "RFC 8257 3.3", "First alpha";
        alpha_reset: bool = false, "RFC 8257 4.1", "A loss takes alpha back to the first";
        cwnd_min: u64 = 2, in 1.0, 1000.0, "RFC 5681 eq. 4; RFC 8257 names none", "Smallest window that marks leave, in packets";
        beta: f64 = 0.5, in 0.0, 1.0, "RFC 8257 3.5, RFC 5681 eq. 4", "Part of the window that a loss leaves";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 8257 3.5", "Window after a timeout in packets";
        byte_counting: bool = false, "RFC 3465, no text at hand; RFC 5681 3.1 (off: eq. 3)", "Bytes count; else a packet per acknowledgement in slow start and 1/cwnd of one after it";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "With byte_counting: most packets that one acknowledgement adds in slow start";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    /// Bounds of growth.
    with growth: WindowGrowth;
    profiles {
        "rfc8257": "RFC 8257" => Params::default,
    }
}
