//! The types that the fields of a set of parameters can have.

use super::{Kind, ParamError, Value};
use crate::{Bitrate, Bytes, TimeDelta};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A type that the value of a parameter can have.
pub trait Parameter: Sized {
    /// The kind of its values.
    const KIND: Kind;

    /// The text of this value; nothing where it is left out.
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

    /// Fails if parameters inside this one are out of range, or contradict each other.
    ///
    /// # Errors
    /// Says which one, and what would be right.
    fn fits(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// The name of a file, as a scenario says it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileName(pub String);

impl Parameter for FileName {
    const KIND: Kind = Kind::Text("file", "a file's name");

    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }

    fn from_value(value: Value) -> Option<FileName> {
        if let Value::Text(name) = value { Some(FileName(name)) } else { None }
    }
}

impl Parameter for String {
    const KIND: Kind = Kind::Text("text", "a text");

    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.clone()))
    }

    fn from_value(value: Value) -> Option<String> {
        if let Value::Text(text) = value { Some(text) } else { None }
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

    fn fits(&self) -> Result<(), ParamError> {
        self.as_ref().map_or(Ok(()), P::fits)
    }
}

impl<A: Parameter, B: Parameter> Parameter for (A, B) {
    const KIND: Kind = Kind::Pair(&A::KIND, &B::KIND);

    fn to_value(&self) -> Option<Value> {
        Some(Value::List([self.0.to_value()?, self.1.to_value()?].into()))
    }

    fn from_value(value: Value) -> Option<(A, B)> {
        let Value::List(values) = value else { return None };
        let [one, other] = <[Value; 2]>::try_from(values).ok()?;
        Some((A::from_value(one)?, B::from_value(other)?))
    }
}

/// An empty list is left out, unless it is the parameter's default as a value.
impl<P: Parameter> Parameter for Vec<P> {
    const KIND: Kind = Kind::List(&P::KIND);

    fn to_value(&self) -> Option<Value> {
        Some(Value::List(self.iter().filter_map(P::to_value).collect()))
    }

    fn from_value(value: Value) -> Option<Vec<P>> {
        if let Value::List(values) = value { values.into_iter().map(P::from_value).collect() } else { None }
    }

    fn fits(&self) -> Result<(), ParamError> {
        let mut items = self.iter().enumerate();
        items.try_for_each(|(index, item)| item.fits().map_err(|error| error.within(&format!("[{index}]"))))
    }
}
