//! A frame as a source hands it over.

use paceline_units::{Bytes, Time};

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
