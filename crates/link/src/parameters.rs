//! Parameters of queue disciplines: each is declared once, in its discipline's file, and read, checked, written and
//! listed by its name.

use crate::QueueLimit;
use crate::error::LinkError;
use alloc::format;
use alloc::string::ToString;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// A parameter's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueValue {
    /// A span of time.
    Time(TimeDelta),
    /// A size.
    Size(Bytes),
    /// A number without unit.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// On or off.
    Flag(bool),
    /// One of the names of [`QueueValueKind::Name`].
    Name(&'static str),
}

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueValueKind {
    /// A span of time.
    Time,
    /// A size.
    Size,
    /// A number without unit.
    Number,
    /// A whole number.
    Count,
    /// On or off.
    Flag,
    /// One of these.
    Name(&'static [&'static str]),
}

/// A parameter of a queue discipline, beside the limit that all have.
#[derive(Clone, Copy, Debug)]
pub struct QueueKey {
    /// The source's name in lower case.
    pub name: &'static str,
    /// The name as [`LinkError::key`] says it: "queue.target".
    pub path: &'static str,
    /// What it takes.
    pub kind: QueueValueKind,
    /// The smallest and largest value in base units: seconds, bytes.
    pub range: (f64, f64),
    /// The range in words, for errors.
    pub expected: &'static str,
    /// RFC section or paper.
    pub source: &'static str,
    /// What it does, in a line; if it has no default, what happens then.
    pub help: &'static str,
}

impl QueueKey {
    /// Whether `value` is within the range; names and flags always are.
    pub fn admits(&self, value: QueueValue) -> bool {
        let base = match value {
            QueueValue::Time(span) => span.as_secs_f64(),
            QueueValue::Size(size) => size.as_f64(),
            QueueValue::Number(number) => number,
            QueueValue::Count(count) => count as f64,
            QueueValue::Flag(_) | QueueValue::Name(_) => return true,
        };
        (self.range.0..=self.range.1).contains(&base)
    }
}

/// The parameters of one discipline.
pub(crate) trait Parameters {
    /// All but the limit.
    const KEYS: &'static [QueueKey];

    fn limit(&self) -> QueueLimit;
    fn limit_mut(&mut self) -> &mut QueueLimit;

    /// None if there is no such parameter or it has no value.
    fn value(&self, name: &str) -> Option<QueueValue>;

    /// False if there is no such parameter or it takes another kind of value.
    fn put(&mut self, name: &str, value: QueueValue) -> bool;

    /// What contradicts what.
    fn check(&self) -> Result<(), LinkError> {
        Ok(())
    }

    /// What the limit must hold so that anything may ever wait.
    fn room(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Everything that is wrong with the parameters, at a link of this nominal rate.
    fn validate(&self, nominal: Bitrate) -> Result<(), LinkError> {
        check_limit(self.limit(), self.room(), nominal)?;
        for key in Self::KEYS {
            if let Some(value) = self.value(key.name).filter(|value| !key.admits(*value)) {
                return Err(LinkError::new(key.path, value, key.expected));
            }
        }
        self.check()
    }
}

/// Fails if a limit holds nothing, or not `room` at the nominal rate: an active queue has something to manage.
fn check_limit(limit: QueueLimit, room: Bytes, nominal: Bitrate) -> Result<(), LinkError> {
    if room == Bytes::ZERO || limit.resolve(nominal)?.admits(0, 0, room.as_u64()) {
        return Ok(());
    }
    let (key, found) = match limit {
        QueueLimit::Packets(packets) => ("queue.packets", packets.to_string()),
        QueueLimit::Bytes(bytes) => ("queue.bytes", format!("{} B", bytes.as_u64())),
        QueueLimit::Unlimited => ("queue.limit", "none".into()),
        QueueLimit::Time(span) => {
            let at = nominal.as_bps();
            ("queue.limit", format!("{} ms at a nominal rate of {at} bit/s", span.as_millis_f64()))
        }
    };
    Err(LinkError {
        key,
        found,
        expected: "room for a packet (with dualpi2: for mtu), or nothing would ever wait",
    })
}

/// What the value of a parameter can be.
pub(crate) trait Field: Copy {
    const KIND: QueueValueKind;

    fn value(self) -> Option<QueueValue>;

    fn from_value(value: QueueValue) -> Option<Self>;
}

macro_rules! fields {
    ($($type:ty, $kind:ident;)*) => {
        $(impl Field for $type {
            const KIND: QueueValueKind = QueueValueKind::$kind;

            fn value(self) -> Option<QueueValue> {
                Some(QueueValue::$kind(self))
            }

            fn from_value(value: QueueValue) -> Option<$type> {
                if let QueueValue::$kind(value) = value { Some(value) } else { None }
            }
        })*
    };
}

fields! { TimeDelta, Time; Bytes, Size; f64, Number; u64, Count; bool, Flag; }

impl<F: Field> Field for Option<F> {
    const KIND: QueueValueKind = F::KIND;

    fn value(self) -> Option<QueueValue> {
        self.and_then(F::value)
    }

    fn from_value(value: QueueValue) -> Option<Option<F>> {
        F::from_value(value).map(Some)
    }
}

/// Declares an enum whose variants have names in scenarios.
macro_rules! names {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $type { $($(#[doc = $doc])+ $variant,)* }

        impl $crate::parameters::Field for $type {
            const KIND: $crate::QueueValueKind = $crate::QueueValueKind::Name(&[$($name),*]);

            fn value(self) -> Option<$crate::QueueValue> {
                Some($crate::QueueValue::Name(match self { $($type::$variant => $name,)* }))
            }

            fn from_value(value: $crate::QueueValue) -> Option<$type> {
                match value {
                    $($crate::QueueValue::Name($name) => Some($type::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Declares a discipline's parameters: a line says name, type, default, range, source and help.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $config:ident, limit = $limit:expr, {
            $($field:ident: $type:ty = $default:expr, in $low:expr, $high:expr, $source:expr, $help:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $config {
            /// How much may wait at all; the packet in service does not count.
            pub limit: $crate::QueueLimit,
            $(
                #[doc = $help]
                pub $field: $type,
            )*
        }

        impl Default for $config {
            /// What the sources say.
            fn default() -> $config {
                $config { limit: $limit, $($field: $default,)* }
            }
        }

        impl $crate::parameters::Parameters for $config {
            const KEYS: &'static [$crate::QueueKey] = &[$($crate::QueueKey {
                name: stringify!($field),
                path: concat!("queue.", stringify!($field)),
                kind: <$type as $crate::parameters::Field>::KIND,
                range: ($low, $high),
                expected: concat!("from ", stringify!($low), " to ", stringify!($high), ", in seconds, bytes or bare"),
                source: $source,
                help: $help,
            },)*];

            fn limit(&self) -> $crate::QueueLimit {
                self.limit
            }

            fn limit_mut(&mut self) -> &mut $crate::QueueLimit {
                &mut self.limit
            }

            fn value(&self, name: &str) -> Option<$crate::QueueValue> {
                match name {
                    $(stringify!($field) => $crate::parameters::Field::value(self.$field),)*
                    _ => None,
                }
            }

            fn put(&mut self, name: &str, value: $crate::QueueValue) -> bool {
                match name {
                    $(stringify!($field) => match $crate::parameters::Field::from_value(value) {
                        Some(value) => {
                            self.$field = value;
                            true
                        }
                        None => false,
                    },)*
                    _ => false,
                }
            }

            fn check(&self) -> Result<(), $crate::LinkError> {
                self.contradiction()
            }

            fn room(&self) -> paceline_units::Bytes {
                self.least_room()
            }
        }
    };
}

pub(crate) use {names, parameters};
