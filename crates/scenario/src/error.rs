//! The error of a wrong scenario: where, which key, what was found, what was expected.

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
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Line(line) => write!(out, "{}:{line}: ", self.file)?,
            Place::Set(path) => write!(out, "{}: --set {path}: ", self.file)?,
            Place::Whole => write!(out, "{}: ", self.file)?,
        }
        if !self.key.is_empty() {
            write!(out, "{}: ", self.key)?;
        }
        write!(out, "found {}, expected {}", self.found, self.expected)?;
        if let Some(hint) = &self.hint {
            write!(out, "; did you mean {hint}?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// The name in `known` that `found` was most likely meant to be; none if no name is near.
pub fn nearest<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = found.to_ascii_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_ascii_lowercase()), name))
        .filter(|&(distance, name)| distance <= 1.max(name.chars().count() / 3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_the_one_of_the_documentation() {
        let mut error = ScenarioError {
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
        error.place = Place::Set("links.bottleneck.rate".into());
        assert!(
            error.to_string().starts_with("calls.toml: --set links.bottleneck.rate: links.bottleneck.rate: ")
        );
        assert_eq!(error.line(), None);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("durration", ["duration", "warmup"]), Some("duration"));
        assert_eq!(nearest("SCREAM", ["fixed", "scream"]), Some("scream"));
        assert_eq!(nearest("zebra", ["duration", "warmup"]), None);
    }
}
