//! A real encoder: what a frame's size is, somebody outside says when the frame is captured.
//!
//! The encoder itself stays outside: it is asked once per frame, with the target of that moment, and answers a size. The
//! simulator carries sizes; whoever encodes keeps the data.

use crate::Frame;
use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN, FrameRate};
use crate::source::MediaSource;
use alloc::sync::Arc;
use core::fmt::Debug;
use paceline_units::{Bitrate, Bytes, Time, params};

params! {
    /// Configuration of a [`Codec`], beside its encoder.
    #[derive(Copy)]
    pub struct CodecParams {
        {
            /// Payload rate until the first target arrives.
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(30), in FPS_MIN, FPS_MAX, "urcp-2013 VII", "Frames per second, whatever the rate that the clip was recorded at";
    }
}

/// A request to an encoder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRequest {
    /// Number of the frame, counted from 0 per stream.
    pub id: u64,
    /// When it is captured.
    pub captured: Time,
    /// Payload rate that it is to be made for.
    pub target: Bitrate,
    /// Whether it is to refer to no other frame.
    pub key: bool,
}

/// An encoder's result for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedFrame {
    /// Size without packet headers; zero for a frame that was skipped.
    pub payload: Bytes,
    /// Whether it refers to no other frame.
    pub key: bool,
}

/// An encoder outside. Asked once for each frame, in order.
pub trait FrameEncoder: Debug + Send + Sync {
    /// Encodes the next frame.
    fn encode(&self, request: &FrameRequest) -> EncodedFrame;
}

/// Frames of a real encoder, on a grid of capture times.
#[derive(Clone, Debug)]
pub struct Codec {
    grid: CaptureGrid,
    target: Bitrate,
    key_requested: bool,
    encoder: Option<Arc<dyn FrameEncoder>>,
}

impl Codec {
    /// A source at rest, without an encoder.
    pub fn new(params: CodecParams) -> Codec {
        Codec {
            grid: CaptureGrid::new(params.fps),
            target: params.target_start,
            key_requested: false,
            encoder: None,
        }
    }

    /// Gives it the encoder that it asks from now on.
    pub fn attach(&mut self, encoder: Arc<dyn FrameEncoder>) {
        self.encoder = Some(encoder);
    }

    /// Whether it has an encoder to ask. Without one it captures nothing.
    pub fn has_encoder(&self) -> bool {
        self.encoder.is_some()
    }
}

impl MediaSource for Codec {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let encoder = self.encoder.as_ref()?;
        let (id, captured) = self.grid.take(now)?;
        let key = core::mem::take(&mut self.key_requested) || id == 0;
        let encoded = encoder.encode(&FrameRequest { id, captured, target: self.target, key });
        Some(Frame { id, captured, payload: encoded.payload, key: encoded.key })
    }

    fn follows_target(&self) -> bool {
        true
    }

    fn set_target(&mut self, _now: Time, target: Bitrate) {
        self.target = target;
    }

    fn request_key_frame(&mut self, _now: Time) {
        self.key_requested = true;
    }

    /// Without an encoder it does not start.
    fn start(&mut self, at: Time) {
        if self.has_encoder() {
            self.grid.start(at);
        }
    }

    fn stop(&mut self) {
        self.grid.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame is exactly its share of the target, and a key frame twice that.
    #[derive(Debug)]
    struct Exact;

    impl FrameEncoder for Exact {
        fn encode(&self, request: &FrameRequest) -> EncodedFrame {
            let share = request.target.as_bps() / 8 / 30;
            let payload = Bytes::new(if request.key { 2 * share } else { share });
            EncodedFrame { payload, key: request.key }
        }
    }

    #[test]
    fn each_frame_is_asked_for_with_the_target_and_the_wish_of_its_moment() {
        let mut codec = Codec::new(CodecParams::default());
        codec.attach(Arc::new(Exact));
        codec.start(Time::ZERO);
        let mut next = |key: bool, mbps: u64| {
            codec.set_target(Time::ZERO, Bitrate::from_mbps(mbps));
            if key {
                codec.request_key_frame(Time::ZERO);
            }
            let frame = codec.capture(Time::MAX).expect("running");
            (frame.id, frame.payload.as_u64(), frame.key)
        };
        assert_eq!(next(false, 3), (0, 25_000, true));
        assert_eq!(next(false, 6), (1, 25_000, false));
        assert_eq!(next(true, 3), (2, 25_000, true));
        assert_eq!(next(false, 3), (3, 12_500, false));
    }

    #[test]
    fn without_an_encoder_nothing_is_captured() {
        let mut codec = Codec::new(CodecParams::default());
        codec.start(Time::ZERO);
        assert_eq!((codec.next_capture(), codec.capture(Time::MAX)), (None, None));
    }
}
