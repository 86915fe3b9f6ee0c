//! Reno's constants by name. One law, two named sets of values.

use crate::window::{WindowGrowth, WindowPacing};
use paceline_units::{Stack, params};

params! {
    /// Every constant of the Reno window law. `Default` is RFC 5681.
    pub struct Params {
        byte_counting: bool = false, "RFC 5681 3.1 (off: eq. 3; on: the way that counts bytes); RFC 3465, no text at hand", "Bytes count; else a packet per acknowledgement in slow start and 1/cwnd of one after it";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start; 1 for what was outstanding at a timeout";
        beta: f64 = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "Part of the window that a loss leaves";
        beta_ecn: f64 = 0.5, in 0.0, 1.0, "RFC 3168 6.1.2; RFC 8511 has 0.8", "Part of the window that a mark leaves";
        ssthresh_from_window: bool = false, "RFC 5681 eq. 4 (flight); ns-2 as measured (window)", "The part is of the window, not of the flight";
        ssthresh_held: bool = true, "RFC 5681 3.1, after eq. 4", "A repeated timeout leaves the threshold as it is";
        ssthresh_min: u64 = 2, in 1.0, 1000.0, "RFC 5681 eq. 4", "Smallest threshold in packets";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        deflate_to_flight: bool = false, "RFC 6582 3.2 step 3, option 1", "Recovery ends with no more than what is outstanding and a packet";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
        whole_packets: bool = false, "ns-2 as measured", "Only whole packets of the window may be sent";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    /// Bounds of growth.
    with growth: WindowGrowth;
    profiles {
        "rfc5681": "RFC 5681, its equations 2 to 4: what an acknowledgement adds does not depend on how much it covers" => Params::default,
        "rfc3465": "RFC 5681 with byte counting: delayed acknowledgements slow nothing down; RFC 3465, no text at hand" => || Params { byte_counting: true, l: 2.0, ..Params::default() },
        "ns2": "ns-2.35's choices: packets and acknowledgements count, not bytes; half the window, not the flight", over Stack::Ns2 => || Params {
            ssthresh_from_window: true,
            ssthresh_held: false,
            restart_after_idle: false,
            whole_packets: true,
            ..Params::default()
        },
    }
}
