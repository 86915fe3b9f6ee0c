//! A frame as a source hands it over.

use paceline_units::{Bytes, Time, TimeDelta};

/// One encoded frame (for a bulk source: one chunk of the file).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Counts from 0 per stream.
    pub id: u64,
    /// When the frame was captured; its delay to the display counts from here.
    pub captured: Time,
    /// Size without packet headers. Zero: the encoder skipped the frame, nothing is sent.
    pub payload: Bytes,
    /// Whether the frame refers to no other frame.
    pub key: bool,
}

/// Frames of one size that are captured at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRun {
    /// When the first is captured.
    pub first: Time,
    /// The time from one to the next.
    pub gap: TimeDelta,
    /// How many there are, one at least.
    pub count: u64,
    /// Size of each without packet headers.
    pub payload: Bytes,
}

impl FrameRun {
    /// When the last is captured.
    pub fn last(&self) -> Time {
        self.first + self.gap * (self.count - 1) as i64
    }
}
