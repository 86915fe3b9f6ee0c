//! The quantity that a column of a recording holds.

use super::TraceError;
use super::rows::number;

/// A recorded quantity. Its values are kept in millionths of the unit that files have: bit/s of Mbit/s, nanoseconds of ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// A rate in Mbit/s.
    Rate,
    /// A delay in milliseconds.
    Delay,
    /// A part of the packets: a ratio from 0 to 1.
    Ratio,
    /// A factor from 0 to 1000.
    Factor,
}

impl Measure {
    /// The cells that are expected, and their largest value in the unit of files.
    const fn expected(self) -> (&'static str, f64) {
        match self {
            Measure::Rate => ("a rate in Mbit/s, a number from 0 to 1e9", 1e9),
            Measure::Delay => ("a delay in ms, a number from 0 to 1e9", 1e9),
            Measure::Ratio => ("a ratio, a number from 0 to 1", 1.0),
            Measure::Factor => ("a factor, a number from 0 to 1000", 1000.0),
        }
    }

    /// Base units (bit/s, nanoseconds, or 1) of what people say (bit/s, seconds, or 1).
    pub(crate) const fn base(self) -> f64 {
        match self {
            Measure::Rate | Measure::Ratio | Measure::Factor => 1.0,
            Measure::Delay => 1e9,
        }
    }

    /// The value of so many millionths, in base units.
    pub(crate) fn of_millionths(self, millionths: u64) -> f64 {
        match self {
            Measure::Rate | Measure::Delay => millionths as f64,
            Measure::Ratio | Measure::Factor => millionths as f64 / 1e6,
        }
    }

    /// The millionths in a cell, whose unit is so many of the file's usual ones.
    pub(super) fn read(self, line: usize, cell: &str, unit: f64) -> Result<u64, TraceError> {
        let (expected, most) = self.expected();
        let value = number(line, cell, expected)? * unit;
        if !(0.0..=most).contains(&value) {
            return Err(TraceError::at(line, cell, expected));
        }
        Ok((value * 1e6 + 0.5) as u64)
    }
}
