//! DCCP's bytes: vectors by hand, round trips, hostile input, and what another dissector makes of them.

use paceline_units::{Ecn, Time};
use paceline_wire::capture::{self, Direction};
use paceline_wire::dccp::{
    Body, DccpOption, FeatureOption, Options, Packet, PacketType, Payload, Ports, ResetCode, ResetReason,
    RtpDatagram, SequenceNumber, ServiceCode, option_type,
};
use paceline_wire::dccp::{decode, decode_in_udp, encode, encode_in_udp, glance, to_ip};
use paceline_wire::ip::Addresses;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const V4: Addresses =
    Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) };
const V6: Addresses = Addresses::V6 {
    source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
};

fn request() -> Packet {
    let mut request = Packet::new(
        Ports { source: 0x1388, destination: 80 },
        SequenceNumber::new(0x0102_0304_0506),
        Body::Request { service: ServiceCode(0x6664_707a) },
    );
    request.options = vec![DccpOption::ChangeL(FeatureOption { feature: 1, values: vec![2, 3] })].into();
    request.payload = Payload::Bytes(b"abc".to_vec());
    request
}

fn bytes(packet: &Packet, addresses: &Addresses) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(packet, addresses, &mut bytes).expect("it can be written");
    assert_eq!(bytes.len() as u64, packet.size().as_u64(), "the simulator's size is the size");
    bytes
}

#[test]
fn rfc_5762_section_4_1_a_datagram_is_an_rtp_packet() {
    let mut packet = request();
    let rtp = RtpDatagram {
        sequence: 0x1_0007,
        captured: Time::from_nanos(1_000_000_000),
        media: 5,
        header: 12,
        first: Some(false),
        marker: true,
        key: Some(false),
    };
    packet.payload = Payload::Rtp(rtp);
    let Payload::Bytes(payload) = decode(&bytes(&packet, &V4), &V4).expect("it is right").payload else {
        panic!("what is read is bytes")
    };
    let view = paceline_wire::rtp::decode(&payload).expect("an RTP packet");
    // A media clock of 90 kHz.
    assert_eq!((view.header.sequence, view.header.timestamp, view.header.marker), (7, 90_000, true));
    assert_eq!(view.payload, [0; 5]);
    packet.payload = Payload::Rtp(RtpDatagram { header: 0, ..rtp });
    assert_eq!(decode(&bytes(&packet, &V4), &V4).expect("right").payload, Payload::Bytes(vec![0; 5]));
}

/// The checksum's words are added by hand, apart from the code.
#[test]
fn sections_5_1_and_5_2_a_request_byte_by_byte() {
    let expected = [
        0x13, 0x88, 0x00, 0x50, // Ports.
        0x07, 0x00, 0x00, 0x00, // 7 words; CCVal, CsCov; the checksum is set below.
        0x01, 0x00, 0x01, 0x02, // Type 0, X = 1.
        0x03, 0x04, 0x05, 0x06, //
        0x66, 0x64, 0x70, 0x7a, // SC:fdpz.
        0x20, 0x05, 0x01, 0x02, // Change L, CCID, 2 3.
        0x03, 0x00, 0x00, 0x00, // Padding.
        0x61, 0x62, 0x63, // abc.
    ];
    for (addresses, pseudo) in [(V4, 0xc000 + 0x0201 + 0xc000 + 0x0202), (V6, 2 * (0x2001 + 0x0db8) + 1 + 2)]
    {
        let mut expected = expected.to_vec();
        // Length and protocol; then the words of the packet.
        let mut sum: u32 = pseudo + 31 + 33;
        sum += 0x1388 + 0x0050 + 0x0700 + 0x0100 + 0x0102 + 0x0304 + 0x0506 + 0x6664 + 0x707a;
        sum += 0x2005 + 0x0102 + 0x0300 + 0x6162 + 0x6300;
        let folded = (sum >> 16) + (sum & 0xffff);
        let checksum = !((folded >> 16) + folded) as u16;
        expected[6..8].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(bytes(&request(), &addresses), expected);
        assert_eq!(decode(&expected, &addresses), Ok(request()));
    }
}

#[test]
fn section_5_1_short_numbers_are_the_low_24_bits() {
    let mut packet = request();
    packet.body = Body::DataAck { acknowledgment: SequenceNumber::new(0xa1_a2_a3_a4_a5_a6) };
    (packet.short, packet.ccval, packet.options) = (true, 9, Options::new());
    let found = bytes(&packet, &V4);
    assert_eq!(found[4..6], [4, 0x90]);
    assert_eq!(found[8..16], [4 << 1, 4, 5, 6, 0, 0xa4, 0xa5, 0xa6]);
    let back = decode(&found, &V4).expect("valid");
    assert_eq!(back.sequence, SequenceNumber::new(0x04_05_06));
    assert_eq!(back.body.acknowledgment(), Some(SequenceNumber::new(0xa4_a5_a6)));
}

#[test]
fn section_5_6_a_reset_carries_code_data_and_text() {
    let reason = ResetReason { code: ResetCode::MANDATORY_ERROR, data: [32, 1, 2] };
    let mut packet = request();
    packet.body = Body::Reset { acknowledgment: SequenceNumber::new(7), reason };
    packet.options.clear();
    let found = bytes(&packet, &V4);
    assert_eq!(found[16..28], [0, 0, 0, 0, 0, 0, 0, 7, 6, 32, 1, 2]);
    assert_eq!(decode(&found, &V4), Ok(packet));
}

/// Each of step 1's reasons to drop a packet.
#[test]
fn section_8_5_step_1_malformed_packets_are_refused() {
    let good = bytes(&request(), &V4);
    let broken = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decode(&bytes, &V4).expect_err("it must be ignored").to_string()
    };
    assert!(decode(&good[..11], &V4).expect_err("short").to_string().contains("found 11 bytes, expected 12"));
    assert!(broken(8, 10 << 1 | 1).contains("packet type at byte 8: found 10"), "reserved type");
    assert!(broken(4, 4).contains("data offset at byte 4: found 4"), "shorter than a Request's header");
    assert!(broken(4, 8).contains("data offset at byte 4: found 8"), "beyond the packet");
    assert!(broken(8, 0).contains("X at byte 8: found 0"), "a Request with short numbers");
    assert!(broken(5, 2).contains("CsCov at byte 5: found 2"), "covers 4 bytes of 3");
    assert!(broken(30, 0).contains("checksum at byte 6"));
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        assert!(decode(&bytes, &V4).is_err() || at == 9, "byte {at} is covered");
    }
}

#[test]
fn section_5_1_reserved_fields_are_not_looked_at() {
    let packet = Packet::new(
        Ports::default(),
        SequenceNumber::new(5),
        Body::Ack { acknowledgment: SequenceNumber::ZERO },
    );
    let mut found = Vec::new();
    encode_in_udp(&packet, &mut found).expect("it can be written");
    (found[8], found[9], found[16], found[17]) = (found[8] | 0xe0, 0xff, 0xff, 0xff);
    assert_eq!(decode_in_udp(&found).map(|packet| packet.body), Ok(packet.body));
}

#[test]
fn section_9_2_what_is_not_covered_may_change() {
    for (coverage, first_free) in [(1, 0), (2, 4), (3, 8)] {
        let mut packet = request();
        (packet.coverage, packet.payload) = (coverage, Payload::Bytes(vec![7; 9]));
        let header = packet.header_len();
        let good = bytes(&packet, &V6);
        for at in 0..9 {
            let mut changed = good.clone();
            changed[header + at] ^= 0xff;
            assert_eq!(decode(&changed, &V6).is_ok(), at >= first_free, "coverage {coverage}, byte {at}");
        }
    }
    let mut packet = request();
    packet.coverage = 2;
    let error = encode(&packet, &V4, &mut Vec::new()).expect_err("3 bytes are not 4").to_string();
    assert!(error.contains("CsCov"), "{error}");
}

#[test]
fn rfc_6773_section_3_3_in_udp_the_checksum_is_zero_and_not_looked_at() {
    let mut found = Vec::new();
    encode_in_udp(&request(), &mut found).expect("it can be written");
    assert_eq!(found[6..8], [0, 0]);
    (found[6], found[7]) = (0xde, 0xad);
    assert_eq!(decode_in_udp(&found), Ok(request()));
    assert!(decode_in_udp(&found[..11]).is_err(), "a UDP length of 19");
}

fn decoded_options(area: &[u8]) -> Vec<DccpOption> {
    let mut found = vec![0; 16];
    (found[4], found[8]) = ((4 + area.len().div_ceil(4)) as u8, 2 << 1 | 1);
    found.extend_from_slice(area);
    found.resize(16 + area.len().next_multiple_of(4), 0);
    decode_in_udp(&found).expect("well formed").options.into_vec()
}

#[test]
fn section_5_8_nonsensical_lengths_end_the_options() {
    const SLOW: DccpOption = DccpOption::SlowReceiver;
    assert_eq!(decoded_options(&[2, 44, 1, 2]), [SLOW], "less than two");
    assert_eq!(decoded_options(&[2, 44, 9, 2]), [SLOW], "more than there is");
    assert_eq!(decoded_options(&[2, 2, 2, 44]), [SLOW, SLOW, SLOW], "no length at all");
}

#[test]
fn section_5_8_1_padding_may_be_anywhere() {
    let slow = DccpOption::SlowReceiver;
    assert_eq!(decoded_options(&[0, 2, 0, 0, 2, 0, 0, 0]), [slow.clone(), slow.clone()]);
    assert_eq!(decoded_options(&[1, 0, 2, 0]), [slow], "Mandatory Padding is two bytes of padding");
    assert_eq!(decoded_options(&[0, 0, 0, 1]), [DccpOption::Mandatory], "and Mandatory may come last");
}

#[test]
fn what_cannot_be_written_says_so() {
    let fails = |change: &dyn Fn(&mut Packet), text: &str| {
        let mut packet = request();
        change(&mut packet);
        let mut out = vec![1, 2];
        let error = encode(&packet, &V4, &mut out).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
        assert_eq!(out, [1, 2], "nothing is half-written");
    };
    fails(&|p| p.short = true, "X at byte 8");
    fails(&|p| p.ccval = 16, "CCVal");
    fails(&|p| p.options = vec![DccpOption::InitCookie(vec![0; 254])].into(), "253");
    fails(&|p| p.options = vec![DccpOption::InitCookie(vec![0; 253]); 4].into(), "1020");
    fails(&|p| p.options = vec![DccpOption::NdpCount(1 << 48)].into(), "6 bytes");
    fails(&|p| p.options = vec![DccpOption::Other { kind: 0, data: vec![] }].into(), "padding");
    fails(&|p| p.options = vec![DccpOption::Other { kind: 9, data: vec![1] }].into(), "one-byte");
}

fn feature() -> impl Strategy<Value = FeatureOption> {
    (any::<u8>(), prop::collection::vec(any::<u8>(), 0..8))
        .prop_map(|(feature, values)| FeatureOption { feature, values })
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn option() -> impl Strategy<Value = DccpOption> {
    prop_oneof![
        Just(DccpOption::SlowReceiver),
        feature().prop_map(DccpOption::ChangeL),
        feature().prop_map(DccpOption::ConfirmL),
        feature().prop_map(DccpOption::ChangeR),
        feature().prop_map(DccpOption::ConfirmR),
        data().prop_map(DccpOption::InitCookie),
        (0u64..1 << 48).prop_map(DccpOption::NdpCount),
        (any::<bool>(), data())
            .prop_map(|(nonce, vector)| DccpOption::AckVector { nonce, vector: vector.into() }),
        data().prop_map(DccpOption::DataDropped),
        any::<u32>().prop_map(DccpOption::Timestamp),
        (any::<u32>(), any::<u32>()).prop_map(|(echo, elapsed)| DccpOption::TimestampEcho { echo, elapsed }),
        any::<u32>().prop_map(DccpOption::ElapsedTime),
        any::<u32>().prop_map(DccpOption::DataChecksum),
        (3u8..32).prop_map(|kind| DccpOption::Other { kind, data: vec![] }),
        (45u8.., data()).prop_map(|(kind, data)| DccpOption::Other { kind, data }),
        // Known types with a length that they must not have.
        (prop::sample::select(vec![41u8, 42, 43, 44]), prop::collection::vec(any::<u8>(), 11..20))
            .prop_map(|(kind, data)| DccpOption::Other { kind, data }),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    let numbers = (0..SequenceNumber::MODULUS, 0..SequenceNumber::MODULUS);
    let head = (any::<u16>(), any::<u16>(), 0u8..16, 0u8..16, any::<bool>(), any::<u32>());
    let kind = prop::sample::select(PacketType::ALL.to_vec());
    let options = prop::collection::vec((any::<bool>(), option()), 0..12);
    (kind, numbers, head, options, prop::collection::vec(any::<u8>(), 0..80)).prop_map(
        |(
            kind,
            (sequence, acknowledgment),
            (source, destination, ccval, coverage, short, word),
            options,
            payload,
        )| {
            let short = short && kind.may_be_short();
            let visible = |n: u64| SequenceNumber::new(if short { n & 0xff_ffff } else { n });
            let acknowledgment = visible(acknowledgment);
            let service = ServiceCode(word);
            let [code, data @ ..] = word.to_be_bytes();
            let reason = ResetReason { code: ResetCode(code), data };
            let body = Body::new(kind, acknowledgment, service, reason);
            let mut packet = Packet::new(Ports { source, destination }, visible(sequence), body);
            (packet.short, packet.ccval) = (short, ccval);
            packet.coverage =
                if usize::from(coverage.max(1) - 1) * 4 <= payload.len() { coverage } else { 0 };
            packet.payload = Payload::Bytes(payload);
            for (mandatory, option) in options {
                if mandatory {
                    packet.options.push(DccpOption::Mandatory);
                }
                packet.options.push(option);
            }
            packet
        },
    )
}

proptest! {
    #[test]
    fn packets_round_trip(packet in packet()) {
        for addresses in [V4, V6] {
            prop_assert_eq!(decode(&bytes(&packet, &addresses), &addresses), Ok(packet.clone()));
        }
        let mut in_udp = Vec::new();
        encode_in_udp(&packet, &mut in_udp).expect("it can be written");
        prop_assert_eq!(decode_in_udp(&in_udp), Ok(packet));
    }

    #[test]
    fn mutated_packets_never_panic_and_read_again_as_written(
        packet in packet(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut found = bytes(&packet, &V4);
        for (place, value) in changes {
            let at = place.index(found.len());
            found[at] = value;
        }
        found.truncate(keep.index(found.len()) + 1);
        let _ = decode(&found, &V4);
        if let Ok(first) = decode_in_udp(&found) {
            let mut again = Vec::new();
            encode_in_udp(&first, &mut again).expect("what was read can be written");
            prop_assert_eq!(decode_in_udp(&again), Ok(first));
        }
    }

    #[test]
    fn any_bytes_never_panic(found in prop::collection::vec(any::<u8>(), 0..1100)) {
        let _ = decode(&found, &V4);
        // A relay and a reader of packets agree on what is one.
        let sound = decode_in_udp(&found).is_ok();
        prop_assert_eq!(glance(&found).is_ok(), sound);
        prop_assert_eq!(to_ip(&found, &V6, Ecn::Ce, &mut Vec::new()).is_ok(), sound);
    }
}

/// One of each type with the options that belong there.
fn one_of_each() -> Vec<Packet> {
    let acknowledgment = SequenceNumber::new(0x0a0b_0c0d_0e0f);
    let service = ServiceCode(0x6664_707a);
    let bodies = [
        Body::Request { service },
        Body::Response { acknowledgment, service },
        Body::Data,
        Body::Ack { acknowledgment },
        Body::DataAck { acknowledgment },
        Body::CloseReq { acknowledgment },
        Body::Close { acknowledgment },
        Body::Reset { acknowledgment, reason: ResetReason::new(ResetCode::CLOSED) },
        Body::Sync { acknowledgment },
        Body::SyncAck { acknowledgment },
    ];
    let packet = |body: Body| {
        let mut packet = request();
        (packet.body, packet.options) = (body, [DccpOption::Timestamp(12345)].into());
        if body.packet_type() == PacketType::Ack {
            packet
                .options
                .push(DccpOption::AckVector { nonce: false, vector: vec![0, 192, 3, 64, 5].into() });
            packet.options.push(DccpOption::ElapsedTime(77));
            let data = 1000u32.to_be_bytes().to_vec();
            packet.options.push(DccpOption::Other { kind: option_type::RECEIVE_RATE, data });
        }
        packet
    };
    bodies.into_iter().map(packet).collect()
}

/// A capture file with raw IP packets (link type 101) and, of each, what tshark reads: `packet type, sequence, checksum
/// status` (1 is good). Needs tshark; without it there is nothing to compare with.
#[test]
fn another_dissector_agrees() {
    let mut pcap = Vec::new();
    capture::section("Paceline", "", &mut pcap);
    capture::interface("here", "", &mut pcap);
    let packets = one_of_each();
    for (packet, addresses) in packets.iter().zip([V4, V6].iter().cycle()) {
        let mut in_udp = Vec::new();
        encode_in_udp(packet, &mut in_udp).expect("it can be written");
        let mut ip = Vec::new();
        to_ip(&in_udp, addresses, Ecn::Ect1, &mut ip).expect("a packet");
        capture::packet(0, 1_700_000_000_123_456_789, Direction::Outbound, &ip, &mut pcap);
        let header = if *addresses == V4 { 20 } else { 40 };
        assert_eq!(decode(&ip[header..], addresses).as_ref(), Ok(packet), "with the checksum of native DCCP");
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dccp.pcapng");
    std::fs::write(&path, &pcap).expect("a place for the capture");
    let fields = [
        "dccp.type",
        "dccp.seq_raw",
        "dccp.checksum.status",
        "dccp.srcport",
        "ip.checksum.status",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
        "frame.time_epoch",
    ];
    let mut tshark = std::process::Command::new("tshark");
    tshark.args(["-r", &path.to_string_lossy(), "-o", "dccp.check_checksum:TRUE"]);
    tshark.args(["-o", "ip.check_checksum:TRUE", "-T", "fields"]);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let Ok(output) = tshark.output() else {
        eprintln!("no tshark: nothing compared");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let expected: Vec<String> = packets
        .iter()
        .enumerate()
        .map(|(place, packet)| {
            let ip = if place % 2 == 0 { "1\t1\t" } else { "\t\t1" };
            let (kind, number) = (packet.packet_type() as u8, packet.sequence);
            format!("{kind}\t{number}\t1\t5000\t{ip}\t1700000000.123456789")
        })
        .collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}
