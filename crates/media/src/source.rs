//! The sources, dispatched statically.
//!
//! The endpoint that owns a source captures a frame whenever one is due, tells the source the controller's target, and
//! passes on the wish for a key frame after a discard. To add a source: a file that implements [`MediaSource`], and a line in
//! `sources!`.

use crate::{Bulk, Cbr, Codec, CodecModel, Frame, FrameRun, TraceEncoder, VideoModel};
use paceline_units::{Bitrate, Bytes, Time};

/// The calls of a source. A source that works only by demand captures nothing; a source without an encoder follows no target.
pub(crate) trait MediaSource {
    /// When the next frame is captured.
    fn next_capture(&self) -> Option<Time> {
        None
    }

    /// The frame that is due.
    fn capture(&mut self, now: Time) -> Option<Frame> {
        let _ = now;
        None
    }

    /// As [`Source::capture_run`].
    fn capture_run(&mut self, until: Time, largest: Bytes) -> Option<FrameRun> {
        let _ = (until, largest);
        None
    }

    /// Whether its frames are made for a target.
    fn follows_target(&self) -> bool {
        false
    }

    /// Largest payload rate that its frames are made for; absent where a target can be any.
    fn largest_rate(&self) -> Option<Bitrate> {
        None
    }

    /// The payload rate that the next frames are made for.
    fn set_target(&mut self, now: Time, target: Bitrate) {
        let _ = (now, target);
    }

    /// The next frame is to be a key frame.
    fn request_key_frame(&mut self, now: Time) {
        let _ = now;
    }

    /// The next frame is captured at `at`.
    fn start(&mut self, at: Time);

    /// No more frames until started again.
    fn stop(&mut self);

    /// The frame to add to a send queue that holds `queued`.
    fn refill(&mut self, now: Time, queued: Bytes) -> Option<Frame> {
        let _ = (now, queued);
        None
    }
}

/// A line is: documentation, and `Variant(source)`.
macro_rules! sources {
    ($( $(#[$meta:meta])* $source:ident($type:ident), )*) => {
        /// Where a stream's frames come from.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per stream, never moved in the packet path")]
        pub enum Source {
            $( $(#[$meta])* $source($type), )*
            /// Somebody else's encoder: frames are pushed into the send queue from outside.
            External,
        }

        /// Calls the source inside; an external one does and answers nothing.
        macro_rules! each {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any {
                    $( Source::$source($inner) => $call, )*
                    Source::External => Default::default(),
                }
            };
        }
    };
}

sources! {
    /// An encoder whose frame sizes follow a trace, scaled to the target.
    TraceEncoder(TraceEncoder),
    /// A video source of RFC 8593.
    Rfc8593(VideoModel),
    /// Frames of constant size at a constant rate.
    Cbr(Cbr),
    /// Frames of a real encoder.
    Codec(Codec),
    /// Frames of the size that an encoder would make, whose looks are modelled.
    CodecModel(CodecModel),
    /// A file, sent as fast as the controller allows.
    Bulk(Bulk),
}

impl Source {
    /// When the next frame is captured. None: stopped, or only by demand (bulk, external).
    #[inline]
    pub fn next_capture(&self) -> Option<Time> {
        each!(self, source => source.next_capture())
    }

    /// Captures the frame that is due; to be called when `now` has reached [`Source::next_capture`]. A frame that is
    /// fetched late keeps the time it was due at. Without a frame due (stopped, bulk, external) the frame is empty, and
    /// a send queue does not take it.
    pub fn capture(&mut self, now: Time) -> Frame {
        let frame: Option<Frame> = each!(self, source => source.capture(now));
        frame.unwrap_or(Frame { id: 0, captured: now, payload: Bytes::ZERO, key: false })
    }

    /// Captures frames that are due before `until`, each at its time, as far as they are alike, not empty and no larger than `largest`.
    /// Absent where that does not pay, and then none is captured.
    #[inline]
    pub fn capture_run(&mut self, until: Time, largest: Bytes) -> Option<FrameRun> {
        each!(self, source => source.capture_run(until, largest))
    }

    /// The encoder's new target: **payload** bits per second. Packet headers come on top, as in the reference
    /// simulator (which is why SCReAM corrects for them). It counts from the next frame on.
    pub fn set_target(&mut self, now: Time, target: Bitrate) {
        each!(self, source => source.set_target(now, target))
    }

    /// Whether its frames follow [`Source::set_target`].
    pub fn follows_target(&self) -> bool {
        each!(self, source => source.follows_target())
    }

    /// Largest **payload** rate that a source can be told to make; absent where a target can be any.
    pub fn largest_rate(&self) -> Option<Bitrate> {
        each!(self, source => source.largest_rate())
    }

    /// Asks for the next frame to be a key frame. Several wishes before that frame are one.
    pub fn request_key_frame(&mut self, now: Time) {
        each!(self, source => source.request_key_frame(now))
    }

    /// Starts, or goes on after a stop: the next frame is captured at `at`. Frame numbers and the place in the trace
    /// go on where they were.
    pub fn start(&mut self, at: Time) {
        each!(self, source => source.start(at))
    }

    /// No more frames until started again.
    pub fn stop(&mut self) {
        each!(self, source => source.stop())
    }

    /// The user mutes (RFC 8867, section 5.8): the same as [`Source::stop`].
    pub fn pause(&mut self) {
        self.stop();
    }

    /// The user is back: the same as [`Source::start`].
    pub fn resume(&mut self, at: Time) {
        self.start(at);
    }

    /// The frame that a bulk source adds to a send queue that holds `queued`: enough to keep it filled, or nothing. Other
    /// sources never add anything here.
    #[inline]
    pub fn refill(&mut self, now: Time, queued: Bytes) -> Option<Frame> {
        each!(self, source => source.refill(now, queued))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BulkParams, CbrParams};

    #[test]
    fn what_only_works_by_demand_never_captures() {
        let now = Time::from_nanos(5);
        for mut source in [Source::External, Source::Bulk(Bulk::new(BulkParams::default()))] {
            source.start(now);
            assert_eq!(source.next_capture(), None);
            assert_eq!(source.capture(now).payload, Bytes::ZERO);
        }
    }

    #[test]
    fn pause_and_resume_move_the_grid_and_keep_the_count() {
        let mut source = Source::Cbr(Cbr::new(CbrParams::default()));
        source.start(Time::ZERO);
        assert_eq!(source.capture(Time::ZERO).id, 0);
        source.pause();
        assert_eq!(source.next_capture(), None);
        assert_eq!(source.capture(Time::ZERO).payload, Bytes::ZERO);
        let later = Time::from_nanos(123_456_789);
        source.resume(later);
        let frame = source.capture(later);
        assert_eq!((frame.id, frame.captured), (1, later));
        assert_eq!(source.refill(later, Bytes::ZERO), None);
    }
}
