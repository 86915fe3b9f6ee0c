//! The options area (RFC 4340 section 5.8).

use super::option::FIRST_WITH_LENGTH;
use super::{DccpOption, OPTION_DATA, Options, option_type};
use crate::WireError;
use alloc::vec::Vec;

/// Reads the area. Padding is left out, and Mandatory before it (section 5.8.1); what follows an option of a nonsensical
/// length is ignored, that option in.
pub(super) fn decode(mut area: &[u8]) -> Options {
    let mut options = Options::new();
    while let Some((&kind, rest)) = area.split_first() {
        if kind == option_type::PADDING {
            if options.last() == Some(&DccpOption::Mandatory) {
                options.pop();
            }
            area = rest;
        } else if kind < FIRST_WITH_LENGTH {
            options.push(DccpOption::from_parts(kind, &[]));
            area = rest;
        } else {
            let length = rest.first().copied().map_or(0, usize::from);
            let Some(data) = length.checked_sub(2).and_then(|size| rest.get(1..1 + size)) else { break };
            options.push(DccpOption::from_parts(kind, data));
            area = rest.get(1 + data.len()..).unwrap_or_default();
        }
    }
    options
}

/// Appends the options and the padding to a whole word. After Mandatory padding would undo it: there it goes first.
pub(super) fn encode(options: &[DccpOption], at: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
    let length: usize = options.iter().map(DccpOption::encoded_len).sum();
    let padding = length.next_multiple_of(4) - length;
    let pad = |out: &mut Vec<u8>| out.resize(out.len() + padding, option_type::PADDING);
    let first = options.last() == Some(&DccpOption::Mandatory);
    if first {
        pad(out);
    }
    for option in options {
        check(option, at + out.len())?;
        out.push(option.kind());
        if option.kind() >= FIRST_WITH_LENGTH {
            // At most 255, as was checked.
            out.push(option.encoded_len() as u8);
            option.pieces(|piece| out.extend_from_slice(piece));
        }
    }
    if !first {
        pad(out);
    }
    Ok(())
}

fn check(option: &DccpOption, at: usize) -> Result<(), WireError> {
    let unexpected = |what, found: u64, expected| Err(WireError::Unexpected { what, at, found, expected });
    let data = match option {
        DccpOption::NdpCount(count) if *count >= 1 << 48 => {
            return unexpected("NDP count", *count, "at most 6 bytes (RFC 4340 section 7.7)");
        }
        DccpOption::Other { kind, data } => {
            if *kind == option_type::PADDING {
                return unexpected("option type", 0, "any but padding, which is written where it is needed");
            }
            if *kind < FIRST_WITH_LENGTH && !data.is_empty() {
                return unexpected("bytes of data of a one-byte option", data.len() as u64, "none");
            }
            data.len()
        }
        _ => option.encoded_len().saturating_sub(2),
    };
    if data > OPTION_DATA {
        return unexpected("bytes of option data", data as u64, "at most 253");
    }
    Ok(())
}
