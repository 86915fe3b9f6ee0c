//! Vegas's constants by name.

use crate::window::WindowGrowth;
use paceline_units::params;

params! {
    /// Every constant of Vegas.
    pub struct Params {
        alpha: f64 = 2.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue below which the window grows";
        beta: f64 = 4.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue above which the window shrinks";
        gamma: f64 = 1.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue that end slow start";
        cwnd_min: u64 = 2, in 1.0, 1000.0, "ours; RFC 5681 eq. 4", "Smallest window that delay leaves, in packets";
        loss_beta: f64 = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "Part of the window that a loss or a mark leaves";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        byte_counting: bool = false, "RFC 3465, no text at hand; RFC 5681 3.1 (off: eq. 3)", "Bytes count; else a packet per acknowledgement in slow start and 1/cwnd of one after it";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "With byte_counting: most packets that one acknowledgement adds in slow start";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// Bounds of growth.
    with growth: WindowGrowth;
    ordered alpha <= beta;
    profiles {
        "1995": "Brakmo and Peterson 1995 with 2 to 4 packets in the queue" => Params::default,
    }
}
