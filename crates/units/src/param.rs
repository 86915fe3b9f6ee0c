//! How a parameter is declared: once, in a line, in the file where it is used.
//!
//! [`params!`](crate::params) declares a struct of parameters, [`names!`](crate::names) an enum that is written as a name, and
//! [`kinds!`](crate::kinds) a family of which a scenario chooses one by `kind`. Reading, checks, writing back, lists and
//! the reference page follow from [`ParamSet`].

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
    Table(Vec<(&'static str, Value)>),
}

/// What a parameter takes.
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
    /// A table with these parameters.
    Table(&'static [Spec]),
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

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spec {
    /// Name of the parameter: the specification's, in lower case.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it must be given.
    pub need: Need,
    /// What happens without it, where it has no value of its own by default; else empty.
    pub without: &'static str,
    /// The smallest and largest value, in base units (seconds, bit/s, bytes); of a list, of each of its values.
    pub range: (f64, f64),
    /// RFC section, paper equation, or FACTS section with a remark that no text was at hand.
    pub source: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
}

/// A parameter, or a configuration, that cannot be: what was found and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// The name of the parameter, with those of the tables around it where they are known: `queue.target`.
    pub name: String,
    /// What was found.
    pub found: String,
    /// What would be right.
    pub expected: Cow<'static, str>,
    /// The same said of the other one of two parameters that contradict each other.
    pub other: Option<Box<ParamError>>,
}

impl ParamError {
    /// The error of the parameter called `name`.
    pub fn new(name: &str, found: impl fmt::Display, expected: impl Into<Cow<'static, str>>) -> ParamError {
        ParamError { name: name.into(), found: found.to_string(), expected: expected.into(), other: None }
    }

    /// The same, in the table called `table`.
    #[must_use]
    pub fn within(self, table: &str) -> ParamError {
        ParamError { name: format!("{table}.{}", self.name), ..self }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: found {}, expected {}", self.name, self.found, self.expected)
    }
}

impl core::error::Error for ParamError {}

impl Kind {
    /// What it is in a word, for lists: time, rate, size, ratio, count, flag, or the names there are.
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
            Kind::Name(names) => match names {
                [first, .., last] => {
                    let between: String =
                        names[1..names.len() - 1].iter().flat_map(|name| [", ", name]).collect();
                    return Cow::Owned(format!("{first}{between} or {last}"));
                }
                names => names.first().copied().unwrap_or_default(),
            },
            Kind::List(of) => return Cow::Owned(format!("list of {}s", of.unit())),
            Kind::Table(specs) => {
                let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
                return Cow::Owned(format!("{{ {} }}", names.join(", ")));
            }
        })
    }

    /// What a text of this kind measures, where it is a quantity.
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

    /// A bound of a range for people; `None` beyond what anybody can say.
    fn bound(self, base: f64) -> Option<String> {
        match self {
            _ if base.is_infinite() => None,
            Kind::Time => (base < 1e6).then(|| text::format_time(TimeDelta::from_secs_f64(base))),
            Kind::Rate | Kind::Ramp => (base < 1e15).then(|| text::format_rate(Bitrate::from_bps_f64(base))),
            Kind::Size => (base < 1e18).then(|| text::format_size(Bytes::new(base as u64))),
            Kind::Ratio => Some(base.to_string()),
            Kind::Count => Some((base as u64).min(i64::MAX as u64).to_string()),
            Kind::List(of) => of.bound(base),
            _ => None,
        }
    }

    /// Whether nothing but zero is below `base`, which is above zero.
    fn is_smallest(self, base: f64) -> bool {
        match self {
            Kind::Time => base == 1e-9,
            Kind::Rate | Kind::Ramp => base == 1.0,
            _ => false,
        }
    }
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
            | (_, Kind::Other(_)) => true,
            (Value::Name(name), Kind::Name(names)) => names.contains(name),
            (Value::List(values), Kind::List(of)) => values.iter().all(|value| value.is_of(*of)),
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
        let range = (f64::NEG_INFINITY, f64::INFINITY);
        Spec { name, kind: Kind::Other(unit), need: Need::Optional, without, range, source: "", help }
    }

    /// Its smallest and largest value for people; `None` where there is no bound.
    pub fn bounds(&self) -> (Option<String>, Option<String>) {
        (self.kind.bound(self.range.0), self.kind.bound(self.range.1))
    }

    /// What is expected of it, with its range.
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
            Kind::List(of) => {
                return format!("a list: {} in each place", Spec { kind: *of, ..*self }.expected());
            }
            Kind::Table(_) | Kind::Other(_) => return self.kind.unit().into_owned(),
        };
        match self.bounds() {
            (Some(_), None) if self.kind.is_smallest(self.range.0) => format!("{what} above 0"),
            (Some(low), Some(high)) => format!("{what} from {low} to {high}"),
            (Some(low), None) => format!("{what} of {low} or more"),
            (None, Some(high)) => format!("{what} up to {high}"),
            (None, None) => what.into(),
        }
    }

    /// Fails unless `value` is of the kind and in the range.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn check(&self, value: &Value) -> Result<(), ParamError> {
        if value.is_of(self.kind) && self.holds(value) { Ok(()) } else { Err(self.wrong(value)) }
    }

    /// The error of this value.
    pub fn wrong(&self, value: &Value) -> ParamError {
        ParamError::new(self.name, value, self.expected())
    }

    fn holds(&self, value: &Value) -> bool {
        match (value, self.kind) {
            (Value::List(values), Kind::List(_)) => values.iter().all(|value| self.holds(value)),
            _ => value.number().is_none_or(|number| (self.range.0..=self.range.1).contains(&number)),
        }
    }
}

/// A set of named parameters.
pub trait ParamSet: Clone {
    /// All there are.
    fn specs(&self) -> &'static [Spec];

    /// The value of the parameter called `name`; `None` if it has none or there is no such parameter.
    fn value(&self, name: &str) -> Option<Value>;

    /// Sets the parameter called `name`.
    ///
    /// # Errors
    /// If there is none, or the value is of another kind or out of range; then nothing changed.
    fn set(&mut self, name: &str, value: Value) -> Result<(), ParamError>;

    /// Fails if the parameters contradict each other.
    ///
    /// # Errors
    /// Says which one, and what would be right.
    fn contradiction(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// Fails if a parameter is out of range, or parameters contradict each other.
    ///
    /// # Errors
    /// Says which one, and what would be right.
    fn check(&self) -> Result<(), ParamError> {
        for spec in self.specs() {
            if let Some(value) = self.value(spec.name) {
                spec.check(&value)?;
            }
        }
        self.contradiction()
    }
}

/// The error of a name that is none of those of `specs`.
pub fn unknown(name: &str, specs: &[Spec]) -> ParamError {
    let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    ParamError::new(name, "an unknown parameter", format!("one of {}", known.join(", ")))
}

/// A named set of values.
#[derive(Clone, Copy, Debug)]
pub struct Profile<P: 'static> {
    /// What a scenario calls it.
    pub name: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// Makes the profile's values.
    pub params: fn() -> P,
}

/// Parameters of which there are named sets.
pub trait Profiles: ParamSet + 'static {
    /// The named sets, the usual one first.
    const PROFILES: &'static [Profile<Self>];

    /// The set of this name, if there is one.
    fn profile(name: &str) -> Option<Self> {
        Self::PROFILES.iter().find(|profile| profile.name == name).map(|profile| (profile.params)())
    }
}

/// A family of which a scenario chooses one by `kind`.
pub trait Kinds: ParamSet {
    /// The names of what there is, the usual one first.
    const KINDS: &'static [&'static str];

    /// The one called `kind` with its usual parameters, if there is one.
    fn of(kind: &str) -> Option<Self>;

    /// Name of the kind, as scenarios write it.
    fn kind(&self) -> &'static str;

    /// What it is, in a line.
    fn help(&self) -> &'static str;
}

/// A type that the value of a parameter can have.
pub trait Parameter: Sized {
    /// What is written for it.
    const KIND: Kind;

    /// What is written for this value; nothing where it is left out.
    fn to_value(&self) -> Option<Value>;

    /// The value that is written so, if that can be.
    fn from_value(value: Value) -> Option<Self>;

    /// Takes what is written so; false if that cannot be.
    fn assign(&mut self, value: Value) -> bool {
        match Self::from_value(value) {
            Some(value) => {
                *self = value;
                true
            }
            None => false,
        }
    }
}

/// The rate that a rate gains in a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ramp(pub Bitrate);

macro_rules! parameter {
    ($($type:ty: $kind:ident($value:ident => $write:expr, $read:expr);)*) => {
        $(impl Parameter for $type {
            const KIND: Kind = Kind::$kind;

            fn to_value(&self) -> Option<Value> {
                let $value = *self;
                Some(Value::$kind($write))
            }

            fn from_value(value: Value) -> Option<$type> {
                if let Value::$kind($value) = value { $read } else { None }
            }
        })*
    };
}

parameter! {
    TimeDelta: Time(span => span, Some(span));
    Bitrate: Rate(rate => rate, Some(rate));
    Ramp: Ramp(ramp => ramp.0, Some(Ramp(ramp)));
    Bytes: Size(size => size, Some(size));
    f64: Ratio(ratio => ratio, Some(ratio));
    u64: Count(count => count, Some(count));
    u32: Count(count => count.into(), u32::try_from(count).ok());
    u16: Count(count => count.into(), u16::try_from(count).ok());
    bool: Flag(flag => flag, Some(flag));
}

impl<P: Parameter> Parameter for Option<P> {
    const KIND: Kind = P::KIND;

    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(P::to_value)
    }

    fn from_value(value: Value) -> Option<Option<P>> {
        P::from_value(value).map(Some)
    }
}

/// An empty list is left out.
impl<P: Parameter> Parameter for Vec<P> {
    const KIND: Kind = Kind::List(&P::KIND);

    fn to_value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::List(self.iter().filter_map(P::to_value).collect()))
    }

    fn from_value(value: Value) -> Option<Vec<P>> {
        if let Value::List(values) = value { values.into_iter().map(P::from_value).collect() } else { None }
    }
}

/// The name of a field as a parameter: another one where Rust keeps the word for itself.
#[doc(hidden)]
#[macro_export]
macro_rules! param_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// What is given, or else the default behind it.
#[doc(hidden)]
#[macro_export]
macro_rules! param_or {
    ([] $default:expr) => {
        $default
    };
    ([$given:expr] $default:expr) => {
        $given
    };
}

/// Declares a struct of parameters. A line says name, type, default, perhaps that it is needed, perhaps what happens without
/// it, perhaps a range in base units, source and help:
///
/// ```
/// use paceline_units::param::{ParamSet, Value};
/// use paceline_units::TimeDelta;
///
/// paceline_units::params! {
///     /// What a step marks by.
///     pub struct StepParams {
///         at: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "RFC 9332 4.2", "Wait above which a packet is marked";
///         part: Option<f64> = None, else "all", in 0.0, 1.0, "ours", "Part of the packets that are looked at";
///     }
/// }
///
/// let mut params = StepParams::default();
/// assert_eq!(params.set("at", Value::Time(TimeDelta::from_millis(1))), Ok(()));
/// assert!(params.set("part", Value::Ratio(2.0)).is_err());
/// ```
///
/// What is no parameter stands first, in braces of its own. Behind the struct, `ordered LOW <= HIGH, ...;` says which
/// parameters must not cross, and `check PATH;` names a function that finds other contradictions.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $struct:ident {
            $({ $( $(#[$plain_meta:meta])* $plain:ident: $plain_type:ty = $plain_default:expr, )* })?
            $(
                $field:ident $(($name:literal))?: $type:ty = $default:expr,
                $(as $need:ident,)? $(else $without:literal,)? $(in $low:expr, $high:expr,)?
                $source:expr, $help:literal;
            )*
        }
        $(ordered $($low_name:ident <= $high_name:ident),+;)?
        $(check $check:path;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $struct {
            $($( $(#[$plain_meta])* pub $plain: $plain_type, )*)?
            $( #[doc = concat!($help, ".")] pub $field: $type, )*
        }

        impl Default for $struct {
            fn default() -> Self {
                $struct { $($( $plain: $plain_default, )*)? $( $field: $default, )* }
            }
        }

        impl $struct {
            /// The parameters that there are.
            pub const SPECS: &'static [$crate::param::Spec] = &[$( $crate::param::Spec {
                name: $crate::param_name!($field $($name)?),
                kind: <$type as $crate::param::Parameter>::KIND,
                need: $crate::param_or!([$($crate::param::Need::$need)?] $crate::param::Need::Optional),
                without: $crate::param_or!([$($without)?] ""),
                range: $crate::param_or!([$(($low, $high))?] (f64::NEG_INFINITY, f64::INFINITY)),
                source: $source,
                help: $help,
            }, )*];
        }

        impl $crate::param::ParamSet for $struct {
            fn specs(&self) -> &'static [$crate::param::Spec] {
                Self::SPECS
            }

            fn value(&self, name: &str) -> Option<$crate::param::Value> {
                match name {
                    $( $crate::param_name!($field $($name)?) => $crate::param::Parameter::to_value(&self.$field), )*
                    _ => None,
                }
            }

            fn set(
                &mut self,
                name: &str,
                value: $crate::param::Value,
            ) -> Result<(), $crate::param::ParamError> {
                let Some(spec) = Self::SPECS.iter().find(|spec| spec.name == name) else {
                    return Err($crate::param::unknown(name, Self::SPECS));
                };
                spec.check(&value)?;
                let wrong = spec.wrong(&value);
                let taken = match name {
                    $( $crate::param_name!($field $($name)?) => {
                        $crate::param::Parameter::assign(&mut self.$field, value)
                    } )*
                    _ => false,
                };
                if taken { Ok(()) } else { Err(wrong) }
            }

            fn contradiction(&self) -> Result<(), $crate::param::ParamError> {
                $($( $crate::param::ordered(self, stringify!($low_name), stringify!($high_name))?; )+)?
                $( $check(self)?; )?
                Ok(())
            }
        }

        impl $crate::param::Parameter for $struct {
            const KIND: $crate::param::Kind = $crate::param::Kind::Table(Self::SPECS);

            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::table(self))
            }

            fn from_value(value: $crate::param::Value) -> Option<Self> {
                let mut params = Self::default();
                params.assign(value).then_some(params)
            }

            fn assign(&mut self, value: $crate::param::Value) -> bool {
                $crate::param::assign(self, value)
            }
        }
    };
}

/// Declares an enum that is written as a name: `Variant = "name"`.
#[macro_export]
macro_rules! names {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident { $( $(#[$variant_meta:meta])* $variant:ident = $name:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $enum { $( $(#[$variant_meta])* $variant, )* }

        impl $enum {
            /// The names of all there are.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Name of the value, as scenarios write it.
            pub const fn name(self) -> &'static str {
                match self { $( $enum::$variant => $name, )* }
            }

            /// The one of this name, if there is one.
            pub fn named(name: &str) -> Option<$enum> {
                match name { $( $name => Some($enum::$variant), )* _ => None }
            }
        }

        impl $crate::param::Parameter for $enum {
            const KIND: $crate::param::Kind = $crate::param::Kind::Name(Self::NAMES);

            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::Value::Name(self.name()))
            }

            fn from_value(value: $crate::param::Value) -> Option<$enum> {
                if let $crate::param::Value::Name(name) = value { $enum::named(name) } else { None }
            }
        }
    };
}

/// Declares a family of which a scenario chooses one by `kind`: a line is documentation, which is the help, and
/// `Variant("kind", parameters)`.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident {
            $( $(#[doc = $help:literal])+ $(#[cfg($cfg:meta)])? $variant:ident($kind:literal, $params:ty), )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one of each link or flow, never moved in the packet path")]
        $vis enum $enum { $( $(#[doc = $help])+ $(#[cfg($cfg)])? $variant($params), )* }

        impl $enum {
            /// The names of what there is, the usual one first.
            pub const KINDS: &'static [&'static str] = &[$( $(#[cfg($cfg)])? $kind, )*];

            /// The one called `kind` with its usual parameters, if there is one.
            pub fn of(kind: &str) -> Option<$enum> {
                match kind {
                    $( $(#[cfg($cfg)])? $kind => Some($enum::$variant(Default::default())), )*
                    _ => None,
                }
            }

            /// Name of the kind, as scenarios write it.
            pub fn kind(&self) -> &'static str {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(_) => $kind, )* }
            }

            /// What it is, in a line.
            pub fn help(&self) -> &'static str {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(_) => concat!($($help),+).trim_ascii(), )* }
            }
        }

        impl $crate::param::Kinds for $enum {
            const KINDS: &'static [&'static str] = Self::KINDS;

            fn of(kind: &str) -> Option<$enum> {
                Self::of(kind)
            }

            fn kind(&self) -> &'static str {
                self.kind()
            }

            fn help(&self) -> &'static str {
                self.help()
            }
        }

        impl $crate::param::ParamSet for $enum {
            fn specs(&self) -> &'static [$crate::param::Spec] {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(params) => params.specs(), )* }
            }

            fn value(&self, name: &str) -> Option<$crate::param::Value> {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(params) => params.value(name), )* }
            }

            fn set(
                &mut self,
                name: &str,
                value: $crate::param::Value,
            ) -> Result<(), $crate::param::ParamError> {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(params) => params.set(name, value), )* }
            }

            fn contradiction(&self) -> Result<(), $crate::param::ParamError> {
                match self { $( $(#[cfg($cfg)])? $enum::$variant(params) => params.contradiction(), )* }
            }
        }
    };
}

/// Fails if the parameter called `low` is above the one called `high`.
#[doc(hidden)]
pub fn ordered(params: &impl ParamSet, low: &str, high: &str) -> Result<(), ParamError> {
    match (params.value(low), params.value(high)) {
        (Some(least), Some(most)) if least.number() > most.number() => {
            let other = ParamError::new(low, &least, format!("at most {high}, which is {most}"));
            let error = ParamError::new(high, most, format!("at least {low}, which is {least}"));
            Err(ParamError { other: Some(Box::new(other)), ..error })
        }
        _ => Ok(()),
    }
}

/// All values of a set that are not left out.
#[doc(hidden)]
pub fn table(params: &impl ParamSet) -> Value {
    let values = params.specs().iter().filter_map(|spec| Some((spec.name, params.value(spec.name)?)));
    Value::Table(values.collect())
}

/// Sets what a table says; false if a set cannot take it.
#[doc(hidden)]
pub fn assign(params: &mut impl ParamSet, value: Value) -> bool {
    let Value::Table(values) = value else { return false };
    values.into_iter().all(|(name, value)| params.set(name, value).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    crate::names! {
        /// A shape.
        enum Shape {
            /// Even.
            Flat = "flat",
            /// Rising.
            Steep = "steep",
        }
    }

    crate::params! {
        /// Of one side.
        struct Side {
            shape: Shape = Shape::Flat, "ours", "Shape of the side";
            weights: Vec<f64> = Vec::new(), else "all alike", in 0.0, 9.0, "ours", "Weights in order";
        }
    }

    crate::params! {
        /// Of everything.
        struct Whole {
            { plain: u8 = 7, }
            lasting("for"): TimeDelta = TimeDelta::ZERO, as Required, in 1e-9, f64::INFINITY, "ours", "How long it lasts";
            speed: Ramp = Ramp(Bitrate::from_kbps(200)), in 1e3, 1e12, "ours", "Gain of the rate";
            most: Option<Bytes> = None, else "no limit", in 1.0, 1e9, "ours", "Largest size";
            left: Side = Side { shape: Shape::Steep, ..Side::default() }, "ours", "The left side";
            small: u16 = 3, in 0.0, 1e9, "ours", "A small number";
            smaller: u16 = 2, in 0.0, 1e9, "ours", "A smaller number";
        }
        ordered smaller <= small;
        check fits;
    }

    fn fits(whole: &Whole) -> Result<(), ParamError> {
        if whole.lasting > TimeDelta::from_secs(9) {
            return Err(ParamError::new("for", whole.small, "a shorter time"));
        }
        Ok(())
    }

    crate::kinds! {
        /// One or the other.
        enum Either {
            /// The whole.
            Whole("whole", Whole),
            /// A side.
            Side("side", Side),
        }
    }

    fn spec(name: &str) -> &'static Spec {
        Whole::SPECS.iter().find(|spec| spec.name == name).expect(name)
    }

    #[test]
    fn what_is_set_reads_back_and_what_is_wrong_changes_nothing() {
        let mut whole = Whole::default();
        let second = Value::Time(TimeDelta::from_secs(1));
        assert_eq!(whole.set("for", second.clone()), Ok(()));
        assert_eq!((whole.value("for"), whole.lasting), (Some(second.clone()), TimeDelta::from_secs(1)));
        assert_eq!(whole.value("most"), None);
        assert_eq!(whole.set("most", Value::Size(Bytes::new(5))), Ok(()));
        let before = whole.clone();
        let errors = [
            (whole.set("lasting", second.clone()), "an unknown parameter", "one of for, speed"),
            (whole.set("most", second), "1s", "a size from 1B to 1000MB"),
            (whole.set("most", Value::Size(Bytes::ZERO)), "0B", "a size from 1B to 1000MB"),
            (whole.set("for", Value::Time(TimeDelta::ZERO)), "0s", "a time above 0"),
            (whole.set("small", Value::Count(70_000)), "70000", "a whole number from 0"),
            (whole.set("speed", Value::Ratio(f64::NAN)), "NaN", "a rate (gained per second) from 1kbps"),
        ];
        for (error, found, expected) in errors {
            let error = error.expect_err(expected);
            assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
        }
        assert_eq!((&whole, whole.plain), (&before, 7));
    }

    #[test]
    fn tables_names_and_lists_keep_what_they_are_not_told() {
        let mut whole = Whole::default();
        let list = Value::List(vec![Value::Ratio(1.0), Value::Ratio(2.0)]);
        assert_eq!(whole.set("left", Value::Table(vec![("weights", list)])), Ok(()));
        assert_eq!((whole.left.shape.name(), whole.left.weights.as_slice()), ("steep", &[1.0, 2.0][..]));
        let wrong = Value::Table(vec![("weights", Value::List(vec![Value::Ratio(10.0)]))]);
        assert!(whole.set("left", wrong).is_err());
        assert!(whole.set("left", Value::Table(vec![("shape", Value::Name("round"))])).is_err());
        assert_eq!(spec("left").kind.unit(), "{ shape, weights }");
        assert_eq!(Shape::KIND.unit(), "flat or steep");
    }

    #[test]
    fn a_contradiction_is_found_and_so_is_what_code_set_out_of_range() {
        let mut whole = Whole { lasting: TimeDelta::from_secs(10), ..Whole::default() };
        assert_eq!(whole.check().map_err(|error| error.name), Err("for".into()));
        whole.small = 1;
        let error = whole.check().expect_err("2 is above 1");
        assert_eq!(error.to_string(), "small: found 1, expected at least smaller, which is 2");
        whole = Whole { lasting: TimeDelta::ZERO, ..Whole::default() };
        assert!(whole.check().is_err_and(|error| error.expected.contains("above 0")));
        assert_eq!((spec("for").need, spec("most").without), (Need::Required, "no limit"));
    }

    #[test]
    fn a_family_knows_its_kinds() {
        assert_eq!(Either::KINDS, ["whole", "side"]);
        let side = Either::of("side").expect("it is there");
        assert_eq!((side.kind(), side.help(), side.specs().len()), ("side", "A side.", 2));
        assert!(Either::of("both").is_none());
    }

    #[test]
    fn values_without_limit_have_a_word() {
        assert_eq!(Value::unlimited(Kind::Rate).map(|value| value.to_string()).as_deref(), Some(UNLIMITED));
        assert_eq!(Value::unlimited(Kind::Count), None);
        assert_eq!(spec("most").bounds(), (Some("1B".into()), Some("1000MB".into())));
    }
}
