//! What both ends of a DCCP flow need over sockets.

use crate::NetError;
use paceline_media::Source;
use paceline_scenario::build::DccpParts;
use paceline_units::Bytes;
use paceline_wire::rtp;
use rustix::rand::{GetRandomFlags, getrandom};

/// Whether a flow carries media in RTP packets (RFC 5762 section 4.1), and not bulk data.
pub(crate) fn is_media(parts: &DccpParts) -> bool {
    !is_bulk(parts) && parts.carried.rtp_header == Bytes::new(rtp::HEADER as u64)
}

/// Whether a flow carries bulk data and not frames.
pub(crate) fn is_bulk(parts: &DccpParts) -> bool {
    matches!(parts.carried.source, Source::Bulk(_))
}

/// Numbers that nobody guesses: for initial sequence numbers and cookies (RFC 4340 section 7.2).
pub(crate) fn secret() -> Result<[u64; 2], NetError> {
    let mut bytes = [0; 16];
    let failed =
        |error: rustix::io::Errno| NetError::Socket { doing: "ask for random numbers", source: error.into() };
    // So few bytes come whole or not at all.
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(failed)?;
    let number = u128::from_ne_bytes(bytes);
    Ok([number as u64, (number >> 64) as u64])
}

#[cfg(test)]
mod tests {
    use super::secret;

    #[test]
    fn secrets_differ() {
        assert_ne!(secret().expect("numbers"), secret().expect("numbers"));
    }
}
