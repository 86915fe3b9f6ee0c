//! The messages of the exchange: their bytes, what is refused, and any bytes at all.

use super::*;
use crate::WireError;
use alloc::string::ToString;
use alloc::vec::Vec;
use paceline_cc::{FlowId, Priority};
use paceline_units::Bytes;
use proptest::prelude::*;

fn update(own: Assigned) -> Update {
    let priority = Priority::new(2.0).expect("a priority");
    let rtt = Some(TimeDelta::from_millis(40));
    let (taken, desired) = (Some(Assigned::Rate(Bitrate::from_mbps(1))), Some(Bitrate::from_mbps(3)));
    Update { number: 7, flow: FlowUpdate { flow: FlowId(1), own, taken, desired, rtt, priority } }
}

fn join(name: &str) -> Request {
    let update = update(Assigned::Rate(Bitrate::from_mbps(2)));
    let (kind, settings, detection) = ("active".into(), "leaving=keep".into(), None);
    Request::Join(Join { group: GroupKey::Name(name.into()), kind, settings, detection, update })
}

const SUMMARY: DelaySummary = DelaySummary {
    intervals: 70,
    skewness: -0.25,
    variability: TimeDelta::from_millis(5),
    frequency: 0.5,
    loss: 1.0,
    bottleneck: true,
};

fn written(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_request(request, &mut bytes).expect("it fits");
    bytes
}

fn replied(reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_reply(reply, &mut bytes);
    bytes
}

#[rustfmt::skip]
const UPDATE: [u8; 60] = [
    b'F', b'S', 1, 2, 0, 0, 0, 1, 0, 0, 0, 7, 2, 1, 0, 0,
    0, 0, 0, 0, 0, 0, 0x30, 0x39, 0, 0, 0, 0, 0, 0x0f, 0x42, 0x40,
    0, 0, 0, 0, 0, 0x2d, 0xc6, 0xc0, 0, 0, 0, 0, 2, 0x62, 0x5a, 0,
    0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn an_update_is_these_bytes() {
    let request = Request::Update(update(Assigned::Window(Bytes::new(12_345))));
    assert_eq!(written(&request), UPDATE[..56]);
    assert_eq!(decode_request(&UPDATE[..56]), Ok(request));
}

#[rustfmt::skip]
const DELAYS: [u8; 52] = [
    b'F', b'S', 2, 6, 0, 0, 0, 3, 1, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 70, 0, 0, 0, 0, 0, 0x4c, 0x4b, 0x40,
    0xbf, 0xd0, 0, 0, 0, 0, 0, 0, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn delays_are_these_bytes() {
    let request = Request::Delays { flow: 3, summary: SUMMARY };
    assert_eq!(written(&request), DELAYS);
    assert_eq!(decode_request(&DELAYS), Ok(request));
}

#[test]
fn delays_that_cannot_be_are_refused_by_name() {
    let number = |value: f64| value.to_be_bytes();
    for (at, value, expected) in [
        (2, &[1][..], "type of request at byte 3: found 6, expected 1 to 4"),
        (2, &[3], "version at byte 2: found 3, expected 1 or 2"),
        (3, &[2], "type of request at byte 3: found 2, expected 5 or 6 in version 2"),
        (8, &[2], "bottleneck at byte 8: found 2, expected 0 or 1"),
        (9, &[1], "a reserved byte at byte 9: found 1"),
        (20, &[0xff; 8], "variability: found 18446744073709551615"),
        (28, &number(-1.5), "skewness at byte 28: found -1.5, expected -1 to 1"),
        (28, &number(f64::NAN), "skewness at byte 28: found NaN"),
        (36, &number(-0.5), "frequency at byte 36: found -0.5, expected 0 to 1"),
        (44, &number(1.5), "loss at byte 44: found 1.5, expected 0 to 1"),
        (44, &number(f64::INFINITY), "loss at byte 44: found inf"),
    ] {
        let mut bytes = DELAYS;
        bytes[at..at + value.len()].copy_from_slice(value);
        let error = decode_request(&bytes).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
    for length in 0..DELAYS.len() {
        assert!(decode_request(&DELAYS[..length]).is_err(), "{length} bytes are no delays");
    }
    assert!(decode_reply(&DELAYS).is_err_and(|error| error.to_string().contains("found 2, expected 1")));
}

#[test]
fn delays_that_do_not_fit_are_written_as_the_nearest_that_do() {
    let wild = DelaySummary {
        skewness: f64::NAN,
        variability: -TimeDelta::from_millis(1),
        frequency: 7.0,
        loss: f64::NEG_INFINITY,
        ..SUMMARY
    };
    let summary =
        DelaySummary { skewness: 0.0, variability: TimeDelta::ZERO, frequency: 1.0, loss: 0.0, ..SUMMARY };
    let read = decode_request(&written(&Request::Delays { flow: 3, summary: wild }));
    assert_eq!(read, Ok(Request::Delays { flow: 3, summary }));
}

#[test]
fn messages_are_read_as_they_were_written() {
    let address = |text: &str| GroupKey::Destination(text.parse().expect("an address"));
    let end = |text: &str| text.parse().expect("an address with its port");
    let tuple = |source, destination| {
        let (source, destination) = (end(source), end(destination));
        GroupKey::FiveTuple(FiveTuple { protocol: FiveTuple::UDP, traffic_class: 0x2a, source, destination })
    };
    let Request::Join(named) = join("call") else { unreachable!() };
    let to = |group| Request::Join(Join { group, settings: String::new(), ..named.clone() });
    let requests = [
        join("call"),
        join("Gespräch"),
        to(address("192.0.2.1")),
        to(address("2001:db8::1")),
        to(tuple("192.0.2.1:50000", "192.0.2.7:5004")),
        to(tuple("[2001:db8::1]:1", "[2001:db8::2]:65535")),
        Request::Join(Join { detection: Some("steady T=\"50ms\"".into()), ..named.clone() }),
        Request::Join(Join { detection: Some(String::new()), ..named.clone() }),
        Request::Leave { flow: 9 },
        Request::Alive { echo: u64::MAX },
    ];
    for request in requests {
        assert_eq!(decode_request(&written(&request)), Ok(request));
    }
    let state = |assigned| {
        let (sum, rate) = (Bitrate::from_mbps(6), Bitrate::from_mbps(4));
        Reply::State(State { flow: 3, number: 4, assigned, members: 2, sum, rate })
    };
    let refused = |text: &str| Reply::Refused { flow: 1, refusal: Refusal::Kind, text: text.into() };
    let replies = [
        Reply::Welcome { expiry: TimeDelta::from_secs(2) },
        state(None),
        state(Some(Assigned::Rate(Bitrate::from_mbps(4)))),
        state(Some(Assigned::Window(Bytes::new(30_000)))),
        refused("kind: found etcp, expected active"),
        refused(""),
        Reply::Alive { echo: 5 },
    ];
    for reply in replies {
        assert_eq!(decode_reply(&replied(&reply)), Ok(reply));
    }
}

/// The error of `decode_request` for an update in which the bytes at `at` are replaced.
fn refusal(at: usize, value: &[u8]) -> String {
    let mut bytes = UPDATE[..56].to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    decode_request(&bytes).expect_err("a value that it must not have").to_string()
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let number = |value: f64| value.to_be_bytes();
    for (at, value, expected) in [
        (0, &b"fs"[..], "magic at byte 0"),
        (2, &[3], "version at byte 2: found 3, expected 1 or 2"),
        (3, &[5], "type of request at byte 3: found 5"),
        (12, &[0], "own rate or window at byte 16: found 12345"),
        (12, &[3], "kind of a rate at byte 12: found 3"),
        (13, &[0], "taken rate or window at byte 24: found 1000000, expected 0"),
        (15, &[1], "a reserved byte at byte 15: found 1"),
        (16, &[0; 8], "own rate or window: found 0, expected 1 to 1000000000000"),
        (16, &[0xff; 8], "own rate or window: found 18446744073709551615"),
        (24, &[0; 8], "taken rate or window: found 0"),
        (32, &[0x80; 8], "desired rate: found"),
        (40, &[0x80; 8], "round-trip time: found"),
        (48, &number(0.0), "priority at byte 48: found 0, expected 0.000001 to 1000000"),
        (48, &number(-1.0), "priority at byte 48: found -1,"),
        (48, &number(f64::NAN), "priority at byte 48: found NaN,"),
        (48, &number(f64::INFINITY), "priority at byte 48: found inf,"),
    ] {
        let error = refusal(at, value);
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
    let longer = decode_request(&UPDATE[..57]).expect_err("a byte too many").to_string();
    assert!(longer.contains("bytes of the message: found 57, expected 56"), "{longer}");
    for length in 0..56 {
        assert!(decode_request(&UPDATE[..length]).is_err(), "{length} bytes are no update");
    }
    assert!(decode_request(&[0; MAX_SIZE + 1]).is_err_and(|error| matches!(error, WireError::Range { .. })));
}

#[test]
fn names_that_cannot_be_printed_or_do_not_fit_are_not_written() {
    let long = "n".repeat(MAX_NAME);
    assert!(decode_request(&written(&join(&long))).is_ok());
    let mut bytes = vec![1, 2, 3];
    for name in ["", "two\nlines", &(long + "n")] {
        assert!(encode_request(&join(name), &mut bytes).is_err(), "{name:?}");
        assert_eq!(bytes, [1, 2, 3], "nothing is left of it");
    }
    let mut bytes = written(&join("call"));
    let at = bytes.windows(4).position(|part| part == b"call").expect("the name");
    bytes[at] = b'\n';
    let error = decode_request(&bytes).expect_err("a line break").to_string();
    assert!(error.contains("name of a group at byte 58: found 10, expected printable"), "{error}");
    bytes[at] = 0xff;
    assert!(decode_request(&bytes).expect_err("no letter").to_string().contains("expected UTF-8"));
}

#[test]
fn what_does_not_fit_a_field_is_written_as_the_nearest_that_does() {
    let wild = |own, desired| {
        let flow = FlowUpdate { own, desired: Some(desired), ..update(own).flow };
        written(&Request::Update(Update { number: 7, flow }))
    };
    let read = |bytes: &[u8]| match decode_request(bytes) {
        Ok(Request::Update(update)) => (update.flow.own, update.flow.desired),
        other => panic!("{other:?}"),
    };
    let (one, most) = (Bitrate::from_bps(1), Bitrate::from_bps(MAX_SHARE));
    assert_eq!(read(&wild(Assigned::Rate(Bitrate::ZERO), Bitrate::MAX)), (Assigned::Rate(one), Some(most)));
    assert_eq!(
        read(&wild(Assigned::Rate(Bitrate::MAX), Bitrate::ZERO)),
        (Assigned::Rate(most), Some(Bitrate::ZERO))
    );
    let text = "ü".repeat(200) + "\n";
    let refused = |text| Reply::Refused { flow: 1, refusal: Refusal::Malformed, text };
    assert_eq!(decode_reply(&replied(&refused(text))), Ok(refused("ü".repeat(127))));
    assert_eq!(decode_reply(&replied(&refused("a\tb".into()))), Ok(refused("a?b".into())));
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_written_again_as_they_were(
        body in proptest::collection::vec(any::<u8>(), 0..120),
        kind in prop_oneof![0u8..8, 127u8..134],
        version in 1u8..3,
        shares in (0u8..4, 0u8..4),
    ) {
        let _ = (decode_request(&body), decode_reply(&body));
        let mut bytes = vec![b'F', b'S', version, kind];
        bytes.extend(&body);
        if bytes.len() >= 16 {
            // Near enough to an update that some pass.
            bytes[12..16].copy_from_slice(&[shares.0, shares.1, 0, 0]);
        }
        if let Ok(request) = decode_request(&bytes) {
            prop_assert_eq!(written(&request), bytes.clone());
        }
        if let Ok(reply) = decode_reply(&bytes) {
            prop_assert_eq!(replied(&reply), bytes);
        }
    }

    #[test]
    fn a_message_with_one_byte_changed_is_refused_or_written_again(at in 0usize..140, value: u8, which in 0usize..3) {
        let Request::Join(named) = join("call") else { unreachable!() };
        let detecting = Request::Join(Join { detection: Some("rfc8382".into()), ..named });
        let mut bytes = written(&[join("call"), detecting, Request::Delays { flow: 3, summary: SUMMARY }][which]);
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(request) = decode_request(&bytes) {
            prop_assert_eq!(written(&request), bytes);
        }
    }
}
