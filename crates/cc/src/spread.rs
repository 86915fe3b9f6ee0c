//! Spacing after an assignment that raises a window: what there is room for then leaves over a round trip, not in a row
//! (RFC 8699 section 6.2).

use crate::Pacing;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// Packets that may leave in a row after an assignment: the largest first window of RFC 5681 section 3.1.
const BURST: u64 = 4;

/// Whether packets are spaced, and until when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Before this packet is acknowledged, packets are spaced.
    until: Option<u64>,
}

impl Spread {
    /// An assignment has raised a window, which has `room` for more than is in flight; `next` is the next packet to be sent.
    pub(crate) fn raised(&mut self, room: Bytes, largest_packet: Bytes, next: u64) {
        if room.as_u64() > largest_packet.as_u64().saturating_mul(BURST) {
            self.until = Some(next);
        }
    }

    /// Whether packets are spaced, or were until the last answer.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.until.is_some()
    }

    /// The pace while everything before packet `first` is acknowledged: a window in a round trip.
    #[cold]
    pub(crate) fn pace(&mut self, first: u64, window: Bytes, srtt: Option<TimeDelta>) -> Option<Pacing> {
        let until = self.until?;
        let Some(srtt) = srtt.filter(|&srtt| first <= until && srtt > TimeDelta::ZERO) else {
            self.until = None;
            return Some(Pacing::Off);
        };
        let rate = Bitrate::from_bps_f64(window.as_bits_f64() / srtt.as_secs_f64());
        Some(Pacing::Rate(rate.max(Bitrate::from_bps(1))))
    }
}
