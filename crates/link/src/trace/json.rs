//! JSON recordings: the Ghent 4G logs, AlphaRTC's traces and what `iperf3 --json` writes. Read by hand, with the line of what is wrong:
//! it is the only JSON a link ever sees.

use super::error::{ROUND_TRIPS, warn};
use super::held::{self, Held};
use super::rows::{seconds, text};
use super::tables::Reading;
use super::{Column, Measure, TraceError, TraceWarning};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use paceline_units::TimeDelta;

/// The lists of objects that are known, and where they stand.
const KNOWN: &str = "a list of { \"duration_ms\", \"bandwidth_kbps\", \"latency_ms\" }, AlphaRTC's \
                     { \"uplink\": { \"trace_pattern\": [...] } } or iperf3's { \"intervals\": [...] }";
const LIST: &str = "a list of {\"duration_ms\", \"bandwidth_kbps\", \"latency_ms\"}";
const NO_DURATION: &str = "a duration of 0; the entry was left out";
const OMITTED: &str = "an interval that iperf3 omits (-O); it was left out";
/// How deep a file may be that is passed over.
const DEPTH: u8 = 32;

/// The objects of a list: which keys say how long each lasts, and its value.
#[derive(Clone, Copy)]
struct Dialect {
    /// The key of the duration, and how many seconds its unit is.
    duration: (&'static str, f64),
    /// Possible keys of the value, and how many of the measure's usual units the unit there is.
    values: &'static [(&'static str, f64)],
    /// Whether a delay is a round trip.
    round_trips: bool,
    /// Whether objects without a value are passed over.
    sparse: bool,
}

impl Dialect {
    /// Of the Ghent logs.
    fn ghent(measure: Measure) -> Result<Dialect, TraceError> {
        let values: &[_] = match measure {
            Measure::Rate => &[("bandwidth_kbps", 1e-3)],
            Measure::Delay => &[("latency_ms", 1.0)],
            Measure::Ratio | Measure::Factor => {
                return Err(TraceError::whole(
                    "a list of rates and latencies",
                    "a table with a column of the values",
                ));
            }
        };
        Ok(Dialect { duration: ("duration_ms", 1e-3), values, round_trips: false, sparse: false })
    }

    /// Of AlphaRTC's traces: milliseconds, kbit/s, and a ratio.
    fn alphartc(measure: Measure) -> Result<Dialect, TraceError> {
        let values: &[_] = match measure {
            Measure::Rate => &[("capacity", 1e-3)],
            Measure::Delay => &[("rtt", 1.0), ("delay", 1.0)],
            Measure::Ratio => &[("loss", 1.0)],
            Measure::Factor => {
                return Err(TraceError::whole("a list of rates", "a table with a column of factors"));
            }
        };
        Ok(Dialect { duration: ("duration", 1e-3), values, round_trips: true, sparse: false })
    }

    /// Of the intervals of iperf3: sums over streams, or single streams, of which senders of TCP alone have a round trip, in us.
    fn iperf3(measure: Measure) -> Result<Dialect, TraceError> {
        let values: &[_] = match measure {
            Measure::Rate => &[("bits_per_second", 1e-6)],
            Measure::Ratio => &[("lost_percent", 0.01)],
            Measure::Delay => &[("rtt", 1e-3)],
            Measure::Factor => {
                return Err(TraceError::whole(
                    "intervals of iperf3",
                    "a rate, the losses of UDP, or the round trips of TCP: iperf3 has no others",
                ));
            }
        };
        let of_streams = measure == Measure::Delay;
        Ok(Dialect { duration: ("seconds", 1.0), values, round_trips: of_streams, sparse: of_streams })
    }
}

/// Duration and value of each object of a list of the Ghent logs alone.
pub(super) fn ghent(bytes: &[u8], measure: Measure) -> Result<Held, TraceError> {
    let mut reader = Reader::of(bytes, measure)?;
    reader.peek();
    if reader.rest.is_empty() {
        return Err(TraceError::whole("an empty file", LIST));
    }
    reader.ghent()
}

/// Duration and value of each object, of any recording that is known.
pub(super) fn parse(bytes: &[u8], reading: &Reading<'_>) -> Result<Held, TraceError> {
    let mut reader = Reader::of(bytes, reading.measure)?;
    let column = reading.options.column.as_ref();
    match (reader.peek(), column) {
        (None, _) => Err(TraceError::whole("an empty file", KNOWN)),
        (Some('['), None) => reader.ghent(),
        (Some('['), Some(_)) => {
            Err(TraceError::whole("a column", "nothing: objects in a list have keys of their own"))
        }
        (Some('{'), _) => reader.document(column),
        _ => Err(reader.unexpected(KNOWN)),
    }
}

/// The rows of one part of a file, by its name.
type Part<'a> = (&'a str, Vec<held::Row>);

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    measure: Measure,
    warnings: Vec<TraceWarning>,
}

impl<'a> Reader<'a> {
    fn of(bytes: &'a [u8], measure: Measure) -> Result<Reader<'a>, TraceError> {
        Ok(Reader { rest: text(bytes)?, line: 1, measure, warnings: Vec::new() })
    }

    /// A file that is a list of the Ghent logs.
    fn ghent(mut self) -> Result<Held, TraceError> {
        let dialect = Dialect::ghent(self.measure)?;
        let rows = self.list(dialect)?;
        if rows.is_empty() {
            return Err(TraceError::at(self.line, "an empty list", LIST));
        }
        self.end(rows)
    }

    fn end(mut self, rows: Vec<held::Row>) -> Result<Held, TraceError> {
        match self.peek() {
            None => held::filled(rows, self.warnings),
            Some(_) => Err(self.unexpected("nothing behind the end")),
        }
    }

    /// A file that is an object: the part called `column`, or else the first that has rows.
    fn document(mut self, column: Option<&Column>) -> Result<Held, TraceError> {
        let mut parts: Vec<Part<'a>> = Vec::new();
        self.entries(|reader, key| match key {
            "uplink" | "downlink" => {
                let rows = reader.direction()?;
                parts.push((key, rows));
                Ok(())
            }
            "intervals" => reader.intervals(&mut parts),
            _ => reader.skip(DEPTH),
        })?;
        parts.retain(|(_, rows)| !rows.is_empty());
        let chosen = match column {
            None => parts
                .iter()
                .position(|(name, _)| matches!(*name, "uplink" | "sum"))
                .or((!parts.is_empty()).then_some(0)),
            Some(Column::Name(name)) => parts.iter().position(|part| part.0 == name),
            Some(Column::Index(index)) => (*index < parts.len()).then_some(*index),
        };
        match chosen {
            Some(chosen) => self.end(parts.swap_remove(chosen).1),
            None if parts.is_empty() && self.measure == Measure::Delay => Err(TraceError::whole(
                "an object without delays",
                "round trips of iperf3's senders of TCP, or AlphaRTC's",
            )),
            None if parts.is_empty() => Err(TraceError::whole("an object without rows", KNOWN)),
            None => {
                let names: Vec<_> = parts.iter().map(|part| part.0).collect();
                let expected = format!("a column, one of {}", names.join(", ")).into();
                let found = column.map_or(String::new(), |column| match column {
                    Column::Name(name) => name.clone(),
                    Column::Index(index) => format!("{index}"),
                });
                Err(TraceError { expected, ..TraceError::whole(found, "") })
            }
        }
    }

    /// One direction of a trace of AlphaRTC.
    fn direction(&mut self) -> Result<Vec<held::Row>, TraceError> {
        let mut rows = Vec::new();
        self.entries(|reader, key| {
            if key == "trace_pattern" {
                rows = reader.list(Dialect::alphartc(reader.measure)?)?;
                return Ok(());
            }
            reader.skip(DEPTH)
        })?;
        Ok(rows)
    }

    /// The intervals of iperf3: of each direction the sums over its streams; a sum has no round trip, so of delays the first stream that has
    /// one counts.
    fn intervals(&mut self, parts: &mut Vec<Part<'a>>) -> Result<(), TraceError> {
        let dialect = Dialect::iperf3(self.measure)?;
        self.each(('[', ']'), |reader| {
            reader.entries(|reader, key| {
                let row = match key {
                    "streams" if dialect.sparse => reader.list(dialect)?.into_iter().next(),
                    _ if key.starts_with("sum") && !dialect.sparse => reader.object(dialect)?,
                    _ => return reader.skip(DEPTH),
                };
                let Some(row) = row else { return Ok(()) };
                match parts.iter_mut().find(|(name, _)| *name == key) {
                    Some((_, rows)) => rows.push(row),
                    None => parts.push((key, alloc::vec![row])),
                }
                Ok(())
            })
        })
    }

    /// The rows of a list of objects.
    fn list(&mut self, dialect: Dialect) -> Result<Vec<held::Row>, TraceError> {
        let mut rows = Vec::new();
        self.each(('[', ']'), |reader| {
            rows.extend(reader.object(dialect)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Reads one object. A value of null is none. No row if it is to be left out.
    fn object(&mut self, dialect: Dialect) -> Result<Option<held::Row>, TraceError> {
        self.peek();
        let (line, measure) = (self.line, self.measure);
        let (mut duration, mut found, mut is_omitted) = (None, None, false);
        self.entries(|reader, key| {
            if matches!(reader.rest.chars().next(), Some('[' | '{')) {
                return reader.skip(DEPTH);
            }
            let (line, value) = (reader.line, reader.value()?);
            let unit = dialect.values.iter().find(|(name, _)| *name == key).map(|(_, unit)| *unit);
            match unit {
                _ if key == dialect.duration.0 => duration = Some(reader.duration(line, value, dialect)?),
                Some(_) if value == "null" => found = Some(None),
                Some(unit) => found = Some(Some(measure.read(line, value, unit)?)),
                None => is_omitted |= key == "omitted" && value == "true",
            }
            Ok(())
        })?;
        if found.is_none() && dialect.sparse {
            return Ok(None);
        }
        let (Some(duration), Some(value)) = (duration, found) else {
            let expected = format!("{} and {}", dialect.duration.0, dialect.values[0].0).into();
            return Err(TraceError { expected, ..TraceError::at(line, "an object without them", "") });
        };
        if duration == TimeDelta::ZERO {
            warn(&mut self.warnings, line, NO_DURATION);
        }
        if dialect.round_trips && measure == Measure::Delay {
            warn(&mut self.warnings, line, ROUND_TRIPS);
        }
        if is_omitted {
            warn(&mut self.warnings, line, OMITTED);
        }
        Ok((!is_omitted).then_some((duration, value, line)))
    }

    fn duration(&self, line: usize, value: &str, dialect: Dialect) -> Result<TimeDelta, TraceError> {
        if dialect.duration.1 == 1.0 {
            return seconds(line, value, 0.0, 1.0, "a duration in s, a number from 0 to 3e9");
        }
        let thousandfold = seconds(line, value, 0.0, 1.0, "a duration in ms, a number from 0 to 3e9")?;
        Ok(thousandfold / 1000)
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

    /// Passes over a value of any kind; within others of it so many times at most.
    fn skip(&mut self, depth: u8) -> Result<(), TraceError> {
        let Some(inner) = depth.checked_sub(1) else {
            return Err(self.unexpected("lists and objects within each other a few times"));
        };
        match self.peek() {
            Some('[') => self.each(('[', ']'), |reader| reader.skip(inner)),
            Some('{') => self.entries(|reader, _| reader.skip(inner)),
            _ => self.value().map(drop),
        }
    }

    /// Each entry of an object, with its key.
    fn entries(
        &mut self,
        mut entry: impl FnMut(&mut Reader<'a>, &'a str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.each(('{', '}'), |reader| {
            reader.peek();
            let key = reader.string()?;
            reader.expect(':')?;
            reader.peek();
            entry(reader, key)
        })
    }

    /// The texts between two brackets, separated by commas.
    fn each(
        &mut self,
        (open, close): (char, char),
        mut one: impl FnMut(&mut Reader<'a>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.expect(open)?;
        if self.peek() == Some(close) {
            return self.expect(close);
        }
        loop {
            one(self)?;
            if self.peek() != Some(',') {
                break;
            }
            self.expect(',')?;
        }
        self.expect(close)
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
