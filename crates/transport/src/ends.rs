//! What every transport's two ends show to somebody who looks: a recorder, a plot, a person.

use paceline_cc::{Controller, Snapshot, StreamId};
use paceline_media::PlayoutCounters;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The end that sends.
pub trait SendingEnd {
    /// What steers it.
    type Controller: Controller;

    /// The controller, to look at.
    fn controller(&self) -> &Self::Controller;

    /// The figures of the whole end; those of its controller unless it has several.
    fn snapshot(&self) -> Snapshot {
        self.controller().snapshot()
    }

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

    /// Files begun so far; absent where nothing that is sent ends.
    fn transfers(&self) -> Option<TransferCounters> {
        None
    }
}

/// Files at a sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransferCounters {
    /// Whose connection has begun.
    pub begun: u64,
}

/// A file that has been sent whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// When its connection began: its SYN left or, without a handshake, its first segment.
    pub begun: Time,
    /// When the sender heard that its last byte had arrived.
    pub completed: Time,
    /// Its payload.
    pub size: Bytes,
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
