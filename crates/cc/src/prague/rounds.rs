//! Rounds, by which alpha is averaged and after which marks reduce the window again: a round trip, and once the flow is
//! old enough no less than the virtual one (sections 2.3.2 and 2.4.4).

use super::Params;
use crate::window::{Ack, Window};
use paceline_units::{Time, TimeDelta};

/// The virtual round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualRtt {
    least: TimeDelta,
    /// Round trips behind slow start until it counts.
    wait: u64,
}

impl VirtualRtt {
    pub fn new(params: &Params) -> VirtualRtt {
        VirtualRtt { least: params.rtt_virt_min, wait: params.rtt_transition }
    }

    /// A round trip behind slow start is over.
    pub fn count(&mut self) {
        self.wait = self.wait.saturating_sub(1);
    }

    /// It: the smoothed round trip, but no less than the least once that counts.
    pub fn get(&self, window: &Window) -> TimeDelta {
        let smoothed = window.round_trip.smoothed().unwrap_or(TimeDelta::ZERO);
        if self.wait == 0 && !window.in_slow_start() { smoothed.max(self.least) } else { smoothed }
    }

    /// Factor by which growth is less than a packet in a round trip: the square of the real over the virtual one. So a packet is
    /// added in a virtual round trip, in which the real one fits more often, and each packet of window is more rate.
    pub fn scale(&self, window: &Window) -> f64 {
        let (real, least) = (window.round_trip.seconds(), self.least.as_secs_f64());
        if self.wait > 0 || real >= least || window.in_slow_start() {
            return 1.0;
        }
        (real / least) * (real / least)
    }
}

/// When a round is over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The first packet that belongs to the next.
    end: u64,
    began: Option<Time>,
}

impl Round {
    /// Whether it is over: something sent in the next was delivered, and a virtual round trip has passed.
    pub fn is_over(&self, ack: &Ack, least: TimeDelta) -> bool {
        ack.newest >= self.end && self.began.is_none_or(|began| ack.now.saturating_since(began) >= least)
    }

    /// The next begins.
    pub fn begin(&mut self, window: &Window, now: Time) {
        (self.end, self.began) = (window.next, Some(now));
    }

    /// Time since its beginning.
    pub fn age(&self, now: Time) -> TimeDelta {
        self.began.map_or(TimeDelta::ZERO, |began| now.saturating_since(began))
    }
}
