//! Walks the tables of a scenario and says, for people, what is wrong with a value and on which line.

use crate::error::{Place, ScenarioError};
use crate::key_path::{path_keys, quoted_key};
use paceline_units::param::{self, nearest};
use paceline_units::text::{self, Dimension, QuantityError, one_of};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text that is read and where it came from.
pub(crate) struct Input<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Input<'_> {
    /// The line of a byte, counted from 1.
    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn error(&self, offset: usize, key: &str, found: String, expected: &str) -> ScenarioError {
        ScenarioError {
            file: self.file.into(),
            place: Place::Line(self.line(offset)),
            key: key.into(),
            found,
            expected: expected.into(),
            hint: None,
        }
    }

    /// Reads the text as TOML.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'_>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.error(offset, "", error.message().to_string(), "valid TOML")
        })
    }
}

/// A value, with its dotted path and its place in the text.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    input: &'a Input<'a>,
    path: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Node<'a> {
    /// The error of this value.
    pub(crate) fn fail(&self, expected: &str) -> ScenarioError {
        self.input.error(self.offset, &self.path, describe(self.value), expected)
    }

    /// The value as text.
    pub(crate) fn text(&self, expected: &str) -> Result<&'a str, ScenarioError> {
        self.as_text().ok_or_else(|| self.fail(expected))
    }

    /// The value if it is text.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        if let DeValue::String(text) = self.value { Some(text) } else { None }
    }

    /// Whether the value is a table.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// The error of this value, which may be a list in the place of a table that has it as `steps`.
    pub(crate) fn or_steps(&self, error: ScenarioError) -> ScenarioError {
        match self.is_list() {
            true => ScenarioError { hint: Some("{ steps = [...] }".into()), ..error },
            false => error,
        }
    }

    /// Whether the value is a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// The value if it is true or false.
    pub(crate) fn as_flag(&self) -> Option<bool> {
        if let DeValue::Boolean(flag) = self.value { Some(*flag) } else { None }
    }

    /// One of `names`.
    pub(crate) fn name<'n>(&self, names: &[&'n str]) -> Result<&'n str, ScenarioError> {
        let expected = one_of(names);
        let text = self.text(&expected)?;
        if let Some(name) = names.iter().find(|name| **name == text) {
            return Ok(name);
        }
        Err(self.fail_near(&expected, text, names))
    }

    /// One of an enum's names.
    pub(crate) fn named<T>(
        &self,
        names: &[&str],
        of: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ScenarioError> {
        of(self.name(names)?).ok_or_else(|| self.fail(&one_of(names)))
    }

    /// The error of this value, which is none of `names`.
    pub(crate) fn fail_near(&self, expected: &str, found: &str, names: &[&str]) -> ScenarioError {
        let hint = nearest(found, names.iter().copied()).map(|name| format!("\"{name}\"").into());
        ScenarioError { hint, ..self.fail(expected) }
    }

    /// The value as a number of nanoseconds, bit/s or bytes.
    pub(crate) fn quantity(&self, dimension: Dimension) -> Result<u64, ScenarioError> {
        let text = self.text(dimension.expected())?;
        dimension.parse(text).map_err(|error| self.fail_quantity(dimension, error))
    }

    fn fail_quantity(&self, dimension: Dimension, error: QuantityError) -> ScenarioError {
        let expected = dimension.expected();
        let max = dimension.format(dimension.max());
        match error {
            QuantityError::Malformed => {
                let text = self.as_text().unwrap_or_default();
                let (number, unit) = Dimension::split(text);
                let names = dimension.unit_names().filter(|_| !unit.is_empty());
                let misspelt = || Some(format!("{number}{}", nearest(unit, names)?));
                // The same quantity in a unit that is known, or else a unit with a slip.
                let meant = match dimension.meant(text) {
                    Some(base) => base.ok().map(|base| dimension.format(base)),
                    None => misspelt(),
                };
                let hint = meant.map(|meant| format!("\"{meant}\"").into());
                ScenarioError { hint, ..self.fail(expected) }
            }
            QuantityError::Negative => self.fail(&format!("{expected}, not below 0")),
            QuantityError::TooLarge => self.fail(&format!("{expected}, at most {max}")),
            QuantityError::Fraction => self.fail(&format!("{expected}, whole in its smallest unit")),
        }
    }

    /// A span of time of 0 or more.
    pub(crate) fn time(&self) -> Result<TimeDelta, ScenarioError> {
        Ok(TimeDelta::from_nanos(self.quantity(Dimension::Time)? as i64))
    }

    /// A span of time above 0.
    pub(crate) fn time_above_zero(&self) -> Result<TimeDelta, ScenarioError> {
        let span = self.time()?;
        if span == TimeDelta::ZERO {
            return Err(self.fail(&format!("{}, above 0", Dimension::Time.expected())));
        }
        Ok(span)
    }

    /// A rate of 0 or more.
    pub(crate) fn rate(&self) -> Result<Bitrate, ScenarioError> {
        Ok(Bitrate::from_bps(self.quantity(Dimension::Rate)?))
    }

    /// A rate above 0.
    pub(crate) fn rate_above_zero(&self) -> Result<Bitrate, ScenarioError> {
        let rate = self.rate()?;
        if rate == Bitrate::ZERO {
            return Err(self.fail(&format!("{}, above 0", Dimension::Rate.expected())));
        }
        Ok(rate)
    }

    /// The value as a size in bytes.
    pub(crate) fn size(&self) -> Result<Bytes, ScenarioError> {
        Ok(Bytes::new(self.quantity(Dimension::Size)?))
    }

    /// A size within `range`.
    pub(crate) fn size_within(&self, range: RangeInclusive<u64>) -> Result<Bytes, ScenarioError> {
        let size = self.size()?;
        if range.contains(&size.as_u64()) {
            return Ok(size);
        }
        let show = |bytes: &u64| text::format_size(Bytes::new(*bytes));
        Err(self.fail(&format!("a size from {} to {}", show(range.start()), show(range.end()))))
    }

    /// A whole number within `range`.
    pub(crate) fn count(&self, range: RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        let expected = match *range.end() {
            u64::MAX => format!("a whole number of {} or more", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let count = self.whole(&expected)?;
        if range.contains(&count) { Ok(count) } else { Err(self.fail(&expected)) }
    }

    /// A whole number of what TOML can say, 0 or more.
    pub(crate) fn whole(&self, expected: &str) -> Result<u64, ScenarioError> {
        let DeValue::Integer(integer) = self.value else {
            return Err(self.fail(expected));
        };
        let digits: String = integer.as_str().chars().filter(|c| *c != '_').collect();
        let digits = digits.strip_prefix('+').unwrap_or(&digits);
        let count = u64::from_str_radix(digits, integer.radix()).ok();
        count.filter(|count| *count <= i64::MAX as u64).ok_or_else(|| self.fail(expected))
    }

    /// A bare number, infinity included.
    pub(crate) fn any_number(&self, expected: &str) -> Result<f64, ScenarioError> {
        let number = match self.value {
            DeValue::Integer(integer) if integer.radix() == 10 => {
                integer.as_str().replace('_', "").parse().ok()
            }
            DeValue::Float(float) => float.as_str().replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fail(expected))
    }

    /// A bare number within `range`.
    pub(crate) fn number(&self, range: RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let number = self.any_number(&expected)?;
        if range.contains(&number) { Ok(number) } else { Err(self.fail(&expected)) }
    }

    /// true or false.
    pub(crate) fn flag(&self) -> Result<bool, ScenarioError> {
        self.as_flag().ok_or_else(|| self.fail("true or false"))
    }

    /// A list's values; their paths are numbered from 0.
    pub(crate) fn list(&self, expected: &str) -> Result<Vec<Node<'a>>, ScenarioError> {
        let DeValue::Array(array) = self.value else {
            return Err(self.fail(expected));
        };
        let node = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| Node {
            input: self.input,
            path: format!("{}[{index}]", self.path),
            offset: value.span().start,
            value: value.get_ref(),
        };
        Ok(array.iter().enumerate().map(node).collect())
    }

    /// A list of exactly two values.
    pub(crate) fn pair(&self, expected: &str) -> Result<[Node<'a>; 2], ScenarioError> {
        <[Node<'a>; 2]>::try_from(self.list(expected)?).map_err(|_| self.fail(expected))
    }

    /// The value as a table.
    pub(crate) fn table(&self, expected: &str) -> Result<Table<'a>, ScenarioError> {
        let DeValue::Table(table) = self.value else {
            return Err(self.fail(expected));
        };
        Ok(Table { input: self.input, path: self.path.clone(), offset: self.offset, table, below: None })
    }
}

/// A table, with its dotted path and its place in the text.
pub(crate) struct Table<'a> {
    input: &'a Input<'a>,
    path: String,
    offset: usize,
    table: &'a DeTable<'a>,
    below: Option<Box<Table<'a>>>,
}

impl<'a> Table<'a> {
    /// The whole document.
    pub(crate) fn root(input: &'a Input<'a>, table: &'a Spanned<DeTable<'a>>) -> Table<'a> {
        Table { input, path: String::new(), offset: 0, table: table.get_ref(), below: None }
    }

    fn path_of(&self, key: &str) -> String {
        let key = quoted_key(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// Complains about the first key that is not among `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ScenarioError> {
        let unknown = |key: &&Spanned<toml::de::DeString<'_>>| !known.contains(&key.get_ref().as_ref());
        let first = self.table.keys().filter(unknown).min_by_key(|key| key.span().start);
        let Some(key) = first else {
            return Ok(());
        };
        let name = key.get_ref().as_ref();
        let hint = nearest(name, known.iter().copied()).map(|name| format!("\"{name}\"").into());
        let expected =
            param::expected("key", name, known, Some(&format!("`paceline list {}`", self.listing())));
        let error =
            self.input.error(key.span().start, &self.path_of(name), "an unknown key".into(), &expected);
        Err(ScenarioError { hint, ..error })
    }

    /// The argument of `paceline list` that shows the keys of this table: the kind that it names, or its own name.
    fn listing(&self) -> String {
        let chosen = ["kind", "format", "generator"].iter().find_map(|key| self.find(key)?.as_text());
        let way = path_keys(&self.path);
        let way: Vec<_> = way.iter().map(String::as_str).collect();
        match (chosen, way.as_slice()) {
            (Some(chosen), _) => chosen,
            (None, []) => "scenario",
            (None, ["links", _]) => "link",
            (None, ["flows", _]) => "flow",
            (None, ["flows", _, "streams", _]) => "stream",
            (None, [.., "rate"]) => "traces",
            (None, [.., last]) => last,
        }
        .into()
    }

    /// The same table over another one, whose keys hold where it has none itself.
    pub(crate) fn over(self, below: Table<'a>) -> Table<'a> {
        Table { below: Some(Box::new(below)), ..self }
    }

    /// The value of `key`.
    pub(crate) fn find(&self, key: &str) -> Option<Node<'a>> {
        let Some((_, value)) = self.table.iter().find(|(name, _)| name.get_ref() == key) else {
            return self.below.as_ref()?.find(key);
        };
        Some(Node {
            input: self.input,
            path: self.path_of(key),
            offset: value.span().start,
            value: value.get_ref(),
        })
    }

    /// The value at a path inside the table, such as `states[1].name`.
    pub(crate) fn at(&self, path: &str) -> Option<Node<'a>> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (mut node, mut rest) = (self.find(&path[..end])?, &path[end..]);
        while let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            node = node.list("").ok()?.into_iter().nth(index.parse().ok()?)?;
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(inner) => node.table("").ok()?.at(inner),
            None => Some(node),
        }
    }

    /// The value of `key`, which must be there.
    pub(crate) fn require(&self, key: &str, expected: &str) -> Result<Node<'a>, ScenarioError> {
        self.find(key).ok_or_else(|| self.missing(key, expected))
    }

    /// The line of the key with this dotted path.
    pub(crate) fn line_of(&self, path: &str) -> Option<usize> {
        for (key, value) in self.table {
            let here = self.path_of(key.get_ref());
            if here == path {
                return Some(self.input.line(key.span().start));
            }
            let Some(rest) = path.strip_prefix(&here) else { continue };
            if !rest.starts_with('.') {
                continue;
            }
            if let DeValue::Table(table) = value.get_ref() {
                let inner =
                    Table { input: self.input, path: here, offset: value.span().start, table, below: None };
                if let Some(line) = inner.line_of(path) {
                    return Some(line);
                }
            }
        }
        None
    }

    /// The error of a key that is not there.
    pub(crate) fn missing(&self, key: &str, expected: &str) -> ScenarioError {
        let error = self.input.error(self.offset, &self.path_of(key), "nothing".into(), expected);
        if self.path.is_empty() { ScenarioError { place: Place::Whole, ..error } } else { error }
    }

    /// The error of the table as a whole.
    pub(crate) fn fail(&self, found: &str, expected: &str) -> ScenarioError {
        self.input.error(self.offset, &self.path, found.into(), expected)
    }

    /// All names and values, by name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> + '_ {
        let node = |name: &str, value: &'a Spanned<DeValue<'a>>| Node {
            input: self.input,
            path: self.path_of(name),
            offset: value.span().start,
            value: value.get_ref(),
        };
        self.table.iter().map(move |(name, value)| (name.get_ref().as_ref(), node(name.get_ref(), value)))
    }
}

/// A value's description, for people.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() > 60 => {
            format!("\"{}…\" (text)", text.chars().take(60).collect::<String>())
        }
        DeValue::String(text) => format!("\"{text}\" (text)"),
        DeValue::Integer(integer) => format!("{integer} (a number)"),
        DeValue::Float(float) => format!("{float} (a number)"),
        DeValue::Boolean(flag) => format!("{flag} (a flag)"),
        DeValue::Datetime(when) => format!("{when} (a date)"),
        DeValue::Array(items) => format!("a list of {}", items.len()),
        DeValue::Table(_) => "a table".into(),
    }
}
