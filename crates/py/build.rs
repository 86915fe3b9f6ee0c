//! Names what is built: the release, the commit, whether the tree was changed since, and a digest of the sources.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    // Checks are compiled into tests alone: no figure follows from them.
    for room in sorted(&root.join("crates")).iter().filter(|room| !room.ends_with("conformance")) {
        println!("cargo::rerun-if-changed={}", room.join("src").display());
        files.extend([room.join("Cargo.toml"), room.join("build.rs")]);
        collect(&room.join("src"), &mut files);
    }
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files.iter().filter(|file| file.is_file()) {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().into_owned();
        digest.part(name.as_bytes());
        digest.part(&std::fs::read(file).unwrap_or_else(|error| panic!("{name}: {error}")));
    }
    let release = env!("CARGO_PKG_VERSION");
    println!("cargo::rustc-env=PACELINE_VERSION={release}+{}.s{:016x}", commit(&root), digest.0);
}

/// The commit, and whether what is built was changed since; `archive` where the sources are in no git checkout of their own.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("--no-optional-locks")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let here = git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    if here.is_none() || here != root.canonicalize().ok() {
        return "archive".to_owned();
    }
    // Files that a commit moves; a file that is not there would run this script at each build.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name])
            && Path::new(&path).is_file()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let Some(hash) = git(&["rev-parse", "--short=10", "HEAD"]) else {
        return "uncommitted".to_owned();
    };
    let sources = ["Cargo.toml", "Cargo.lock", "crates/*/src", "crates/*/*.*", ":!crates/conformance"];
    let changes = git(&[&["status", "--porcelain", "--"][..], &sources].concat());
    if changes.is_none_or(|changes| !changes.is_empty()) {
        format!("g{hash}.changed")
    } else {
        format!("g{hash}")
    }
}

/// Files of a folder, in the same order everywhere.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Adds the files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in sorted(folder) {
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

/// FNV-1a of 64 bits: it tells builds apart, and guards against nobody.
struct Digest(u64);

impl Digest {
    /// Adds a name or a content, with its length, so that neither runs into the next.
    fn part(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
