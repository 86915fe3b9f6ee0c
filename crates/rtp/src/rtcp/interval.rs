//! When reports leave (RFC 3550 sections 6.2 and 6.3), of a session of two participants.

use super::RtcpConfig;
use paceline_units::{Bitrate, RandomStream, Time, TimeDelta};

/// RTCP's share of the session's bandwidth (RFC 3550 section 6.2).
const SHARE: f64 = 0.05;
/// Participants of the session. One of them sends, which is more than a quarter: they share the bandwidth evenly.
const MEMBERS: f64 = 2.0;
/// The least interval in seconds (RFC 3550 section 6.2).
const MINIMUM: f64 = 5.0;
/// Bytes of a first guess of a compound packet, IP and UDP headers in.
const FIRST_SIZE: f64 = 128.0;
/// Bytes of IPv4 and UDP headers, which count (RFC 3550 section 6.2).
const HEADERS: f64 = 28.0;
/// Factor that makes up for the draw's mean (RFC 3550 section 6.3.1: e - 3/2).
const COMPENSATION: f64 = core::f64::consts::E - 1.5;

/// Draws the times of reports.
#[derive(Clone, Debug)]
pub struct ReportInterval {
    random: RandomStream,
    /// Bytes per second.
    bandwidth: f64,
    reduced_minimum: bool,
    minimum: f64,
    average_size: f64,
    initial: bool,
}

impl ReportInterval {
    /// The times of a participant whose draws are named so.
    pub fn new(config: &RtcpConfig, name: &str) -> ReportInterval {
        let mut interval = ReportInterval {
            random: RandomStream::new(config.seed, name),
            bandwidth: 0.0,
            reduced_minimum: config.reduced_minimum,
            minimum: MINIMUM,
            average_size: FIRST_SIZE,
            initial: true,
        };
        interval.set_bandwidth(config.bandwidth);
        interval
    }

    /// The session has this bandwidth from the next interval on.
    pub fn set_bandwidth(&mut self, session: Bitrate) {
        let session = session.as_bps_f64().max(1.0);
        self.bandwidth = session * SHARE / 8.0;
        if self.reduced_minimum {
            self.minimum = (360.0 / (session / 1000.0)).min(MINIMUM);
        }
    }

    /// A compound packet of so many bytes was sent or came (RFC 3550 section 6.3.3).
    pub fn on_packet(&mut self, bytes: usize) {
        self.average_size += (bytes as f64 + HEADERS - self.average_size) / 16.0;
    }

    /// Td of RFC 3550 section 6.3.1: the interval before it is drawn.
    pub fn deterministic(&self) -> TimeDelta {
        let minimum = if self.initial { self.minimum / 2.0 } else { self.minimum };
        TimeDelta::from_secs_f64((MEMBERS * self.average_size / self.bandwidth).max(minimum))
    }

    /// When the next report leaves, drawn.
    pub fn next(&mut self, now: Time) -> Time {
        let drawn = self.deterministic().as_secs_f64() * (0.5 + self.random.uniform()) / COMPENSATION;
        self.initial = false;
        now + TimeDelta::from_secs_f64(drawn)
    }

    /// SSRCs at random: more than enough to find one that is free.
    pub(super) fn draws_of_ssrc(&mut self) -> impl Iterator<Item = u32> + use<> {
        let mut random = self.random.clone();
        // Draws for this move no report.
        self.random.next_u64();
        (0..64).map(move |_| (random.next_u64() >> 32) as u32)
    }
}
