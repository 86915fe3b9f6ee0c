//! The congestion header of a packet (Katabi, Handley and Rohrs 2002): a sender tells the routers of its flow, and they write into it.

/// The meaning of [`CongestionHeader::feedback`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Feedback {
    /// Change of the sender's rate (XCP): those of several packets add up.
    #[default]
    Change,
    /// The sender's rate (RCP): the newest counts.
    Rate,
}

/// A sender's round trip and window on a packet, and the routers' answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionHeader {
    /// The sender's smoothed round trip in seconds; 0 before the first sample.
    pub rtt: f32,
    /// The sender's round trip over its window in packets, in seconds: the time from one packet to the next.
    pub spacing: f32,
    /// Change of the sender's rate, or its rate, in bytes per second. Each router lowers it to what it gives; infinite until one has spoken.
    pub feedback: f32,
    /// Which of both the sender asks for. A router of the other kind leaves the header alone.
    pub kind: Feedback,
}

impl CongestionHeader {
    /// The header of a sender that asks for changes of its rate, as large as routers give.
    #[inline]
    pub const fn asking(rtt: f32, spacing: f32) -> CongestionHeader {
        CongestionHeader { rtt, spacing, feedback: f32::INFINITY, kind: Feedback::Change }
    }

    /// The header of a sender that asks for its rate, as high as routers give.
    #[inline]
    pub const fn asking_rate(rtt: f32) -> CongestionHeader {
        CongestionHeader { rtt, spacing: 0.0, feedback: f32::INFINITY, kind: Feedback::Rate }
    }
}
