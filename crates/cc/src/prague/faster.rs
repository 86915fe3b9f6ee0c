//! Growth by more than a packet after a time without marks, as the program udp_prague has it.

use super::Params;
use crate::window::Window;
use paceline_units::{Bitrate, TimeDelta};

/// How long growth is still that of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faster {
    /// Virtual round trips without marks until it is more.
    wait: f64,
}

impl Faster {
    pub fn new(params: &Params) -> Faster {
        Faster { wait: after_mark(params, Bitrate::ZERO) }
    }

    /// A virtual round trip is over.
    pub fn count(&mut self) {
        self.wait = (self.wait - 1.0).max(0.0);
    }

    /// A mark reduced the window.
    pub fn on_mark(&mut self, params: &Params, pace: Bitrate) {
        self.wait = after_mark(params, pace);
    }

    /// A loss reduced it: a flow of the least virtual round trip would need so long to get back.
    pub fn on_loss(&mut self, window: &Window, pace: Bitrate, least: TimeDelta, present: TimeDelta) {
        let (least, present) = (least.as_secs_f64(), present.as_secs_f64());
        if present > 0.0 {
            let packets = pace.as_bps_f64() / 8.0 / 2.0 * least / window.mss;
            self.wait = (packets * least / present) as u64 as f64;
        }
    }

    /// Growth in a virtual round trip, in bytes.
    pub fn increment(&self, params: &Params, window: &Window, pace: Bitrate) -> f64 {
        if !params.faster || self.wait > 0.0 {
            return window.mss;
        }
        (pace.as_bps_f64() / 8.0 * params.growth_queue.as_secs_f64()).max(window.mss)
    }
}

fn after_mark(params: &Params, pace: Bitrate) -> f64 {
    let steps = (pace.as_bps_f64() / params.growth_wait_rate.as_bps_f64()) as u64;
    steps as f64 + params.growth_wait as f64
}
