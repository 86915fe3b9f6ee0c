//! Reno's constants by name. One law, two named sets of values.

use crate::params::{ParamError, param_set};

param_set! {
    /// Every constant of the Reno window law. `Default` is RFC 5681.
    pub struct Params {
        byte_counting: Flag = false, in 0.0, 1.0, "RFC 5681 3.1 (off: eq. 3; on: the way that counts bytes); RFC 3465, no text at hand", "Bytes count; else a packet per acknowledgement in slow start and 1/cwnd of one after it";
        l: Ratio = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start; 1 for what was outstanding at a timeout";
        beta: Ratio = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "What a loss leaves";
        beta_ecn: Ratio = 0.5, in 0.0, 1.0, "RFC 3168 6.1.2; RFC 8511 has 0.8", "What a mark leaves";
        ssthresh_from_window: Flag = false, in 0.0, 1.0, "RFC 5681 eq. 4 (flight); ns-2 as measured (window)", "The part is of the window, not of the flight";
        ssthresh_held: Flag = true, in 0.0, 1.0, "RFC 5681 3.1, after eq. 4", "A repeated timeout leaves the threshold as it is";
        ssthresh_min: Count = 2, in 1.0, 1000.0, "RFC 5681 eq. 4", "Smallest threshold in packets";
        lw: Count = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        deflate_to_flight: Flag = false, in 0.0, 1.0, "RFC 6582 3.2 step 3, option 1", "Recovery ends with no more than what is outstanding and a packet";
        restart_after_idle: Flag = true, in 0.0, 1.0, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
        whole_packets: Flag = false, in 0.0, 1.0, "ns-2 as measured", "Only whole packets of the window may be sent";
        pacing: Flag = false, in 0.0, 1.0, "ours", "Packets are spaced over the round trip";
        pacing_gain_slow_start: Ratio = 2.0, in 1.0, 100.0, "ours", "Pace in slow start, windows per round trip";
        pacing_gain: Ratio = 1.2, in 1.0, 100.0, "ours", "Pace after it, windows per round trip";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[
    (
        "rfc5681",
        "RFC 5681, its equations 2 to 4: what an acknowledgement adds does not depend on how much it covers",
    ),
    (
        "rfc3465",
        "RFC 5681 with byte counting: delayed acknowledgements slow nothing down; RFC 3465, no text at hand",
    ),
    (
        "ns2",
        "ns-2.35's choices: packets and acknowledgements count, not bytes; half the window, not the flight",
    ),
];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        match name {
            "rfc5681" => Some(Params::default()),
            "rfc3465" => Some(Params { byte_counting: true, l: 2.0, ..Params::default() }),
            "ns2" => Some(Params {
                ssthresh_from_window: true,
                ssthresh_held: false,
                restart_after_idle: false,
                whole_packets: true,
                ..Params::default()
            }),
            _ => None,
        }
    }

    /// Whether the parameters fit each other: always.
    ///
    /// # Errors
    /// None.
    pub fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// All parameters with their specification.
    pub fn all() -> &'static [crate::params::ParamSpec] {
        Params::SPECS
    }
}
