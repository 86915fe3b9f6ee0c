//! Capture files: pcap with nanoseconds, of IP packets without a link below them. tcpdump, tshark and Wireshark read it.
//!
//! The format is 24 bytes once and 16 before each packet (draft-ietf-opsawg-pcap, no text at hand; checked against
//! tshark): too little for a library.

/// Marks a file whose times are in nanoseconds, in this byte order.
const MAGIC: u32 = 0xa1b2_3c4d;
/// LINKTYPE_RAW: each record begins with an IPv4 or IPv6 header.
const RAW_IP: u32 = 101;
/// Bytes of the longest record.
const LONGEST: u32 = 1 << 18;

/// The header of a capture file, which stands at its front.
pub fn file_header() -> [u8; 24] {
    let mut header = [0; 24];
    header[..4].copy_from_slice(&MAGIC.to_be_bytes());
    // Version 2.4; then time zone and precision, which nobody uses.
    header[4..8].copy_from_slice(&[0, 2, 0, 4]);
    header[16..20].copy_from_slice(&LONGEST.to_be_bytes());
    header[20..].copy_from_slice(&RAW_IP.to_be_bytes());
    header
}

/// What stands before a packet of `length` bytes that was seen `nanos` nanoseconds after the beginning of 1970.
pub fn record_header(nanos: u64, length: usize) -> [u8; 16] {
    const SECOND: u64 = 1_000_000_000;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    // Seconds are unsigned: until 2106.
    let words = [(nanos / SECOND) as u32, (nanos % SECOND) as u32, length, length];
    let mut header = [0; 16];
    for (place, word) in header.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    header
}
