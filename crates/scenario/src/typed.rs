//! The parameters of a scenario as typed values: a time is a number of seconds, not a text.

use crate::Scenario;
use crate::key_path::quoted_key;
use crate::rate::TraceSpec;
use crate::schema::keys;
use crate::source::FramesSpec;
use paceline_units::param::Spec;
use paceline_units::text::{Dimension, parse_ticks};
use toml_edit::{TableLike, Value};

/// Value of one parameter of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedValue {
    /// A whole number without unit.
    Integer(i64),
    /// A ratio, or a quantity in the base unit that is named beside it.
    Number(f64),
    /// On or off.
    Flag(bool),
    /// A name; of a list its JSON.
    Text(String),
}

/// A parameter of a scenario as resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedParameter {
    /// Where it stands, as `--set` names it: `links.bottleneck.delay`.
    pub path: String,
    /// Its value.
    pub value: TypedValue,
    /// The unit of a quantity: `s`, `bit/s` or `B`.
    pub unit: Option<&'static str>,
}

/// Whether the text of the key called `name` is a name, even if it reads like a quantity.
fn is_name(name: &str) -> bool {
    let declared = [keys::SCENARIO, keys::LINK, keys::RATE, TraceSpec::SPECS, FramesSpec::SPECS];
    let is_text = |spec: &Spec| matches!(&*spec.kind.unit(), "text" | "name" | "file" | "heading or number");
    declared.into_iter().flatten().any(|spec| spec.name == name && is_text(spec))
}

/// A number with a unit, such as "20ms", in its base unit: `s`, `bit/s` or `B`. A clock's step may be "1/1024s".
pub fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Some(positive) = text.trim().strip_prefix('-') {
        return quantity(positive).map(|(value, unit)| (-value, unit));
    }
    let read = |dimension: Dimension| dimension.parse(text).ok().map(|value| value as f64);
    let seconds = || read(Dimension::Time).map(|nanos| nanos / 1e9);
    let step = || parse_ticks(text).map(|ticks| 1.0 / f64::from(ticks));
    let time = seconds().or_else(step).map(|value| (value, "s"));
    time.or_else(|| Some((read(Dimension::Rate)?, "bit/s"))).or_else(|| Some((read(Dimension::Size)?, "B")))
}

impl Scenario {
    /// Every parameter of the resolved scenario, sorted by path.
    pub fn parameters(&self) -> Vec<TypedParameter> {
        let mut found = Vec::new();
        collect("", self.document().as_table(), &mut found);
        found
    }
}

fn collect(prefix: &str, table: &dyn TableLike, found: &mut Vec<TypedParameter>) {
    let mut items: Vec<_> = table.iter().collect();
    items.sort_by_key(|(key, _)| *key);
    for (key, item) in items {
        let path = format!("{prefix}{}", quoted_key(key));
        if let Some(inner) = item.as_table_like() {
            collect(&format!("{path}."), inner, found);
        } else if let Some(value) = item.as_value() {
            let (value, unit) = typed(key, value);
            found.push(TypedParameter { path, value, unit });
        }
    }
}

/// The typed `value` of the key called `name`, and its unit.
fn typed(name: &str, value: &Value) -> (TypedValue, Option<&'static str>) {
    match value {
        Value::Integer(count) => (TypedValue::Integer(*count.value()), None),
        Value::Float(number) => (TypedValue::Number(*number.value()), None),
        Value::Boolean(flag) => (TypedValue::Flag(*flag.value()), None),
        Value::String(text) => match text.value().as_str() {
            "inf" => (TypedValue::Number(f64::INFINITY), None),
            text => match quantity(text).filter(|_| !is_name(name)) {
                Some((number, unit)) => (TypedValue::Number(number), Some(unit)),
                None => (TypedValue::Text(text.into()), None),
            },
        },
        list => {
            let read: Option<toml::Value> = list.to_string().parse().ok();
            (TypedValue::Text(serde_json::to_string(&read).unwrap_or_default()), None)
        }
    }
}

#[cfg(test)]
mod tests;
