//! The name with which an end takes part in RTCP, and the clock of its media.

use crate::clock::ntp_now;
use paceline_rtp::rtcp::{NtpClock, RtcpConfig};

/// Ticks of the media's timestamps in a second.
pub(crate) const MEDIA_CLOCK: u32 = 90_000;
/// SSRC of a path probe's packets.
pub(crate) const PROBE_SSRC: u32 = 100;

/// How an end of this SSRC takes part in RTCP: `drawn` is random.
pub(crate) fn rtcp_config(ssrc: u32, drawn: u64) -> RtcpConfig {
    // Reports on packets go alone (RFC 5506).
    let clock = NtpClock::starting_at(ntp_now());
    RtcpConfig { reduced_size: true, ..RtcpConfig::new(format!("{ssrc:08x}@paceline"), clock, drawn) }
}
