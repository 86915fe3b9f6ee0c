//! Errors of a sender of ready-made media about a stream that cannot be as it is wanted.

use paceline_cc::{FlowSetup, StreamId, StreamSet};
use paceline_units::param::ParamError;

/// Why a stream cannot be added or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamError {
    /// The flow has 64 streams, those that leave in.
    TooMany,
    /// A circuit breaker ended the call.
    Broken,
    /// Another stream has this SSRC (RFC 3550 section 8.2).
    SsrcTaken(u32),
    /// A priority that is not one of [`FlowSetup::PRIORITIES`].
    Priority,
    /// The flow has no such stream.
    Unknown(StreamId),
    /// The stream is repaired already, or the sender repairs none.
    Repair(StreamId),
}

/// Where, what was found, and what would be right.
impl From<StreamError> for ParamError {
    fn from(error: StreamError) -> ParamError {
        let (least, most) = (FlowSetup::PRIORITIES.start(), FlowSetup::PRIORITIES.end());
        match error {
            StreamError::TooMany => {
                let most = format!("at most {}", StreamSet::CAPACITY);
                ParamError::new("streams", StreamSet::CAPACITY + 1, most)
            }
            StreamError::Broken => {
                ParamError::new("streams", "another", "none: a circuit breaker ended the call")
            }
            StreamError::SsrcTaken(ssrc) => ParamError::new("ssrc", ssrc, "one that no other stream has"),
            StreamError::Priority => {
                ParamError::new("priority", "one out of range", format!("a number from {least} to {most}"))
            }
            StreamError::Repair(stream) => {
                let found = format!("{}, which is repaired, or a sender without use_repair", stream.0);
                ParamError::new("stream", found, "neither")
            }
            StreamError::Unknown(stream) => ParamError::new("stream", stream.0, "one that the flow has"),
        }
    }
}

impl std::fmt::Display for StreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        ParamError::from(*self).fmt(f)
    }
}

impl std::error::Error for StreamError {}
