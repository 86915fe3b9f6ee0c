//! A toy: one frame a second.

use crate::Frame;
use crate::source::MediaSource;
use paceline_units::{Bytes, Time, TimeDelta, params};

params! {
    /// The parameters of the toy.
    pub struct ToyParams {
        size: Bytes = Bytes::new(1000), in 1.0, 1e9, "ours", "Payload of each frame";
    }
}

/// A source of one frame a second.
#[derive(Clone, Debug)]
pub struct Toy {
    size: Bytes,
    next: Option<Time>,
    frames: u64,
}

impl Toy {
    /// A source at rest.
    pub fn new(params: &ToyParams) -> Toy {
        Toy { size: params.size, next: None, frames: 0 }
    }
}

impl MediaSource for Toy {
    fn next_capture(&self) -> Option<Time> {
        self.next
    }

    fn capture(&mut self, _now: Time) -> Option<Frame> {
        let captured = self.next?;
        self.next = Some(captured + TimeDelta::from_secs(1));
        self.frames += 1;
        Some(Frame { id: self.frames - 1, captured, payload: self.size, key: self.frames == 1 })
    }

    fn start(&mut self, at: Time) {
        self.next = Some(at);
    }

    fn stop(&mut self) {
        self.next = None;
    }
}
