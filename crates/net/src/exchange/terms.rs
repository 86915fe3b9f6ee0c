//! The kind of a coupling, its parameters and its detection as text, and whether two flows mean the same.

use paceline_cc::CouplingParams;
use paceline_cc::shared_bottleneck::Params as Detection;
use paceline_units::TimeDelta;
use paceline_units::param::{self, Kind, ParamError, ParamSet, Profiles, Spec, Value};
use paceline_units::text::{Dimension, one_of};

/// The parameters of a coupling: `name=value`, with a space between two.
pub(super) fn settings(params: &CouplingParams) -> String {
    let pairs: Vec<_> = param::values(params).map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(" ")
}

/// The coupling of this kind with these parameters, or what was found and what was expected.
pub(super) fn read(kind: &str, settings: &str) -> Result<CouplingParams, String> {
    let mut params = CouplingParams::of(kind)
        .ok_or_else(|| format!("kind: found {kind}, expected {}", one_of(CouplingParams::KINDS)))?;
    set_all(&mut params, settings.split(' '))?;
    Ok(params)
}

/// The constants of a detection: a profile's name, and `name=value` of each that the profile has otherwise.
pub(super) fn detection_settings(detection: &Detection) -> String {
    let differing = |profile: &str| {
        let usual = Detection::profile(profile).unwrap_or_default();
        let pairs = param::values(detection).zip(param::values(&usual)).filter(|(one, other)| one != other);
        pairs.map(|((name, value), _)| format!(" {name}={value}")).collect::<String>()
    };
    let profiles = Detection::PROFILES.iter().map(|(profile, _)| format!("{profile}{}", differing(profile)));
    profiles.min_by_key(String::len).unwrap_or_default()
}

/// The detection with these settings, or what was found and what was expected.
pub(super) fn read_detection(settings: &str) -> Result<Detection, String> {
    let mut words = settings.split(' ');
    let profile = words.next().unwrap_or_default();
    let known: Vec<_> = Detection::PROFILES.iter().map(|(name, _)| *name).collect();
    let unknown = || format!("profile of the detection: found {profile}, expected {}", one_of(&known));
    let mut params = Detection::profile(profile).ok_or_else(unknown)?;
    set_all(&mut params, words)?;
    params.check().map_err(|error| error.to_string())?;
    Ok(params)
}

/// Sets what pairs of `name=value` say.
fn set_all<'a>(params: &mut impl ParamSet, pairs: impl Iterator<Item = &'a str>) -> Result<(), String> {
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, text) =
            pair.split_once('=').ok_or_else(|| format!("setting: found {pair}, expected NAME=VALUE"))?;
        let spec = params.specs().iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| param::unknown(name, params.specs(), None).to_string())?;
        let set = value(spec, text).and_then(|value| params.set(name, value));
        set.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn value(spec: &Spec, text: &str) -> Result<Value, ParamError> {
    let value = match spec.kind {
        Kind::Flag => text.parse().ok().map(Value::Flag),
        Kind::Ratio => text.parse().ok().map(Value::Ratio),
        Kind::Count => text.parse().ok().map(Value::Count),
        Kind::Time => {
            let nanos = Dimension::Time.parse(text).ok().and_then(|nanos| i64::try_from(nanos).ok());
            nanos.map(|nanos| Value::Time(TimeDelta::from_nanos(nanos)))
        }
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
    differing(found, expected)
}

/// The first parameter that two sets of the same kind have otherwise.
fn differing(found: &impl ParamSet, expected: &impl ParamSet) -> Option<String> {
    let known: Vec<_> = param::values(expected).collect();
    let other = param::values(found).zip(known).find(|((_, one), (_, other))| one != other);
    other.map(|((name, found), (_, expected))| format!("{name}: found {found}, expected {expected}"))
}

/// The difference between a detection and the one that a group has; `None` if nothing does.
pub(super) fn other_detection(found: Option<&Detection>, expected: Option<&Detection>) -> Option<String> {
    let named = |detection: Option<&Detection>| if detection.is_some() { "delays" } else { "a declaration" };
    match (found, expected) {
        (Some(found), Some(expected)) => differing(found, expected),
        (None, None) => None,
        (found, expected) => Some(format!("groups by: found {}, expected {}", named(found), named(expected))),
    }
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
    fn a_detection_is_read_as_it_was_written() {
        for (profile, _) in Detection::PROFILES {
            let params = Detection::profile(profile).expect("a profile");
            assert_eq!(detection_settings(&params), *profile);
            let interval = TimeDelta::from_micros(50_250);
            let other = Detection { interval, n: 40, m: 25, p_s: 0.123_456, ..params };
            let text = detection_settings(&other);
            assert!(text.starts_with(profile) && text.contains(" N=40"), "{text}");
            assert_eq!(read_detection(&text), Ok(other), "{text}");
        }
        let mut all = Detection { p_v: 12.345_678, ..Detection::default() };
        for field in [&mut all.c_s, &mut all.p_l, &mut all.p_f, &mut all.p_mad, &mut all.p_s, &mut all.p_d] {
            *field = 0.123_456_789;
        }
        assert!(detection_settings(&all).len() <= paceline_wire::exchange::MAX_DETECTION);
    }

    #[test]
    fn a_detection_that_cannot_be_is_refused_by_name() {
        for (settings, expected) in [
            ("", "profile of the detection: found , expected one of \"rfc8382\""),
            ("rfc9999", "found rfc9999, expected one of"),
            ("rfc8382 T=0s", "T: found"),
            ("rfc8382 T=soon", "T: found soon"),
            ("rfc8382 N=1", "N: found 1"),
            ("rfc8382 N=4000000000", "N: found 4000000000"),
            ("rfc8382 M=60", "M: found 60, expected at most N, 50"),
            ("rfc8382 p_s=NaN", "p_s: found NaN"),
            ("rfc8382 p_x=1", "p_x: found an unknown parameter"),
        ] {
            let error = read_detection(settings).expect_err(expected);
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
    }

    #[test]
    fn another_detection_is_told_by_both() {
        let (usual, other) = (Detection::default(), Detection { n: 60, ..Detection::default() });
        assert_eq!(other_detection(Some(&usual), Some(&usual)), None);
        assert_eq!(other_detection(None, None), None);
        let said = |found, expected| other_detection(found, expected).expect("a difference");
        assert_eq!(said(Some(&other), Some(&usual)), "N: found 60, expected 50");
        assert_eq!(said(Some(&other), None), "groups by: found delays, expected a declaration");
        assert_eq!(said(None, Some(&other)), "groups by: found a declaration, expected delays");
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
