//! Finds and reads the files that a scenario names.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file that is read, after decompression.
pub const MAX_FILE: u64 = 512 << 20;

/// Where the files of a scenario are looked for: among those at hand, then in its own folder and the data folders.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loader {
    /// The folder of the scenario.
    pub base_dir: PathBuf,
    /// Folders that `--data` and `PACELINE_DATA` name, in this order.
    pub data_dirs: Vec<PathBuf>,
    /// Contents by name: a program without a file system hands them over.
    pub at_hand: BTreeMap<String, Vec<u8>>,
}

/// A file that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// The text found.
    pub found: String,
    /// The text expected.
    pub expected: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for FileError {}

impl Loader {
    /// A loader for a scenario in `base_dir`.
    pub fn new(base_dir: impl Into<PathBuf>, data_dirs: Vec<PathBuf>) -> Loader {
        Loader { base_dir: base_dir.into(), data_dirs, at_hand: BTreeMap::new() }
    }

    /// Where `file` is, by the rules above; with `.gz` at its end if it is only there so.
    ///
    /// # Errors
    /// Says where it was looked for.
    pub fn find(&self, file: &str) -> Result<PathBuf, FileError> {
        if self.at_hand.contains_key(file) {
            return Ok(file.into());
        }
        let packed = format!("{file}.gz");
        let folders = || std::iter::once(&self.base_dir).chain(&self.data_dirs);
        // An absolute name replaces the folder that it is joined to.
        let found = folders()
            .flat_map(|folder| [folder.join(file), folder.join(&packed)])
            .find(|path| path.is_file());
        found.ok_or_else(|| {
            let mut looked: Vec<String> = if Path::new(file).is_absolute() {
                Vec::new()
            } else {
                folders().map(|folder| folder.display().to_string()).collect()
            };
            looked.iter_mut().filter(|folder| folder.is_empty()).for_each(|folder| *folder = ".".into());
            let searched =
                if looked.is_empty() { String::new() } else { format!(" in {}", looked.join(", ")) };
            FileError {
                found: format!("no file \"{file}\"{searched}"),
                expected: "a file; --data DIR or PACELINE_DATA says where data is".into(),
            }
        })
    }

    /// The contents of `file`, decompressed if its name ends in `.gz`, and where it was found.
    ///
    /// # Errors
    /// If it is not there, cannot be read, or is too large.
    pub fn read(&self, file: &str) -> Result<(Vec<u8>, PathBuf), FileError> {
        if let Some(contents) = self.at_hand.get(file) {
            return Ok((contents.clone(), file.into()));
        }
        let path = self.find(file)?;
        let shown = path.display();
        let unreadable = |error: std::io::Error| FileError {
            found: format!("\"{shown}\", which cannot be read: {error}"),
            expected: "a readable file".into(),
        };
        let opened = std::fs::File::open(&path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        if path.extension().is_some_and(|extension| extension == "gz") {
            flate2::read::MultiGzDecoder::new(opened)
                .take(MAX_FILE + 1)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
        } else {
            opened.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        }
        if bytes.len() as u64 > MAX_FILE {
            return Err(FileError {
                found: format!("\"{shown}\", which is too large"),
                expected: format!("at most {} MB, decompressed", MAX_FILE >> 20),
            });
        }
        Ok((bytes, path))
    }
}
