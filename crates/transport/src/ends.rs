//! What every transport's two ends show to somebody who looks: a recorder, a plot, a person.

use paceline_cc::{Controller, StreamId};
use paceline_media::PlayoutCounters;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The end that sends.
pub trait SendingEnd {
    /// What steers it.
    type Controller: Controller;

    /// The controller, to look at.
    fn controller(&self) -> &Self::Controller;

    /// Frames captured so far, and frames discarded before they left.
    fn frames(&self) -> FrameCounters;

    /// What the encoder of `stream` is told now; absent where there is no encoder to tell.
    fn target(&self, stream: StreamId) -> Option<Bitrate>;

    /// Bytes of `stream` that wait to be sent, headers in; of an endless source only what it has handed over.
    fn send_queue_bytes(&self, stream: StreamId) -> Bytes;

    /// How long the oldest of them have waited.
    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta;

    /// Size of the newest frame of `stream`, headers in; absent where there are no frames.
    fn newest_frame(&self, stream: StreamId) -> Option<Bytes>;
}

/// Frames at a sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameCounters {
    /// Entered the send queues.
    pub captured: u64,
    /// Discarded from them.
    pub discarded: u64,
}

/// The end that receives.
pub trait ReceivingEnd {
    /// What playout has counted, over all streams.
    fn playout(&self) -> PlayoutCounters;
}

/// A receiving end that is on another machine: there is nothing to look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elsewhere;

impl ReceivingEnd for Elsewhere {
    fn playout(&self) -> PlayoutCounters {
        PlayoutCounters::default()
    }
}
