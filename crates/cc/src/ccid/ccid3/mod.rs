//! CCID 3: TFRC for DCCP (RFC 4342, as RFC 5348 updates it).
//!
//! The sender half is TFRC's with a window counter in place of its round-trip time on packets; the receiver half counts
//! loss events by that counter and reports loss intervals. Differences from the texts are in DEVIATIONS.md beside this
//! file and in `tfrc/DEVIATIONS.md`.

mod controller;
mod loss_event_rate;
mod params;
mod receiver;
mod window_counter;

pub use params::Params;
pub use receiver::Ccid3Receiver;

use crate::FlowSetup;
use crate::tfrc::Tfrc;
use crate::tfrc::average::Averager;
use paceline_units::Bitrate;
use window_counter::WindowCounter;

/// The sender half. Its receiver half is [`Ccid3Receiver`], whose reports it lives on.
///
/// `assign` overwrites X until the next feedback packet; the loss intervals are the receiver's, and stay.
#[derive(Clone, Debug)]
pub struct Ccid3 {
    params: Params,
    tfrc: Tfrc,
    counter: WindowCounter,
    averager: Averager,
    /// Packets that the other end host had no room for, since the last feedback packet.
    no_room: u64,
    /// Whether the other end host asked for no more since then.
    slow_receiver: bool,
    /// Whether the application at the other end listens no more.
    not_listening: bool,
}

impl Ccid3 {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Ccid3 {
        let tfrc = &params.tfrc;
        Ccid3 {
            counter: WindowCounter::new(params.counter_steps, tfrc.rtt_unknown),
            averager: Averager { absent_are_zero: params.absent_are_zero, ..Averager::new(tfrc) },
            tfrc: Tfrc::new(tfrc, setup),
            no_room: 0,
            slow_receiver: false,
            not_listening: false,
            params: params.clone(),
        }
    }

    /// X, the allowed sending rate.
    pub fn allowed_rate(&self) -> Bitrate {
        self.tfrc.allowed_rate()
    }
}
