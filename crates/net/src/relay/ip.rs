//! The fields of an IP packet that a relay reads and writes: ECN, and those that tell flows from each other.

use paceline_units::Ecn;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of an IPv4 header without options, and of IPv6's.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// The ECN field of an IP packet; none if it is no IP packet or is cut short.
pub(super) fn ecn(packet: &[u8]) -> Option<Ecn> {
    match version(packet)? {
        // RFC 791, RFC 3168: the low bits of the second byte.
        4 => Some(Ecn::from_bits(packet[1])),
        // RFC 8200: the traffic class lies across the first two bytes.
        _ => Some(Ecn::from_bits(packet[1] >> 4)),
    }
}

/// Writes an ECN field into an IP packet, with the checksum that IPv4 has of its header (RFC 1624).
pub(super) fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match version(packet) {
        Some(4) => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !0b11 | ecn.bits();
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            // HC' = ~(~HC + ~m + m').
            let sum = u32::from(!sum) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(_) => packet[1] = packet[1] & !0b11_0000 | ecn.bits() << 4,
        None => {}
    }
}

/// A number of the packet's flow: of its addresses, its protocol and, where that has some, its ports.
pub(super) fn flow(packet: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    let transport = match version(packet) {
        Some(4) => {
            (packet[9], &packet[12..20]).hash(&mut hasher);
            // Later fragments have no ports.
            let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
            (!is_fragment).then(|| (packet[9], usize::from(packet[0] & 0xf) * 4))
        }
        Some(_) => {
            (packet[6], &packet[8..40]).hash(&mut hasher);
            Some((packet[6], IPV6_HEADER))
        }
        None => None,
    };
    const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
    if let Some((protocol, header)) = transport
        && WITH_PORTS.contains(&protocol)
        && let Some(ports) = packet.get(header..header + 4)
    {
        ports.hash(&mut hasher);
    }
    hasher.finish() as usize
}

/// 4 or 6, if the packet has as many bytes as its header.
fn version(packet: &[u8]) -> Option<u8> {
    let version = packet.first()? >> 4;
    match version {
        4 if packet.len() >= IPV4_HEADER => Some(4),
        6 if packet.len() >= IPV6_HEADER => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071's sum over a header, 0xffff if its checksum is right.
    fn sum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum = words.sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    fn ipv4(tos: u8, last: u8, ports: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45, tos, 0, 24, 0, 7, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, last];
        let checksum = !sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(ports);
        packet
    }

    #[test]
    fn a_mark_changes_the_field_and_keeps_the_checksum_right() {
        for before in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            for last in 0..=255 {
                let mut packet = ipv4(0b1011_1000 | before.bits(), last, [1, 2, 3, 4]);
                assert_eq!((ecn(&packet), sum(&packet[..20])), (Some(before), 0xffff));
                set_ecn(&mut packet, Ecn::Ce);
                assert_eq!((ecn(&packet), sum(&packet[..20])), (Some(Ecn::Ce), 0xffff));
                assert_eq!(packet[1] >> 2, 0b10_1110, "the differentiated services stay");
            }
        }
        let mut packet = vec![0; 44];
        (packet[0], packet[1]) = (0x6b, 0x9f);
        set_ecn(&mut packet, Ecn::Ce);
        assert_eq!((ecn(&packet), packet[0], packet[1]), (Some(Ecn::Ce), 0x6b, 0xbf));
    }

    #[test]
    fn flows_are_told_by_addresses_and_ports_and_what_is_no_packet_is_read_without_harm() {
        let one = flow(&ipv4(0, 2, [1, 2, 3, 4]));
        assert_eq!(one, flow(&ipv4(3, 2, [1, 2, 3, 4])));
        assert_ne!(one, flow(&ipv4(0, 3, [1, 2, 3, 4])));
        assert_ne!(one, flow(&ipv4(0, 2, [1, 2, 3, 5])));
        let packet = ipv4(0, 2, [1, 2, 3, 4]);
        for end in 0..packet.len() {
            let mut cut = packet[..end].to_vec();
            flow(&cut);
            assert_eq!(ecn(&cut).is_some(), end >= 20);
            set_ecn(&mut cut, Ecn::Ce);
        }
        assert_eq!(ecn(&[0x50; 60]), None);
    }
}
