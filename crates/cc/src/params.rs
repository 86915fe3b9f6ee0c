//! Named parameters: every constant of an algorithm has a name, a default, a unit, a source, and can be set by name.

use alloc::string::String;
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// A parameter's value, typed by its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParamValue {
    /// A span of time.
    Time(TimeDelta),
    /// A rate.
    Rate(Bitrate),
    /// A rate of change of a rate, in bit/s per second.
    Ramp(Bitrate),
    /// A size.
    Bytes(Bytes),
    /// A number without unit.
    Ratio(f64),
    /// A whole number.
    Count(u64),
    /// On or off.
    Flag(bool),
}

/// What kind of value a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A span of time, such as "100ms".
    Time,
    /// A rate, such as "20Mbps".
    Rate,
    /// A rate of change, written as the rate gained in a second, such as "200kbps".
    Ramp,
    /// A size, such as "1200B".
    Bytes,
    /// A number without unit.
    Ratio,
    /// A whole number.
    Count,
    /// true or false.
    Flag,
}

impl ParamValue {
    /// The kind it is of.
    pub const fn kind(self) -> ParamKind {
        match self {
            ParamValue::Time(_) => ParamKind::Time,
            ParamValue::Rate(_) => ParamKind::Rate,
            ParamValue::Ramp(_) => ParamKind::Ramp,
            ParamValue::Bytes(_) => ParamKind::Bytes,
            ParamValue::Ratio(_) => ParamKind::Ratio,
            ParamValue::Count(_) => ParamKind::Count,
            ParamValue::Flag(_) => ParamKind::Flag,
        }
    }

    /// As a bare number in base units: seconds, bit/s, bytes.
    pub fn as_f64(self) -> f64 {
        match self {
            ParamValue::Time(span) => span.as_secs_f64(),
            ParamValue::Rate(rate) | ParamValue::Ramp(rate) => rate.as_bps_f64(),
            ParamValue::Bytes(bytes) => bytes.as_f64(),
            ParamValue::Ratio(ratio) => ratio,
            ParamValue::Count(count) => count as f64,
            ParamValue::Flag(flag) => f64::from(u8::from(flag)),
        }
    }
}

/// What a parameter is.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name: the specification's, in lower case.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
    /// The smallest and largest value, in base units (seconds, bit/s, bytes).
    pub range: (f64, f64),
    /// RFC section, paper equation, or FACTS section with a remark that no text was at hand.
    pub source: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
}

/// Why a parameter could not be set.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamError {
    /// No parameter of this name.
    Unknown {
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A value of another kind.
    Kind {
        /// What was expected.
        expected: ParamKind,
    },
    /// Out of range.
    Range {
        /// The smallest and largest value, in base units.
        range: (f64, f64),
    },
    /// The parameters contradict each other.
    Contradiction(String),
}

/// A set of named parameters.
pub trait ParamSet: Clone {
    /// All there are.
    fn specs(&self) -> &'static [ParamSpec];

    /// The value of the parameter called `name`.
    fn value(&self, name: &str) -> Option<ParamValue>;

    /// Sets the parameter called `name`.
    ///
    /// # Errors
    /// If there is none, or the value is of another kind or out of range; then nothing changed.
    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError>;

    /// Whether the parameters fit each other.
    ///
    /// # Errors
    /// Says which two do not.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// Declares a parameter struct: one line says name, kind, default, range, source and help.
macro_rules! param_set {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $field:ident: $kind:ident = $default:expr, in $low:expr, $high:expr, $source:literal, $help:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $name {
            $(
                #[doc = concat!($help, " (", $source, ")")]
                pub $field: $crate::params::param_type!($kind),
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $name {
            const SPECS: &'static [$crate::params::ParamSpec] = &[
                $( $crate::params::ParamSpec {
                    name: stringify!($field),
                    kind: $crate::params::ParamKind::$kind,
                    range: ($low, $high),
                    source: $source,
                    help: $help,
                }, )*
            ];
        }

        impl $crate::params::ParamSet for $name {
            fn specs(&self) -> &'static [$crate::params::ParamSpec] {
                Self::SPECS
            }

            fn value(&self, name: &str) -> Option<$crate::params::ParamValue> {
                match name {
                    $( stringify!($field) => Some($crate::params::ParamValue::$kind(self.$field)), )*
                    _ => None,
                }
            }

            fn set(
                &mut self,
                name: &str,
                value: $crate::params::ParamValue,
            ) -> Result<(), $crate::params::ParamError> {
                let Some(spec) = Self::SPECS.iter().find(|spec| spec.name == name) else {
                    let known = Self::SPECS.iter().map(|spec| spec.name).collect();
                    return Err($crate::params::ParamError::Unknown { known });
                };
                if value.kind() != spec.kind {
                    return Err($crate::params::ParamError::Kind { expected: spec.kind });
                }
                if !(spec.range.0..=spec.range.1).contains(&value.as_f64()) {
                    return Err($crate::params::ParamError::Range { range: spec.range });
                }
                match (name, value) {
                    $( (stringify!($field), $crate::params::ParamValue::$kind(value)) => self.$field = value, )*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

macro_rules! param_type {
    (Time) => {
        paceline_units::TimeDelta
    };
    (Rate) => {
        paceline_units::Bitrate
    };
    (Ramp) => {
        paceline_units::Bitrate
    };
    (Bytes) => {
        paceline_units::Bytes
    };
    (Ratio) => {
        f64
    };
    (Count) => {
        u64
    };
    (Flag) => {
        bool
    };
}

pub(crate) use {param_set, param_type};
