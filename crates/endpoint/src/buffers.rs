//! Buffers that are used again, for programs that copy what they send.

use std::collections::VecDeque;
use std::sync::Arc;

/// The most buffers that wait to be used again.
const MOST: usize = 1 << 16;
/// Times that a buffer is found in use before it is no longer waited for.
const PATIENCE: u8 = 3;

/// The bytes of a packet; cheap to clone, as [`MediaSender::use_repair`](super::MediaSender::use_repair) wants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBuffer(Arc<Vec<u8>>);

impl AsRef<[u8]> for PacketBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Keeps buffers that came back until nobody else has them, so that a sender allocates nothing per packet once it is warm.
#[derive(Debug, Default)]
pub struct BufferPool {
    /// The oldest first, and how often each was found in use.
    kept: VecDeque<(PacketBuffer, u8)>,
}

impl BufferPool {
    /// A buffer with these bytes.
    pub fn fill(&mut self, bytes: &[u8]) -> PacketBuffer {
        if let Some((mut buffer, misses)) = self.kept.pop_front() {
            if let Some(own) = Arc::get_mut(&mut buffer.0) {
                own.clear();
                own.extend_from_slice(bytes);
                return buffer;
            }
            // A copy waits to be sent again.
            if misses < PATIENCE {
                self.kept.push_back((buffer, misses + 1));
            }
        }
        PacketBuffer(Arc::new(bytes.to_vec()))
    }

    /// Takes a buffer back: that of [`MediaTransmit::into_buffer`](super::MediaTransmit::into_buffer), or of a discarded packet.
    pub fn take_back(&mut self, buffer: PacketBuffer) {
        if self.kept.len() < MOST {
            self.kept.push_back((buffer, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies are kept for 1000 packets, and some for ever: memory is that of the kept ones, and no more.
    #[test]
    fn memory_is_that_of_what_is_kept() {
        let (mut pool, mut kept, mut forever) = (BufferPool::default(), VecDeque::new(), Vec::new());
        let mut sizes = Vec::new();
        for n in 0..60_000_u32 {
            let buffer = pool.fill(&n.to_be_bytes());
            assert_eq!(buffer.as_ref(), n.to_be_bytes());
            if n % 1000 == 7 {
                forever.push(buffer.clone());
            } else {
                kept.push_back(buffer.clone());
            }
            if kept.len() > 1000 {
                kept.pop_front();
            }
            pool.take_back(buffer);
            sizes.push(pool.kept.len());
        }
        assert!(sizes.iter().all(|size| *size < 4000), "{:?}", sizes.iter().max());
        assert_eq!(sizes[30_000..].iter().max(), sizes[50_000..].iter().max(), "it grows no more");
    }
}
