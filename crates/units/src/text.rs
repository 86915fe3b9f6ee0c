//! Times, rates and sizes as people write them: a decimal number and a unit, exact in both directions.

use crate::{Bitrate, Bytes, TimeDelta};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The expected encoding of a file of text, where it is in UTF-16 as spreadsheets and PowerShell write it.
pub const NOT_UTF16: &str = "text in UTF-8: `iconv -f UTF-16 -t UTF-8` makes it of this";

/// Whether bytes are text in UTF-16: they begin with its mark, or every other one of the first is zero.
pub fn is_utf16(bytes: &[u8]) -> bool {
    match bytes {
        [0xff, 0xfe, _, ..] | [0xfe, 0xff, _, ..] => true,
        [one, 0, other, 0, ..] | [0, one, 0, other, ..] => *one != 0 && *other != 0,
        _ => false,
    }
}

/// A unit: its name and how many base units (nanoseconds, bit/s, bytes) it is, largest first.
type Unit = (&'static str, u64);

const TIME_UNITS: [Unit; 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
const RATE_UNITS: [Unit; 4] = [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)];
const SIZE_UNITS: [Unit; 3] = [("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

/// The longest time a scenario may speak of: 1e6 s.
pub const MAX_TIME: TimeDelta = TimeDelta::from_secs(1_000_000);
/// The highest rate a scenario may speak of: 1 Pbit/s.
pub const MAX_RATE: Bitrate = Bitrate::from_bps(1_000_000_000_000_000);
/// The largest size a scenario may speak of: 1 EB.
pub const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000_000_000);

/// The dimension of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// A span of time, in nanoseconds.
    Time,
    /// A rate, in bit/s.
    Rate,
    /// A size, in bytes.
    Size,
}

/// Why a text is no quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuantityError {
    /// Not a number and a unit of this dimension.
    Malformed,
    /// The number is below zero.
    Negative,
    /// More than a scenario may speak of.
    TooLarge,
    /// A fraction of a byte or of a nanosecond.
    Fraction,
}

/// Endings by which a unit of data says that it is one of rates.
pub const PER_SECOND: [&str; 4] = ["/sec", "/s", "ps", "PS"];

impl Dimension {
    fn units(self) -> &'static [Unit] {
        match self {
            Dimension::Time => &TIME_UNITS,
            Dimension::Rate => &RATE_UNITS,
            Dimension::Size => &SIZE_UNITS,
        }
    }

    /// The most that a text may say, in base units.
    pub fn max(self) -> u64 {
        match self {
            Dimension::Time => MAX_TIME.as_nanos() as u64,
            Dimension::Rate => MAX_RATE.as_bps(),
            Dimension::Size => MAX_SIZE.as_u64(),
        }
    }

    /// The expected text of this dimension.
    pub fn expected(self) -> &'static str {
        match self {
            Dimension::Time => "a time such as \"100ms\" (units: s ms us ns)",
            Dimension::Rate => "a rate such as \"20Mbps\" (units: bps kbps Mbps Gbps)",
            Dimension::Size => "a size such as \"1200B\" (units: B kB MB)",
        }
    }

    /// Reads `text`: a decimal number, perhaps with an exponent, perhaps spaces, a unit.
    ///
    /// # Errors
    /// If it is not that, negative, larger than allowed, or not whole in base units.
    pub fn parse(self, text: &str) -> Result<u64, QuantityError> {
        let (number, unit) = Dimension::split(text);
        let Some(decimal) = Decimal::parse(number) else {
            return Err(QuantityError::Malformed);
        };
        let Some(&(_, factor)) = self.units().iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::Malformed);
        };
        decimal.scaled(factor, self.max())
    }

    /// The number and the unit of a text.
    pub fn split(text: &str) -> (&str, &str) {
        let text = text.trim();
        let (number, unit) = text.split_at(number_length(text));
        (number.trim(), unit.trim())
    }

    /// The names of the units, the largest first.
    pub fn unit_names(self) -> impl Iterator<Item = &'static str> {
        self.units().iter().map(|(name, _)| *name)
    }

    /// The base units that a text in a unit of another name says: 40 Mbit/s for "5 MB/s", 300 s for "5min". `None` if its unit
    /// is not known, either.
    pub fn meant(self, text: &str) -> Option<Result<u64, QuantityError>> {
        let (number, unit) = Dimension::split(text);
        let Some(decimal) = Decimal::parse(number) else { return Some(Err(QuantityError::Malformed)) };
        match self {
            Dimension::Time => Some(decimal.scaled(seconds_of(unit)?, self.max())),
            Dimension::Rate => {
                let per_second = PER_SECOND.iter().find_map(|end| unit.strip_suffix(end));
                // `MBPS` in capitals means bits.
                let bits = bits_of(per_second.unwrap_or(unit), 1, !unit.ends_with("PS"))?;
                Some(decimal.scaled(bits, self.max()))
            }
            Dimension::Size => {
                let bits = decimal.scaled(bits_of(unit, 8, true)?, self.max().saturating_mul(8));
                let whole = |bits: u64| {
                    if bits.is_multiple_of(8) { Ok(bits / 8) } else { Err(QuantityError::Fraction) }
                };
                Some(bits.and_then(whole))
            }
        }
    }

    /// Writes `value` (base units) exactly, in the largest unit that leaves a number of 1 or more; sizes, in the
    /// largest that leaves a whole number of 10 or more ("1212B" and "3000B", but "15kB").
    pub fn format(self, value: u64) -> String {
        let fits = |factor: u64| {
            if self == Dimension::Size {
                value.is_multiple_of(factor) && (factor == 1 || value >= 10 * factor)
            } else {
                value >= factor
            }
        };
        let units = self.units();
        let &(unit, factor) =
            units.iter().find(|(_, factor)| fits(*factor)).unwrap_or(&units[units.len() - 1]);
        // Zero is written in a unit a reader expects.
        if value == 0 {
            return match self {
                Dimension::Time => "0s".into(),
                Dimension::Rate => "0bps".into(),
                Dimension::Size => "0B".into(),
            };
        }
        let (whole, rest) = (value / factor, value % factor);
        if rest == 0 {
            return format!("{whole}{unit}");
        }
        let digits = factor.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        format!("{whole}.{}{unit}", fraction.trim_end_matches('0'))
    }
}

/// The nanoseconds of a unit of time by another name.
fn seconds_of(unit: &str) -> Option<u64> {
    Some(match &*unit.to_lowercase() {
        "d" | "day" | "days" => 86_400_000_000_000,
        "h" | "hr" | "hour" | "hours" => 3_600_000_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ns" | "nsec" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        _ => return None,
    })
}

/// The bits of a unit of data: a prefix, and bits or bytes; a prefix alone counts units of `usual` bits. `B` is a byte if `capital`.
fn bits_of(unit: &str, usual: u64, capital: bool) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let named = [("bits", 1), ("bit", 1), ("bytes", 8), ("byte", 8)];
    let named = named.into_iter().find_map(|(name, bits)| Some((lower.strip_suffix(name)?, bits)));
    let (prefix, bits) = match (named, lower.strip_suffix('b')) {
        (Some(named), _) => named,
        (None, Some(prefix)) => (prefix, if capital && unit.ends_with('B') { 8 } else { 1 }),
        (None, None) if lower.is_empty() => return None,
        (None, None) => (&*lower, usual),
    };
    let (prefix, step): (_, u64) = match prefix.strip_suffix('i') {
        Some(prefix) if !prefix.is_empty() => (prefix, 1024),
        _ => (prefix, 1000),
    };
    let power = ["", "k", "m", "g", "t", "p", "e"].iter().position(|known| *known == prefix)?;
    Some(step.pow(power as u32) * bits)
}

/// How many bytes of `text` are a number: "1e6" of "1e6s", but "1" of "1EB", whose E is a part of the unit.
fn number_length(text: &str) -> usize {
    let end = |from: usize, is_part: fn(char) -> bool| {
        text[from..].find(|c| !is_part(c)).map_or(text.len(), |length| from + length)
    };
    let mantissa = end(0, |c| matches!(c, '0'..='9' | '.' | '+' | '-' | '_'));
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else { return mantissa };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let digits = text.len() - unsigned.len();
    if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        end(digits, |c| c.is_ascii_digit())
    } else {
        mantissa
    }
}

/// A decimal number without loss: `digits` times 10 to the power of minus `places`.
struct Decimal {
    negative: bool,
    digits: u128,
    places: i32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // An exponent further out is too large, or too fine, either way.
        let exponent = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= 1000)?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() && fraction.is_empty() || text.ends_with('.') {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let mut digits = 0u128;
        for c in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
            // More than 36 digits are no quantity anybody means.
            digits = digits.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
        }
        let places = fraction.chars().filter(|c| *c != '_').count() as i32 - exponent;
        Some(Decimal { negative, digits, places })
    }

    fn scaled(&self, factor: u64, max: u64) -> Result<u64, QuantityError> {
        if self.negative && self.digits > 0 {
            return Err(QuantityError::Negative);
        }
        if self.digits == 0 {
            return Ok(0);
        }
        let power = 10u128.checked_pow(self.places.unsigned_abs());
        let product = self.digits.checked_mul(u128::from(factor)).ok_or(QuantityError::TooLarge)?;
        let (product, unit) = if self.places < 0 {
            (power.and_then(|power| product.checked_mul(power)).ok_or(QuantityError::TooLarge)?, 1)
        } else {
            (product, power.ok_or(QuantityError::Fraction)?)
        };
        if product / unit > u128::from(max) {
            return Err(QuantityError::TooLarge);
        }
        if product % unit != 0 {
            return Err(QuantityError::Fraction);
        }
        Ok((product / unit) as u64)
    }
}

/// `span` as a scenario writes it, such as "47.74s"; negative spans as zero.
pub fn format_time(span: TimeDelta) -> String {
    Dimension::Time.format(span.as_nanos().max(0) as u64)
}

/// `rate` as a scenario writes it, such as "20Mbps".
pub fn format_rate(rate: Bitrate) -> String {
    Dimension::Rate.format(rate.as_bps())
}

/// `size` as a scenario writes it, such as "1200B".
pub fn format_size(size: Bytes) -> String {
    Dimension::Size.format(size.as_u64())
}

/// `"a"`, or `one of "a", "b"`.
pub fn one_of(names: &[&str]) -> String {
    let list = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if names.len() == 1 { list } else { format!("one of {list}") }
}

/// Ticks per second of a clock given by its step: "1/1024s", or a time that divides a second such as "1ms".
pub fn parse_ticks(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("1/") {
        return rest.strip_suffix('s')?.trim_end().parse().ok();
    }
    let nanos = Dimension::Time.parse(text).ok().filter(|nanos| *nanos > 0)?;
    let second = 1_000_000_000;
    (second % nanos == 0).then(|| u32::try_from(second / nanos).ok())?
}

#[cfg(test)]
mod tests;
