//! The kind of a coupling and its parameters as text, and whether two flows mean the same.

use paceline_cc::CouplingParams;
use paceline_units::param::{self, Kind, ParamError, ParamSet, Spec, Value};
use paceline_units::text::one_of;

/// The parameters of a coupling: `name=value`, with a space between two.
pub(super) fn settings(params: &CouplingParams) -> String {
    let pairs: Vec<_> = param::values(params).map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(" ")
}

/// The coupling of this kind with these parameters, or what was found and what was expected.
pub(super) fn read(kind: &str, settings: &str) -> Result<CouplingParams, String> {
    let mut params = CouplingParams::of(kind)
        .ok_or_else(|| format!("kind: found {kind}, expected {}", one_of(CouplingParams::KINDS)))?;
    for pair in settings.split(' ').filter(|pair| !pair.is_empty()) {
        let (name, text) =
            pair.split_once('=').ok_or_else(|| format!("setting: found {pair}, expected NAME=VALUE"))?;
        let spec = params.specs().iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| param::unknown(name, params.specs(), None).to_string())?;
        let set = value(spec, text).and_then(|value| params.set(name, value));
        set.map_err(|error| error.to_string())?;
    }
    Ok(params)
}

fn value(spec: &Spec, text: &str) -> Result<Value, ParamError> {
    let value = match spec.kind {
        Kind::Flag => text.parse().ok().map(Value::Flag),
        Kind::Ratio => text.parse().ok().map(Value::Ratio),
        Kind::Count => text.parse().ok().map(Value::Count),
        Kind::Name(names) => names.iter().find(|name| **name == text).map(|name| Value::Name(name)),
        _ => None,
    };
    let value = value.ok_or_else(|| ParamError::new(spec.name, text, spec.expected()))?;
    spec.check(&value)?;
    Ok(value)
}

/// The difference between a coupling and the one that a group has; `None` if nothing does.
pub(super) fn difference(found: &CouplingParams, expected: &CouplingParams) -> Option<String> {
    if found.kind() != expected.kind() {
        return Some(format!("kind: found {}, expected {}", found.kind(), expected.kind()));
    }
    let known: Vec<_> = param::values(expected).collect();
    let other = param::values(found).zip(known).find(|((_, one), (_, other))| one != other);
    other.map(|((name, found), (_, expected))| format!("{name}: found {found}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_was_written() {
        for kind in CouplingParams::KINDS {
            let usual = CouplingParams::of(kind).expect("a kind");
            for (profile, _) in usual.profiles() {
                let (params, _) = CouplingParams::with_profile(kind, Some(profile)).expect("a profile");
                let text = settings(&params);
                assert!(text.len() <= paceline_wire::exchange::MAX_SETTINGS, "{kind}: {text}");
                assert_eq!(read(kind, &text), Ok(params), "{kind} {profile}: {text}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (kind, settings, expected) in [
            ("fse", "", "kind: found fse, expected one of \"active\""),
            ("active", "leaving", "setting: found leaving, expected NAME=VALUE"),
            (
                "active",
                "leave=keep",
                "leave: found an unknown parameter, expected one of the parameters redistribute",
            ),
            ("active", "leaving=stay", "leaving: found stay, expected one of \"keep\", \"subtract\""),
            ("active", "redistribute=1", "redistribute: found 1, expected"),
            ("conservative", "hold=NaN", "hold: found NaN, expected"),
            ("conservative", "hold=-1", "hold: found -1"),
        ] {
            let error = read(kind, settings).expect_err(expected);
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
    }

    #[test]
    fn a_difference_names_both() {
        let of = |kind, settings| read(kind, settings).expect("a coupling");
        let active = of("active", "");
        assert_eq!(difference(&active, &active), None);
        assert_eq!(
            difference(&of("etcp", ""), &active).as_deref(),
            Some("kind: found etcp, expected active")
        );
        let said = difference(&of("active", "leaving=subtract"), &active);
        assert_eq!(said.as_deref(), Some("leaving: found subtract, expected keep"));
    }
}
