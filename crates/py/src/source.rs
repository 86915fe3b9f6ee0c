//! From what Python hands over to a loaded scenario.

use crate::ScenarioError;
use paceline_scenario::{Loaded, Loader, Origin, load};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What a scenario is made from: its text, where the text comes from, and what changes it.
pub struct Source<'a> {
    pub text: &'a str,
    pub file: Option<&'a str>,
    pub data: Vec<PathBuf>,
    pub overrides: Vec<(String, String)>,
    pub seed: Option<u64>,
}

impl Source<'_> {
    /// Reads the scenario and everything that it names.
    pub fn load(self) -> PyResult<Loaded> {
        let folder = self.file.and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""));
        let loader = Loader::new(folder, self.data);
        let mut sets = self.overrides;
        sets.extend(self.seed.map(|seed| ("seed".to_string(), seed.to_string())));
        let origin = Origin { text: self.text, file: self.file.unwrap_or("scenario"), sets: &sets };
        load(&origin, &loader).map_err(|error| ScenarioError::new_err(error.to_string()))
    }
}
