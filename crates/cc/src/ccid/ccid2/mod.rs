//! CCID 2: TCP-like congestion control for DCCP, with packets in its window and congestion control of acknowledgements
//! (RFC 4341).
//!
//! The transport reads Ack Vectors and says which packets are received or marked; what that means is decided here. Differences from the
//! text are in DEVIATIONS.md beside this file.

mod ack_ratio;
mod controller;
mod flight;
mod params;
mod timeout;
mod window;

pub use ack_ratio::AckPath;
pub use params::Params;

use crate::media_room::MediaRoom;
use crate::spread::Spread;
use crate::{FlowSetup, StreamId};
use ack_ratio::AckRatio;
use flight::Flight;
use paceline_units::Bytes;
use timeout::TransmitTimeout;
use window::Window;

/// The sender half. It has no receiver half: Ack Vectors say what arrived.
///
/// `assign` overwrites window and threshold (slow start ends); a rate becomes rate x srtt in largest packets. The room of a raised window
/// is used over a round trip.
#[derive(Clone, Debug)]
pub struct Ccid2 {
    params: Params,
    largest_packet: Bytes,
    window: Window,
    flight: Flight,
    timeout: TransmitTimeout,
    ack_ratio: AckRatio,
    spread: Spread,
    room: MediaRoom,
    /// Whether the application at the other end listens no more.
    not_listening: bool,
}

/// A half-connection has one stream of packets.
const STREAM: StreamId = StreamId(0);

impl Ccid2 {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Ccid2 {
        let (params, largest_packet) = (params.clone(), setup.largest_packet);
        let window = Window::new(&params, largest_packet);
        let mut ack_ratio = AckRatio::new(&params);
        ack_ratio.constrain(window.cwnd);
        Ccid2 {
            window,
            flight: Flight::new(params.numdupack),
            timeout: TransmitTimeout::new(&params),
            ack_ratio,
            spread: Spread::default(),
            room: MediaRoom::new(),
            largest_packet,
            not_listening: false,
            params,
        }
    }

    /// `cwnd`, packets.
    pub fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    /// Number of data packets outstanding.
    pub fn pipe(&self) -> u64 {
        self.flight.pipe
    }

    /// Packets per acknowledgement, as wanted now.
    pub fn ack_ratio(&self) -> u64 {
        self.ack_ratio.ratio
    }
}

#[cfg(test)]
mod tests;
