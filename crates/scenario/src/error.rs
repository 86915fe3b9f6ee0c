//! The error of a wrong scenario: where, which key, what was found, what was expected.

use crate::key_path::{dotted, path_keys};
use std::fmt;

/// Where in a scenario something is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of the scenario file, counted from 1.
    Line(usize),
    /// A value given on the command line: the path of `--set PATH=VALUE`.
    Set(Box<str>),
    /// No place in particular: something is missing altogether, or the file cannot be read.
    Whole,
}

/// A scenario that cannot be run. Its text is meant for the person who wrote the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The scenario's file, as given.
    pub file: Box<str>,
    /// Where in it.
    pub place: Place,
    /// The dotted path of the key; empty where the whole text is meant.
    pub key: String,
    /// The text found there.
    pub found: String,
    /// The text expected.
    pub expected: Box<str>,
    /// The nearest valid name or value.
    pub hint: Option<Box<str>>,
}

impl ScenarioError {
    /// The line, where there is one; counted from 1.
    pub fn line(&self) -> Option<usize> {
        if let Place::Line(line) = self.place { Some(line) } else { None }
    }

    /// The key as a message names it behind its place: of one that is set, the part inside what is set.
    fn key_beside_place(&self) -> &str {
        let Place::Set(path) = &self.place else { return &self.key };
        match self.key.strip_prefix(&dotted(&path_keys(path))) {
            Some(inside) if inside.is_empty() || inside.starts_with(['.', '[']) => {
                inside.trim_start_matches('.')
            }
            _ => &self.key,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Line(line) => write!(out, "{}:{line}: ", self.file)?,
            Place::Set(path) => write!(out, "{}: --set {path}: ", self.file)?,
            Place::Whole => write!(out, "{}: ", self.file)?,
        }
        let key = self.key_beside_place();
        if !key.is_empty() {
            write!(out, "{key}: ")?;
        }
        write!(out, "found {}, expected {}", self.found, self.expected)?;
        if let Some(hint) = &self.hint {
            write!(out, "; did you mean {hint}?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_the_one_of_the_documentation() {
        let error = ScenarioError {
            file: "calls.toml".into(),
            place: Place::Line(12),
            key: "links.bottleneck.rate".into(),
            found: "\"20 Mbqs\" (text)".into(),
            expected: "a rate such as \"20Mbps\"".into(),
            hint: Some("\"20Mbps\"".into()),
        };
        assert_eq!(
            error.to_string(),
            "calls.toml:12: links.bottleneck.rate: found \"20 Mbqs\" (text), expected a rate such as \"20Mbps\"; \
             did you mean \"20Mbps\"?"
        );
        let shown = |path: &str| {
            let error = ScenarioError { place: Place::Set(path.into()), ..error.clone() };
            error.to_string().split(" found ").next().map(String::from)
        };
        for (path, expected) in [
            ("links.bottleneck.rate", "--set links.bottleneck.rate:"),
            ("links.'bottleneck' . rate", "--set links.'bottleneck' . rate:"),
            ("links.bottleneck", "--set links.bottleneck: rate:"),
            ("links.bottle", "--set links.bottle: links.bottleneck.rate:"),
        ] {
            assert_eq!(shown(path), Some(format!("calls.toml: {expected}")));
        }
        assert_eq!(error.line(), Some(12));
    }
}
