//! The reader of Tmix's two formats (The ns Manual, chapter "Tmix: Internet Traffic Generation").
//!
//! | original | alternate | |
//! |---|---|---|
//! | `SEQ start exchanges id id` | `S start exchanges id id` | a sequential connection |
//! | `CONC start units units id id` | `C start units units id id` | a concurrent one, with the units of each side |
//! | `m`, `w`, `r`, `l` | the same | largest segments, windows, round trip, loss ratios |
//! | `> size`, `< size`, `t wait` | `I wait-sent wait-received size`, `A ...` | units of initiator and acceptor, waits |
//! | `c> size`, `c< size`, `t> wait`, `t< wait` | the same | |
//!
//! Times are microseconds, sizes bytes. Text after a `#` is a comment. The first line of a vector says which format it has
//! and how much comes: less, as in a file that was cut, and more are errors. A cut that no line betrays, because the file ends
//! between two connections or before the response of the last exchange, is a warning where the file says how many it has:
//! `# Number of Cvecs: N` for connections (as in the files of the University of North Carolina), `# Number of ADUs: N` for
//! data units.

use super::{ConnectionVector, ConnectionVectors, DataUnit, Side, Wait};
use crate::text::{TextError, quoted, text_of};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use paceline_units::{Bytes, TimeDelta};

/// The latest start and the longest wait, in microseconds: 1e6 s like every duration of a scenario.
const LONGEST: u64 = 1_000_000_000_000;
/// The longest round trip in microseconds.
const LONGEST_RTT: u64 = 1_000_000_000;
/// The largest data unit.
const LARGEST: u64 = 1_000_000_000_000;
/// The largest window and segment (RFC 7323: 1 GiB).
const LARGEST_WINDOW: u64 = 1 << 30;

const FIRST_LINE: &str =
    "\"SEQ start exchanges id id\", \"CONC start units units id id\", or the same with S and C";
const PROPERTY: &str =
    "one line \"w initiator acceptor\", one \"r rtt\", and at most one each of m and l, before the data";
const TIMES: &str = "whole microseconds from 0 to 1e12";
const SIZES: &str = "whole bytes from 1 to 1e12";

/// The text found and the one expected, in a line that the caller knows.
type Odd = (String, &'static str);

impl ConnectionVectors {
    /// Reads a file, of either format.
    ///
    /// # Errors
    /// The first line that is wrong, or that the file is cut.
    pub fn parse(bytes: &[u8]) -> Result<ConnectionVectors, TextError> {
        let text = text_of(bytes)?;
        let mut reader = Reader::default();
        let mut line = 0;
        for part in text.split_inclusive('\n') {
            line += 1;
            let wrong = |(found, expected)| TextError { line: Some(line), found, expected };
            let Some(whole) = part.strip_suffix('\n') else {
                let found = format!("the end of the file within {}", quoted(part));
                return Err(wrong((found, "the end of the line: the file is cut")));
            };
            let (data, comment) = whole.split_once('#').unwrap_or((whole, ""));
            reader.note(comment);
            reader.take(line, data.trim()).map_err(wrong)?;
        }
        let end = |(found, expected)| TextError { line: Some(line), found, expected };
        reader.close().map_err(end)?;
        if reader.vectors.is_empty() {
            return Err(TextError { line: None, found: "no connection".into(), expected: FIRST_LINE });
        }
        let mut vectors = ConnectionVectors::new(reader.vectors);
        let found = [vectors.len() as u64, vectors.data_units()];
        for (((_, what), said), found) in SAID.iter().zip(reader.said).zip(found) {
            if let Some(said) = said.filter(|said| *said != found) {
                vectors.warnings.push(format!("says that it has {said} {what}, and has {found}"));
            }
        }
        Ok(vectors)
    }
}

/// A vector that is being read.
struct Open {
    vector: ConnectionVector,
    /// The line that it begins in.
    line: usize,
    original: bool,
    /// Exchanges, or units of initiator and acceptor: as its first line says, and as were read.
    said: [u64; 2],
    counted: [u64; 2],
    windows: bool,
    rtt: bool,
    loss: bool,
    /// Waits of the original format that no unit has taken yet: of a sequential vector the first.
    waits: [Option<TimeDelta>; 2],
    /// Sides that have closed.
    closed: [bool; 2],
}

#[derive(Default)]
struct Reader {
    vectors: Vec<ConnectionVector>,
    units: usize,
    open: Option<Open>,
    /// How many connections and data units the file says that it has.
    said: [Option<u64>; 2],
}

/// Counts that a file may claim.
const SAID: [(&str, &str); 2] = [("Number of Cvecs:", "connections"), ("Number of ADUs:", "data units")];

impl Reader {
    /// Notes what a comment says that the file has.
    fn note(&mut self, comment: &str) {
        for ((label, _), said) in SAID.iter().zip(&mut self.said) {
            if let Some(count) = comment.trim().strip_prefix(label) {
                *said = count.trim().parse().ok();
            }
        }
    }

    fn take(&mut self, line: usize, data: &str) -> Result<(), Odd> {
        let mut fields = data.split_ascii_whitespace();
        let Some(word) = fields.next() else { return Ok(()) };
        let fields: Vec<&str> = fields.take(6).collect();
        let wrong = |expected| (quoted(data), expected);
        match (word, self.open.as_mut()) {
            ("SEQ" | "CONC" | "S" | "C", _) => {
                self.close()?;
                self.open = Some(begin(line, word, &fields).map_err(wrong)?);
                Ok(())
            }
            (_, None) => Err(wrong(FIRST_LINE)),
            ("m" | "w" | "r" | "l", Some(open)) => open.property(word, &fields).map_err(wrong),
            (_, Some(open)) => {
                self.units += 1;
                if self.units > ConnectionVectors::MOST_UNITS {
                    return Err(wrong("at most 10,000,000 lines of data"));
                }
                open.data(word, &fields).map_err(wrong)
            }
        }
    }

    /// The vector that was read last is over.
    fn close(&mut self) -> Result<(), Odd> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if self.vectors.len() >= ConnectionVectors::MOST {
            return Err(("one connection more".into(), "at most 1,000,000 connections"));
        }
        self.vectors.push(open.finish()?);
        Ok(())
    }
}

/// The first line of a vector.
fn begin(line: usize, word: &str, fields: &[&str]) -> Result<Open, &'static str> {
    let concurrent = word.starts_with('C');
    let numbers: Option<Vec<u64>> = fields.iter().map(|field| field.parse().ok()).collect();
    let numbers =
        numbers.filter(|numbers| numbers.len() == if concurrent { 5 } else { 4 }).ok_or(FIRST_LINE)?;
    if numbers[0] > LONGEST {
        return Err("a start of at most 1e12 microseconds");
    }
    let said = [numbers[1], if concurrent { numbers[2] } else { 0 }];
    if said == [0, 0] {
        return Err("at least one exchange");
    }
    let vector = ConnectionVector {
        start: TimeDelta::from_micros(numbers[0] as i64),
        id: numbers[numbers.len() - 1],
        concurrent,
        windows: [Bytes::ZERO; 2],
        mss: None,
        rtt: TimeDelta::ZERO,
        loss: [0.0; 2],
        units: Vec::new(),
    };
    Ok(Open {
        vector,
        line,
        original: word.len() > 1,
        said,
        counted: [0; 2],
        windows: false,
        rtt: false,
        loss: false,
        waits: [None; 2],
        closed: [false; 2],
    })
}

impl Open {
    /// A line `m`, `w`, `r` or `l`.
    fn property(&mut self, word: &str, fields: &[&str]) -> Result<(), &'static str> {
        if !self.vector.units.is_empty() {
            return Err(PROPERTY);
        }
        match word {
            "m" if self.vector.mss.is_none() => {
                let expected = "\"m initiator acceptor\": largest segments in bytes, from 1";
                self.vector.mss = Some(sizes(fields, 1).ok_or(expected)?);
            }
            "w" if !self.windows => {
                let expected = "\"w initiator acceptor\": windows in bytes, up to 1 GiB";
                self.vector.windows = sizes(fields, 0).ok_or(expected)?;
                self.windows = true;
            }
            "r" if !self.rtt => {
                let expected = "\"r rtt\": whole microseconds up to 1e9";
                self.vector.rtt = micros(fields, LONGEST_RTT).ok_or(expected)?;
                self.rtt = true;
            }
            "l" if !self.loss => {
                let ratio = |field: &&str| field.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
                let ratios: Option<Vec<f64>> = fields.iter().map(ratio).collect();
                self.vector.loss = ratios
                    .and_then(|ratios| ratios.try_into().ok())
                    .ok_or("\"l to-acceptor to-initiator\": ratios from 0 to 1")?;
                self.loss = true;
            }
            _ => return Err(PROPERTY),
        }
        Ok(())
    }

    /// A line with a unit or a wait.
    fn data(&mut self, word: &str, fields: &[&str]) -> Result<(), &'static str> {
        if !(self.windows && self.rtt) {
            return Err(PROPERTY);
        }
        match (self.original, self.vector.concurrent, word) {
            (true, false, ">") => self.sequential(Side::Initiator, fields),
            (true, false, "<") => self.sequential(Side::Acceptor, fields),
            (true, false, "t") => self.wait(self.vector.units.last().map(|unit| unit.side), 0, fields),
            (true, true, "c>") => self.of_own_clock(Side::Initiator, fields),
            (true, true, "c<") => self.of_own_clock(Side::Acceptor, fields),
            (true, true, "t>") => self.wait(Some(Side::Initiator), 0, fields),
            (true, true, "t<") => self.wait(Some(Side::Acceptor), 1, fields),
            (false, _, "I") => self.alternate(Side::Initiator, fields),
            (false, _, "A") => self.alternate(Side::Acceptor, fields),
            (true, false, _) => Err("\"> size\", \"< size\" or \"t wait\""),
            (true, true, _) => Err("\"c> size\", \"c< size\", \"t> wait\" or \"t< wait\""),
            (false, ..) => Err("\"I wait-sent wait-received size\" or \"A wait-sent wait-received size\""),
        }
    }

    /// `t`, `t>` and `t<`: a side waits. There is something to wait after, and one wait before each unit.
    fn wait(&mut self, side: Option<Side>, place: usize, fields: &[&str]) -> Result<(), &'static str> {
        let wait = micros(fields, LONGEST).ok_or(TIMES)?;
        if side.is_none() || self.waits[place].is_some() {
            return Err("a unit between two waits");
        }
        self.waits[place] = Some(wait);
        Ok(())
    }

    /// `>` and `<`: the wait since the unit before is that of the side that sends now.
    fn sequential(&mut self, side: Side, fields: &[&str]) -> Result<(), &'static str> {
        let before = self.vector.units.last().map(|unit| unit.side);
        let wait = match (before, self.waits[0].take()) {
            (None, _) => Wait::AfterSent(TimeDelta::ZERO),
            (Some(_), None) => return Err("a line \"t wait\" between two units"),
            (Some(before), Some(wait)) if before == side => Wait::AfterSent(wait),
            (Some(_), Some(wait)) => Wait::AfterReceived(wait),
        };
        let size = size(fields).ok_or(SIZES)?;
        self.push(DataUnit { side, wait, size })
    }

    /// `c>` and `c<`.
    fn of_own_clock(&mut self, side: Side, fields: &[&str]) -> Result<(), &'static str> {
        let is_first = self.counted[side.index()] == 0;
        let wait = self.waits[side.index()].take().or(is_first.then_some(TimeDelta::ZERO));
        let wait = Wait::AfterSent(wait.ok_or("a wait of this side between two of its units")?);
        let size = size(fields).ok_or(SIZES)?;
        self.push(DataUnit { side, wait, size })
    }

    /// `I` and `A`: one of both waits is 0. Where both are, the side that answers waits for the other's unit.
    fn alternate(&mut self, side: Side, fields: &[&str]) -> Result<(), &'static str> {
        const LINE: &str = "two waits in microseconds, of which one is 0, and a size in bytes up to 1e12";
        let numbers: Option<Vec<u64>> = fields.iter().map(|field| field.parse().ok()).collect();
        let &[sent, received, size] = numbers.as_deref().unwrap_or_default() else { return Err(LINE) };
        if (sent > 0 && received > 0) || sent.max(received) > LONGEST || size > LARGEST {
            return Err(LINE);
        }
        let before = self.vector.units.last().map(|unit| unit.side);
        let answers = before == Some(side.other()) && !self.vector.concurrent;
        if received > 0 && !answers {
            return Err(
                "a wait after receiving only where the line before is the other side's, in a sequential vector",
            );
        }
        let wait = match received > 0 || (sent == 0 && answers) {
            true => Wait::AfterReceived(TimeDelta::from_micros(received as i64)),
            false => Wait::AfterSent(TimeDelta::from_micros(sent as i64)),
        };
        self.push(DataUnit { side, wait, size: Bytes::new(size) })
    }

    fn push(&mut self, unit: DataUnit) -> Result<(), &'static str> {
        if self.closed[unit.side.index()] {
            return Err("nothing more of a side that has closed (size 0)");
        }
        self.closed[unit.side.index()] = unit.size == Bytes::ZERO;
        let before = self.vector.units.last().map(|unit| unit.side);
        if let Some(place) = counted_as(self.vector.concurrent, before, &unit) {
            self.counted[place] += 1;
            if self.counted[place] > self.said[place] {
                return Err("no more units than the connection's first line says");
            }
        }
        self.vector.units.push(unit);
        Ok(())
    }

    /// The vector, if all is there. A wait that no unit has taken is one before closing.
    fn finish(mut self) -> Result<ConnectionVector, Odd> {
        let counted = self.counted;
        if counted != self.said {
            let (found, said) = match self.vector.concurrent {
                true => (
                    format!("{} and {} units", counted[0], counted[1]),
                    format!("{} and {}", self.said[0], self.said[1]),
                ),
                false => (format!("{} exchanges", counted[0]), format!("{}", self.said[0])),
            };
            let found = format!("the end of the connection of line {} after {found} of {said}", self.line);
            return Err((found, "as many as the connection's first line says: the file is cut"));
        }
        let last = self.vector.units.last().map(|unit| unit.side);
        let sides =
            if self.vector.concurrent { [Some(Side::Initiator), Some(Side::Acceptor)] } else { [last, None] };
        for (side, wait) in sides.into_iter().zip(self.waits) {
            if let (Some(side), Some(wait)) = (side, wait) {
                self.vector.units.push(DataUnit { side, wait: Wait::AfterSent(wait), size: Bytes::ZERO });
            }
        }
        Ok(self.vector)
    }
}

/// Where the first line of a vector counts a unit that follows one of `before`: a concurrent vector counts the units of
/// initiator and acceptor, a sequential one exchanges. A request begins an exchange, and so does a response without one.
pub(super) fn counted_as(concurrent: bool, before: Option<Side>, unit: &DataUnit) -> Option<usize> {
    let begins = unit.side == Side::Initiator || before != Some(Side::Initiator);
    match (unit.size > Bytes::ZERO, concurrent) {
        (false, _) => None,
        (true, true) => Some(unit.side.index()),
        (true, false) => begins.then_some(0),
    }
}

fn only<'a>(fields: &[&'a str]) -> Option<&'a str> {
    if let [field] = fields { Some(field) } else { None }
}

fn micros(fields: &[&str], most: u64) -> Option<TimeDelta> {
    let micros: u64 = only(fields)?.parse().ok()?;
    (micros <= most).then(|| TimeDelta::from_micros(micros as i64))
}

fn size(fields: &[&str]) -> Option<Bytes> {
    let bytes: u64 = only(fields)?.parse().ok()?;
    (1..=LARGEST).contains(&bytes).then_some(Bytes::new(bytes))
}

fn sizes(fields: &[&str], least: u64) -> Option<[Bytes; 2]> {
    let &[initiator, acceptor] = fields else { return None };
    let size = |field: &str| field.parse().ok().filter(|bytes| (least..=LARGEST_WINDOW).contains(bytes));
    Some([Bytes::new(size(initiator)?), Bytes::new(size(acceptor)?)])
}
