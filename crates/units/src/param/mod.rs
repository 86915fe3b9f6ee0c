//! How a parameter is declared: once, in a line, in the file where it is used.
//!
//! [`params!`](crate::params) declares a struct of parameters, [`names!`](crate::names) an enum that is written as a name, and
//! [`kinds!`](crate::kinds) a family of which a scenario chooses one by `kind`, or [`profiled_kinds!`](crate::profiled_kinds)
//! one by `kind` and `profile`. Reading, checks, writing back, lists and the reference page follow from [`ParamSet`].

mod field;
mod macros;
mod near;
mod spec;
#[cfg(test)]
mod tests;

pub use field::{FileName, Parameter, Ramp};
pub use near::{expected, hint, nearest, unknown};
pub use spec::{ANY, Kind, Need, ParamError, Spec, UNLIMITED, Value};

use crate::Stack;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// Why a parameter does nothing beside the others as they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// There is no such parameter beside them.
    Unknown,
    /// It has no effect: what is expected in its place.
    Useless(Cow<'static, str>),
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

    /// Why the parameter called `name` does nothing; `None` if it does something.
    fn idle(&self, name: &str) -> Option<Reason> {
        let _ = name;
        None
    }

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

/// Name of a set of values in scenarios, and its description in a line.
pub type ProfileHelp = (&'static str, &'static str);

/// Parameters of which there are named sets.
pub trait Profiles: ParamSet + 'static {
    /// The named sets, the usual one first.
    const PROFILES: &'static [ProfileHelp];

    /// The set of this name, if there is one.
    fn profile(name: &str) -> Option<Self>;

    /// The transport's implementation that the set of this name imitates; where none is said, the documents.
    fn stack(name: &str) -> Stack;
}

/// Names of kinds.
pub type Names = Vec<&'static str>;

/// A family of which a scenario chooses one by `kind`.
pub trait Kinds: ParamSet {
    /// The names of what there is, the usual one first, without those from outside.
    const KINDS: &'static [&'static str];

    /// The names of all there are at the moment, the usual one first.
    fn kinds() -> Names {
        Self::KINDS.to_vec()
    }

    /// The one called `kind` with its usual parameters, if there is one.
    fn of(kind: &str) -> Option<Self>;

    /// Name of the kind, as scenarios write it.
    fn kind(&self) -> &'static str;

    /// Its description, in a line.
    fn help(&self) -> &'static str;
}

/// A family of which each kind has [`Profiles`].
pub trait ProfiledKinds: Kinds {
    /// The kind under this profile, by default its first, and the profile's name; `None` if there is no such kind or
    /// profile.
    fn with_profile(kind: &str, profile: Option<&str>) -> Option<(Self, &'static str)>;

    /// The profiles of this kind, the usual one first.
    fn profiles(&self) -> &'static [ProfileHelp];

    /// The transport's implementation that its profile of this name imitates.
    fn stack(&self, profile: &str) -> Stack;
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
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

/// Name and value of everything in a set that does something and is not left out.
pub fn values(params: &impl ParamSet) -> impl Iterator<Item = (&'static str, Value)> {
    let used = params.specs().iter().filter(|spec| params.idle(spec.name).is_none());
    used.filter_map(|spec| Some((spec.name, params.value(spec.name)?)))
}

/// A table of these values.
pub fn table<N: Into<Cow<'static, str>>>(values: impl IntoIterator<Item = (N, Value)>) -> Value {
    Value::Table(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// The value as a set has it: an empty list has none where leaving the parameter out is `told` in words, or is no choice.
#[doc(hidden)]
pub fn stated(value: Option<Value>, need: Need, told: &str) -> Option<Value> {
    let is_default = need == Need::Optional && told.is_empty();
    value.filter(|value| is_default || !matches!(value, Value::List(values) if values.is_empty()))
}

/// The table of a kind that was chosen.
#[doc(hidden)]
pub fn chosen(kind: &impl Kinds) -> Value {
    let name = ("kind", Value::Name(kind.kind()));
    table(core::iter::once(name).chain(values(kind)))
}

/// The parameters of several sets, one set behind the other; each set without the one that is named beside it.
#[doc(hidden)]
pub const fn joined<const N: usize>(sets: &[(&[Spec], &str)]) -> [Spec; N] {
    let mut all = [Spec::by_hand("", "", "", ""); N];
    let (mut set, mut from, mut to) = (0, 0, 0);
    while to < N {
        let (specs, unused) = sets[set];
        if from == specs.len() {
            (set, from) = (set + 1, 0);
            continue;
        }
        if !same(specs[from].name, unused) {
            all[to] = specs[from];
            to += 1;
        }
        from += 1;
    }
    all
}

/// Sets what a table says; false if a set cannot take it.
#[doc(hidden)]
pub fn assign(params: &mut impl ParamSet, value: Value) -> bool {
    let Value::Table(values) = value else { return false };
    values.into_iter().all(|(name, value)| params.set(&name, value).is_ok())
}
