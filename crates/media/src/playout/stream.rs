//! Playout of frames that a reliable stream of bytes carries.

use super::freeze::FreezeDetector;
use super::{DisplayedFrame, FrameDelayParts, PlayoutCounters};
use paceline_units::{Bytes, Time, TimeDelta};

/// Shows each frame as soon as all of its bytes, and all before them, are there: none is lost, none overtakes another, and
/// whatever was lost on the way holds up all that comes behind it.
#[derive(Clone, Debug, Default)]
pub struct StreamPlayout {
    freezes: FreezeDetector,
    counters: PlayoutCounters,
}

impl StreamPlayout {
    /// A frame of `bytes`, captured at `captured`, is whole. The places of its wait are not known: all of it is `path`.
    pub fn show(&mut self, now: Time, captured: Time, bytes: Bytes) -> DisplayedFrame {
        self.counters.displayed += 1;
        if let Some(gap) = self.freezes.on_display(now) {
            self.counters.freezes += 1;
            self.counters.freeze_time += gap;
        }
        let path = now.saturating_since(captured);
        let parts = FrameDelayParts { send_queue: None, link_queue: None, path, dejitter: TimeDelta::ZERO };
        DisplayedFrame {
            captured,
            displayed: now,
            bytes,
            key: None,
            packets: 1,
            in_time: 1,
            late: false,
            parts,
        }
    }

    /// Counts of this stream's frames so far.
    pub fn counters(&self) -> PlayoutCounters {
        self.counters
    }
}
