//! What a sender of ready-made media answers when a stream cannot be what is wanted.

use paceline_cc::{FlowSetup, StreamId};

/// Why a stream cannot be added or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamError {
    /// The flow has 64 streams, those that leave in.
    TooMany,
    /// Another stream has this SSRC (RFC 3550 section 8.2).
    SsrcTaken(u32),
    /// A priority that is not one of [`FlowSetup::PRIORITIES`].
    Priority,
    /// The flow has no such stream.
    Unknown(StreamId),
    /// The stream is repaired already, or the sender repairs none.
    Repair(StreamId),
}

impl std::fmt::Display for StreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StreamError::TooMany => write!(f, "streams of the flow: found 64, expected fewer to add one"),
            StreamError::SsrcTaken(ssrc) => write!(f, "SSRC: found {ssrc}, which another stream has"),
            StreamError::Priority => {
                let (least, most) = (FlowSetup::PRIORITIES.start(), FlowSetup::PRIORITIES.end());
                write!(f, "priority: expected a number from {least} to {most}")
            }
            StreamError::Repair(stream) => write!(
                f,
                "stream {}: found one that is repaired, or a sender without use_repair, expected neither",
                stream.0
            ),
            StreamError::Unknown(stream) => {
                write!(f, "stream: found {}, which the flow does not have", stream.0)
            }
        }
    }
}

impl std::error::Error for StreamError {}
