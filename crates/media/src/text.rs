//! Files of text that a reader takes line by line, and what is said of one that is wrong.

use alloc::format;
use alloc::string::String;
use core::fmt;
use paceline_units::text::{NOT_UTF16, is_utf16};

/// Why a file does not hold what it is read for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The line, counted from 1; none where the file as a whole is wrong.
    pub line: Option<usize>,
    /// The text found, shortened.
    pub found: String,
    /// The text expected.
    pub expected: &'static str,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for TextError {}

/// The bytes as text, without a byte-order mark; complains about the first line that is none.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, TextError> {
    if is_utf16(bytes) {
        return Err(TextError { line: None, found: "text in UTF-16".into(), expected: NOT_UTF16 });
    }
    let text = match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_text(bytes, error.valid_up_to())),
    };
    let is_binary = |c: char| c.is_control() && !c.is_whitespace();
    if let Some(position) = text.find(is_binary) {
        return Err(not_text(bytes, position));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn not_text(bytes: &[u8], position: usize) -> TextError {
    let (before, after) = bytes.split_at(position.min(bytes.len()));
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let byte = after.first().copied().unwrap_or_default();
    TextError { line: Some(line), found: format!("byte 0x{byte:02x}"), expected: "text" }
}

/// A text found in a file, shortened, between quotes.
pub(crate) fn quoted(found: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = found.chars().take(LONGEST).collect();
    if shown.len() < found.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}
