//! Messages written as bytes.

use super::{
    ANY, DETECTING, FiveTuple, GroupKey, Join, MAGIC, MAX_DETECTION, MAX_KIND, MAX_NAME, MAX_RTT,
    MAX_SETTINGS, MAX_SHARE, MAX_TEXT, Refusal, Reply, Request, State, Update, VERSION, types,
};
use crate::error::WireError;
use alloc::vec::Vec;
use core::net::IpAddr;
use paceline_cc::Assigned;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_units::TimeDelta;

/// Appends a request. A rate of zero is written as 1, and what is larger than the form takes as the largest.
///
/// # Errors
/// A text that is too long, empty where there must be one, or not printable; `bytes` is then as it was.
pub fn encode_request(request: &Request, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    let begin = bytes.len();
    let written = match request {
        Request::Join(join) => write_join(join, bytes),
        Request::Update(update) => {
            header(types::UPDATE, bytes);
            write_update(update, bytes);
            Ok(())
        }
        Request::Leave { flow } => {
            header(types::LEAVE, bytes);
            bytes.extend(flow.to_be_bytes());
            Ok(())
        }
        Request::Delays { flow, summary } => {
            write_delays(*flow, summary, bytes);
            Ok(())
        }
        Request::Alive { echo } => {
            header(types::ALIVE, bytes);
            bytes.extend(echo.to_be_bytes());
            Ok(())
        }
    };
    if written.is_err() {
        bytes.truncate(begin);
    }
    written
}

/// Appends a reply. A text that is too long is cut, and what is not printable in it becomes `?`.
pub fn encode_reply(reply: &Reply, bytes: &mut Vec<u8>) {
    match reply {
        Reply::Welcome { expiry } => {
            header(types::WELCOME, bytes);
            let millis = (expiry.as_nanos() / 1_000_000).clamp(1, u32::MAX.into());
            bytes.extend((millis as u32).to_be_bytes());
        }
        Reply::State(state) => write_state(state, bytes),
        Reply::Refused { flow, refusal, text } => {
            header(types::REFUSED, bytes);
            bytes.extend(flow.to_be_bytes());
            let place = Refusal::ALL.iter().position(|known| known == refusal).unwrap_or(0);
            bytes.push(place as u8 + 1);
            let length = bytes.len();
            bytes.push(0);
            let mut letter = [0; 4];
            for char in text.chars().map(|char| if char.is_control() { '?' } else { char }) {
                let letter = char.encode_utf8(&mut letter).as_bytes();
                if bytes.len() - length - 1 + letter.len() > MAX_TEXT {
                    break;
                }
                bytes.extend(letter);
            }
            bytes[length] = (bytes.len() - length - 1) as u8;
        }
        Reply::Alive { echo } => {
            header(types::ALIVE_REPLY, bytes);
            bytes.extend(echo.to_be_bytes());
        }
    }
}

fn header(kind: u8, bytes: &mut Vec<u8>) {
    bytes.extend(MAGIC);
    let version = if matches!(kind, types::JOIN_DETECTING | types::DELAYS) { DETECTING } else { VERSION };
    bytes.extend([version, kind]);
}

fn write_text(
    text: &str,
    what: &'static str,
    min: usize,
    max: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), WireError> {
    let length = text.len();
    if !(min..=max).contains(&length) {
        let (found, min, max) = (length as u64, min as u64, max as u64);
        return Err(WireError::Range { what, found, min, max });
    }
    if let Some((at, letter)) = text.char_indices().find(|(_, letter)| letter.is_control()) {
        let found = u32::from(letter).into();
        return Err(WireError::Unexpected { what, at, found, expected: "printable characters" });
    }
    bytes.push(length as u8);
    bytes.extend(text.as_bytes());
    Ok(())
}

fn write_join(join: &Join, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    header(if join.detection.is_some() { types::JOIN_DETECTING } else { types::JOIN }, bytes);
    write_update(&join.update, bytes);
    match &join.group {
        GroupKey::Name(name) => {
            bytes.push(1);
            write_text(name, "name of a group", 1, MAX_NAME, bytes)?;
        }
        GroupKey::Destination(address) => {
            bytes.push(2);
            write_address(*address, bytes);
        }
        GroupKey::FiveTuple(FiveTuple { protocol, traffic_class, source, destination }) => {
            bytes.extend([3, *protocol, *traffic_class]);
            for end in [source, destination] {
                write_address(end.ip(), bytes);
                bytes.extend(end.port().to_be_bytes());
            }
        }
    }
    write_text(&join.kind, "kind of coupling", 1, MAX_KIND, bytes)?;
    write_text(&join.settings, "settings of the coupling", 0, MAX_SETTINGS, bytes)?;
    match &join.detection {
        Some(detection) => write_text(detection, "settings of the detection", 0, MAX_DETECTION, bytes),
        None => Ok(()),
    }
}

fn write_address(address: IpAddr, bytes: &mut Vec<u8>) {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    bytes.extend(address.octets());
}

/// Kind and value of a rate or window.
fn share(assigned: Option<Assigned>) -> (u8, u64) {
    match assigned {
        None => (0, 0),
        Some(Assigned::Rate(rate)) => (1, rate.as_bps().clamp(1, MAX_SHARE)),
        Some(Assigned::Window(window)) => (2, window.as_u64().clamp(1, MAX_SHARE)),
    }
}

fn write_update(update: &Update, bytes: &mut Vec<u8>) {
    let Update { number, flow } = update;
    bytes.extend(flow.flow.0.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    let ((own_kind, own), (taken_kind, taken)) = (share(Some(flow.own)), share(flow.taken));
    bytes.extend([own_kind, taken_kind, 0, 0]);
    let desired = flow.desired.map_or(ANY, |rate| rate.as_bps().min(MAX_SHARE));
    let rtt = flow.rtt.map_or(0, |rtt| rtt.clamp(TimeDelta::ZERO, MAX_RTT).as_nanos() as u64);
    let fields = [own, taken, desired, rtt, flow.priority.weight().to_bits()];
    bytes.extend(fields.into_iter().flat_map(u64::to_be_bytes));
}

/// A part that is no number is written as 0, and others as the nearest that may be.
fn write_delays(flow: u32, summary: &DelaySummary, bytes: &mut Vec<u8>) {
    let &DelaySummary { intervals, skewness, variability, frequency, loss, bottleneck } = summary;
    header(types::DELAYS, bytes);
    bytes.extend(flow.to_be_bytes());
    bytes.extend([u8::from(bottleneck), 0, 0, 0]);
    let variability = variability.clamp(TimeDelta::ZERO, MAX_RTT).as_nanos() as u64;
    let part = |part: f64, least: f64| if part.is_nan() { 0.0 } else { part.clamp(least, 1.0) }.to_bits();
    let fields = [intervals, variability, part(skewness, -1.0), part(frequency, 0.0), part(loss, 0.0)];
    bytes.extend(fields.into_iter().flat_map(u64::to_be_bytes));
}

fn write_state(state: &State, bytes: &mut Vec<u8>) {
    let (kind, assigned) = share(state.assigned);
    header(types::STATE, bytes);
    bytes.extend(state.flow.to_be_bytes());
    bytes.extend(state.number.to_be_bytes());
    bytes.extend([kind, 0, 0, 0]);
    bytes.extend(state.members.to_be_bytes());
    let fields = [assigned, state.sum.as_bps(), state.rate.as_bps()];
    bytes.extend(fields.into_iter().flat_map(u64::to_be_bytes));
}
