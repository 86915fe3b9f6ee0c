//! RTCP between two participants, sans I/O: reports and their times (RFC 3550 section 6), packets asked for again (RFC 4585, RFC
//! 4588), pictures asked for (RFC 4585, RFC 5104), and ends. `wire` has the bytes.
//!
//! [`SenderSession`] is the sending side, beside whatever sends the media, and [`ReceiverSession`] the other, beside whatever
//! receives it. Omissions are listed in `DEVIATIONS.md`.

mod clock;
mod incoming;
mod interval;
mod nack;
mod outbox;
mod receiver;
mod reception;
mod sender;
#[cfg(test)]
mod tests;

pub use clock::NtpClock;
pub use incoming::{Came, IncomingRepair, IncomingStream, Picture, ReceiverCounters, ReceiverEvent};
pub use interval::ReportInterval;
pub use receiver::ReceiverSession;
pub use reception::Reception;
pub use sender::{Heard, RtcpCounters, RtcpEvent, SenderSession};

use paceline_units::{Bitrate, TimeDelta};

/// The most bytes of an RTCP datagram.
pub const LARGEST: usize = 1200;
/// An SSRC changes once in so long at most: who repeats our packets to us would have it change for ever (RFC 3550 section 8.2
/// keeps a list of such addresses, which an endpoint without addresses cannot).
const CHANGES_APART: TimeDelta = TimeDelta::from_secs(10);
/// Pictures that need no other are asked for once in so long; at the sender in a round trip, if that is longer.
const PICTURES_APART: TimeDelta = TimeDelta::from_millis(300);
/// Of a list of events that nobody takes, the oldest are dropped.
const MOST_EVENTS: usize = 256;

/// How a participant of a session reports.
#[derive(Clone, PartialEq, Debug)]
pub struct RtcpConfig {
    /// Canonical name (RFC 3550 section 6.5.1): the same for all streams of a participant, at most 255 bytes. RFC 7022 asks for a
    /// random one.
    pub cname: String,
    /// The wall clock's time at [`Time::ZERO`](paceline_units::Time::ZERO).
    pub clock: NtpClock,
    /// Bandwidth of the session, of which RTCP takes 5 % (RFC 3550 section 6.2).
    pub bandwidth: Bitrate,
    /// Whether the least interval is 360 s over the bandwidth in kbit/s, and not 5 s (RFC 3550 section 6.2).
    pub reduced_minimum: bool,
    /// Whether feedback may go without a report before it, as both sides agreed on (RFC 5506).
    pub reduced_size: bool,
    /// Seed of what is random: times of reports, and an SSRC in place of one that another has.
    pub seed: u64,
}

impl RtcpConfig {
    /// Reports in compound packets, of a session of 1 Mbit/s with the reduced minimum.
    pub fn new(cname: impl Into<String>, clock: NtpClock, seed: u64) -> RtcpConfig {
        let bandwidth = Bitrate::from_mbps(1);
        RtcpConfig { cname: cname.into(), clock, bandwidth, reduced_minimum: true, reduced_size: false, seed }
    }

    /// The canonical name, as long as it may be.
    fn name(&self) -> &[u8] {
        let name = self.cname.as_bytes();
        name.get(..255).unwrap_or(name)
    }
}
