//! DCCP's bytes: whatever is read can be written and reads again as the same, under IP and in UDP.
#![cfg_attr(fuzzing, no_main)]

use paceline_wire::dccp::{decode, decode_in_udp, encode, encode_in_udp};
use paceline_wire::ip::Addresses;
use std::net::Ipv4Addr;

paceline_fuzz::target!(dccp_packets);

fn dccp_packets(data: &[u8]) {
    let addresses =
        Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) };
    let _ = decode(data, &addresses);
    let Ok(packet) = decode_in_udp(data) else { return };
    let mut written = Vec::new();
    encode_in_udp(&packet, &mut written).expect("what was read can be written");
    assert_eq!(written.len() as u64, packet.size().as_u64());
    assert!(written.len() <= data.len() + 3, "nothing grows but the padding");
    assert_eq!(decode_in_udp(&written).expect("what was written can be read"), packet);
    written.clear();
    encode(&packet, &addresses, &mut written).expect("nor does a checksum change that");
    assert_eq!(decode(&written, &addresses).expect("the checksum is right"), packet);
}
