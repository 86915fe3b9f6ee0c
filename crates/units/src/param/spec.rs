//! Declaration of a parameter: its kind, its range, its values, and the errors of one.

use crate::text::{self, Dimension};
use crate::{Bitrate, Bytes, TimeDelta};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The word for a time, rate or size without limit.
pub const UNLIMITED: &str = "inf";

/// The range of what has none.
pub const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// A parameter's value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A span of time.
    Time(TimeDelta),
    /// A rate in bit/s.
    Rate(Bitrate),
    /// The rate that a rate gains in a second.
    Ramp(Bitrate),
    /// A size in bytes.
    Size(Bytes),
    /// A number without unit.
    Ratio(f64),
    /// A whole number.
    Count(u64),
    /// On or off.
    Flag(bool),
    /// One of the names of [`Kind::Name`].
    Name(&'static str),
    /// Free text, such as a file's name.
    Text(String),
    /// Values of one kind, in order.
    List(Vec<Value>),
    /// Parameters by name.
    Table(Vec<(Cow<'static, str>, Value)>),
}

/// The kind of a parameter's values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A span of time, such as "100ms".
    Time,
    /// A rate, such as "20Mbps".
    Rate,
    /// A rate of change, written as the rate gained in a second, such as "200kbps".
    Ramp,
    /// A size, such as "1200B".
    Size,
    /// A number without unit.
    Ratio,
    /// A whole number.
    Count,
    /// true or false.
    Flag,
    /// One of these names.
    Name(&'static [&'static str]),
    /// A text or a whole number that the parameter's type reads: what it is in a word, and what is expected.
    Text(&'static str, &'static str),
    /// A list of values of this kind.
    List(&'static Kind),
    /// A list of one value of each kind; a range is the second one's.
    Pair(&'static Kind, &'static Kind),
    /// A value of the first kind, which is neither list nor table, or one of the second, which is.
    Or(&'static Kind, &'static Kind),
    /// A table with these parameters.
    Table(&'static [Spec]),
    /// One of these kinds, by name or as a table with its parameters, which its owner reads.
    Family(&'static [&'static str]),
    /// Anything that its owner reads: what it is in a word.
    Other(&'static str),
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// It may be left out: it has a default, or says what happens then.
    Optional,
    /// It must be given.
    Required,
    /// Exactly one of those that say so must be given.
    OneOf,
}

/// Declaration of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spec {
    /// Name of the parameter: the specification's, in lower case.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Whether it must be given.
    pub need: Need,
    /// The parameters beside it that must not be given with it.
    pub excludes: &'static [&'static str],
    /// The behaviour without it, where it has no value of its own by default; else empty.
    pub without: &'static str,
    /// The smallest and largest value, in base units (seconds, bit/s, bytes); of a list, of each of its values.
    pub range: (f64, f64),
    /// RFC section, paper equation, or FACTS section with a remark that no text was at hand.
    pub source: &'static str,
    /// Its effect, in a line.
    pub help: &'static str,
}

/// A parameter, or a configuration, that cannot be: what was found and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// The name of the parameter, with those of the tables around it where they are known: `queue.target`.
    pub name: String,
    /// The text found.
    pub found: String,
    /// The text expected.
    pub expected: Cow<'static, str>,
    /// The same said of the other one of two parameters that contradict each other.
    pub other: Option<Box<ParamError>>,
}

impl ParamError {
    /// The error of the parameter called `name`.
    pub fn new(name: &str, found: impl fmt::Display, expected: impl Into<Cow<'static, str>>) -> ParamError {
        ParamError { name: name.into(), found: found.to_string(), expected: expected.into(), other: None }
    }

    /// The same, in the table or the list called `table`.
    #[must_use]
    pub fn within(self, table: &str) -> ParamError {
        let dot = if self.name.is_empty() || self.name.starts_with('[') { "" } else { "." };
        let other = self.other.map(|other| Box::new(other.within(table)));
        ParamError { name: format!("{table}{dot}{}", self.name), other, ..self }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: found {}, expected {}", self.name, self.found, self.expected)
    }
}

impl core::error::Error for ParamError {}

impl Kind {
    /// The kind in a word, for lists: time, rate, size, ratio, count, flag, or the names there are.
    pub fn unit(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Kind::Time => "time",
            Kind::Rate => "rate",
            Kind::Ramp => "rate per second",
            Kind::Size => "size",
            Kind::Ratio => "ratio",
            Kind::Count => "count",
            Kind::Flag => "flag",
            Kind::Text(unit, _) | Kind::Other(unit) => unit,
            Kind::Name(names) | Kind::Family(names) => match names {
                [first, .., last] => {
                    let between: String =
                        names[1..names.len() - 1].iter().flat_map(|name| [", ", name]).collect();
                    return Cow::Owned(format!("{first}{between} or {last}"));
                }
                names => names.first().copied().unwrap_or_default(),
            },
            Kind::Pair(one, other) => return Cow::Owned(format!("[{}, {}]", one.unit(), other.unit())),
            Kind::Or(one, other) => return Cow::Owned(format!("{} or {}", one.unit(), other.unit())),
            Kind::List(of @ (Kind::Table(_) | Kind::Pair(..))) => {
                return Cow::Owned(format!("list of {}", of.unit()));
            }
            Kind::List(of) => return Cow::Owned(format!("list of {}s", of.unit())),
            Kind::Table(specs) => {
                let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
                return Cow::Owned(format!("{{ {} }}", names.join(", ")));
            }
        })
    }

    /// The dimension of a text of this kind, where it is a quantity.
    pub fn dimension(self) -> Option<Dimension> {
        match self {
            Kind::Time => Some(Dimension::Time),
            Kind::Rate | Kind::Ramp => Some(Dimension::Rate),
            Kind::Size => Some(Dimension::Size),
            _ => None,
        }
    }

    /// The value of so many base units (nanoseconds, bit/s, bytes) of a quantity, or of a whole number.
    pub fn of_base(self, base: u64) -> Value {
        match self {
            Kind::Time => Value::Time(TimeDelta::from_nanos(i64::try_from(base).unwrap_or(i64::MAX))),
            Kind::Rate => Value::Rate(Bitrate::from_bps(base)),
            Kind::Ramp => Value::Ramp(Bitrate::from_bps(base)),
            Kind::Size => Value::Size(Bytes::new(base)),
            _ => Value::Count(base),
        }
    }

    fn read(self, text: &str) -> Option<Value> {
        match self {
            Kind::Time | Kind::Rate | Kind::Ramp | Kind::Size if text == UNLIMITED => Value::unlimited(self),
            Kind::Time | Kind::Rate | Kind::Ramp | Kind::Size => {
                Some(self.of_base(self.dimension()?.parse(text).ok()?))
            }
            Kind::Ratio => text.parse().ok().map(Value::Ratio),
            Kind::Count => text.parse().ok().map(Value::Count),
            Kind::Flag => text.parse().ok().map(Value::Flag),
            Kind::Name(names) => names.iter().find(|name| **name == text).map(|name| Value::Name(name)),
            Kind::Text(..) => Some(Value::Text(text.into())),
            Kind::List(of) => {
                let inside = text.strip_prefix('[')?.strip_suffix(']')?.trim();
                let items = inside.split(',').filter(|_| !inside.is_empty());
                Some(Value::List(items.map(|item| of.read(item.trim())).collect::<Option<_>>()?))
            }
            Kind::Or(one, other) => one.read(text).or_else(|| other.read(text)),
            Kind::Pair(..) | Kind::Table(_) | Kind::Family(_) | Kind::Other(_) => None,
        }
    }

    /// A bound of a range for people; `None` beyond what anybody can say.
    fn bound(self, base: f64) -> Option<String> {
        match self {
            _ if base.is_infinite() => None,
            Kind::Time => (base < 1e6).then(|| text::format_time(TimeDelta::from_secs_f64(base))),
            Kind::Rate | Kind::Ramp => (base < 1e15).then(|| text::format_rate(Bitrate::from_bps_f64(base))),
            Kind::Size => (base < 1e18).then(|| text::format_size(Bytes::new(base as u64))),
            Kind::Ratio if self.is_smallest(base) => Some("above 0".into()),
            Kind::Ratio => Some(base.to_string()),
            Kind::Count => Some((base as u64).min(i64::MAX as u64).to_string()),
            Kind::List(of) | Kind::Pair(_, of) | Kind::Or(of, _) => of.bound(base),
            _ => None,
        }
    }

    /// Whether nothing but zero is below `base`, which is above zero.
    fn is_smallest(self, base: f64) -> bool {
        match self {
            Kind::Time => base == 1e-9,
            Kind::Rate | Kind::Ramp => base == 1.0,
            Kind::Ratio => base == f64::MIN_POSITIVE,
            _ => false,
        }
    }
}

/// A list of two values: its kinds, and an example.
fn pair(one: Kind, other: Kind) -> (String, String) {
    let of = |kind: Kind| Spec { kind, range: ANY, ..Spec::by_hand("", "", "", "") }.expected();
    let bare = |text: String| text.strip_prefix("a ").map(String::from).unwrap_or(text);
    let example = |kind, time| match kind {
        Kind::Time => time,
        Kind::Rate | Kind::Ramp => "\"20Mbps\"",
        Kind::Size => "\"1200B\"",
        _ => "1",
    };
    let kinds = format!("[{}, {}]", bare(of(one)), bare(of(other)));
    (kinds, format!("[{}, {}]", example(one, "\"0s\""), example(other, "\"10s\"")))
}

impl Value {
    /// As a bare number in base units: seconds, bit/s, bytes; `None` where it is none.
    pub fn number(&self) -> Option<f64> {
        Some(match self {
            Value::Time(span) => span.as_secs_f64(),
            Value::Rate(rate) | Value::Ramp(rate) => rate.as_bps_f64(),
            Value::Size(size) => size.as_f64(),
            Value::Ratio(ratio) => *ratio,
            Value::Count(count) => *count as f64,
            Value::Flag(_) | Value::Name(_) | Value::Text(_) | Value::List(_) | Value::Table(_) => {
                return None;
            }
        })
    }

    /// The value that [`UNLIMITED`] stands for, where a parameter of this kind can be without limit.
    pub fn unlimited(kind: Kind) -> Option<Value> {
        match kind {
            Kind::Time => Some(Value::Time(TimeDelta::MAX)),
            Kind::Rate => Some(Value::Rate(Bitrate::MAX)),
            Kind::Ramp => Some(Value::Ramp(Bitrate::MAX)),
            Kind::Size => Some(Value::Size(Bytes::MAX)),
            _ => None,
        }
    }

    fn is_of(&self, kind: Kind) -> bool {
        match (self, kind) {
            (Value::Time(_), Kind::Time)
            | (Value::Rate(_), Kind::Rate)
            | (Value::Ramp(_), Kind::Ramp)
            | (Value::Size(_), Kind::Size)
            | (Value::Ratio(_), Kind::Ratio)
            | (Value::Count(_), Kind::Count | Kind::Text(..))
            | (Value::Flag(_), Kind::Flag)
            | (Value::Text(_), Kind::Text(..))
            | (Value::Table(_), Kind::Table(_))
            | (_, Kind::Family(_) | Kind::Other(_)) => true,
            (Value::Name(name), Kind::Name(names)) => names.contains(name),
            (Value::List(values), Kind::List(of)) => values.iter().all(|value| value.is_of(*of)),
            (Value::List(values), Kind::Pair(one, other)) => {
                matches!(&**values, [a, b] if a.is_of(*one) && b.is_of(*other))
            }
            (value, Kind::Or(one, other)) => value.is_of(*one) || value.is_of(*other),
            _ => false,
        }
    }
}

/// A value for people, without quotes, such as `100ms`, `0.8` or `true`.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Time(TimeDelta::MAX)
            | Value::Rate(Bitrate::MAX)
            | Value::Ramp(Bitrate::MAX)
            | Value::Size(Bytes::MAX) => out.write_str(UNLIMITED),
            Value::Time(span) => out.write_str(&text::format_time(*span)),
            Value::Rate(rate) | Value::Ramp(rate) => out.write_str(&text::format_rate(*rate)),
            Value::Size(size) => out.write_str(&text::format_size(*size)),
            // The shortest text that reads back as the same number, with a point.
            Value::Ratio(ratio) => write!(out, "{ratio:?}"),
            Value::Count(count) => write!(out, "{count}"),
            Value::Flag(flag) => write!(out, "{flag}"),
            Value::Name(name) => out.write_str(name),
            Value::Text(text) => out.write_str(text),
            Value::List(values) => {
                let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                write!(out, "[{}]", values.join(", "))
            }
            Value::Table(values) => {
                let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(out, "{{ {} }}", values.join(", "))
            }
        }
    }
}

impl Spec {
    /// A parameter that a hand-written reader reads: of this name, what it takes, what happens without it, what it does.
    pub const fn by_hand(
        name: &'static str,
        unit: &'static str,
        without: &'static str,
        help: &'static str,
    ) -> Spec {
        let (kind, need) = (Kind::Other(unit), Need::Optional);
        Spec { name, kind, need, excludes: &[], without, range: ANY, source: "", help }
    }

    /// Its smallest and largest value for people; `None` where there is no bound.
    pub fn bounds(&self) -> (Option<String>, Option<String>) {
        (self.kind.bound(self.range.0), self.kind.bound(self.range.1))
    }

    /// The expected values, with their range.
    pub fn expected(&self) -> String {
        let what = match self.kind {
            Kind::Time => "a time",
            Kind::Rate => "a rate",
            Kind::Ramp => "a rate (gained per second)",
            Kind::Size => "a size",
            Kind::Ratio => "a number",
            Kind::Count => "a whole number",
            Kind::Flag => return "true or false".into(),
            Kind::Name(names) => return text::one_of(names),
            Kind::Text(_, expected) => return expected.into(),
            Kind::List(Kind::Pair(one, other)) => {
                let (pair, example) = pair(**one, **other);
                return format!("a list of {pair}, such as [{example}]");
            }
            Kind::List(of) => {
                return format!("a list: {} in each place", Spec { kind: *of, ..*self }.expected());
            }
            Kind::Pair(one, other) => {
                let (pair, example) = pair(*one, *other);
                return format!("{pair}, such as {example}");
            }
            Kind::Or(one, other) => {
                let of = |kind: Kind| Spec { kind, ..*self }.expected();
                return format!("{}, or {}", of(*one), of(*other));
            }
            Kind::Table(_) => return format!("a table {}", self.kind.unit()),
            Kind::Family(_) | Kind::Other(_) => return self.kind.unit().into_owned(),
        };
        match self.bounds() {
            (Some(_), None) if self.kind.is_smallest(self.range.0) => format!("{what} above 0"),
            (Some(above), Some(high)) if above == "above 0" => format!("{what} above 0, up to {high}"),
            (Some(low), Some(high)) => format!("{what} from {low} to {high}"),
            (Some(low), None) => format!("{what} of {low} or more"),
            (None, Some(high)) => format!("{what} up to {high}"),
            (None, None) => what.into(),
        }
    }

    /// The value that `text` writes, as [`Value`] shows it: `100ms`, `20Mbps`, `1200B`, `inf`, `0.8`, `10`, `true`, a name, or a
    /// list in brackets.
    ///
    /// # Errors
    /// Says what is expected, if it is none of the kind and in the range.
    pub fn read(&self, text: &str) -> Result<Value, ParamError> {
        let text = text.trim();
        let wrong = || ParamError::new(self.name, text, self.expected());
        let value = self.kind.read(text).ok_or_else(wrong)?;
        self.check(&value).map_err(|_| wrong())?;
        Ok(value)
    }

    /// Fails unless `value` is of the kind and in the range.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn check(&self, value: &Value) -> Result<(), ParamError> {
        if value.is_of(self.kind) && self.holds(value, self.kind) { Ok(()) } else { Err(self.wrong(value)) }
    }

    /// The error of this value.
    pub fn wrong(&self, value: &Value) -> ParamError {
        ParamError::new(self.name, value, self.expected())
    }

    fn holds(&self, value: &Value, kind: Kind) -> bool {
        match (value, kind) {
            (Value::List(values), Kind::List(of)) => values.iter().all(|value| self.holds(value, *of)),
            (Value::List(values), Kind::Pair(_, of)) => {
                values.last().is_none_or(|value| self.holds(value, *of))
            }
            (value, Kind::Or(one, other)) => self.holds(value, if value.is_of(*one) { *one } else { *other }),
            _ => value.number().is_none_or(|number| (self.range.0..=self.range.1).contains(&number)),
        }
    }
}
