//! Vegas's constants by name.

use crate::params::{ParamError, param_set};
use alloc::string::ToString;

param_set! {
    /// Every constant of Vegas.
    pub struct Params {
        alpha: Ratio = 2.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue below which the window grows";
        beta: Ratio = 4.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue above which the window shrinks";
        gamma: Ratio = 1.0, in 0.0, 1000.0, "FACTS 14, no text at hand", "Packets in the queue that end slow start";
        cwnd_min: Count = 2, in 1.0, 1000.0, "ours; RFC 5681 eq. 4", "Smallest window that delay leaves, in packets";
        loss_beta: Ratio = 0.5, in 0.0, 1.0, "RFC 5681 eq. 4", "What a loss or a mark leaves";
        lw: Count = 1, in 1.0, 1000.0, "RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        l: Ratio = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start";
        restart_after_idle: Flag = true, in 0.0, 1.0, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] =
    &[("1995", "Brakmo and Peterson 1995 with 2 to 4 packets in the queue")];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        (name == "1995").then(Params::default)
    }

    /// Whether the parameters fit each other.
    ///
    /// # Errors
    /// If alpha is larger than beta.
    pub fn validate(&self) -> Result<(), ParamError> {
        if self.alpha <= self.beta {
            Ok(())
        } else {
            Err(ParamError::Contradiction("alpha must not be larger than beta".to_string()))
        }
    }
}
