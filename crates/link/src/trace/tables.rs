//! The formats that are text tables: `mbps`, `time-mbps`, `mbps-hold`, with or without a header; and columns of other quantities.

use super::error::warn;
use super::held::Held;
use super::rows::{cells, is_tabbed, lines, seconds, text};
use super::units::Units;
use super::{Column, Measure, TraceError, TraceOptions, TraceWarning, held};
use alloc::format;
use alloc::vec::Vec;
use paceline_units::TimeDelta;

const NOT_ADVANCING: &str = "a time that does not advance; the row was left out";
const LONG_GAP: &str = "a gap of more than three usual intervals; the rate before it holds";
const RARE: &str = "rows are 100 s apart or more, half of them at least: times are read as seconds";
const LONG: &str = "holds are 100 s or longer, half of them at least: they are read as seconds";
const BLANK: &str = "a blank line between rows; it was passed over";
const NO_HOLD: &str = "a hold of 0 s; the row was left out";
const OTHER_UNITS: &str = "the header names other units than Mbit/s and seconds; numbers are read in those";
const OTHER_UNITS_OF_DELAYS: &str =
    "the header names other units than ms and seconds; numbers are read in those";
const PERCENT: &str = "the header names other units than ratios and seconds; numbers are read in those";

/// Rates are recorded more often: such rows are in another unit.
const SUSPICIOUS: TimeDelta = TimeDelta::from_secs(100);

/// How a column is read: which, of what quantity, and whether its numbers are taken whatever the header calls them.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) options: &'a TraceOptions,
    pub(super) measure: Measure,
    pub(super) scaled: bool,
}

/// A row's cells of interest.
struct Row<'a> {
    line: usize,
    value: &'a str,
    /// Time or hold; empty in `mbps`.
    time: &'a str,
    measure: Measure,
    units: Units,
}

impl Row<'_> {
    /// The value, if the row has one.
    fn value(&self) -> Result<Option<u64>, TraceError> {
        let Row { line, value, measure, units, .. } = self;
        if value.is_empty() { Ok(None) } else { measure.read(*line, value, units.value).map(Some) }
    }
}

/// Where a format has its cells if nothing else is said.
struct Layout {
    value: usize,
    time: Option<usize>,
    expected: &'static str,
}

/// One value per line.
pub(super) fn mbps(bytes: &[u8], reading: Reading<'_>) -> Result<Held, TraceError> {
    let interval = match reading.options.interval {
        Some(interval) if interval > TimeDelta::ZERO => interval,
        Some(interval) => return Err(TraceError::whole(interval.as_secs_f64(), "an interval above 0")),
        None => {
            return Err(TraceError::whole("no interval", "an interval: format mbps has no times of its own"));
        }
    };
    let layout = Layout { value: 0, time: None, expected: "one number per line, or a column to read" };
    let mut rows = Vec::new();
    let mut warnings = read(bytes, reading, &layout, |row, _| {
        rows.push((interval, row.value()?, row.line));
        Ok(())
    })?;
    // Without times of their own, values move where a line is passed over.
    let is_blank = |(_, line): &(usize, &str)| line.trim().is_empty();
    let lines = text(bytes)?.trim_end().lines().enumerate();
    let blank = lines.skip_while(is_blank).filter(is_blank);
    blank.for_each(|(index, _)| warn(&mut warnings, index + 1, BLANK));
    held::filled(rows, warnings)
}

/// A value and how long it holds per line.
pub(super) fn mbps_hold(bytes: &[u8], reading: Reading<'_>) -> Result<Held, TraceError> {
    let layout = Layout { value: 0, time: Some(1), expected: "two numbers per line, Mbit/s and seconds" };
    let mut rows = Vec::new();
    let mut warnings = read(bytes, reading, &layout, |row, warnings| {
        let hold =
            seconds(row.line, row.time, 0.0, row.units.seconds, "a hold in seconds, a number from 0 to 3e9")?;
        if hold == TimeDelta::ZERO {
            warn(warnings, row.line, NO_HOLD);
        }
        rows.push((hold, row.value()?, row.line));
        Ok(())
    })?;
    let usual = usual(rows.iter().map(|(hold, _, _)| *hold).collect());
    if usual.is_some_and(|usual| usual >= SUSPICIOUS) {
        warn(&mut warnings, rows[0].2, LONG);
    }
    held::filled(rows, warnings)
}

/// A time and the value that holds from then on per line. The first time is the trace's zero. Rows keep their order; one
/// that does not advance is left out, because the time before it was written down by the same clock and came first.
pub(super) fn time_mbps(bytes: &[u8], reading: Reading<'_>) -> Result<Held, TraceError> {
    let expected = match reading.measure {
        Measure::Rate => "two numbers per line, seconds and Mbit/s",
        Measure::Delay | Measure::Ratio | Measure::Factor => {
            "two numbers per line, seconds and the value, or a column to read"
        }
    };
    let layout = Layout { value: 1, time: Some(0), expected };
    let mut points: Vec<held::Row> = Vec::new();
    let mut warnings = read(bytes, reading, &layout, |row, warnings| {
        let expected = "a time in seconds, a number within ± 3e9";
        let time = seconds(row.line, row.time, f64::NEG_INFINITY, row.units.seconds, expected)?;
        let value = row.value()?;
        if points.last().is_some_and(|&(last, _, _)| time <= last) {
            warn(warnings, row.line, NOT_ADVANCING);
        } else {
            points.push((time, value, row.line));
        }
        Ok(())
    })?;
    let usual = usual(points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect());
    if usual.is_some_and(|usual| usual >= SUSPICIOUS) {
        warn(&mut warnings, points[1].2, RARE);
    }
    let mut rows = Vec::with_capacity(points.len());
    for pair in points.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        if usual.is_some_and(|usual| gap > usual * 3) {
            warn(&mut warnings, pair[1].2, LONG_GAP);
        }
        rows.push((gap, pair[0].1, pair[0].2));
    }
    let Some(&(_, value, line)) = points.last() else {
        return Err(TraceError::whole("no rows", layout.expected));
    };
    match reading.options.interval.filter(|interval| *interval > TimeDelta::ZERO).or(usual) {
        Some(last) => rows.push((last, value, line)),
        None => {
            return Err(TraceError::at(line, "a single row", "two rows, or an interval for the last one"));
        }
    }
    held::filled(rows, warnings)
}

/// The median of steps in time: how long the last row holds, and what makes a gap long.
fn usual(mut steps: Vec<TimeDelta>) -> Option<TimeDelta> {
    let middle = steps.len().checked_sub(1)? / 2;
    Some(*steps.select_nth_unstable(middle).1)
}

/// Hands each row to `take`.
fn read(
    bytes: &[u8],
    Reading { options, measure, scaled }: Reading<'_>,
    layout: &Layout,
    mut take: impl FnMut(&Row<'_>, &mut Vec<TraceWarning>) -> Result<(), TraceError>,
) -> Result<Vec<TraceWarning>, TraceError> {
    let mut warnings = Vec::new();
    let mut rows = lines(text(bytes)?).peekable();
    let mut row_cells = Vec::new();
    let Some(&(first_line, first)) = rows.peek() else {
        return Err(TraceError::whole("an empty file", layout.expected));
    };
    let tabbed = is_tabbed(first);
    cells(first, tabbed, &mut row_cells);
    let value = place(options.column.as_ref(), layout.value, &row_cells, first_line)?;
    let time = match layout.time {
        Some(time) => Some(place(options.time_column.as_ref(), time, &row_cells, first_line)?),
        None => None,
    };
    let mut units = Units::OF_FORMATS;
    if is_header(&row_cells, value, time) {
        let heading = |index: usize| row_cells.get(index).copied().unwrap_or_default();
        let refused = if scaled {
            None
        } else {
            Units::refused(measure, heading(value)).map(|expected| (value, expected))
        };
        let refused = refused.or_else(|| Some((time?, Units::refused_time(heading(time?))?)));
        if let Some((column, expected)) = refused {
            return Err(TraceError::at(first_line, heading(column), expected));
        }
        units = Units::of(measure, if scaled { "" } else { heading(value) }, time.map(heading));
        if units != Units::OF_FORMATS {
            let said = match measure {
                Measure::Rate => OTHER_UNITS,
                Measure::Delay => OTHER_UNITS_OF_DELAYS,
                Measure::Ratio | Measure::Factor => PERCENT,
            };
            warn(&mut warnings, first_line, said);
        }
        rows.next();
    }
    let exact = options.column.is_none().then_some(1 + usize::from(time.is_some()));
    let is_other = |cells: &[&str]| exact.is_some_and(|exact| cells.len() != exact);
    let mut any = false;
    for (line, content) in rows {
        cells(content, tabbed, &mut row_cells);
        if tabbed && is_other(&row_cells) {
            cells(content, false, &mut row_cells);
        }
        if is_other(&row_cells) {
            return Err(TraceError::at(line, content.trim(), layout.expected));
        }
        let cell = |index: usize| row_cells.get(index).copied().ok_or((line, content.trim()));
        let missing = |(line, content)| TraceError::at(line, content, "as many columns as the header has");
        let row = Row {
            line,
            value: cell(value).map_err(missing)?,
            time: time.map_or(Ok(""), cell).map_err(missing)?,
            measure,
            units,
        };
        take(&row, &mut warnings)?;
        any = true;
    }
    if any { Ok(warnings) } else { Err(TraceError::at(first_line, "only a header", layout.expected)) }
}

/// Index of a column; a name is looked up in the first line.
fn place(column: Option<&Column>, default: usize, header: &[&str], line: usize) -> Result<usize, TraceError> {
    match column {
        None => Ok(default),
        Some(Column::Index(index)) => Ok(*index),
        Some(Column::Name(name)) => header.iter().position(|cell| cell == name).ok_or_else(|| {
            TraceError::at(
                line,
                format!("{} without {name}", header.join(",")),
                "a header that names the column",
            )
        }),
    }
}

/// A header is a first line in which no cell of interest looks like a number or is blank.
fn is_header(cells: &[&str], value: usize, time: Option<usize>) -> bool {
    let is_name =
        |index: usize| cells.get(index).is_some_and(|cell| !cell.is_empty() && cell.parse::<f64>().is_err());
    is_name(value) && time.is_none_or(is_name)
}
