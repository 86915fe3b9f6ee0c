//! Init Cookies: what a server without state wants back (RFC 4340 section 8.1.4).
//!
//! A cookie holds what the connection is made of again: both first numbers, the service, and the feature options of the
//! Request. Nothing in it is secret; a keyed hash over it, the flow and the time says that it is ours.

use super::FlowId;
use super::negotiation::{is_feature, number};
use super::siphash::siphash;
use paceline_units::{Time, TimeDelta};
use paceline_wire::dccp::OPTION_DATA;
use paceline_wire::dccp::{Body, DccpOption, Options, Packet, SequenceNumber, ServiceCode};

/// All cookies of a Response together: more would leave clients no room.
const LONGEST: usize = 580;
const HEAD: usize = 8 + 6 + 6 + 4;
const HASH: usize = 8;

fn seal(secret: [u64; 2], flow: &FlowId, bytes: &[u8]) -> [u8; HASH] {
    siphash(secret, &[bytes, &flow.to_bytes()].concat()).to_be_bytes()
}

/// The cookies for a Request; none if its options are too many.
pub(crate) fn make(
    secret: [u64; 2],
    now: Time,
    flow: &FlowId,
    request: &Packet,
    iss: SequenceNumber,
) -> Option<Options> {
    let service = request.service()?;
    let mut bytes = now.as_nanos().to_be_bytes().to_vec();
    bytes.extend_from_slice(&request.sequence.as_u64().to_be_bytes()[2..]);
    bytes.extend_from_slice(&iss.as_u64().to_be_bytes()[2..]);
    bytes.extend_from_slice(&service.0.to_be_bytes());
    let mut mandatory = false;
    for option in &request.options {
        if is_feature(option) {
            let data = option.data();
            bytes.extend_from_slice(&[u8::from(mandatory), option.kind(), u8::try_from(data.len()).ok()?]);
            bytes.extend_from_slice(&data);
        }
        mandatory = *option == DccpOption::Mandatory;
    }
    let hash = seal(secret, flow, &bytes);
    bytes.extend_from_slice(&hash);
    let options: Options =
        bytes.chunks(OPTION_DATA).map(|chunk| DccpOption::InitCookie(chunk.to_vec())).collect();
    (options.iter().map(DccpOption::encoded_len).sum::<usize>() <= LONGEST).then_some(options)
}

/// The Request whose cookies a packet brings back, with the feature options that it had, and the number of its Response;
/// none if they are not ours, not this flow's, or too old.
pub(crate) fn read(
    secret: [u64; 2],
    now: Time,
    lifetime: TimeDelta,
    flow: &FlowId,
    packet: &Packet,
) -> Option<(Packet, SequenceNumber)> {
    let mut bytes = Vec::new();
    for option in &packet.options {
        if let DccpOption::InitCookie(part) = option {
            bytes.extend_from_slice(part);
        }
    }
    let (bytes, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
    if seal(secret, flow, bytes) != hash {
        return None;
    }
    let (head, mut rest) = bytes.split_at_checked(HEAD)?;
    let made = Time::from_nanos(number(&head[..8]));
    if now.saturating_since(made) > lifetime {
        return None;
    }
    let service = ServiceCode(number(&head[20..]) as u32);
    let isr = SequenceNumber::new(number(&head[8..14]));
    let mut request = Packet::new(packet.ports, isr, Body::Request { service });
    while let [mandatory, kind, length, after @ ..] = rest {
        let (data, after) = after.split_at_checked(usize::from(*length))?;
        if *mandatory == 1 {
            request.options.push(DccpOption::Mandatory);
        }
        request.options.push(DccpOption::from_parts(*kind, data));
        rest = after;
    }
    Some((request, SequenceNumber::new(number(&head[14..20]))))
}
