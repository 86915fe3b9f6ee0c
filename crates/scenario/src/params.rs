//! Declared parameters in a scenario: read from a table with every check, and written back.

use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use paceline_units::param::{
    self, ANY, Kind, Kinds, Need, ParamError, ParamSet, ProfiledKinds, Profiles, Reason, Spec, UNLIMITED,
    Value,
};
use paceline_units::text::one_of;
use toml_edit::{Array, InlineTable};

/// The names of `specs`, behind those of `more`.
fn names<'s>(more: &[&'static str], specs: impl IntoIterator<Item = &'s Spec>) -> Vec<&'static str> {
    more.iter().copied().chain(specs.into_iter().map(|spec| spec.name)).collect()
}

/// Sets in `params` what `table` says, which may have the keys of `more` beside; then checks that all fit each other.
pub(crate) fn read(
    table: &Table<'_>,
    params: &mut impl ParamSet,
    more: &[&'static str],
) -> Result<(), ScenarioError> {
    set(table, params, more)?;
    check(table, params)
}

/// The same without the last check.
pub(crate) fn set(
    table: &Table<'_>,
    params: &mut impl ParamSet,
    more: &[&'static str],
) -> Result<(), ScenarioError> {
    let known = params.specs().iter().filter(|spec| params.idle(spec.name) != Some(Reason::Unknown));
    table.only(&names(more, known))?;
    set_some(table, params)
}

/// The same of a table that has other keys as well. A parameter that has an owner ([`Kind::Family`], [`Kind::Other`])
/// is left to it.
pub(crate) fn set_some(table: &Table<'_>, params: &mut impl ParamSet) -> Result<(), ScenarioError> {
    for spec in params.specs().iter().filter(|spec| !matches!(spec.kind, Kind::Family(_) | Kind::Other(_))) {
        match table.find(spec.name) {
            Some(node) => {
                let value = value(spec, &node)?;
                params.set(spec.name, value).map_err(|error| node.fail(&error.expected))?;
            }
            None if spec.need == Need::Required => return Err(missing(table, spec)),
            None => {}
        }
    }
    Ok(())
}

/// Fails if parameters read from `table` do not fit each other: at the key that is to blame, if the table has it.
pub(crate) fn check(table: &Table<'_>, params: &impl ParamSet) -> Result<(), ScenarioError> {
    for spec in params.specs().iter().rev() {
        let Some(node) = table.find(spec.name) else { continue };
        if let Some(Reason::Useless(expected)) = params.idle(spec.name) {
            return Err(node.fail(&expected));
        }
        fits_beside(table, spec)?;
    }
    params.contradiction().map_err(|error| blame(table, &error))
}

/// Fails if the table has a parameter and another one that it excludes.
fn fits_beside(table: &Table<'_>, spec: &Spec) -> Result<(), ScenarioError> {
    let other = spec.excludes.iter().find(|other| table.find(other).is_some());
    match (table.find(spec.name), other) {
        (Some(node), Some(other)) => Err(node.fail(&format!("either {other} or {}, not both", spec.name))),
        _ => Ok(()),
    }
}

/// The error of a parameter of `table`.
pub(crate) fn blame(table: &Table<'_>, error: &ParamError) -> ScenarioError {
    let either = std::iter::once(error).chain(error.other.as_deref());
    let given = either.filter_map(|error| Some(table.at(&error.name)?.fail(&error.expected))).next();
    given.unwrap_or_else(|| match error.name.as_str() {
        "" => table.fail(&error.found, &error.expected),
        name if error.found == "nothing" => table.missing(name, &error.expected),
        name => table.fail(&format!("{name} = {}", error.found), &error.expected),
    })
}

/// One of a family, chosen by the key `kind`, with what `table` says of it; `usual` without that key, if there is a usual
/// one. The table may have the keys of `more` beside.
pub(crate) fn kind<K: Kinds>(table: &Table<'_>, usual: Option<&'static str>) -> Result<K, ScenarioError> {
    let kind = match (table.find("kind"), usual) {
        (None, Some(usual)) => usual,
        (None, None) => return Err(table.missing("kind", &one_of(&K::kinds()))),
        (Some(node), _) => node.name(&K::kinds())?,
    };
    K::of(kind).ok_or_else(|| table.missing("kind", &one_of(&K::kinds())))
}

/// One of a family with what is said of it: the table at `key` of `table`, if there is one, such as the one that is expected.
pub(crate) fn family<K: Kinds>(
    table: &Table<'_>,
    key: &str,
    expected: &str,
) -> Result<Option<K>, ScenarioError> {
    table.find(key).map(|node| chosen(&node, expected)).transpose()
}

/// The one of a family that a value is.
pub(crate) fn chosen<K: Kinds>(node: &Node<'_>, expected: &str) -> Result<K, ScenarioError> {
    let table = node.table(expected)?;
    let mut chosen = kind(&table, None)?;
    read(&table, &mut chosen, &["kind"])?;
    Ok(chosen)
}

/// One of a family, chosen by the keys `kind` and `profile` of `table`, and the name of the profile.
pub(crate) fn profiled<K: ProfiledKinds>(table: &Table<'_>) -> Result<(K, &'static str), ScenarioError> {
    let usual: K = kind(table, None)?;
    let profile = table.find("profile").map(|node| {
        let profiles: Vec<_> = usual.profiles().iter().map(|(name, _)| *name).collect();
        node.name(&profiles)
    });
    K::with_profile(usual.kind(), profile.transpose()?)
        .ok_or_else(|| table.missing("kind", &one_of(&K::kinds())))
}

/// The set of values that the key `profile` of `table` names; without the key, the usual one.
pub(crate) fn profile<P: Profiles + Default>(table: &Table<'_>) -> Result<P, ScenarioError> {
    let Some(node) = table.find("profile") else { return Ok(P::default()) };
    let names: Vec<_> = P::PROFILES.iter().map(|(name, _)| *name).collect();
    P::profile(node.name(&names)?).ok_or_else(|| node.fail(&one_of(&names)))
}

fn missing(table: &Table<'_>, spec: &Spec) -> ScenarioError {
    let expected =
        spec.kind.dimension().map_or_else(|| spec.expected(), |dimension| dimension.expected().into());
    table.missing(spec.name, &format!("{expected}: {}", spec.help))
}

/// The value of the parameter `spec` in `node`, within its range.
fn value(spec: &Spec, node: &Node<'_>) -> Result<Value, ScenarioError> {
    let of_list = |kind: Kind| {
        let item = Spec { kind, ..*spec };
        node.list(&spec.expected())?.iter().map(|node| value(&item, node)).collect::<Result<_, _>>()
    };
    let value = match spec.kind {
        Kind::Time | Kind::Rate | Kind::Ramp | Kind::Size => match (node.as_text(), spec.kind.dimension()) {
            (Some(UNLIMITED), _) if let Some(value) = unlimited(spec) => value,
            (_, Some(dimension)) => spec.kind.of_base(node.quantity(dimension)?),
            (_, None) => return Err(node.fail(&spec.expected())),
        },
        Kind::Ratio => Value::Ratio(node.any_number(&spec.expected())?),
        Kind::Count => Value::Count(node.whole(&spec.expected())?),
        Kind::Flag => Value::Flag(node.flag()?),
        Kind::Name(names) => Value::Name(node.name(names)?),
        Kind::Text(_, expected) => match node.as_text() {
            Some(text) => Value::Text(text.into()),
            None => Value::Count(node.whole(expected)?),
        },
        Kind::List(kind) => Value::List(of_list(*kind)?),
        Kind::Pair(one, other) => {
            let [first, second] = node.pair(&spec.expected())?;
            let one = Spec { kind: *one, range: ANY, ..*spec };
            Value::List(vec![value(&one, &first)?, value(&Spec { kind: *other, ..*spec }, &second)?])
        }
        Kind::Or(one, other) => {
            let kind = if node.is_list() || node.is_table() { *other } else { *one };
            let chosen = Spec { kind, ..*spec };
            let is_neither = |error: &ScenarioError| *error.expected == *chosen.expected();
            value(&chosen, node).map_err(|error| {
                if !is_neither(&error) {
                    return error;
                }
                let error = ScenarioError { expected: spec.expected().into(), ..error };
                match kind {
                    Kind::Table(specs) if specs.iter().any(|spec| spec.name == "steps") => {
                        node.or_steps(error)
                    }
                    _ => error,
                }
            })?
        }
        Kind::Table(specs) => param::table(table(specs, &node.table(&spec.expected())?)?),
        Kind::Family(_) | Kind::Other(_) => return Err(node.fail(&spec.expected())),
    };
    spec.check(&value).map_err(|error| node.fail(&error.expected))?;
    Ok(value)
}

/// The value that stands for no limit, where the range allows it.
fn unlimited(spec: &Spec) -> Option<Value> {
    Value::unlimited(spec.kind).filter(|value| spec.check(value).is_ok())
}

/// The values of a table inside.
fn table(specs: &[Spec], table: &Table<'_>) -> Result<Vec<(&'static str, Value)>, ScenarioError> {
    table.only(&names(&[], specs))?;
    if let Some(spec) =
        specs.iter().find(|spec| spec.need == Need::Required && table.find(spec.name).is_none())
    {
        return Err(missing(table, spec));
    }
    specs.iter().rev().try_for_each(|spec| fits_beside(table, spec))?;
    let given = specs.iter().filter_map(|spec| Some((spec, table.find(spec.name)?)));
    given.map(|(spec, node)| Ok((spec.name, value(spec, &node)?))).collect()
}

/// A value as TOML.
pub(crate) fn toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Ratio(ratio) => (*ratio).into(),
        // More than TOML can say: nothing reaches either.
        Value::Count(count) => i64::try_from(*count).unwrap_or(i64::MAX).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(values) => values.iter().map(toml).collect::<Array>().into(),
        Value::Table(values) => {
            values.iter().map(|(name, value)| (name.as_ref(), toml(value))).collect::<InlineTable>().into()
        }
        text => text.to_string().into(),
    }
}

/// Adds all parameters that do something and are not left out to `table`.
pub(crate) fn write(table: &mut dyn toml_edit::TableLike, params: &impl ParamSet) {
    for (name, value) in param::values(params) {
        table.insert(name, toml_edit::value(toml(&value)));
    }
}
