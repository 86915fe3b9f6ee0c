//! Lines and cells of a text table, with their line numbers, and the numbers in them.

use super::TraceError;
use alloc::format;
use alloc::vec::Vec;
use paceline_units::TimeDelta;
use paceline_units::text::{NOT_UTF16, is_utf16};

/// The text of a file, or why it is none.
pub(super) fn text(bytes: &[u8]) -> Result<&str, TraceError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_utf16(bytes) {
        return Err(TraceError::whole("text in UTF-16", NOT_UTF16));
    }
    let line_of = |offset: usize| 1 + bytes[..offset].iter().filter(|&&byte| byte == b'\n').count();
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0) {
        return Err(TraceError::at(line_of(offset), "a NUL byte", "text, already decompressed"));
    }
    core::str::from_utf8(bytes).map_err(|error| {
        TraceError::at(line_of(error.valid_up_to()), "bytes that are no UTF-8", "text, already decompressed")
    })
}

/// Number and content of the lines that say something: blank lines and `#` comments are passed over.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

/// Whether the columns of a table with this first line are separated by single tabs, so that a cell may be empty.
pub(super) fn is_tabbed(first: &str) -> bool {
    let by_others = first.contains([',', ';']);
    !by_others && first.contains('\t') && first.split('\t').all(|cell| !cell.trim().is_empty())
}

/// The cells of a line: separated by commas or semicolons if it has one, else by tabs where the table is `tabbed`, else by white
/// space.
pub(super) fn cells<'a>(line: &'a str, tabbed: bool, cells: &mut Vec<&'a str>) {
    let bare = |cell: &'a str| cell.trim().trim_matches('"');
    cells.clear();
    match [',', ';'].into_iter().find(|&separator| line.contains(separator)) {
        Some(separator) => cells.extend(line.split(separator).map(bare)),
        None if tabbed => cells.extend(line.split('\t').map(bare)),
        None => cells.extend(line.split_whitespace().map(bare)),
    }
}

/// A finite number.
pub(super) fn number(line: usize, cell: &str, expected: &'static str) -> Result<f64, TraceError> {
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(TraceError::at(line, cell, expected)),
    }
}

/// A time in seconds, or in another unit of so many seconds: `from` or more and within a hundred years.
pub(super) fn seconds(
    line: usize,
    cell: &str,
    from: f64,
    unit_s: f64,
    expected: &'static str,
) -> Result<TimeDelta, TraceError> {
    let value = number(line, cell, expected)? * unit_s;
    if value < from || value.abs() > 3e9 {
        let error = TraceError::at(line, cell, expected);
        // No recording lasts a hundred years.
        let hint = if value > 3e9 { "; milliseconds are divided by 1000 first" } else { "" };
        return Err(TraceError { expected: format!("{expected}{hint}").into(), ..error });
    }
    Ok(TimeDelta::from_secs_f64(value))
}
