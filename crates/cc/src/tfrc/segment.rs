//! The mean segment size (RFC 5348 section 4.1).

use paceline_units::Bytes;

/// Packets that count at most: a mean over more moves too slowly to follow a change of the media.
const LONGEST: f64 = 4096.0;

/// The mean size of the packets of the last four loss intervals, which are 4/p packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SegmentSize {
    mean: f64,
    count: f64,
}

impl SegmentSize {
    /// The size before anything was sent: `expected`.
    pub(crate) fn new(expected: Bytes) -> SegmentSize {
        SegmentSize { mean: expected.as_f64().max(1.0), count: 0.0 }
    }

    /// A packet of `size` was sent while the loss event rate is `p`.
    #[inline]
    pub(crate) fn on_packet(&mut self, size: Bytes, p: f64) {
        let size = size.as_f64();
        let most = if p > 0.0 { (4.0 / p).min(LONGEST) } else { LONGEST };
        self.count = (self.count + 1.0).min(most);
        // The same size again changes nothing, to the last bit.
        self.mean = (self.mean + (size - self.mean) / self.count).max(1.0);
    }

    /// `s`, in bytes; at least 1.
    #[inline]
    pub(crate) fn bytes(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_what_was_sent_replaces_what_was_expected() {
        let mut segment = SegmentSize::new(Bytes::new(1500));
        assert_eq!(segment.bytes(), 1500.0);
        for size in [400, 600, 500] {
            segment.on_packet(Bytes::new(size), 0.0);
        }
        assert!((segment.bytes() - 500.0).abs() < 1e-9, "{}", segment.bytes());
    }

    #[test]
    fn four_loss_intervals_are_remembered() {
        let mut segment = SegmentSize::new(Bytes::new(1000));
        (0..4000).for_each(|_| segment.on_packet(Bytes::new(1000), 0.01));
        (0..400).for_each(|_| segment.on_packet(Bytes::new(500), 0.01));
        // 400 packets are the memory: 1/e of the old size is left.
        assert!((680.0..690.0).contains(&segment.bytes()), "{}", segment.bytes());
        segment.on_packet(Bytes::ZERO, 1.0);
        assert!(segment.bytes() >= 1.0);
    }
}
