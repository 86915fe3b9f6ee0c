//! How a parameter is declared: once, in a line, in the file where it is used.
//!
//! [`params!`](crate::params) declares a struct of parameters, [`names!`](crate::names) an enum that is written as a name, and
//! [`kinds!`](crate::kinds) a family of which a scenario chooses one by `kind`. Reading, checks, writing back, lists and
//! the reference page follow from [`ParamSet`].

mod field;
mod macros;
mod spec;
#[cfg(test)]
mod tests;

pub use field::{Parameter, Ramp};
pub use spec::{Kind, Need, ParamError, Spec, UNLIMITED, Value};

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

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

/// The parameters of `own` and then those of `group`, but for the `unused` ones, each of which must be among the latter.
#[doc(hidden)]
pub const fn joined<const N: usize>(own: &[Spec], group: &[Spec], unused: &[&str]) -> [Spec; N] {
    let mut specs = [group[0]; N];
    let (mut from, mut to) = (0, 0);
    while from < own.len() + group.len() {
        let spec = if from < own.len() { own[from] } else { group[from - own.len()] };
        if from < own.len() || unused.is_empty() || !same(spec.name, unused[0]) {
            specs[to] = spec;
            to += 1;
        }
        from += 1;
    }
    specs
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
