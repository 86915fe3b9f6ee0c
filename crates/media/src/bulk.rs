//! A file sent as fast as the controller allows: the source of RFC 8867's TCP flows and of every saturating test.

use crate::Frame;
use crate::source::MediaSource;
use paceline_units::{Bytes, Time, params};

params! {
    /// Configuration of a [`Bulk`] source.
    #[derive(Copy, Eq)]
    pub struct BulkParams {
        {
            /// The send queue is refilled when it holds less than this; default 64 packets of 1200 B.
            depth: Bytes = Bytes::new(64 * 1200),
            /// Payload handed over at a time; a multiple of the packets' payload, or the last packet of each chunk is short.
            /// Default 64 packets of 1200 B.
            chunk: Bytes = Bytes::new(64 * 1200),
        }
        length: Option<Bytes> = None, else "it never ends", in 1.0, f64::INFINITY, "RFC 8867", "Payload of the file";
    }
}

impl BulkParams {
    /// Packets in the queue at least, and in a chunk.
    const PACKETS: u64 = 64;

    /// An endless file for packets that carry `max_payload`.
    pub fn for_payload(max_payload: Bytes) -> BulkParams {
        let chunk = Bytes::new(max_payload.as_u64().max(1).saturating_mul(Self::PACKETS));
        BulkParams { depth: chunk, chunk, length: None }
    }
}

/// A file of any length. Each chunk counts as a frame captured when it is fetched.
#[derive(Clone, Debug)]
pub struct Bulk {
    params: BulkParams,
    left: Option<Bytes>,
    from: Option<Time>,
    next_id: u64,
}

impl Bulk {
    /// A source at rest.
    pub fn new(params: BulkParams) -> Bulk {
        Bulk { params, left: params.length, from: None, next_id: 0 }
    }

    /// How long the file is; none: it never ends.
    pub fn length(&self) -> Option<Bytes> {
        self.params.length
    }

    /// Whether the whole file has been handed over.
    pub fn is_finished(&self) -> bool {
        self.left == Some(Bytes::ZERO)
    }
}

impl MediaSource for Bulk {
    fn start(&mut self, at: Time) {
        self.from = Some(at);
    }

    fn stop(&mut self) {
        self.from = None;
    }

    #[inline]
    fn refill(&mut self, now: Time, queued: Bytes) -> Option<Frame> {
        if queued >= self.params.depth || self.is_finished() || now < self.from? {
            return None;
        }
        let wanted = self.params.chunk.max(self.params.depth - queued);
        let payload = self.left.map_or(wanted, |left| left.min(wanted));
        self.left = self.left.map(|left| left - payload);
        let id = self.next_id;
        self.next_id += 1;
        Some(Frame { id, captured: now, payload, key: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_kept_at_its_depth() {
        let mut bulk = Bulk::new(BulkParams::default());
        assert_eq!(bulk.refill(Time::ZERO, Bytes::ZERO), None, "at rest");
        bulk.start(Time::from_nanos(10));
        assert_eq!(bulk.refill(Time::from_nanos(9), Bytes::ZERO), None, "too early");
        let frame = bulk.refill(Time::from_nanos(10), Bytes::ZERO).expect("empty queue");
        assert_eq!(frame.payload, Bytes::new(64 * 1200));
        assert_eq!(bulk.refill(Time::from_nanos(10), frame.payload), None);
        assert_eq!(
            bulk.refill(Time::from_nanos(11), frame.payload - Bytes::new(1)).expect("below depth").id,
            1
        );
    }

    #[test]
    fn a_file_ends_with_its_last_byte() {
        let length = Bytes::new(100_000);
        let mut bulk = Bulk::new(BulkParams { length: Some(length), ..BulkParams::default() });
        bulk.start(Time::ZERO);
        let sizes: Vec<_> = core::iter::from_fn(|| bulk.refill(Time::ZERO, Bytes::ZERO)).collect();
        assert_eq!(sizes.iter().map(|frame| frame.payload).sum::<Bytes>(), length);
        assert!(bulk.is_finished());
    }
}
