//! `--set PATH=VALUE`: changes in a scenario's text before it is read.
//!
//! Named tables on the way (`links.X`, `flows.X`, `flows.X.streams.S`) must be there; tables that belong to a link or a
//! flow (`queue`, `mark`, `feedback`, `controller`, ...) are made. Whether the last key exists and the value fits is found
//! by reading the changed text. A key of a group of which exactly one may be given replaces the others of its group
//! in the file: `--set links.b.queue.packets=50` where the file says `limit` is what it looks like. Two that are set are
//! an error.

use crate::error::{Place, ScenarioError};
use crate::key_path::{dotted, path_keys};
use crate::rate::MmwaveSpec;
use crate::schema::{self, LimitKeys, keys};
use crate::source::{FramesSpec, LadderSpec};
use crate::spec::Scenario;
use paceline_units::param::{Spec, nearest};
use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};

/// Reads `text` with `sets` applied in order, each a path and a value. `file` is what messages call the text.
///
/// # Errors
/// The first thing that is wrong: with the path of the `--set` that is to blame, or with its line in `text`.
pub fn parse_with(text: &str, file: &str, sets: &[(String, String)]) -> Result<Scenario, ScenarioError> {
    if sets.is_empty() {
        return schema::parse(text, file);
    }
    // A file that is no TOML is its own fault.
    crate::reader::Input { file, text }.parse()?;
    let changed = apply(text, file, sets)?;
    schema::parse(&changed, file).map_err(|error| place(error, text, file, sets))
}

/// The text of a scenario with `sets` applied in order.
///
/// # Errors
/// If a path leads nowhere.
pub fn apply(text: &str, file: &str, sets: &[(String, String)]) -> Result<String, ScenarioError> {
    let whole = |found: String| error(file, Place::Whole, "", found, "valid TOML");
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| whole(e.message().into()))?;
    for (index, (path, value)) in sets.iter().enumerate() {
        contradicts(path, &sets[..index], file)?;
        set(document.as_table_mut(), path, value, file)?;
    }
    Ok(document.to_string())
}

fn error(file: &str, place: Place, key: &str, found: String, expected: &str) -> ScenarioError {
    ScenarioError { file: file.into(), place, key: key.into(), found, expected: expected.into(), hint: None }
}

/// VALUE is TOML, or else a string.
fn value_of(text: &str) -> Value {
    text.trim().parse().unwrap_or_else(|_| Value::from(text))
}

fn set(root: &mut dyn TableLike, path: &str, value: &str, file: &str) -> Result<(), ScenarioError> {
    const EXPECTED: &str = "a dotted path such as links.bottleneck.rate";
    let fail = |found: String, expected: &str| error(file, Place::Set(path.into()), "", found, expected);
    let keys = path_keys(path);
    let (last, way) = keys.split_last().ok_or_else(|| fail(format!("\"{path}\""), EXPECTED))?;
    let mut table = root;
    for (depth, key) in way.iter().enumerate() {
        let (before, _) = keys.split_at(depth);
        if table.get(key).is_none() {
            if must_exist(before, key) {
                let names: Vec<_> = table.iter().map(|(name, _)| name.to_string()).collect();
                return Err(missing(&fail, &keys[..=depth], key, &names));
            }
            table.insert(key, Item::Value(Value::InlineTable(InlineTable::new())));
        }
        let item = table.get_mut(key);
        let found = item.as_ref().map(|item| describe(item)).unwrap_or_default();
        let expected = "a table there; set the whole value instead, such as '{ kind = \"...\" }'";
        let path_here = keys[..=depth].join(".");
        table = item
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| fail(format!("{found} at {path_here}"), expected))?;
    }
    exclude_others(table, way, last);
    table.insert(last, Item::Value(value_of(value)));
    Ok(())
}

/// Whether a table on the way must be in the file: the named ones.
fn must_exist(before: &[String], key: &str) -> bool {
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    match before.as_slice() {
        [] => true,
        ["links" | "flows" | "coupling"] => true,
        ["flows", _] => key == "streams",
        ["flows", _, "streams"] => true,
        _ => false,
    }
}

fn missing(
    fail: &dyn Fn(String, &str) -> ScenarioError,
    path: &[String],
    key: &str,
    names: &[String],
) -> ScenarioError {
    let shown =
        if names.is_empty() { "a table that is there; there is none".into() } else { names.join(", ") };
    let hint = nearest(key, names.iter().map(String::as_str)).map(|name| format!("\"{name}\"").into());
    let error = fail(format!("no {} in the scenario", path.join(".")), &format!("one of {shown}"));
    ScenarioError { hint, ..error }
}

fn describe(item: &Item) -> String {
    match item.as_str() {
        Some(text) => format!("\"{text}\" (text)"),
        None => format!("a value that is a {}", item.type_name()),
    }
}

/// The declarations of the keys in the table at `way`, as far as some of them exclude others.
fn declared(way: &[String]) -> &'static [&'static [Spec]] {
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    match way.as_slice() {
        ["flows", _] => &[keys::FLOW],
        ["coupling", _] => &[keys::COUPLING],
        [.., "queue"] => &[LimitKeys::SPECS],
        [.., "rate"] => &[keys::RATE, MmwaveSpec::SPECS],
        [.., "source"] => &[FramesSpec::SPECS, LadderSpec::SPECS],
        _ => &[],
    }
}

/// The keys that `key` of the table at `way` excludes.
fn excluded_by<'k>(way: &[String], key: &'k str) -> impl Iterator<Item = &'static str> + use<'k> {
    let specs = declared(way).iter().copied().flatten().filter(move |spec| spec.name == key);
    specs.flat_map(|spec| spec.excludes.iter().copied())
}

/// Takes out what excludes `key`.
fn exclude_others(table: &mut dyn TableLike, way: &[String], key: &str) {
    for other in excluded_by(way, key) {
        table.remove(other);
    }
}

/// Fails if one of the sets before `path` set what `path` excludes.
fn contradicts(path: &str, before: &[(String, String)], file: &str) -> Result<(), ScenarioError> {
    let here = path_keys(path);
    let Some((key, way)) = here.split_last() else { return Ok(()) };
    for other in excluded_by(way, key) {
        let is_other =
            |set: &str| path_keys(set).split_last().is_some_and(|(last, at)| last == other && at == way);
        if before.iter().any(|(set, _)| is_other(set)) {
            let found = format!("{other} and {key}, both set");
            let expected = format!("one of them: {other} excludes {key}");
            return Err(error(file, Place::Set(path.into()), &dotted(way), found, &expected));
        }
    }
    Ok(())
}

/// Puts an error of the changed text where a person can mend it: at a `--set`, or at a line of the text as it was.
pub(crate) fn place(
    error: ScenarioError,
    text: &str,
    file: &str,
    sets: &[(String, String)],
) -> ScenarioError {
    let inside = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let paths: Vec<_> = sets.iter().map(|(path, _)| (path, dotted(&path_keys(path)))).collect();
    // The last setting weighs most; a key inside a setting, before a table around it.
    let blamed = paths.iter().rev().find(|(_, path)| inside(&error.key, path));
    let blamed = blamed.or_else(|| {
        let line = line_of(text, file, &error.key);
        paths.iter().rev().find(|(_, path)| line.is_none() && inside(path, &error.key))
    });
    if let Some((path, _)) = blamed {
        return ScenarioError { place: Place::Set(path.as_str().into()), ..error };
    }
    let mut key = error.key.as_str();
    let place = loop {
        if let Some(line) = line_of(text, file, key) {
            break Place::Line(line);
        }
        match key.rsplit_once(['.', '[']) {
            Some((around, _)) => key = around,
            None => break Place::Whole,
        }
    };
    ScenarioError { place, ..error }
}

/// The line of a key in the text.
fn line_of(text: &str, file: &str, key: &str) -> Option<usize> {
    let input = crate::reader::Input { file, text };
    let document = input.parse().ok()?;
    crate::reader::Table::root(&input, &document).line_of(key)
}
