//! Configuration of the sender endpoint and its streams, and what it counts.

use super::clock::ReceiverClock;
use super::identity::DISCARD_AGE;
use super::packet::RTP_HEADER;
use paceline_cc::{Limits, StreamId};
use paceline_media::{Discarded, Source};
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};

/// Configuration of a stream at the sender endpoint.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Where its media comes from.
    pub source: Source,
    /// Weight of the stream's share where a controller names only a total; above 0.
    pub priority: f64,
    /// The encoder's target before the controller names one.
    pub target_start: Bitrate,
    /// Lowest and highest target; [`Limits::none`] where the controller's parameters hold. The sender numbers the stream.
    pub limits: Limits,
}

impl StreamConfig {
    /// A stream of priority 1 without limits of its own.
    pub fn new(source: Source, target_start: Bitrate) -> StreamConfig {
        StreamConfig { source, priority: 1.0, target_start, limits: Limits::none(StreamId(0)) }
    }

    /// Whether it has limits of its own.
    pub(super) fn is_limited(&self) -> bool {
        self.limits.min > Bitrate::ZERO || self.limits.max < Bitrate::MAX
    }
}

/// Configuration of the flow at the sender endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// Largest payload of a packet.
    pub max_payload: Bytes,
    /// Header of each packet: [`RTP_HEADER`], or none on plain datagrams; at most 255 B.
    pub header: Bytes,
    /// The ECN codepoint that packets leave with.
    pub ecn: Ecn,
    /// The step of the receiver's clock.
    pub clock_step: TimeDelta,
    /// How late a driver may wake without the pacing rate going down.
    pub forgiven_lateness: TimeDelta,
    /// The longest that media waits in a send queue: what is older is discarded. A file, of which there is always more, has all time.
    pub discard_age: TimeDelta,
}

impl SenderConfig {
    /// A flow whose packets have the RTP header and at most so much payload, cannot be marked, are reported on by RFC 8888's
    /// clock, are paced without regard to late wakes, and wait for two seconds at most.
    pub fn new(max_payload: Bytes) -> SenderConfig {
        SenderConfig {
            max_payload,
            header: RTP_HEADER,
            ecn: Ecn::NotEct,
            clock_step: ReceiverClock::RFC8888.step(),
            forgiven_lateness: TimeDelta::ZERO,
            discard_age: DISCARD_AGE,
        }
    }
}

/// Counts of a sender's packets and frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Reported packets that were never sent, or too long ago, messages of a receiver half about such, and summaries of
    /// delays that cannot be this flow's: they changed nothing.
    pub unknown_reports: u64,
    /// Reports whose times cannot be, put right by when they came, and single arrival times that cannot be, which then are
    /// unknown. A packet arrives after it was sent, and a report comes after it was written.
    pub impossible_times: u64,
    /// Packets discarded from the send queues.
    pub discarded: Discarded,
    /// Frames that entered the send queues.
    pub frames: u64,
}
