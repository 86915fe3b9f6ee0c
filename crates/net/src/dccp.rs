//! The common parts of both ends of a DCCP flow over sockets.

use paceline_media::Source;
use paceline_scenario::assembly::DccpParts;
use paceline_units::Bytes;
use paceline_wire::rtp;

/// Whether a flow carries media in RTP packets (RFC 5762 section 4.1), and not bulk data.
pub(crate) fn is_media(parts: &DccpParts) -> bool {
    !is_bulk(parts) && parts.carried.rtp_header == Bytes::new(rtp::HEADER as u64)
}

/// Whether a flow carries bulk data and not frames.
pub(crate) fn is_bulk(parts: &DccpParts) -> bool {
    matches!(parts.carried.source, Source::Bulk(_))
}
