//! The JSON of the Ghent 4G logs: a list of flat objects. Read by hand: it is the only JSON a link ever sees.

use super::error::warn;
use super::held::{self, Held};
use super::rows::{seconds, text};
use super::{Measure, TraceError, TraceWarning};
use alloc::format;
use alloc::vec::Vec;
use paceline_units::TimeDelta;

const LIST: &str = "a list of {\"duration_ms\", \"bandwidth_kbps\", \"latency_ms\"}";
const NO_DURATION: &str = "a duration of 0 ms; the entry was left out";

/// The key of a measure in each object, and how many of its usual units the unit there is.
fn key(measure: Measure) -> Result<(&'static str, f64), TraceError> {
    match measure {
        Measure::Rate => Ok(("bandwidth_kbps", 1e-3)),
        Measure::Delay => Ok(("latency_ms", 1.0)),
        Measure::Ratio | Measure::Factor => {
            Err(TraceError::whole("a list of rates and latencies", "a table with a column of the values"))
        }
    }
}

/// Duration and value of each object.
pub(super) fn parse(bytes: &[u8], measure: Measure) -> Result<Held, TraceError> {
    let mut reader = Reader { rest: text(bytes)?, line: 1, measure, key: key(measure)? };
    reader.skip_space();
    if reader.rest.is_empty() {
        return Err(TraceError::whole("an empty file", LIST));
    }
    let (mut rows, mut warnings) = (Vec::new(), Vec::new());
    reader.expect('[')?;
    if reader.peek() == Some(']') {
        return Err(TraceError::at(reader.line, "an empty list", LIST));
    }
    loop {
        rows.push(reader.object(&mut warnings)?);
        if reader.peek() != Some(',') {
            break;
        }
        reader.expect(',')?;
    }
    reader.expect(']')?;
    match reader.peek() {
        None => held::filled(rows, warnings),
        Some(_) => Err(reader.unexpected("nothing behind the list")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    measure: Measure,
    key: (&'static str, f64),
}

impl<'a> Reader<'a> {
    /// Reads one object. A value of null is none.
    fn object(&mut self, warnings: &mut Vec<TraceWarning>) -> Result<held::Row, TraceError> {
        self.expect('{')?;
        let line = self.line;
        let ((name, unit), measure) = (self.key, self.measure);
        let (mut duration, mut found) = (None, None);
        loop {
            self.peek();
            let key = self.string()?;
            self.expect(':')?;
            self.peek();
            let (value_line, value) = (self.line, self.value()?);
            match key {
                "duration_ms" => duration = Some(milli_seconds(value_line, value)?),
                key if key != name => {}
                _ if value == "null" => found = Some(None),
                _ => found = Some(Some(measure.read(value_line, value, unit)?)),
            }
            if self.peek() != Some(',') {
                break;
            }
            self.expect(',')?;
        }
        self.expect('}')?;
        let (Some(duration), Some(value)) = (duration, found) else {
            let expected = format!("duration_ms and {name}").into();
            return Err(TraceError { expected, ..TraceError::at(line, "an object without them", "") });
        };
        if duration == TimeDelta::ZERO {
            warn(warnings, line, NO_DURATION);
        }
        Ok((duration, value, line))
    }

    /// A string's content, escapes as they stand: no key of interest has one.
    fn string(&mut self) -> Result<&'a str, TraceError> {
        let inside = self.rest.strip_prefix('"').ok_or_else(|| self.unexpected("a string in quotes"))?;
        let mut escaped = false;
        let end = inside.find(|letter: char| {
            let ends = !escaped && letter == '"';
            escaped = !escaped && letter == '\\';
            ends || letter == '\n'
        });
        let end = end
            .filter(|&end| inside[end..].starts_with('"'))
            .ok_or_else(|| self.unexpected("a closing quote"))?;
        self.rest = &inside[end + 1..];
        Ok(&inside[..end])
    }

    /// A number or a word as it stands, or a string's content.
    fn value(&mut self) -> Result<&'a str, TraceError> {
        if self.rest.starts_with('"') {
            return self.string();
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
        let end = self.rest.find(|letter| !is_plain(letter)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.unexpected("a number"));
        }
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(value)
    }

    fn skip_space(&mut self) {
        let trimmed = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - trimmed.len()];
        self.line += skipped.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = trimmed;
    }

    /// The next character that is no white space.
    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest.chars().next()
    }

    fn expect(&mut self, wanted: char) -> Result<(), TraceError> {
        if self.peek() != Some(wanted) {
            return Err(self.unexpected(LIST));
        }
        self.rest = &self.rest[wanted.len_utf8()..];
        Ok(())
    }

    fn unexpected(&self, expected: &'static str) -> TraceError {
        let found = self.rest.lines().next().filter(|line| !line.is_empty());
        TraceError::at(self.line, found.unwrap_or("the end of the file"), expected)
    }
}

fn milli_seconds(line: usize, value: &str) -> Result<TimeDelta, TraceError> {
    let thousandfold = seconds(line, value, 0.0, 1.0, "a duration in ms, a number from 0 to 3e9")?;
    Ok(thousandfold / 1000)
}
