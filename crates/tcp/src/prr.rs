//! Proportional Rate Reduction (RFC 6937): what may be sent during recovery, in proportion to what arrives.

use paceline_units::Bytes;

/// The state of one recovery. All sizes are bytes on the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    delivered: u64,
    out: u64,
    /// Bytes in flight when recovery began (RecoverFS).
    flight: u64,
    /// Bytes that may be sent until the next acknowledgement (sndcnt).
    allowed: u64,
}

impl Prr {
    /// Recovery begins with `flight` bytes outstanding.
    pub fn begin(flight: Bytes) -> Prr {
        Prr { flight: flight.as_u64().max(1), ..Prr::default() }
    }

    /// An acknowledgement told of `delivered` bytes that arrived; `in_flight` are still under way, and the window that
    /// recovery aims for is `window` (ssthresh). Section 3, with the bound of slow start (PRR-SSRB).
    pub fn on_ack(&mut self, delivered: Bytes, in_flight: Bytes, window: Bytes, segment: Bytes) {
        let (delivered, pipe) = (delivered.as_u64(), in_flight.as_u64());
        let (window, segment) = (window.as_u64(), segment.as_u64());
        self.delivered += delivered;
        self.allowed = if pipe > window {
            let share = u128::from(self.delivered) * u128::from(window);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + segment;
            limit.min(window - pipe)
        };
    }

    /// Whether a packet of `size` may leave.
    #[inline]
    pub fn admits(&self, size: Bytes) -> bool {
        size.as_u64() <= self.allowed
    }

    /// A packet left.
    #[inline]
    pub fn on_sent(&mut self, size: Bytes) {
        self.out += size.as_u64();
        self.allowed = self.allowed.saturating_sub(size.as_u64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(count: u64) -> Bytes {
        Bytes::new(1000 * count)
    }

    /// Section 4's example: 20 packets, the first lost, the window halved; an acknowledgement per packet.
    #[test]
    fn every_second_acknowledgement_lets_a_packet_go_while_the_window_halves() {
        let packet = Bytes::new(1000);
        let mut prr = Prr::begin(packets(20));
        let mut pipe = 19u64;
        let mut sent = Vec::new();
        for _ in 0..18 {
            pipe -= 1;
            prr.on_ack(packet, packets(pipe), packets(10), packet);
            let mut now = 0;
            while prr.admits(packet) {
                prr.on_sent(packet);
                pipe += 1;
                now += 1;
            }
            sent.push(now);
        }
        assert!((9..=10).contains(&sent.iter().sum::<i32>()), "half of what arrived: {sent:?}");
        assert!(sent.windows(2).all(|pair| pair[0] + pair[1] <= 2), "evenly: {sent:?}");
        assert_eq!(pipe, 10, "and the pipe ends at the window");
    }

    #[test]
    fn below_the_window_it_catches_up_by_slow_start_and_not_at_once() {
        let packet = Bytes::new(1000);
        let mut prr = Prr::begin(packets(20));
        prr.on_ack(packet, packets(4), packets(10), packet);
        assert!(prr.admits(packets(2)) && !prr.admits(packets(3)), "what arrived and one more");
        prr.on_sent(packet);
        prr.on_sent(packet);
        prr.on_ack(packets(3), packets(9), packets(10), packet);
        assert!(prr.admits(packet) && !prr.admits(packets(2)), "not above the window");
    }
}
