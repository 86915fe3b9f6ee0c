//! RTP with RFC 8888 or transport-wide feedback, sans I/O: sender and receiver endpoints, streams, RTCP, repair; and plain datagrams ([`udp`]).
//!
//! `paceline-endpoint` sends and receives by these the media that a program made.

mod breaker;
mod clock;
mod concealing;
mod config;
mod controlled;
mod delays;
mod ecn;
mod feedback;
#[cfg(test)]
mod half_tests;
mod history;
mod identity;
mod kept;
mod offering;
mod packet;
mod plausible;
#[cfg(test)]
mod probe_tests;
mod probing;
mod ready_made;
mod received;
mod receiver;
mod repair;
mod report_rate;
mod reported;
mod reports;
pub mod rtcp;
#[cfg(test)]
mod run_tests;
mod scheduler;
mod seen;
mod sender;
mod shaper;
mod shares;
mod sizes;
mod spelling;
mod stale;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod transport_received;
mod transport_wide;
#[cfg(test)]
mod transport_wide_tests;
pub mod udp;

pub use breaker::{Broken, CircuitBreakers};
pub use clock::{ClockStep, ClockSteps, ReceiverClock};
pub use config::{SenderConfig, SenderCounters, StreamConfig};
pub use delays::DelayReport;
pub use ecn::EcnChecks;
pub use feedback::FeedbackConfig;
pub use identity::RtpIdentity;
pub use kept::{KeptPackets, NotResent, RepairCounters, asked_number};
pub use packet::{Header, RTP_HEADER, RtpFeedback, RtpPacket};
pub use received::Noted;
pub use receiver::RtpReceiver;
pub use reports::PacketReports;
pub use sender::RtpSender;
pub use spelling::{
    PAYLOAD_TYPE, PacketSpelling, ReportSpelling, SpelledPacket, Ssrcs, TRANSPORT_WIDE_ELEMENT,
};
