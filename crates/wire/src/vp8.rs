//! VP8 in RTP (RFC 7741): a still picture in frames of any size, for receivers that decode what they get though nobody encodes.
//!
//! A VP8 frame says how long its first partition is; the other ends where the frame does, and a decoder reads of it only
//! what it needs. So a small key frame stays the same picture however many zeros follow it, and each frame can be decoded
//! without any before it.

/// Bytes of the payload descriptor that each packet begins with (RFC 7741 section 4.2, its shortest form).
pub const DESCRIPTOR: usize = 1;
/// Bytes that a frame needs, descriptors out, so that it shows the picture.
pub const LEAST: usize = STILL.len();

/// S of the descriptor: the packet begins a partition, the first of its frame.
const START: u8 = 0x10;
/// 160 by 96 pixels of grey, as libvpx encodes them into a key frame.
const STILL: [u8; 56] = [
    0xb0, 0x05, 0x00, 0x9d, 0x01, 0x2a, 0xa0, 0x00, 0x60, 0x00, 0x39, 0x27, 0x00, 0x01, 0x1c, 0x24, 0x0c,
    0x2c, 0x2c, 0x44, 0x2c, 0x24, 0x40, 0x10, 0x00, 0x00, 0x30, 0xcd, 0xb7, 0xc8, 0x64, 0xac, 0xb9, 0x24,
    0x2f, 0x2f, 0x4b, 0xba, 0x43, 0x25, 0x65, 0xc9, 0x21, 0x79, 0x7a, 0x5d, 0xd2, 0x19, 0x2b, 0x2e, 0x49,
    0x0b, 0xcb, 0x98, 0x00, 0x00,
];

/// Writes `payload`, the bytes of a packet from byte `begin` of its frame on, descriptors out; answers where the next packet's
/// begin. An empty payload stays empty.
pub fn write_still(begin: usize, payload: &mut [u8]) -> usize {
    let Some((descriptor, content)) = payload.split_first_mut() else { return begin };
    *descriptor = if begin == 0 { START } else { 0 };
    content.fill(0);
    let picture = STILL.get(begin..).unwrap_or_default();
    let shown = picture.len().min(content.len());
    content[..shown].copy_from_slice(&picture[..shown]);
    begin + content.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame that a receiver puts together of packets with payloads of these sizes.
    fn frame(sizes: &[usize]) -> Vec<u8> {
        let (mut begin, mut whole) = (0, Vec::new());
        for &size in sizes {
            let mut payload = vec![0xff; size];
            begin = write_still(begin, &mut payload);
            if let Some((descriptor, content)) = payload.split_first() {
                assert_eq!(*descriptor, if whole.is_empty() { 0x10 } else { 0 });
                whole.extend_from_slice(content);
            }
        }
        assert_eq!(begin, whole.len());
        whole
    }

    #[test]
    fn any_packets_of_a_frame_make_the_picture_and_zeros() {
        for sizes in [&[1200, 1200, 37][..], &[LEAST + DESCRIPTOR], &[20, 0, 20, 60], &[3; 40]] {
            let whole = frame(sizes);
            let (picture, rest) = whole.split_at(LEAST);
            assert_eq!(picture, STILL);
            assert!(rest.iter().all(|byte| *byte == 0));
        }
    }

    /// RFC 6386 section 9.1.
    #[test]
    fn it_is_a_key_frame_that_is_shown_and_ends_within_the_picture() {
        let tag = u32::from_le_bytes([STILL[0], STILL[1], STILL[2], 0]);
        assert_eq!((tag & 1, tag >> 4 & 1), (0, 1));
        assert!(10 + (tag >> 5) as usize <= LEAST);
        assert_eq!(STILL[3..6], [0x9d, 0x01, 0x2a]);
        assert_eq!((STILL[6], STILL[8]), (160, 96));
    }
}
