//! Plain datagrams: every frame of the source leaves at once, cut into packets, and nothing comes back.
//!
//! The uncontrolled flow of every comparison. A packet's size is its payload: no UDP or IP header counts.

use crate::ends::{FrameCounters, ReceivingEnd, SendingEnd};
use paceline_cc::{Controller, StreamId};
use paceline_media::{PlayoutCounters, Source};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// A datagram on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its size.
    pub payload: Bytes,
    /// When its frame was captured.
    pub captured: Time,
}

/// Sends what its source gives. Its controller is asked nothing: it is there to be looked at.
#[derive(Clone, Debug)]
pub struct UdpSender<C> {
    controller: C,
    source: Source,
    max_payload: u64,
    /// What is left of the newest frame.
    left: u64,
    captured: Time,
    newest_frame: Bytes,
    frames: u64,
}

impl<C: Controller> UdpSender<C> {
    /// A sender that has not started. `source` makes frames of its own accord: an endless one would never end.
    pub fn new(controller: C, source: Source, max_payload: Bytes) -> UdpSender<C> {
        UdpSender {
            controller,
            source,
            max_payload: max_payload.as_u64().max(1),
            left: 0,
            captured: Time::ZERO,
            newest_frame: Bytes::ZERO,
            frames: 0,
        }
    }

    /// Starts the source.
    pub fn start(&mut self, now: Time) {
        self.source.start(now);
    }

    /// Ends the source.
    pub fn stop(&mut self) {
        self.source.stop();
    }

    /// The source has nothing to say for a while.
    pub fn pause(&mut self) {
        self.source.pause();
    }

    /// It goes on.
    pub fn resume(&mut self, now: Time) {
        self.source.resume(now);
    }

    /// When the next frame is captured.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.source.next_capture()
    }

    /// Captures the frame that is due. Its packets are to be fetched before the next.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        if self.source.next_capture().is_some_and(|due| due <= now) {
            let frame = self.source.capture(now);
            self.left = frame.payload.as_u64();
            (self.captured, self.newest_frame) = (frame.captured, frame.payload);
            self.frames += 1;
        }
    }

    /// The next packet of the frame. Call until none is left.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        if self.left == 0 {
            return None;
        }
        let payload = self.left.min(self.max_payload);
        self.left -= payload;
        Some(Datagram { payload: Bytes::new(payload), captured: self.captured })
    }
}

impl<C: Controller> SendingEnd for UdpSender<C> {
    type Controller = C;

    fn controller(&self) -> &C {
        &self.controller
    }

    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.frames, discarded: 0 }
    }

    fn target(&self, _stream: StreamId) -> Option<Bitrate> {
        None
    }

    fn send_queue_bytes(&self, _stream: StreamId) -> Bytes {
        Bytes::new(self.left)
    }

    fn send_queue_age(&self, _now: Time, _stream: StreamId) -> TimeDelta {
        TimeDelta::ZERO
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        Some(self.newest_frame)
    }
}

/// The end that receives: what arrives is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct UdpReceiver;

impl ReceivingEnd for UdpReceiver {
    fn playout(&self) -> PlayoutCounters {
        PlayoutCounters::default()
    }
}
